"""The journal of files that a project writes keywords to.

There is one journal: the store's tables ``written`` and ``contents``. `tagloom.metadata` knows how to replace a file so
that it is the old one or the new one whenever the power fails, and how to take that back; where it notes what it does
is a journal of its own kind, one file per change, made for use without a project. Here the same code is given a
journal that notes everything in the store: it is in the same transaction log as the decisions, belongs to a batch that
``tagloom undo`` knows, is found by an index however long it grows, and is looked at by ``tagloom check``.

A change is ``intended`` on stable storage before its file is touched. That it is ``done`` is noted for many files at
once: until then a crash leaves it intended, and `recover` finds out by its fingerprint whether the file was replaced.
While a batch is undone, a setting of the store names it, so that after a crash what lies about is found.

A photo that keywords were written into has another content hash. In the transaction that notes a change of it as done
or undone, the store follows: features and decisions stay with the photo, and a scan finds it as it is known.
"""

import os
import stat
import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from tagloom.catalog import is_trusted
from tagloom.core import PHOTO_EXTENSIONS, RAW_EXTENSIONS
from tagloom.exceptions import MetadataError
from tagloom.images import Refused, fingerprint_file
from tagloom.metadata import (
    REMOVED,
    FileChanges,
    JournalEntry,
    Recovered,
    State,
    WriteJournal,
    find_sidecar,
    fingerprint,
    fingerprint_at,
    name_to_text,
    sidecar_places,
    sweep,
)
from tagloom.store import SCRATCH, WRITTEN, ContentChange, Intent, KnownFile, ProjectStore, Write, is_digest

__all__ = ["UNDOING", "ProjectChanges", "ProjectJournal", "Reach", "as_entry", "is_sidecar", "place_now", "recover"]

UNDOING = "undoing"  # the setting that names the batch being undone

