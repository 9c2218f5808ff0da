import subprocess
import sys

import pytest


def test_the_page_and_the_summary(tagloom, project):
    found = tagloom("report", "--json", "-q").json
    assert (found["n_photos"], found["n_labeled"], found["n_with_suggestions"]) == (20, 10, 10)
    assert (found["file"], found["has_evaluation"]) == ("report.html", False)
    page = (project / "report.html").read_text(encoding="utf-8")
    assert "scene_00000.jpg" in page
    assert "data:image/webp;base64," in page
    shown = tagloom("report", "--out", "other.html").out
    assert "tagloom evaluate" in shown
    assert "written: other.html" in shown
    assert (project / "other.html").is_file()


def test_a_file_of_somebody_else_is_left_alone(tagloom, project):
    own = project / "report.html"
    own.write_text("<html>mine</html>", encoding="utf-8")
    done = tagloom("report")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "--out" in done.err
    assert own.read_text(encoding="utf-8") == "<html>mine</html>"
    assert tagloom("report", "--out", "report.html").code == 1
    assert own.read_text(encoding="utf-8") == "<html>mine</html>"
    own.unlink()
    assert [tagloom("report", "-q").code for _ in range(2)] == [0, 0]  # it is tagloom's own now
    own.unlink()
    own.mkdir()
    assert tagloom("report").code == 1


@pytest.mark.parametrize("name", ["scene_00000.jpg", "raw.NEF", "scene_00000.xmp", ".tagloom/tagloom.sqlite"])
def test_photos_and_the_project_are_left_alone(tagloom, project, name):
    photo, status = (project / "scene_00000.jpg").read_bytes(), tagloom("status", "--json").json
    names = sorted(path.name for path in project.iterdir())
    done = tagloom("report", "--out", name)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert (project / "scene_00000.jpg").read_bytes() == photo
    assert tagloom("status", "--json").json == status
    assert sorted(path.name for path in project.iterdir()) == names


@pytest.mark.parametrize("wrong", [["extra"], ["--out"]])
def test_wrong_usage(tagloom, project, wrong):
    assert tagloom("report", *wrong).code == 2


LIGHT_START = """
import sys
from tagloom.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code
heavy = {"sklearn", "scipy.stats", "pandas", "onnxruntime"} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize("command", [("report",), ("next", "--strategy", "random"), ("doctor",), ("suggest",)])
def test_scikit_learn_is_loaded_by_what_learns_alone(project, command):
    subprocess.run([sys.executable, "-c", LIGHT_START, *command], check=True, cwd=project, stdout=subprocess.DEVNULL)
