"""What was decided about photos and tags: an append-only log with undo, and the state that follows from it."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import apsw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core.labels import LabelMatrix
from tagloom.exceptions import InvalidInputError
from tagloom.store.database import fetch
from tagloom.store.log import ORIGINS, UNDONE, Records, append
from tagloom.store.session import Database, Ids, as_ids, json_ids
from tagloom.store.tags import CLOSURE, live_tags
from tagloom.store.undo import find_redoable, find_undoable, take_back

__all__ = ["Batch", "Decisions", "Origin", "Standing"]

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


@dataclass(frozen=True, slots=True)
class Standing:
    """The states in force, one entry per pair of photo and tag, by photo and then tag.

    Parameters
    ----------
    photo_ids, tag_ids : ndarray of int64
        The pairs.
    states : ndarray of int8
        1 has it, 0 has it not. Pairs of which nobody has said anything are not listed.
    origins : ndarray of int8
        0 human, 1 imported, 2 suggested and accepted.
    """

    photo_ids: Ids
    tag_ids: Ids
    states: NDArray[np.int8]
    origins: NDArray[np.int8]


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
        photo_ids: ArrayLike,
        tag_ids: ArrayLike,
        states: ArrayLike,
        *,
        origin: Origin = "human",
        who: str = "",
        label: str = "",
        keep: Collection[Origin] = (),
        skip_same: bool = False,
    ) -> int | None:
        """Record decisions as one batch. When this returns they are on stable storage.

        Parameters
        ----------
        photo_ids, tag_ids, states : array-like of int
            Broadcast against each other; states are 1 (has it), 0 (has it not) and -1 (takes back what was said). Of
            several states for a pair the last stands. Tags merged into others count as those.
        origin : {"human", "imported", "suggested"}, default="human"
            Where the decisions come from; "suggested" is a suggestion that a person accepted.
        who, label : str
            Who did what, for a person to read.
        keep : collection of origins
            Leave pairs alone whose state in force comes from one of these: an import may keep ("human", "suggested").
        skip_same : bool, default=False
            Leave out what stands already with the same origin.

        Returns
        -------
        int or None
            The batch; None if nothing was left to record.
        """
        photos, tags, values = _pairs(photo_ids, tag_ids, states)
        code = _origin(origin)
        kept = [_origin(item) for item in keep]
        with self._database.write() as connection:
            tags = _checked(connection, photos, tags)
            if kept or skip_same:
                mask = _wanted(connection, photos, tags, values, code, kept, skip_same)
                photos, tags, values = photos[mask], tags[mask], values[mask]
            if not len(photos):
                return None
            order = np.lexsort((tags, photos))  # stable, and the order of the index: far faster for large batches
            photos, tags, values = photos[order], tags[order], values[order]
            records = Records(photos, tags, values, np.full(len(photos), code, dtype=np.int8))
            return append(connection, "decide", records, label=label, who=who)

    def current(self, tag_ids: ArrayLike | None = None, photo_ids: ArrayLike | None = None) -> Standing:
        """Return the states in force, of all pairs or of those of some tags and photos."""
        where, values = ["1"], []
        for column, ids in (("tag", tag_ids), ("photo", photo_ids)):
            if ids is not None:
                where.append(f"{column} IN (SELECT value FROM json_each(?))")  # noqa: S608
                values.append(json_ids(as_ids(ids, f"{column}_ids")))
        sql = f"SELECT photo, tag, state, origin FROM standing WHERE {' AND '.join(where)} ORDER BY photo, tag"  # noqa: S608
        photos, tags, states, origins = self._database.table(sql, values, n_columns=4).T
        return Standing(
            np.ascontiguousarray(photos), np.ascontiguousarray(tags), states.astype(np.int8), origins.astype(np.int8)
        )

    def labels(
        self, photo_ids: ArrayLike | None = None, tag_ids: ArrayLike | None = None, *, implied: bool = True
    ) -> tuple[Ids, Ids, LabelMatrix]:
        """Return the label matrix: 1 has the tag, 0 has it not, -1 nobody has said.

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
        said = self.current(photo_ids=photo_ids)
        closure = self._database.table(CLOSURE, n_columns=2) if implied else np.empty((0, 2), dtype=np.int64)
        rows = np.unique(said.photo_ids) if photo_ids is None else as_ids(photo_ids, "photo_ids")
        named = np.unique(said.tag_ids) if tag_ids is None else as_ids(tag_ids, "tag_ids")
        columns = np.union1d(named, closure[np.isin(closure[:, 0], named), 1]) if tag_ids is None else named
        everything = np.unique(np.concatenate([said.tag_ids, columns, closure.ravel()]))
        distinct, row_of = np.unique(rows, return_inverse=True)
        Y = np.full((len(distinct), len(everything)), -1, dtype=np.int8)
        Y[np.searchsorted(distinct, said.photo_ids), np.searchsorted(everything, said.tag_ids)] = said.states
        _imply(Y, np.searchsorted(everything, closure))
        return rows, columns, Y[row_of[:, None], np.searchsorted(everything, columns)]

    def labels_digest(self) -> str:
        """Return a checksum of all states in force, to tell whether a model was trained on these."""
        said = self.current()
        digest = hashlib.blake2b(digest_size=16)
        for array in (said.photo_ids, said.tag_ids, said.states):
            digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
        return digest.hexdigest()

    def count(self) -> int:
        """Return how many decisions the log holds, those of undo and redo included."""
        return int(self._database.value("SELECT ifnull(max(id), 0) FROM decisions"))

    def history(self, limit: int = 50, *, photo: int | None = None) -> list[Batch]:
        """Return the latest batches, newest first; of one photo those that decided something about it."""
        about = "" if photo is None else "AND id IN (SELECT batch FROM decisions WHERE photo = ?)"
        sql = (
            f"SELECT id, kind, label, who, at, refers, n, id IN ({UNDONE}) FROM batches WHERE 1 {about} "  # noqa: S608
            f"ORDER BY id DESC LIMIT ?"
        )
        values = (limit,) if photo is None else (photo, limit)
        return [_batch(*row) for row in self._database.read(sql, values)]

    def batch(self, number: int) -> Batch:
        """Return one batch."""
        sql = f"SELECT id, kind, label, who, at, refers, n, id IN ({UNDONE}) FROM batches WHERE id = ?"  # noqa: S608
        rows = self._database.read(sql, (number,))
        if not rows:
            raise InvalidInputError(f"no batch has the number {number}; see the history for those there are")
        return _batch(*rows[0])

    def undoable(self) -> Batch | None:
        """Return the batch that `undo` would take back, or None."""
        with self._database.reading() as connection:
            number = find_undoable(connection)
        return None if number is None else self.batch(number)

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


