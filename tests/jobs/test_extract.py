import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tagloom.catalog.logs import stop_logging
from tagloom.datasets import write_scenes
from tagloom.exceptions import InvalidInputError, PhotosError
from tagloom.features import engine as engine_module
from tagloom.features import extract
from tagloom.jobs import extract as extract_module
from tagloom.jobs.extract import extract_folder, load_features
from tagloom.settings import Settings

LIGHT = Settings(descriptors=("edges", "moments"), n_workers=1)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes") / "photos"
    write_scenes(folder, 24, size=(96, 64), random_state=0)
    return folder


@pytest.fixture
def photos(scenes, tmp_path):
    copy = tmp_path / "photos"
    shutil.copytree(scenes, copy)
    return copy


@pytest.fixture(autouse=True)
def _quiet_logs():
    yield
    stop_logging()


def _files(out):
    return {name: (out / name).read_bytes() for name in ("features.npy", "photos.csv", "groups.json")}


def test_the_files_hold_what_extract_returns(photos, tmp_path):
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    os.rename(photos / "scene_00003.jpg", os.fsencode(photos) + b"/caf\xe9, \r.jpg")
    result = extract_folder(photos, tmp_path / "out", LIGHT)
    table = load_features(tmp_path / "out")
    assert (result.n_rows, dict(result.verdicts), len(result.examples)) == (24, {"damaged": 1}, 1)
    assert list(table.groups) == ["edges", "moments"] == list(result.groups)
    assert b"caf\xe9, \r.jpg" in table.photos
    X, groups, records = extract(table.photos, ["edges", "moments"], root=photos, n_workers=1)
    np.testing.assert_array_equal(table.X, X)
    assert groups == table.groups
    assert [record.content_hash for record in records] == table.content_hashes
    with open(tmp_path / "out" / "photos.csv", newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    (bad,) = [row for row in rows if not row["row"]]
    assert (bad["file"], bad["verdict"]) == ("broken.jpg", "damaged")
    assert [int(row["row"]) for row in rows if row["row"]] == list(range(24))


def test_groups_say_where_their_columns_come_from(photos, tmp_path):
    extract_folder(photos, tmp_path / "out", LIGHT)
    content = json.loads((tmp_path / "out" / "groups.json").read_text(encoding="utf-8"))
    edges, moments = content["groups"]
    assert (edges["start"], edges["size"], moments["start"], moments["size"]) == (0, 73, 73, 225)
    assert edges["key"].startswith("edges-v")
    assert (edges["scaling"], moments["scaling"]) == ("root", "standardize")
    assert moments["parameters"] == {"size": 256}


def test_a_second_run_decodes_nothing_and_writes_the_same_bytes(photos, tmp_path):
    first = extract_folder(photos, tmp_path / "out", LIGHT)
    before = _files(tmp_path / "out")
    second = extract_folder(photos, tmp_path / "out", LIGHT)
    assert (first.counts.n_decoded, second.counts.n_decoded, second.counts.n_unchanged) == (24, 0, 24)
    assert _files(tmp_path / "out") == before


def test_blocks_chunks_and_threads_do_not_change_the_bytes(photos, tmp_path, monkeypatch):
    extract_folder(photos, tmp_path / "one", LIGHT)
    monkeypatch.setattr(extract_module, "BLOCK_ROWS", 5)
    monkeypatch.setattr(engine_module, "CHUNK", 7)
    other = Settings(descriptors=("edges", "moments"), n_workers=2, n_threads=3, batch_size=5)
    extract_folder(photos, tmp_path / "two", other)
    assert _files(tmp_path / "one") == _files(tmp_path / "two")


def test_files_that_do_not_belong_together_are_refused(photos, tmp_path):
    out = tmp_path / "out"
    extract_folder(photos, out, LIGHT)
    original = (out / "photos.csv").read_bytes()
    (out / "photos.csv").write_bytes(original.replace(b"scene_00001", b"scene_00002", 1))
    with pytest.raises(
        InvalidInputError, match=r"photos.csv does not belong to groups.json.*run `tagloom extract` again"
    ):
        load_features(out)
    (out / "photos.csv").write_bytes(original)
    np.save(out / "features.npy", np.zeros((3, 298), dtype=np.float32))
    with pytest.raises(InvalidInputError, match=r"features\.npy does not belong"):
        load_features(out)
    (out / "groups.json").write_text('{"format": 99}', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="format 99, this tagloom reads 1"):
        load_features(out)
    with pytest.raises(InvalidInputError, match="expected the output of `tagloom extract`"):
        load_features(tmp_path)


def test_a_wrong_start_says_what_to_do(tmp_path):
    with pytest.raises(PhotosError, match="not a folder"):
        extract_folder(tmp_path / "none", tmp_path / "out", LIGHT)
    (tmp_path / "empty").mkdir()
    with pytest.raises(PhotosError, match="No photos"):
        extract_folder(tmp_path / "empty", tmp_path / "out", LIGHT)


def test_not_one_readable_photo_gives_an_empty_table(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"")
    assert extract_folder(tmp_path / "photos", tmp_path / "out", LIGHT).n_rows == 0
    assert load_features(tmp_path / "out").X.shape == (0, 298)


@pytest.mark.parametrize("names", [["words"], pytest.param(["words", "blobs"], marks=pytest.mark.medium)], ids=len)
def test_words_and_blobs_learn_their_vocabulary_once(photos, tmp_path, names):
    settings = Settings(descriptors=tuple(names), n_workers=1, vocabulary_words=20, vocabulary_photos=12)
    extract_folder(photos, tmp_path / "out", settings)
    table = load_features(tmp_path / "out")
    assert dict(zip(table.groups.names, table.groups.sizes, strict=True)) == dict.fromkeys(names, 20)
    np.testing.assert_allclose(table.groups.split(table.X)["words"].sum(axis=1), 1, rtol=1e-5)
    vocabularies = sorted((tmp_path / "out" / ".tagloom" / "vocabularies").iterdir())
    assert len(vocabularies) == len(names)
    before = {path: path.read_bytes() for path in vocabularies}
    write_scenes(tmp_path / "more", 30, size=(96, 64), random_state=5)
    for path in (tmp_path / "more").glob("*.jpg"):
        shutil.copy(path, photos / f"more-{path.name}")
    again = extract_folder(photos, tmp_path / "out", settings)
    assert again.counts.n_decoded == 30
    assert {path: path.read_bytes() for path in vocabularies} == before
    with pytest.raises(InvalidInputError, match="vocabulary_words"):
        extract_folder(photos, tmp_path / "out", Settings(descriptors=("blobs",), n_workers=1, vocabulary_words=5000))


@pytest.mark.slow
def test_killed_at_twenty_random_moments_the_bytes_are_the_same(tmp_path):
    photos = tmp_path / "photos"
    write_scenes(photos, 300, size=(320, 240), random_state=1)
    groups = "deep,semantic,color,moments,edges,gist,words"
    command = [sys.executable, "-m", "tagloom", "extract", str(photos), "--groups", groups, "--workers", "2", "--quiet"]
    environment = os.environ | {"TAGLOOM_VOCABULARY_WORDS": "50", "TAGLOOM_VOCABULARY_PHOTOS": "40"}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    begin = time.monotonic()
    subprocess.run([*command, "--out", str(whole)], check=True, env=environment, capture_output=True)
    lasts = time.monotonic() - begin
    generator = random.Random(0)
    n_killed = 0
    for _ in range(20):
        # Moments all over a run: starting up, learning the vocabulary, reading, writing.
        process = subprocess.Popen([*command, "--out", str(broken)], env=environment, start_new_session=True)
        try:
            process.wait(generator.uniform(0.1, min(lasts, 6.0)))
            shutil.rmtree(broken)  # it came to its end: begin anew
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            n_killed += 1
    subprocess.run([*command, "--out", str(broken)], check=True, env=environment, capture_output=True)
    assert n_killed >= 10
    assert _files(whole) == _files(broken)
    assert not [name for name in os.listdir(broken) if "tagloom-tmp" in name]
