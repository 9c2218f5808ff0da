import pytest


def _sidecars(folder):
    return sorted(path.name for path in folder.glob("*.xmp"))


def test_a_dry_run_then_sidecars_then_back(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "Places|Coast")
    plan = tagloom("write", "--dry-run")
    assert plan.code == 0
    assert "+ Places|Coast" in plan.out
    assert _sidecars(project) == []
    done = tagloom("write", "--json", "-q").json
    assert done["counts"] == {"written": len(_sidecars(project))}
    assert done["n_suggested"] == 0
    assert "unchanged" in tagloom("write", "-q").out
    undone = tagloom("undo", "--json").json
    assert undone["n_files"] == done["counts"]["written"]
    assert _sidecars(project) == []


def test_suggestions_only_if_asked(tagloom, project):
    name = tagloom("suggest", "--json", "-n", 1).json["suggestions"][0]["photo"]
    assert tagloom("write", name, "--dry-run", "--json").json["files"] == []
    asked = tagloom("write", name, "--dry-run", "--threshold", -1e9)
    assert "~ " in asked.out
    assert tagloom("write", "--suggested", "--dry-run", "--json").json["n_suggested"] > 0


def test_a_file_that_fails_is_said_and_the_others_are_written(tagloom, project):
    tagloom("label", "scene_00000.jpg", "scene_00001.jpg", "--add", "sea")
    (project / "scene_00000.jpg.xmp").write_text("<broken")
    done = tagloom("write", "-q")
    assert done.code == 1
    assert done.err.startswith("tagloom: scene_00000.jpg: ")
    assert done.err.count("\n") == 1
    assert "scene_00001.jpg.xmp" in _sidecars(project)


def test_embedding_needs_exiftool(tagloom, project, monkeypatch):
    monkeypatch.setenv("PATH", "")
    done = tagloom("write", "--embed", "-q")
    assert done.code == 1
    assert "exiftool" in done.err


@pytest.mark.medium
def test_embedding(tagloom, project, exiftool):
    before = (project / "scene_00000.jpg").read_bytes()
    tagloom("label", "scene_00000.jpg", "--add", "sea")
    done = tagloom("write", "scene_00000.jpg", "--embed", "--json", "-q")
    assert done.json["counts"] == {"written": 1}
    assert (project / "scene_00000.jpg").read_bytes() != before
    assert tagloom("undo").code == 0
    assert (project / "scene_00000.jpg").read_bytes() == before
