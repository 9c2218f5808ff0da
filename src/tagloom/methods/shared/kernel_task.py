"""Kernel methods that learn a tag at a time: base class, the task of one tag, the graph in a kernel's own distances."""

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import Annotator, Floats, LabelMatrix
from tagloom.exceptions import ApproximationWarning, InvalidInputError
from tagloom.graph import NeighborGraph, check_graph, knn_graph
from tagloom.kernels import DENSE_BYTES, Kernel, KernelFeatures, choose_landmarks, make_kernel
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.shared.logistic_task import name_tags

__all__ = [
    "EdgeWeights",
    "KernelAnnotator",
    "TagTask",
    "kernel_graph",
    "landmarks_for",
]

#: Landmarks where memory does not hold the exact kernel and the caller names no number.
LANDMARKS = 1000


class TagTask:
    """The tags that can be learnt, and the rows that say something of them.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        Labels with -1 for unknown.
    method : str
        Named in the warning.

    Attributes
    ----------
    tags : ndarray of int, shape (k,)
        Tags with a known positive and a known negative.
    rows : ndarray of int, shape (l,)
        Photos on which one of these is known.
    signs : ndarray of shape (l, k)
        1 has the tag, -1 does not, 0 unknown.
    constant : ndarray of shape (c,)
        ``log((positives + ½) / (negatives + ½))``, the score of every photo for tags that cannot be learnt; 0 for the
        others.
    """

    def __init__(self, Y: LabelMatrix, method: str) -> None:
        positive, negative = (Y == 1).sum(axis=0), (Y == 0).sum(axis=0)
        both = (positive > 0) & (negative > 0)
        self.n_tags = Y.shape[1]
        self.tags = np.flatnonzero(both)
        coded = np.where(Y[:, both] == 1, 1.0, np.where(Y[:, both] == 0, -1.0, 0.0))
        self.rows = np.flatnonzero(coded.any(axis=1))
        self.signs: Floats = coded[self.rows]
        self.constant: Floats = np.where(both, 0.0, np.log((positive + 0.5) / (negative + 0.5)))
        lost = np.flatnonzero(~both)
        if lost.size:
            warnings.warn(
                f"{method}: {name_tags(lost)} without a known positive or without a known negative; every photo gets "
                f"the same score there. Label at least one photo of either kind",
                stacklevel=5,
            )

    def embed(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Return coefficients (m, c) and intercepts (c,) of all tags from those of the tags that were learnt."""
        every = np.zeros((len(coef), self.n_tags))
        every[:, self.tags] = coef
        constant = self.constant.copy()
        constant[self.tags] = intercept
        return every, constant


class KernelAnnotator(Annotator):
    """Base of annotators whose scores are ``K(X, anchors) @ dual_coef_ + intercept_``, or linear in coordinates.

    A subclass settles the kernel by `_settle`, the coordinates (if any) by `_coordinates`, and hands its solution to
    `_keep`, which also sets ``transduction_``.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its parameters as used.
    landmarks_ : ndarray of int or None
        Training photos that are landmarks; None where the kernel is exact.
    dual_coef_ : ndarray of shape (m, c)
        Coefficients of the kernel values with the anchors, or of the coordinates.
    intercept_ : ndarray of shape (c,)
        Added to every score.
    """

    kernel: KernelSpec
    gamma: Gamma
    kernel_parameters: Any
    n_landmarks: int | None
    random_state: Any

    #: Most bytes of a kernel of all pairs that is computed where ``n_landmarks`` is None.
    _kernel_bytes = DENSE_BYTES
    #: Landmarks beyond.
    _most_landmarks = LANDMARKS

    def _settle(self, X: NDArray[Any]) -> Kernel:
        self.kernel_ = make_kernel(self.kernel, X, gamma=self.gamma, parameters=self.kernel_parameters)
        self.landmarks_: NDArray[np.intp] | None = None
        self._features: KernelFeatures | None = None
        return self.kernel_

    def _coordinates(self, X: NDArray[Any], n_exact: int) -> Floats | None:
        """Return coordinates of all rows, or None where the exact kernel of ``n_exact`` rows is the better way.

        The linear kernel with few columns is its own coordinates; other kernels get landmarks where they are asked
        for, or where memory does not hold the kernel of ``n_exact`` rows, which a warning says.
        """
        if self.kernel_.name == "linear" and X.shape[1] <= n_exact and self.n_landmarks is None:
            self._features = KernelFeatures(self.kernel_, X)
        elif self._choose_landmarks(len(X), n_exact):
            self._features = KernelFeatures(self.kernel_, X, self.landmarks_)
        return None if self._features is None else self._features.transform(X)

    def _choose_landmarks(self, n: int, n_exact: int) -> bool:
        """Set ``landmarks_`` where they are asked for or memory needs them, and tell whether there are any."""
        self.landmarks_ = landmarks_for(
            self.kernel_,
            n,
            n_exact,
            n_landmarks=self.n_landmarks,
            random_state=self.random_state,
            method=type(self).__name__,
            most_bytes=self._kernel_bytes,
            otherwise=self._most_landmarks,
        )
        return self.landmarks_ is not None

    def _keep(
        self,
        task: TagTask,
        X: NDArray[Any],
        rows: NDArray[np.intp] | None,
        coef: Floats,
        intercept: Floats,
        scores: Floats | None = None,
    ) -> None:
        """Set the model and the scores of the training photos.

        ``rows``: the photos that ``coef`` belongs to, None where it belongs to coordinates. ``scores``: without the
        intercept, for tags that were learnt, where they are known already.
        """
        self.dual_coef_, self.intercept_ = task.embed(coef, intercept)
        if rows is not None:
            used = self.dual_coef_.any(axis=1)
            self.dual_coef_ = self.dual_coef_[used]
            self._anchors = self.kernel_.select(X, rows[used])
        if scores is None:
            self.transduction_ = self._decision_function(X)
        else:
            self.transduction_ = np.tile(self.intercept_, (len(X), 1))
            self.transduction_[:, task.tags] += scores

    def _keep_constant(self, task: TagTask, X: NDArray[Any]) -> None:
        """Set a model that gives every tag its constant."""
        self._features = None
        self._keep(task, X, np.arange(0), np.zeros((0, 0)), np.zeros(0))

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        if self._features is not None:
            return self._features.transform(X) @ self.dual_coef_ + self.intercept_
        return self.kernel_.product(X, self._anchors, self.dual_coef_) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        """Declare that rows may be kernel values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def landmarks_for(
    kernel: Kernel,
    n: int,
    n_exact: int,
    *,
    n_landmarks: int | None,
    random_state: Any,
    method: str,
    most_bytes: int = DENSE_BYTES,
    otherwise: int = LANDMARKS,
) -> NDArray[np.intp] | None:
    """Return the landmarks of a method, None where its kernel is exact.

    A precomputed kernel is exact unless the caller asks for landmarks: it is in memory already. Otherwise the kernel of
    ``n_exact`` rows is, as long as it takes no more than ``most_bytes``; beyond, a warning says what is done.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    n, n_exact : int
        Training photos, and those whose pairs an exact solution needs.
    n_landmarks : int or None
        What the caller asks for.
    random_state : int, Generator or None
        Draws them.
    method : str
        Named in the warning.
    most_bytes : int
        The limit.
    otherwise : int
        Landmarks where the caller asked for no number.
    """
    if n_landmarks is not None:
        return choose_landmarks(n, n_landmarks, random_state)
    if kernel.precomputed or 8 * n_exact**2 <= most_bytes:
        return None
    warnings.warn(
        f"{method} approximates its kernel by {otherwise} landmarks: the kernel of {n_exact} photos would take "
        f"{8e-9 * n_exact**2:.1f} GB, the limit is {1e-9 * most_bytes:.1f} GB. Set n_landmarks to choose how many, or "
        f"compute the kernel yourself and pass kernel='precomputed'",
        ApproximationWarning,
        stacklevel=6,
    )
    return choose_landmarks(n, otherwise, random_state)


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
