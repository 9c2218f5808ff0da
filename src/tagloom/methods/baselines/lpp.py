"""Locality preserving projections, linear and kernel, and an SVM on what they leave."""

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.core import (
    COMMON,
    COUNT,
    POSITIVE_SHARE,
    Annotator,
    Floats,
    LabelMatrix,
    OneOf,
    check_parameters,
)
from tagloom.kernels import KernelFeatures, make_kernel
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.baselines.svm import fit_tags
from tagloom.methods.shared import EdgeWeights, TagTask, landmarks_for
from tagloom.methods.shared.kernel_task import kernel_graph

__all__ = ["LPP", "LPPSVM", "locality_directions", "n_directions"]


#: Directions in which TᵀDT is below this share of its largest eigenvalue are noise and are left out.
_SMALLEST = 1e-12


class LPP(TransformerMixin, BaseEstimator):
    """Locality preserving projection (He and Niyogi) in the space of a kernel.

    Parameters
    ----------
    n_components : int, optional
        Directions to keep. Default: as ``subspace_energy`` says.
    kernel : str or callable, default="rbf"
        See `tagloom.kernels.make_kernel`; "linear" is the method of the reference.
    gamma : float, "scale", "dimension", "mean" or None, default=None
        See `tagloom.kernels.default_gamma`.
    kernel_parameters : dict, optional
        Further parameters of the kernel.
    energy : float, default=0.98
        Share of the kernel's eigenvalues that the principal subspace keeps in which directions are sought. Without it
        the last directions are noise: KDK is nearly singular.
    subspace_energy : float, default=0.9
        Share of ``Σ max(1 - λ, 0)`` that the directions keep.
    graph : NeighborGraph or symmetric sparse matrix of shape (n, n), optional
        Graph over the training photos. Default: neighbours by the kernel's distance.
    n_neighbors : int, default=15
        Neighbours of a photo in that graph.
    weights : {"binary", "kernel"}, default="kernel"
        Weights of its edges: 1, or the kernel's value, as the LPSSVM paper has them.
    n_landmarks : int, optional
        Landmarks (Nyström). Default: the exact kernel, if it takes at most 1 GiB (11,585 photos) or is precomputed;
        else 1,000 landmarks, with a warning.
    random_state : int, Generator or None, default=0
        Draws the landmarks.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (m,)
        λ of the directions kept, ascending, in [0, 2].
    projection_ : ndarray of shape (p, m)
        a in the coordinates of the principal subspace.
    components_ : ndarray of shape (d, m)
        a for the columns of X; for the linear kernel with at most as many columns as photos only.
    scale_ : float
        ``√(ΣD / m)``: multiplies projections to a mean squared length of 1, weighted by the degrees.
    embedding_ : ndarray of shape (n, m)
        Projections of the training photos.
    landmarks_ : ndarray of int or None
        Training photos that are landmarks; None where the kernel is exact.

    Notes
    -----
    With T the coordinates of the photos, the smallest eigenvalues of ``TᵀLT a = λ TᵀDT a``, ``aᵀTᵀDTa = 1``. The
    sign of a direction is such that its largest entry in ``embedding_`` is positive. Nothing is centred, as in the
    papers. Where no photo has a neighbour, D is taken as the identity.

    References
    ----------
    X. He, P. Niyogi, "Locality preserving projections", NIPS 2003.
    """

    _parameter_constraints = COMMON | {
        "n_components": [COUNT, None],
        "subspace_energy": [POSITIVE_SHARE],
        "weights": [OneOf(*get_args(EdgeWeights))],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelSpec = "rbf",
        gamma: Gamma = None,
        kernel_parameters: Any = None,
        energy: float = 0.98,
        subspace_energy: float = 0.9,
        graph: Any = None,
        n_neighbors: int = 15,
        weights: EdgeWeights = "kernel",
        n_landmarks: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_parameters = kernel_parameters
        self.energy = energy
        self.subspace_energy = subspace_energy
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "LPP":  # noqa: ARG002
        """Find the directions; ``y`` is not used."""
        check_parameters(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        kernel = make_kernel(self.kernel, X, gamma=self.gamma, parameters=self.kernel_parameters)
        n_exact = min(X.shape) if kernel.name == "linear" else len(X)
        self.landmarks_ = landmarks_for(
            kernel, len(X), n_exact, n_landmarks=self.n_landmarks, random_state=self.random_state, method="LPP"
        )
        self._features = KernelFeatures(kernel, X, self.landmarks_, energy=self.energy)
        T = self._features.transform(X)
        graph = kernel_graph(self.graph, kernel, X, n_neighbors=self.n_neighbors, weights=self.weights, features=T)
        values, directions = locality_directions(T, graph.laplacian(), graph.degrees)
        count = self._count(values)
        self.eigenvalues_ = values[:count]
        embedding = T @ directions[:, :count]
        largest = np.abs(embedding).argmax(axis=0)
        signs = np.where(embedding[largest, np.arange(count)] < 0, -1.0, 1.0)
        self.embedding_: Floats = embedding * signs
        self.projection_: Floats = directions[:, :count] * signs
        degrees = _positive_degrees(graph.degrees)
        self.scale_ = float(np.sqrt(degrees.sum() / max(count, 1)))
        columns = self._features.linear_map(self.projection_)
        if columns is not None:
            self.components_ = columns
        return self

    def transform(self, X: Any) -> Floats:
        """Return projections of shape (n, m), so that ``embeddingᵀ D embedding = I`` on the training photos."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        found: Floats = self._features.transform(X) @ self.projection_
        return found

    def _count(self, values: Floats) -> int:
        if self.n_components is None:
            return n_directions(values, self.subspace_energy)
        return min(int(self.n_components), len(values))

    def __sklearn_tags__(self) -> Any:
        """Declare that rows may be kernel values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


class LPPSVM(Annotator):
    """Locality preserving projection, then a linear SVM for each tag.

    Parameters
    ----------
    reducer : LPP or None, default=None
        Finds the directions; it is cloned. None: ``LPP()``.
    C : float, default=1.0
        Weight of the loss.
    tol : float, default=1e-5
        As `tagloom.methods.baselines.svm.KernelSVM` has it.

    Attributes
    ----------
    reducer_ : LPP
        The fitted reducer.
    coef_ : ndarray of shape (m, c)
        Coefficients of the scaled projections ``reducer_.scale_ * reducer_.transform(X)``.
    intercept_ : ndarray of shape (c,)
        b.

    Notes
    -----
    Projections are multiplied by one number, ``LPP.scale_``, before the SVM: under the constraint ``aᵀTᵀDTa = 1`` they
    are so small that C = 1 regularises everything away. It is the same as another C. The SVM is
    `tagloom.methods.baselines.svm.fit_tags` on inner products of projections.
    """

    _parameter_constraints = COMMON | {"reducer": [LPP, None]}

    def __init__(self, reducer: LPP | None = None, *, C: float = 1.0, tol: float = 1e-5) -> None:
        self.reducer = reducer
        self.C = C
        self.tol = tol

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        self.reducer_: LPP = LPP() if self.reducer is None else clone(self.reducer)
        self.reducer_.fit(X)
        task = TagTask(Y, "LPPSVM")
        coordinates = self.reducer_.scale_ * self.reducer_.embedding_
        labelled = coordinates[task.rows]
        dual, intercept = fit_tags(labelled @ labelled.T, task.signs, C=self.C, tol=self.tol)
        self.coef_, self.intercept_ = task.embed(labelled.T @ dual, intercept)
        self.transduction_ = coordinates @ self.coef_ + self.intercept_

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        projected = self.reducer_.scale_ * self.reducer_.transform(X)
        scores: Floats = projected @ self.coef_ + self.intercept_
        return scores

    def __sklearn_tags__(self) -> Any:
        """Declare that rows may be kernel values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.reducer is not None and self.reducer.kernel == "precomputed"
        return tags


def locality_directions(T: Floats, L: Any, degrees: Floats) -> tuple[Floats, Floats]:
    """Solve ``TᵀLT a = λ TᵀDT a`` with ``aᵀTᵀDTa = 1`` where TᵀDT is not singular.

    Parameters
    ----------
    T : array of shape (n, p)
        Coordinates.
    L : sparse array of shape (n, n)
        Laplacian.
    degrees : array of shape (n,)
        Diagonal of D; all zero: the identity.

    Returns
    -------
    eigenvalues : ndarray of shape (q,)
        Ascending.
    directions : ndarray of shape (p, q)
        a.
    """
    D = _positive_degrees(degrees)
    spread, axes = eigh(T.T @ (D[:, None] * T))
    kept = spread > _SMALLEST * max(float(spread[-1]), 0.0) if len(spread) else np.zeros(0, dtype=bool)
    whiten = axes[:, kept] / np.sqrt(spread[kept])
    white = T @ whiten
    smooth = white.T @ (L @ white)
    values, vectors = eigh(0.5 * (smooth + smooth.T))
    return np.asarray(values), np.asarray(whiten @ vectors)


def n_directions(values: Floats, share: float) -> int:
    """Return how many of the smallest eigenvalues hold a share of ``Σ max(1 - λ, 0)``, at least one.

    Parameters
    ----------
    values : array of shape (q,)
        λ, ascending.
    share : float
        In (0, 1]. 1 keeps all directions with λ < 1.
    """
    gains = np.maximum(1.0 - values, 0.0)
    total = float(gains.sum())
    if total <= 0.0:
        return min(1, len(values))
    reached = np.cumsum(gains) / total
    return min(int((gains > 0).sum()), int(np.searchsorted(reached, share - 1e-12)) + 1)


def _positive_degrees(degrees: Floats) -> Floats:
    return degrees if degrees.any() else np.ones_like(degrees)
