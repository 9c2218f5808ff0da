"""Changes of tags that can be undone: a new name, a merge, an alias, an implication."""

from collections.abc import Iterable
from dataclasses import dataclass

import apsw

from tagloom.exceptions import InvalidInputError
from tagloom.store.database import fetch

__all__ = ["TagChange", "apply_change", "changes_of", "reaches", "record_changes"]


@dataclass(frozen=True, slots=True)
class TagChange:
    """One change; ``before`` is None where something is added, ``after`` is None where something is removed."""

    kind: str
    tag: int
    other: int | None = None
    before: str | None = None
    after: str | None = None


def record_changes(connection: apsw.Connection, batch: int, changes: Iterable[TagChange]) -> None:
    """Make changes inside a transaction and note them under a batch."""
    for change in changes:
        apply_change(connection, change, forward=True)
        connection.execute(
            "INSERT INTO tag_changes(batch, kind, tag, other, before, after) VALUES (?, ?, ?, ?, ?, ?)",
            (batch, change.kind, change.tag, change.other, change.before, change.after),
        )


def changes_of(connection: apsw.Connection, batch: int) -> list[TagChange]:
    """Return the changes of a batch in the order in which they were made."""
    sql = "SELECT kind, tag, other, before, after FROM tag_changes WHERE batch = ? ORDER BY id"
    return [TagChange(*row) for row in fetch(connection, sql, (batch,))]


def apply_change(connection: apsw.Connection, change: TagChange, *, forward: bool) -> None:
    """Make a change, or its opposite, if the tags are still as it expects.

    Raises
    ------
    InvalidInputError
        If another change came in between.
    """
    before, after = (change.before, change.after) if forward else (change.after, change.before)
    try:
        if change.kind == "text":
            is_done = _apply_text(connection, change.tag, before, after)
        elif change.kind == "merged":
            is_done = _apply_merged(connection, change.tag, change.other, adds=before is None)
        elif change.kind == "alias":
            is_done = _apply_alias(connection, change.tag, before, after)
        else:
            is_done = _apply_implies(connection, change.tag, change.other, adds=before is None)
    except apsw.ConstraintError:
        is_done = False
    if not is_done:
        name = fetch(connection, "SELECT text FROM tags WHERE id = ?", (change.tag,))[0][0]
        raise InvalidInputError(
            f"the tag {name!r} has been changed since ({change.kind}: expected {before!r}); undo the later changes of "
            f"tags first"
        )


def _apply_text(connection: apsw.Connection, tag: int, before: str | None, after: str | None) -> bool:
    if fetch(connection, "SELECT 1 FROM aliases WHERE text = ?", (after,)):
        return False
    connection.execute("UPDATE tags SET text = ? WHERE id = ? AND text = ?", (after, tag, before))
    return connection.changes() == 1


def _apply_merged(connection: apsw.Connection, tag: int, other: int | None, *, adds: bool) -> bool:
    new, old = (other, None) if adds else (None, other)
    into_merged = fetch(connection, "SELECT 1 FROM tags WHERE id = ? AND merged IS NOT NULL", (new,))
    connection.execute("UPDATE tags SET merged = ? WHERE id = ? AND merged IS ?", (new, tag, old))
    return connection.changes() == 1 and not into_merged


def _apply_alias(connection: apsw.Connection, tag: int, before: str | None, after: str | None) -> bool:
    if after is None:
        connection.execute("DELETE FROM aliases WHERE text = ? AND tag = ?", (before, tag))
        return connection.changes() == 1
    if fetch(connection, "SELECT 1 FROM tags WHERE text = ?", (after,)):
        return False
    connection.execute("INSERT INTO aliases(text, tag) VALUES (?, ?)", (after, tag))
    return True


def _apply_implies(connection: apsw.Connection, tag: int, other: int | None, *, adds: bool) -> bool:
    pair = (tag, other)
    if not adds:
        connection.execute("DELETE FROM implications WHERE child = ? AND parent = ?", pair)
        return connection.changes() == 1
    is_merged = fetch(connection, "SELECT 1 FROM tags WHERE id IN (?, ?) AND merged IS NOT NULL", pair)
    if is_merged or other is None or reaches(connection, other, tag):
        return False
    connection.execute("INSERT INTO implications(child, parent) VALUES (?, ?)", pair)
    return True


def reaches(connection: apsw.Connection, child: int, ancestor: int) -> bool:
    """Tell whether one tag is, or implies, another, also over several steps."""
    sql = (
        "WITH RECURSIVE above(tag) AS (SELECT ?1 UNION SELECT parent FROM implications JOIN above ON child = tag) "
        "SELECT 1 FROM above WHERE tag = ?2"
    )
    return bool(fetch(connection, sql, (child, ancestor)))
