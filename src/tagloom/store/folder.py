"""The folder of a project, which a stranger may have made: every file in it is reached by its bare name, never a link.

People unpack archives and share disks, so that what lies in ``.tagloom``, and every file name in its database, is input
like a photo. All that is read, written and removed there goes through `ProjectFolder`: folders are opened one inside
the other by handles that follow no link, files relative to such a handle, and only regular files. Where the system has
no handles of folders (Windows), each name is looked at before it is used.

SQLite opens its files by path: `ProjectFolder.check` looks at them, and at all else at the top of the folder, before.
"""

import contextlib
import errno
import mmap
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tagloom.core import TEMPORARY_MARK, system, write_error
from tagloom.exceptions import DamagedStoreError, StoreError

__all__ = ["ProjectFolder", "check_array_name", "is_array_name", "is_bare", "is_digest", "temporary_of"]

HAS_HANDLES = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
LONGEST_NAME = 255
ARRAY_SUFFIX = ".safetensors"
# A journal that ends so names a super-journal: a path anywhere, which a stranger chose, and which SQLite reads from the
# journal when it rolls back. It is made only for transactions over several databases, of which tagloom has none.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
_HEXADECIMAL = frozenset("0123456789abcdef")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a named pipe would be waited for
_FOLDER = getattr(os, "O_DIRECTORY", 0)


def is_bare(name: object) -> bool:
    """Tell whether a name is that of a file in a folder, and leads nowhere else: letters, digits, '-', '_' and '.'."""
    return (
        isinstance(name, str)
        and 0 < len(name) <= LONGEST_NAME
        and (name[0].isalnum() or name[0] == "_")
        and all(character.isalnum() or character in "-_." for character in name)
    )


def is_digest(name: object, length: int = 64) -> bool:
    """Tell whether a name is a hexadecimal number of so many digits."""
    return isinstance(name, str) and len(name) == length and _HEXADECIMAL.issuperset(name)


def is_array_name(name: object) -> bool:
    """Tell whether a name is one that tagloom gives to a file of arrays: 32 hexadecimal digits and the suffix."""
    return isinstance(name, str) and name.endswith(ARRAY_SUFFIX) and is_digest(name.removesuffix(ARRAY_SUFFIX), 32)


def check_array_name(name: object) -> str:
    """Return the name of an array file as it is stored in the database.

    Raises
    ------
    DamagedStoreError
        If tagloom gives no such name.
    """
    if not isinstance(name, str) or not is_array_name(name):
        raise DamagedStoreError(f"the database names a file {str(name)[:80]!r}, and tagloom gives no such name")
    return name


def temporary_of(name: str) -> str | None:
    """Return the name of the file that a temporary one was to become, None for any other file."""
    base, mark, end = name.rpartition(TEMPORARY_MARK)
    process, _, moment = end.removesuffix("-journal").removesuffix("-wal").removesuffix("-shm").partition("-")
    return base if mark and process.isdecimal() and moment.isdecimal() and is_bare(base) else None


@dataclass(frozen=True, slots=True)
class _Entered:
    """A folder that was entered: its handle, where the system has some, and its path."""

    handle: int | None
    path: Path

    def name(self, name: str) -> str:
        """Return what to call a file beside ``dir_fd=handle``; without a handle, one that is no link."""
        if self.handle is not None:
            return name
        path = self.path / name
        _refuse_link(path)
        return str(path)


