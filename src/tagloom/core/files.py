"""Writing files so that a crash leaves the old content or the new one, never half of either."""

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from tagloom.core import system
from tagloom.exceptions import WriteError

__all__ = [
    "TEMPORARY_MARK",
    "atomic_write",
    "before_replacing",
    "sweep_temporary_files",
    "write_bytes",
    "write_error",
    "write_text",
]

_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "Free some space or choose another folder"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Choose a folder that you may write to"),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), "Make the folder or choose another one"),
    errno.ENAMETOOLONG: "Choose a shorter name",
}

TEMPORARY_MARK = ".tagloom-tmp-"
Watcher = Callable[[Path, Path], None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextlib.contextmanager
def before_replacing(watcher: Watcher) -> Iterator[None]:
    """Let something be told of every file that `atomic_write` is about to put in its place.

    Parameters
    ----------
    watcher : callable
        Gets the name, and the file that has the whole content already. What it notes of it is there whenever the
        process ends: before the file, and not after it.
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], *, put: Callable[[Path, Path], None] | None = None
) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only when it is complete.

    The data go to a temporary file in the same folder, are brought to stable storage, renamed over ``path``, and the
    folder is brought to stable storage too. If the body raises, the temporary file is removed and ``path`` stays.

    Parameters
    ----------
    path : path
        The file to make or replace; where a symbolic link leads, for the link stays.
    put : callable, optional
        Gets the complete temporary file and the file to make or replace, and lets the one take the other's place.
        Default: ``os.replace``.

    Yields
    ------
    binary file
        Where to write.

    Raises
    ------
    WriteError
        If the system refuses (disk full, no permission …).
    """
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    temporary = target.with_name(f"{target.name}{TEMPORARY_MARK}{os.getpid()}-{time.monotonic_ns()}")
    try:
        with open(temporary, "xb") as handle:
            yield handle
            handle.flush()
            system.sync_file(handle.fileno())
        watcher = _watcher.get()
        if watcher is not None:
            watcher(target, temporary)
        (put or os.replace)(temporary, target)
        system.sync_folder(target.parent)
    except OSError as error:
        _remove_quietly(temporary)
        raise write_error(target, error) from error
    except BaseException:
        _remove_quietly(temporary)
        raise


def write_error(path: Path, error: OSError) -> WriteError:
    """Return what to raise if the system refuses to write a file that then is what it was before."""
    return WriteError(
        error.errno or 0,
        f"could not write {path.name!r} ({error.strerror or error}); what was there before is unchanged. "
        f"{_ADVICE.get(error.errno or 0, 'Choose another folder')}, then run the same command again",
        str(path),
    )


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes atomically (see `atomic_write`)."""
    with atomic_write(path) as handle:
        handle.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8 atomically (see `atomic_write`)."""
    write_bytes(path, text.encode("utf-8", errors="surrogateescape"))


def sweep_temporary_files(folder: str | os.PathLike[str], *, older_than: float = 3600.0) -> int:
    """Remove temporary files that a killed process left behind.

    Parameters
    ----------
    folder : path
        The folder to sweep (not its subfolders).
    older_than : float, default=3600
        Only files that have not changed for this many seconds, so that a writer at work is left alone.

    Returns
    -------
    int
        How many files were removed.
    """
    n_removed = 0
    now = time.time()
    with os.scandir(folder) as entries:
        for entry in entries:
            if TEMPORARY_MARK not in entry.name or not entry.is_file(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError):
                if now - entry.stat(follow_symlinks=False).st_mtime >= older_than:
                    os.unlink(entry.path)
                    n_removed += 1
    return n_removed


def _remove_quietly(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
