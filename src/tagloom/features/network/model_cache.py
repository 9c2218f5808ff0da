"""Models built from weights are kept in the user's cache folder; a damaged or missing one is built again."""

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tagloom.core.files import write_bytes
from tagloom.exceptions import WriteError

__all__ = ["cache_folder", "cached_model", "file_digest", "kept_digest"]

# File systems tell times apart by up to 2 s: a file changed less than that ago can change again and look the same.
_SETTLED_NS = 3_000_000_000
_digests: dict[str, tuple[tuple[int, ...], str]] = {}


def cache_folder(environment: Mapping[str, str] | None = None, *, platform: str | None = None) -> Path:
    """Return the folder for files that can be made again.

    ``TAGLOOM_CACHE`` if set; else ``%LOCALAPPDATA%`` (Windows), ``~/Library/Caches`` (macOS) or ``XDG_CACHE_HOME`` or
    ``~/.cache`` (elsewhere), with ``tagloom`` under it. The folder need not exist.

    Parameters
    ----------
    environment : mapping, default=None
        Variables to read; None takes those of this process.
    platform : str, default=None
        As ``sys.platform``, which None takes.
    """
    environment = os.environ if environment is None else environment
    platform = sys.platform if platform is None else platform
    if environment.get("TAGLOOM_CACHE"):
        return Path(environment["TAGLOOM_CACHE"]).expanduser()
    home = Path(os.path.expanduser("~"))
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local", "tagloom", "Cache")
    if platform == "darwin":
        return home / "Library" / "Caches" / "tagloom"
    # The XDG specification says that a relative path is to be ignored.
    wanted = environment.get("XDG_CACHE_HOME", "")
    return Path(wanted if os.path.isabs(wanted) else home / ".cache", "tagloom")


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def kept_digest(path: str | os.PathLike[str]) -> str:
    """Return what `file_digest` does; the file is read again only if it has been changed or replaced since.

    Its place on the disk, its size and its times tell: another file of the same size and date is seen, too.
    """
    now, status = time.time_ns(), os.stat(path)
    state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    known = _digests.get(os.fspath(path))
    if known is not None and known[0] == state:
        return known[1]
    digest = file_digest(path)
    if now - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS:
        _digests[os.fspath(path)] = (state, digest)
    return digest


def cached_model(name: str, build: Callable[[], bytes], *, folder: Path | None = None) -> bytes:
    """Return the model of this name from the cache, or build and keep it.

    The file's name ends in the SHA-256 of its content, so that a damaged file is seen, built again and replaced. A
    cache that cannot be written costs time at the next start and nothing else.

    Parameters
    ----------
    name : str
        What the content depends on: weights, builder version.
    build : callable
        Makes the model's bytes.
    folder : path, default=None
        Where to keep it; None takes ``models`` under `cache_folder`.
    """
    folder = cache_folder() / "models" if folder is None else folder
    for path in sorted(folder.glob(f"{name}-*.onnx")):
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if path.stem == f"{name}-{hashlib.sha256(data).hexdigest()}":
                return data
    data = build()
    with contextlib.suppress(OSError, WriteError):
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / f"{name}-{hashlib.sha256(data).hexdigest()}.onnx", data)
    return data
