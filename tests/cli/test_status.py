import subprocess
import sys

SCRIPT = """
import sys
from tagloom.cli import main
try:
    main(["status", "--json"])
except SystemExit as end:
    assert not end.code
heavy = {"pydantic", "numpy", "scipy", "sklearn", "PIL", "cv2", "faiss", "onnx", "onnxruntime", "rich", "lxml"}
heavy &= set(sys.modules)
assert not heavy, heavy
"""


def test_what_to_do_next(tagloom, photos, monkeypatch):
    monkeypatch.chdir(photos)
    steps = [
        (["init", "."], "tagloom scan"),
        (["scan", "-q"], "tagloom review"),
        (["import", "labels.csv"], "tagloom train"),
        (["train", "-q"], "tagloom review"),
        (["import", "truth.csv"], "tagloom train"),
        (["train", "-q"], "tagloom write --dry-run"),
        (["write", "-q"], "tagloom review"),
        (["label", "scene_00000.jpg", "--add", "fresh"], "tagloom train"),
    ]
    for command, expected in steps:
        assert tagloom(*command).code == 0
        shown = tagloom("status")
        assert shown.out.rstrip().endswith(f"  {expected}")
        assert tagloom("status", "--json").json["command"] == expected
    assert "tagloom train" not in tagloom("status", "-q").out


def test_a_project_is_found_from_below_and_missed_elsewhere(tagloom, project, tmp_path, monkeypatch):
    (project / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(project / "a" / "b")
    assert tagloom("status", "--json").json["root"] == str(project)
    monkeypatch.chdir(tmp_path)
    done = tagloom("status", "--json")
    assert (done.code, done.out) == (1, "")
    assert "tagloom init PHOTOS" in done.err
    assert tagloom("status", "--project", "photos", "--json").code == 0
    monkeypatch.setenv("TAGLOOM_PROJECT", str(project))
    assert tagloom("status").code == 0


def test_without_a_command_a_project_says_what_to_do_next(tagloom, project, tmp_path, monkeypatch):
    assert tagloom().out == tagloom("status").out
    monkeypatch.chdir(tmp_path)
    assert "tagloom init PHOTOS" in tagloom().out
    monkeypatch.setenv("TAGLOOM_PROJECT", str(project))
    assert tagloom().out == tagloom("status").out


def test_it_imports_nothing_heavy(project):
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, cwd=project, stdout=subprocess.DEVNULL)


def test_one_photo_is_one(tagloom, photos, monkeypatch):
    monkeypatch.chdir(photos)
    for command in (["init", "."], ["scan", "-q"], ["label", "scene_00000.jpg", "--add", "sea"]):
        assert tagloom(*command).code == 0
    assert "1 photo is labelled: train a model." in tagloom("status").out


def test_what_waits_for_a_missing_photo_is_told(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "fresh")
    (project / "scene_00000.jpg").rename(project.parent / "away.jpg")
    tagloom("scan", "-q")
    tagloom("write", "-q")
    found = tagloom("status", "--json").json
    assert found["n_unwritten"] == found["n_unwritten_missing"] >= 1
    assert f"{found['n_unwritten']} ({found['n_unwritten']} of missing photos)" in tagloom("status").out
