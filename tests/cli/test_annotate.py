import csv
from pathlib import Path

import pytest

KEYS = {
    "n_photos",
    "n_decoded",
    "n_labeled",
    "n_with_suggestions",
    "tags",
    "method",
    "kind",
    "why_scores",
    "failed",
    "respelled",
    "unmatched",
    "comparison",
    "evaluation",
    "seconds",
    "files",
}


@pytest.fixture
def labels(photos):
    """Return a labels file that also names a photo that is not there; one photo cannot be read."""
    (photos / "broken.jpg").write_bytes(b"no photo")
    file = photos / "labels.csv"
    file.write_text(file.read_text() + "nowhere.jpg,sea\n")
    return file


def test_json(tagloom, photos, labels, tmp_path):
    out = tmp_path / "out"
    done = tagloom(
        "annotate", photos, "--labels", labels, "--out", out, "--truth", photos / "truth.csv", "--json", "-q"
    )
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert set(found) == KEYS
    with (out / "keywords.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert found["n_with_suggestions"] == len({row["file"] for row in rows})
    assert {row["tag"] for row in rows} <= set(found["tags"])
    assert (found["n_photos"], found["n_labeled"], found["method"]) == (20, 10, "ridge")
    assert [item["photo"] for item in found["failed"]] == ["broken.jpg"]
    assert [item["name"] for item in found["unmatched"]] == ["nowhere.jpg"]
    scores = found["comparison"]["mean_average_precision"]
    assert 0.0 < scores["tagloom: ridge"] <= 1.0
    assert all(Path(file).is_file() for file in found["files"].values())


def test_without_the_truth_there_is_no_comparison(tagloom, photos, labels, tmp_path):
    arguments = ("annotate", photos, "--labels", labels, "--out", tmp_path / "out")
    done = tagloom(*arguments, "--json")
    assert "learning (ridge)" in done.err
    assert done.json["comparison"] is None
    again = tagloom(*arguments, "--json", "-q").json
    assert (done.json["n_decoded"], again["n_decoded"]) == (20, 0)  # the broken one was tried, and is not decoded


def test_too_few_labels_to_evaluate(tagloom, photos, labels, tmp_path):
    arguments = ("annotate", photos, "--labels", labels, "--out", tmp_path / "out", "--evaluate", "-q")
    done = tagloom(*arguments)
    assert "needs 20 labelled photos" in " ".join(done.out.split())
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "needs 20 labelled photos" in report
    assert "measured-title" not in report


def test_corrected_keywords_are_not_replaced(tagloom, photos, labels, tmp_path):
    out = tmp_path / "out"
    arguments = ("annotate", photos, "--out", out, "-q")
    assert [tagloom(*arguments, "--labels", labels).code for _ in range(2)] == [0, 0]
    corrected = "file,tags\nscene_00000.jpg,sea\n"
    (out / "keywords.csv").write_text(corrected)
    for given in (["--labels", labels], *(["--labels", out / "keywords.csv", *more] for more in ([], ["--overwrite"]))):
        done = tagloom(*arguments, *given)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert (out / "keywords.csv").read_text() == corrected
    assert tagloom(*arguments, "--labels", labels, "--overwrite").code == 0
    assert (out / "keywords.csv").read_text() != corrected


def test_an_error_leaves_standard_output_empty(tagloom, photos, tmp_path):
    done = tagloom("annotate", photos, "--labels", "nowhere.csv", "--out", tmp_path / "out", "--json", "-q")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("--labels", "missing.csv"),
        ("--labels", "empty.csv"),
        ("--labels", "strangers.csv"),
        ("--labels", "binary.csv"),
        ("--truth", "missing.csv"),
        ("--groups", "nosuch"),
        ("--encoder", "missing.onnx"),
        ("--method", "nosuch"),
        ("photos", "missing"),
        ("photos", "nothing"),
    ],
)
def test_what_cannot_be_annotated_leaves_nothing_behind(tagloom, photos, tmp_path, monkeypatch, name, value):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty.csv").write_text("file,tags\n", encoding="utf-8")
    (tmp_path / "strangers.csv").write_text("file,tags\nelsewhere.jpg,sea\n", encoding="utf-8")
    (tmp_path / "binary.csv").write_bytes(b"\x00\x01")
    given = {"photos": photos, "--labels": photos / "labels.csv"} | {name: value}
    folder = given.pop("photos")
    before = sorted(tmp_path.rglob("*"))
    done = tagloom("annotate", folder, "--out", "out", *(item for pair in given.items() for item in pair))
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert sorted(tmp_path.rglob("*")) == before
