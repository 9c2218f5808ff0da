"""M3L: max-margin machines of all tags at once, with a prior on how tags go together."""

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import COMMON, SHARE, Floats, LabelMatrix, OneOf
from tagloom.exceptions import InvalidInputError
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.shared import KernelAnnotator, TagTask

__all__ = ["M3L", "solve_kronecker_svm"]


_RELAXATION = 1.6
_BALANCE_EVERY = 10


class M3L(KernelAnnotator):
    """Max-margin multi-label classification with a similarity between tags.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        See `tagloom.kernels.make_kernel`; "precomputed": X is the kernel of all pairs, and rows of new photos hold
        their kernel with all training photos.
    gamma : float, "scale", "dimension", "mean" or None, default=None
        See `tagloom.kernels.default_gamma`.
    kernel_parameters : dict, optional
        Further parameters of the kernel, such as ``levels`` and ``n_words`` of "pyramid".
    C : float, default=1.0
        The hinge has the weight 2C, as in the reference.
    tag_similarity : {"correlation", "identity"} or array of shape (c, c), default="correlation"
        R⁻¹, symmetric positive semi-definite. "identity": independent SVMs. "correlation": of the labels, an
        unknown entry counting as its tag's mean.
    shrinkage : float, default=0.5
        Share of the identity in "correlation".
    tol : float, default=1e-4
        Largest violation of the optimality conditions, in units of the margin.
    max_iter : int, default=5000
        Most iterations.

    Attributes
    ----------
    tag_similarity_ : ndarray of shape (c, c)
        R⁻¹ as used.
    alpha_ : ndarray of shape (l, c)
        Dual coefficients of the labelled photos, in [0, 2C].
    dual_coef_ : ndarray of shape (m, c)
        ``(α∘y)R⁻¹`` for photos that support any tag.
    intercept_ : ndarray of shape (c,)
        0; the constant score of tags that cannot be learnt.
    objective_ : list of float
        The primal objective at the solution.
    optimality_ : float
        Largest violation: ``1 - yf`` where α = 0, ``yf - 1`` where α = 2C, ``|1 - yf|`` between.
    n_iter_ : int
        Iterations.

    Notes
    -----
    ``½ Σ_lk R_lk z_l·z_k + 2C Σ_i Σ_l (1 - y_il z_l·φ_i)₊``, no intercept. The dual is one box-constrained quadratic
    problem with the matrix ``K ⊗ R⁻¹``; unknown entries have α = 0.

    Deviation: the reference goes coordinate by coordinate. Both factors are diagonalised once here, and the method of
    multipliers solves ``(K ⊗ R⁻¹ + ρI)`` for all photos and tags by four matrix products, then clips to the box. Same
    optimum; ``optimality_`` says how near. R⁻¹ is the parameter, so that nothing is inverted.

    References
    ----------
    B. Hariharan, L. Zelnik-Manor, S. Vishwanathan, M. Varma, "Large scale max-margin multi-label classification with
    priors", ICML 2010.
    """

    _parameter_constraints = COMMON | {
        "tag_similarity": [OneOf("correlation", "identity"), "array-like"],
        "shrinkage": [SHARE],
    }

    def __init__(
        self,
        kernel: KernelSpec = "rbf",
        *,
        gamma: Gamma = None,
        kernel_parameters: Any = None,
        C: float = 1.0,
        tag_similarity: Literal["correlation", "identity"] | NDArray[Any] = "correlation",
        shrinkage: float = 0.5,
        tol: float = 1e-4,
        max_iter: int = 5000,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_parameters = kernel_parameters
        self.C = C
        self.tag_similarity = tag_similarity
        self.shrinkage = shrinkage
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        kernel = self._settle(X)
        task = TagTask(Y, "M3L")
        self.tag_similarity_ = self._similarity(Y)
        self.objective_, self.optimality_, self.n_iter_ = [0.0], 0.0, 0
        self.alpha_: Floats = np.zeros((len(task.rows), Y.shape[1]))
        if task.tags.size == 0:
            self._keep_constant(task, X)
            return
        similarity = self.tag_similarity_[np.ix_(task.tags, task.tags)]
        gram = kernel.gram(X, task.rows)
        alpha, self.optimality_, self.n_iter_ = solve_kronecker_svm(
            gram, similarity, task.signs, 2.0 * self.C, tol=self.tol, max_iter=int(self.max_iter)
        )
        if self.optimality_ > self.tol:
            warnings.warn(
                f"M3L was left at an optimality of {self.optimality_:.2g} after {self.max_iter} iterations, above "
                f"tol={self.tol:g}. Raise max_iter or tol, or scale the features",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.alpha_[:, task.tags] = alpha
        coef = (alpha * task.signs) @ similarity
        scores = gram @ coef
        slack = np.where(task.signs != 0, np.maximum(1.0 - task.signs * scores, 0.0), 0.0)
        self.objective_ = [0.5 * float((alpha * task.signs * scores).sum()) + 2.0 * self.C * float(slack.sum())]
        self._keep(task, X, task.rows, coef, np.zeros(task.tags.size))

    def _similarity(self, Y: LabelMatrix) -> Floats:
        given, n_tags = self.tag_similarity, Y.shape[1]
        if isinstance(given, str):
            share = 1.0 if given == "identity" else float(self.shrinkage)
            return share * np.eye(n_tags) + (1.0 - share) * _correlation(Y)
        matrix = np.asarray(given, dtype=np.float64)
        if matrix.shape != (n_tags, n_tags) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
            raise InvalidInputError(f"tag_similarity must be a symmetric matrix of {n_tags} × {n_tags} finite numbers")
        if np.linalg.eigvalsh(matrix)[0] < -1e-10 * np.abs(matrix).max():
            raise InvalidInputError("tag_similarity must be positive semi-definite: it has a negative eigenvalue")
        return 0.5 * (matrix + matrix.T)


def solve_kronecker_svm(
    gram: Floats, similarity: Floats, signs: Floats, box: float, *, tol: float, max_iter: int
) -> tuple[Floats, float, int]:
    """Maximise ``Σα - ½ ⟨A, K A R⁻¹⟩``, A = α∘y, over 0 ≤ α ≤ box.

    Parameters
    ----------
    gram, similarity : arrays of shape (l, l) and (c, c)
        K and R⁻¹, symmetric positive semi-definite.
    signs : array of shape (l, c)
        y; 0 where unknown, and α with it.
    box : float
        Largest α.
    tol : float
        Largest violation of the optimality conditions at which it ends.
    max_iter : int
        Most iterations.

    Returns
    -------
    alpha : ndarray of shape (l, c)
        α.
    violation : float
        What is left of the conditions.
    n_iter : int
        Iterations.
    """
    (rows_values, U), (tags_values, V) = eigh(gram), eigh(similarity)
    spectrum = np.maximum(rows_values, 0.0)[:, None] * np.maximum(tags_values, 0.0)
    typical = float(spectrum.sum() / spectrum.size)
    rho = typical if typical > 0 else 1.0
    low, high = box * np.minimum(signs, 0.0), box * np.maximum(signs, 0.0)
    B, dual = np.zeros(signs.shape), np.zeros(signs.shape)
    best, violation, n_iter = B, np.inf, 0
    while n_iter < max_iter:
        before = B
        A = U @ ((U.T @ (signs + rho * B - dual) @ V) / (spectrum + rho)) @ V.T
        mixed = _RELAXATION * A + (1.0 - _RELAXATION) * B
        B = np.clip(mixed + dual / rho, low, high)
        dual = dual + rho * (mixed - B)
        n_iter += 1
        if n_iter % _BALANCE_EVERY == 0 or n_iter == max_iter:
            found = _violation(gram @ B @ similarity, signs, B * signs, box)
            if found < violation:
                best, violation = B, found
            if violation <= tol:
                break
            apart = float(np.linalg.norm(A - B)) + 1e-300
            moved = rho * float(np.linalg.norm(B - before)) + 1e-300
            # Residuals in the units of their own goals: coefficients of the box, gradients of the margin.
            ratio = np.sqrt((apart / box) / moved)
            rho *= float(np.clip(ratio, 0.2, 5.0)) if not 0.5 < ratio < 2.0 else 1.0
    return np.abs(best), violation, n_iter


def _violation(scores: Floats, signs: Floats, alpha: Floats, box: float) -> float:
    """Return the largest violation of the optimality conditions."""
    gap = 1.0 - signs * scores
    wrong = np.where(alpha <= 0.0, np.maximum(gap, 0.0), np.where(alpha >= box, np.maximum(-gap, 0.0), np.abs(gap)))
    return float(np.where(signs != 0, wrong, 0.0).max(initial=0.0))


def _correlation(Y: LabelMatrix) -> Floats:
    """Return the correlation of tags, unknown entries at the tag's mean; tags that never vary go with nothing."""
    known = Y >= 0
    mean = np.where(known, Y, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, Y - mean, 0.0)
    spread = np.sqrt(np.square(centred).sum(axis=0))
    scaled = centred / np.where(spread > 0, spread, 1.0)
    correlation: Floats = scaled.T @ scaled
    np.fill_diagonal(correlation, 1.0)
    return correlation
