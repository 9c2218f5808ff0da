"""The neighbour graph in the space of a kernel."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, check_graph, knn_graph
from tagloom.kernels import Kernel

__all__ = ["EdgeWeights", "kernel_graph"]

EdgeWeights = Literal["binary", "kernel"]

#: Kernels that fall with a distance the neighbour search knows: no underflow can hide who is nearer.
_METRICS: dict[str, Any] = {"rbf": "euclidean", "linear": "euclidean", "chi2": "chi2"}
_ROWS = 512


def kernel_graph(
    given: Any,
    kernel: Kernel,
    X: NDArray[Any],
    *,
    n_neighbors: int,
    weights: EdgeWeights,
    gram: Floats | None = None,
    features: Floats | None = None,
) -> NeighborGraph:
    """Link each photo to its nearest ones by the kernel's distance, or check the graph that was given.

    Parameters
    ----------
    given : NeighborGraph, symmetric sparse matrix of shape (n, n), or None
        None: built here.
    kernel : Kernel
        Its distance is ``√(k(x, x) + k(y, y) - 2k(x, y))``.
    X : array of shape (n, d)
        Training rows.
    n_neighbors : int
        Neighbours of a photo; an edge where either is a neighbour of the other.
    weights : {"binary", "kernel"}
        1, or the kernel's value (edges where that is not positive are dropped).
    gram : array of shape (n, n), optional
        The kernel of all pairs, where it is there.
    features : array of shape (n, p), optional
        Coordinates of the kernel; one of the two is needed.
    """
    if given is not None:
        return check_graph(given, len(X))
    metric = _METRICS.get(kernel.name)
    if metric is not None:
        graph = knn_graph(X, n_neighbors, metric=metric)
    elif features is not None and features.shape[1]:
        graph = knn_graph(features, n_neighbors)
    elif gram is not None:
        graph = NeighborGraph(_nearest_by_kernel(gram, int(n_neighbors)))
    else:
        graph = NeighborGraph(sparse.csr_array((len(X), len(X))))
    return graph if weights == "binary" else _weighted(graph, gram, features)


def _nearest_by_kernel(gram: Floats, n_neighbors: int) -> Any:
    """Return binary weights of the union of nearest neighbours, equal distances to the smaller number."""
    n = len(gram)
    count = min(n_neighbors, n - 1)
    if count == 0:
        return sparse.csr_array((n, n))
    norms = np.diag(gram)
    nearest = np.empty((n, count), dtype=np.intp)
    for start in range(0, n, _ROWS):
        rows = np.arange(start, min(n, start + _ROWS))
        distances = norms - 2.0 * gram[rows]
        distances[np.arange(len(rows)), rows] = np.inf
        nearest[rows] = np.argsort(distances, axis=1, kind="stable")[:, :count]
    pointers = np.arange(n + 1) * count
    directed = sparse.csr_array((np.ones(nearest.size), nearest.ravel(), pointers), shape=(n, n))
    directed.sort_indices()
    W = sparse.csr_array(directed.maximum(sparse.csr_array(directed.T)))
    W.sort_indices()
    return W


def _weighted(graph: NeighborGraph, gram: Floats | None, features: Floats | None) -> NeighborGraph:
    """Return the graph with the kernel's values as weights."""
    W = sparse.coo_array(graph.weights)
    row, column = W.coords
    if gram is not None:
        values = gram[row, column]
    elif features is not None:
        values = np.concatenate(
            [
                np.einsum("ij,ij->i", features[row[part : part + _ROWS]], features[column[part : part + _ROWS]])
                for part in range(0, len(row), _ROWS)
            ]
            or [np.zeros(0)]
        )
    else:
        raise InvalidInputError("kernel weights need the kernel or its coordinates")
    values = np.maximum(values, 0.0)
    # Both directions of an edge are computed alike, but for rounding in the coordinates.
    found = sparse.csr_array((values, (row, column)), shape=W.shape)
    found = sparse.csr_array((found + found.T) * 0.5)
    found.eliminate_zeros()
    found.sort_indices()
    return NeighborGraph(found)
