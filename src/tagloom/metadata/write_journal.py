"""The journal of files that were changed: what each held before, durably, until nobody needs it any more.

A change is one file in the journal's folder: a line of JSON, then the bytes that were there before. Its name ends in
the state of the change, so that one state follows another by a rename, which is all or nothing:

``pending``
    About to be made; written before the file is touched.
``done``
    Made.
``undoing``, ``undone``
    About to be taken back, and taken back.
``unclear``
    A crash came between, and the file is now neither what it was nor what it should become: another program has
    changed it since. It is left alone.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tagloom.core import atomic_write, sweep_temporary_files, system
from tagloom.exceptions import DamagedStoreError, NewerFormatError, WriteError
from tagloom.metadata.names import name_from_text, name_to_text

__all__ = ["JournalEntry", "State", "WriteJournal", "fingerprint"]

FORMAT = 1
State = Literal["pending", "done", "undoing", "undone", "unclear"]
_NAME = re.compile(r"([0-9]{20}-[0-9a-f]{8})\.(pending|done|undoing|undone|unclear)")
_LONGEST_LINE = 1 << 22
_SCRATCH = "scratch-"


def fingerprint(data: bytes) -> str:
    """Return the hexadecimal BLAKE2b-256 of some bytes, as in ``PhotoRecord.content_hash``."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One change of one file.

    Parameters
    ----------
    id : str
        Its name in the journal; later entries have larger ones.
    path : bytes
        The file's absolute path, links resolved.
    kind : str
        ``"sidecar"`` or ``"photo"``.
    run : str
        The caller's name for changes that belong together.
    time : float
        Seconds since 1970 began.
    before : str or None
        Fingerprint of what was there; None where there was no file.
    after : str
        Fingerprint of what was written; of a file that was removed `tagloom.metadata.file_changes.REMOVED`.
    state : State
        How far the change is.
    note : str
        What else the caller has to remember of it.
    """

    id: str
    path: bytes
    kind: str
    run: str
    time: float
    before: str | None
    after: str
    state: State
    note: str = ""


class WriteJournal:
    """Entries in a folder. Every method that changes anything returns when the change is on stable storage.

    Parameters
    ----------
    folder : path
        Made if it is missing. One process writes to it at a time: the caller holds the project's lock.
    make : bool, default=True
        Whether to make it: a journal that is only looked at may do without.
    """

    def __init__(self, folder: str | os.PathLike[str], *, make: bool = True) -> None:
        self.folder = Path(folder)
        try:
            if make and not self.folder.is_dir():
                self.folder.mkdir(parents=True, exist_ok=True)
                system.sync_folder(self.folder.parent)
        except OSError as error:
            raise WriteError(
                error.errno or 0, f"could not make the journal's folder ({error.strerror or error})", str(folder)
            ) from error

    def begin(
        self, path: bytes, before: bytes | None, after: str, *, kind: str, run: str, note: str = ""
    ) -> JournalEntry:
        """Save what a file holds before it is changed.

        Parameters
        ----------
        path : bytes
            The file.
        before : bytes or None
            Its content; None if there is no file.
        after : str
            Fingerprint of what will be written.
        kind, run, note : str
            See `JournalEntry`.
        """
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        known = None if before is None else fingerprint(before)
        entry = JournalEntry(name, path, kind, run, time.time(), known, after, "pending", note)
        line = {
            "format": FORMAT,
            "path": name_to_text(path),
            "kind": kind,
            "run": run,
            "time": entry.time,
            "before": known,
            "after": after,
            "note": note,
        }
        with atomic_write(self._file(entry)) as handle:
            handle.write(json.dumps(line).encode() + b"\n")
            handle.write(before or b"")
        return entry

    def mark(self, entry: JournalEntry, state: State) -> JournalEntry:
        """Move an entry to another state."""
        moved = replace(entry, state=state)
        try:
            os.replace(self._file(entry), self._file(moved))
            system.sync_folder(self.folder)
        except OSError as error:
            raise WriteError(
                error.errno or 0, f"could not write to the journal ({error.strerror or error})", str(self.folder)
            ) from error
        return moved

    def forget(self, entry: JournalEntry) -> None:
        """Remove an entry and what it saved: the change can no longer be undone."""
        with contextlib.suppress(FileNotFoundError):
            self._file(entry).unlink()
        system.sync_folder(self.folder)

    def entries(self, *, run: str | None = None, states: Collection[State] | None = None) -> list[JournalEntry]:
        """Return the entries, oldest first.

        Parameters
        ----------
        run : str, optional
            Only those of this run.
        states : collection of State, optional
            Only those in one of these states; others are not even read.

        Raises
        ------
        DamagedStoreError
            If an entry cannot be read.
        """
        found = [match for match in map(_NAME.fullmatch, os.listdir(self.folder)) if match]
        names = sorted(match[0] for match in found if states is None or match[2] in states)
        entries = [self._read(self.folder / name) for name in names]
        return [entry for entry in entries if run is None or entry.run == run]

    def saved(self, entry: JournalEntry) -> bytes | None:
        """Return what the file held before the change; None if there was no file.

        Raises
        ------
        DamagedStoreError
            If the journal has been changed.
        """
        if entry.before is None:
            return None
        data = self._file(entry).read_bytes().partition(b"\n")[2]
        if fingerprint(data) != entry.before:
            raise DamagedStoreError(
                f"expected the saved bytes of {name_to_text(entry.path)!r} in the journal, got others: "
                f"{self._file(entry).name} was changed. The file is left as it is; restore it from a backup"
            )
        return data

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield an empty folder that is removed afterwards, after a crash by `sweep`."""
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=self.folder, ignore_cleanup_errors=True) as folder:
            yield Path(folder)

    def sweep(self) -> None:
        """Remove what a crash left half written in the journal's folder."""
        sweep_temporary_files(self.folder, older_than=0)
        for folder in self.folder.glob(f"{_SCRATCH}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _file(self, entry: JournalEntry) -> Path:
        return self.folder / f"{entry.id}.{entry.state}"

    def _read(self, path: Path) -> JournalEntry:
        found = _NAME.fullmatch(path.name)
        try:
            with open(path, "rb") as handle:
                line = json.loads(handle.readline(_LONGEST_LINE))
            if line["format"] > FORMAT:
                raise NewerFormatError(
                    f"{path.name} in the journal has format {line['format']}, and this tagloom knows {FORMAT}; install "
                    f"the newer one that wrote it"
                )
            return JournalEntry(
                found[1] if found else "",
                name_from_text(line["path"]),
                line["kind"],
                line["run"],
                line["time"],
                line["before"],
                line["after"],
                found[2] if found else "unclear",  # type: ignore[arg-type]  # the pattern allows no others
                line.get("note", ""),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedStoreError(
                f"expected an entry of the journal in {path.name}, got something else ({error}); move that file away "
                f"and run again"
            ) from error
