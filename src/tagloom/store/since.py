"""What has changed since a moment: states of photos and tags, and actions that files with keywords do not show yet."""

from tagloom.store.session import Database

__all__ = ["actions_since", "changed_since", "photos_since", "write_undone_since"]

# The last record of a pair tells the state after it, also if an undo added it.
_CHANGED = """
    SELECT count(*) FROM (SELECT DISTINCT photo, tag FROM decisions WHERE id > ?1) t
    LEFT JOIN standing s USING (photo, tag)
    WHERE ifnull(s.state, -1) <> ifnull((
        SELECT d.state FROM decisions d WHERE d.photo = t.photo AND d.tag = t.tag AND d.id <= ?1
        ORDER BY d.id DESC LIMIT 1
    ), -1)
"""

# Actions in force now that were not at a moment, and those undone since whose undo brings something back. An undo that
# leaves nothing said changes no file.
_ACTIONS = """
    SELECT count(*) FROM batches b
    LEFT JOIN batches now ON now.id = (SELECT max(id) FROM batches WHERE refers = b.id)
    LEFT JOIN batches then_ ON then_.id = (SELECT max(id) FROM batches WHERE refers = b.id AND id <= ?1)
    WHERE b.kind IN ('decide', 'tags')
    AND (b.id > ?1 OR b.id IN (SELECT refers FROM batches WHERE id > ?1 AND refers IS NOT NULL))
    AND iif(b.id > ?1, now.kind IS NOT 'undo', now.kind IS NOT ifnull(then_.kind, 'redo') AND (
        now.kind = 'redo' OR b.kind = 'tags' OR EXISTS (
            SELECT 1 FROM decisions WHERE id BETWEEN now.first AND now.first + now.n - 1 AND state >= 0
        )
    ))
"""


def changed_since(database: Database, number: int) -> int:
    """Return how many pairs of photo and tag have another state than after the first ``number`` decisions."""
    return int(database.value(_CHANGED, (number,)))


def actions_since(database: Database, batch: int) -> int:
    """Return how many actions (decisions, changes of tags) changed since a batch what keywords photos have."""
    return int(database.value(_ACTIONS, (batch,)))


def photos_since(database: Database, batch: int) -> set[int] | None:
    """Return the photos of which something was decided after a batch; None if tags changed, which concerns any."""
    if database.value(
        "SELECT 1 FROM batches WHERE id > ?1 AND (kind = 'tags' OR refers IN (SELECT id FROM batches "
        "WHERE kind = 'tags')) LIMIT 1",
        (batch,),
    ):
        return None
    first = database.value("SELECT min(first) FROM batches WHERE id > ?", (batch,))
    rows = database.read("SELECT DISTINCT photo FROM decisions WHERE id >= ?", (first,)) if first is not None else []
    return {photo for (photo,) in rows}


def write_undone_since(database: Database, batch: int) -> bool:
    """Tell whether files that were written up to a batch have been put back after it."""
    sql = (
        "SELECT 1 FROM batches u JOIN batches w ON w.id = u.refers "
        "WHERE u.id > ?1 AND u.kind = 'undo' AND w.kind = 'write' AND w.id <= ?1 LIMIT 1"
    )
    return database.value(sql, (batch,)) is not None