class ProjectFolder:
    """A project's folder. Files are named by their parts, such as ``("features", key, file)``.

    Every method raises OSError if the system refuses, or if a part is a link or no regular file, and DamagedStoreError
    if a part is no bare name.

    Parameters
    ----------
    path : Path
        The ``.tagloom`` folder; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self) -> None:
        """Look at everything at the top of the folder, and make it private to its owner.

        Raises
        ------
        StoreError
            If the folder, or anything at its top, is a link, or something else than a folder or a file; also if a
            database has a second name, through which SQLite would write.
        """
        try:
            _refuse_link(self.path)
            with os.scandir(self.path) as entries:
                for entry in entries:
                    self._check_entry(entry)
            _make_private(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return  # said by who makes it
        except OSError as error:
            raise StoreError(f"cannot use {str(self.path)!r}: {error.strerror or error}") from error

    def _check_entry(self, entry: "os.DirEntry[str]") -> None:
        shown = repr(f"{self.path.name}/{entry.name}")
        if entry.is_symlink():
            raise StoreError(
                f"{shown} is a link, and tagloom follows none in a project's folder; remove it, then run again"
            )
        if entry.is_dir(follow_symlinks=False):
            return
        status = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{shown} is neither a file nor a folder; remove it, then run again")
        if ".sqlite" in entry.name:
            if status.st_nlink > 1:
                raise StoreError(
                    f"{shown} has another name elsewhere (a hard link) that would change with it; make it a file of "
                    f"its own: copy it, and put the copy in its place"
                )
            if entry.name.endswith("-journal") and self._end(entry.name) == _NAMES_ANOTHER:
                raise StoreError(
                    f"{shown} names another file as its super-journal, which tagloom never does; remove it"
                )
            _make_private(self.path / entry.name)

    def make(self, *parts: str) -> None:
        """Make the folder, or one inside it, so that it is there after a power cut, too."""
        if not os.path.lexists(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                self.path.mkdir(mode=PRIVATE_FOLDER)
            system.sync_folder(self.path.parent)
        for number, part in enumerate(parts):
            with self._enter(parts[:number]) as folder:
                _check_bare(part)
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder.name(part), PRIVATE_FOLDER, dir_fd=folder.handle)
                    _sync(folder)
        with self._enter(parts):
            pass  # a link, or a file, of that name

    def has(self, *parts: str) -> bool:
        """Tell whether there is such a file."""
        try:
            return stat.S_ISREG(self._status(*parts).st_mode)
        except (OSError, DamagedStoreError):
            return False

    def size(self, *parts: str) -> int:
        """Return the size of a file."""
        status = self._status(*parts)
        _check_regular(status)
        return status.st_size

    def read(self, *parts: str, longest: int | None = None) -> bytes:
        """Return what a file holds, at most ``longest`` bytes of it."""
        with self._enter(parts[:-1]) as folder:
            handle = _open(folder, parts[-1], os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            return file.read(-1 if longest is None else min(longest, os.fstat(handle).st_size + 1))

    def map(self, *parts: str) -> mmap.mmap:
        """Return what a file holds without reading it; nobody can write to it."""
        with self._enter(parts[:-1]) as folder:
            handle = _open(folder, parts[-1], os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            if not os.fstat(handle).st_size:
                raise OSError(errno.EINVAL, "it is empty")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _end(self, name: str) -> bytes:
        """Return the last bytes of a file, as many as tell a journal that names another."""
        with self._enter(()) as folder, os.fdopen(_open(folder, name, os.O_RDONLY), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_NAMES_ANOTHER)))
            return file.read(len(_NAMES_ANOTHER))

    def append(self, *parts: str) -> IO[bytes]:
        """Open a file to write at its end; it is made if there is none."""
        with self._enter(parts[:-1]) as folder:
            return os.fdopen(_open(folder, parts[-1], os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")

    def write(self, data: bytes | Iterable[bytes | memoryview], *parts: str) -> None:
        """Write a file durably: it has its old content or the new one, whenever the power fails.

        Parameters
        ----------
        data : bytes or iterable of bytes
            The content, or its parts one after the other.
        *parts : str
            The file.

        Raises
        ------
        WriteError
            If the system refuses.
        """
        _check_bare(parts[-1])
        temporary = f"{parts[-1]}{TEMPORARY_MARK}{os.getpid()}-{time.monotonic_ns()}"
        try:
            with self._enter(parts[:-1]) as folder:
                try:
                    handle = _open(folder, temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                    with os.fdopen(handle, "wb") as file:
                        file.writelines([data] if isinstance(data, bytes) else data)
                        file.flush()
                        system.sync_file(file.fileno())
                    target = parts[-1] if folder.handle is not None else str(folder.path / parts[-1])
                    os.replace(
                        folder.name(temporary), target, src_dir_fd=folder.handle, dst_dir_fd=folder.handle
                    )  # a link of that name is replaced, not followed
                    _sync(folder)
                except BaseException:
                    with contextlib.suppress(OSError):
                        os.unlink(folder.name(temporary), dir_fd=folder.handle)
                    raise
        except OSError as error:
            raise write_error(self.path.joinpath(*parts), error) from error

    def remove(self, *parts: str) -> None:
        """Remove a file; that there is none is no error."""
        with contextlib.suppress(FileNotFoundError), self._enter(parts[:-1]) as folder:
            _check_bare(parts[-1])
            os.unlink(folder.name(parts[-1]), dir_fd=folder.handle)

    def remove_scratch(self, *parts: str) -> None:
        """Remove a folder with the files in it; what is no file in it stays, and the folder with it."""
        for name in self.files(*parts):
            self.remove(*parts, name)
        with contextlib.suppress(OSError):
            self.remove_folder(*parts)

    def remove_folder(self, *parts: str) -> None:
        """Remove an empty folder."""
        with self._enter(parts[:-1]) as folder:
            _check_bare(parts[-1])
            os.rmdir(folder.name(parts[-1]), dir_fd=folder.handle)

    def files(self, *parts: str) -> list[str]:
        """Return the names of the regular files in a folder that have bare ones; none where there is no folder."""
        return self._names(parts, lambda entry: entry.is_file(follow_symlinks=False))

    def folders(self, *parts: str) -> list[str]:
        """Return the names of the folders in a folder that have bare ones."""
        return self._names(parts, lambda entry: entry.is_dir(follow_symlinks=False))

    def sweep(self, *parts: str) -> None:
        """Remove temporary files that a killed process left in a folder; the caller holds the project's lock."""
        for name in self.files(*parts):
            if temporary_of(name) is not None:
                with contextlib.suppress(OSError):
                    self.remove(*parts, name)

    def refuse_others(self, *parts: str) -> None:
        """Refuse a folder in which anything is no regular file, for code that opens files there by their path.

        Raises
        ------
        StoreError
            If there is such a thing.
        """
        with contextlib.suppress(FileNotFoundError), self._enter(parts) as folder, _scan(folder) as entries:
            for entry in entries:
                if not entry.is_file(follow_symlinks=False):
                    shown = "/".join((self.path.name, *parts, entry.name))
                    raise StoreError(f"{shown!r} is a link or no file; remove it, then run again")

    def _names(self, parts: tuple[str, ...], wanted: Callable[["os.DirEntry[str]"], bool]) -> list[str]:
        try:
            with self._enter(parts) as folder, _scan(folder) as entries:
                return sorted(entry.name for entry in entries if is_bare(entry.name) and wanted(entry))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _status(self, *parts: str) -> os.stat_result:
        with self._enter(parts[:-1]) as folder:
            _check_bare(parts[-1])
            return os.stat(folder.name(parts[-1]), dir_fd=folder.handle, follow_symlinks=False)

    @contextlib.contextmanager
    def _enter(self, parts: tuple[str, ...]) -> Iterator[_Entered]:
        """Open a folder inside this one, following no link."""
        for part in parts:
            _check_bare(part)
        if not HAS_HANDLES:
            for number in range(len(parts) + 1):
                _refuse_link(self.path.joinpath(*parts[:number]))
            yield _Entered(None, self.path.joinpath(*parts))
            return
        handle = os.open(self.path, os.O_RDONLY | _FOLDER | _NO_LINK)
        try:
            for part in parts:
                inner = os.open(part, os.O_RDONLY | _FOLDER | _NO_LINK, dir_fd=handle)
                os.close(handle)
                handle = inner
            yield _Entered(handle, self.path.joinpath(*parts))
        finally:
            os.close(handle)


