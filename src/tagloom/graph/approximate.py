"""Approximate neighbours for collections too large to compare all pairs.

A hierarchical navigable small world index (faiss) proposes candidates; exact float64 keys rank them. See
docs/reference/graphs.md for what was measured against inverted lists, principal components and nearest-neighbour
descent.
"""

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.seeds import check_generator
from tagloom.core.threads import limit_libraries
from tagloom.core.typing import Reals
from tagloom.graph.exact import Neighbors, best_of_candidates, exact_neighbors
from tagloom.graph.runtime import map_blocks, row_blocks, single_threaded_libraries
from tagloom.graph.spaces import Space

__all__ = ["approximate_neighbors", "sampled_recall"]

_LINKS = 16
_BUILD_EFFORT = 40
_SEARCH_EFFORT = 80
_ADD_ROWS = 1024
_SAMPLE = 500


def approximate_neighbors(
    space: Space, n_neighbors: int, *, faiss: ModuleType, n_threads: int, progress: Progress = NO_PROGRESS
) -> Neighbors:
    """Return keys and indices of nearly the nearest points of each point, itself left out.

    Parameters
    ----------
    space : Space
        Queries and points are the same rows.
    n_neighbors : int
        At most the number of points less one.
    faiss : module
        The library.
    n_threads : int
        Threads of search and ranking. The index is built by one thread: its links depend on the order of
        insertion, and with more threads no two runs would agree.
    progress : Progress
        Counts points.
    """
    n = space.points.n_rows
    sides = _embedded(space)
    n_candidates = min(n, (4 if space.embedding_differs else 2) * n_neighbors + 2)
    index = faiss.IndexHNSWFlat(sides.shape[1], _LINKS, getattr(faiss, space.index_metric))
    index.hnsw.efConstruction = _BUILD_EFFORT
    index.hnsw.efSearch = max(_SEARCH_EFFORT, 2 * n_candidates)
    progress.start("neighbour index", n)
    with single_threaded_libraries():
        for rows in row_blocks(n, _ADD_ROWS):
            index.add(sides[rows])
            progress.advance(rows.stop - rows.start)
    progress.finish()
    keys = np.empty((n, n_neighbors))
    indices = np.empty((n, n_neighbors), dtype=np.intp)
    candidates = np.empty((n, n_candidates), dtype=np.intp)
    with limit_libraries(n_threads):
        for rows in row_blocks(n, _ADD_ROWS):
            candidates[rows] = index.search(sides[rows], n_candidates)[1]
    candidates[candidates == np.arange(n)[:, None]] = -1

    def rank(part: slice) -> None:
        rows = np.arange(part.start, part.stop)
        keys[part], indices[part] = best_of_candidates(space, rows, candidates[part], n_neighbors)

    progress.start("neighbours", n)
    map_blocks(rank, n, _ADD_ROWS, n_threads, progress)
    progress.finish()
    short = np.flatnonzero(indices[:, -1] < 0)
    if short.size:  # a part of the index that its entry point does not reach
        keys[short], indices[short] = exact_neighbors(
            space, n_neighbors, queries=short, self_search=True, n_threads=n_threads
        )
    return keys, indices


def sampled_recall(
    space: Space, keys: NDArray[np.float64], *, n_threads: int, random_state: Any, n_sample: int = _SAMPLE
) -> float:
    """Return the share of neighbours that are no farther than the true last one, over a sample of photos.

    Parameters
    ----------
    space : Space
        Queries and points are the same rows.
    keys : array of shape (n, k)
        Exact keys of the neighbours that were found.
    n_threads : int
        Threads of the exact search.
    random_state : int, Generator or None
        Draws the sample.
    n_sample : int
        Photos to check.
    """
    n, k = keys.shape
    sample = np.sort(check_generator(random_state).choice(n, min(n, n_sample), replace=False))
    true, _ = exact_neighbors(space, k, queries=sample, self_search=True, n_threads=n_threads)
    return float((keys[sample] <= true[:, -1:]).mean())


def _embedded(space: Space) -> Reals:
    """Return all points in the space the index works in, float32."""
    sides = np.empty((space.points.n_rows, space.points.width), dtype=np.float32)
    for rows in row_blocks(space.points.n_rows, _ADD_ROWS):
        sides[rows] = space.embed(space.points.take(rows))
    return sides