AT_ONCE = 64
PHOTO = "photo"
_WRITABLE = PHOTO_EXTENSIONS | RAW_EXTENSIONS | {b".xmp"}
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
        if not store.is_read_only:
            store.files.make(WRITTEN)
        super().__init__(Path(store.folder) / WRITTEN, make=False)
        self.store = store
        self._label, self._who = label, who
        self._marks: dict[str, list[JournalEntry]] = {"done": [], "undone": []}
        self.batch: int | None = None
        self.photo: int | None = None

    def begin(
        self, path: bytes, before: bytes | None, after: str, *, kind: str, run: str, note: str = ""
    ) -> JournalEntry:
        """Save what a file holds before it is changed."""
        self._flush_before(path)
        if self.batch is None:
            self.batch = self.store.writes.begin(self._label, who=self._who)
        (number,) = self.store.writes.intend(self.batch, [Intent(path, before, after, self.photo, note)])
        known = None if before is None else fingerprint(before)
        return JournalEntry(str(number), path, kind, run, time.time(), known, after, "pending", note)

    def mark(self, entry: JournalEntry, state: State) -> JournalEntry:
        """Move an entry to another state.

        An undo that is under way is no state of the store: until it is noted, the entry is done, and to undo it once
        more changes nothing. Nor is "unclear": as done, its file is left alone by an undo if it is another one by then.
        """
        if state == "undoing":
            self._flush_before(entry.path)
        elif state in ("done", "unclear"):
            if state == "unclear":
                self.store.writes.forget_notes([int(entry.id)])
            self._note("done", entry)
        elif state == "undone":
            self._note("undone", entry)
        return replace(entry, state=state)

    def forget(self, entry: JournalEntry) -> None:
        """Note that a change was never made."""
        self._note("undone", entry)

    def entries(self, *, run: str | None = None, states: Collection[State] | None = None) -> list[JournalEntry]:
        """Return the entries, oldest first: of all batches or of the one with this number, in all states or in some."""
        self.flush()
        batch = None if run is None else int(run)
        wanted = [None] if states is None else [name for name, state in _STATES.items() if state in states]
        found = [item for name in wanted for item in self.store.writes.entries(batch=batch, state=name)]
        return [as_entry(item) for item in sorted(found, key=lambda item: item.id)]

    def saved(self, entry: JournalEntry) -> bytes | None:
        """Return what the file held before the change; None if there was no file."""
        return self.store.writes.before(int(entry.id))

    def sweep(self) -> None:
        """Remove what a crash left half written beside the kept contents; only names that tagloom gives."""
        files = self.store.files
        files.sweep(WRITTEN)
        for name in files.folders(WRITTEN):
            if name.startswith(SCRATCH):
                files.remove_scratch(WRITTEN, name)

    def flush(self) -> None:
        """Note in the store what has been done so far, and let it follow photos to their new content."""
        if not any(self._marks.values()):
            return
        changes = self._content_changes()
        if changes:
            _copy_thumbnails(self.store, changes)  # another database: harmless if the rest never comes
        with self.store.transaction():
            for state, entries in self._marks.items():
                numbers = [int(entry.id) for entry in entries]
                (self.store.writes.done if state == "done" else self.store.writes.undone)(numbers)
            self.store.contents.carry_over(changes)
        for entries in self._marks.values():
            entries.clear()

    def _flush_before(self, path: bytes) -> None:
        """Note what was done to a file before it is changed once more: the store follows one content at a time."""
        if any(entry.path == path for entries in self._marks.values() for entry in entries):
            self.flush()

    def _note(self, state: str, entry: JournalEntry) -> None:
        self._marks[state].append(entry)
        if len(self._marks[state]) >= AT_ONCE:
            self.flush()

    def _content_changes(self) -> list[ContentChange]:
        """Return the photos among what is to be noted that have their other content by now, as they look."""
        steps: list[tuple[str | None, str | None]]
        steps = [(entry.before, entry.after) for entry in self._marks["done"] if entry.kind == PHOTO]
        steps += [(entry.after, entry.before) for entry in self._marks["undone"] if entry.kind == PHOTO]
        roots = {root.id: root.path for root in self.store.roots.all()}
        return [
            ContentChange(found, before, after)
            for before, after in dict.fromkeys(steps)
            if before is not None and after is not None and is_digest(before) and is_digest(after)  # contents alone
            for file in self.store.contents.files(before)
            if (found := _with_content(file, roots.get(file.root, b""), after)) is not None
        ]


def _with_content(file: KnownFile, root: bytes, content_hash: str) -> KnownFile | None:
    """Return a file as it looks now if it has this content; links, and files that moved along, are found as well."""
    path = os.path.join(root, file.path)
    try:
        status = os.stat(path)
        if (status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns) == file.stamp:
            return None  # an untouched copy of the photo
        now = fingerprint_file(path)
    except (OSError, ValueError, Refused):
        return None
    if now.content_hash != content_hash:
        return None
    return KnownFile(file.root, file.path, (now.size, now.mtime_ns, now.inode, now.ctime_ns))


def _copy_thumbnails(store: ProjectStore, changes: Iterable[ContentChange]) -> None:
    pairs = {(change.before, change.after) for change in changes}
    with store.cache() as cache:
        found = cache.thumbnails(sorted({before for before, _ in pairs}))
        cache.put_thumbnails((after, found[before]) for before, after in sorted(pairs) if before in found)


