"""What was decided about photos and tags: an append-only log with undo, and the state that follows from it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import apsw

from tagloom.exceptions import InvalidInputError
from tagloom.store.database import fetch
from tagloom.store.log import ORIGINS, UNDONE, Records, append
from tagloom.store.session import Database, json_ids, whole_numbers
from tagloom.store.tags import live_tags
from tagloom.store.undo import find_redoable, find_undoable, take_back

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from tagloom.core import Ids, LabelMatrix
    from tagloom.store.current_states import CurrentStates

__all__ = ["Batch", "Decisions", "Origin"]


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


Origin = Literal["human", "imported", "suggested"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One command or one action on the page.

    Parameters
    ----------
    id : int
        Counts upwards.
    kind : {"decide", "tags", "write", "undo", "redo"}
        What it did.
    label, who : str
        For a person to read.
    at : float
        Seconds since 1970.
    refers : int or None
        The batch that an undo or redo is about.
    n : int
        How many decisions it holds.
    undone : bool
        Whether it is undone now.
    """

    id: int
    kind: str
    label: str
    who: str
    at: float
    refers: int | None
    n: int
    undone: bool


class Decisions:
    """The decisions of a project. Nothing is ever changed or deleted; undo and redo add records.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def decide(
        self,
        photo_ids: "ArrayLike",
        tag_ids: "ArrayLike",
        states: "ArrayLike",
        *,
        origin: Origin = "human",
        who: str = "",
        label: str = "",
        keep: Collection[Origin] = (),
        keep_not: Collection[tuple[int, int]] = (),
        skip_same: bool = False,
    ) -> int | None:
        """Record decisions as one batch. When this returns they are on stable storage.

        Parameters
        ----------
        photo_ids, tag_ids, states : array-like of int
            Broadcast against each other; states are 1 (has it), 0 (does not) and -1 (takes back what was said). Of
            several states for a pair the last stands. Tags merged into others count as those.
        origin : {"human", "imported", "suggested"}, default="human"
            Where the decisions come from; "suggested" is a suggestion that a person accepted.
        who, label : str
            Who did what, for a person to read.
        keep : collection of origins
            Leave pairs alone whose state in force comes from one of these: an import may keep ("human", "suggested").
        keep_not : collection of (int, int)
            Pairs of photo and tag that are not left alone for that, unless their state is the same.
        skip_same : bool, default=False
            Leave out what stands already with the same origin.

        Returns
        -------
        int or None
            The batch; None if nothing was left to record.
        """
        photos, tags, values = _columns(photo_ids, tag_ids, states)
        code = _origin(origin)
        kept = [_origin(item) for item in keep]
        with self._database.write() as connection:
            tags = _checked(connection, photos, tags)
            chosen: Sequence[int] = range(len(photos))
            if kept or skip_same:
                chosen = _wanted(connection, photos, tags, values, code, kept, keep_not, skip_same)
            if not chosen:
                return None
            # By photo, then tag: the order of the index, far faster for large batches. Both sorts are stable.
            order = sorted(sorted(chosen, key=tags.__getitem__), key=photos.__getitem__)
            photos, tags, values = ([column[row] for row in order] for column in (photos, tags, values))
            return append(
                connection, "decide", Records(photos, tags, values, [code] * len(order)), label=label, who=who
            )

    def current(self, tag_ids: "ArrayLike | None" = None, photo_ids: "ArrayLike | None" = None) -> "CurrentStates":
        """Return the states in force, of all pairs or of those of some tags and photos."""
        from tagloom.store.current_states import current_states

        return current_states(self._database, tag_ids, photo_ids)

    def labels(
        self, photo_ids: "ArrayLike | None" = None, tag_ids: "ArrayLike | None" = None, *, implied: bool = True
    ) -> "tuple[Ids, Ids, LabelMatrix]":
        """Return the label matrix: 1 has the tag, 0 does not, -1 unknown.

        Parameters
        ----------
        photo_ids, tag_ids : array-like of int, optional
            Rows and columns, in this order. Default: all of which something was said, and the tags implied by those.
        implied : bool, default=True
            Whether a yes to a tag is a yes to all that it implies, and a no to a tag a no to all that imply it, where
            nothing else was said. A yes that follows beats a no that follows.

        Returns
        -------
        photo_ids, tag_ids : ndarray of int64
            The rows and columns.
        Y : ndarray of int8, shape (n, c)
            The labels.
        """
        from tagloom.store.current_states import label_matrix

        return label_matrix(self._database, photo_ids, tag_ids, implied=implied)

    def labels_digest(self) -> str:
        """Return a checksum of all states in force, to tell whether a model was trained on these."""
        from tagloom.store.current_states import states_digest

        return states_digest(self._database)

    def made_since(self, number: int, *, most_in_batch: int) -> "NDArray[np.int64]":
        """Return what a person said in small steps after a moment.

        Parameters
        ----------
        number : int
            `count` at that moment.
        most_in_batch : int
            Actions of more decisions are left out, and so are imports, undo and redo.

        Returns
        -------
        ndarray of int64, shape (k, 4)
            Photo, tag, state (1 or 0) and origin (its number in `ORIGINS`), in the order in which they were said.
        """
        return self._database.table(
            "SELECT d.photo, d.tag, d.state, d.origin FROM decisions AS d JOIN batches AS b ON b.id = d.batch "
            "WHERE d.id > ? AND d.state >= 0 AND d.origin <> 1 AND b.kind = 'decide' AND b.n <= ? ORDER BY d.id",
            (number, most_in_batch),
            n_columns=4,
        )

    def count(self) -> int:
        """Return how many decisions the log holds, those of undo and redo included."""
        return int(self._database.value("SELECT ifnull(max(id), 0) FROM decisions"))

    def n_decided(self, state: int) -> int:
        """Return how many pairs of photo and tag have a state that was said outright: 1 yes, 0 no."""
        return int(self._database.value("SELECT count(*) FROM standing WHERE state = ?", (state,)))

    def has_judged_suggestions(self) -> bool:
        """Tell whether a suggestion was accepted or rejected, and is so still."""
        sql = "SELECT EXISTS(SELECT 1 FROM standing WHERE origin = ?)"
        return bool(self._database.value(sql, (ORIGINS.index("suggested"),)))

    def latest(self) -> int:
        """Return the number of the latest batch; 0 where there is none."""
        return int(self._database.value("SELECT ifnull(max(id), 0) FROM batches"))

    def changed_since(self, number: int) -> int:
        """Return how many pairs of photo and tag have another state than they had when `count` was ``number``."""
        return int(self._database.value(_CHANGED, (number,)))

    def labeled_at(self, number: int) -> set[int]:
        """Return the photos of which something was said when `count` was ``number``."""
        # Of a group SQLite takes the other columns from the row with the largest id.
        sql = (
            "SELECT DISTINCT photo FROM "
            "(SELECT photo, state, max(id) FROM decisions WHERE id <= ? GROUP BY photo, tag) WHERE state <> -1"
        )
        return {photo for (photo,) in self._database.read(sql, (number,))}

    def latest_of_pairs(self) -> dict[tuple[int, int], int]:
        """Return for each photo and tag of which anything was decided the number of the latest batch that did."""
        rows = self._database.read("SELECT photo, tag, max(batch) FROM decisions GROUP BY photo, tag")
        return {(photo, tag): batch for photo, tag, batch in rows}

    def actions_since(
        self, batch: int, photo_ids: Iterable[int] | None = None, *, without: Iterable[int] = ()
    ) -> set[int]:
        """Return which actions since a batch changed what keywords photos have; one undone since is none.

        Parameters
        ----------
        batch : int
            The number of the latest batch at that moment.
        photo_ids : iterable of int, optional
            Only what concerns these photos; default: all.
        without : iterable of int
            Photos that do not count.
        """
        asked = None if photo_ids is None else json_ids(photo_ids)
        return {number for (number,) in self._database.read(_ACTIONS, (batch, asked, json_ids(without)))}

    def photos_since(self, batch: int) -> set[int] | None:
        """Return the photos of which something was decided after a batch; None if tags changed, too."""
        if self._database.value(
            "SELECT 1 FROM batches WHERE id > ?1 AND (kind = 'tags' OR refers IN (SELECT id FROM batches "
            "WHERE kind = 'tags')) LIMIT 1",
            (batch,),
        ):
            return None
        first = self._database.value("SELECT min(first) FROM batches WHERE id > ?", (batch,))
        rows = (
            self._database.read("SELECT DISTINCT photo FROM decisions WHERE id >= ?", (first,))
            if first is not None
            else []
        )
        return {photo for (photo,) in rows}

    def write_undone_since(self, batch: int) -> bool:
        """Tell whether files that were written up to a batch have been put back after it."""
        sql = (
            "SELECT 1 FROM batches u JOIN batches w ON w.id = u.refers "
            "WHERE u.id > ?1 AND u.kind = 'undo' AND w.kind = 'write' AND w.id <= ?1 LIMIT 1"
        )
        return self._database.value(sql, (batch,)) is not None

    def history(self, limit: int = 50, *, photo: int | None = None, who: str | None = None) -> list[Batch]:
        """Return the latest batches, newest first; those that decided something about a photo, those of one person."""
        sql = (
            f"SELECT id, kind, label, who, at, refers, n, id IN ({UNDONE}) FROM batches "  # noqa: S608
            f"WHERE (?1 IS NULL OR id IN (SELECT batch FROM decisions WHERE photo = ?1)) AND (?2 IS NULL OR who = ?2) "
            f"ORDER BY id DESC LIMIT ?3"
        )
        return [_batch(*row) for row in self._database.read(sql, (photo, who, limit))]

    def batch(self, number: int) -> Batch:
        """Return one batch."""
        sql = f"SELECT id, kind, label, who, at, refers, n, id IN ({UNDONE}) FROM batches WHERE id = ?"  # noqa: S608
        rows = self._database.read(sql, (number,))
        if not rows:
            raise InvalidInputError(f"no action has the number {number}; list them with: tagloom history")
        return _batch(*rows[0])

    def undoable(self, *, who: str | None = None) -> Batch | None:
        """Return the batch that `undo` would take back, or None; of one person the latest decision of theirs."""
        with self._database.reading() as connection:
            number = find_undoable(connection, who=who)
        return None if number is None else self.batch(number)

    def redoable(self, *, who: str | None = None) -> int | None:
        """Return the number of what was undone last and is no write, unless something was decided since; or None.

        Of one person: what they decided and undid themselves, unless they decided something since.
        """
        with self._database.reading() as connection:
            return find_redoable(connection, writes=False, who=who)

    def undo(self, batch: int | None = None, *, who: str = "") -> Batch | None:
        """Take a batch back: the states are then as if it had never been.

        Parameters
        ----------
        batch : int, optional
            Default: the latest one that is not undone.
        who : str
            Who did it.

        Returns
        -------
        Batch or None
            What was undone; None if there is nothing.

        Raises
        ------
        InvalidInputError
            If the batch is undone already, or a later change of tags stands in the way. Of files that were written,
            the caller puts back the content first (see `tagloom.store.writes.Writes`).
        """
        return self._turn(batch, "undo", who)

    def redo(self, batch: int | None = None, *, who: str = "") -> Batch | None:
        """Bring an undone batch back: by default what was undone last, unless something was decided since."""
        return self._turn(batch, "redo", who)

    def _turn(self, batch: int | None, kind: Literal["undo", "redo"], who: str) -> Batch | None:
        with self._database.write() as connection:
            if batch is None:
                batch = find_undoable(connection) if kind == "undo" else find_redoable(connection)
            if batch is None:
                return None
            take_back(connection, self.batch(batch).id, kind, who)
        return self.batch(batch)


def _batch(number: int, kind: str, label: str, who: str, at: float, refers: int | None, n: int, undone: int) -> Batch:
    return Batch(number, kind, label, who, at, refers, n, bool(undone))


def _columns(photo_ids: "ArrayLike", tag_ids: "ArrayLike", states: "ArrayLike") -> tuple[list[int], ...]:
    """Return the three as lists of one length; what is single counts for all of the others."""
    given = {"photo_ids": photo_ids, "tag_ids": tag_ids, "states": states}
    columns = [whole_numbers(values, what) for what, values in given.items()]
    lengths = {len(column) for column in columns} - {1} or {1}
    if len(lengths) > 1:
        raise InvalidInputError(
            f"photo_ids, tag_ids and states must be equally long (or single), got {[len(item) for item in columns]}"
        )
    wrong = set(columns[2]) - {-1, 0, 1}
    if wrong:
        raise InvalidInputError(f"states must be 1, 0 or -1, got {min(wrong)}")
    (n,) = lengths
    return tuple(column if len(column) == n else column * n for column in columns)


def _origin(origin: str) -> int:
    if origin not in ORIGINS:
        raise InvalidInputError(f"origin must be one of {', '.join(ORIGINS)}, got {origin!r}")
    return ORIGINS.index(origin)


def _checked(connection: apsw.Connection, photos: list[int], tags: list[int]) -> list[int]:
    """Check that photos and tags exist, and return the tags with merged ones replaced."""
    for table, ids in (("photos", sorted(set(photos))), ("tags", sorted(set(tags)))):
        missing = fetch(
            connection,
            f"SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM {table})",  # noqa: S608
            (json_ids(ids),),
        )
        if missing:
            raise InvalidInputError(
                f"{len(missing)} of {len(ids)} {table} do not exist; the first has id {missing[0][0]}"
            )
    final = live_tags(connection)
    return [final.get(tag, tag) for tag in tags] if final else tags


def _wanted(
    connection: apsw.Connection,
    photos: list[int],
    tags: list[int],
    states: list[int],
    origin: int,
    kept: list[int],
    keep_not: Collection[tuple[int, int]],
    skip_same: bool,
) -> list[int]:
    """Return the positions of what is to be recorded, given what stands."""
    if not fetch(connection, "SELECT 1 FROM standing LIMIT 1"):
        return [row for row, state in enumerate(states) if not (skip_same and state == -1)]
    standing = connection.executemany(
        "SELECT ifnull(s.state, -1), ifnull(s.origin, -1) FROM (SELECT ?1 AS photo, ?2 AS tag) "
        "LEFT JOIN standing s USING (photo, tag)",
        zip(photos, tags, strict=True),
    )
    return [
        row
        for row, (state, (now, by)) in enumerate(zip(states, standing, strict=True))
        if (by not in kept or (now != state and (photos[row], tags[row]) in keep_not))
        and not (skip_same and now == state and (by == origin or now == -1))
    ]
