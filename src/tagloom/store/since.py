"""What has changed since a moment: states of photos and tags, and actions that files with keywords do not show yet."""

from collections.abc import Iterable

from tagloom.store.session import Database, json_ids

__all__ = ["actions_since", "changed_since", "labeled_at", "photos_since", "write_undone_since"]

# The last record of a pair tells the state after it, also if an undo added it.
_CHANGED = """
    SELECT count(*) FROM (SELECT DISTINCT photo, tag FROM decisions WHERE id > ?1) t
    LEFT JOIN standing s USING (photo, tag)
    WHERE ifnull(s.state, -1) <> ifnull((
        SELECT d.state FROM decisions d WHERE d.photo = t.photo AND d.tag = t.tag AND d.id <= ?1
        ORDER BY d.id DESC LIMIT 1
    ), -1)
"""

# Actions that were not in force at a moment and are now, or the other way round, and show in keywords: a pair of theirs
# is a yes now and was none, or was one and is none; the tag of a photo has another name, or implies another one.
# That a photo has no tag, or another name leads to it, is in no file. Nor is a yes of which nothing is said any more,
# unless tagloom wrote to the photo, or the tag has become another one: what others wrote by the old name goes.
_ACTIONS = """
    WITH RECURSIVE had(tag) AS (
        SELECT DISTINCT tag FROM standing WHERE state = 1
        AND (?2 IS NULL OR photo IN (SELECT value FROM json_each(?2)))
        AND photo NOT IN (SELECT value FROM json_each(?3))
        UNION SELECT parent FROM implications JOIN had ON child = tag
    ),
    since AS MATERIALIZED (SELECT * FROM batches WHERE id > ?1),
    turned AS MATERIALIZED (  -- with the batch that holds what changed of it last
        SELECT b.id, iif(b.id > ?1, b.first, now.first) AS first, iif(b.id > ?1, b.n, now.n) AS n
        FROM batches b
        LEFT JOIN batches now ON now.id = (SELECT max(id) FROM batches WHERE refers = b.id)
        LEFT JOIN batches then_ ON then_.id = (SELECT max(id) FROM batches WHERE refers = b.id AND id <= ?1)
        WHERE b.kind IN ('decide', 'tags')
        AND b.id IN (SELECT id FROM since UNION SELECT refers FROM since WHERE refers IS NOT NULL)
        AND iif(b.id > ?1, now.kind IS NOT 'undo', now.kind IS NOT ifnull(then_.kind, 'redo'))
    ),
    changed AS MATERIALIZED (
        SELECT photo, tag FROM (
            SELECT DISTINCT photo, tag FROM decisions WHERE id >= (SELECT min(first) FROM since)
        ) t LEFT JOIN standing s USING (photo, tag)
        WHERE ifnull(s.state = 1, 0) <> ifnull((
            SELECT d.state = 1 FROM decisions d WHERE d.photo = t.photo AND d.tag = t.tag
            AND d.id < (SELECT min(first) FROM since) ORDER BY d.id DESC LIMIT 1
        ), 0) AND (
            s.state = 1 OR s.state = 0 AND s.origin <> 1
            OR photo IN (SELECT photo FROM written WHERE state = 'done' AND note <> '')
            OR tag IN (SELECT id FROM tags WHERE merged IS NOT NULL)
        ) AND (?2 IS NULL OR photo IN (SELECT value FROM json_each(?2)))
        AND photo NOT IN (SELECT value FROM json_each(?3))
    ),
    renamed AS MATERIALIZED (
        SELECT tag FROM (
            SELECT c.tag, iif(e.kind = 'undo', c.after, c.before) AS text, min(e.id)
            FROM since e JOIN tag_changes c ON c.batch = ifnull(e.refers, e.id) AND c.kind = 'text' GROUP BY c.tag
        ) old JOIN tags ON tags.id = old.tag
        WHERE tags.text <> old.text
    )
    SELECT id FROM turned WHERE EXISTS (
        SELECT 1 FROM decisions JOIN changed USING (photo, tag) WHERE decisions.id BETWEEN first AND first + n - 1
    ) OR EXISTS (
        SELECT 1 FROM tag_changes WHERE batch = turned.id AND tag IN (SELECT tag FROM had)
        AND (kind = 'implies' OR (kind = 'text' AND tag IN (SELECT tag FROM renamed)))
    )
"""


def changed_since(database: Database, number: int) -> int:
    """Return how many pairs of photo and tag have another state than after the first ``number`` decisions."""
    return int(database.value(_CHANGED, (number,)))


def labeled_at(database: Database, number: int) -> set[int]:
    """Return the photos of which something was said after the first ``number`` decisions."""
    # Of a group SQLite takes the other columns from the row with the largest id.
    sql = (
        "SELECT DISTINCT photo FROM (SELECT photo, state, max(id) FROM decisions WHERE id <= ? GROUP BY photo, tag) "
        "WHERE state <> -1"
    )
    return {photo for (photo,) in database.read(sql, (number,))}


def actions_since(
    database: Database, batch: int, photo_ids: Iterable[int] | None = None, without: Iterable[int] = ()
) -> set[int]:
    """Return which actions (decisions, changes of tags) changed since a batch what keywords photos have."""
    asked = None if photo_ids is None else json_ids(photo_ids)
    return {number for (number,) in database.read(_ACTIONS, (batch, asked, json_ids(without)))}


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
