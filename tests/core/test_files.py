import errno
import os
import subprocess
import sys
import textwrap

import pytest

from tagloom.core import files, system
from tagloom.core.files import (
    TEMPORARY_MARK,
    atomic_write,
    before_replacing,
    sweep_temporary_files,
    write_bytes,
    write_text,
)
from tagloom.exceptions import TagloomError, WriteError


def test_replaces_whole_files(tmp_path):
    target = tmp_path / "a.txt"
    write_bytes(target, b"old")
    write_text(target, "néw")
    assert target.read_bytes() == "néw".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_error_in_the_body_leaves_the_old_content(tmp_path):
    target = tmp_path / "a.txt"
    write_bytes(target, b"old")

    def write_half():
        with atomic_write(target) as handle:
            handle.write(b"half")
            raise KeyError("stop")

    with pytest.raises(KeyError):
        write_half()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_data_then_rename_then_folder(tmp_path, monkeypatch):
    order = []
    sync_file, replace = system.sync_file, os.replace
    monkeypatch.setattr(system, "sync_file", lambda fd: (order.append("data"), sync_file(fd)))
    monkeypatch.setattr(files.os, "replace", lambda a, b: (order.append("rename"), replace(a, b)))
    monkeypatch.setattr(system, "sync_folder", lambda folder: order.append("folder"))
    write_bytes(tmp_path / "a", b"x")
    assert order == ["data", "rename", "folder"]


def test_a_full_disk_gives_one_clear_error(tmp_path, monkeypatch):
    write_bytes(tmp_path / "a", b"old")

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(system, "sync_file", full)
    with pytest.raises(WriteError, match="No space left") as caught:
        write_bytes(tmp_path / "a", b"new")
    assert isinstance(caught.value, TagloomError)
    assert isinstance(caught.value, OSError)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_kill_leaves_the_old_content_and_a_sweepable_rest(tmp_path):
    write_bytes(tmp_path / "a", b"old")
    script = """
        import os, signal, sys
        from tagloom.core.files import atomic_write
        with atomic_write(sys.argv[1]) as handle:
            handle.write(b"half")
            handle.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "a")], check=False)
    assert done.returncode == -9
    assert (tmp_path / "a").read_bytes() == b"old"
    assert any(TEMPORARY_MARK in name for name in os.listdir(tmp_path))
    assert sweep_temporary_files(tmp_path) == 0
    assert sweep_temporary_files(tmp_path, older_than=0) == 1
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("place", "advice"),
    [
        ("no such folder/x.csv", "Make the folder"),
        ("file/x.csv", "Make the folder"),
        ("x" * 300, "a shorter name"),
    ],
)
def test_the_advice_is_that_of_the_error(tmp_path, place, advice):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteError, match=advice):
        write_bytes(tmp_path / place, b"data")


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("deep/real")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "real").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "link", "real"]


def test_a_watcher_sees_the_whole_content_before_it_is_in_place(tmp_path):
    seen = []

    def watch(target, content):
        seen.append((target, content.read_bytes(), target.exists()))

    with before_replacing(watch):
        write_bytes(tmp_path / "a", b"one")
        with pytest.raises(ZeroDivisionError), atomic_write(tmp_path / "b"):
            raise ZeroDivisionError
    write_bytes(tmp_path / "c", b"not watched")
    assert seen == [(tmp_path / "a", b"one", False)]
