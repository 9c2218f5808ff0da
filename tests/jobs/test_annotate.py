import csv
import os
import re
import shutil
import socket
import sys
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tagloom.catalog.logs import stop_logging
from tagloom.core.photos import Verdict
from tagloom.datasets import write_scenes
from tagloom.exceptions import (
    InvalidInputError,
    LabelsFileError,
    PhotosError,
    SettingsError,
    StoreBusyError,
    StoreError,
)
from tagloom.images import pool
from tagloom.jobs.annotate import annotate
from tagloom.learning.methods import get_learner
from tagloom.learning.suggest import open_suggestions, top_suggestions
from tagloom.project.project import Project
from tagloom.settings import Settings
from tagloom.store import FolderCache
from tagloom.tuning import CalibratedAnnotator
from tagloom.tuning.evaluation.evaluation import cross_validate

pytestmark = pytest.mark.medium

LIGHT = Settings(descriptors=("color", "edges"), n_workers=1)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes") / "photos"
    write_scenes(folder, 60, size=(96, 64), labeled=0.3, random_state=0)
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


def _keywords(out):
    with open(out / "keywords.csv", newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_keywords_have_a_floor_and_say_what_is_suggested(photos, tmp_path):
    settings = replace(LIGHT, method="ridge", n_keywords=12)
    with open(photos / "truth.csv", encoding="utf-8") as handle:
        told = handle.read().splitlines()
    (photos / "many.csv").write_text("\n".join(told[:41]) + "\n", encoding="utf-8")
    result = annotate(photos, photos / "many.csv", tmp_path / "out", settings)
    assert result.kind == "probability"
    rows = _keywords(tmp_path / "out")
    listed = {(row["file"], row["tag"]): float(row["score"]) for row in rows}
    assert min(listed.values()) >= 0.1
    assert len(rows) < 12 * len({row["file"] for row in rows})
    assert {row["suggested"] for row in rows} <= {"yes", "no"}
    assert all((row["suggested"] == "yes") == (float(row["score"]) > result.threshold) for row in rows)
    everything = annotate(photos, photos / "many.csv", tmp_path / "all", replace(settings, n_keywords=0))
    assert len(_keywords(tmp_path / "all")) == int((everything.Y == -1).sum())


def test_from_folder_and_labels_to_keywords(photos, tmp_path):
    out = tmp_path / "out"
    result = annotate(photos, photos / "labels.csv", out, LIGHT, truth=photos / "truth.csv")
    rows = _keywords(out)
    assert list(rows[0]) == ["file", "tag", "score", "rank", "suggested"]
    with open(photos / "labels.csv", newline="", encoding="utf-8") as handle:
        labelled = {row["file"] for row in csv.DictReader(handle)}
    assert {row["file"] for row in rows} == {name for name in os.listdir(photos) if name.endswith(".jpg")} - labelled
    for name in {row["file"] for row in rows}:
        mine = [row for row in rows if row["file"] == name]
        assert [int(row["rank"]) for row in mine] == [1, 2, 3, 4, 5]
        scores = [float(row["score"]) for row in mine]
        assert scores == sorted(scores, reverse=True)
    with np.load(out / "scores.npz", allow_pickle=False) as stored:
        assert stored["scores"].shape == (60, len(result.tags))
        np.testing.assert_allclose(stored["scores"], result.scores, rtol=1e-6)
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "scene_00000.jpg" in report
    assert "MAP, tagloom" in report
    assert result.topics == []
    assert 'class="topic"' not in report
    prior, supervised, ours = (value for _, value in result.comparison.rows)
    assert prior < min(supervised, ours)
    assert (out / ".tagloom" / "logs" / "tagloom.log").exists()


def _say(photos, n):
    """Write a labels file that says the truth of the first photos; return what it says of them."""
    with open(photos / "truth.csv", newline="", encoding="utf-8") as handle:
        truth = sorted(csv.DictReader(handle), key=lambda row: row["file"])
    lines = [f"{row['file']},{row['tags']}\n" for row in truth[:n]]
    (photos / "labels.csv").write_text("file,tags\n" + "".join(lines), encoding="utf-8")
    return {row["file"]: set(row["tags"].split(";")) for row in truth}


@pytest.mark.parametrize("method", ["auto", "ridge", "smoothed-ridge"])
def test_numbers_are_probabilities_where_labels_suffice(photos, tmp_path, method):
    truth = _say(photos, 30)
    settings = Settings(descriptors=("color", "edges"), n_workers=1, method=method)
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", settings)
    assert (result.kind, result.why_scores) == ("probability", "")
    X = get_learner(method).features(result.X, result.groups)
    expected = get_learner(method).make(settings.n_neighbors, result.groups)
    if method != "auto":  # the penalty is chosen once, not in each fold again
        expected.set_params(regularization=expected.fit(X, result.Y).regularization_)
        expected = CalibratedAnnotator(expected, random_state=0)
    np.testing.assert_allclose(result.scores, expected.fit(X, result.Y).probabilities_, atol=1e-5)
    has = np.array([[tag in truth[name.decode()] for tag in result.tags.names] for name in result.photos])
    unknown = result.Y == -1
    assert result.scores[unknown].sum() == pytest.approx(has[unknown].sum(), rel=0.3)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "suggested, with its probability" in report
    with np.load(tmp_path / "out" / "scores.npz", allow_pickle=False) as stored:
        assert str(stored["kind"]) == "probability"


def test_of_too_few_labels_numbers_are_scores_and_it_is_said_why(photos, tmp_path):
    _say(photos, 10)
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT)
    assert result.kind == "score"
    assert result.why_scores == "probabilities need 20 labelled photos, and there are 10"
    assert {row["suggested"] for row in _keywords(tmp_path / "out")} == {"no"}
    assert "suggested, with its score" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_the_report_tells_how_good_it_is_where_labels_suffice(photos, tmp_path):
    _say(photos, 24)
    with open(photos / "labels.csv", newline="", encoding="utf-8") as handle:
        told = dict.fromkeys(tag for row in csv.DictReader(handle) for tag in row["tags"].split(";"))
    settings = Settings(descriptors=("color", "edges"), n_workers=1, method="ridge")
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", settings, evaluate=True)
    found, learner = result.evaluation, get_learner("ridge")
    X = learner.features(result.X, result.groups)
    Y = result.Y[:, [result.tags.column(tag) for tag in told]]  # intervals depend on the order of tags
    expected = cross_validate(learner.make(settings.n_neighbors, result.groups), X, Y)
    assert (found.map, found.map_low, found.map_high) == (expected.map, expected.map_low, expected.map_high)
    assert (found.n_photos, found.n_labeled, found.method) == (60, 24, "ridge")
    assert found.wanted_precision == settings.precision
    assert {one.tag for one in found.tags} == set(result.tags)
    assert f"{found.map:.3f} ({found.map_low:.3f}" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert result.why_not_evaluated == ""
    assert result.seconds["evaluating"] > 0.0
    plain = annotate(photos, photos / "labels.csv", tmp_path / "out", settings)
    assert plain.evaluation is None
    assert "measured-title" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    yes_only = Settings(descriptors=("color", "edges"), n_workers=1, method="ridge", absent_means="unknown")
    without = annotate(photos, photos / "labels.csv", tmp_path / "out", yes_only, evaluate=True)
    assert without.evaluation is None
    assert "0 rejected tags" in without.why_not_evaluated


