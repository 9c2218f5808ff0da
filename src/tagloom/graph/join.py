"""Neighbours of all photos by a self-join of inverted lists, for collections too large to compare all pairs.

k-means puts every photo into a list. A photo is compared with the members of the few lists whose centres are nearest to
it. Photos are taken in groups that lie in the same lists, so that all comparisons are matrix products; the first list
gives a limit, and of the others only what is nearer than that is looked at.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import NO_PROGRESS, Progress, Reals, check_generator
from tagloom.graph.exact import Neighbors, best_of_candidates, exact_neighbors, first_of_each
from tagloom.graph.runtime import map_blocks, row_blocks
from tagloom.graph.spaces import Space

__all__ = ["joined_neighbors", "sampled_recall"]

#: Lists, in units of √n, and how many of them a photo looks into.
LISTS, PROBES = 2.0, 24
#: Photos of a list that its centre is learnt from, on average, and rounds of k-means.
SAMPLE, ROUNDS = 40, 6
#: A list of more members than this many average ones is cut.
LONGEST = 8
#: Photos that are joined at a time, and compared with centres at a time.
JOINED_ROWS, ASSIGNED_ROWS = 4096, 4096
#: Candidates for each neighbour that are ranked exactly where the lists rank only nearly as the metric does.
CANDIDATES = 4
#: Photos whose neighbours tell the recall.
RECALL_SAMPLE = 500


def joined_neighbors(
    space: Space,
    n_neighbors: int,
    *,
    n_threads: int,
    probes: int = PROBES,
    need_keys: bool = True,
    progress: Progress = NO_PROGRESS,
) -> Neighbors:
    """Return keys and indices of nearly the nearest points of each point, itself left out.

    Parameters
    ----------
    space : Space
        Queries and points are the same rows.
    n_neighbors : int
        At most the number of points less one.
    n_threads : int
        Number of threads. The result is the same for any number.
    probes : int
        Lists that a photo looks into.
    need_keys : bool
        False: the set of neighbours matters, not their keys; these are then those of float32.
    progress : Progress
        Counts points.
    """
    n, k = space.points.n_rows, n_neighbors
    points = _Embedded(space)
    lists = _Lists(points, max(1, round(LISTS * np.sqrt(n))), probes, n_threads)
    is_exact = space.embedding == "same"
    n_candidates = min(n - 1, k if is_exact and not need_keys else k + 2 if is_exact else CANDIDATES * k)
    keys, indices = np.empty((n, k)), np.full((n, k), -1, dtype=np.intp)

    def work(part: slice) -> None:
        rows = lists.order[part]
        found, candidates = lists.join(part, n_candidates)
        if is_exact and not need_keys:
            keys[rows], indices[rows] = found, candidates
        else:
            keys[rows], indices[rows] = best_of_candidates(space, rows, candidates, k)

    progress.start("neighbours", n)
    map_blocks(work, n, JOINED_ROWS, n_threads, progress)
    progress.finish()
    short = np.flatnonzero(indices[:, -1] < 0)
    if short.size:  # the lists that they looked into hold too few
        keys[short], indices[short] = exact_neighbors(
            space, k, queries=short, self_search=True, n_threads=n_threads, need_keys=need_keys
        )
    return keys, indices


def sampled_recall(
    space: Space,
    indices: NDArray[np.intp],
    *,
    n_threads: int,
    random_state: Any,
    n_sample: int = RECALL_SAMPLE,
) -> float:
    """Return the share of neighbours that are no farther than the true last one, over a sample of photos.

    Parameters
    ----------
    space : Space
        Queries and points are the same rows.
    indices : int array of shape (n, k)
        The neighbours that were found.
    n_threads : int
        Threads of the exact search.
    random_state : int, Generator or None
        Draws the sample.
    n_sample : int
        Photos to check.
    """
    n, k = indices.shape
    sample = np.sort(check_generator(random_state).choice(n, min(n, n_sample), replace=False))
    true, _ = exact_neighbors(space, k, queries=sample, self_search=True, n_threads=n_threads)
    keys = space.pair_keys(np.repeat(sample, k), indices[sample].ravel()).reshape(-1, k)
    return float((keys <= true[:, -1:]).mean())


class _Embedded:
    """Points where squared distances rank nearly as the keys of a space do, in float32 and around 0."""

    def __init__(self, space: Space) -> None:
        points = space.points
        self.n_rows = points.n_rows
        self._X: Reals = points.X
        is_plain = points.X.dtype == np.float32 and points.divisor is None and points.empty is None
        # What needs no change is read where it is, which may be a file.
        if not is_plain or space.embedding != "same":
            self._X = np.empty((points.n_rows, points.width), dtype=np.float32)
            for rows in row_blocks(points.n_rows, ASSIGNED_ROWS):
                self._X[rows] = space.embed(points.take(rows))
        total = np.zeros(self._X.shape[1])
        for rows in row_blocks(self.n_rows, ASSIGNED_ROWS):
            total += self._X[rows].sum(axis=0, dtype=np.float64)
        self._center = (total / self.n_rows).astype(np.float32)

    def take(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Return fresh rows."""
        return np.asarray(self._X[rows] - self._center)


