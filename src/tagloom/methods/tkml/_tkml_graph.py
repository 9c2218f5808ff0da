"""The neighbour system of TKML: similarities as weights, for training photos and for new ones."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, check_graph, knn_graph, nearest_neighbors
from tagloom.graph.spaces import Metric

__all__ = ["EdgeWeights", "Neighborhood"]

EdgeWeights = Literal["heat", "binary", "similarity"]

_PAIRS = 1 << 22  # numbers of two blocks of rows that are compared at a time


@dataclass(frozen=True)
class Neighborhood:
    """How photos are linked.

    Parameters
    ----------
    n_neighbors : int
        k.
    metric : str
        See `tagloom.graph.nearest_neighbors`.
    weights : {"heat", "binary", "similarity"}
        ``exp(-distance²/(2·bandwidth²))``, 1, or ``1 - distance`` ("cosine" and "intersection").
    bandwidth : float or None
        None: the median distance to a neighbour.
    n_threads : int or None
        Threads of the search.
    """

    n_neighbors: int
    metric: Metric
    weights: EdgeWeights
    bandwidth: float | None = None
    n_threads: int | None = None

    def check(self) -> None:
        """Raise where a parameter does not fit."""
        if self.weights not in get_args(EdgeWeights):
            raise InvalidInputError(f"weights must be one of {get_args(EdgeWeights)}, got {self.weights!r}")
        if self.weights == "similarity" and self.metric not in ("cosine", "intersection"):
            raise InvalidInputError(
                f"weights='similarity' is 1 - distance and needs metric 'cosine' or 'intersection', "
                f"got {self.metric!r}; use weights='heat'"
            )
        if self.bandwidth is not None and not 0.0 < self.bandwidth < np.inf:
            raise InvalidInputError(f"bandwidth must be a positive number or None, got {self.bandwidth!r}")

    def graph(self, X: NDArray[Any], given: Any = None) -> NeighborGraph:
        """Link the training photos, or check the graph that was given."""
        if given is not None:
            return check_graph(given, len(X))
        heat = self.weights == "heat"
        graph = knn_graph(
            X,
            self.n_neighbors,
            metric=self.metric,
            weights="heat" if heat else "binary",
            bandwidth=self.bandwidth if heat else None,
            n_threads=self.n_threads,
        )
        return self._by_similarity(graph, X) if self.weights == "similarity" else graph

    def links(self, queries: NDArray[Any], points: NDArray[Any], bandwidth: float | None) -> Any:
        """Return the weights of new photos (n) to the training photos (m), CSR.

        Parameters
        ----------
        queries, points : arrays of shape (n, d) and (m, d)
            New photos and training photos.
        bandwidth : float or None
            Of the graph; None: of each photo, its last neighbour.
        """
        count = min(self.n_neighbors, len(points))
        distances, indices = nearest_neighbors(queries, points, count, metric=self.metric, n_threads=self.n_threads)
        if self.weights == "binary":
            values = np.ones(distances.shape)
        elif self.weights == "similarity":
            values = np.maximum(1.0 - distances, 0.0)
        else:
            width = distances[:, -1:] if bandwidth is None else np.full((len(distances), 1), bandwidth)
            values = np.exp(-0.5 * np.square(distances / np.where(width > 0, width, 1.0)))
        pointers = np.arange(0, indices.size + 1, count)
        return sparse.csr_array((values.ravel(), indices.ravel(), pointers), shape=(len(queries), len(points)))

    def _by_similarity(self, graph: NeighborGraph, X: NDArray[Any]) -> NeighborGraph:
        row, column = sparse.coo_array(graph.weights).coords
        values = np.empty(len(row))
        size = max(1, _PAIRS // max(X.shape[1], 1))
        for start in range(0, len(row), size):
            part = slice(start, start + size)
            values[part] = self._similarity(X[row[part]].astype(np.float64), X[column[part]].astype(np.float64))
        weights = sparse.csr_array((np.maximum(values, 0.0), (row, column)), shape=graph.weights.shape)
        weights.eliminate_zeros()
        weights.sort_indices()
        return NeighborGraph(weights, graph.recall)

    def _similarity(self, left: Floats, right: Floats) -> Floats:
        if self.metric == "intersection":
            return np.asarray(np.minimum(left, right).sum(axis=1))
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        products = np.einsum("ij,ij->i", left, right)
        return np.divide(products, lengths, out=np.ones_like(products), where=lengths > 0)