@pytest.mark.parametrize(
    ("method", "n_told", "absent_means"),
    [
        ("auto", 30, "no"),
        ("ridge", 30, "unknown"),
        ("ridge", 10, "no"),
        *(pytest.param(name, 30, "no", marks=pytest.mark.slow) for name in ("smoothed-ridge", "harmonic", "neighbors")),
        pytest.param("sfss", 30, "no", marks=pytest.mark.medium),
        pytest.param("auto", 30, "unknown", marks=pytest.mark.medium),
    ],
)
def test_annotate_and_a_project_give_the_same_numbers(photos, tmp_path, method, n_told, absent_means):
    _say(photos, n_told)
    settings = replace(LIGHT, method=method, absent_means=absent_means)
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", settings)
    flags = {"descriptors": LIGHT.descriptors, "n_workers": 1, "method": method}
    with Project.init(photos, project=tmp_path / "project", flags=flags) as project:
        project.scan()
        project.import_keywords(photos / "labels.csv", absent_means=absent_means)
        trained = project.train()
        found = open_suggestions(project.store)
        suggested = list(project.suggest(n=settings.n_keywords))
        page = project.report(tmp_path / "project.html")
        exported = project.export(tmp_path / "exported.csv")
        labels = project.store.decisions.labels(found.photo_ids, found.tag_ids)[2]
    order = np.argsort(found.tags)
    assert result.tags.names == tuple(np.asarray(found.tags)[order])
    np.testing.assert_array_equal(result.Y, labels[:, order])
    np.testing.assert_array_equal(result.scores, found.values[:, order])
    assert (result.kind, result.why_scores, result.threshold) == (
        found.kind,
        trained.why_scores,
        found.thresholds.max(),
    )
    rows = [
        (os.fsdecode(item.photo), item.tag, f"{item.value:.6g}", str(item.rank), "yes" if item.is_above else "no")
        for item in suggested
        if item.value >= result.least
    ]
    assert [tuple(row.values()) for row in _keywords(tmp_path / "out")] == rows
    everything = (result.Y == -1) & (result.scores > result.threshold)
    assert exported.n_suggested == trained.n_above == int(everything.sum())
    assert (page.n_photos, page.n_labeled) == (len(result.photos), result.n_labeled)
    mine, theirs = (
        re.search(r'<script type="application/json" id="report-data">(.*?)</script>', path.read_text(encoding="utf-8"))
        for path in (tmp_path / "out" / "report.html", tmp_path / "project.html")
    )
    assert mine[1] == theirs[1]


