"""Undo and redo as records that are added.

The state of a pair of photo and tag is that of the last decision about it whose batch is not undone.
"""

from typing import Literal

import apsw

from tagloom.exceptions import InvalidInputError
from tagloom.store.database import fetch
from tagloom.store.log import UNDONE, Records, append
from tagloom.store.tags import apply_change, changes_of

__all__ = ["find_redoable", "find_undoable", "take_back"]

_ACTIONS = "('decide', 'tags', 'write')"
_DECIDING = "('decide', 'tags')"

# For each pair that the batch touched: the last decision of a batch in force (`off` lists those that are not), where
# that differs from what stands. Records added by undo and redo are no decisions: they do not stand for themselves.
_CHANGED = f"""
    WITH off(batch) AS (SELECT refers FROM ({UNDONE}) WHERE refers <> :batch UNION ALL SELECT :off),
    pairs AS (SELECT DISTINCT photo, tag FROM decisions WHERE id BETWEEN :first AND :last),
    forces AS MATERIALIZED (
        SELECT photo, tag, (
            SELECT max(d.id) FROM decisions d WHERE d.photo = pairs.photo AND d.tag = pairs.tag AND d.stands = d.id
            AND d.batch NOT IN (SELECT batch FROM off)
        ) AS decision FROM pairs
    )
    SELECT f.photo, f.tag, ifnull(d.state, -1), ifnull(d.origin, 0), ifnull(f.decision, 0)
    FROM forces f LEFT JOIN decisions d ON d.id = f.decision
    LEFT JOIN standing s ON s.photo = f.photo AND s.tag = f.tag
    WHERE s.decision IS NOT iif(ifnull(d.state, -1) = -1, NULL, f.decision)
"""  # noqa: S608


def find_undoable(connection: apsw.Connection, *, who: str | None = None) -> int | None:
    """Return the latest action that is not undone; of one person: the latest decision of theirs."""
    actions = _ACTIONS if who is None else _DECIDING
    sql = (
        f"SELECT max(id) FROM batches WHERE kind IN {actions} AND id NOT IN ({UNDONE}) "  # noqa: S608
        f"AND (?1 IS NULL OR who = ?1)"
    )
    ((found,),) = fetch(connection, sql, (who,))
    return None if found is None else int(found)


def find_redoable(connection: apsw.Connection, *, writes: bool = True, who: str | None = None) -> int | None:
    """Return what was undone last and is undone still, unless there was another action since.

    Without ``writes`` those of files do not count as undone: they decide nothing, and what was written is not kept. One
    that was made since is another action all the same. Of one person: what they did and undid themselves, and only
    their own actions come in between.
    """
    actions = _ACTIONS if writes else _DECIDING
    rows = fetch(
        connection,
        f"SELECT u.id, u.refers FROM batches u JOIN batches b ON b.id = u.refers WHERE u.kind = 'undo' "  # noqa: S608
        f"AND b.kind IN {actions} AND u.refers IN ({UNDONE}) AND (?1 IS NULL OR (u.who = ?1 AND b.who = ?1 "
        f"AND u.id = (SELECT max(id) FROM batches WHERE refers = b.id))) ORDER BY u.id DESC LIMIT 1",
        (who,),
    )
    if not rows or fetch(
        connection,
        f"SELECT 1 FROM batches WHERE kind IN {_ACTIONS} AND id > ?1 AND (?2 IS NULL OR who = ?2) LIMIT 1",  # noqa: S608
        (rows[0][0], who),
    ):
        return None
    return int(rows[0][1])


def take_back(connection: apsw.Connection, batch: int, kind: Literal["undo", "redo"], who: str) -> None:
    """Undo a batch, or redo it, inside a transaction."""
    ((what, label, first, n),) = fetch(connection, "SELECT kind, label, first, n FROM batches WHERE id = ?", (batch,))
    is_undone = bool(fetch(connection, f"SELECT 1 FROM ({UNDONE}) WHERE refers = ?", (batch,)))  # noqa: S608
    if what in ("undo", "redo"):
        raise InvalidInputError(f"action {batch} is of kind {what!r}; name the action that it is about")
    if is_undone != (kind == "redo"):
        what = "undone already" if is_undone else "in force; you can redo only undone actions"
        raise InvalidInputError(f"action {batch} ({label}) is {what}")
    _check_files(connection, batch, kind)
    changes = changes_of(connection, batch)
    for change in changes if kind == "redo" else reversed(changes):
        apply_change(connection, change, forward=kind == "redo")
    off = batch if kind == "undo" else -1  # no batch has the number -1
    values = {"batch": batch, "off": off, "first": first, "last": first + n - 1}
    rows = fetch(connection, _CHANGED, values)
    append(connection, kind, Records(*zip(*rows, strict=True)), label=label, who=who, refers=batch)
    _check_merged(connection, first, n, kind)


def _check_files(connection: apsw.Connection, batch: int, kind: str) -> None:
    state = "done" if kind == "undo" else "undone"
    ((n,),) = fetch(
        connection, "SELECT count(*) FROM written WHERE batch = ? AND state IN ('intended', ?)", (batch, state)
    )
    if n:
        raise InvalidInputError(
            f"{n} files of action {batch} are not {'put back' if kind == 'undo' else 'written again'} yet; do so first"
        )


def _check_merged(connection: apsw.Connection, first: int, n: int, kind: str) -> None:
    """Refuse what would give states to a tag that has become another one."""
    touched = fetch(
        connection,
        "SELECT text FROM tags WHERE merged IS NOT NULL AND (EXISTS (SELECT 1 FROM standing WHERE tag = tags.id) OR "
        "(?1 AND id IN (SELECT tag FROM decisions WHERE id BETWEEN ?2 AND ?3))) LIMIT 1",
        (int(kind == "undo"), first, first + n - 1),
    )
    if touched:
        raise InvalidInputError(
            f"the tag {touched[0][0]!r} has been merged into another one since; undo the merge first"
        )
