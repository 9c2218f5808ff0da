"""A project: a folder of photos, what was decided about them, and the verbs that work on both."""

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tagloom.catalog.lookup import PhotoName
from tagloom.catalog.places import claim_folder, find_project, new_project_folder, project_root
from tagloom.catalog.trust import distrust, is_trusted, trust
from tagloom.catalog.verb_log import recorded
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.exceptions import DamagedStoreError, StoreBusyError, StoreError, TagloomError
from tagloom.project.label import LabelResult, label
from tagloom.project.project_insight import InsightVerbs
from tagloom.project.project_models import ModelVerbs
from tagloom.project.project_tags import TagVerbs
from tagloom.store.layout import DATABASE, remove_project
from tagloom.store.project import ProjectStore

if TYPE_CHECKING:
    from tagloom.catalog.project_features import ExtractSummary
    from tagloom.core.labels import AbsentMeans
    from tagloom.project.export import ExportResult
    from tagloom.project.imports import ImportResult
    from tagloom.project.scan import ScanResult
    from tagloom.project.status import Status
    from tagloom.project.undo import UndoResult
    from tagloom.project.write import WriteResult
    from tagloom.store.decisions import Batch, Origin
    from tagloom.store.integrity import Finding

__all__ = ["Project"]

logger = logging.getLogger(__name__)


