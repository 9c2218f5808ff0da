import hashlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tagloom.core.user_folders import cache_folder
from tagloom.features.network import runner as model_cache
from tagloom.features.network.runner import cached_model, file_digest, kept_digest

HOME = Path(os.path.expanduser("~"))


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"TAGLOOM_CACHE": "/somewhere"}, "linux", Path("/somewhere")),
        ({"TAGLOOM_CACHE": "/somewhere"}, "win32", Path("/somewhere")),
        ({"XDG_CACHE_HOME": "/xdg"}, "linux", Path("/xdg/tagloom")),
        ({"XDG_CACHE_HOME": "relative"}, "linux", HOME / ".cache/tagloom"),
        ({}, "linux", HOME / ".cache/tagloom"),
        ({"XDG_CACHE_HOME": "/xdg"}, "darwin", HOME / "Library/Caches/tagloom"),
        ({"LOCALAPPDATA": "/local"}, "win32", Path("/local/tagloom/Cache")),
        ({}, "win32", HOME / "AppData/Local/tagloom/Cache"),
    ],
)
def test_cache_folder(environment, platform, expected):
    assert cache_folder(environment, platform=platform) == expected


class Builder:
    def __init__(self, data=b"model"):
        self.data, self.n_calls = data, 0

    def __call__(self):
        self.n_calls += 1
        return self.data


def test_built_once(tmp_path):
    build = Builder()
    folder = tmp_path / "a" / "b"
    assert cached_model("net", build, folder=folder) == b"model"
    assert cached_model("net", build, folder=folder) == b"model"
    assert build.n_calls == 1
    (file,) = folder.iterdir()
    assert file.name == f"net-{hashlib.sha256(b'model').hexdigest()}.onnx"


@pytest.mark.parametrize("damage", [b"", b"mode", b"Model", b"model and more"])
def test_a_damaged_file_is_built_again(tmp_path, damage):
    build = Builder()
    cached_model("net", build, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    assert cached_model("net", build, folder=tmp_path) == b"model"
    assert build.n_calls == 2
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"model"]


def test_names_do_not_mix(tmp_path):
    assert cached_model("net-1", Builder(b"one"), folder=tmp_path) == b"one"
    assert cached_model("net", Builder(b"other"), folder=tmp_path) == b"other"
    assert cached_model("net-1", Builder(b"never"), folder=tmp_path) == b"one"


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    build = Builder()
    assert cached_model("net", build, folder=tmp_path / "file" / "models") == b"model"
    assert cached_model("net", build, folder=tmp_path / "file" / "models") == b"model"
    assert build.n_calls == 2


def test_file_digest(tmp_path):
    (tmp_path / "x").write_bytes(b"abc" * 100_000)
    assert file_digest(tmp_path / "x") == hashlib.sha256(b"abc" * 100_000).hexdigest()


def sha(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def n_read(monkeypatch):
    """Return the list of files read for a digest."""
    read = []

    def reading(path):
        read.append(path)
        return file_digest(path)

    monkeypatch.setattr(model_cache, "file_digest", reading)
    monkeypatch.setattr(model_cache, "_digests", {})
    return read


@pytest.fixture
def settled(monkeypatch):
    """Let every file look old enough to be remembered."""
    monkeypatch.setattr(model_cache, "_SETTLED_NS", -(10**18))


def test_a_file_is_read_once_while_it_stays(tmp_path, n_read, settled):
    for name in ("x", "y"):
        (tmp_path / name).write_bytes(name.encode())
    for _ in range(3):
        assert kept_digest(tmp_path / "x") == kept_digest(str(tmp_path / "x")) == sha(b"x")
        assert kept_digest(tmp_path / "y") == sha(b"y")
    assert len(n_read) == 2


def test_a_replaced_file_of_the_same_size_and_date_is_seen(tmp_path, n_read, settled):
    path, new = tmp_path / "x", tmp_path / "new"
    path.write_bytes(b"old")
    assert kept_digest(path) == sha(b"old")
    new.write_bytes(b"new")
    os.utime(new, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    os.replace(new, path)
    assert kept_digest(path) == sha(b"new")
    path.write_bytes(b"longer")
    assert kept_digest(path) == sha(b"longer")
    path.unlink()
    with pytest.raises(FileNotFoundError):
        kept_digest(path)


def test_a_file_changed_in_place_is_seen(tmp_path, n_read, settled):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.utime(path, ns=(0, 10**18))
    assert kept_digest(path) == sha(b"old")
    path.write_bytes(b"new")
    os.utime(path, ns=(0, 10**18 + 1))
    assert kept_digest(path) == sha(b"new")


def test_a_file_changed_a_moment_ago_is_read_each_time(tmp_path, n_read, monkeypatch):
    """Its times may not tell the next change; frozen times stand for a coarse clock of the file system."""
    path = tmp_path / "x"
    path.write_bytes(b"old")
    frozen, now = path.stat(), path.stat().st_ctime_ns
    monkeypatch.setattr(model_cache, "os", SimpleNamespace(stat=lambda path: frozen, fspath=os.fspath))
    monkeypatch.setattr(model_cache.time, "time_ns", lambda: now + 2 * 10**9)
    assert kept_digest(path) == sha(b"old")
    path.write_bytes(b"new")
    assert kept_digest(path) == sha(b"new")
    monkeypatch.setattr(model_cache.time, "time_ns", lambda: now + 4 * 10**9)
    for _ in range(3):
        assert kept_digest(path) == sha(b"new")
    assert len(n_read) == 3
