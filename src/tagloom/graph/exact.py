"""Exact neighbours: fast keys for all pairs, exact keys for the few that are close to the limit.

With C the fast keys of a query, κ the k-th smallest and ε the bound on their error, the k-th smallest exact key lies
within ε of κ. So a point with C > κ + 2ε is no neighbour, one with C < κ - 2ε is one, and only those between need exact
keys. Ties of exact keys go to the smaller index. The answer therefore does not depend on blocks, threads, BLAS or the
precision of the fast keys.
"""

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import NO_PROGRESS, Progress, Reals, limit_libraries
from tagloom.graph.rows import first_copies
from tagloom.graph.runtime import load_faiss, map_blocks, row_blocks
from tagloom.graph.spaces import Space

__all__ = ["Neighbors", "best_of_candidates", "exact_neighbors"]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]
_BLOCK_ELEMENTS = 1 << 22
_FLOAT32_UNIT = 2.0**-24
_FLOAT64_UNIT = 2.0**-53
_FAISS_EXTRA = 33


def exact_neighbors(
    space: Space,
    n_neighbors: int,
    *,
    n_threads: int,
    queries: NDArray[np.intp] | None = None,
    self_search: bool = False,
    need_keys: bool = True,
    progress: Progress = NO_PROGRESS,
) -> Neighbors:
    """Return the keys and indices of the nearest points, sorted by key, then by index.

    Parameters
    ----------
    space : Space
        Queries, points and metric.
    n_neighbors : int
        At least 1 and at most the number of points (less one in a self search).
    n_threads : int
        Number of threads.
    queries : int array, optional
        Which queries to answer; all by default.
    self_search : bool
        Queries are the points, and no point is its own neighbour (by index, never by distance).
    need_keys : bool
        False: the set of neighbours matters, not their keys nor their order; undisputed keys are -inf.
    progress : Progress
        Counts queries.
    """
    kept = first_copies(space.points.X, n_neighbors + 1)
    search = _Search(space, kept, n_neighbors, self_search=self_search, need_keys=need_keys)
    rows = np.arange(space.queries.n_rows) if queries is None else np.asarray(queries, dtype=np.intp)
    keys = np.empty((rows.size, n_neighbors))
    indices = np.empty((rows.size, n_neighbors), dtype=np.intp)
    faiss = load_faiss() if search.space.faiss_metric else None
    points = search.space.all_points(np.float32)

    def work(part: slice) -> None:
        if faiss is None:
            keys[part], indices[part] = search.by_blocks(rows[part], points)
        else:
            keys[part], indices[part] = search.by_faiss(rows[part], points, faiss)

    progress.start("neighbours", rows.size)
    if faiss is None:
        block = max(16, _BLOCK_ELEMENTS // max(points.shape[0], points.shape[1]))
        map_blocks(work, rows.size, block, n_threads, progress)
    else:
        with limit_libraries(n_threads):
            for part in row_blocks(rows.size, 1024):
                work(part)
                progress.advance(part.stop - part.start)
    progress.finish()
    return keys, indices


class _Search:
    """One search: a space with the points that can win, and how to rank them."""

    def __init__(
        self,
        space: Space,
        kept: NDArray[np.intp] | None,
        n_neighbors: int,
        *,
        self_search: bool,
        need_keys: bool,
    ) -> None:
        self.space = space if kept is None else space.with_points(kept)
        self.kept = kept
        self.n_neighbors = n_neighbors
        self.need_keys = need_keys
        self.self_column: NDArray[np.intp] | None = None
        if self_search:
            self.self_column = np.arange(space.points.n_rows)
            if kept is not None:
                self.self_column = np.full(space.points.n_rows, -1, dtype=np.intp)
                self.self_column[kept] = np.arange(kept.size)

    def by_blocks(self, rows: NDArray[np.intp], points: Reals) -> Neighbors:
        """Answer from the fast keys of these queries with every point."""
        side, sizes = self.space.query_side(rows, points.dtype)
        C = self.space.combine(side, points)
        return self._rank(rows, sizes, C, None, points.dtype)

    def by_faiss(self, rows: NDArray[np.intp], points: Reals, faiss: ModuleType) -> Neighbors:
        """Answer from the first few fast keys, which is all that faiss gives."""
        side, sizes = self.space.query_side(rows, points.dtype)
        n_listed = min(self.n_neighbors + _FAISS_EXTRA, len(points))
        metric = getattr(faiss, str(self.space.faiss_metric))
        C, columns = faiss.knn(side, points, n_listed, metric=metric)
        return self._rank(rows, sizes, C, columns.astype(np.intp), points.dtype)

    def _rank(
        self,
        rows: NDArray[np.intp],
        sizes: NDArray[np.float64],
        C: Reals,
        columns: NDArray[np.intp] | None,
        dtype: Any,
    ) -> Neighbors:
        """Rank by fast keys and settle what is close; send what float32 cannot tell apart to float64."""
        k = self.n_neighbors
        unlisted = np.full(len(rows), np.inf)
        if columns is not None and C.shape[1] < self.space.points.n_rows:
            unlisted = C[:, -1].astype(np.float64)
        self._hide_self(rows, C, columns)
        unit = _FLOAT32_UNIT if dtype == np.float32 else _FLOAT64_UNIT
        bound = _limit_from_above(C, k)
        bound = np.nextafter((bound + self._margin(sizes, bound, unit)).astype(C.dtype), np.inf, dtype=C.dtype)
        local, found = _at_most(C, bound)
        crowded = unlisted <= bound
        if dtype == np.float32:
            crowded |= np.bincount(local, minlength=len(rows)) > 2 * k + 64
            easy_pairs = ~crowded[local]
            local, found = local[easy_pairs], found[easy_pairs]
        index = found if columns is None else columns[local, found]
        easy, hard = np.flatnonzero(~crowded), np.flatnonzero(crowded)
        keys, indices = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.intp)
        values = C[local, found].astype(np.float64)
        keys[easy], indices[easy] = self._settle(rows, sizes, easy, (local, index, values), unit)
        if hard.size:
            keys[hard], indices[hard] = self._in_float64(rows[hard])
        return keys, indices

    def _settle(
        self,
        rows: NDArray[np.intp],
        sizes: NDArray[np.float64],
        easy: NDArray[np.intp],
        pairs: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]],
        unit: float,
    ) -> Neighbors:
        """Choose the neighbours of the ``easy`` rows among candidate pairs (row, point, fast key)."""
        local, index, values = pairs
        limit = np.full(len(rows), np.inf)
        limit[easy] = first_of_each(local, index, values, easy, self.n_neighbors)[0][:, -1]
        margin = self._margin(sizes, np.where(np.isfinite(limit), limit, 0.0), unit)
        lower = -np.inf if self.need_keys else (limit - margin)[local]
        inside = values <= (limit + margin)[local]
        local, index, is_open = local[inside], index[inside], (values >= lower)[inside]
        keys = np.full(local.size, -np.inf)
        keys[is_open] = self.space.pair_keys(rows[local[is_open]], index[is_open])
        keys, index = first_of_each(local, index, keys, easy, self.n_neighbors)
        return keys, index if self.kept is None else self.kept[index]

    def _margin(self, sizes: NDArray[np.float64], limit: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
        """Return a little more than 2ε: the exact k-th key may itself be ε above the limit."""
        slack = self.space.slack(sizes, limit, unit)
        return 2.2 * self.space.slack(sizes, limit + slack, unit)

    def _in_float64(self, rows: NDArray[np.intp]) -> Neighbors:
        """Answer a few queries from float64 keys, a block at a time."""
        n_points = self.space.points.n_rows
        keys = np.empty((rows.size, self.n_neighbors))
        indices = np.empty((rows.size, self.n_neighbors), dtype=np.intp)
        for part in row_blocks(rows.size, max(16, _BLOCK_ELEMENTS // n_points)):
            side, sizes = self.space.query_side(rows[part], np.float64)
            C = np.empty((side.shape[0], n_points))
            for columns in row_blocks(n_points, 2048):
                C[:, columns] = self.space.combine(side, self.space.point_side(columns, np.float64))
            keys[part], indices[part] = self._rank(rows[part], sizes, C, None, np.dtype(np.float64))
        return keys, indices

    def _hide_self(self, rows: NDArray[np.intp], C: Reals, columns: NDArray[np.intp] | None) -> None:
        """Put each query out of its own reach."""
        if self.self_column is None:
            return
        own = self.self_column[rows]
        if columns is None:
            present = np.flatnonzero(own >= 0)
            C[present, own[present]] = np.inf
        else:
            C[columns == own[:, None]] = np.inf


def _limit_from_above(C: Reals, k: int) -> NDArray[np.float64]:
    """Return a value that at least k entries of each row do not exceed, close to the k-th smallest.

    The k-th smallest of the minima of many groups of columns is such a value; it costs one vectorised pass and a
    selection among few numbers, where a selection among all costs several times as much.
    """
    n_groups = max(C.shape[1] // 16, 8 * k)
    size = C.shape[1] // n_groups
    minima = C if size < 2 else C[:, : size * n_groups].reshape(len(C), size, n_groups).min(axis=1)
    return np.asarray(np.partition(minima, k - 1, axis=1)[:, k - 1], dtype=np.float64)


def _at_most(C: Reals, bound: Reals) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and columns of the entries that do not exceed their row's bound, in row order."""
    # A flat search is several times faster than a two-dimensional one.
    flat = np.flatnonzero((bound[:, None] >= C).ravel())
    return flat // C.shape[1], flat % C.shape[1]


def first_of_each(
    local: NDArray[np.intp],
    index: NDArray[np.intp],
    keys: NDArray[np.float64],
    groups: NDArray[np.intp],
    n_first: int,
) -> Neighbors:
    """Return the ``n_first`` smallest (key, index) of each group; ``groups`` lists those that occur, ascending."""
    order = np.lexsort((index, keys, local))
    starts = np.searchsorted(local[order], groups)
    chosen = order[starts[:, None] + np.arange(n_first)]
    return keys[chosen], index[chosen]


def best_of_candidates(
    space: Space, rows: NDArray[np.intp], candidates: NDArray[np.intp], n_neighbors: int
) -> Neighbors:
    """Rank given candidates of each query by exact keys.

    Parameters
    ----------
    space : Space
        Queries, points and metric.
    rows : int array of shape (b,)
        Queries.
    candidates : int array of shape (b, m)
        Distinct points per query; -1 where there is none.
    n_neighbors : int
        How many to keep. Missing ones get the key +inf and the index -1.
    """
    keys = np.full(candidates.shape, np.inf)
    there = candidates >= 0
    local, _ = np.nonzero(there)
    keys[there] = space.pair_keys(rows[local], candidates[there])
    order = np.lexsort((candidates, keys), axis=1)[:, :n_neighbors]
    return np.take_along_axis(keys, order, axis=1), np.take_along_axis(candidates, order, axis=1)
