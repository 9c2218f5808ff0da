"""The only module with calls that exist on POSIX alone.

========================  =========================  ==============================  ==========================
function                  Linux                      macOS                           Windows
========================  =========================  ==============================  ==========================
``limit_memory``          ``RLIMIT_AS``              not enforced by the kernel for  no limit; returns ``False``
                                                     ``RLIMIT_AS``: returns False
``sync_folder``           ``fsync`` of the folder    ``fsync`` of the folder         not possible; returns
                                                                                     ``False`` (NTFS journals
                                                                                     renames itself)
``sync_file``             ``fsync``                  ``F_FULLFSYNC``                 ``fsync`` (FlushFileBuffers)
``lock_file``             ``flock``                  ``flock``                       ``msvcrt.locking``
``peak_memory``           ``ru_maxrss`` in KiB       ``ru_maxrss`` in bytes          not known; returns ``None``
``cpu_count``             cores of the affinity      all cores                       all cores
                          mask
========================  =========================  ==============================  ==========================

Each function works everywhere and says by its return value whether the protection is in force; callers never
test the platform themselves.
"""

import importlib
import os
import sys
from types import ModuleType
from typing import IO

__all__ = ["cpu_count", "limit_memory", "lock_file", "peak_memory", "sync_file", "sync_folder"]


def _optional(name: str) -> ModuleType | None:
    """Import a platform's module, or return None where it does not exist."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def limit_memory(n_bytes: int) -> bool:
    """Limit the address space of this process.

    Parameters
    ----------
    n_bytes : int
        The limit in bytes.

    Returns
    -------
    bool
        Whether the limit is enforced.
    """
    resource = _optional("resource")
    if resource is None or sys.platform == "darwin":
        return False
    try:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            n_bytes = min(n_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, hard))
    except (AttributeError, ValueError, OSError):
        return False
    return True


def sync_file(descriptor: int) -> None:
    """Bring a file's data to stable storage.

    Parameters
    ----------
    descriptor : int
        An open file descriptor.
    """
    fcntl = _optional("fcntl")
    full_sync = getattr(fcntl, "F_FULLFSYNC", None)
    if fcntl is not None and full_sync is not None:
        try:
            fcntl.fcntl(descriptor, full_sync)
            return
        except OSError:
            pass  # some network file systems refuse it; a plain fsync is what is left
    os.fsync(descriptor)


def sync_folder(folder: str | bytes | os.PathLike[str]) -> bool:
    """Bring a folder's entries (a rename, say) to stable storage.

    Parameters
    ----------
    folder : path
        The folder.

    Returns
    -------
    bool
        Whether the platform could do it.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return False
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync_file(descriptor)
    finally:
        os.close(descriptor)
    return True


def lock_file(handle: IO[bytes]) -> bool:
    """Take an exclusive lock on an open file without waiting.

    The lock ends with the process, also when it is killed.

    Parameters
    ----------
    handle : binary file
        An open, writable file.

    Returns
    -------
    bool
        False if another process holds the lock.
    """
    fcntl = _optional("fcntl")
    if fcntl is not None:
        try:
            fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    msvcrt = _optional("msvcrt")
    if msvcrt is not None:
        try:
            handle.seek(0)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
    return True


def peak_memory() -> int | None:
    """Return the peak resident memory of this process in bytes, or None where it is not known."""
    resource = _optional("resource")
    if resource is None:
        return None
    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else peak * 1024


def cpu_count() -> int:
    """Return the number of cores this process may use (at least 1)."""
    affinity = getattr(os, "sched_getaffinity", None)
    if affinity is not None:
        return max(1, len(affinity(0)))
    return os.cpu_count() or 1
