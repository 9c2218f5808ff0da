"""Videos in a project: found, learned with photos, their moments, sidecars."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from tagloom import Project
from tagloom.datasets import write_clips
from tagloom.features.engine import frame_hash
from tagloom.learning.moments import clip_facts, moments

pytestmark = pytest.mark.medium


@pytest.fixture(scope="module")
def mixed(av, tmp_path_factory):
    """Return a folder with 24 videos and 36 photos, half of them labelled."""
    folder = tmp_path_factory.mktemp("mixed") / "photos"
    clips, _ = write_clips(folder, 24, 36, size=(96, 64), seconds=2, labeled=0.5, random_state=2)
    return folder, clips


@pytest.fixture(scope="module")
def learned(mixed):
    folder, clips = mixed
    with Project.init(folder, flags={"descriptors": ("color", "edges", "audio"), "n_workers": 1}) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv", who="test")
        project.train(method="ridge")
        yield project, clips


def test_scan_counts_videos_as_photos(mixed, tmp_path, av):
    shutil.copytree(mixed[0], tmp_path / "copy", ignore=shutil.ignore_patterns("*.tagloom*"))
    with Project.init(tmp_path / "copy") as project:
        result = project.scan()
    assert (result.n_listed, result.n_videos, len(result.new), result.unreadable) == (60, 24, 60, {})
    assert result.skipped.keys() == {"other files"}


def test_without_the_extra_known_videos_are_not_missing(mixed, tmp_path, av, monkeypatch):
    folder = tmp_path / "copy"
    shutil.copytree(mixed[0], folder, ignore=shutil.ignore_patterns("*.tagloom*"))
    with Project.init(folder) as project:
        project.scan()
        monkeypatch.setattr("tagloom.images.finder._find_package", lambda name: None)
        (folder / "clip_00000.mp4").unlink()
        result = project.scan()
        assert (len(result.missing), result.examples["missing"]) == (1, (b"clip_00000.mp4",))
        assert result.skipped["videos"] == {"mp4": 23}


def test_photos_and_videos_share_a_model(learned):
    project, _ = learned
    stored = project.store.suggestions.load()
    assert len(stored.photo_ids) == 60
    assert np.isfinite(stored.scores).all()


def test_default_features_have_sound_once_there_is_a_video(learned, tmp_path, av):
    project, _ = learned
    assert project.store.photos.has_videos()
    from PIL import Image

    (tmp_path / "photos").mkdir()
    Image.new("RGB", (40, 30)).save(tmp_path / "photos" / "mp4.png")
    with Project.init(tmp_path / "photos") as other:
        other.scan()
        assert not other.store.photos.has_videos()


def test_moments(learned):
    project, clips = learned
    table = project.store.photos.table()
    two = next(index for index, shots in enumerate(clips.shots) if len(shots) == 2)
    row = table.paths.index(clips.names[two].encode())
    found = moments(project.store, project.settings, table.hashes[row])
    facts = clip_facts(project.store, [table.hashes[row]])[table.hashes[row]]
    assert found.times == facts.times
    assert found.scores.shape == (len(facts.times), len(found.tag_ids))
    assert np.ptp(found.scores, axis=0).max() > 0
    tag = int(found.tag_ids[0])
    assert found.best(tag) == facts.times[int(found.scores[:, 0].argmax())]
    assert found.best(10**6) is None
    assert len(frame_hash(table.hashes[row], 0)) == 64
    (text,) = project.store.tags.texts([tag])
    by_name = project.moments(project.root / clips.names[two], text)
    assert by_name == tuple(zip(found.times, found.scores[:, 0].tolist(), strict=True))
    assert project.moments(project.root / "scene_00000.jpg", text) == ()


def test_moments_tell_the_shots_apart(learned):
    """Tags of one shot alone are likelier in its key frames, more often than not by far."""
    project, clips = learned
    table = project.store.photos.table()
    names = {tag.text: tag.id for tag in project.store.tags.all()}
    right = total = 0
    for index, shots in enumerate(clips.shots):
        if len(shots) < 2:
            continue
        found = moments(project.store, project.settings, table.hashes[table.paths.index(clips.names[index].encode())])
        first = np.array(found.times) < shots[1].begin
        if first.all() or not first.any():
            continue
        for tag in shots[0].plan.tags ^ shots[1].plan.tags:
            scores = found.scores[:, found.tag_ids == names[tag]].ravel() if tag in names else np.empty(0)
            if len(scores):
                mine = first if tag in shots[0].plan.tags else ~first
                right, total = right + (scores[mine].mean() > scores[~mine].mean()), total + 1
    assert total > 10
    assert right / total > 0.6


def test_sidecars_are_read_back(learned, exiftool):
    project, clips = learned
    project.label(project.root / clips.names[0], add="holiday")
    project.write()
    sidecar = project.root / f"{clips.names[0]}.xmp"
    assert sidecar.exists()
    before = (project.root / clips.names[0]).read_bytes()
    done = subprocess.run([exiftool, "-json", "-Subject", sidecar], capture_output=True, check=True, text=True)
    subject = json.loads(done.stdout)[0]["Subject"]
    assert "holiday" in ([subject] if isinstance(subject, str) else subject)
    assert (project.root / clips.names[0]).read_bytes() == before


@pytest.mark.parametrize("format", ["coco", "jsonl", "huggingface"])
def test_exports_say_what_is_a_video(learned, tmp_path, format):
    project, clips = learned
    (file, *_) = project.export(tmp_path / "out", format, accepted_only=True).files
    text = file.read_text(encoding="utf-8")
    entries = json.loads(text)["images"] if format == "coco" else [json.loads(line) for line in text.splitlines()]
    kinds = {entry.get("file_name") or entry.get("file"): entry.get("media_type") for entry in entries}
    assert kinds[clips.names[0]] == "video"
    assert {kind for name, kind in kinds.items() if name.endswith(".jpg")} == {None}


@pytest.mark.parametrize(("format", "name"), [("label-studio", "out.videos.json"), ("fiftyone", "videos/data.json")])
def test_videos_are_exported_apart(learned, tmp_path, format, name):
    project, clips = learned
    target = tmp_path / ("out.json" if format == "label-studio" else "out")
    for _ in range(2):  # over its own files
        report = project.export(target, format, accepted_only=True)
        assert tmp_path / name in report.files or target / name in report.files
        text = next(file for file in report.files if str(file).endswith(name)).read_text(encoding="utf-8")
        assert clips.names[0] in text
        assert ".jpg" not in text
