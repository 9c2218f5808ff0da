"""The states in force as arrays, and the label matrix that follows from them.

Apart from `tagloom.store.decisions`, which labelling loads without numpy.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import LabelMatrix
from tagloom.store.session import Database, as_ids, json_ids, whole_numbers
from tagloom.store.tags import CLOSURE

if TYPE_CHECKING:
    from tagloom.core import Ids

__all__ = ["CurrentStates", "current_states", "label_matrix", "states_digest"]


@dataclass(frozen=True, slots=True)
class CurrentStates:
    """The states in force, one entry per pair of photo and tag, by photo and then tag.

    Parameters
    ----------
    photo_ids, tag_ids : ndarray of int64
        The pairs.
    states : ndarray of int8
        1 has it, 0 does not. Pairs of which nobody has said anything are not listed.
    origins : ndarray of int8
        0 human, 1 imported, 2 suggested and accepted.
    """

    photo_ids: "Ids"
    tag_ids: "Ids"
    states: NDArray[np.int8]
    origins: NDArray[np.int8]


def current_states(
    database: Database, tag_ids: ArrayLike | None = None, photo_ids: ArrayLike | None = None
) -> CurrentStates:
    """Return the states in force (see `Decisions.current`)."""
    where, values = ["1"], []
    for column, ids in (("tag", tag_ids), ("photo", photo_ids)):
        if ids is not None:
            where.append(f"{column} IN (SELECT value FROM json_each(?))")  # noqa: S608
            values.append(json_ids(whole_numbers(ids, f"{column}_ids")))
    sql = f"SELECT photo, tag, state, origin FROM standing WHERE {' AND '.join(where)} ORDER BY photo, tag"  # noqa: S608
    photos, tags, states, origins = database.table(sql, values, n_columns=4).T
    return CurrentStates(
        np.ascontiguousarray(photos), np.ascontiguousarray(tags), states.astype(np.int8), origins.astype(np.int8)
    )


def label_matrix(
    database: Database, photo_ids: ArrayLike | None, tag_ids: ArrayLike | None, *, implied: bool
) -> "tuple[Ids, Ids, LabelMatrix]":
    """Return rows, columns and the label matrix (see `Decisions.labels`)."""
    said = current_states(database, photo_ids=photo_ids)
    closure = database.table(CLOSURE, n_columns=2) if implied else np.empty((0, 2), dtype=np.int64)
    rows = np.unique(said.photo_ids) if photo_ids is None else as_ids(photo_ids, "photo_ids")
    named = np.unique(said.tag_ids) if tag_ids is None else as_ids(tag_ids, "tag_ids")
    columns = np.union1d(named, closure[np.isin(closure[:, 0], named), 1]) if tag_ids is None else named
    everything = np.unique(np.concatenate([said.tag_ids, columns, closure.ravel()]))
    distinct, row_of = np.unique(rows, return_inverse=True)
    Y = np.full((len(distinct), len(everything)), -1, dtype=np.int8)
    Y[np.searchsorted(distinct, said.photo_ids), np.searchsorted(everything, said.tag_ids)] = said.states
    _imply(Y, np.searchsorted(everything, closure))
    return rows, columns, Y[row_of[:, None], np.searchsorted(everything, columns)]


def states_digest(database: Database) -> str:
    """Return a checksum of all states in force."""
    said = current_states(database)
    digest = hashlib.blake2b(digest_size=16)
    for array in (said.photo_ids, said.tag_ids, said.states):
        digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _imply(Y: LabelMatrix, closure: NDArray[np.intp]) -> None:
    """Fill in what follows from what was said; `closure` holds columns (child, ancestor)."""
    said = Y.copy()
    for child, ancestor in closure:
        Y[(said[:, child] == 1) & (said[:, ancestor] == -1), ancestor] = 1
    for child, ancestor in closure:
        Y[(said[:, ancestor] == 0) & (Y[:, child] == -1), child] = 0