def test_an_evaluation_is_that_of_a_project(photos, tmp_path):
    _say(photos, 24)
    settings = replace(LIGHT, method="ridge")
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", settings, evaluate=True)
    flags = {"descriptors": LIGHT.descriptors, "n_workers": 1, "method": "ridge"}
    with Project.init(photos, project=tmp_path / "project", flags=flags) as project:
        project.scan()
        project.import_keywords(photos / "labels.csv")
        expected = project.evaluate(curve=False, groups=False)
    assert replace(result.evaluation, seconds=0.0) == replace(expected, seconds=0.0)


def test_a_topic_model_shows_its_topics_in_the_report(photos, tmp_path):
    settings = Settings(
        method="topics", descriptors=("blobs",), vocabulary_words=20, vocabulary_photos=5, n_workers=1, report_photos=3
    )
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", settings)
    assert sum(topic.share for topic in result.topics) == pytest.approx(1.0)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    shown = re.findall(r'<li class="topic"><h3>Topic (\d+) .*?</h3>(.*?)</ul></li>', report)
    assert [int(number) - 1 for number, _ in shown] == [topic.topic for topic in result.topics]
    for topic, (_, text) in zip(result.topics, shown, strict=True):
        names = re.findall(r'<img [^>]*src="data:image/webp;base64,[^"]+"><span class="name">([^<]*)</span>', text)
        assert names == [result.photos[photo.row].decode() for photo in topic.photos]
        assert all(tag.tag in text for tag in topic.tags)


def test_the_second_run_decodes_nothing_and_says_the_same(photos, tmp_path):
    first = annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT)
    keywords = (tmp_path / "out" / "keywords.csv").read_bytes()
    again = annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT)
    assert (first.counts.n_decoded, again.counts.n_decoded) == (60, 0)
    assert (tmp_path / "out" / "keywords.csv").read_bytes() == keywords
    os.utime(photos / "scene_00007.jpg", (5, 5))
    touched = annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT)
    assert (touched.counts.n_unchanged, touched.counts.n_hashed, touched.counts.n_decoded) == (59, 1, 0)
    (photos / "scene_00008.jpg").write_bytes((photos / "scene_00008.jpg").read_bytes() + b"\0")
    assert annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT).counts.n_decoded == 1


def test_odd_files_are_reported_by_name_and_the_rest_is_annotated(photos, tmp_path):
    os.mkfifo(photos / "pipe.jpg")
    os.symlink(photos, photos / "loop")
    os.symlink("circle.jpg", photos / "circle.jpg")
    (photos / "zero.jpg").write_bytes(b"")
    (photos / "text.png").write_bytes(b"hello")
    shutil.copy(photos / "scene_00001.jpg", os.fsencode(photos) + b"/caf\xe9 \n-.jpg")
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT)
    names = {os.path.basename(record.path) for record in result.failed}
    assert {b"pipe.jpg", b"loop", b"circle.jpg", b"zero.jpg", b"text.png"} <= names
    assert len(result.photos) == 61
    assert any(b"\xe9" in name for name in result.photos)
    assert any("caf%E9" in row["file"] for row in _keywords(tmp_path / "out"))
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "zero.jpg" in report


