"""Penalties on the rows of a coefficient matrix, as parts that `solve_penalized` puts together with a datafit."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core.typing import Reals
from tagloom.exceptions import InvalidInputError

__all__ = ["L21", "Penalty"]


# What stands for the norm of a zero row in a division.
TINY = 1e-150


class Penalty(Protocol):
    """What the solver asks of a penalty: a sum over groups of whole rows.

    Within its rows a group may couple entries as it likes (a norm of the block, of each of its columns, of each entry,
    or a sum of these), and it need not be convex, as long as ``prox`` returns a global minimiser. So lasso, group
    lasso, sparse group lasso, SCAD and MCP fit, for all tags together or each on its own.
    """

    def groups(self, n_rows: int) -> NDArray[np.intp]:
        """Return for each row the number of its group, 0 … n_groups - 1."""

    def value(self, W: Reals) -> float:
        """Return the penalty of W."""

    def prox(self, W: Reals, step: float) -> Reals:
        """Return ``argmin_Z ½‖Z - W‖² + step · penalty(Z)``, with exact zeros."""

    def subdifferential_distance(self, W: Reals, gradient: Reals) -> NDArray[np.float64]:
        """Return for each group the distance of ``-gradient`` from the subdifferential at W."""

    def restrict(self, rows: NDArray[np.intp]) -> "Penalty":
        """Return the penalty on some rows, which are whole groups."""


@dataclass(frozen=True)
class L21:
    """The sum of the rows' norms, ``strength · Σ_i weights_i ‖w_i‖``: every row is a group.

    A row is all zero or, as a rule, nowhere zero: features are kept or dropped for all tags at once.

    Parameters
    ----------
    strength : float
        Not negative.
    weights : array of shape (d,), optional
        Not negative; a row of weight 0 is not penalised. Default: ones.
    """

    strength: float
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        limits = self._limits(1 if self.weights is None else np.size(self.weights))
        if not (np.isfinite(limits).all() and (limits >= 0).all()):
            raise InvalidInputError(
                f"strength and weights must be finite and not negative, got strength={self.strength!r}, "
                f"weights={self.weights!r}"
            )

    def groups(self, n_rows: int) -> NDArray[np.intp]:
        """Return the rows' own numbers."""
        return np.arange(n_rows)

    def value(self, W: Reals) -> float:
        """Return the penalty of W."""
        return float(self._limits(len(W)) @ _row_norms(W))

    def prox(self, W: Reals, step: float) -> Reals:
        """Shorten every row by ``step · strength · weight``; rows that are not longer become zero."""
        limits = self.strength if self.weights is None else self._limits(len(W))
        factor = 1.0 - step * limits / np.maximum(_row_norms(W), TINY)
        return W * np.maximum(factor, 0.0)[:, None]

    def subdifferential_distance(self, W: Reals, gradient: Reals) -> NDArray[np.float64]:
        """Return ``‖g_i + limit_i w_i/‖w_i‖‖`` for rows in use and ``(‖g_i‖ - limit_i)₊`` for zero rows."""
        limits, norms = self._limits(len(W)), _row_norms(W)
        used = norms > 0
        pull = np.divide(limits, norms, out=np.zeros_like(norms), where=used)
        distance = _row_norms(gradient + pull[:, None] * W)
        return np.where(used, distance, np.maximum(distance - limits, 0.0))

    def restrict(self, rows: NDArray[np.intp]) -> "L21":
        """Return the penalty on some rows."""
        return self if self.weights is None else L21(self.strength, np.asarray(self.weights)[rows])

    def smallest_zero(self, gradient: Reals) -> float:
        """Return the smallest strength for which zero is the solution, from the gradient at zero.

        Rows of weight 0 are left out: no strength makes them zero.
        """
        weights = np.ones(len(gradient)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        ratio = np.divide(_row_norms(gradient), weights, out=np.zeros(len(gradient)), where=weights > 0)
        return float(ratio.max(initial=0.0))

    def _limits(self, n_rows: int) -> NDArray[np.float64]:
        weights = np.ones(n_rows) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (n_rows,):
            raise InvalidInputError(f"expected {n_rows} weights, one per row, got shape {weights.shape}")
        return self.strength * weights


def _row_norms(W: Reals) -> NDArray[np.float64]:
    norms: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", W, W))
    return norms
