"""The verb behind ``tagloom write``: keywords go to the sidecars of photos, or into the photos if asked.

Written is what was accepted and, only if asked, what is above the threshold; the latter is noted as such (see
`tagloom.workflow.written_suggestions`). Taken out of a sidecar is what a person denied outright, and what tagloom
itself had brought there and no longer writes: the old name of a tag that was renamed or merged, a label that was taken
back, a suggestion. The journal knows what that is, file by file. Everything else that is there stays, and so does what
darktable writes for its own use. Where photos were taken is neither read nor written.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from tagloom.core.keywords import Keyword
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.statements import PhotoKeywords
from tagloom.metadata.embedding import KeywordEmbedder
from tagloom.metadata.names import name_to_text
from tagloom.metadata.sidecars import KeywordChange, SidecarWriter, WriteOutcome
from tagloom.metadata.xmp_fields import is_programs_own
from tagloom.metadata.xmp_read import Stated
from tagloom.store.project import ProjectStore
from tagloom.store.writes import Write
from tagloom.workflow.project_import import IMPORT_PHOTOS
from tagloom.workflow.project_journal import ProjectChanges, ProjectJournal, recover
from tagloom.workflow.project_keywords import photo_keywords
from tagloom.workflow.project_names import PhotoName, find_photo_ids, is_raw
from tagloom.workflow.project_places import online_root
from tagloom.workflow.project_results import Result
from tagloom.workflow.unwritten import settled_by
from tagloom.workflow.written_suggestions import WRITE

__all__ = ["FileWrite", "WriteResult", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWrite(Result):
    """What was, or would be, done to one file.

    Parameters
    ----------
    photo, file : bytes
        The photo below the folder of photos, and the file that is written, absolute.
    status : {"planned", "written", "merged", "unchanged", "failed"}
        "merged": written, and another program had changed the file since tagloom saw it; what that wrote is kept.
    added, removed, kept : tuple of Keyword
        Keywords that come, go and stay.
    suggested : tuple of Keyword
        Those of ``added`` that nobody accepted: they are above the threshold.
    description : str
        The difference for a person, several lines.
    problem : str
        One line if it failed.
    """

    photo: bytes
    file: bytes
    status: str
    added: tuple[Keyword, ...] = ()
    removed: tuple[Keyword, ...] = ()
    kept: tuple[Keyword, ...] = ()
    suggested: tuple[Keyword, ...] = ()
    description: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult(Result):
    """What a write did, or a dry run would do.

    Parameters
    ----------
    dry_run : bool
        Whether nothing was written.
    accepted_only : bool
        Whether suggestions were left out.
    batch : int or None
        What `tagloom undo` takes back; None if no file was changed.
    counts : dict of str to int
        Files by status.
    n_accepted, n_suggested, n_removed : int
        Keywords that came because they were accepted, because they are above the threshold, and that went.
    files : tuple of FileWrite
        Every file but those without a change.
    recovered : tuple of str
        A line for each file that an earlier, interrupted write had left open.
    """

    dry_run: bool
    accepted_only: bool
    batch: int | None
    counts: dict[str, int]
    n_accepted: int
    n_suggested: int
    n_removed: int
    files: tuple[FileWrite, ...]
    recovered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Task:
    """What is asked for one file, and which of the keywords are suggestions."""

    id: int
    name: bytes
    change: KeywordChange
    suggested: frozenset[Keyword]

    @property
    def is_decided(self) -> bool:
        """Whether a decision asks for anything, and not suggestions alone."""
        stale = any(own.paths.difference(self.change.add) for own in self.change.own.values())
        return bool(stale or self.change.remove or not self.suggested.issuperset(self.change.add))


def write(
    store: ProjectStore,
    *,
    dry_run: bool = False,
    embed: bool = False,
    photos: PhotoName | Sequence[PhotoName] | None = None,
    threshold: float | None = None,
    accepted_only: bool | None = None,
    who: str = "",
    base: Any = None,
    progress: Progress = NO_PROGRESS,
) -> WriteResult:
    """Write keywords to sidecars, or with exiftool into the photos.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken unless this is a dry run.
    dry_run : bool, default=False
        Work out the difference for each file, and write nothing.
    embed : bool, default=False
        Write into the photos themselves; raw files get sidecars all the same.
    photos : one or several of int, str, bytes or path, optional
        Default: all that are present.
    threshold : float, optional
        Above it suggestions are written, too. Default: the project's, else those that training chose for each tag.
    accepted_only : bool, optional
        Default: True unless a threshold is given.
    who : str
        For the history.
    base : path, optional
        A folder that relative paths may start from.
    progress : Progress, optional
        Told about every file. An interruption keeps what was written, and `tagloom undo` takes it back.

    Raises
    ------
    StoreError
        If the folder of photos cannot be reached.
    MetadataError
        If photos are to be written into and exiftool is not installed.
    """
    only = threshold is None if accepted_only is None else accepted_only
    root = online_root(store)
    ids = None if photos is None else find_photo_ids(store, photos, base=base)
    if dry_run:
        writer = _Writer(ProjectJournal(store), embed)
        tasks = _tasks(store, root.path, ids, only, threshold, progress)
        planned = list(_plan_each(tasks, writer, progress))
        return _result(planned, dry_run=True, accepted_only=only)
    with store.lock():
        recovered = tuple(item.message for item in recover(store))
        journal = ProjectJournal(store, label=f"write keywords{' into photos' if embed else ''}", who=who)
        journal.sweep()  # a copy that exiftool was at work on when a process was killed
        writer = _Writer(journal, embed)
        settled = settled_by(store, ids)
        tasks = _tasks(store, root.path, ids, only, threshold, progress)
        model = store.models.active()
        options = {"embed": embed, "accepted_only": only, "threshold": threshold, "model": model and model.id}
        run = store.runs.start(
            WRITE, options | ({"suggested": {}} if only else _added_suggestions(store, tasks, writer, progress))
        )
        try:
            written = list(_write_each(tasks, writer, progress))
        finally:
            journal.flush()
        batch = _kept_batch(store, journal.batch, who)
        result = _result(written, accepted_only=only, batch=batch, recovered=recovered)
        failed = any(item.status == "failed" and task.is_decided for task, item in zip(tasks, written, strict=True))
        store.runs.end(run, {"batch": batch, "counts": result.counts} | ({} if failed else settled))
    return result


def _kept_batch(store: ProjectStore, batch: int | None, who: str) -> int | None:
    """Return the batch of a write; one in which no file was changed is closed, so that no undo finds it."""
    if batch is None or any(item.state != "undone" for item in store.writes.entries(batch=batch)):
        return batch
    store.decisions.undo(batch, who=who)
    return None


def _tasks(
    store: ProjectStore,
    root: bytes,
    ids: ArrayLike | None,
    accepted_only: bool,
    threshold: float | None,
    progress: Progress,
) -> list[_Task]:
    """Return what is asked for each photo that has something to write, raw files after their photos."""
    progress.start("collecting keywords")
    known = _Known(store)
    raw = {jpeg: number for number, jpeg in store.photos.raw_pairs().tolist()}
    table = store.photos.table(sorted(raw.values()))
    raw_names = dict(zip(table.ids.tolist(), table.paths, strict=True))
    tasks = []
    for number, said in photo_keywords(store, ids, accepted_only=accepted_only, threshold=threshold):
        files = [(number, said.photo)]
        if number in raw:
            files.append((raw[number], raw_names[raw[number]]))
        several = [_task(*file, said, root, known) for file in files]
        if any(task.change.add or task.change.remove or task.change.own for task in several):
            tasks += several
    progress.finish()
    return tasks


def _task(number: int, name: bytes, said: PhotoKeywords, root: bytes, known: "_Known") -> _Task:
    suggested = frozenset(keyword for keyword, _ in said.suggested)
    add = (*said.accepted, *(keyword for keyword, _ in said.suggested))
    denied = (keyword for keyword in said.rejected if not is_programs_own(keyword))
    gone = tuple(keyword for keyword in denied if keyword not in add)
    path = os.path.join(root, name)
    return _Task(number, name, KeywordChange(path, add, gone, known.seen(number, path), known.own(number)), suggested)


class _Known:
    """What files were like when tagloom last read or wrote them, and what of their keywords came from tagloom."""

    def __init__(self, store: ProjectStore) -> None:
        runs = [run for run in store.runs.all(IMPORT_PHOTOS) if run.result is not None]
        self._read: dict[str, str] = (runs[0].result or {}).get("seen", {}) if runs else {}
        self._since = runs[0].started if runs else 0.0
        self._written: dict[bytes, list[Write]] = {}
        for item in store.writes.entries():
            self._written.setdefault(item.path, []).append(item)
        self._own: dict[int, dict[str, Stated]] = {}
        for entries in self._written.values():
            done = next((item for item in reversed(entries) if item.state == "done"), None)
            if done is not None and done.photo is not None and done.note:
                self._own.setdefault(done.photo, {})[done.after] = Stated.from_text(done.note)
        for photo in self._own.keys() & _sharing(store) if self._own else ():
            del self._own[photo]

    def own(self, number: int) -> dict[str, Stated]:
        """Return what came from tagloom of the keywords in files written for a photo, by the content of those files.

        A file that another program has changed since is another one: what it says then that program says, too. Nothing
        is told of photos that may share a sidecar, as what one of them does not say any more another one may.
        """
        return self._own.get(number, {})

    def seen(self, number: int, photo: bytes) -> str | None:
        """Return the fingerprint of a photo's sidecar, None where it was never looked at."""
        seen = self._read.get(str(number))
        if not self._written:
            return seen
        from tagloom.metadata.photo_keywords import find_sidecar, new_sidecar

        entries = self._written.get(os.path.realpath(find_sidecar(photo) or new_sidecar(photo)), [])
        if entries and entries[-1].at >= self._since:
            seen = entries[-1].after
        # What was put back since it was read or written is as it was before; writes are taken back from the last one.
        for item in reversed(entries):
            if item.after == seen:
                if item.state == "done":
                    break
                seen = item.before or ""
        return seen


