"""A project that cannot be written: what only reads works, the rest says so, and nothing is changed."""

import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap

import apsw
import pytest
from PIL import Image

from tagloom.exceptions import StoreError
from tagloom.project.project import Project
from tagloom.store import database

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1, "method": "ridge"}
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (16, 16), (number * 60, 0, 0)).save(folder / f"{number}.jpg")
    with Project.init(folder, flags=LIGHT) as project:
        project.scan()
        project.label("1.jpg", add="red")
    return folder


@pytest.fixture
def locked(photos):
    """Return a function that takes away all permissions to write; they come back at the end."""

    def lock(folder):
        for place, _, files in os.walk(folder):
            for name in files:
                os.chmod(os.path.join(place, name), 0o444)
            os.chmod(place, 0o555)
        return folder

    yield lock
    for place, _, _ in os.walk(photos.parent):
        os.chmod(place, 0o755)


def _without_override():
    """Let permissions bind this process even if it is root's."""
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0:
        os._exit(99)


def _child(script, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, preexec_fn=_without_override)


def _files(folder):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


READING = """
    import json, sys
    from tagloom.exceptions import StoreError, WriteError
    from tagloom.project.project import Project

    photos, out = sys.argv[1:]
    told = {}
    with Project.open(photos) as project:
        status = project.status()
        told["status"] = [status.n_present, status.n_yes, status.online, status.root]
        told["tags"] = [tag.text for tag in project.tags()]
        told["history"] = [item.label for item in project.history()]
        told["found"] = [item.detail for item in project.check()]
        told["planned"] = project.write(dry_run=True).counts
        project.export(f"{out}/e.csv")
        project.backup(f"{out}/b.sqlite")
        project.report(f"{out}/r.html")
        for name, verb in {
            "label": lambda: project.label("2.jpg", add="new"),
            "rename": lambda: project.rename_tag("red", "crimson"),
            "undo": project.undo,
            "write": project.write,
            "scan": project.scan,
        }.items():
            try:
                verb()
            except (StoreError, WriteError) as error:
                told[name] = str(error)
    print(json.dumps(told))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX permissions")
@pytest.mark.medium
def test_what_only_reads_works_where_nothing_can_be_written(photos, locked, tmp_path):
    moved = tmp_path / "elsewhere"  # as a disk that is mounted at another place
    photos.rename(moved)
    (tmp_path / "out").mkdir()
    before = _files(locked(moved))
    done = _child(READING, moved, tmp_path / "out")
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["status"] == [4, 1, True, str(moved)]
    assert (told["tags"], told["history"], told["found"]) == (["red"], ["label 1 photo: +red"], [])
    assert told["planned"] == {"planned": 1}
    assert "1.jpg" in (tmp_path / "out" / "e.csv").read_text()
    assert (tmp_path / "out" / "r.html").stat().st_size
    for verb in ("label", "rename", "undo"):
        assert "cannot be written here" in told[verb]
    for verb in ("write", "scan"):
        assert "cannot write in '.tagloom'" in told[verb]
    assert _files(moved) == before
    copy = apsw.Connection(str(tmp_path / "out" / "b.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    assert copy.execute("SELECT text FROM tags").fetchall() == [("red",)]
    copy.close()


KILLED = """
    import os, signal, sys
    from tagloom.project.project import Project

    project = Project.open(sys.argv[1])
    project.label("2.jpg", add="late")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX permissions")
@pytest.mark.medium
def test_what_a_killed_process_left_in_the_journal_is_seen_or_told(photos, locked, tmp_path):
    (tmp_path / "out").mkdir()
    assert _child(KILLED, photos).returncode == -signal.SIGKILL
    journal = photos / ".tagloom" / "tagloom.sqlite-wal"
    assert journal.stat().st_size
    before = _files(locked(photos))
    done = _child(READING, photos, tmp_path / "out")
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["tags"] == ["late", "red"]
    assert _files(photos) == before
    # A copy without the file that goes with the journal
    os.chmod(photos / ".tagloom", 0o755)
    (photos / ".tagloom" / "tagloom.sqlite-shm").unlink()
    os.chmod(photos / ".tagloom", 0o555)
    done = _child(READING, photos, tmp_path / "out")
    assert done.returncode == 1
    assert b"copy the folder .tagloom to a place that can be written" in done.stderr


def test_a_store_that_cannot_be_written_is_opened_to_be_read(photos, monkeypatch):
    monkeypatch.setattr(database.os, "access", lambda *_: False)
    with Project.open(photos, flags=LIGHT) as project:
        assert project.store.is_read_only
        assert project.status().n_yes == 1
        with pytest.raises(StoreError, match="cannot be written here"):
            project.label("2.jpg", add="new")
        with project.store.cache() as cache, pytest.raises(StoreError, match="cannot be written here"):
            cache.begin([b"2.jpg"])
    monkeypatch.undo()
    with Project.open(photos, flags=LIGHT) as project:
        assert [tag.text for tag in project.tags()] == ["red"]
