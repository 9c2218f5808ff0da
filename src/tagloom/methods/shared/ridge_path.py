"""Ridge regression of many tags for every strength of the penalty, from one eigendecomposition."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core import Floats

__all__ = ["RidgePath", "linear_scores"]


#: Directions whose eigenvalue is below this share of the largest one are rounding noise of the Gram matrix.
RANK_TOLERANCE = 1e-12
#: Rows multiplied at once by `linear_scores`, so that float32 features are never copied whole to float64.
ROWS_AT_ONCE = 8192


def linear_scores(X: NDArray[Any], coef: Floats, intercept: Floats) -> Floats:
    """Return ``X @ coef + intercept`` in float64, a block of rows at a time."""
    scores = np.empty((X.shape[0], coef.shape[1]))
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        np.matmul(X[block].astype(np.float64, copy=False), coef, out=scores[block])
    scores += intercept
    return scores


class RidgePath:
    """Solutions of ``min ‖XW + 1bᵀ - Y‖² + λ‖W‖²`` for any λ > 0, with exact leave-one-out residuals.

    With the centred rows ``X̃ = U √s Vᵀ`` (from the smaller of the two Gram matrices) everything is a
    rescaling of ``UᵀY``: ``W = V √s/(s + λ) UᵀY``, the residual is ``Y - Ȳ`` less ``U s/(s + λ) UᵀY``, and
    the diagonal of the hat matrix is ``1/m + Σ U² s/(s + λ)``. A residual divided by one minus that diagonal
    is the residual of the model fitted without the row, intercept included.

    Parameters
    ----------
    X : array of shape (m, d)
        The labelled rows, at least one.
    Y : array of shape (m, c)
        Their labels, 0 and 1, none unknown.

    Attributes
    ----------
    rows, columns : ndarray of shape (m, k), (d, k)
        U and V.
    """

    def __init__(self, X: NDArray[Any], Y: NDArray[Any]) -> None:
        self.n_rows, n_columns = X.shape
        self.x_mean = X.mean(axis=0, dtype=np.float64)
        self.y_mean = Y.mean(axis=0, dtype=np.float64)
        centred = X.astype(np.float64) - self.x_mean
        self._targets = Y.astype(np.float64) - self.y_mean
        is_dual = self.n_rows <= n_columns
        gram = centred @ centred.T if is_dual else centred.T @ centred
        eigenvalues, vectors = linalg.eigh(gram, overwrite_a=True, check_finite=False)
        kept = eigenvalues > RANK_TOLERANCE * max(float(eigenvalues[-1]), np.finfo(np.float64).tiny)
        self.eigenvalues: Floats = eigenvalues[kept]
        vectors = vectors[:, kept]
        roots = np.sqrt(self.eigenvalues)
        other = (centred.T if is_dual else centred) @ vectors / roots
        self.rows, self.columns = (vectors, other) if is_dual else (other, vectors)
        self._projected: Floats = self.rows.T @ self._targets
        self._outside, self._outside_gap = self._unexplained()

    def _unexplained(self) -> tuple[Floats, Floats]:
        """Return what no λ can fit: of the targets, and of each row's ``1 - h``.

        Centred rows that span everything but the constant leave exactly nothing; saying so keeps the quotient
        of the two exact for small λ, where both vanish.
        """
        if len(self.eigenvalues) == self.n_rows - 1:
            return np.zeros_like(self._targets), np.zeros(self.n_rows)
        gap = 1.0 - 1.0 / self.n_rows - np.square(self.rows).sum(axis=1)
        return self._targets - self.rows @ self._projected, np.maximum(gap, 0.0)

    @property
    def n_bytes(self) -> int:
        """Memory held."""
        return int(self.rows.nbytes + self.columns.nbytes + 3 * self._targets.nbytes)

    def coefficients(self, strength: float | Floats) -> tuple[Floats, Floats]:
        """Return W (d, c) and b (c,) for one λ, or one per tag."""
        roots = np.sqrt(self.eigenvalues)[:, None]
        coef: Floats = self.columns @ (roots / (self.eigenvalues[:, None] + strength) * self._projected)
        return coef, self.y_mean - self.x_mean @ coef

    def leave_one_out_residuals(self, strength: float | Floats) -> Floats:
        """Return ``y_i`` less the score of row i by the model fitted without it, shape (m, c).

        NaN where nothing is left to fit (a single row).
        """
        lost = strength / (self.eigenvalues[:, None] + strength)
        residuals = self._outside + self.rows @ (lost * self._projected)
        gaps = self._outside_gap[:, None] + np.square(self.rows) @ lost
        quotients = np.full(residuals.shape, np.nan)
        np.divide(residuals, gaps, out=quotients, where=np.broadcast_to(gaps > 0.0, residuals.shape))
        return quotients

    def gradient(self, coef: Floats, strength: float | Floats, X: NDArray[Any]) -> tuple[float, float]:
        """Return the largest entries of the gradient at ``coef`` and at zero."""
        centred = X.astype(np.float64) - self.x_mean
        at_zero = centred.T @ self._targets
        gradient = centred.T @ (centred @ coef) + strength * coef - at_zero
        return float(np.abs(gradient).max()), float(np.abs(at_zero).max())