def _sharing(store: ProjectStore) -> set[int]:
    """Return the photos whose name but for its ending another one in the folder has, raw files beside photos aside."""
    table = store.photos.table()
    by_stem: dict[bytes, list[int]] = {}
    for number, name in zip(table.ids.tolist(), table.paths, strict=True):
        if not is_raw(name):
            by_stem.setdefault(os.path.splitext(name)[0].lower(), []).append(number)
    return {number for several in by_stem.values() if len(several) > 1 for number in several}


class _Writer:
    """Writes to sidecars, or into photos where that was asked and is possible."""

    def __init__(self, journal: ProjectJournal, embed: bool) -> None:
        self.journal = journal
        changes = ProjectChanges(journal)
        self._sidecars = SidecarWriter(changes)
        self._photos = KeywordEmbedder(changes) if embed else None

    def plan(self, task: _Task) -> FileWrite:
        """Return what would be done."""
        return _gone(task) or _file_write(task, self._of(task).plan(task.change))

    def write(self, task: _Task) -> FileWrite:
        """Do it."""
        self.journal.photo = task.id
        return _gone(task) or _file_write(task, next(iter(self._of(task).write([task.change]))))

    def _of(self, task: _Task) -> SidecarWriter | KeywordEmbedder:
        return self._sidecars if self._photos is None or is_raw(task.name) else self._photos


