"""A project: a folder of photos, what you decided about them, and the verbs that work on both."""

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tagloom.catalog import (
    PhotoName,
    claim_folder,
    distrust,
    find_photo_ids,
    find_project,
    find_tag_ids,
    is_trusted,
    new_project_folder,
    project_root,
    recorded,
)
from tagloom.catalog.trust import trust
from tagloom.core import NO_PROGRESS, Keyword, Progress, is_video
from tagloom.exceptions import DamagedStoreError, StoreBusyError, StoreError, TagloomError
from tagloom.project.label import LabelResult, label
from tagloom.project.tag_hints import split_keyword, tag_hints
from tagloom.store import DATABASE, ProjectStore, remove_project

if TYPE_CHECKING:
    from tagloom.catalog import ExtractSummary
    from tagloom.core import AbsentMeans
    from tagloom.learning import (
        ExplainResult,
        FirstResult,
        LastEvaluation,
        MethodComparison,
        ModelEvaluation,
        NextPhotos,
        ProjectExplainer,
        ScoreResult,
        Suggestion,
        TrainResult,
        UpdateResult,
        WordSearchResult,
    )
    from tagloom.project.duplicates import DuplicatesResult
    from tagloom.project.export import ExportResult
    from tagloom.project.imports import ImportResult
    from tagloom.project.propose import ProposeResult
    from tagloom.project.report import ReportResult
    from tagloom.project.scan import ScanResult
    from tagloom.project.status import Status
    from tagloom.project.undo import UndoResult
    from tagloom.project.write import WriteResult
    from tagloom.settings import Settings
    from tagloom.store import Batch, Finding, Origin, Tag

__all__ = ["Project"]


logger = logging.getLogger(__name__)


