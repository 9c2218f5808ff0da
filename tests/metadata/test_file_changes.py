import contextlib
import errno
import json
import os
import struct
import subprocess
import sys
import textwrap

import pytest

from tagloom.core import system
from tagloom.core.files import TEMPORARY_MARK
from tagloom.exceptions import ChangedMeanwhileError, MetadataError, WriteError
from tagloom.metadata import file_changes
from tagloom.metadata.file_changes import FileChanges, real_file

OLD, NEW = b"old content\n" * 40, b"new content\n" * 50


@pytest.fixture
def changes(tmp_path):
    """Return file changes with a journal of their own."""
    return FileChanges(tmp_path / "journal")


@pytest.fixture
def target(tmp_path):
    """Return the path of a file with content."""
    (tmp_path / "photos").mkdir()
    path = tmp_path / "photos" / "a.xmp"
    path.write_bytes(OLD)
    return os.fsencode(path)


def content(path: bytes) -> bytes | None:
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except FileNotFoundError:
        return None


def put(path: bytes, data: bytes) -> None:
    with open(path, "wb") as handle:
        handle.write(data)


def test_replace_and_undo(changes, target):
    entry = changes.replace(target, OLD, NEW, kind="sidecar", run="1")
    assert content(target) == NEW
    assert changes.entries(run="1") == [entry]
    assert entry.state == "done"
    undone = changes.undo(entry)
    assert content(target) == OLD
    assert changes.entries() == [undone]
    assert changes.undo(undone) == undone
    assert os.listdir(os.path.dirname(target)) == [b"a.xmp"]
    assert changes.recover() == []


def test_a_file_that_did_not_exist_goes_again(changes, tmp_path):
    path = os.fsencode(tmp_path / "b.xmp")
    entry = changes.replace(path, None, NEW, kind="sidecar")
    assert content(path) == NEW
    changes.undo(entry)
    assert content(path) is None


def test_undo_in_order(changes, target):
    first = changes.replace(target, OLD, NEW, kind="sidecar")
    second = changes.replace(target, NEW, b"newer", kind="sidecar")
    with pytest.raises(MetadataError, match="Undo later writes"):
        changes.undo(first)
    assert content(target) == b"newer"
    changes.undo(second)
    changes.undo(first)
    assert content(target) == OLD


def test_undo_refuses_what_others_changed(changes, target):
    entry = changes.replace(target, OLD, NEW, kind="sidecar")
    put(target, b"edited")
    with pytest.raises(MetadataError, match="left alone"):
        changes.undo(entry)
    assert content(target) == b"edited"
    os.unlink(target)
    with pytest.raises(MetadataError, match="left alone"):
        changes.undo(entry)
    assert content(target) is None
    # Somebody put the old version back: then it is undone already.
    put(target, OLD)
    assert changes.undo(entry).state == "undone"


def test_undo_where_the_file_is_now(changes, target, tmp_path):
    entry = changes.replace(target, OLD, NEW, kind="sidecar")
    os.rename(tmp_path / "photos", tmp_path / "moved")
    moved = os.fsencode(tmp_path / "moved" / "a.xmp")
    changes.undo(entry, path=moved)
    assert content(moved) == OLD


def test_a_file_that_changed_is_not_overwritten(changes, target, tmp_path):
    with pytest.raises(ChangedMeanwhileError):
        changes.replace(target, b"what it was", NEW, kind="sidecar")
    with pytest.raises(ChangedMeanwhileError):
        changes.replace(target, None, NEW, kind="sidecar")
    with pytest.raises(ChangedMeanwhileError):
        changes.replace(os.fsencode(tmp_path / "missing"), b"x", NEW, kind="sidecar")
    assert content(target) == OLD
    assert os.listdir(os.path.dirname(target)) == [b"a.xmp"]


def test_a_change_at_the_last_moment_is_seen(changes, target, monkeypatch):
    sync = system.sync_file

    def edit_then_sync(descriptor):
        sync(descriptor)
        if os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")).startswith("a.xmp"):
            put(target, b"edited")

    monkeypatch.setattr(system, "sync_file", edit_then_sync)
    with pytest.raises(ChangedMeanwhileError):
        changes.replace(target, OLD, NEW, kind="sidecar")
    assert content(target) == b"edited"


