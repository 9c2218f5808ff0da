import shutil

import apsw


def test_undo_in_a_foreign_project_names_files_and_needs_yes(tagloom, project, tmp_path, monkeypatch):
    tagloom("write", "-q")
    copy = shutil.copytree(project, tmp_path / "from a stranger")
    monkeypatch.chdir(copy)
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "config of another user"))
    refused = tagloom("undo")
    assert refused.code == 1
    assert "tagloom undo --yes" in refused.err
    assert refused.err.count("undo writes ") == len(list(copy.glob("*.xmp")))
    assert list(copy.glob("*.xmp"))
    assert tagloom("undo", "--yes").code == 0
    assert not list(copy.glob("*.xmp"))
    assert list(project.glob("*.xmp"))


def test_settings_of_a_foreign_project_are_ignored_in_one_line_until_trusted(tagloom, project, tmp_path, monkeypatch):
    copy = shutil.copytree(project, tmp_path / "from a stranger")
    (copy / ".tagloom" / "tagloom.toml").write_text("memory_limit_mb = 65536\n")
    monkeypatch.chdir(copy)
    said = tagloom("scan", "-q").err
    assert said.startswith("ignored memory_limit_mb because you do not trust this project yet. ")
    assert (said.endswith("tagloom trust\n"), said.count("\n")) == (True, 1)
    refused = tagloom("trust")
    assert refused.code == 1
    assert "memory_limit_mb = 65536\n" in refused.err
    assert tagloom("trust", "--yes").out == f"trusted: {copy / '.tagloom'}\n"
    assert tagloom("scan", "-q").err == ""
    assert tagloom("trust", "--yes", "--json").json["settings"] == {"memory_limit_mb": "65536"}


def test_what_a_stranger_stored_is_called_damaged_whatever_it_is(tagloom, project, tmp_path, monkeypatch):
    copy = shutil.copytree(project, tmp_path / "from a stranger")
    connection = apsw.Connection(str(copy / ".tagloom" / "tagloom.sqlite"))
    connection.execute("UPDATE models SET features = '1e308'")
    assert connection.changes() == 1
    connection.close()
    monkeypatch.chdir(copy)
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "config of another user"))
    refused = tagloom("duplicates")
    assert refused.code == 1
    said = refused.err.splitlines()[-1]
    assert said.startswith("tagloom: what the project holds about its photos and what was learned of them is damaged")
    assert "unexpected" not in refused.err


def test_a_report_of_a_strangers_project_follows_no_link_that_nobody_named(tagloom, project, tmp_path, monkeypatch):
    copy = shutil.copytree(project, tmp_path / "from a stranger")
    victim = tmp_path / "empty"
    victim.touch()
    (copy / "report.html").symlink_to(victim)
    monkeypatch.chdir(copy)
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "config of another user"))
    refused = tagloom("report")
    assert (refused.code, victim.read_bytes()) == (1, b"")
    assert "report.html is a link" in refused.err
    assert tagloom("report", "--out", "other.html").code == 0
