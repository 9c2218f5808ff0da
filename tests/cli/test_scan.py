import os
import shutil

from tagloom.project.project import Project


def test_what_is_new_moved_and_gone(tagloom, project):
    os.rename(project / "scene_00000.jpg", project / "moved.jpg")
    os.remove(project / "scene_00001.jpg")
    shutil.copy(project / "scene_00002.jpg", project / "new.jpg")
    (project / "broken.jpg").write_bytes(b"no photo")
    done = tagloom("scan", "--json", "-q")
    assert done.code == 0
    assert done.err == ""
    counts = {name: len(done.json[name]) for name in ("new", "moved", "missing", "changed")}
    assert counts == {"new": 2, "moved": 1, "missing": 1, "changed": 0}
    assert done.json["n_duplicates"] == 1
    table = tagloom("scan")
    assert "unchanged" in table.out
    assert "not read" in table.out
    assert (project / ".tagloom" / "logs" / "tagloom.log").is_file()


def test_hostile_names(tagloom, project):
    names = [b"-odd.jpg", b"line\nend.jpg", b"caf\xe9.jpg", b"\x1b[31mred.jpg"]
    for name in names:
        shutil.copy(project / "scene_00002.jpg", os.path.join(os.fsencode(project), name))
    done = tagloom("scan", "-q", "-v")
    assert done.code == 0
    assert "\x1b" not in done.out
    labelled = tagloom("label", "--add", "odd", "--json", "--", *(os.fsdecode(name) for name in names))
    assert labelled.json["n_decisions"] == 4
    assert tagloom("label", "--add", "odd", "bytes://caf%E9.jpg").code == 0
    written = tagloom("write", "--dry-run", "-v")
    assert written.code == 0
    assert "line\\nend.jpg" in written.out
    assert "bytes://caf%E9.jpg" in written.out
    assert "\x1b" not in written.out


def test_a_folder_that_moved(tagloom, photos, tmp_path):
    away = tmp_path / "elsewhere" / "project"
    away.parent.mkdir()
    tagloom("init", photos, "--project", away)
    assert tagloom("scan", "--project", away, "-q").code == 0
    os.rename(photos, tmp_path / "disk")
    done = tagloom("scan", "--project", away, "-q")
    assert (done.code, done.out) == (1, "")
    assert "tagloom scan --photos DIR" in done.err
    assert tagloom("scan", "--project", away, "--json", "-q").json["offline"] is True
    assert "offline" in tagloom("status", "--project", away).out
    found = tagloom("scan", "--project", away, "--photos", tmp_path / "disk", "--json", "-q")
    assert (found.code, found.json["n_same"], found.json["missing"]) == (0, 20, [])
    assert tagloom("scan", "--project", away, "--photos", tmp_path / "nowhere").code == 2


def test_interrupted(tagloom, project, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Project, "scan", stop)
    done = tagloom("scan")
    assert done.code == 130
    assert done.err.strip().splitlines()[-1].startswith("tagloom: interrupted")
    assert "Traceback" not in done.err


def test_all_that_cannot_be_read_or_is_missing_is_named_with_verbose(tagloom, project):
    for number in range(7):
        (project / f"bad{number}.jpg").write_bytes(b"no photo")
    os.remove(project / "scene_00001.jpg")
    assert "-v lists all" in tagloom("scan", "-q").out
    done = tagloom("scan", "-q", "-v")
    listed = done.out
    assert "bad0.jpg" not in done.err  # each file is named once
    assert [f"bad{number}.jpg" in listed for number in range(7)] == [True] * 7
    assert "missing: scene_00001.jpg" in listed
    assert "missing: scene_00001.jpg" in tagloom("check", "-v").out
    assert tagloom("status", "--json").json["n_unreadable"] == 7


def test_a_copy_that_takes_over_is_told(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "kept")
    shutil.copy(project / "scene_00000.jpg", project / "backup.jpg")
    tagloom("scan", "-q")
    os.remove(project / "scene_00000.jpg")
    done = tagloom("scan", "-q")
    assert "took over the tags of another file" in done.out
    assert "backup.jpg" in done.out
    assert tagloom("undo").out.startswith("undone: a copy inherits the tags of a missing photo")


def test_the_log_tells_what_was_done(tagloom, project):
    (project / "text.jpg").write_text("no photo")
    tagloom("scan", "-q")
    tagloom("import", "truth.csv", "-q")
    tagloom("write", "-q")
    tagloom("undo", "-q")
    log = (project / ".tagloom" / "logs" / "tagloom.log").read_text(encoding="utf-8")
    for verb in ("scan", "import", "write", "undo"):
        assert f"catalog.logs: {verb}: " in log
    assert "WARNING" in log
    assert "text.jpg" in log


def test_skipped_files_are_named(tagloom, project):
    for name in ("a.mp4", "b.mp4", "c.mov", "d.jxl", "e.psd", "readme.txt"):
        (project / name).write_bytes(b"x")
    assert "Skipped: 3 videos (mp4, mov), 1 JXL, 1 PSD, 4 other files (csv, json, txt)" in tagloom("scan", "-q").out
    assert tagloom("scan", "-q", "--json").json["skipped"]["videos"] == {"mp4": 2, "mov": 1}
