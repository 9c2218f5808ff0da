"""Which rows are whose: arrays of one order of photos or tags brought to another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Indices

__all__ = ["rows_of", "take_rows"]


def rows_of(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> Indices:
    """Return the row of each wanted id, -1 for one that has none.

    Parameters
    ----------
    ids : ndarray of int64
        The ids of the rows, in any order, each once.
    wanted : ndarray of int64
        Ids.
    """
    if not len(ids):
        return np.full(len(wanted), -1, dtype=np.intp)
    order = np.argsort(ids, kind="stable")
    at = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    return np.where(ids[at] == wanted, at, -1)


def take_rows(values: NDArray[Any], at: Indices, fill: Any) -> NDArray[Any]:
    """Return rows of an array, filled with a value where ``at`` is -1."""
    found = np.full((len(at), *values.shape[1:]), fill, dtype=values.dtype)
    has = at >= 0
    found[has] = values[at[has]]
    return found
