"""The journal of files that keywords are written to: what was there before, so that it can be put back byte for byte.

The order of a write: `Writes.intend` brings the old bytes to stable storage, the caller writes the file, `Writes.done`
notes it. After a kill `Writes.pending` lists what was intended and not noted: the caller looks whether the file has the
new digest (note it as done), or the old one (nothing happened: note it as undone).
"""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.layout import WRITTEN
from tagloom.store.log import Records, append
from tagloom.store.session import Database, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Intent", "Write", "Writes", "content_digest"]

MAX_INLINE = 262_144


def content_digest(data: bytes) -> str:
    """Return the hexadecimal BLAKE2b-256 that the journal knows contents by (that of photos, too)."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


@dataclass(frozen=True, slots=True)
class Intent:
    """A file about to be written.

    Absolute path, bytes there now (None: no file), digest of the new ones, the photo, and a note of the caller's.
    """

    path: bytes
    before: bytes | None
    after: str
    photo: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    """An entry of the journal; ``before`` is the digest of the old content, None where there was no file."""

    id: int
    batch: int
    photo: int | None
    path: bytes
    before: str | None
    after: str
    state: str
    at: float
    note: str = ""


class Writes:
    """The journal of written files.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, label: str = "", *, who: str = "") -> int:
        """Begin a batch of writes that can be undone together, and return its number."""
        with self._database.write() as connection:
            return append(connection, "write", Records(), label=label, who=who)

    def intend(self, batch: int, intents: Sequence[Intent]) -> list[int]:
        """Store what is there now and note what will be written, durably; then the files may be touched."""
        kept = {content_digest(item.before): item.before for item in intents if item.before is not None}
        for digest, data in kept.items():
            if len(data) > MAX_INLINE:
                self._keep_file(digest, data)
        with self._database.write() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO contents(digest, data) VALUES (?, ?)",
                [(digest, data if len(data) <= MAX_INLINE else None) for digest, data in kept.items()],
            )
            return [_note(connection, batch, item) for item in intents]

    def done(self, ids: "ArrayLike") -> None:
        """Note that files have their new content."""
        self._mark(ids, "done")

    def forget_notes(self, ids: "ArrayLike") -> None:
        """Note that files are not as they were to become: another program has changed them, and notes do not hold."""
        with self._database.write() as connection:
            numbers = [(number,) for number in whole_numbers(ids, "ids")]
            connection.executemany("UPDATE written SET note = '' WHERE id = ?", numbers)

    def undone(self, ids: "ArrayLike") -> None:
        """Note that files have their old content (again)."""
        self._mark(ids, "undone")

    def pending(self) -> list[Write]:
        """Return what was intended and never noted as done or undone: a process died there, or is at work."""
        return self.entries(state="intended")

    def entries(self, *, batch: int | None = None, path: bytes | None = None, state: str | None = None) -> list[Write]:
        """Return entries of the journal, oldest first."""
        where, values = ["1"], []
        for column, value in (("batch", batch), ("path", path), ("state", state)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        columns = "id, batch, photo, path, before, after, state, at, note"
        sql = f"SELECT {columns} FROM written WHERE {' AND '.join(where)} ORDER BY id"  # noqa: S608
        return [Write(*row) for row in self._database.read(sql, values)]

    def before(self, number: int) -> bytes | None:
        """Return the bytes that were in the file of an entry before it was written; None if there was no file."""
        rows = self._database.read(
            "SELECT w.before, c.data FROM written w LEFT JOIN contents c ON c.digest = w.before WHERE w.id = ?",
            (number,),
        )
        if not rows:
            raise InvalidInputError(f"no write has the number {number}")
        digest, data = rows[0]
        if digest is None:
            return None
        if data is None:
            try:
                data = self._database.files.read(WRITTEN, digest)
            except OSError as error:
                reason = error.strerror or error
                raise DamagedStoreError(f"the kept content {digest} cannot be read ({reason})") from error
        if content_digest(data) != digest:
            raise DamagedStoreError(f"the kept content {digest} is not what was stored; it is not put back")
        return bytes(data)

    def _keep_file(self, digest: str, data: bytes) -> None:
        folder = self._database.files
        folder.make(WRITTEN)
        if not folder.has(WRITTEN, digest) or content_digest(folder.read(WRITTEN, digest)) != digest:
            folder.write(data, WRITTEN, digest)

    def _mark(self, ids: "ArrayLike", state: str) -> None:
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE written SET state = ? WHERE id = ?", [(state, number) for number in whole_numbers(ids, "ids")]
            )


def _note(connection: apsw.Connection, batch: int, item: Intent) -> int:
    before = None if item.before is None else content_digest(item.before)
    connection.execute(
        "INSERT INTO written(batch, photo, path, before, after, state, at, note) "
        "VALUES (?, ?, ?, ?, ?, 'intended', ?, ?)",
        (batch, item.photo, item.path, before, item.after, time.time(), item.note),
    )
    return connection.last_insert_rowid()
