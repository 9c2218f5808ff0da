"""The verb behind ``tagloom write``: keywords go to the sidecars of photos, or into the photos if asked.

Written is what was accepted and, only if asked, what is above the threshold; the latter is noted as such (see
`tagloom.project.unwritten`). Taken out of a sidecar is what a person denied outright, by any name of the
tag; the old name of a tag that was renamed or merged; and what tagloom itself had brought there and no longer writes: a
label that was taken back, a suggestion. The journal knows what that is, file by file. Everything else that is there
stays, and so does what darktable writes for its own use. Where photos were taken is neither read nor written.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from numpy.typing import ArrayLike

from tagloom.catalog import PhotoName, Result, find_photo_ids, online_root
from tagloom.core import NO_PROGRESS, Keyword, PhotoKeywords, Progress, SidecarName, is_raw, is_video
from tagloom.exceptions import InvalidInputError
from tagloom.learning import check_threshold, suggestions_kind
from tagloom.metadata import (
    FieldChange,
    KeywordChange,
    KeywordEmbedder,
    SidecarWriter,
    WriteOutcome,
    find_sidecars,
    is_programs_own,
    name_to_text,
    remembered,
)
from tagloom.project.export import photo_keywords, why_none, why_withheld
from tagloom.project.file_memory import FIELDS_READ, FileMemories, RecordsRead
from tagloom.project.journal import ProjectChanges, ProjectJournal, recover
from tagloom.project.moved_sidecars import find_left_sidecars, take_along
from tagloom.project.unwritten import WRITE, settled_by
from tagloom.store import ProjectStore

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
    fields : tuple of FieldChange
        Every item that comes into a field of the file and goes from it.
    notes : tuple of str
        What a field has to spell differently, and what another program did that is left as it is, a line each.
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
    fields: tuple[FieldChange, ...] = ()
    notes: tuple[str, ...] = ()
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
        Every file but those without a change or a note.
    recovered : tuple of str
        A line for each file that an earlier, interrupted write had left open.
    withheld : str
        Why no suggestion left the project though it was asked for; empty: none was held back.
    moved : tuple of (bytes, bytes)
        Sidecars that tagloom wrote and that stayed behind when their photos were moved: from where to where they go.
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
    withheld: str = ""
    moved: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class _Task:
    """What is asked for one file, and which of the keywords are suggestions."""

    id: int
    name: bytes
    change: KeywordChange
    suggested: frozenset[Keyword]
    was_written: bool = False

    @property
    def is_decided(self) -> bool:
        """Whether a decision asks for anything, and not suggestions alone."""
        stale = any(each.own.paths.difference(self.change.add) for each in self.change.memory.values())
        return bool(stale or self.change.remove or not self.suggested.issuperset(self.change.add))


def write(
    store: ProjectStore,
    *,
    dry_run: bool = False,
    embed: bool = False,
    iptc: bool = False,
    photos: PhotoName | Sequence[PhotoName] | None = None,
    threshold: float | None = None,
    accepted_only: bool | None = None,
    uncalibrated: bool = False,
    sidecar_names: SidecarName = "photo.jpg.xmp",
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
        Write into the photos themselves; raw files, and those whose format is not written, get sidecars all the same.
    iptc : bool, default=False
        Write IPTC keywords into photos that have none, too; needs ``embed``.
    photos : one or several of int, str, bytes or path, optional
        Default: all that are present.
    threshold : float, optional
        Above it suggestions are written, too. Default: the project's, else those that training chose for each tag.
    accepted_only : bool, optional
        Default: True unless a threshold is given.
    uncalibrated : bool, default=False
        Whether suggestions may be written that have a score and no probability yet.
    sidecar_names : {"photo.jpg.xmp", "photo.xmp"}, default="photo.jpg.xmp"
        How new sidecars are named.
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
    InvalidInputError
        If IPTC keywords are asked for and photos are not to be written into.
    MetadataError
        If photos are to be written into and exiftool is not installed.
    """
    if iptc and not embed:
        raise InvalidInputError("sidecars have no IPTC keywords; to write them into the photos, add --embed")
    only = threshold is None if accepted_only is None else accepted_only
    if threshold is not None:
        check_threshold(threshold, suggestions_kind(store))
    withheld = "" if only or uncalibrated else why_withheld(store)
    asked = not (only or withheld or uncalibrated)
    only = only or bool(withheld)
    root = online_root(store)
    ids = None if photos is None else find_photo_ids(store, photos, base=base)
    if dry_run:
        writer = _Writer(ProjectJournal(store), embed, iptc, sidecar_names)
        tasks = _tasks(store, root.path, ids, only, threshold, embed, progress)
        left = find_left_sidecars(store, root.path, ids)
        files = {each.photo: each.file for each in left}
        tasks = [
            replace(task, change=replace(task.change, sidecar=files[task.id])) if task.id in files else task
            for task in tasks
        ]
        planned = list(_plan_each(tasks, writer, progress))
        withheld = why_none(store) if asked and not any(task.suggested for task in tasks) else withheld
        moved = tuple((each.file, each.to) for each in left)
        return _result(planned, dry_run=True, accepted_only=only, withheld=withheld, moved=moved)
    with store.lock():
        recovered = tuple(item.message for item in recover(store))
        journal = ProjectJournal(store, label=f"write keywords{' into photos' if embed else ''}", who=who)
        journal.sweep()  # a copy that exiftool was at work on when a process was killed
        writer = _Writer(journal, embed, iptc, sidecar_names)
        settled = settled_by(store, ids)
        moved = _take_along(store, journal, root.path, ids)
        tasks = _tasks(store, root.path, ids, only, threshold, embed, progress)
        model = store.models.active()
        options = {
            "embed": embed,
            "iptc": iptc,
            "accepted_only": only,
            "threshold": threshold,
            "model": model and model.id,
        }
        run = store.runs.start(
            WRITE, options | ({"suggested": {}} if only else _added_suggestions(store, tasks, writer, progress))
        )
        try:
            written = list(_write_each(tasks, writer, progress))
        finally:
            writer.close()
            journal.flush()
        batch = _kept_batch(store, journal.batch, who)
        withheld = why_none(store) if asked and not any(task.suggested for task in tasks) else withheld
        result = _result(written, accepted_only=only, batch=batch, recovered=recovered, withheld=withheld, moved=moved)
        failed = any(item.status == "failed" and task.is_decided for task, item in zip(tasks, written, strict=True))
        noted = writer.records.as_dict()
        read = {FIELDS_READ: noted, "action": store.decisions.latest()} if noted["records"] else {}
        store.runs.end(run, {"batch": batch, "counts": result.counts} | read | ({} if failed else settled))
    return result


