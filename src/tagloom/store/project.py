"""A project on disk: everything that a person decided about their photos, and what was computed from it."""

import contextlib
import errno
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tagloom.exceptions import StoreBusyError, StoreError, WriteError
from tagloom.store.database import PATIENCE, as_stored, connect, copy_database, is_writable
from tagloom.store.folder import ProjectFolder
from tagloom.store.layout import DATABASE, make_project_folder, refuse_emptied
from tagloom.store.lock import FolderLock
from tagloom.store.roots import Roots, note_apart
from tagloom.store.schema import PROJECT_FORMAT
from tagloom.store.session import Database

if TYPE_CHECKING:
    from tagloom.store.cache import FolderCache
    from tagloom.store.contents import Contents
    from tagloom.store.decisions import Decisions
    from tagloom.store.integrity import Finding
    from tagloom.store.kept import KeptArrays
    from tagloom.store.models import Models, Suggestions
    from tagloom.store.photos import Photos
    from tagloom.store.runs import Runs, StoredSettings
    from tagloom.store.tags import Tags
    from tagloom.store.writes import Writes

__all__ = ["ProjectStore"]


class ProjectStore:
    """The store of a project, on the same files as `FolderCache`.

    Any process may open it at any time: what it writes are short transactions that wait for each other. Long jobs hold
    `lock`. Threads may share one store; a process that was forked opens its own.

    Parameters
    ----------
    folder : path
        The ``.tagloom`` folder.
    root : path, optional
        The folder of photos. Default: the one that the project is about (`Roots.own`). A known root that moved is
        found again by its place around the project folder, or by the files in it.
    make : bool, default=True
        Whether to make the project if there is none.
    journal : {"wal", "delete"}, optional
        SQLite's journal; default: ``$TAGLOOM_JOURNAL``, else what is safe with the SQLite there is.
    patience : float, default=60
        Seconds to wait for other processes that write.
    features : FolderCache, optional
        An open cache elsewhere that has the features of these photos. Default: they are kept in this folder.

    Attributes
    ----------
    roots, photos, tags, decisions, runs, models, suggestions, writes, contents, settings
        The parts of the store, one class each, imported when they are first used.
    root_id : int or None
        The root that photo paths are relative to where none is named.
    database : Database
        The open database under all of them.
    is_read_only : bool
        Whether the project cannot be written, as on a read-only disk: then what changes it is a `StoreError`.

    Raises
    ------
    StoreError
        If there is no project and none is to be made.
    NewerFormatError
        If a newer tagloom wrote it.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        root: str | bytes | os.PathLike[str] | None = None,
        *,
        make: bool = True,
        journal: str | None = None,
        patience: float = PATIENCE,
        features: "FolderCache | None" = None,
    ) -> None:
        self.folder = Path(folder)
        self._features = features
        self.files = ProjectFolder(self.folder)
        path = self.folder / DATABASE
        self.files.check()
        if not make and not path.is_file():
            raise StoreError(f"there is no tagloom project in {self.folder}; make one with: tagloom init")
        refuse_emptied(self.files)
        if not path.is_file() or is_writable(path):
            make_project_folder(self.folder)
        self._lock = FolderLock(self.folder)
        connection = connect(path, PROJECT_FORMAT, journal=journal, patience=patience)
        self.database = Database(path, connection)
        self.is_read_only = connection.readonly("main")
        try:
            with as_stored("its folder of photos"):
                note_apart(connection)
                self.roots = Roots(self.database)
                self.root_id = self.roots.own() if root is None else self.roots.resolve(root)
        except BaseException:
            self.close()
            raise

    @cached_property
    def photos(self) -> "Photos":
        """The photos."""
        from tagloom.store.photos import Photos

        return Photos(self.database, self.root_id)

    @cached_property
    def tags(self) -> "Tags":
        """The tags."""
        from tagloom.store.tags import Tags

        return Tags(self.database)

    @cached_property
    def decisions(self) -> "Decisions":
        """What was decided about photos and tags."""
        from tagloom.store.decisions import Decisions

        return Decisions(self.database)

    @cached_property
    def runs(self) -> "Runs":
        """What was run and imported."""
        from tagloom.store.runs import Runs

        return Runs(self.database)

    @cached_property
    def models(self) -> "Models":
        """The models."""
        from tagloom.store.models import Models

        return Models(self.database)

    @cached_property
    def suggestions(self) -> "Suggestions":
        """The suggestions."""
        from tagloom.store.models import Suggestions

        return Suggestions(self.database)

    @cached_property
    def kept(self) -> "KeptArrays":
        """Arrays that can be made again."""
        from tagloom.store.kept import KeptArrays

        return KeptArrays(self.database.files)

    @cached_property
    def writes(self) -> "Writes":
        """The journal of written files."""
        from tagloom.store.writes import Writes

        return Writes(self.database)

    @cached_property
    def contents(self) -> "Contents":
        """What files hold, for photos whose bytes tagloom changed."""
        from tagloom.store.contents import Contents

        return Contents(self.database)

    @cached_property
    def settings(self) -> "StoredSettings":
        """The settings."""
        from tagloom.store.runs import StoredSettings

        return StoredSettings(self.database)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def lock(self) -> FolderLock:
        """Return the project's lock, to be held (``with``) by scan, extract, train and write.

        Raises
        ------
        StoreBusyError
            On entering, if another process holds it.
        """
        return self._lock

    def is_unsettled(self) -> bool:
        """Tell whether a process died, or is at work, between saying which files it writes or puts back and doing so.

        Asked at every start, and so without the parts that know more (see `Writes.pending`).
        """
        sql = (
            "SELECT EXISTS (SELECT 1 FROM written WHERE state = 'intended') "
            "OR EXISTS (SELECT 1 FROM settings WHERE key = 'undoing')"
        )
        return bool(self.database.value(sql))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Join several calls into one transaction: all of them happen, or none."""
        with self.database.write():
            yield

    def cache(self) -> "FolderCache":
        """Open the cache of features and thumbnails of this project, under its lock."""
        if self._features is not None:
            return self._features.again()
        from tagloom.store.cache import FolderCache

        roots = {root.id: root.path for root in self.roots.all()}
        path = os.fsdecode(roots[self.root_id]) if self.root_id in roots else ""
        return FolderCache(self.folder, path, lock=self._lock, read_only=self.is_read_only)

    def check(self, *, checksums: bool = False) -> "list[Finding]":
        """Look for damage (see `tagloom.store.integrity.check_project`); missing photos are the caller's to look at."""
        from tagloom.store.integrity import check_project

        with contextlib.ExitStack() as stack:
            alone = not self.is_read_only
            try:
                if alone:
                    stack.enter_context(self._lock)
            except StoreBusyError:
                alone = False
            return check_project(self.database, checksums=checksums, alone=alone)

    def repair(self) -> "list[Finding]":
        """Put right what can be put right safely, and return that. Needs the lock."""
        from tagloom.store.integrity import repair_project

        with self._lock:
            return repair_project(self.database)

    def is_backup_due(self) -> bool:
        """Tell whether it is time for a backup (see `tagloom.store.backups.is_due`)."""
        from tagloom.store.backups import is_due

        return not self.is_read_only and is_due(self.database)

    def back_up(self, n_kept: int) -> str | None:
        """Make a backup in the project's folder (see `tagloom.store.backups.back_up`)."""
        from tagloom.store.backups import back_up

        return back_up(self.database, n_kept)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy of the database, also while it is in use.

        It holds all that was decided; features, thumbnails and models can be made again. `restore` goes back to it.

        Parameters
        ----------
        path : path
            The file to make; it must not exist yet.
        """
        target = Path(path)
        if os.path.lexists(target):
            raise WriteError(errno.EEXIST, f"{target.name!r} is there already; choose another name", str(target))
        try:
            with self.database.reading() as connection:
                copy_database(connection, target)
        except WriteError:
            raise
        except (OSError, StoreError) as error:
            number = getattr(error, "errno", None) or errno.EIO
            raise WriteError(number, f"could not write {target.name!r} ({error}); choose another place") from error