def _added_suggestions(
    store: ProjectStore, tasks: Sequence[_Task], writer: _Writer, progress: Progress
) -> dict[str, dict[str, Any]]:
    """Return for each photo the suggestions that are not there yet, and its content.

    Those alone are tagloom's own to take out again; by the content a copy of the photo is known.
    """
    found: dict[str, list[str]] = {}
    asked = [task for task in tasks if task.suggested]
    for task, planned in zip(asked, _plan_each(asked, writer, progress), strict=True):
        if planned.suggested:
            found[str(task.id)] = [keyword.text for keyword in planned.suggested]
    table = store.photos.table([int(number) for number in found])
    return {"suggested": found, "contents": dict(zip(map(str, table.ids.tolist()), table.hashes, strict=True))}


def _plan_each(tasks: Sequence[_Task], writer: _Writer, progress: Progress) -> Iterator[FileWrite]:
    progress.start("comparing with files", len(tasks))
    for task in tasks:
        yield writer.plan(task)
        progress.advance()
    progress.finish()


def _write_each(tasks: Sequence[_Task], writer: _Writer, progress: Progress) -> Iterator[FileWrite]:
    progress.start("writing keywords", len(tasks))
    for task in tasks:
        yield writer.write(task)
        progress.advance()
    progress.finish()


def _gone(task: _Task) -> FileWrite | None:
    if os.path.lexists(task.change.photo):
        return None
    problem = "the photo is no longer there; run tagloom scan"
    text = f"{name_to_text(task.name)}: {problem}"
    return FileWrite(photo=task.name, file=task.change.photo, status="failed", description=text, problem=problem)


def _file_write(task: _Task, outcome: WriteOutcome) -> FileWrite:
    plan = outcome.plan
    return FileWrite(
        photo=task.name,
        file=outcome.file,
        status=outcome.status,
        added=plan.added if plan else (),
        removed=plan.removed if plan else (),
        kept=plan.kept if plan else (),
        suggested=tuple(keyword for keyword in plan.added if keyword in task.suggested) if plan else (),
        description=outcome.describe(),
        problem=outcome.problem,
    )


def _result(
    files: Sequence[FileWrite],
    *,
    accepted_only: bool,
    dry_run: bool = False,
    batch: int | None = None,
    recovered: tuple[str, ...] = (),
) -> WriteResult:
    done = [item for item in files if item.status in ("planned", "written", "merged")]
    n_suggested = sum(len(item.suggested) for item in done)
    return WriteResult(
        dry_run=dry_run,
        accepted_only=accepted_only,
        batch=batch,
        counts=dict(Counter(item.status for item in files)),
        n_accepted=sum(len(item.added) for item in done) - n_suggested,
        n_suggested=n_suggested,
        n_removed=sum(len(item.removed) for item in done),
        files=tuple(item for item in files if item.status != "unchanged"),
        recovered=recovered,
    )
