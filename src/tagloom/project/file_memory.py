"""What the files of photos said when tagloom last read or wrote them, and what of it came from tagloom.

The journal of written files notes both with every write. Runs note what was only read: an import of keywords from
photos of every file, a write of files that another program had changed and that it left as they were. The latest of
these counts. By comparison with it, a keyword that another program took out is told from one that another added.
"""

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from tagloom.core import PARTS, Keyword
from tagloom.metadata import NOTHING, FieldRecord, FileMemory, Stated, find_sidecar, find_sidecars, new_sidecar
from tagloom.project.unwritten import WRITE
from tagloom.store import ProjectStore, Run, Write, as_stored

__all__ = ["FIELDS_READ", "IMPORT_PHOTOS", "FileMemories", "RecordsRead"]

IMPORT_PHOTOS = "import-photos"
FIELDS_READ = "fields"  # the key in a run's result
_PHOTO, _LONG, _SHORT = "photo", "photo.jpg.xmp", "photo.xmp"
_ALL = 1_000_000
_FILES = "the files of photos"
_N_IMPORTS = 10  # each tells of all photos, but those that were away


@dataclass(slots=True)
class RecordsRead:
    """Records on their way into the result of a run; the same ones are kept once."""

    _by_photo: dict[str, dict[str, int]] = field(default_factory=dict)
    _records: list[dict[str, Any]] = field(default_factory=list)
    _rows: dict[str, int] = field(default_factory=dict)
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, photo: int, path: bytes, file: bytes, record: FieldRecord) -> None:
        """Note what a file of a photo says, and what counts of it.

        Parameters
        ----------
        photo : int
            Its id.
        path, file : bytes
            Where the photo is, and which file it is about.
        record : FieldRecord
            What the file says.
        """
        key = record.key()
        row = self._known.get(key)
        if row is None:
            said = record.as_dict()
            row = self._known[key] = self._rows.setdefault(json.dumps(said), len(self._records))
            if row == len(self._records):
                self._records.append(said)
        self._by_photo.setdefault(str(photo), {})[_kind(path, file)] = row

    def as_dict(self) -> dict[str, Any]:
        """Return it as a run keeps it."""
        return {"by_photo": self._by_photo, "records": self._records}


@dataclass(frozen=True, slots=True)
class _Read:
    """What a run read of one file: when, after which action, and what."""

    at: float
    action: int
    record: dict[str, Any]