@pytest.fixture
def open_folder():
    """Return a folder that every user may enter; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_a_file_without_permission_is_reported_by_name(scenes, open_folder, tmp_path, unprivileged_uid, monkeypatch):
    photos = open_folder / "photos"
    shutil.copytree(scenes, photos)
    os.chmod(photos, 0o755)
    os.chmod(photos / "scene_00002.jpg", 0)
    # The decoding processes drop to another user; all they need is loaded before, as that user may not read Python.
    script = f"""
        import encodings.idna, hashlib, json, os, traceback
        from PIL import Image
        from tagloom.images import worker
        Image.init()
        os.setgid({unprivileged_uid}); os.setuid({unprivileged_uid})
        worker.main()
    """
    monkeypatch.setattr(pool, "WORKER_COMMAND", (sys.executable, "-c", textwrap.dedent(script)))
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT)
    assert [(record.path, record.verdict) for record in result.failed] == [(b"scene_00002.jpg", Verdict.NO_PERMISSION)]
    assert len(result.photos) == 59
    assert "scene_00002.jpg" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_no_connection_is_ever_opened(photos, tmp_path, monkeypatch):
    def refuse(*unused, **also_unused):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT).scores.shape[0] == 60


def test_photos_are_not_touched(photos, tmp_path):
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in photos.iterdir()}
    annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT)
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in photos.iterdir()} == before


def test_results_may_lie_among_the_photos(photos):
    result = annotate(photos, photos / "labels.csv", photos / "results", LIGHT)
    again = annotate(photos, photos / "labels.csv", photos / "results", LIGHT)
    assert result.photos == again.photos
    assert len(again.photos) == 60


OTHERS = ("harmonic", "consistency", "neighbors", "smoothed-ridge")


@pytest.mark.parametrize("method", ["ridge", "auto", *(pytest.param(m, marks=pytest.mark.medium) for m in OTHERS)])
def test_every_method_runs(photos, tmp_path, method):
    settings = Settings(descriptors=("color",), n_workers=1, method=method, n_keywords=0)
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", settings)
    assert result.method == method
    assert np.isfinite(result.scores).all()
    assert len(_keywords(tmp_path / "out")) == (result.Y == -1).sum()


def test_absence_as_unknown_is_suggested_too(photos, tmp_path):
    settings = Settings(descriptors=("color",), n_workers=1, absent_means="unknown")
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", settings)
    assert len({row["file"] for row in _keywords(tmp_path / "out")}) == 60
    assert not ((result.Y == 0).any())


def test_a_wrong_start_says_what_to_do(photos, tmp_path):
    with pytest.raises(PhotosError, match="not a folder"):
        annotate(tmp_path / "nowhere", photos / "labels.csv", tmp_path / "out", LIGHT)
    (tmp_path / "bare").mkdir()
    with pytest.raises(PhotosError, match="No photos"):
        annotate(tmp_path / "bare", photos / "labels.csv", tmp_path / "out", LIGHT)
    with pytest.raises(LabelsFileError):
        annotate(photos, photos / "missing.csv", tmp_path / "out", LIGHT)
    with pytest.raises(SettingsError, match=r"No method 'magic'\. Run: tagloom methods"):
        annotate(photos, photos / "labels.csv", tmp_path / "out", Settings(method="magic"))
    with pytest.raises(InvalidInputError, match="no feature group or descriptor 'smell'"):
        annotate(photos, photos / "labels.csv", tmp_path / "out", Settings(descriptors=("smell",)))
    with FolderCache(tmp_path / "out" / ".tagloom"), pytest.raises(StoreBusyError):
        annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT)


def test_not_one_readable_photo(tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "a.jpg").write_bytes(b"text")
    (tmp_path / "labels.csv").write_text("file,tags\na.jpg,sky\n")
    with pytest.raises(PhotosError, match=r"none of the 1 photo files could be read; the first is 'a.jpg' \(not_an"):
        annotate(photos, tmp_path / "labels.csv", tmp_path / "out", LIGHT)


def test_only_unreadable_photos_are_labelled(photos, tmp_path):
    (photos / "zero.jpg").write_bytes(b"")
    (tmp_path / "labels.csv").write_text("file,tags\nzero.jpg,sky\n")
    with pytest.raises(LabelsFileError, match="none of them could be read"):
        annotate(photos, tmp_path / "labels.csv", tmp_path / "out", LIGHT)


def test_ranking_of_unknown_entries():
    Y = np.array([[-1, -1, 0, -1], [1, 0, 0, 1], [-1, 1, -1, 0]], dtype=np.int8)
    scores = np.array([[0.1, 0.5, 0.9, 0.5], [1, 1, 1, 1], [0.2, 0.9, 0.3, 0.8]])
    columns, counts = top_suggestions(Y, scores, 3)
    assert [row[:count].tolist() for row, count in zip(columns, counts, strict=True)] == [[1, 3, 0], [], [2, 0]]
    assert top_suggestions(Y, scores, 0)[1].tolist() == [3, 0, 2]
    columns, counts = top_suggestions(Y, scores, 3, least=0.3)
    assert [row[:count].tolist() for row, count in zip(columns, counts, strict=True)] == [[1, 3], [], [2]]


@pytest.mark.medium
def test_deep_features_with_a_network_of_the_users_own(photos, tmp_path):
    from onnx import TensorProto, helper, save

    graph = helper.make_graph(
        [
            helper.make_node("GlobalAveragePool", ["image"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["out"]),
        ],
        "tiny",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 32, 32])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    save(model, tmp_path / "tiny.onnx")
    (tmp_path / "tiny.toml").write_text(
        "name = 'tiny'\nmodel = 'tiny.onnx'\n[input]\nsize = 32\nmean = [0.5, 0.5, 0.5]\nstd = [0.5, 0.5, 0.5]\n"
    )
    result = annotate(
        photos, photos / "labels.csv", tmp_path / "out", Settings(encoder=tmp_path / "tiny.toml", n_workers=1)
    )
    assert "tiny" in result.groups
    assert "deep" not in result.groups


@pytest.mark.parametrize("method", ["auto", "ridge"])
def test_probable_tags_are_listed_and_sure_ones_marked(photos, tmp_path, method):
    with open(photos / "truth.csv", newline="", encoding="utf-8") as handle:
        lines = handle.read().splitlines(keepends=True)
    (tmp_path / "labels.csv").write_text("".join(lines[:41]), encoding="utf-8")
    settings = Settings(descriptors=("color", "edges"), n_workers=1, method=method, precision=0.6, n_keywords=100)
    result = annotate(photos, tmp_path / "labels.csv", tmp_path / "out", settings)
    rows = _keywords(tmp_path / "out")
    assert result.kind == "probability"
    assert min(float(row["score"]) for row in rows) >= 0.1
    unsure = [float(row["score"]) for row in rows if row["suggested"] == "no"]
    sure = [float(row["score"]) for row in rows if row["suggested"] == "yes"]
    assert sure
    assert max(unsure) <= result.threshold < min(sure)
    assert len(rows) == int(((result.Y == -1) & (result.scores >= 0.1)).sum())


def test_without_labels_names_speak(photos, tmp_path):
    settings = Settings(descriptors=("deep",), n_workers=1, n_keywords=2)
    with pytest.raises(StoreError, match="the feature group 'semantic'"):
        annotate(photos, None, tmp_path / "deep", settings, vocabulary=["volcano"])
    settings = replace(settings, descriptors=("semantic",))
    done = annotate(photos, None, tmp_path / "out", settings, vocabulary=["volcano", "seashore", "Anna"])
    assert (done.method, done.kind, done.n_labeled) == ("names", "score", 0)
    assert set(done.tags.names) == {"volcano", "seashore", "Anna"}
    assert done.scores.shape == (60, 3)
    assert ((done.scores >= 0.0) & (done.scores <= 1.0)).all()
    assert "no photo is labelled" in done.why_scores
    with done.files["keywords"].open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["suggested"] for row in rows} <= {"no"}
    assert all(float(row["score"]) >= 0.1 for row in rows)
    assert done.files["report"].is_file()


@pytest.mark.parametrize("options", [{"truth": "truth.csv"}, {"evaluate": True}])
def test_without_labels_nothing_can_be_measured(photos, tmp_path, options):
    with pytest.raises(InvalidInputError, match="needs labels"):
        annotate(photos, None, tmp_path / "out", LIGHT, **options)


def test_a_vocabulary_is_for_photos_without_labels(photos, tmp_path):
    with pytest.raises(InvalidInputError, match="labels and a vocabulary exclude each other"):
        annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT, vocabulary=["zebra"])