class Project:
    """A photo collection with its decisions, model and suggestions.

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
    flags : dict
        Settings that win over ``tagloom.toml`` and the environment; those read already stay until `reload_settings`.
    explainer : ProjectExplainer or None
        What explanations share, kept until the model, the labels or the photos change.
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
        self.flags = dict(flags or {})
        self.explainer: ProjectExplainer | None = None
        self.store = ProjectStore(self.folder, make=False)
        self._settings: Settings | None = None
        self._is_closed = False
        try:
            if not self.is_trusted:
                self._check_values()
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
        """Close the project, after a backup of the decisions if one is due."""
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
        from tagloom.catalog import raised_settings

        return raised_settings(self.store)

    def trust(self, settings: Mapping[str, Any] | None = None) -> None:
        """Trust a project that another user or another machine made.

        Parameters
        ----------
        settings : mapping, optional
            What `raised_settings` has returned, and a person has seen: others that are there by now do not count.
            Default: those it has now.
        """
        trust(self.store, self.raised_settings() if settings is None else settings)
        self._settings = None

    @property
    def root(self) -> Path:
        """The folder of photos."""
        return Path(os.fsdecode(project_root(self.store).path))

    @property
    def threshold(self) -> float | None:
        """The threshold above which suggestions are written; None: the one that training chose for each tag."""
        value: float | None = self.store.settings.get("threshold")
        return value

    @threshold.setter
    def threshold(self, value: float | None) -> None:
        if value is not None:
            from tagloom.learning import check_threshold

            stored = self.store.suggestions.load()
            value = check_threshold(value, None if stored is None else stored.info["kind"])
        self.store.settings.set("threshold", value)

    @property
    def settings(self) -> "Settings":
        """All settings: flag, environment, ``tagloom.toml`` in the project's folder, the store, default."""
        if self._settings is None:
            from tagloom.catalog import project_settings

            self._settings = project_settings(self.store, self.flags)
        return self._settings

    def reload_settings(self) -> bool:
        """Read the settings again; return whether any is another one.

        Raises
        ------
        SettingsError
            If a value does not fit; the settings then stay as they are.
        """
        from tagloom.catalog import project_settings

        before, self._settings = self.settings, project_settings(self.store, self.flags)
        return self._settings != before

    # photos ------------------------------------------------------------------------------------------------------

    @recorded("scan")
    def scan(self, *, retry: bool = False, progress: Progress = NO_PROGRESS) -> "ScanResult":
        """Find new, changed, moved and missing photos (see `tagloom.project.scan.scan`)."""
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
        """Find new photos as `scan` does, and compute features of all that have none yet; each new photo is read once.

        If there is a linear model, photos that it has not seen get suggestions from it.
        """
        from tagloom.project.scan import scan_and_extract

        found = scan_and_extract(self.store, self.settings, retry=retry, progress=progress)
        return found if self.store.models.active() is None else replace(found, n_scored=self.score_new().n_scored)

    # labels ------------------------------------------------------------------------------------------------------

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
        """Label photos with tags they have and have not (see `tagloom.project.label.label`)."""
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
        """Import labels from a file (see `tagloom.project.imports.import_keywords`)."""
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
        """Import keywords found in sidecars and photos (see `tagloom.project.imports.import_from_photos`)."""
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
        """Import folder names as keywords (see `tagloom.project.imports.import_folder_names`)."""
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

    # tags --------------------------------------------------------------------------------------------------------

    def tags(self) -> "list[Tag]":
        """Return the tags in use, with their other names and counts."""
        return self.store.tags.in_use()

    @recorded("rename tag")
    def rename_tag(self, tag: str, new: str, *, who: str = "") -> int:
        """Give a tag another name; the old one leads to it still. Returns the batch."""
        return self.store.tags.rename(self._tag(tag), new, who=who)

    @recorded("merge tags")
    def merge_tags(self, tag: str, into: str, *, who: str = "") -> int:
        """Make one tag another one. Returns the batch."""
        return self.store.tags.merge(self._tag(tag), self._tag(into), who=who)

    @recorded("split tag")
    def split_tag(self, tag: str, separator: str = ",", *, who: str = "") -> int:
        """Replace a tag that lists several by each of them. Returns the batch."""
        parts = split_keyword(Keyword.parse(self.store.tags.texts([self._tag(tag)])[0]), separator)
        return self.store.tags.split(self._tag(tag), [part.text for part in parts], who=who)

    def similar_tags(self) -> tuple[str, ...]:
        """Return a line for each tag that resembles another or looks like a list, with the command that mends it."""
        return tag_hints(self.store, [tag.text for tag in self.store.tags.in_use()])

    @recorded("alias tag")
    def alias_tag(self, alias: str, tag: str, *, who: str = "") -> int | None:
        """Make a text another name of a tag. Returns the batch; None if it is one already."""
        return self.store.tags.alias(alias, self._tag(tag), who=who)

    @recorded("imply tag")
    def imply_tag(self, child: str, parent: str, *, who: str = "") -> int | None:
        """Let one tag imply another. Returns the batch; None if it does already."""
        return self.store.tags.imply(self._tag(child), self._tag(parent), who=who)

    @recorded("forget implication")
    def forget_implication(self, child: str, parent: str, *, who: str = "") -> int:
        """Remove an implication. Returns the batch."""
        return self.store.tags.forget_implication(self._tag(child), self._tag(parent), who=who)

    def implications(self) -> list[tuple[str, str]]:
        """Return the implications as pairs (child, parent)."""
        texts = {tag.id: tag.text for tag in self.store.tags.all()}
        return [(texts[child], texts[parent]) for child, parent in self.store.tags.implications().tolist()]

    def _tag(self, text: str) -> int:
        return find_tag_ids(self.store, [text])[0]

    # models and suggestions --------------------------------------------------------------------------------------

    @recorded("train")
    def train(self, method: str | None = None, *, progress: Progress = NO_PROGRESS) -> "TrainResult":
        """Learn from the labelled photos (see `tagloom.learning.train.train`)."""
        from tagloom.learning.train import train

        return train(self.store, self.settings, method, progress=progress)

    @recorded("update")
    def update(self) -> "UpdateResult":
        """Learn from a few more decisions (see `tagloom.learning.update.update`)."""
        from tagloom.learning.update import update
        from tagloom.project.status import LEARNT

        n_decisions = self.store.decisions.count()
        result = update(self.store, self.settings)
        model = self.store.models.active()
        # Models that cannot be solved tag by tag stay, and with them the count of what they were trained on.
        if model is not None and (result.model == model.id or not result.tag_ids):
            self.store.settings.set(LEARNT, {"model": model.id, "n_decisions": n_decisions})
        return result

    def score_new(self) -> "ScoreResult":
        """Score photos that came after training (see `tagloom.learning.score.score_new`)."""
        from tagloom.learning import score_new

        return score_new(self.store, self.settings)

    def suggest(
        self,
        photos: PhotoName | Sequence[PhotoName] | None = None,
        *,
        n: int = 5,
        threshold: float | None = None,
        above_only: bool = False,
        base: Any = None,
    ) -> "list[Suggestion]":
        """Return suggestions for photos, best first (see `tagloom.learning.suggest.suggest_each`)."""
        from tagloom.learning import suggest_each

        return list(suggest_each(self.store, photos, n=n, threshold=threshold, above_only=above_only, base=base))

    @recorded("propose")
    def propose(
        self, photos: PhotoName | Sequence[PhotoName], tags: str | Sequence[str], *, take_back: bool = False
    ) -> "ProposeResult":
        """Propose tags for a person to decide on the review page (see `tagloom.project.propose.propose`)."""
        from tagloom.project.propose import propose

        return propose(self.store, photos, tags, take_back=take_back)

    def search(self, query: str, *, n: int = 20) -> "WordSearchResult":
        """Find photos by words: what the network sees, tags, names, dates (see `tagloom.learning.search.search`)."""
        from tagloom.learning.search import search

        return search(self.store, self.settings, query, n=n)

    def needs_first_suggestions(self) -> bool:
        """Tell whether there is nothing to suggest by yet but the names of tags."""
        from tagloom.learning import needs_first

        return needs_first(self.store)

    @recorded("suggest")
    def suggest_first(
        self, vocabulary: Sequence[str] | None = None, *, compute: bool = True, progress: Progress = NO_PROGRESS
    ) -> "FirstResult":
        """Suggest tags by their names, before any photo is labelled (see `tagloom.learning.first.suggest_first`)."""
        from tagloom.learning import suggest_first

        return suggest_first(self.store, self.settings, vocabulary, compute=compute, progress=progress)

    # looking into a model ----------------------------------------------------------------------------------------

    @recorded("evaluate")
    def evaluate(
        self,
        method: str | None = None,
        *,
        folds: int = 5,
        n_more: int = 100,
        curve: bool = True,
        groups: bool = True,
        progress: Progress = NO_PROGRESS,
    ) -> "ModelEvaluation":
        """Measure a method on the labelled photos (see `tagloom.learning.evaluate.evaluate`)."""
        from tagloom.learning.evaluate import evaluate

        return evaluate(
            self.store, self.settings, method, folds=folds, n_more=n_more, curve=curve, groups=groups, progress=progress
        )

    @recorded("compare")
    def compare(
        self, methods: "Sequence[str]" = (), *, folds: int = 5, progress: Progress = NO_PROGRESS
    ) -> "MethodComparison":
        """Compare methods on the labelled photos (see `tagloom.learning.compare.compare`).

        Parameters
        ----------
        methods : sequence of str
            Names; default: `tagloom.learning.compare.COMPARED`.
        folds : int, default=5
            Parts of the labelled photos; each is hidden once.
        progress : Progress, optional
            Told how far the work is, method by method.
        """
        from tagloom.learning import COMPARED
        from tagloom.learning.compare import compare

        return compare(self.store, self.settings, methods or COMPARED, folds=folds, progress=progress)

    def last_evaluation(self) -> "LastEvaluation | None":
        """Return the last evaluation and whether labels have changed since; None if there is none."""
        from tagloom.learning import last_evaluation

        return last_evaluation(self.store)

    @recorded("report")
    def report(self, path: str | os.PathLike[str]) -> "ReportResult":
        """Write a page of all photos and the last evaluation (see `tagloom.project.report.report`)."""
        from tagloom.project.report import report

        return report(self.store, self.settings, path)

    def next_photos(self, n: int = 20, strategy: str | None = None) -> "NextPhotos":
        """Return the photos to label next (see `tagloom.learning.next_photos.next_photos`)."""
        from tagloom.learning.next_photos import next_photos

        return next_photos(self.store, self.settings, n, strategy=strategy)

    def duplicates(self, threshold: int | None = None, *, progress: Progress = NO_PROGRESS) -> "DuplicatesResult":
        """Return groups of photos that show the same picture (see `tagloom.project.duplicates.duplicates`)."""
        from tagloom.project.duplicates import DEFAULT_THRESHOLD, duplicates

        bits = DEFAULT_THRESHOLD if threshold is None else threshold
        return duplicates(self.store, self.settings, threshold=bits, progress=progress)

    def explain(self, photo: PhotoName, tag: str, *, n: int = 8, base: Any = None) -> "ExplainResult":
        """Explain why a photo has its score for a tag (see `tagloom.learning.explain.ProjectExplainer`)."""
        from tagloom.learning import ProjectExplainer

        if self.explainer is None or not self.explainer.is_current():
            self.explainer = ProjectExplainer(self.store, self.settings, before=self.explainer)
        return self.explainer.explain(photo, tag, n=n, base=base)

    def moments(self, photo: PhotoName, tag: str, *, base: Any = None) -> tuple[tuple[float, float], ...]:
        """Return times of a video's key frames and the tag's scores there; nothing of a photo.

        Parameters
        ----------
        photo : int, str, bytes or path
            The video.
        tag : str
            The tag, by name or alias.
        base : path, optional
            Where relative names begin beside the folder of photos.

        Raises
        ------
        StoreError
            If there is no model, or it scores no key frames.
        """
        from tagloom.learning.moments import moments

        (number,) = find_photo_ids(self.store, [photo], base=base)
        table = self.store.photos.table([number])
        if not is_video(table.paths[0]):
            return ()
        found = moments(self.store, self.settings, table.hashes[0])
        (tag_id,) = find_tag_ids(self.store, [tag])
        column = (found.tag_ids == tag_id).nonzero()[0]
        scores = found.scores[:, column[0]].tolist() if len(column) else []
        return tuple(zip(found.times, scores, strict=False))

    # out ---------------------------------------------------------------------------------------------------------

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

    # the project itself ------------------------------------------------------------------------------------------

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
        """Write a consistent copy of all decisions to a new file."""
        from tagloom.catalog import refuse_way_out

        refuse_way_out(self.store, path)
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
        """Back the decisions up in the project's folder, if a backup is due and the settings want any.

        A failure goes to the log and stops nothing.
        """
        try:
            if self.store.is_backup_due() and self.settings.n_backups:
                self.store.back_up(self.settings.n_backups)
        except (TagloomError, OSError) as error:
            logger.warning("no backup was made: %s", error)

    def _check_values(self) -> None:
        """Refuse a stranger's project whose values are not what tagloom stores, or photos not in their folder."""
        from tagloom.store import refuse_odd_values

        refuse_odd_values(self.store.database)
        found = self.store.photos.outside()
        if found is not None:
            raise DamagedStoreError(
                f"the project in {str(self.folder)!r} names a photo outside of its folder of photos "
                f"({os.fsdecode(found)[:80]!r}), which a sound project never does; do not use it"
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