def _take_along(
    store: ProjectStore, journal: ProjectJournal, root: bytes, ids: Sequence[int] | None
) -> tuple[tuple[bytes, bytes], ...]:
    """Move sidecars to their photos, and return from where to where; one that cannot be moved stays where it is."""
    try:
        left = find_left_sidecars(store, root, ids)
        return tuple((each.file, each.to) for each in left if not take_along(journal, each))
    finally:
        journal.flush()


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
    embed: bool,
    progress: Progress,
) -> list[_Task]:
    """Return what is asked for each photo that has something to write, raw files after their photos."""
    progress.start("collecting keywords")
    memories = FileMemories(store)
    raws: dict[int, list[int]] = {}
    for raw, photo in store.photos.raw_pairs().tolist():
        raws.setdefault(photo, []).append(raw)
    table = store.photos.table(sorted({raw for several in raws.values() for raw in several}))
    raw_names = dict(zip(table.ids.tolist(), table.paths, strict=True))
    names = _Names.read(store)
    tasks = []
    # Scores that are not calibrated come here only if they may leave the project.
    told = photo_keywords(store, ids, accepted_only=accepted_only, threshold=threshold, uncalibrated=True)
    for number, said in told:
        files = [(number, said.photo), *((raw, raw_names[raw]) for raw in raws.get(number, ()))]
        each_file = (_tasks_of(*file, said, root, memories, names) for file in files)
        several = [task for found in each_file for task in islice(found, 1 if embed else None)]
        if any(task.change.add or task.change.remove or task.was_written for task in several):
            tasks += several
    progress.finish()
    return tasks