def _pairs(photo_ids: ArrayLike, tag_ids: ArrayLike, states: ArrayLike) -> tuple[Ids, Ids, NDArray[np.int8]]:
    arrays = [as_ids(ids, what) for ids, what in ((photo_ids, "photo_ids"), (tag_ids, "tag_ids"), (states, "states"))]
    try:
        photos, tags, values = np.broadcast_arrays(*arrays)
    except ValueError:
        raise InvalidInputError(
            f"photo_ids, tag_ids and states must be equally long (or single), got {[len(item) for item in arrays]}"
        ) from None
    if len(values) and not np.isin(values, (-1, 0, 1)).all():
        raise InvalidInputError(f"states must be 1, 0 or -1, got {values[~np.isin(values, (-1, 0, 1))][0]}")
    return photos, tags, values.astype(np.int8)


def _origin(origin: str) -> int:
    if origin not in ORIGINS:
        raise InvalidInputError(f"origin must be one of {', '.join(ORIGINS)}, got {origin!r}")
    return ORIGINS.index(origin)


def _checked(connection: apsw.Connection, photos: Ids, tags: Ids) -> Ids:
    """Check that photos and tags exist, and return the tags with merged ones replaced."""
    for table, ids in (("photos", np.unique(photos)), ("tags", np.unique(tags))):
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
    if final:
        distinct, where = np.unique(tags, return_inverse=True)
        tags = np.array([final.get(tag, tag) for tag in distinct.tolist()], dtype=np.int64)[where]
    return tags


def _wanted(
    connection: apsw.Connection,
    photos: Ids,
    tags: Ids,
    states: NDArray[np.int8],
    origin: int,
    kept: list[int],
    skip_same: bool,
) -> NDArray[np.bool_]:
    rows = connection.executemany(
        "SELECT ifnull(s.state, -1), ifnull(s.origin, -1) FROM (SELECT ?1 AS photo, ?2 AS tag) "
        "LEFT JOIN standing s USING (photo, tag)",
        zip(photos.tolist(), tags.tolist(), strict=True),
    ).fetchall()
    standing, origins = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    wanted = ~np.isin(origins, kept)
    if skip_same:
        wanted &= (standing != states) | ((origins != origin) & (standing != -1))
    return wanted


def _imply(Y: LabelMatrix, closure: NDArray[np.intp]) -> None:
    """Fill in what follows from what was said; `closure` holds columns (child, ancestor)."""
    said = Y.copy()
    for child, ancestor in closure:
        Y[(said[:, child] == 1) & (said[:, ancestor] == -1), ancestor] = 1
    for child, ancestor in closure:
        Y[(said[:, ancestor] == 0) & (Y[:, child] == -1), child] = 0