class Project(TagVerbs, InsightVerbs, ModelVerbs):
    """A photo collection that a person works on for weeks.

    Made by `Project.init` or `Project.open`; use it as a context manager. Opening is cheap: what a verb needs is
    imported by the verb. Labelling, tags and undo are short transactions that any process may make at any time;
    `scan`, `extract`, `train` and `write` hold the project's lock, one of them at a time.

    Parameters
    ----------
    folder : path
        The project's folder.
    flags : mapping, optional
        Settings that win over ``tagloom.toml`` and the environment.

    Attributes
    ----------
    folder : Path
        The project's folder.
    store : ProjectStore
        What is kept there.
    recovered : tuple of str
        A line for each file that an interrupted write had left open, and that was settled now.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as photos, Project.init(photos) as project:
    ...     project.status().command
    'tagloom scan'
    """

    def __init__(self, folder: str | os.PathLike[str], *, flags: Mapping[str, Any] | None = None) -> None:
        self.folder = Path(folder)
        self._is_closed = False
        super().__init__(ProjectStore(self.folder, make=False), flags or {})
        try:
            if not self.is_trusted:
                self._check_paths()
            self.recovered = self._recover()
        except BaseException:
            self.store.close()
            raise

    @classmethod
    def init(
        cls,
        photos: str | os.PathLike[str],
        *,
        project: str | os.PathLike[str] | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a project for a folder of photos, or open the one that is there.

        Parameters
        ----------
        photos : path
            The folder of photos; nothing in it is changed but for ``.tagloom``.
        project : path, optional
            A new or empty folder elsewhere, for photos that cannot be written to; default: ``PHOTOS/.tagloom``.
        flags : mapping, optional
            Settings that win over others.
        """
        folder = new_project_folder(photos, project)
        claim_folder(folder, photos)
        opened = cls(folder, flags=flags)
        about = opened.root
        if os.path.realpath(about) != os.path.realpath(photos):
            opened.close()
            raise StoreError(
                f"the project in {str(folder)!r} is about {str(about)!r}; name another folder for this one, or "
                f"say that the photos have moved: tagloom scan --photos {os.fspath(photos)}"
            )
        return opened

    @classmethod
    def open(cls, where: str | os.PathLike[str] | None = None, *, flags: Mapping[str, Any] | None = None) -> Self:
        """Open a project.

        Parameters
        ----------
        where : path, optional
            A folder of photos with ``.tagloom`` in it, or a project's folder. Default: the current folder or the
            nearest one above it that is either.
        flags : mapping, optional
            Settings that win over others.
        """
        return cls(find_project(where), flags=flags)

    @staticmethod
    def exists(folder: str | os.PathLike[str]) -> bool:
        """Tell whether a folder is a project's folder."""
        return (Path(folder) / DATABASE).is_file()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the project, having kept a backup of what was decided if one is due."""
        if not self._is_closed:
            self.keep_backup()
            self._is_closed = True
            self.store.close()

    @property
    def is_trusted(self) -> bool:
        """Whether this user made the project on this machine, or trusts it (see `tagloom.catalog.trust`)."""
        return is_trusted(self.store)

    def raised_settings(self) -> dict[str, Any]:
        """Return the settings in the project that raise limits or name a file to run: they need trust."""
        from tagloom.catalog.extraction import raised_settings

        return raised_settings(self.store)

    def trust(self) -> None:
        """Trust a project that another user or another machine made, with the settings it has now."""
        trust(self.store, self.raised_settings())
        self._settings = None

    @property
    def root(self) -> Path:
        """The folder of photos."""
        return Path(os.fsdecode(project_root(self.store).path))

    @property
    def threshold(self) -> float | None:
        """Above it suggestions may be written; None: what training chose for each tag."""
        value: float | None = self.store.settings.get("threshold")
        return value

    @threshold.setter
    def threshold(self, value: float | None) -> None:
        if value is not None:
            from tagloom.learning.suggest import check_threshold

            stored = self.store.suggestions.load()
            value = check_threshold(value, None if stored is None else stored.info["kind"])
        self.store.settings.set("threshold", value)

    # photos ----------------------------------------------------------------------------------------------------

    @recorded("scan")
    def scan(self, *, retry: bool = False, progress: Progress = NO_PROGRESS) -> "ScanResult":
        """Look which photos are new, changed, moved or gone (see `tagloom.project.scan.scan`)."""
        from tagloom.project.scan import scan

        return scan(self.store, self.settings, retry=retry, progress=progress)

    def move_root(self, photos: str | os.PathLike[str]) -> None:
        """Say where the folder of photos is now.

        Parameters
        ----------
        photos : path
            The folder.
        """
        self.store.roots.move(project_root(self.store).id, photos)

    @recorded("extract")
    def extract(self, *, retry: bool = False, progress: Progress = NO_PROGRESS) -> "ExtractSummary":
        """Compute features of photos that have none yet (see `tagloom.catalog.project_features.extract`).

        If there is a linear model, photos that it has not seen get suggestions from it.
        """
        from tagloom.catalog.project_features import extract

        found = extract(self.store, self.settings, retry=retry, progress=progress)
        return found if self.store.models.active() is None else replace(found, n_scored=self.score_new().n_scored)

    # what was said ---------------------------------------------------------------------------------------------

    @recorded("label")
    def label(
        self,
        photos: PhotoName | Sequence[PhotoName],
        *,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        clear: str | Sequence[str] = (),
        who: str = "",
        origin: "Origin" = "human",
        create: bool = True,
        allow_similar: bool = True,
        base: Any = None,
    ) -> LabelResult:
        """Say which tags photos have and have not (see `tagloom.project.label.label`)."""
        return label(
            self.store,
            photos,
            add=add,
            remove=remove,
            clear=clear,
            who=who,
            origin=origin,
            create=create,
            allow_similar=allow_similar,
            base=base,
        )

    @recorded("import")
    def import_keywords(
        self,
        source: str | os.PathLike[str],
        *,
        format: str | None = None,
        absent_means: "AbsentMeans | None" = None,
        include_suggested: bool = False,
        separator: str | None = None,
        skip_bad_rows: bool = False,
        who: str = "",
        progress: Progress = NO_PROGRESS,
    ) -> "ImportResult":
        """Take over what a file says about photos (see `tagloom.project.imports.import_keywords`)."""
        from tagloom.project.imports import import_keywords

        return import_keywords(
            self.store,
            source,
            format=format,
            absent_means=absent_means,
            include_suggested=include_suggested,
            separator=separator,
            skip_bad_rows=skip_bad_rows,
            who=who,
            progress=progress,
        )

    @recorded("import from photos")
    def import_from_photos(
        self,
        *,
        absent_means: "AbsentMeans | None" = None,
        sidecars: bool = True,
        embedded: bool = True,
        who: str = "",
        progress: Progress = NO_PROGRESS,
    ) -> "ImportResult":
        """Take over keywords of sidecars and photos (see `tagloom.project.imports.import_from_photos`)."""
        from tagloom.project.imports import import_from_photos

        return import_from_photos(
            self.store, absent_means=absent_means, sidecars=sidecars, embedded=embedded, who=who, progress=progress
        )

    @recorded("import folder names")
    def import_folder_names(
        self,
        *,
        hierarchy: bool = True,
        skip: Collection[str] = (),
        absent_means: "AbsentMeans | None" = None,
        who: str = "",
        progress: Progress = NO_PROGRESS,
    ) -> "ImportResult":
        """Take folders for keywords (see `tagloom.project.imports.import_folder_names`)."""
        from tagloom.project.imports import import_folder_names

        return import_folder_names(
            self.store, hierarchy=hierarchy, skip=skip, absent_means=absent_means, who=who, progress=progress
        )

    @recorded("undo")
    def undo(
        self,
        batch: int | None = None,
        *,
        who: str = "",
        leave_changed: bool = False,
        confirm: Callable[[Sequence[bytes]], bool] | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> "UndoResult":
        """Take back the latest action, files byte for byte (see `tagloom.project.undo.undo`)."""
        from tagloom.project.undo import undo

        return undo(self.store, batch, who=who, leave_changed=leave_changed, confirm=confirm, progress=progress)

    @recorded("redo")
    def redo(self, batch: int | None = None, *, who: str = "") -> "UndoResult":
        """Bring back what was undone last; a write of keywords is written again instead."""
        from tagloom.project.undo import redo

        return redo(self.store, batch, who=who)

    def history(self, limit: int = 50, *, photo: int | None = None) -> "list[Batch]":
        """Return the latest actions, newest first."""
        return self.store.decisions.history(limit, photo=photo)

    # out -------------------------------------------------------------------------------------------------------

    @recorded("export")
    def export(
        self,
        target: str | os.PathLike[str],
        format: str | None = None,
        *,
        threshold: float | None = None,
        accepted_only: bool = False,
        uncalibrated: bool = False,
        gps: bool = False,
        overwrite: bool = False,
        photo_url: str | None = None,
    ) -> "ExportResult":
        """Write keywords in a format of other programs (see `tagloom.project.export.export`)."""
        from tagloom.project.export import export

        return export(
            self.store,
            target,
            format,
            threshold=threshold,
            accepted_only=accepted_only,
            uncalibrated=uncalibrated,
            gps=gps,
            overwrite=overwrite,
            photo_url=photo_url,
        )

    @recorded("write")
    def write(
        self,
        *,
        dry_run: bool = False,
        embed: bool = False,
        iptc: bool = False,
        photos: PhotoName | Sequence[PhotoName] | None = None,
        threshold: float | None = None,
        accepted_only: bool | None = None,
        uncalibrated: bool = False,
        who: str = "",
        base: Any = None,
        progress: Progress = NO_PROGRESS,
    ) -> "WriteResult":
        """Write keywords to sidecars (see `tagloom.project.write.write`)."""
        from tagloom.project.write import write

        return write(
            self.store,
            dry_run=dry_run,
            embed=embed,
            iptc=iptc,
            photos=photos,
            threshold=threshold,
            accepted_only=accepted_only,
            uncalibrated=uncalibrated,
            sidecar_names=self.settings.sidecar_names,
            who=who,
            base=base,
            progress=progress,
        )

    # the project itself ----------------------------------------------------------------------------------------

    def status(self) -> "Status":
        """Return where the project stands and what to do next."""
        from tagloom.project.status import status

        return status(self.store)

    def check(self, *, checksums: bool = False) -> "list[Finding]":
        """Look for damage, and for photos that are missing."""
        from tagloom.project.status import check

        return check(self.store, checksums=checksums)

    @recorded("repair")
    def repair(self) -> "list[Finding]":
        """Put right what can be put right safely, and return that."""
        self.recovered = self._recover()
        return self.store.repair()

    @recorded("backup")
    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy of all that was decided to a new file."""
        self.store.backup(path)

    def remove(self) -> int:
        """Remove the project's folder, only what tagloom made there, and close; photos and sidecars stay.

        Returns
        -------
        int
            How many files were removed.
        """
        self._recover()
        distrust(self.store)
        self._is_closed = True
        self.store.close()
        return remove_project(self.folder)

    def keep_backup(self) -> None:
        """Keep a backup of what was decided in the project's folder, if one is due and the settings want any.

        That it cannot be made is said in the log, and stops nothing.
        """
        try:
            if self.store.is_backup_due() and self.settings.n_backups:
                self.store.back_up(self.settings.n_backups)
        except (TagloomError, OSError) as error:
            logger.warning("no backup was made: %s", error)

    def _check_paths(self) -> None:
        """Refuse a stranger's project whose photos are not in their folder."""
        found = self.store.photos.outside()
        if found is not None:
            raise DamagedStoreError(
                f"the project in {str(self.folder)!r} names a photo outside of its folder of photos "
                f"({os.fsdecode(found)[:80]!r}), which tagloom never does; do not use it"
            )

    def _recover(self) -> tuple[str, ...]:
        """Settle writes that a crash interrupted, unless they are those of a process at work."""
        if self.store.is_read_only or not self.store.is_unsettled():
            return ()
        from tagloom.project.journal import recover

        try:
            return tuple(item.message for item in recover(self.store))
        except StoreBusyError:
            return ()
