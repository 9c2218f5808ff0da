"""The journal of files that a project writes keywords to.

There is one journal: the store's tables ``written`` and ``contents``. `tagloom.metadata` knows how to replace a file so
that it is the old one or the new one whenever the power fails, and how to take that back; where it notes what it does
is a journal of its own kind, one file per change, made for use without a project. Here the same code is given a
journal that notes everything in the store: it is in the same transaction log as the decisions, belongs to a batch that
``tagloom undo`` knows, is found by an index however long it grows, and is looked at by ``tagloom check``.

A change is ``intended`` on stable storage before its file is touched. That it is ``done`` is noted for many files at
once: until then a crash leaves it intended, and `recover` finds out by its fingerprint whether the file was replaced.
While a batch is undone, a setting of the store names it, so that after a crash what lies about is found.
"""

import contextlib
import os
import time
from collections.abc import Collection, Iterable
from pathlib import Path

from tagloom.core.files import TEMPORARY_MARK
from tagloom.metadata.file_changes import FileChanges, Recovered, fingerprint_at
from tagloom.metadata.photo_keywords import find_sidecar
from tagloom.metadata.write_journal import JournalEntry, State, WriteJournal, fingerprint
from tagloom.store.layout import WRITTEN
from tagloom.store.project import ProjectStore
from tagloom.store.writes import Intent, Write

__all__ = ["UNDOING", "ProjectChanges", "ProjectJournal", "as_entry", "place_now", "recover"]

UNDOING = "undoing"  # the setting that names the batch being undone

AT_ONCE = 64
_STATES: dict[str, State] = {"intended": "pending", "done": "done", "undone": "undone"}


class ProjectJournal(WriteJournal):
    """A journal of `tagloom.metadata` that keeps its entries in a project's store.

    Parameters
    ----------
    store : ProjectStore
        The project, its lock held by the caller.
    label, who : str
        Of the batch of writes, which begins with the first change.

    Attributes
    ----------
    batch : int or None
        The batch; None as long as nothing was changed.
    photo : int or None
        The photo that the next change is about; set by the caller.
    """

    def __init__(self, store: ProjectStore, *, label: str = "", who: str = "") -> None:
        super().__init__(Path(store.folder) / WRITTEN)
        self._store = store
        self._label, self._who = label, who
        self._marks: dict[str, list[int]] = {"done": [], "undone": []}
        self.batch: int | None = None
        self.photo: int | None = None

    def begin(self, path: bytes, before: bytes | None, after: str, *, kind: str, run: str) -> JournalEntry:
        """Save what a file holds before it is changed."""
        if self.batch is None:
            self.batch = self._store.writes.begin(self._label, who=self._who)
        (number,) = self._store.writes.intend(self.batch, [Intent(path, before, after, self.photo)])
        known = None if before is None else fingerprint(before)
        return JournalEntry(str(number), path, kind, run, time.time(), known, after, "pending")

    def mark(self, entry: JournalEntry, state: State) -> JournalEntry:
        """Move an entry to another state.

        An undo that is under way is no state of the store: until it is noted, the entry is done, and to undo it once
        more changes nothing. Nor is "unclear": as done, its file is left alone by an undo if it is another one by then.
        """
        if state in ("done", "unclear"):
            self._note("done", entry)
        elif state == "undone":
            self._note("undone", entry)
        return JournalEntry(entry.id, entry.path, entry.kind, entry.run, entry.time, entry.before, entry.after, state)

    def forget(self, entry: JournalEntry) -> None:
        """Note that a change was never made."""
        self._note("undone", entry)

    def entries(self, *, run: str | None = None, states: Collection[State] | None = None) -> list[JournalEntry]:
        """Return the entries, oldest first: of all batches or of the one with this number, in all states or in some."""
        self.flush()
        batch = None if run is None else int(run)
        wanted = [None] if states is None else [name for name, state in _STATES.items() if state in states]
        found = [item for name in wanted for item in self._store.writes.entries(batch=batch, state=name)]
        return [as_entry(item) for item in sorted(found, key=lambda item: item.id)]

    def saved(self, entry: JournalEntry) -> bytes | None:
        """Return what the file held before the change; None if there was no file."""
        return self._store.writes.before(int(entry.id))

    def flush(self) -> None:
        """Note in the store what has been done so far."""
        for state, numbers in self._marks.items():
            if numbers:
                (self._store.writes.done if state == "done" else self._store.writes.undone)(numbers)
                numbers.clear()

    def _note(self, state: str, entry: JournalEntry) -> None:
        self._marks[state].append(int(entry.id))
        if len(self._marks[state]) >= AT_ONCE:
            self.flush()


class ProjectChanges(FileChanges):
    """Replaces files and takes changes back, noted in a project's store.

    Parameters
    ----------
    journal : ProjectJournal
        Where changes are noted.
    """

    journal: ProjectJournal

    def __init__(self, journal: ProjectJournal) -> None:
        self.journal = journal  # in place of the journal of files that the base makes


def as_entry(item: Write) -> JournalEntry:
    """Return an entry of the store as `tagloom.metadata` knows it."""
    kind = "sidecar" if item.path.lower().endswith(b".xmp") else "photo"
    return JournalEntry(
        str(item.id), item.path, kind, str(item.batch), item.at, item.before, item.after, _STATES[item.state]
    )


def place_now(store: ProjectStore, item: Write) -> bytes:
    """Return where a written file is now: it may have moved along with its photo.

    Parameters
    ----------
    store : ProjectStore
        The project.
    item : Write
        An entry of the journal.
    """
    if os.path.lexists(item.path) or item.photo is None:
        return item.path
    table = store.photos.table([item.photo])
    roots = {root.id: root.path for root in store.roots.all()}
    if not len(table) or table.states[0] != "present":
        return item.path
    now = os.path.join(roots[int(table.roots[0])], table.paths[0])
    moved = find_sidecar(now) if item.path.lower().endswith(b".xmp") else now
    return moved if moved is not None and fingerprint_at(moved) == item.after else item.path


def recover(store: ProjectStore) -> list[Recovered]:
    """Bring writes to an end that a crash interrupted; files are left as the crash left them, whole.

    Of an undo that was interrupted, only what lies about is removed: to undo once more takes back the rest.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken.

    Raises
    ------
    StoreBusyError
        If another process is at work: then the writes are its own.
    """
    with store.lock():
        undoing = store.settings.get(UNDOING)
        if undoing is None and not store.writes.pending():
            return []
        journal = ProjectJournal(store)
        try:
            found = ProjectChanges(journal).recover()
        finally:
            journal.flush()
        if undoing is not None:
            _sweep({place_now(store, item) for item in store.writes.entries(batch=undoing)})
            store.settings.set(UNDOING, None)
        return found


def _sweep(targets: Iterable[bytes]) -> None:
    """Remove temporary files of these targets; nobody else writes them while the lock is held."""
    by_folder: dict[bytes, set[bytes]] = {}
    for target in targets:
        folder, name = os.path.split(target)
        by_folder.setdefault(folder, set()).add(name)
    mark = os.fsencode(TEMPORARY_MARK)
    for folder, names in by_folder.items():
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder):
                if mark in entry and entry[: entry.rindex(mark)] in names:
                    os.unlink(os.path.join(folder, entry))