def _check_bare(name: str) -> None:
    if not is_bare(name):
        raise DamagedStoreError(f"expected the bare name of a file in the project's folder, got {str(name)[:80]!r}")


def _refuse_link(path: Path) -> None:
    if os.path.islink(path):
        raise OSError(errno.ELOOP, f"{path.name!r} is a link, and tagloom follows none in a project's folder")


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def _open(folder: _Entered, name: str, flags: int) -> int:
    """Open a regular file in a folder; one that is made is private."""
    _check_bare(name)
    if folder.handle is None and os.path.lexists(path := folder.name(name)):
        _check_regular(os.lstat(path))
    handle = os.open(folder.name(name), flags | _NO_LINK | _NO_WAIT, PRIVATE_FILE, dir_fd=folder.handle)
    try:
        _check_regular(os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _scan(folder: _Entered) -> "AbstractContextManager[Iterator[os.DirEntry[str]]]":
    return os.scandir(folder.path if folder.handle is None else folder.handle)


def _sync(folder: _Entered) -> None:
    if folder.handle is None:
        system.sync_folder(folder.path)
    else:
        system.sync_file(folder.handle)


def _make_private(path: Path) -> None:
    """Take the permissions of others away, where the file is the user's own."""
    status = os.lstat(path)
    if hasattr(os, "geteuid") and status.st_uid == os.geteuid() and status.st_mode & 0o077:
        with contextlib.suppress(OSError):  # a read-only disk
            os.chmod(path, stat.S_IMODE(status.st_mode) & 0o700)
