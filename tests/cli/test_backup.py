import shutil


def test_a_copy_that_brings_everything_back(tagloom, project, tmp_path):
    before = tagloom("status", "--json").json
    done = tagloom("backup", tmp_path / "copy.sqlite", "--json")
    assert done.json["n_bytes"] == (tmp_path / "copy.sqlite").stat().st_size
    tagloom("label", "scene_00000.jpg", "--add", "fresh")
    for name in ("tagloom.sqlite-wal", "tagloom.sqlite-shm"):
        (project / ".tagloom" / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "copy.sqlite", project / ".tagloom" / "tagloom.sqlite")
    assert tagloom("status", "--json").json == before
    assert tagloom("check").code == 0


def test_errors(tagloom, project, tmp_path):
    tagloom("backup", tmp_path / "copy.sqlite")
    for wrong in (tmp_path / "copy.sqlite", tmp_path / "no" / "folder.sqlite"):
        done = tagloom("backup", wrong)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1
