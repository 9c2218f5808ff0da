"""Labels spread over the neighbour graph: harmonic functions, and local and global consistency."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from tagloom.core import (
    COMMON,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    UNKNOWN,
    Annotator,
    Floats,
    LabelMatrix,
    NumberIn,
    OneOf,
    known_patterns,
)
from tagloom.graph import NeighborGraph, check_graph, knn_graph, nearest_neighbors
from tagloom.solvers import BlockCGResult, block_cg

__all__ = ["HarmonicPropagation", "LocalGlobalConsistency"]


class GraphPropagation(Annotator, ABC):
    """What annotators have in common that know photos by their neighbours alone.

    Training photos get scores by a linear system on the graph; a new photo gets the weighted mean of the scores of its
    nearest training photos.
    """

    _parameter_constraints = COMMON | {
        "weights": [OneOf("binary", "heat")],
        "bandwidth": [POSITIVE, None],
        "max_iter": [COUNT, None],
        "pull": [NOT_NEGATIVE],
        "alpha": [NumberIn(Real, 0, 1, closed="neither")],
    }

    n_neighbors: int
    graph: Any
    metric: Any
    weights: Literal["binary", "heat"]
    bandwidth: float | None
    tol: float
    max_iter: int | None
    n_threads: int | None

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        graph = self.graph_of(X)
        known = Y != UNKNOWN
        self.prior_: Floats = (Y == 1).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        # A copy, so that the model does not change when the caller reuses the array.
        self._points = X.copy()
        self._bandwidth = graph.bandwidth if self.bandwidth is None else float(self.bandwidth)
        self.transduction_, self.n_iter_ = self._propagate(graph, Y, known)

    @abstractmethod
    def _propagate(self, graph: NeighborGraph, Y: LabelMatrix, known: NDArray[np.bool_]) -> tuple[Floats, int]:
        """Return the scores of the training photos and the iterations it took."""

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        points = self._points
        count = min(int(self.n_neighbors), len(points))
        queries = X.astype(points.dtype, copy=False)
        distances, indices = nearest_neighbors(queries, points, count, metric=self.metric, n_threads=self.n_threads)
        weights = self._weights_of(distances)
        weights /= weights.sum(axis=1, keepdims=True)
        pointers = np.arange(0, indices.size + 1, count)
        mean = sparse.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(len(X), len(points)))
        return np.asarray(mean @ self.transduction_)

    def _weights_of(self, distances: Floats) -> Floats:
        """Weight neighbours as edges are; only ratios matter, so the nearest one always has weight 1."""
        if self.weights == "binary":
            return np.ones_like(distances)
        width = distances[:, -1:] if self._bandwidth is None else np.full((len(distances), 1), self._bandwidth)
        width = np.where(width > 0, width, 1.0)
        return np.exp(0.5 * (np.square(distances[:, :1] / width) - np.square(distances / width)))

    def graph_of(self, X: NDArray[Any]) -> NeighborGraph:
        """Build the graph, or check the one that was given."""
        if self.graph is None:
            return knn_graph(
                X,
                self.n_neighbors,
                metric=self.metric,
                weights=self.weights,
                bandwidth=self.bandwidth if self.weights == "heat" else None,
                n_threads=self.n_threads,
            )
        return check_graph(self.graph, len(X))

    def _solve(self, A: Any, B: Floats, **options: Any) -> BlockCGResult:
        # Refinement brings float32 iterations to the same residual in half the time.
        options |= {"tol": self.tol, "max_iter": self.max_iter, "n_threads": self.n_threads}
        return block_cg(A, B, dtype="float32", **options)


class HarmonicPropagation(GraphPropagation):
    """Label propagation: each unlabelled photo gets the mean score of its neighbours.

    All tags are solved at once. Known entries keep their label exactly; unknown ones, also on photos known for other
    tags, are solved for.

    Parameters
    ----------
    n_neighbors : int, default=15
        Neighbours of a photo, in the graph and of a new photo.
    graph : NeighborGraph or symmetric sparse matrix of shape (n, n), optional
        Graph over the training photos. Default: built by `tagloom.graph.knn_graph`.
    metric : str, default="euclidean"
        Distance between photos; see `tagloom.graph.nearest_neighbors`.
    weights : {"binary", "heat"}, default="binary"
        Weights of edges and of a new photo's neighbours: 1, or ``exp(-distance²/(2·bandwidth²))``.
    bandwidth : float, optional
        Width of the heat kernel. Default: the median distance to a neighbour.
    pull : float, default=0.0
        Weight of a further neighbour of every unknown entry whose score is the tag's prior. With a positive one, tags
        fade with the distance from labels.
    tol : float, default=1e-8
        Relative residual of the linear solver.
    max_iter : int, optional
        Most iterations of the linear solver; see `tagloom.solvers.block_cg`.
    n_threads : int, optional
        Threads. Default: all cores.

    Attributes
    ----------
    transduction_ : ndarray of shape (n, c)
        Scores of the training photos in [0, 1]; known entries are their labels.
    prior_ : ndarray of shape (c,)
        Frequency of each tag among its known entries; 0 for a tag known nowhere.
    n_iter_ : int
        Most iterations of a tag.

    Notes
    -----
    Minimises ``tr(FᵀLF) + pull·Σ_unknown (F_ij - prior_j)²`` under ``F_ij = Y_ij`` where known, that is
    ``L_uu F_u = W_ul Y_l`` per tag, by conjugate gradients on all tags together. A connected component that holds no
    known entry of a tag says nothing of it: its photos get the tag's prior.

    New photos are no part of the reference: their score is the weighted mean over the nearest training photos.

    References
    ----------
    X. Zhu, Z. Ghahramani, J. Lafferty: Semi-supervised learning using Gaussian fields and harmonic functions, ICML
    2003.
    """

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        graph: Any = None,
        metric: str = "euclidean",
        weights: Literal["binary", "heat"] = "binary",
        bandwidth: float | None = None,
        pull: float = 0.0,
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.metric = metric
        self.weights = weights
        self.bandwidth = bandwidth
        self.pull = pull
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def _propagate(self, graph: NeighborGraph, Y: LabelMatrix, known: NDArray[np.bool_]) -> tuple[Floats, int]:
        start = np.where(known, Y, self.prior_)
        system = graph.laplacian("unnormalized")
        if self.pull > 0:
            system = sparse.csr_array(system + self.pull * sparse.eye_array(graph.n_nodes))
            free, target = ~known, np.tile(self.pull * self.prior_, (len(Y), 1))
        else:
            free, target = ~known & _reached(graph, known), np.zeros(Y.shape)
        result = self._solve(system, target, x0=start, column_mask=free)
        # The exact solution lies between the labels, so cutting can only bring rounding nearer to it.
        return np.clip(result.x, 0.0, 1.0), int(result.n_iter.max())


class LocalGlobalConsistency(GraphPropagation):
    """Label spreading over the normalised graph (local and global consistency).

    All tags are solved at once. Labels are not clamped: a known entry that its neighbours contradict may change.

    Parameters
    ----------
    n_neighbors : int, default=15
        Neighbours of a photo, in the graph and of a new photo.
    alpha : float, default=0.99
        Share that a photo takes from its neighbours, in (0, 1); the rest is its own label (α of the paper).
    normalize : bool, default=True
        Score is the share of what arrived from photos with the tag in what arrived from all photos known for the tag,
        so that an explicit no counts, and an unknown entry counts as nothing. False: the paper's F itself, in which a
        no is the same as an unknown.
    graph : NeighborGraph or symmetric sparse matrix of shape (n, n), optional
        Graph over the training photos. Default: built by `tagloom.graph.knn_graph`.
    metric : str, default="euclidean"
        Distance between photos; see `tagloom.graph.nearest_neighbors`.
    weights : {"binary", "heat"}, default="binary"
        Weights of edges and of a new photo's neighbours: 1, or ``exp(-distance²/(2·bandwidth²))``.
    bandwidth : float, optional
        Width of the heat kernel. Default: the median distance to a neighbour.
    tol : float, default=1e-8
        Relative residual of the linear solver.
    max_iter : int, optional
        Most iterations of the linear solver; see `tagloom.solvers.block_cg`.
    n_threads : int, optional
        Threads. Default: all cores.

    Attributes
    ----------
    transduction_ : ndarray of shape (n, c)
        Scores of the training photos.
    prior_ : ndarray of shape (c,)
        Frequency of each tag among its known entries; 0 for a tag known nowhere.
    n_iter_ : int
        Most iterations of a tag.

    Notes
    -----
    ``F = (1 - α)(I - αS)⁻¹Y`` with ``S = D^(-1/2) G D^(-1/2)``, Y 1 where a photo has the tag and 0 elsewhere. With
    ``normalize`` the same is solved for the known entries, and the quotient is the score; scikit-learn's
    ``LabelSpreading`` on one tag agrees. Where less than the solver's accuracy arrived, the score is the tag's prior.

    New photos are no part of the reference: their score is the weighted mean over the nearest training photos.

    References
    ----------
    D. Zhou, O. Bousquet, T. N. Lal, J. Weston, B. Schölkopf: Learning with local and global consistency, NIPS 2003.
    """

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        alpha: float = 0.99,
        normalize: bool = True,
        graph: Any = None,
        metric: str = "euclidean",
        weights: Literal["binary", "heat"] = "binary",
        bandwidth: float | None = None,
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.normalize = normalize
        self.graph = graph
        self.metric = metric
        self.weights = weights
        self.bandwidth = bandwidth
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def _propagate(
        self,
        graph: NeighborGraph,
        Y: LabelMatrix,
        known: NDArray[np.bool_],  # noqa: ARG002
    ) -> tuple[Floats, int]:
        # Tags known on the same photos share one column of what arrives from all known photos.
        patterns, pattern_of = known_patterns(Y)
        sources = np.hstack([Y == 1, patterns]) if self.normalize else Y == 1
        has_edge = sparse.diags_array((graph.degrees > 0).astype(np.float64))
        spread = has_edge - graph.laplacian("symmetric")
        system = sparse.csr_array(sparse.eye_array(graph.n_nodes) - self.alpha * spread)
        result = self._solve(system, (1.0 - self.alpha) * sources)
        found, n_iter = np.asarray(result.x[:, : Y.shape[1]], dtype=np.float64), int(result.n_iter.max())
        if not self.normalize:
            return found, n_iter
        noise = 10 * self.tol * (1.0 - self.alpha) * np.sqrt(patterns.sum(axis=0))[pattern_of]
        total = result.x[:, Y.shape[1] :][:, pattern_of]
        scores = np.tile(self.prior_, (len(Y), 1))
        np.divide(found, total, out=scores, where=total > noise)
        return np.clip(scores, 0.0, 1.0), n_iter


def _reached(graph: NeighborGraph, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which entries lie in a connected component that holds a known entry of the same tag."""
    n_components, component = connected_components(graph.weights, directed=False)
    members = sparse.csr_array(
        (np.ones(len(known)), (component, np.arange(len(known)))), shape=(n_components, len(known))
    )
    holds_label: NDArray[np.bool_] = (members @ known.astype(np.float64)) > 0
    return holds_label[component]
