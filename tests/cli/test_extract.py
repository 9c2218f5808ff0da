import numpy as np
import pytest


def test_in_a_project(tagloom, project):
    done = tagloom("extract", "--groups", "edges", "--json", "-q")
    assert (done.code, done.err) == (0, "")
    assert (done.json["n_ready"], done.json["groups"]) == (20, {"edges": 73})
    assert "group color" in tagloom("extract", "-q").out


def test_of_a_folder(tagloom, photos, tmp_path):
    done = tagloom("extract", photos, "--out", tmp_path / "features", "--json", "-q")
    assert (done.code, done.json["n_rows"]) == (0, 20)
    assert np.load(done.json["files"]["features"]).shape == (20, 64)
    assert "photos read" in tagloom("extract", photos, "--out", tmp_path / "features", "-q").out
    assert not (photos / ".tagloom").exists()


def test_half_of_it_is_wrong_usage(tagloom, photos, tmp_path):
    assert tagloom("extract", photos).code == 2
    assert tagloom("extract", "--out", tmp_path / "features").code == 2


@pytest.mark.parametrize(
    ("folder", "options"),
    [
        ("missing", ()),
        ("nothing", ()),
        ("photos", ("--groups", "nosuch")),
        ("photos", ("--groups", "deep", "--encoder", "missing.onnx")),
    ],
)
def test_what_cannot_be_extracted_leaves_nothing_behind(tagloom, photos, tmp_path, monkeypatch, folder, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing").mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = tagloom("extract", folder, "--out", "out", *options)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert sorted(tmp_path.rglob("*")) == before
