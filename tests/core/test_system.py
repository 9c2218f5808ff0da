import os
import subprocess
import sys

import pytest

from tagloom.core import system


def _without(monkeypatch, *modules):
    real = system._optional
    monkeypatch.setattr(system, "_optional", lambda name: None if name in modules else real(name))


@pytest.mark.skipif(sys.platform != "linux", reason="address-space limits are enforced on Linux alone")
def test_memory_limit_is_enforced():
    script = (
        "from tagloom.core.system import limit_memory\n"
        "assert limit_memory(300 << 20)\n"
        "try:\n    bytearray(400 << 20)\nexcept MemoryError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "refused"


def test_without_the_posix_modules_everything_still_answers(tmp_path, monkeypatch):
    _without(monkeypatch, "resource", "fcntl", "msvcrt")
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert system.limit_memory(1 << 30) is False
    assert system.peak_memory() is None
    assert system.descriptor_limit() is None
    assert system.sync_folder(tmp_path) is False
    assert system.cpu_count() >= 1
    with open(tmp_path / "lock", "ab") as handle:
        assert system.lock_file(handle) is True
        system.sync_file(handle.fileno())


def test_macos_enforces_no_address_space_limit(monkeypatch):
    monkeypatch.setattr(system.sys, "platform", "darwin")
    assert system.limit_memory(1 << 30) is False


def test_full_sync_is_preferred_where_it_exists(tmp_path, monkeypatch):
    calls = []

    class Fcntl:
        F_FULLFSYNC = 51

        @staticmethod
        def fcntl(descriptor, command):
            calls.append(command)
            raise OSError("not on this file system")

    monkeypatch.setattr(system, "_optional", lambda name: Fcntl if name == "fcntl" else None)
    with open(tmp_path / "a", "wb") as handle:
        system.sync_file(handle.fileno())
    assert calls == [51]


def test_windows_locks(tmp_path, monkeypatch):
    class Msvcrt:
        LK_NBLCK = 2
        busy = False

        @classmethod
        def locking(cls, descriptor, mode, n_bytes):
            if cls.busy:
                raise OSError("locked")

    monkeypatch.setattr(system, "_optional", lambda name: Msvcrt if name == "msvcrt" else None)
    with open(tmp_path / "lock", "ab") as handle:
        assert system.lock_file(handle)
        Msvcrt.busy = True
        assert not system.lock_file(handle)


def test_a_lock_is_exclusive_and_ends_with_its_holder(tmp_path):
    path = tmp_path / "lock"
    with open(path, "ab") as first:
        assert system.lock_file(first)
        with open(path, "ab") as second:
            assert not system.lock_file(second)
    with open(path, "ab") as third:
        assert system.lock_file(third)


def test_peak_memory_is_plausible():
    assert 10 << 20 < system.peak_memory() < 24 << 30


def _pair(tmp_path):
    one, other = os.fsencode(tmp_path / "one"), os.fsencode(tmp_path / "other")
    for path in (one, other):
        with open(path, "wb") as handle:
            handle.write(os.path.basename(path))
    return one, other


def _content(path):
    with open(path, "rb") as handle:
        return handle.read()


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged on Linux")
def test_files_exchange_their_names(tmp_path):
    one, other = _pair(tmp_path)
    if not system.exchange_files(one, other):
        pytest.skip("the file system cannot do it")
    assert (_content(one), _content(other)) == (b"other", b"one")
    with pytest.raises(FileNotFoundError):
        system.exchange_files(one, other + b"missing")


@pytest.mark.parametrize("has_call", [True, False])
def test_a_name_that_is_taken_is_not_taken_over(tmp_path, monkeypatch, has_call):
    if not has_call:
        monkeypatch.setattr(system, "_rename", lambda *_: False)
    one, other = _pair(tmp_path)
    with pytest.raises(FileExistsError):
        system.move_to_free_name(one, other)
    assert (_content(one), _content(other)) == (b"one", b"other")
    system.move_to_free_name(one, other + b"2")
    assert _content(other + b"2") == b"one"
    assert not os.path.exists(one)


def test_a_file_system_without_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(system, "_rename", lambda *_: False)
    monkeypatch.setattr(os, "link", refuse)
    one, other = _pair(tmp_path)
    with pytest.raises(FileExistsError):
        system.move_to_free_name(one, other)
    system.move_to_free_name(one, other + b"2")
    assert _content(other + b"2") == b"one"


def test_descriptor_limit_is_the_soft_one(monkeypatch):
    resource = pytest.importorskip("resource")
    assert system.descriptor_limit() in (None, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert system.descriptor_limit() is None
