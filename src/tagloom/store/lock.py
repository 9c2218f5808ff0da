"""The lock of a project folder: held by the one process that does a long job there."""

from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tagloom.core import lock_file
from tagloom.exceptions import StoreBusyError, WriteError
from tagloom.store.folder import ProjectFolder

__all__ = ["FolderLock"]


class FolderLock:
    """An exclusive lock on ``FOLDER/lock`` that ends with the process, also when that is killed.

    It may be entered again by the code that holds it. Decisions need no lock: they are short transactions.

    Parameters
    ----------
    folder : Path
        An existing folder.
    instead : str, default=""
        What a person can do in place of waiting, for the message.

    Raises
    ------
    StoreBusyError
        On entering, if another process holds the lock.
    """

    def __init__(self, folder: Path, *, instead: str = "") -> None:
        self._folder = folder
        self._instead = instead
        self._handle: IO[bytes] | None = None
        self._depth = 0

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._handle is not None

    def __enter__(self) -> Self:
        if self._handle is None:
            self._handle = self._take()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0 and self._handle is not None:
            self._handle.close()
            self._handle = None

    def _take(self) -> IO[bytes]:
        try:
            handle = ProjectFolder(self._folder).append("lock")
        except OSError as error:
            raise WriteError(
                error.errno or 0,
                f"cannot write in {self._folder.name!r} ({error.strerror})" + (self._instead and f"; {self._instead}"),
                str(self._folder),
            ) from error
        if not lock_file(handle):
            handle.close()
            raise StoreBusyError(
                f"another tagloom is at work in {self._folder}; wait until it has ended"
                + (self._instead and f", or {self._instead}")
            )
        return handle