@dataclass(frozen=True, slots=True)
class _Names:
    """Which tag a name means, and the other names of a tag: all of them, and those that it had before."""

    ids: Mapping[str, int]
    others: Mapping[str, Sequence[str]]
    old: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, store: ProjectStore) -> "_Names":
        tags = store.tags.all()
        ids = {text: item.id for item in tags for text in (item.text, *item.aliases)}
        return cls(ids, {item.text: item.aliases for item in tags}, store.tags.renamed())

    def gone(self, said: PhotoKeywords, add: Collection[Keyword]) -> tuple[Keyword, ...]:
        """Return what a photo's files are to hold no more: all names of denied tags, and old ones of those it has."""
        denied = [keyword for keyword in said.rejected if keyword not in add]
        texts = [text for keyword in said.accepted for text in self.old.get(keyword.text, ())]
        texts += [text for keyword in denied for text in self.others.get(keyword.text, ())]
        several = dict.fromkeys([*denied, *map(Keyword.parse, texts)])
        return tuple(keyword for keyword in several if keyword not in add and not is_programs_own(keyword))


def _tasks_of(
    number: int, name: bytes, said: PhotoKeywords, root: bytes, memories: FileMemories, names: _Names
) -> Iterator[_Task]:
    """Yield what is asked for the files of one photo: one, or two where it has sidecars by two names."""
    suggested = frozenset(keyword for keyword, _ in said.suggested)
    add = (*said.accepted, *(keyword for keyword, _ in said.suggested))
    gone = names.gone(said, add)
    path = os.path.join(root, name)
    memory = memories.of(number, path)
    # What was decided after the files were last read or written is newer than what other programs did to them before.
    again = tuple(
        each for each in (*add, *gone) if memory and memories.was_decided_since(number, names.ids.get(each.text, 0))
    )
    change = KeywordChange(path, add, gone, memories.seen(number, path), memory, again)
    was_written = memories.was_written(number)
    both = find_sidecars(path)
    if len(both) > 1:
        change = replace(change, sidecar=both[0])
    yield _Task(number, name, change, suggested, was_written)
    for each in both[1:]:
        yield _Task(number, name, replace(change, sidecar=each, seen=None), suggested, was_written)


class _Writer:
    """Writes to sidecars, or into photos where that was asked and is possible."""

    def __init__(self, journal: ProjectJournal, embed: bool, iptc: bool, names: SidecarName) -> None:
        self.journal = journal
        self.records = RecordsRead()
        changes = ProjectChanges(journal)
        self._sidecars = SidecarWriter(changes, names=names)
        self._photos = KeywordEmbedder(changes, iptc=iptc, names=names) if embed else None

    def close(self) -> None:
        """End the programs that write into photos."""
        if self._photos is not None:
            self._photos.close()

    def plan(self, task: _Task) -> FileWrite:
        """Return what would be done."""
        return _gone(task) or _file_write(task, self._of(task).plan(task.change))

    def write(self, task: _Task) -> FileWrite:
        """Do it."""
        self.journal.photo = task.id
        if (gone := _gone(task)) is not None:
            return gone
        outcome = next(iter(self._of(task).write([task.change])))
        self._remember(task, outcome)
        return _file_write(task, outcome)

    def _remember(self, task: _Task, outcome: WriteOutcome) -> None:
        """Note what a file says that another program has changed and that stays as it is."""
        plan = outcome.plan
        if outcome.status != "unchanged" or plan is None or plan.record is None or not task.change.memory:
            return
        known = remembered(task.change.memory, outcome.file, outcome.fingerprint).record
        if known is not None and known.as_dict() != plan.record.as_dict():
            self.records.add(task.id, task.change.photo, outcome.file, plan.record)

    def _of(self, task: _Task) -> SidecarWriter | KeywordEmbedder:
        if self._photos is None or is_raw(task.name) or is_video(task.name):
            return self._sidecars
        return self._photos


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
        fields=plan.fields if plan else (),
        notes=plan.notes if plan else (),
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
    withheld: str = "",
    moved: tuple[tuple[bytes, bytes], ...] = (),
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
        files=tuple(item for item in files if item.status != "unchanged" or item.notes),
        recovered=recovered,
        withheld=withheld,
        moved=moved,
    )