class ProjectChanges(FileChanges):
    """Replaces files and takes changes back, noted in a project's store: its photos and their sidecars alone.

    Parameters
    ----------
    journal : ProjectJournal
        Where changes are noted; its photo is the one that a change is about.
    """

    journal: ProjectJournal

    def __init__(self, journal: ProjectJournal) -> None:
        self.journal = journal  # in place of the journal of files that the base makes
        self._reach = Reach(journal.store)

    def replace(
        self,
        path: bytes,
        before: bytes | None,
        after: bytes,
        *,
        kind: str,
        run: str = "",
        note: str = "",
        like: bytes | None = None,
    ) -> JournalEntry:
        """Put new content in place of what a photo or a sidecar of the project holds."""
        self._reach.check(path, self.journal.photo)
        return super().replace(path, before, after, kind=kind, run=run, note=note, like=like)

    def remove(self, path: bytes, before: bytes, *, kind: str, run: str = "", note: str = "") -> JournalEntry:
        """Remove a sidecar of the project."""
        self._reach.check(path, self.journal.photo)
        return super().remove(path, before, kind=kind, run=run, note=note)

    def undo(self, entry: JournalEntry, *, path: bytes | None = None, like: bytes | None = None) -> JournalEntry:
        """Take a change of a photo or a sidecar of the project back."""
        self._reach.check(entry.path if path is None else path, self.journal.photo)
        return super().undo(entry, path=path, like=like)

    def recover(self) -> list[Recovered]:
        """Bring changes to an end that a crash interrupted; files that are not of the project are left alone."""
        self.journal.sweep()
        return [
            self._settle(as_entry(item))
            for item in self.journal.store.writes.pending()
            if self._reach.problem(item.path, item.photo) is None
        ]


class Reach:
    """Which files a project may write: its photos and their sidecars, below its folder of photos.

    What has no extension of a photo or a sidecar is never written, wherever links lead. In a project that this user
    made here, or trusts, that folder may be anywhere, folders in it may be links, and photos may have had other names.
    In a stranger's it is the folder around the project, nothing in it leads out, and a file counts only under the name
    of the photo that it is said to belong to.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """

    def __init__(self, store: ProjectStore) -> None:
        self._store = store
        self._is_trusted = is_trusted(store)
        self._folder = os.fsencode(os.path.realpath(store.folder))
        self._roots = {root.id: root.path for root in store.roots.all()}
        self._real_roots = {os.path.realpath(path) for path in self._roots.values()}
        if not self._is_trusted:
            self._real_roots &= {os.path.dirname(self._folder)}

    def check(self, path: bytes, photo: int | None) -> None:
        """Refuse a file that is not of the project.

        Raises
        ------
        MetadataError
            If it is none.
        """
        problem = self.problem(path, photo)
        if problem is not None:
            raise MetadataError(problem)

    def problem(self, path: bytes, photo: int | None) -> str | None:
        """Return why a file must not be written, None if it may be.

        Parameters
        ----------
        path : bytes
            Absolute.
        photo : int or None
            The photo that it is, or is the sidecar of.
        """
        shown = repr(name_to_text(path))
        real = path
        try:
            real = os.path.realpath(path)
            mode = os.stat(real).st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        except (OSError, ValueError) as error:
            return f"{shown} cannot be reached: {getattr(error, 'strerror', None) or error}"
        if not stat.S_ISREG(mode):
            return f"{shown} is no file; it is left alone"
        # Also where all is trusted: a friend who was lent a project may hand it back with anything in it.
        if os.path.splitext(real)[1].lower() not in _WRITABLE:
            return f"{shown} is neither a photo of the project nor its sidecar; it is left alone"
        if any(_is_below(real, root) for root in self._real_roots) and not _is_below(real, self._folder):
            if self._is_trusted or self._is_own(real, photo):
                return None
            return f"{shown} is neither a photo of the project nor its sidecar; it is left alone"
        if self._is_trusted and self._is_own(real, photo):
            return None
        remedy = "" if self._is_trusted else " If you trust the project, run: tagloom trust"
        return f"{shown} is outside of the project's folder of photos; it is left alone.{remedy}"

    def _is_own(self, real: bytes, photo: int | None) -> bool:
        """Tell whether a file is a photo, wherever links lead, or its sidecar."""
        table = None if photo is None else self._store.photos.table([photo])
        if table is None or not len(table) or int(table.roots[0]) not in self._roots:
            return False
        own = os.path.join(self._roots[int(table.roots[0])], table.paths[0])
        if self._is_trusted and is_sidecar(real) and os.path.dirname(real) == os.path.realpath(os.path.dirname(own)):
            return True  # that of another name it had
        return real in map(os.path.realpath, (own, *sidecar_places(own)))


