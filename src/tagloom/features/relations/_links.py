"""Parts shared by near-duplicates and bursts: links that hold groups together, and cosines of a few rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from tagloom.core.typing import Reals
from tagloom.exceptions import InvalidInputError
from tagloom.graph.rows import check_features

__all__ = ["LinkForest", "check_embeddings", "cosines", "linked_in_tile", "numbered_by_first"]

_PENDING = 1_000_000
_ROUNDING = 1e-9


class LinkForest:
    """The shortest links that hold the same photos together as all links do; at most one per photo.

    Links are ordered by length, then first photo, then second. Taken in that order, a link is kept where its photos
    are not held together by those kept before (Kruskal's rule), so the result does not depend on the order in which
    links are added.

    Parameters
    ----------
    n : int
        Number of photos.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._keys: list[NDArray[np.int64]] = []
        self._n_pending = 0

    def add(self, first: NDArray[Any], second: NDArray[Any], lengths: NDArray[Any] | int = 0) -> None:
        """Add links of small whole-number lengths between photos ``first < second``; no pair may come twice."""
        # One number per link, in their order: it sorts many times faster than three.
        self._keys.append((np.asarray(lengths, dtype=np.int64) * self.n + first) * self.n + second)
        self._n_pending += len(first)
        if self._n_pending > _PENDING:
            self._reduce()

    def links(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the links kept, of shape (m, 2), and their lengths, in the order above."""
        self._reduce()
        keys = self._keys[0] if self._keys else np.empty(0, dtype=np.int64)
        return self._pairs(keys), keys // max(self.n, 1) ** 2

    def labels(self) -> NDArray[np.int64]:
        """Return group numbers in the order of each group's first photo; -1 for photos without a link."""
        pairs, _ = self.links()
        if not len(pairs):
            return np.full(self.n, -1, dtype=np.int64)
        _, component = connected_components(self._matrix(pairs, np.ones(len(pairs))), directed=False)
        linked = np.zeros(self.n, dtype=bool)
        linked[pairs] = True
        return numbered_by_first(np.where(linked, component, -1))

    def _reduce(self) -> None:
        if not self._n_pending:
            return
        keys = np.sort(np.concatenate(self._keys))
        # Ranks for lengths: all different, so that there is one spanning forest only; never 0, which means no link.
        kept = minimum_spanning_tree(self._matrix(self._pairs(keys), np.arange(1.0, len(keys) + 1)))
        self._keys = [keys[np.sort(kept.data).astype(np.int64) - 1]]
        self._n_pending = 0

    def _pairs(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        n = max(self.n, 1)
        return np.stack([keys // n % n, keys % n], axis=1)

    def _matrix(self, pairs: NDArray[np.int64], values: NDArray[np.float64]) -> sparse.csr_array:
        return sparse.csr_array((values, (pairs[:, 0], pairs[:, 1])), shape=(self.n, self.n))


def numbered_by_first(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return groups numbered in the order of their first photos; negative labels are no group and become -1."""
    result = np.full(len(labels), -1, dtype=np.int64)
    inside = labels >= 0
    _, first, inverse = np.unique(labels[inside], return_index=True, return_inverse=True)
    result[inside] = np.argsort(np.argsort(first))[inverse]
    return result


def cosines(left: Reals, right: Reals) -> NDArray[np.float64]:
    """Return the cosines of all rows of one matrix with all rows of another.

    Two rows of zeros have cosine 1, a row of zeros and another 0.
    """
    return _unit_rows(left) @ _unit_rows(right).T


def _unit_rows(rows: Reals) -> NDArray[np.float64]:
    """Return rows of length one in float64, with a last column that is 1 in rows of zeros."""
    wide = np.zeros((rows.shape[0], rows.shape[1] + 1))
    # Bringing the largest entry to one first keeps the squares from under- or overflowing.
    largest = np.abs(rows).max(axis=1, keepdims=True).astype(np.float64)
    wide[:, :-1] = rows / np.where(largest > 0, largest, 1.0)
    wide[largest[:, 0] == 0, -1] = 1.0
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    return wide


def linked_in_tile(
    near: NDArray[np.bool_], embeddings: Reals | None, down: slice, across: slice, min_cosine: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of a tile that are near and point in one direction, as places in the tile.

    Parameters
    ----------
    near : bool array
        Which photos of ``down`` are near which of ``across`` by another measure.
    embeddings : array of shape (n, d) or None
        Rows to compare; None compares nothing.
    down, across : slice
        The photos of the tile.
    min_cosine : float
        The least cosine of a link.
    """
    if embeddings is not None:
        some_down, some_across = near.any(axis=1), near.any(axis=0)
        close = cosines(embeddings[down][some_down], embeddings[across][some_across]) >= min_cosine - _ROUNDING
        near = near.copy()
        near[np.ix_(some_down, some_across)] &= close
    first, second = np.nonzero(near)
    return first, second


def check_embeddings(embeddings: ArrayLike | None, n: int, min_cosine: float) -> Reals | None:
    """Return embeddings as a matrix of n rows, or None where none are given or there is nothing to compare."""
    if not -1 <= min_cosine <= 1:
        raise InvalidInputError(f"min_cosine must be from -1 to 1, got {min_cosine!r}")
    if embeddings is None or (n == 0 and np.shape(embeddings)[:1] == (0,)):
        return None
    rows = check_features(embeddings, "embeddings")
    if len(rows) != n:
        raise InvalidInputError(f"embeddings must have one row per photo, got {len(rows)} rows for {n} photos")
    return rows
