"""The verb behind ``tagloom undo``: decisions and changes of tags by the store, written files byte for byte."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.catalog import Result, is_trusted, online_root
from tagloom.core import NO_PROGRESS, Progress
from tagloom.exceptions import InvalidInputError, StoreError, TagloomError
from tagloom.store import ProjectStore

if TYPE_CHECKING:
    from tagloom.store import Batch, Write

__all__ = ["UndoResult", "redo", "undo"]

_N_NAMED = 3
_OUT_OF_REACH = ""  # no fingerprint is empty


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult(Result):
    """What was taken back, or brought back.

    Parameters
    ----------
    batch : Batch or None
        None if there was nothing.
    n_files : int
        Files that have their old content again.
    left_alone : tuple of str
        A line for each file that another program has changed since, and that was left as it is.
    """

    batch: "Batch | None"
    n_files: int = 0
    left_alone: tuple[str, ...] = ()


def undo(
    store: ProjectStore,
    batch: int | None = None,
    *,
    who: str = "",
    leave_changed: bool = False,
    confirm: Callable[[Sequence[bytes]], bool] | None = None,
    progress: Progress = NO_PROGRESS,
) -> UndoResult:
    """Take back the latest action, or another one.

    Only photos of the project and their sidecars are put back.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken if files have to be put back.
    batch : int, optional
        Default: the latest action that is not undone.
    who : str
        For the history.
    leave_changed : bool, default=False
        Files that another program has changed since they were written: leave them as they are and take back the rest.
        Otherwise they are an error, and nothing is changed.
    confirm : callable, optional
        Asked whether these files shall be put back, if another user or another machine made the project and it is not
        trusted. Default: no.
    progress : Progress, optional
        Told about every file that is looked at, and every one that is put back. After an interruption the same call
        goes on.

    Raises
    ------
    InvalidInputError
        If there is no such batch, it is undone already, or files have been changed since.
    StoreError
        If the project is not trusted, and `confirm` does not say yes.
    """
    number = batch
    if number is None:
        latest = store.decisions.undoable()
        if latest is None:
            return UndoResult(batch=None)
        number = latest.id
    n_files, left = 0, tuple[str, ...]()
    if store.decisions.batch(number).kind == "write":
        n_files, left = _put_back(store, number, leave_changed, confirm, progress)
    return UndoResult(batch=store.decisions.undo(number, who=who), n_files=n_files, left_alone=left)


def redo(store: ProjectStore, batch: int | None = None, *, who: str = "") -> UndoResult:
    """Bring back what was undone last, or another action. Writes of keywords are passed over.

    Raises
    ------
    InvalidInputError
        If a write was named, or nothing else was undone: what was written is not kept, and to write once more does the
        same.
    """
    number = store.decisions.redoable() if batch is None else batch
    if number is None:
        latest = next(iter(store.decisions.history(1)), None)
        number = latest.refers if latest is not None and latest.kind == "undo" else None
    if number is None:
        return UndoResult(batch=None)
    if (about := store.decisions.batch(number)).kind == "write" and about.undone:
        raise InvalidInputError("Redo skips writes. To write the keywords again, run: tagloom write")
    return UndoResult(batch=store.decisions.redo(number, who=who))


def _put_back(
    store: ProjectStore,
    batch: int,
    leave_changed: bool,
    confirm: Callable[[Sequence[bytes]], bool] | None,
    progress: Progress,
) -> tuple[int, tuple[str, ...]]:
    # Imported where they are used: taking back decisions needs nothing of the metadata package.
    from tagloom.project.journal import (
        UNDOING,
        ProjectChanges,
        ProjectJournal,
        Reach,
        as_entry,
        place_now,
        recover,
    )

    with store.lock():
        online_root(store)  # files on a disk that is not there would pass for removed
        recover(store)
        entries = [item for item in store.writes.entries(batch=batch) if item.state == "done"]
        places = {item.id: place_now(store, item) for item in entries}
        files = list(dict.fromkeys(places.values()))
        if files and not is_trusted(store) and (confirm is None or not confirm(files)):
            raise StoreError(
                f"this project was made by another user or on another machine, and undo would write {len(files)} files "
                f"({_named(files)}); nothing was changed. To do so: tagloom undo --yes, or first: tagloom trust"
            )
        reach = Reach(store)
        refused = {item.id: reach.problem(places[item.id], item.photo) for item in entries}
        changed = _changed_entries(entries, places, refused, progress)
        if changed and not leave_changed:
            raise _changed_since([item.path for item in changed], len(entries))
        journal = ProjectJournal(store)
        changes = ProjectChanges(journal)
        left = []
        store.settings.set(UNDOING, batch)
        progress.start("putting files back", len(entries))
        try:
            for item in reversed(entries):
                entry = as_entry(item)
                journal.photo = item.photo
                try:
                    like = next((places[each.id] for each in entries if _is_move(item, each, refused)), None)
                    changes.undo(entry, path=places[item.id], like=like)
                except TagloomError as error:
                    if not leave_changed:
                        raise
                    left.append(str(error))
                    journal.mark(entry, "undone")  # let go: the file is the other program's now
                progress.advance()
        finally:
            journal.flush()
        progress.finish()
        store.settings.set(UNDOING, None)
    return len(entries) - len(left), tuple(left)


def _is_move(gone: "Write", made: "Write", refused: Mapping[int, str | None]) -> bool:
    """Tell whether a sidecar that was removed is the one that was made elsewhere, where its photo is now."""
    return (gone.photo, gone.before, None) == (made.photo, made.after, made.before) and refused[made.id] is None


def _changed_since(paths: Sequence[bytes], n_files: int) -> InvalidInputError:
    return InvalidInputError(
        f"{len(paths)} of {n_files} files were changed or moved by another program since ({_named(paths)}); nothing "
        f"was changed. To take back the others and leave these: tagloom undo --leave-changed"
    )


def _named(paths: Sequence[bytes]) -> str:
    shown = ", ".join(repr(os.fsdecode(os.path.basename(path))) for path in paths[:_N_NAMED])
    return shown + (" …" if len(paths) > _N_NAMED else "")


def _changed_entries(
    entries: "Sequence[Write]", places: Mapping[int, bytes], refused: Mapping[int, str | None], progress: Progress
) -> "list[Write]":
    """Return the entries whose file is neither what was written nor what was there before, or is out of reach.

    One batch may have written a file twice, such as the sidecar that two photos share: seen from the end, each entry
    finds what the later one puts back.
    """
    from tagloom.metadata import REMOVED, fingerprint_at

    found = []
    now: dict[bytes, str | None] = {}
    progress.start("looking at files", len(entries))
    for item in reversed(entries):
        place = places[item.id]
        if place not in now:
            is_there = refused[item.id] is None and os.path.isdir(os.path.dirname(place))
            now[place] = fingerprint_at(place) if is_there else _OUT_OF_REACH
        if now[place] in (item.before, None if item.after == REMOVED else item.after):
            now[place] = item.before
        else:
            found.append(item)
        progress.advance()
    progress.finish()
    return found[::-1]