def _is_below(path: bytes, folder: bytes) -> bool:
    return path.startswith(os.path.join(folder, b""))


def is_sidecar(path: bytes) -> bool:
    """Tell whether a file that keywords are written to is a sidecar, and no photo."""
    return path.lower().endswith(b".xmp")


def as_entry(item: Write) -> JournalEntry:
    """Return an entry of the store as `tagloom.metadata` knows it."""
    kind = "sidecar" if is_sidecar(item.path) else PHOTO
    return JournalEntry(
        str(item.id), item.path, kind, str(item.batch), item.at, item.before, item.after, _STATES[item.state], item.note
    )


def place_now(store: ProjectStore, item: Write) -> bytes:
    """Return where a written file is now: it may have moved along with its photo, and another one be in its place.

    Parameters
    ----------
    store : ProjectStore
        The project.
    item : Write
        An entry of the journal.
    """
    if item.photo is None or item.after == REMOVED:
        return item.path
    table = store.photos.table([item.photo])
    if not len(table) or table.states[0] != "present":
        return item.path
    roots = {root.id: root.path for root in store.roots.all()}
    now = os.path.join(roots[int(table.roots[0])], table.paths[0])
    if os.path.lexists(item.path) and item.path in map(os.path.realpath, (now, *sidecar_places(now))):
        return item.path
    moved = find_sidecar(now) if is_sidecar(item.path) else now
    if moved is not None and not os.path.isfile(moved):
        return item.path
    # What it held before is right, too: an undo that was cut off had come as far as this file.
    return moved if moved is not None and fingerprint_at(moved) in (item.before, item.after) else item.path


def recover(store: ProjectStore) -> list[Recovered]:
    """Bring writes to an end that a crash interrupted; files are left as the crash left them, whole.

    Of an undo that was interrupted, what was put back is noted, and what lies about is removed: to undo once more takes
    back the rest. While the folder of photos cannot be reached, everything stays open: a file that is out of reach is
    not a file that was never written.

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
        undoing = undoing if type(undoing) is int and 0 < undoing < 1 << 63 else None
        pending = store.writes.pending()
        unsettled = pending if undoing is None else [*pending, *store.writes.entries(batch=undoing)]
        if (undoing is None and not pending) or _is_out_of_reach(store, unsettled):
            return []
        journal = ProjectJournal(store)
        try:
            found = ProjectChanges(journal).recover()
            if undoing is not None:
                _settle_undo(store, journal, undoing)
        finally:
            journal.flush()
        if undoing is not None:
            store.settings.set(UNDOING, None)
        return found


def _is_out_of_reach(store: ProjectStore, items: Iterable[Write]) -> bool:
    """Tell whether one of these files lies in a folder of photos that is offline."""
    online = store.roots.refresh()
    offline = [os.path.realpath(root.path) for root in store.roots.all() if not online.get(root.id, False)]
    folders = tuple(os.path.join(folder, b"") for folder in offline)
    return any(item.path.startswith(folders) for item in items)


def _settle_undo(store: ProjectStore, journal: ProjectJournal, batch: int) -> None:
    by_place: dict[bytes, list[Write]] = {}
    reach = Reach(store)
    for item in store.writes.entries(batch=batch):
        place = place_now(store, item)
        if reach.problem(place, item.photo) is None:
            by_place.setdefault(place, []).append(item)
    for place, items in by_place.items():
        if os.path.isdir(os.path.dirname(place)):
            sweep(place, {content for item in items for content in (item.before, item.after)})
            now = fingerprint_at(place)
            # What was written several times has been put back as far as its content says.
            first = next((number for number, item in enumerate(items) if item.before == now), len(items))
            for item in reversed(items[first:]):
                if item.state == "done":
                    journal.mark(as_entry(item), "undone")
