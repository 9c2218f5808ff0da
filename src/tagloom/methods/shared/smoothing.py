"""Scores smoothed over the neighbour graph of all photos."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.graph import NeighborGraph, check_graph, knn_graph
from tagloom.graph.spaces import Metric
from tagloom.solvers import block_cg

__all__ = ["smooth_scores", "smoothing_graph"]


def smoothing_graph(X: NDArray[Any], *, n_neighbors: int, metric: Metric) -> NeighborGraph:
    """Return the graph that scores of at least two photos are smoothed over."""
    return knn_graph(X, min(n_neighbors, len(X) - 1), metric=metric)


def smooth_scores(
    scores: Floats,
    X: NDArray[Any],
    Y: LabelMatrix,
    *,
    strength: float,
    clamp: bool = False,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    graph: Any = None,
    tol: float = 1e-8,
) -> Floats:
    """Return ``F = argmin ‖F - scores‖² + strength·tr(FᵀLF)``, L the symmetric normalised Laplacian.

    Parameters
    ----------
    scores : array of shape (n, c)
        What is smoothed.
    X : array of shape (n, d)
        Features whose neighbour graph is used.
    Y : label matrix of shape (n, c)
        Only looked at with ``clamp``.
    strength : float
        s ≥ 0; 0 changes nothing.
    clamp : bool, default=False
        Known entries are fixed at their labels.
    n_neighbors, metric
        Of the graph; see `tagloom.graph.knn_graph`.
    graph : NeighborGraph or symmetric sparse matrix of shape (n, n), optional
        The graph itself, in place of these.
    tol : float, default=1e-8
        Relative residual of the linear solver.
    """
    n = scores.shape[0]
    if n < 2:
        return scores.copy()
    links = smoothing_graph(X, n_neighbors=n_neighbors, metric=metric) if graph is None else check_graph(graph, n)
    system = sparse.csr_array(sparse.eye_array(n) + strength * links.laplacian("symmetric"))
    if not clamp:
        return np.asarray(block_cg(system, scores, x0=scores, tol=tol).x, dtype=np.float64)
    known = Y != UNKNOWN
    start = np.where(known, Y, scores).astype(np.float64)
    return np.asarray(block_cg(system, scores, x0=start, tol=tol, column_mask=~known).x, dtype=np.float64)
