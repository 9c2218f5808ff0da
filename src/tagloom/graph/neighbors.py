"""Nearest neighbours of new rows among known ones."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.graph.exact import exact_neighbors
from tagloom.graph.rows import check_features
from tagloom.graph.runtime import check_threads
from tagloom.graph.spaces import Metric, make_space

__all__ = ["check_n_neighbors", "finite_distances", "nearest_neighbors"]


def nearest_neighbors(
    queries: ArrayLike,
    points: ArrayLike,
    n_neighbors: int,
    *,
    metric: Metric = "euclidean",
    normalize: bool = False,
    n_threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the exact nearest points of each query.

    Parameters
    ----------
    queries : array-like of shape (q, d)
        Rows to find neighbours for; float32 or float64, finite.
    points : array-like of shape (n, d)
        Rows to find them among. A query that is also a point finds itself (use `knn_graph` for a graph without loops).
    n_neighbors : int
        How many; cut to n where it is larger.
    metric : {"euclidean", "cosine", "inner_product", "l1", "intersection", "chi2"}, default="euclidean"
        See Notes.
    normalize : bool, default=False
        Divide every row by its sum first ("l1", "intersection" and "chi2" only).
    n_threads : int, optional
        Threads; by default the cores this process may use, or ``OMP_NUM_THREADS`` where lower.

    Returns
    -------
    distances : ndarray of float64, shape (q, min(n_neighbors, n))
        Ascending in each row.
    indices : ndarray of int, same shape
        Rows of ``points``. Equal distances are ordered by index.

    Raises
    ------
    InvalidInputError
        For shapes that do not fit, NaN, sparse input, or features the metric is not defined for.

    Notes
    -----
    Distances: the Euclidean one; 1 - cosine similarity; minus the inner product, so that smaller is nearer throughout;
    Σ|x - y|; 1 - Σ min(x, y) for histograms of sum 1; Σ (x - y)²/(x + y) for non-negative rows.
    Two rows of zeros are at cosine distance 0 from each other and 1 from all others; so are empty histograms under
    ``normalize=True`` with "intersection".

    Ranks are those of float64 distances computed without cancellation, whatever the type of the features, and the same
    for any number of threads.

    Examples
    --------
    >>> nearest_neighbors([[0.0]], [[3.0], [-1.0], [1.0]], 2)
    (array([[1., 1.]]), array([[1, 2]]))
    """
    threads = check_threads(n_threads)
    k = check_n_neighbors(n_neighbors)
    points = check_features(points, "points")
    queries = check_features(queries, "queries")
    if queries.shape[1] != points.shape[1]:
        raise InvalidInputError(
            f"queries and points must have the same columns, got {queries.shape[1]} and {points.shape[1]}"
        )
    space = make_space(metric, queries, points, normalize=normalize)
    keys, indices = exact_neighbors(space, min(k, points.shape[0]), n_threads=threads)
    return finite_distances(space.distances(keys)), indices


def check_n_neighbors(n_neighbors: Any) -> int:
    """Return the number of neighbours as an int of at least 1."""
    if not isinstance(n_neighbors, numbers.Integral) or isinstance(n_neighbors, bool) or int(n_neighbors) < 1:
        raise InvalidInputError(f"n_neighbors must be an integer of at least 1, got {n_neighbors!r}")
    return int(n_neighbors)


def finite_distances(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Raise where a distance or an inner product is too large for float64."""
    if not np.isfinite(distances).all():
        raise InvalidInputError(
            "distances or products of rows exceed the range of float64; divide the features by their largest value"
        )
    return distances
