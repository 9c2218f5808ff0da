"""Laplacian regularised least squares."""

import numpy as np

from tagloom.core import Floats
from tagloom.methods.shared import Gram, ManifoldAnnotator, solve_masked

__all__ = ["LapRLS"]


class LapRLS(ManifoldAnnotator):
    """Kernel least squares, smooth over the graph of labelled and unlabelled photos.

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
        γ_A, weight of the norm in the kernel's space.
    graph_weight : float, default=0.045
        γ_I, weight of ``fᵀLf``. 0: kernel ridge regression on the labelled photos.
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
    optimality_ : float
        Largest entry of ``γ_A α + γ_I L K α - Jᵀ(y - f)``, relative to the largest residual ``y - f``.
    objective_ : list of float
        The objective, summed over tags.

    Notes
    -----
    For each tag: ``½[Σ_known (y_i - f_i)² + γ_A ‖f‖² + γ_I fᵀLf]``, y coded ±1, f without b in the penalties. The
    reference divides the loss by the number of labelled photos and the graph term by n²; the defaults are the values of
    its experiments, ``γ_A l`` = 0.005 and ``γ_I l / n²`` = 0.045, in this form.

    One LU factorisation of ``γ_A I + γ_I LK`` for all tags (`methods.shared.manifold`), then one Cholesky
    factorisation of an l × l matrix for each set of labelled rows. A tag without a known positive or without a known
    negative gets a constant score and is named in a warning.

    References
    ----------
    M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization", JMLR 7, 2006.
    """

    def _solve(self, gram: Gram, signs: Floats) -> tuple[Floats, Floats]:
        known = signs != 0
        coef, intercept = solve_masked(gram, known, np.ones_like(signs), signs, fit_intercept=self.fit_intercept)
        smooth = gram.product(coef)
        loss = np.square(np.where(known, signs - smooth - intercept, 0.0)).sum()
        self.objective_ = [0.5 * float(loss + (coef * smooth).sum())]
        return coef, intercept

    def _forces(self, signs: Floats, scores: Floats) -> Floats:
        return np.where(signs != 0, signs - scores, 0.0)