def test_permissions_stay(changes, target):
    os.chmod(target, 0o640)
    entry = changes.replace(target, OLD, NEW, kind="sidecar")
    assert os.stat(target).st_mode & 0o7777 == 0o640
    changes.undo(entry)
    assert os.stat(target).st_mode & 0o7777 == 0o640


def test_the_owner_stays(changes, target, unprivileged_uid):
    os.chown(target, unprivileged_uid, unprivileged_uid)
    changes.replace(target, OLD, NEW, kind="sidecar")
    assert (os.stat(target).st_uid, os.stat(target).st_gid) == (unprivileged_uid, unprivileged_uid)


def test_links_are_written_through(changes, target, tmp_path):
    link = os.fsencode(tmp_path / "link.xmp")
    os.symlink(target, link)
    entry = changes.replace(link, OLD, NEW, kind="sidecar")
    assert os.path.islink(link)
    assert content(target) == NEW
    assert entry.path == os.path.realpath(target)
    changes.undo(entry)
    assert content(target) == OLD


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink("nowhere", tmp_path / "dangling")
    os.symlink("loop", tmp_path / "loop")
    for name in ("pipe", "dangling", "loop", "."):
        with pytest.raises(MetadataError):
            real_file(os.fsencode(tmp_path / name))
    assert real_file(os.fsencode(tmp_path / "new")) == os.path.realpath(os.fsencode(tmp_path / "new"))


def test_a_full_disk_leaves_the_old_content(changes, target, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(system, "sync_file", full)
    with pytest.raises(WriteError, match="No space left"):
        changes.replace(target, OLD, NEW, kind="sidecar")
    monkeypatch.undo()
    assert content(target) == OLD
    assert changes.entries() == []
    assert os.listdir(changes.journal.folder) == []


def test_each_step_is_on_stable_storage_before_the_next(changes, target, monkeypatch):
    order = []
    sync_file, sync_folder, rename = system.sync_file, system.sync_folder, os.replace

    def place(path):
        return "journal" if "journal" in os.fsdecode(path) else "photos"

    def note_sync(descriptor):
        order.append(f"data in {place(os.readlink(f'/proc/self/fd/{descriptor}'))}")
        sync_file(descriptor)

    def note_folder(folder):
        order.append(f"folder {place(folder)}")
        # Not through the patched function: what counts here are the calls of the writer itself.
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)

    def note_rename(source, to):
        order.append(f"rename in {place(to)}")
        rename(source, to)

    monkeypatch.setattr(system, "sync_file", note_sync)
    monkeypatch.setattr(system, "sync_folder", note_folder)
    monkeypatch.setattr(os, "replace", note_rename)
    changes.replace(target, OLD, NEW, kind="sidecar")
    monkeypatch.setattr(system, "sync_folder", sync_folder)
    steps = [step for number, step in enumerate(order) if number == 0 or order[number - 1] != step]
    assert steps == [
        *("data in journal", "rename in journal", "folder journal"),
        *("data in photos", "rename in photos", "folder photos"),
        *("rename in journal", "folder journal"),
    ]