class FileMemories:
    """What is remembered of the files of a project's photos.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """

    @as_stored(_FILES)
    def __init__(self, store: ProjectStore) -> None:
        self._store = store
        self._seen: dict[str, str] = {}
        self._since = 0.0
        self._read: dict[int, dict[str, _Read]] = {}
        for run in _runs(store):
            self._take(run)
        self._by_path: dict[bytes, list[Write]] = {}
        self._by_photo: dict[int, list[Write]] = {}
        for item in store.writes.entries():
            self._by_path.setdefault(item.path, []).append(item)
        for entries in self._by_path.values():
            done = next((item for item in reversed(entries) if item.state == "done"), None)
            if done is not None and done.photo is not None:
                self._by_photo.setdefault(done.photo, []).append(done)
        self._sharing = _sharing(store) if self._by_photo else set()
        self._decided: dict[tuple[int, int], int] | None = None

    def of(self, photo: int, path: bytes) -> dict[str | bytes, FileMemory]:
        """Return what is remembered of the files of a photo, by fingerprint and by path.

        Parameters
        ----------
        photo : int
            Its id.
        path : bytes
            Where it is now.
        """
        return self._of(photo, path) if photo in self._by_photo or photo in self._read else {}

    @as_stored(_FILES)
    def _of(self, photo: int, path: bytes) -> dict[str | bytes, FileMemory]:
        found: dict[str | bytes, FileMemory | None] = {}
        for file in (path, *find_sidecars(path)):
            kind, real = _kind(path, file), os.path.realpath(file)
            entries = self._by_path.get(real, [])
            n_kept = next((n for n in range(len(entries), 0, -1) if entries[n - 1].state == "done"), 0)
            last = entries[n_kept - 1] if n_kept else None
            if n_kept < len(entries):
                # After an undo it depends on the content: the file is as it was, or another program's by now.
                found[entries[n_kept].before or ""] = self._of_file(photo, kind, last)
                last = None
            found[real] = self._of_file(photo, kind, last)
        written = self._by_photo.get(photo, ())
        found |= {item.after: self._of_file(photo, _kind(path, item.path), item) for item in written}
        return {key: memory for key, memory in found.items() if memory is not None}

    def was_written(self, photo: int) -> bool:
        """Tell whether a file of a photo was written, and not put back."""
        return photo in self._by_photo

    def was_decided_since(self, photo: int, tag: int) -> bool:
        """Tell whether anything was decided of a photo and a tag after what is remembered of the photo."""
        if self._decided is None:
            self._decided = self._store.decisions.latest_of_pairs()
        known = [each.action for each in self._read.get(photo, {}).values()]
        known += [item.batch for item in self._by_photo.get(photo, ())]
        return self._decided.get((photo, tag), 0) > max(known, default=0)

    def seen(self, photo: int, path: bytes) -> str | None:
        """Return the fingerprint of a photo's sidecar when it was last read or written, None where it never was."""
        seen = self._seen.get(str(photo))
        if not self._by_path:
            return seen
        entries = self._by_path.get(os.path.realpath(find_sidecar(path) or new_sidecar(path)), [])
        if entries and entries[-1].at >= self._since:
            seen = entries[-1].after
        # What was put back since it was read or written is as it was before; writes are taken back from the last one.
        for item in reversed(entries):
            if item.after == seen:
                if item.state == "done":
                    break
                seen = item.before or ""
        return seen

    def _take(self, run: Run) -> None:
        result = run.result or {}
        if run.kind == IMPORT_PHOTOS:
            self._seen, self._since = dict(result.get("seen", {})), run.started
        read = result.get(FIELDS_READ, {"by_photo": {}})
        for photo, files in read["by_photo"].items():
            for kind, row in files.items():
                what = _Read(run.started, int(result.get("action", 0)), read["records"][row])
                self._read.setdefault(int(photo), {})[kind] = what

    def _of_file(self, photo: int, kind: str, last: Write | None) -> FileMemory | None:
        """Return what a file said when it was last read or written, whichever came later."""
        written = None if last is None else self._written(last)
        read = self._read.get(photo, {}).get(kind)
        record = None if read is None else FieldRecord.from_dict(read.record)
        if record is None or read is None or (last is not None and last.at >= read.at):
            return written
        return FileMemory(NOTHING if written is None else _still(written.own, record.keywords), record)

    def _written(self, item: Write) -> FileMemory:
        own = NOTHING if item.photo in self._sharing else Stated.from_text(item.note)
        return FileMemory(own, FieldRecord.from_dict(json.loads(item.note or "{}")))


def _still(own: Stated, counted: Collection[Keyword]) -> Stated:
    """Return what is left of what tagloom brought to a file, given what counted of it later."""
    paths = own.paths.intersection(counted)
    levels = {level for keyword in paths for level in keyword.path}
    return Stated(own.flat & levels, paths)


def _kind(path: bytes, file: bytes) -> str:
    """Return in which way a file belongs to a photo, wherever the two were then."""
    if file == path:
        return _PHOTO
    base, extension = os.path.splitext(file)
    if extension.lower() != b".xmp":
        return _PHOTO
    return _LONG if base.lower().endswith(os.path.splitext(path)[1].lower()) else _SHORT


def _runs(store: ProjectStore) -> Iterator[Run]:
    """Yield the runs that tell what files said, oldest first: imports that were not undone, and writes."""
    runs = [*store.runs.all(IMPORT_PHOTOS, limit=_N_IMPORTS), *store.runs.all(WRITE, limit=_ALL)]
    for run in sorted(runs, key=lambda each: each.id):
        batch = (run.result or {}).get("batch")
        if run.result is not None and (run.kind == WRITE or batch is None or not store.decisions.batch(batch).undone):
            yield run


def _sharing(store: ProjectStore) -> set[int]:
    """Return the photos whose name but for its ending another one in the folder has, parts of photos aside."""
    table = store.photos.table()
    by_stem: dict[bytes, list[int]] = {}
    for number, name, verdict in zip(table.ids.tolist(), table.paths, table.verdicts, strict=True):
        if verdict not in PARTS:
            by_stem.setdefault(os.path.splitext(name)[0].lower(), []).append(number)
    return {number for several in by_stem.values() if len(several) > 1 for number in several}
