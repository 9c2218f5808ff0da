"""Reading a file's bytes without being fooled: pipes, links, files that change under the reader."""

import contextlib
import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TypeVar

from tagloom.core import Verdict
from tagloom.images.verdicts import Refused

__all__ = ["Source", "fingerprint_file", "open_regular", "read_file", "read_stream"]

CHUNK = 1 << 24
PAUSE_BEFORE_RETRY = 0.05
_CHANGED = "the file changed while it was read; run again when it is no longer written to"

KINDS_OF_FILE = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """What was read of a file.

    Parameters
    ----------
    data : bytes
        The content; empty where only the hash was asked for.
    content_hash : str
        Hexadecimal BLAKE2b-256 of the content.
    size, mtime_ns, inode, ctime_ns : int
        Size, times and number, the same before and after reading.
    """

    data: bytes
    content_hash: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int


def read_file(path: bytes, *, longest: int) -> Source:
    """Read a regular file whole and hash it.

    Parameters
    ----------
    path : bytes
        The file.
    longest : int
        Refuse files of more bytes, before reading them.

    Raises
    ------
    Refused
        With the verdict on a file that cannot be read.
    """
    return _read_twice(path, longest)


def fingerprint_file(path: bytes) -> Source:
    """Hash a regular file of any size without keeping its bytes.

    Parameters
    ----------
    path : bytes
        The file.

    Raises
    ------
    Refused
        With the verdict on a file that cannot be read.
    """
    return _read_twice(path, None)


def read_stream(path: bytes, use: Callable[[IO[bytes]], T]) -> tuple[Source, T]:
    """Hash a regular file of any size, and let something read it that need not have all of it in memory.

    Parameters
    ----------
    path : bytes
        The file.
    use : callable
        Is given the open file at its beginning.

    Returns
    -------
    Source
        Without the bytes.
    object
        What ``use`` returned.

    Raises
    ------
    Refused
        With the verdict on a file that cannot be read; what ``use`` raises goes through.
    """
    found = fingerprint_file(path)
    with open_regular(path) as stream:
        made = use(stream)
        after = os.fstat(stream.fileno())
    # It may have been replaced between the two, or written to by a camera that is still recording.
    if (after.st_size, after.st_mtime_ns, after.st_ctime_ns) != (found.size, found.mtime_ns, found.ctime_ns):
        raise Refused(Verdict.CHANGED, _CHANGED)
    return found, made


@contextlib.contextmanager
def open_regular(path: bytes) -> Iterator[IO[bytes]]:
    """Open a regular file, and nothing else, for reading.

    Parameters
    ----------
    path : bytes
        The file.

    Raises
    ------
    Refused
        With the verdict on what is no file that can be opened.
    """
    try:
        # Looked at before it is opened: opening a pipe can wait for ever, opening a device can do things.
        _check_regular(os.stat(path))
        descriptor = os.open(path, _open_flags())
    except (OSError, ValueError) as error:
        raise _refusal(error, path) from error
    with os.fdopen(descriptor, "rb") as stream:
        _check_regular(os.fstat(descriptor))  # the name may lead elsewhere by now
        yield stream


def _read_twice(path: bytes, longest: int | None) -> Source:
    """Read, and once more where the file changed meanwhile: a copy may just have been finishing."""
    try:
        return _read(path, longest)
    except Refused as refused:
        if refused.verdict != Verdict.CHANGED:
            raise
    time.sleep(PAUSE_BEFORE_RETRY)
    return _read(path, longest)


def _read(path: bytes, longest: int | None) -> Source:
    try:
        # Looked at before it is opened: opening a pipe can wait for ever, opening a device can do things.
        _check_regular(os.stat(path))
        descriptor = os.open(path, _open_flags())
    except (OSError, ValueError) as error:
        raise _refusal(error, path) from error
    try:
        before = os.fstat(descriptor)
        _check_regular(before)  # the name may lead elsewhere by now
        _check_size(before.st_size, longest)
        data, content_hash, n_read = _consume(descriptor, before.st_size, keep=longest is not None)
        after = os.fstat(descriptor)
    except OSError as error:
        raise _refusal(error, path) from error
    finally:
        os.close(descriptor)
    if n_read != before.st_size or _stamp(before) != _stamp(after):
        raise Refused(Verdict.CHANGED, _CHANGED)
    return Source(data, content_hash, before.st_size, before.st_mtime_ns, before.st_ino, before.st_ctime_ns)


def _open_flags() -> int:
    """Return flags under which opening never waits and no child inherits, as far as the platform has them."""
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"):
        flags |= getattr(os, name, 0)
    return flags


def _consume(descriptor: int, size: int, *, keep: bool) -> tuple[bytes, str, int]:
    """Read at most one byte more than ``size``: a file that grows without end is seen as changed, not followed."""
    digest = hashlib.blake2b(digest_size=32)
    chunks: list[bytes] = []
    n_read = 0
    while n_read <= size:
        chunk = os.read(descriptor, min(CHUNK, size + 1 - n_read))
        if not chunk:
            break
        digest.update(chunk)
        n_read += len(chunk)
        if keep:
            chunks.append(chunk)
    data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    return data, digest.hexdigest(), n_read


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS_OF_FILE.get(stat.S_IFMT(status.st_mode), "something else")
        raise Refused(Verdict.NOT_REGULAR, f"expected a file, got {kind}")


def _check_size(size: int, longest: int | None) -> None:
    if size == 0:
        raise Refused(Verdict.EMPTY, "the file has no bytes")
    if longest is not None and size > longest:
        raise Refused(
            Verdict.TOO_LARGE,
            f"the file has {size / 2**20:,.0f} MiB, more than the {longest / 2**20:,.0f} MiB that are read; "
            f"raise memory_limit to allow it",
        )


def _refusal(error: OSError | ValueError, path: bytes) -> Refused:
    """Turn the system's answer into a verdict."""
    if isinstance(error, PermissionError):
        return Refused(Verdict.NO_PERMISSION, "no permission to read the file")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if os.path.islink(path):
            return Refused(Verdict.MISSING, "a symbolic link that points to nothing")
        return Refused(Verdict.MISSING, "no such file")
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return Refused(Verdict.UNREADABLE, "symbolic links that lead to each other")
    if isinstance(error, OSError):
        return Refused(Verdict.UNREADABLE, f"the system could not read the file: {error.strerror or error}")
    return Refused(Verdict.UNREADABLE, f"the system has no files of this name: {error}")
