"""Laplacian support vector machines, in the primal."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Floats, LabelMatrix
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.shared import EdgeWeights, Gram, ManifoldAnnotator, SymmetricLaplacian, fit_squared_hinge

__all__ = ["LapSVM"]


class LapSVM(ManifoldAnnotator):
    """Kernel machines with squared hinge loss, smooth over the graph of labelled and unlabelled photos.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        See `tagloom.kernels.make_kernel`; "precomputed": X is the kernel of all pairs, and rows of new photos hold
        their kernel with all training photos.
    gamma : float, "scale", "dimension", "mean" or None, default=None
        See `tagloom.kernels.default_gamma`.
    kernel_parameters : dict, optional
        Further parameters of the kernel, such as ``levels`` and ``n_words`` of "pyramid".
    ambient_weight : float, default=0.005
        γ_A, weight of the norm in the kernel's space. ``1 / (2 γ_A)`` is C of an SVM with the squared hinge.
    graph_weight : float, default=0.045
        γ_I, weight of ``fᵀLf``. 0: an SVM with the squared hinge on the labelled photos.
    fit_intercept : bool, default=True
        Whether scores have an intercept, which neither weight acts on.
    graph : NeighborGraph or symmetric sparse matrix of shape (n, n), optional
        Graph over the training photos. Default: neighbours by the kernel's distance.
    n_neighbors : int, default=15
        Neighbours of a photo in that graph.
    weights : {"binary", "kernel"}, default="binary"
        Weights of its edges: 1, or the kernel's value.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        L.
    n_landmarks : int, optional
        Landmarks (Nyström). Default: the exact kernel, if it takes at most 1 GiB (11,585 photos) or is precomputed;
        else 1,000 landmarks, with a warning. The linear kernel with at most as many columns as photos needs neither.
    tol : float, default=1e-9
        Optimality of a tag, in the coefficients of labelled photos, at which its Newton steps end.
    max_iter : int, default=100
        Most Newton steps.
    random_state : int, Generator or None, default=0
        Draws the landmarks.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m, c)
        α for the training photos (or the coordinates, see ``landmarks_``).
    intercept_ : ndarray of shape (c,)
        b.
    coef_ : ndarray of shape (d, c)
        Coefficients of the columns, for the linear kernel with at most as many columns as photos only.
    landmarks_ : ndarray of int or None
        Which training photos are landmarks.
    objective_ : list of float
        The objective summed over tags, at zero and after each Newton step; it never rises.
    optimality_ : float
        Largest entry of ``γ_A α + γ_I L K α - Jᵀ y(1 - yf)₊``, relative to the largest ``(1 - yf)₊``.
    n_iter_ : int
        Newton steps.

    Notes
    -----
    For each tag: ``½[Σ_known (1 - y_i f_i)₊² + γ_A ‖f‖² + γ_I fᵀLf]``, y coded ±1, f without b in the penalties. The
    reference's factors 1/l and 1/n² are part of the weights here.

    One LU factorisation of ``γ_A I + γ_I LK`` for all tags (`methods.shared.manifold`); what remains are
    l × l problems, solved by Newton steps for all tags at once (`tagloom.methods.shared.squared_hinge`). The
    reference takes Newton steps or preconditioned conjugate gradients in n unknowns for each tag. A tag without a known
    positive or without a known negative gets a constant score and is named in a warning.

    References
    ----------
    S. Melacci, M. Belkin, "Laplacian support vector machines trained in the primal", JMLR 12, 2011.
    """

    def __init__(
        self,
        kernel: KernelSpec = "rbf",
        *,
        gamma: Gamma = None,
        kernel_parameters: Any = None,
        ambient_weight: float = 0.005,
        graph_weight: float = 0.045,
        fit_intercept: bool = True,
        graph: Any = None,
        n_neighbors: int = 15,
        weights: EdgeWeights = "binary",
        laplacian: SymmetricLaplacian = "unnormalized",
        n_landmarks: int | None = None,
        tol: float = 1e-9,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        super().__init__(
            kernel,
            gamma=gamma,
            kernel_parameters=kernel_parameters,
            ambient_weight=ambient_weight,
            graph_weight=graph_weight,
            fit_intercept=fit_intercept,
            graph=graph,
            n_neighbors=n_neighbors,
            weights=weights,
            laplacian=laplacian,
            n_landmarks=n_landmarks,
            random_state=random_state,
        )
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        self.n_iter_ = 0
        super()._fit(X, Y)

    def _solve(self, gram: Gram, signs: Floats) -> tuple[Floats, Floats]:
        found = fit_squared_hinge(
            gram, signs, fit_intercept=self.fit_intercept, tol=self.tol, max_iter=int(self.max_iter)
        )
        self.objective_, self.n_iter_ = found.objective, found.n_iter
        return found.coef, found.intercept

    def _forces(self, signs: Floats, scores: Floats) -> Floats:
        return signs * np.maximum(1.0 - signs * scores, 0.0)
