"""Penalties of a norm: what a group of coefficients costs as a function of its length alone.

Each is a small class with the value, the first two derivatives and the exact proximal step. All arrays broadcast, so
that one call serves every group of every tag, each with a limit of its own.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError

__all__ = ["MCP", "SCAD", "Norm", "Radial"]

Floats = NDArray[np.float64]


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

    def shrink(self, s: Floats, limit: Floats, steepness: Floats) -> Floats:
        """Return ``(s - limit / steepness)₊``."""
        return np.maximum(s - limit / steepness, 0.0)


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

    def shrink(self, s: Floats, limit: Floats, steepness: Floats) -> Floats:
        """Return the minimiser, by which of the three pieces are convex at this steepness."""
        a, L = self.concavity, steepness
        soft = np.maximum(s - limit / L, 0.0)
        bend = L * (a - 1) - 1
        inner = (L * (a - 1) * s - a * limit) / np.where(bend > 0, bend, 1.0)
        steep = np.where(s <= limit + limit / L, soft, np.where(s <= a * limit, inner, s))
        if np.all(bend > 0):
            return steep
        even = np.where(s <= limit * (1 / (2 * L) + (a + 1) / 2), soft, s)
        flat = np.where(s <= limit * np.sqrt((a + 1) / L), 0.0, s)
        return np.where(bend > 0, steep, np.where(L * (a + 1) > 1, even, flat))


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

    def shrink(self, s: Floats, limit: Floats, steepness: Floats) -> Floats:
        """Return the minimiser."""
        b, L = self.concavity, steepness
        bend = L * b - 1
        inner = np.maximum(L * s - limit, 0.0) * b / np.where(bend > 0, bend, 1.0)
        steep = np.where(s <= b * limit, inner, s)
        if np.all(bend > 0):
            return steep
        flat = np.where(s <= limit * np.sqrt(b / L), 0.0, s)
        return np.where(bend > 0, steep, flat)