KILLER = """
    import itertools, os, signal, sys
    from tagloom.core import system
    from tagloom.metadata.file_changes import FileChanges

    folder, what, old, new = sys.argv[1], sys.argv[2], sys.argv[3].encode(), sys.argv[4].encode()

    def run(number):
        here = os.path.join(folder, str(number))
        target = os.fsencode(os.path.join(here, "photos", "a.xmp"))
        changes = FileChanges(os.path.join(here, "journal"))
        before = None if what.endswith("new") else old
        entry = changes.replace(target, before, new, kind="sidecar") if what.startswith("undo") else None
        moments = itertools.count()

        def deadly(call):
            def wrapped(*arguments):
                if next(moments) == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = call(*arguments)
                if next(moments) == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result
            return wrapped

        system.sync_file, system.sync_folder = deadly(system.sync_file), deadly(system.sync_folder)
        os.replace, os.rename, os.unlink = deadly(os.replace), deadly(os.rename), deadly(os.unlink)
        system.exchange_files = deadly(system.exchange_files)
        system.move_to_free_name = deadly(system.move_to_free_name)
        if entry is None:
            changes.replace(target, before, new, kind="sidecar")
        else:
            changes.undo(entry)

    for number in itertools.count():
        child = os.fork()
        if child == 0:
            try:
                run(number)
            finally:
                os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            print(number)
            break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills are made in forked processes")
@pytest.mark.parametrize(
    "what", ["write", *(pytest.param(what, marks=pytest.mark.medium) for what in ("write new", "undo", "undo new"))]
)
def test_a_kill_between_any_two_steps(tmp_path, what):
    for number in range(60):
        (tmp_path / str(number) / "photos").mkdir(parents=True)
        if not what.endswith("new"):
            (tmp_path / str(number) / "photos" / "a.xmp").write_bytes(OLD)
    command = [sys.executable, "-c", textwrap.dedent(KILLER), str(tmp_path), what, OLD.decode(), NEW.decode()]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, timeout=100, env=environment)
    n_kills = json.loads(done.stdout)
    assert n_kills >= (8 if what == "undo new" else 12)
    before = None if what.endswith("new") else OLD
    states = set()
    for number in range(n_kills + 1):
        target = os.fsencode(tmp_path / str(number) / "photos" / "a.xmp")
        found = content(target)
        assert found in (before, NEW)
        changes = FileChanges(tmp_path / str(number) / "journal")
        changes.recover()
        assert changes.recover() == []
        assert content(target) == found
        assert not [name for name in os.listdir(os.path.dirname(target)) if os.fsencode(TEMPORARY_MARK) in name]
        entries = changes.entries()
        if found == NEW:
            # Written by us, so that it must be possible to take it back.
            assert [entry.state for entry in entries] == ["done"]
            changes.undo(entries[0])
            assert content(target) == before
        else:
            assert [entry.state for entry in entries] in ([], ["undone"])
        states.add(found)
    assert states == {before, NEW}


def test_recover_leaves_what_others_changed(changes, target, monkeypatch):
    entry = changes.journal.begin(os.path.realpath(target), OLD, "0" * 64, kind="sidecar", run="")
    put(target, b"edited")
    (recovered,) = changes.recover()
    assert recovered.entry.state == "unclear"
    assert "another program" in recovered.message
    assert content(target) == b"edited"
    with pytest.raises(MetadataError, match="left alone"):
        changes.undo(recovered.entry)
    assert changes.journal.saved(recovered.entry) == OLD
    changes.forget(recovered.entry)
    assert changes.entries() == []
    assert entry.state == "pending"


def test_recover_waits_for_a_folder_that_is_offline(changes, tmp_path):
    changes.journal.begin(os.fsencode(tmp_path / "unplugged" / "a.xmp"), None, "0" * 64, kind="sidecar", run="")
    (recovered,) = changes.recover()
    assert recovered.entry.state == "pending"
    assert "cannot be reached" in recovered.message
    assert changes.entries() == [recovered.entry]


def test_what_cannot_be_removed_is_told(changes, tmp_path, monkeypatch):
    path = os.fsencode(tmp_path / "b.xmp")
    entry = changes.replace(path, None, NEW, kind="sidecar")

    def refuse(path):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(file_changes.os, "unlink", refuse)
    with pytest.raises(WriteError, match="could not remove"):
        changes.undo(entry)
    monkeypatch.undo()
    (entry,) = changes.entries()
    assert entry.state == "done"
    changes.undo(entry)
    assert content(path) is None


ACCESS_LIST = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", *entry)
    for entry in ((1, 6, 2**32 - 1), (2, 4, 1234), (4, 4, 2**32 - 1), (0x10, 4, 2**32 - 1), (0x20, 0, 2**32 - 1))
)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="extended attributes are copied on Linux")
@pytest.mark.parametrize(
    ("name", "value"), [("user.rating", b"five"), ("system.posix_acl_access", ACCESS_LIST)], ids=["attribute", "list"]
)
def test_extended_attributes_and_access_lists_stay(changes, target, name, value):
    try:
        os.setxattr(target, name, value)
    except OSError as error:
        pytest.skip(f"the file system has none: {error}")
    mode = os.stat(target).st_mode
    entry = changes.replace(target, OLD, NEW, kind="sidecar")
    assert os.getxattr(target, name) == value
    assert os.stat(target).st_mode == mode
    changes.undo(entry)
    assert os.getxattr(target, name) == value
    assert os.stat(target).st_mode == mode


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="access lists are copied on Linux")
def test_a_folder_gives_no_access_list_to_a_file_that_had_none(changes, target):
    try:
        os.setxattr(os.path.dirname(target), "system.posix_acl_default", ACCESS_LIST)
    except OSError as error:
        pytest.skip(f"the file system has none: {error}")
    entry = changes.replace(target, OLD, NEW, kind="sidecar")
    assert os.listxattr(target) == []
    changes.undo(entry)
    assert os.listxattr(target) == []


def save_by_rename(path: bytes, data: bytes) -> None:
    put(path + b"~", data)
    os.replace(path + b"~", path)


@pytest.fixture(params=["exchanged", "replaced"])
def exchange(request, monkeypatch):
    """Return what exchanges names, which is nothing on some file systems; tests patch it to save right before it."""
    if request.param == "replaced":
        monkeypatch.setattr(system, "exchange_files", lambda one, other: False)
    elif sys.platform != "linux":
        pytest.skip("names are exchanged on Linux")
    return system.exchange_files


@pytest.mark.parametrize("undo", [False, True], ids=["write", "undo"])
def test_a_save_right_before_the_files_change_names_is_kept(changes, target, exchange, monkeypatch, undo):
    entry = changes.replace(target, OLD, NEW, kind="sidecar") if undo else None
    calls = []

    def save_first(one, other):
        if not calls:
            save_by_rename(target, b"edited")
        calls.append(one)
        return exchange(one, other)

    monkeypatch.setattr(system, "exchange_files", save_first)
    with pytest.raises(ChangedMeanwhileError):
        changes.replace(target, OLD, NEW, kind="sidecar") if entry is None else changes.undo(entry)
    assert content(target) == b"edited"
    assert os.listdir(os.path.dirname(target)) == [b"a.xmp"]


def test_a_save_after_a_save_that_came_out_is_kept(changes, target, monkeypatch):
    exchange, n_calls = system.exchange_files, []
    if sys.platform != "linux":
        pytest.skip("names are exchanged on Linux")

    def save_first(one, other):
        n_calls.append(one)
        if len(n_calls) <= 2:
            save_by_rename(target, b"edited %d" % len(n_calls))
        return exchange(one, other)

    monkeypatch.setattr(system, "exchange_files", save_first)
    with pytest.raises(ChangedMeanwhileError):
        changes.replace(target, OLD, NEW, kind="sidecar")
    assert content(target) == b"edited 2"
    assert os.listdir(os.path.dirname(target)) == [b"a.xmp"]
    assert changes.entries() == []


def test_a_file_that_is_made_meanwhile_is_kept(changes, tmp_path, monkeypatch):
    path = os.fsencode(tmp_path / "b.xmp")
    move = system.move_to_free_name
    monkeypatch.setattr(system, "move_to_free_name", lambda one, other: (put(path, b"edited"), move(one, other)))
    with pytest.raises(ChangedMeanwhileError):
        changes.replace(path, None, NEW, kind="sidecar")
    assert content(path) == b"edited"
    assert changes.entries() == []


def test_a_save_right_before_a_removal_is_kept(changes, tmp_path, monkeypatch):
    path = os.fsencode(tmp_path / "photos" / "b.xmp")
    os.mkdir(os.path.dirname(path))
    entry = changes.replace(path, None, NEW, kind="sidecar")
    rename = os.rename
    monkeypatch.setattr(os, "rename", lambda one, other: (save_by_rename(path, b"edited"), rename(one, other)))
    with pytest.raises(ChangedMeanwhileError):
        changes.undo(entry)
    assert content(path) == b"edited"
    assert os.listdir(os.path.dirname(path)) == [b"b.xmp"]


def test_a_crash_before_a_save_is_put_back(changes, target, monkeypatch):
    if sys.platform != "linux":
        pytest.skip("names are exchanged on Linux")
    exchange = system.exchange_files

    class Killed(BaseException):
        pass

    def save_and_be_killed(one, other):
        save_by_rename(target, b"edited")
        exchange(one, other)
        monkeypatch.setattr(changes, "_settle", None)
        raise Killed

    monkeypatch.setattr(system, "exchange_files", save_and_be_killed)
    with pytest.raises((Killed, TypeError)):
        changes.replace(target, OLD, NEW, kind="sidecar")
    monkeypatch.undo()
    assert content(target) == NEW  # and the save lies beside it
    (recovered,) = changes.recover()
    assert recovered.entry.state == "unclear"
    assert content(target) == b"edited"
    assert os.listdir(os.path.dirname(target)) == [b"a.xmp"]


def test_a_file_that_is_open_for_writing_is_left_alone(changes, target, monkeypatch):
    monkeypatch.setattr(file_changes, "_PATIENCE", 0.02)
    with open(target, "r+b") as handle:
        if system.hold_off_writers(handle.fileno()) is None:
            pytest.skip("writers cannot be held off here")
        with pytest.raises(ChangedMeanwhileError):
            changes.replace(target, OLD, NEW, kind="sidecar")
        handle.truncate(0)
        handle.write(b"edited")
    assert content(target) == b"edited"
    changes.replace(target, b"edited", NEW, kind="sidecar")


OTHER_PROGRAM = """
    import os, sys, time

    path, kind, n_saves, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    end, n_lost, n_late, number = time.monotonic() + seconds, 0, 0, 0

    def own():
        with open(path, "rb") as handle:
            return [line for line in handle.read().split(b"\\n") if line.startswith(b"other ")]

    while number < n_saves and time.monotonic() < end:
        if number and own() != [b"other %d" % number]:
            n_late += 1  # it came out by the exchange, and is put back at once
            patience = time.monotonic() + 5
            while own() != [b"other %d" % number]:
                if time.monotonic() > patience:
                    n_lost += 1
                    break
        number += 1
        data = b"other %d\\n" % number
        if kind == "rename":
            with open(path + "~", "wb") as handle:
                handle.write(data)
            os.replace(path + "~", path)
        else:
            with open(path, "wb") as handle:
                handle.write(data[:3])
                handle.flush()
                handle.write(data[3:])
        if number % 3 == 0:
            time.sleep(0.0005 * (number % 7))
        if number % 40 == 0:
            time.sleep(0.05)  # long enough for a write to come through
    print(number, n_lost, n_late)
"""


@pytest.mark.medium
@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged on Linux")
@pytest.mark.parametrize("kind", [pytest.param("rename", marks=pytest.mark.slow), "in place"])
def test_saves_of_another_program_at_the_same_time_are_never_lost(changes, target, kind):
    put(target, b"other 0\n")
    command = [sys.executable, "-c", textwrap.dedent(OTHER_PROGRAM), os.fsdecode(target), kind, "3000", "10"]
    n_written = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        while other.poll() is None:
            now = content(target)
            if now is None:
                continue
            lines = [line for line in now.split(b"\n") if not line.startswith(b"tagloom")]
            merged = b"\n".join([*lines[:-1], b"tagloom %d" % n_written, b""])
            with contextlib.suppress(ChangedMeanwhileError):
                entry = changes.replace(target, now, merged, kind="sidecar")
                changes.forget(entry)
                n_written += 1
        n_saves, n_lost, _ = map(int, other.stdout.read().split())
    assert n_lost == 0
    assert n_saves >= 100
    assert n_written
    assert os.listdir(os.path.dirname(target)) == [b"a.xmp"]
