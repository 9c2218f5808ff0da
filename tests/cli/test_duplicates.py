import shutil

import pytest
from PIL import Image

from tagloom.project.project import Project


@pytest.fixture
def copies(project, tagloom):
    """Return the project with a copy, a smaller one and a strongly compressed one of its first photo."""
    (project / "copies").mkdir()
    shutil.copy(project / "scene_00000.jpg", project / "copies" / "same.jpg")
    with Image.open(project / "scene_00000.jpg") as image:
        image.resize((image.width // 2, image.height // 2)).save(project / "copies" / "small.jpg", quality=90)
        image.save(project / "copies" / "saved again.jpg", quality=60)
    assert tagloom("scan", "-q").code == 0
    return project


def test_groups_in_text_and_json(tagloom, copies):
    before = sorted(path.read_bytes() for path in copies.glob("**/*.jpg"))
    done = tagloom("duplicates", "-q")
    assert (done.code, done.err) == (0, "")
    assert "scene_00000.jpg  identical file" not in done.out  # it is not named as a copy of itself
    for line in ("identical file", "small.jpg", "Nothing changed."):
        assert line in done.out
    found = tagloom("duplicates", "--json", "-q").json
    assert (found["threshold"], found["n_without"]) == (6, 0)
    mine = next(group for group in found["groups"] if "scene_00000.jpg" in [item["photo"] for item in group])
    assert {"copies/same.jpg", "copies/saved again.jpg", "copies/small.jpg"} <= {item["photo"] for item in mine}
    assert mine[-1]["photo"] == "copies/small.jpg"  # the fewest pixels come last
    identical = {item["photo"] for item in mine if item["identical"]}
    assert len(identical & {"copies/same.jpg", "scene_00000.jpg"}) in (0, 2)
    assert sorted(path.read_bytes() for path in copies.glob("**/*.jpg")) == before


def test_the_threshold(tagloom, copies):
    strict = tagloom("duplicates", "--threshold", 0, "--json", "-q").json["groups"]
    names = [{item["photo"] for item in group} for group in strict]
    assert any({"copies/same.jpg", "scene_00000.jpg"} <= group for group in names)
    assert all(item["bits"] == 0 for group in strict for item in group)
    wide = tagloom("duplicates", "--threshold", 64, "--json", "-q").json["groups"]
    assert len(wide) == 1  # everything is like everything
    assert tagloom("duplicates", "--threshold", 65).code == 2


def test_none(tagloom, photos, tmp_path, monkeypatch):
    empty = tmp_path / "two"
    empty.mkdir()
    for number in (0, 9):
        shutil.copy(photos / f"scene_0000{number}.jpg", empty)
    monkeypatch.chdir(empty)
    tagloom("init", ".")
    assert tagloom("duplicates", "-q").code == 1  # nothing was scanned yet
    tagloom("scan", "-q")
    assert "No near-duplicates among 2 photos." in tagloom("duplicates", "-q", "--threshold", 0).out


def test_in_the_library(copies):
    with Project.open(copies) as project:
        result = project.duplicates(0)
        assert all(len(group) > 1 for group in result.groups)
        assert project.duplicates(0) == result  # nothing is read again
