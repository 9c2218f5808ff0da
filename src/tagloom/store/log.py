"""The log of decisions: how records are added, and how the standing states follow from them.

Every record carries the decision that is in force after it (``stands``): a decision itself, or, in what an undo or redo
adds, the one that it brings back. The last record of a pair of photo and tag therefore always tells its state, and
``standing`` keeps just that, changed in the same transaction.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import apsw

from tagloom.store.database import fetch
from tagloom.store.session import clean_text

__all__ = ["HUMAN", "IMPORTED", "ORIGINS", "SUGGESTED", "UNDONE", "Records", "append"]

ORIGINS = ("human", "imported", "suggested")
HUMAN, IMPORTED, SUGGESTED = range(3)

# A batch is undone if the last batch that refers to it is an undo.
UNDONE = (
    "SELECT refers FROM batches WHERE kind = 'undo' AND id IN "
    "(SELECT max(id) FROM batches WHERE refers IS NOT NULL GROUP BY refers)"
)


@dataclass(frozen=True, slots=True)
class Records:
    """Rows for the log; ``stands`` is None for decisions, which stand for themselves, and 0 for "nothing stands"."""

    photos: Sequence[int] = ()
    tags: Sequence[int] = ()
    states: Sequence[int] = ()
    origins: Sequence[int] = ()
    stands: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.photos)


def append(
    connection: apsw.Connection,
    kind: str,
    records: Records,
    *,
    label: str = "",
    who: str = "",
    refers: int | None = None,
) -> int:
    """Add a batch with its records inside a transaction, bring ``standing`` up to it, and return the batch's id."""
    ((last,),) = fetch(connection, "SELECT ifnull(max(id), 0) FROM decisions")
    first, n = last + 1, len(records)
    connection.execute(
        "INSERT INTO batches(kind, label, who, at, refers, first, n) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (kind, clean_text(label), clean_text(who), time.time(), refers, first, n),
    )
    batch = connection.last_insert_rowid()
    if n:
        connection.executemany(
            "INSERT INTO decisions(id, batch, photo, tag, state, origin, stands) VALUES (?, ?, ?, ?, ?, ?, ?)",
            _rows(records, first, batch),
        )
        _bring_up(connection, first, first + n - 1)
    return batch


def _rows(records: Records, first: int, batch: int) -> Iterator[tuple[int, ...]]:
    ids = range(first, first + len(records))
    stands = ids if records.stands is None else [item or None for item in records.stands]
    columns = (records.photos, records.tags, records.states, records.origins)
    return zip(ids, (batch for _ in ids), *columns, stands, strict=True)


def _bring_up(connection: apsw.Connection, first: int, last: int) -> None:
    """Enter the records first … last into ``standing``; in the order of its keys, which is several times faster."""
    connection.execute(
        "INSERT INTO standing(photo, tag, state, origin, decision) "
        "SELECT photo, tag, state, origin, stands FROM decisions WHERE id BETWEEN ? AND ? ORDER BY photo, tag, id "
        "ON CONFLICT(photo, tag) DO UPDATE SET state = excluded.state, origin = excluded.origin, "
        "decision = excluded.decision",
        (first, last),
    )
    connection.execute(
        "DELETE FROM standing WHERE state = -1 AND (photo, tag) IN "
        "(SELECT photo, tag FROM decisions WHERE id BETWEEN ? AND ? AND state = -1)",
        (first, last),
    )
