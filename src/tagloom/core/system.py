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
``exchange_files``        ``renameat2``              not used: returns ``False``     not possible: returns
                                                                                     ``False``
``move_to_free_name``     ``renameat2``, else        ``link``                        ``rename``, which never
                          ``link``                                                   replaces
``hold_off_writers``      a lease on the file        not possible: returns ``None``  not possible: returns
                                                                                     ``None``
``copy_attributes``       owner, extended            owner, permissions              permissions
                          attributes, access lists,
                          permissions
``descriptor_limit``      ``RLIMIT_NOFILE``          ``RLIMIT_NOFILE``               not known; returns ``None``
========================  =========================  ==============================  ==========================

Each function works everywhere and says by its return value whether the protection is in force; callers never
test the platform themselves.
"""

import contextlib
import ctypes
import errno
import functools
import importlib
import os
import shutil
import signal
import sys
from types import ModuleType
from typing import IO, Any

__all__ = [
    "copy_attributes",
    "cpu_count",
    "descriptor_limit",
    "exchange_files",
    "hold_off_writers",
    "is_writer_waiting",
    "let_writers_in",
    "limit_memory",
    "lock_file",
    "move_to_free_name",
    "peak_memory",
    "sync_file",
    "sync_folder",
]

_NO_REPLACE, _EXCHANGE = 1, 2
_AT_THE_CURRENT_FOLDER = -100
_NOT_POSSIBLE = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
# Checksums that the kernel keeps of a file's own content.
_OF_THE_CONTENT = frozenset({"security.ima", "security.evm"})


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


def exchange_files(one: bytes, other: bytes) -> bool:
    """Let two files of a file system change names, in one step that nothing can come between.

    Parameters
    ----------
    one, other : bytes
        Paths of files that exist.

    Returns
    -------
    bool
        False if the platform or the file system cannot do it; both files are then as they were.
    """
    return _rename(one, other, _EXCHANGE)


def move_to_free_name(source: bytes, target: bytes) -> None:
    """Rename a file to a name that no file has.

    Parameters
    ----------
    source, target : bytes
        Paths in one file system.

    Raises
    ------
    FileExistsError
        If there is a file by that name. Both are left alone.
    """
    if _rename(source, target, _NO_REPLACE):
        return
    if hasattr(os, "link") and os.name != "nt":
        try:
            os.link(source, target)
        except FileExistsError:
            raise
        except OSError:
            pass  # a file system without hard links
        else:
            os.unlink(source)
            return
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


@functools.cache
def _renameat2() -> Any:
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None


def _rename(source: bytes, target: bytes, flag: int) -> bool:
    """Call ``renameat2``; False where there is none, or none that knows the flag."""
    call = _renameat2()
    if call is None:
        return False
    here = _AT_THE_CURRENT_FOLDER
    if call(here, source, here, target, flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_POSSIBLE:
        return False
    raise OSError(number, os.strerror(number), source, None, target)


def hold_off_writers(descriptor: int) -> bool | None:
    """Let programs that open a file for writing wait until `let_writers_in`.

    The kernel lets them wait for some 45 seconds at most, so hold them off for milliseconds.

    Parameters
    ----------
    descriptor : int
        The file, open for reading.

    Returns
    -------
    bool or None
        False if a program has the file open for writing now; None if the platform, the file system or the file's
        owner does not allow it.
    """
    fcntl = _optional("fcntl")
    if fcntl is None or not hasattr(fcntl, "F_SETLEASE"):
        return None
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # ignored by default; what is sent otherwise ends us
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    return True


def is_writer_waiting(descriptor: int) -> bool:
    """Tell whether a program wants to write to a file since `hold_off_writers` returned True for it."""
    fcntl = _optional("fcntl")
    return fcntl is not None and fcntl.fcntl(descriptor, fcntl.F_GETLEASE) != fcntl.F_RDLCK


def let_writers_in(descriptor: int) -> None:
    """End what `hold_off_writers` began."""
    fcntl = _optional("fcntl")
    if fcntl is not None and hasattr(fcntl, "F_SETLEASE"):
        with contextlib.suppress(OSError):  # the kernel had ended it
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def copy_attributes(source: bytes, target: bytes) -> None:
    """Give a file the owner, extended attributes, access list and permissions of another, as far as is allowed.

    Parameters
    ----------
    source, target : bytes
        Existing files.
    """
    wanted, found = os.stat(source), os.stat(target)
    if hasattr(os, "chown"):
        # Someone who may not give a file away may still hand it to a group of theirs.
        if wanted.st_gid != found.st_gid:
            with contextlib.suppress(PermissionError):
                os.chown(target, -1, wanted.st_gid)
        if wanted.st_uid != found.st_uid:
            with contextlib.suppress(PermissionError):
                os.chown(target, wanted.st_uid, -1)
    if hasattr(os, "listxattr"):
        _copy_extended_attributes(source, target)
    shutil.copymode(source, target)  # after the owner: changing that clears some permissions


def _copy_extended_attributes(source: bytes, target: bytes) -> None:
    """Copy extended attributes; on Linux an access list is one of them, and a folder may have given a new file one."""
    try:
        names = set(os.listxattr(source)) - _OF_THE_CONTENT
        others = set(os.listxattr(target)) - names - _OF_THE_CONTENT
    except OSError:
        return  # a file system without them
    for name in others:
        with contextlib.suppress(OSError):
            os.removexattr(target, name)
    for name in names:
        try:
            os.setxattr(target, name, os.getxattr(source, name))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise


def descriptor_limit() -> int | None:
    """Return how many files this process may have open, None where that is not known or not limited."""
    resource = _optional("resource")
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else int(soft)
