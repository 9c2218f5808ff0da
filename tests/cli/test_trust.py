import hashlib
import json
import os
import shutil

import apsw
import pytest


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


def test_settings_that_come_while_a_person_reads_are_not_trusted(tagloom, project, tmp_path, monkeypatch):
    copy = shutil.copytree(project, tmp_path / "from a stranger")
    settings = copy / ".tagloom" / "tagloom.toml"
    monkeypatch.chdir(copy)

    def late(*_):
        settings.write_text("memory_limit_mb = 65536\n")
        return True

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("tagloom.cli.trust.confirm", late)
    assert tagloom("trust").code == 0
    assert tagloom("scan", "-q").err.startswith("ignored memory_limit_mb because")


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


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("report.html", "report"),
        ("report.html", "report --out report.html"),
        ("keywords.csv", "export keywords.csv"),
        ("keywords.csv", "export keywords.csv --overwrite"),
        ("out", "export out --format huggingface"),
        ("out", "export out/../out/./keywords.csv"),
        ("out", "export sub/../out/keywords.csv"),
        ("out", "backup out/backup.sqlite"),
        ("out", "evaluate --report out/report.html"),
    ],
)
def test_no_link_in_a_strangers_folder_takes_a_file_elsewhere(tagloom, project, tmp_path, monkeypatch, name, command):
    _no_link_takes_a_file_elsewhere(tagloom, project, tmp_path, monkeypatch, name, command)


def test_no_link_takes_a_figure_elsewhere(tagloom, project, tmp_path, monkeypatch, matplotlib):
    command = "compare ridge harmonic --figure out/figure.svg"
    _no_link_takes_a_file_elsewhere(tagloom, project, tmp_path, monkeypatch, "out", command)


def _no_link_takes_a_file_elsewhere(tagloom, project, tmp_path, monkeypatch, name, command):
    """The stranger enters the victim's file as one that tagloom made: what it holds is well known, or nothing."""
    copy = shutil.copytree(project, tmp_path / "from a stranger")
    (copy / "sub").mkdir()
    home = tmp_path / "home"
    home.mkdir()
    profile = home / ".profile"
    profile.write_bytes(b"" if name == "report.html" else b"# ~/.profile: executed by the shell")
    (copy / name).symlink_to(profile if "." in name else home)
    before = profile.read_bytes()
    made = [[str(profile), [hashlib.blake2b(before, digest_size=16).hexdigest()]]]
    connection = apsw.Connection(str(copy / ".tagloom" / "tagloom.sqlite"))
    connection.execute("INSERT OR REPLACE INTO settings VALUES ('made_files', ?)", (json.dumps(made),))
    connection.close()
    monkeypatch.chdir(copy)
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "config of another user"))
    refused = tagloom(*command.split())
    assert refused.code == 1
    assert "is a link out of the folder of a project that you do not trust" in refused.err
    assert (os.listdir(home), profile.read_bytes()) == ([".profile"], before)


def test_what_a_stranger_says_that_tagloom_made_is_not_written_over(tagloom, project, tmp_path, monkeypatch):
    copy = shutil.copytree(project, tmp_path / "from a stranger")
    victim = tmp_path / "mine.csv"
    victim.write_bytes(b"mine")
    digest = hashlib.blake2b(b"mine", digest_size=16).hexdigest()
    monkeypatch.chdir(copy)
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "config of another user"))
    assert tagloom("export", "own.csv").code == 0
    assert tagloom("export", "own.csv").code == 0
    connection = apsw.Connection(str(copy / ".tagloom" / "tagloom.sqlite"))
    made = json.dumps([[str(victim), [digest]]])
    connection.execute("UPDATE settings SET value = ? WHERE key = 'made_files'", (made,))
    connection.close()
    refused = tagloom("export", str(victim))
    assert (refused.code, victim.read_bytes()) == (1, b"mine")
    assert "--overwrite" in refused.err
    assert tagloom("export", "../next.csv").code == 0  # a new file, where a person says


def test_the_users_own_links_are_followed(tagloom, project, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / "out").symlink_to(elsewhere)
    assert tagloom("export", str(project / "out" / "keywords.csv")).code == 0
    assert os.listdir(elsewhere) == ["keywords.csv"]
