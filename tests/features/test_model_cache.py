import hashlib
import os
from pathlib import Path

import pytest

from tagloom.features.model_cache import cache_folder, cached_model, file_digest

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
