"""Penalties on the rows of a coefficient matrix, as parts that `solve_penalized` puts together with a datafit."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import Floats, Reals
from tagloom.exceptions import InvalidInputError

__all__ = ["L21", "MCP", "SCAD", "Norm", "Penalty", "Radial"]


# Penalties of a norm: what a group of coefficients costs as a function of its length alone.


@dataclass(frozen=True)
class Pieces:
    """A proximal step in straight pieces: ``Σ_k slopes_k (s - knots_k limit)₊`` up to ``jump · limit``, s beyond.

    Attributes
    ----------
    knots, slopes : arrays of shape (k, ...)
        Where the step bends, in units of the limit, and what is added to its slope there.
    jump : array of shape (...)
        From where on nothing is shortened, in units of the limit.
    """

    knots: Floats
    slopes: Floats
    jump: Floats

    def at(self, s: Floats, limit: Floats) -> Floats:
        """Return the step for lengths s."""
        total = self.slopes[0] * np.maximum(s - self.knots[0] * limit, 0.0)
        for knot, slope in zip(self.knots[1:], self.slopes[1:], strict=True):
            total = total + slope * np.maximum(s - knot * limit, 0.0)
        return np.where(s <= self.jump * limit, total, s)


class Radial(Protocol):
    """A penalty ``p(r; limit)`` of a length r ≥ 0 that rises from 0 with slope ``limit`` and never steeper."""

    @property
    def convex(self) -> bool:
        """Whether p is convex in r."""

    def value(self, r: Floats, limit: Floats) -> Floats:
        """Return p(r)."""

    def slope(self, r: Floats, limit: Floats) -> Floats:
        """Return p'(r), at 0 from the right."""

    def curvature(self, r: Floats, limit: Floats) -> Floats:
        """Return p''(r), at a knot from the right."""

    def pieces(self, steepness: Floats) -> Pieces:
        """Return the pieces of `shrink`."""

    def shrink(self, s: Floats, limit: Floats, steepness: Floats) -> Floats:
        """Return a global minimiser over r ≥ 0 of ``½ steepness (r - s)² + p(r)``."""


@dataclass(frozen=True)
class Norm:
    """``p(r) = limit · r``: the lasso for single columns, the group lasso for groups."""

    @property
    def convex(self) -> bool:
        """True."""
        return True

    def value(self, r: Floats, limit: Floats) -> Floats:
        """Return p(r)."""
        return limit * r

    def slope(self, r: Floats, limit: Floats) -> Floats:
        """Return p'(r)."""
        return np.broadcast_to(limit, np.shape(r)).astype(np.float64)

    def curvature(self, r: Floats, limit: Floats) -> Floats:  # noqa: ARG002 - the contract of Radial
        """Return p''(r)."""
        return np.zeros(np.shape(r))

    def pieces(self, steepness: Floats) -> Pieces:
        """Return the pieces: one."""
        knots = np.stack([1 / steepness])
        return Pieces(knots, np.ones_like(knots), np.full_like(steepness, np.inf))

    def shrink(self, s: Floats, limit: Floats, steepness: Floats) -> Floats:
        """Return ``(s - limit / steepness)₊``."""
        return np.maximum(s - 1 / steepness * limit, 0.0)


@dataclass(frozen=True)
class SCAD:
    """Smoothly clipped absolute deviation: slope ``limit`` up to r = limit, falling to 0 at ``concavity · limit``.

    Parameters
    ----------
    concavity : float, default=3.7
        a > 2 of Fan and Li.
    """

    concavity: float = 3.7

    def __post_init__(self) -> None:
        if not (np.isfinite(self.concavity) and self.concavity > 2):
            raise InvalidInputError(f"SCAD needs a concavity above 2, got {self.concavity!r}")

    @property
    def convex(self) -> bool:
        """False."""
        return False

    def value(self, r: Floats, limit: Floats) -> Floats:
        """Return p(r)."""
        a = self.concavity
        middle = (2 * a * limit * r - r**2 - limit**2) / (2 * (a - 1))
        return np.where(r <= limit, limit * r, np.where(r <= a * limit, middle, (a + 1) * limit**2 / 2))

    def slope(self, r: Floats, limit: Floats) -> Floats:
        """Return p'(r)."""
        falling = np.maximum(self.concavity * limit - r, 0.0) / (self.concavity - 1)
        return np.minimum(falling, limit)

    def curvature(self, r: Floats, limit: Floats) -> Floats:
        """Return p''(r)."""
        return np.where((r >= limit) & (r < self.concavity * limit), -1.0 / (self.concavity - 1), 0.0)

    def pieces(self, steepness: Floats) -> Pieces:
        """Return the pieces, by which of the three of the penalty are convex at this steepness."""
        a, L = self.concavity, steepness
        bend = L * (a - 1) - 1
        steep, even = bend > 0, L * (a + 1) > 1
        knots = np.stack([1 / L, 1 + 1 / L])
        slopes = np.stack([np.where(even, 1.0, 0.0), np.where(steep, 1 / np.where(steep, bend, 1.0), 0.0)])
        level = np.where(even, 1 / (2 * L) + (a + 1) / 2, np.sqrt((a + 1) / L))
        return Pieces(knots, slopes, np.where(steep, a, level))

    def shrink(self, s: Floats, limit: Floats, steepness: Floats) -> Floats:
        """Return the minimiser."""
        return self.pieces(steepness).at(s, limit)


@dataclass(frozen=True)
class MCP:
    """Minimax concave penalty: the slope falls evenly from ``limit`` at 0 to 0 at ``concavity · limit``.

    Parameters
    ----------
    concavity : float, default=3.0
        γ > 1 of Zhang.
    """

    concavity: float = 3.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.concavity) and self.concavity > 1):
            raise InvalidInputError(f"MCP needs a concavity above 1, got {self.concavity!r}")

    @property
    def convex(self) -> bool:
        """False."""
        return False

    def value(self, r: Floats, limit: Floats) -> Floats:
        """Return p(r)."""
        b = self.concavity
        return np.where(r <= b * limit, limit * r - r**2 / (2 * b), b * limit**2 / 2)

    def slope(self, r: Floats, limit: Floats) -> Floats:
        """Return p'(r)."""
        return np.maximum(limit - r / self.concavity, 0.0)

    def curvature(self, r: Floats, limit: Floats) -> Floats:
        """Return p''(r)."""
        return np.where(r < self.concavity * limit, -1.0 / self.concavity, 0.0)

    def pieces(self, steepness: Floats) -> Pieces:
        """Return the pieces: one that is steeper than the length, or none where the penalty is too flat for it."""
        b, L = self.concavity, steepness
        bend = L * b - 1
        steep = bend > 0
        slopes = np.where(steep, L * b / np.where(steep, bend, 1.0), 0.0)
        return Pieces(np.stack([1 / L]), slopes[None], np.where(steep, b, np.sqrt(b / L)))

    def shrink(self, s: Floats, limit: Floats, steepness: Floats) -> Floats:
        """Return the minimiser."""
        return self.pieces(steepness).at(s, limit)


# What stands for the norm of a zero row in a division.
TINY = 1e-150


class Penalty(Protocol):
    """Protocol of a penalty: a sum over groups of whole rows.

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