class _Lists:
    """Which photos lie in which list, and which lists each of them looks into.

    Attributes
    ----------
    order : int array of shape (n,)
        The photos, list by list.
    """

    def __init__(self, points: _Embedded, n_lists: int, probes: int, n_threads: int) -> None:
        self._points = points
        n = points.n_rows
        centres = _centres(points, n_lists)
        home = self._nearest(centres, 1, n_threads)[:, 0]
        counts = np.bincount(home, minlength=len(centres))
        if counts.max() > LONGEST * max(n / n_lists, 1.0):
            home, centres = _cut(points, home, counts, round(LONGEST * n / n_lists))
            counts = np.bincount(home, minlength=len(centres))
        self.order = np.argsort(home, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._home = home
        self._probed = self._nearest(centres, min(probes, len(centres)), n_threads)

    def join(self, part: slice, k: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return squared distances and indices of the k nearest of some photos, given by places in ``order``.

        Where the lists hold fewer, the rest is +inf and -1.
        """
        rows = self.order[part]
        queries = self._points.take(rows)
        squares = np.einsum("ij,ij->i", queries, queries)
        queries *= -2.0
        limits = np.full(len(rows), np.inf, dtype=np.float32)
        found: list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]] = []
        home, probed = self._home[rows], self._probed[rows]
        probed = np.where(probed == home[:, None], -1, probed)
        # Own lists first: they give the limits.
        for mine, sets_limits in ((home[:, None], True), (probed, False)):
            lists = mine.ravel()
            by = np.argsort(lists, kind="stable")
            numbers, starts = np.unique(lists[by], return_index=True)
            ends = np.append(starts[1:], len(by))
            for number, start, end in zip(numbers.tolist(), starts.tolist(), ends.tolist(), strict=True):
                local = by[start:end] // mine.shape[1]
                if number >= 0:
                    distances, members = self._distances(queries[local], squares[local], rows[local], number)
                    if sets_limits and len(members) > k:
                        limits[local] = np.partition(distances, k - 1, axis=1)[:, k - 1]
                    found.append(_within(distances, limits[local], local, members))
        local, index, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return _first(local, index, values, len(rows), k)

    def _distances(
        self, queries: NDArray[np.float32], squares: NDArray[np.float32], rows: NDArray[np.intp], number: int
    ) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Return squared distances of some rows, given times -2, to the members of a list, and these."""
        members = self.order[self._starts[number] : self._starts[number + 1]]
        block = self._points.take(members)
        distances = queries @ block.T
        distances += np.einsum("ij,ij->i", block, block)
        distances += squares[:, None]
        # Members ascend, so that a row finds itself among them by its index.
        at = np.minimum(np.searchsorted(members, rows), len(members) - 1)
        own = np.flatnonzero(members[at] == rows)
        distances[own, at[own]] = np.inf
        return distances, members

    def _nearest(self, centres: NDArray[np.float32], count: int, n_threads: int) -> NDArray[np.int32]:
        """Return the nearest centres of each point."""
        found = np.empty((self._points.n_rows, count), dtype=np.int32)
        squares = np.einsum("ij,ij->i", centres, centres)

        def work(rows: slice) -> None:
            distances = self._points.take(rows) @ (-2.0 * centres.T)
            distances += squares
            if count == 1:
                found[rows, 0] = distances.argmin(axis=1)
            else:
                found[rows] = np.argpartition(distances, count - 1, axis=1)[:, :count]

        map_blocks(work, self._points.n_rows, ASSIGNED_ROWS, n_threads, NO_PROGRESS)
        return found


def _centres(points: _Embedded, n_lists: int) -> NDArray[np.float32]:
    """Return centres of a sample of the points by k-means; the same for the same points."""
    generator = np.random.default_rng(0)
    sample = points.take(np.sort(generator.choice(points.n_rows, min(points.n_rows, SAMPLE * n_lists), replace=False)))
    centres = sample[np.sort(generator.choice(len(sample), n_lists, replace=False))]
    for _ in range(ROUNDS):
        nearest = np.empty(len(sample), dtype=np.intp)
        squares = np.einsum("ij,ij->i", centres, centres)
        for rows in row_blocks(len(sample), ASSIGNED_ROWS):
            nearest[rows] = (sample[rows] @ (-2.0 * centres.T) + squares).argmin(axis=1)
        order = np.argsort(nearest, kind="stable")
        present, starts = np.unique(nearest[order], return_index=True)
        counts = np.diff(np.append(starts, len(order)))
        centres[present] = np.add.reduceat(sample[order], starts, axis=0) / counts[:, None]
        empty = np.setdiff1d(np.arange(n_lists), present)
        centres[empty] = sample[generator.choice(len(sample), len(empty), replace=False)]
    return centres


def _cut(
    points: _Embedded, home: NDArray[np.int32], counts: NDArray[np.intp], longest: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return lists and centres with long lists cut across one direction: equal photos cannot make a list of all."""
    order = np.argsort(home, kind="stable")
    ends = np.cumsum(counts)
    cut = np.empty_like(home)
    centres: list[NDArray[np.float32]] = []
    width = points.take(slice(0, 1)).shape[1]
    direction = np.asarray(np.random.default_rng(1).standard_normal(width), dtype=np.float32)
    for start, end in zip((ends - counts).tolist(), ends.tolist(), strict=True):
        members = order[start:end]
        if len(members) > longest:
            along = np.concatenate([points.take(members[rows]) @ direction for rows in row_blocks(len(members), 65536)])
            members = members[np.argsort(along, kind="stable")]
        for rows in row_blocks(len(members), longest):
            cut[members[rows]] = len(centres)
            centres.append(points.take(members[rows]).mean(axis=0))
    return cut, np.stack(centres)


def _within(
    distances: NDArray[np.float32], limits: NDArray[np.float32], local: NDArray[np.intp], members: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """Return the pairs within the limits: query, member, squared distance."""
    # A flat search is several times faster than a two-dimensional one.
    flat = np.flatnonzero((distances <= limits[:, None]).ravel())
    values = distances.ravel()[flat]
    finite = np.isfinite(values)
    if not finite.all():
        flat, values = flat[finite], values[finite]
    return local[flat // len(members)], members[flat % len(members)], values


def _first(
    local: NDArray[np.intp], index: NDArray[np.intp], values: NDArray[np.float32], n_rows: int, k: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the k smallest (value, index) of each row, +inf and -1 where there are fewer."""
    missing = np.maximum(k - np.bincount(local, minlength=n_rows), 0)
    if missing.any():
        added = np.repeat(np.arange(n_rows), missing)
        local = np.concatenate([local, added])
        index = np.concatenate([index, np.full(len(added), -1)])
        values = np.concatenate([values, np.full(len(added), np.inf, dtype=np.float32)])
    return first_of_each(local, index, values.astype(np.float64), np.arange(n_rows), k)
