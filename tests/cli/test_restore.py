import pytest


@pytest.fixture
def labelled(tagloom, project, monkeypatch):
    """Return a project in which something was decided since; a command makes the backup when it ends."""
    monkeypatch.setattr("tagloom.store.backups.EVERY_DECISIONS", 1)
    monkeypatch.setattr("tagloom.store.backups.EVERY_SHARE", 0)
    assert tagloom("label", "scene_00000.jpg", "--add", "fresh").code == 0
    return project


def test_a_damaged_project_says_how_to_restore_and_is_restored(tagloom, labelled):
    before = tagloom("status", "--json").json
    name = tagloom("restore", "--list", "--json").json["backups"][0]["name"]
    assert name in tagloom("restore", "--list").out
    (labelled / ".tagloom" / "tagloom.sqlite").write_bytes(b"")
    for command in ("status", "scan", "repair", "train", "check"):
        done = tagloom(command)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "damaged" in done.err
        assert "tagloom restore" in done.err
    assert tagloom("restore").code == 1  # nobody said yes
    done = tagloom("restore", "--yes")
    assert done.out.startswith("restored: ")
    assert tagloom("scan", "-q").code == 0
    after = tagloom("status", "--json").json
    assert (after["n_yes"], after["n_no"]) == (before["n_yes"], before["n_no"])
    assert tagloom("train", "-q").code == 0


def test_restore_without_the_database(tagloom, labelled):
    (labelled / ".tagloom" / "tagloom.sqlite").unlink()
    assert tagloom("restore", "latest", "--yes", "--json").json["n_decisions"] > 0
    assert tagloom("status").code == 0


def test_no_backups_if_none_are_wanted(tagloom, project, monkeypatch):
    monkeypatch.setenv("TAGLOOM_N_BACKUPS", "0")
    tagloom("label", "scene_00000.jpg", "--add", "fresh")
    n = len(tagloom("restore", "--list", "--json").json["backups"])
    assert tagloom("restore", "nothing.sqlite", "--yes").code == 1
    assert n <= 1
