"""Smooth parts of penalised problems."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError, NotPositiveDefiniteError

__all__ = ["Datafit", "QuadraticGram"]


class Datafit(Protocol):
    """Protocol of a smooth loss of a coefficient matrix.

    ``restrict`` and ``full_gradient`` see W through the rows that are in use, so a datafit may compute its columns when
    they are first asked for.
    """

    shape: tuple[int, int]

    def value(self, W: Reals) -> float:
        """Return the function at W."""

    def gradient(self, W: Reals, rows: slice | None = None) -> Reals:
        """Return the gradient at W, or some of its rows."""

    def full_gradient(self, W: Reals, rows: NDArray[np.intp]) -> Reals:
        """Return the whole gradient at the matrix that is W on ``rows`` and zero elsewhere."""

    def lipschitz(self, rows: slice) -> float:
        """Return a Lipschitz constant of the gradient's rows as a function of these rows of W."""

    def curvature(self, rows: slice, change: Reals) -> Reals:
        """Return what a change of these rows of W adds to these rows of the gradient."""

    def restrict(self, rows: NDArray[np.intp]) -> "Datafit":
        """Return the function of these rows, the others being zero."""


class QuadraticGram:
    """``scale · (½ tr(WᵀAW) - tr(BᵀW))`` for a positive semidefinite A.

    ``½‖Y - XW‖²`` is, up to a constant, A = XᵀX and B = XᵀY; the reduced problem of SFSS has scale 2.

    Parameters
    ----------
    A : array of shape (d, d)
        Symmetric, with no negative entry on the diagonal.
    B : array of shape (d, c)
        The linear part.
    scale : float, default=1.0
        Positive factor.
    """

    def __init__(self, A: ArrayLike, B: ArrayLike, *, scale: float = 1.0) -> None:
        self.A, self.B, self.scale = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64), float(scale)
        if self.B.ndim != 2 or self.A.shape != (len(self.B), len(self.B)):
            raise InvalidInputError(f"A must be (d, d) and B (d, c), got {self.A.shape} and {self.B.shape}")
        if not (np.isfinite(self.A).all() and np.isfinite(self.B).all()):
            raise InvalidInputError("A and B must hold finite numbers, got NaN or infinite entries")
        if not (np.isfinite(scale) and scale > 0):
            raise InvalidInputError(f"scale must be a positive number, got {scale!r}")
        if (self.A.diagonal() < 0).any():
            raise NotPositiveDefiniteError(
                f"A must be positive semidefinite, got {self.A.diagonal().min():.3g} at row "
                f"{self.A.diagonal().argmin()} "
                f"of its diagonal"
            )
        self.shape = self.B.shape

    def value(self, W: Reals) -> float:
        """Return the function at W."""
        return float(self.scale * np.vdot(W, 0.5 * (self.A @ W) - self.B))

    def gradient(self, W: Reals, rows: slice | None = None) -> Reals:
        """Return ``scale · (AW - B)``, or some of its rows."""
        part = slice(None) if rows is None else rows
        result: Reals = self.A[part] @ W
        result -= self.B[part]
        result *= self.scale
        return result

    def full_gradient(self, W: Reals, rows: NDArray[np.intp]) -> Reals:
        """Return the whole gradient at the matrix that is W on ``rows`` and zero elsewhere."""
        return self.scale * (self.A[:, rows] @ W - self.B)

    def lipschitz(self, rows: slice) -> float:
        """Return ``scale`` times the largest eigenvalue of a diagonal block of A."""
        block = self.A[rows, rows]
        return float(self.scale * np.linalg.eigvalsh(block)[-1]) if block.size else 0.0

    def curvature(self, rows: slice, change: Reals) -> Reals:
        """Return what a change of these rows of W adds to these rows of the gradient."""
        return self.scale * (self.A[rows, rows] @ change)

    def restrict(self, rows: NDArray[np.intp]) -> "QuadraticGram":
        """Return the function of these rows, the others being zero."""
        return QuadraticGram(self.A[np.ix_(rows, rows)], self.B[rows], scale=self.scale)
