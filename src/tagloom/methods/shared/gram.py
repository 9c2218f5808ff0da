"""Gram matrices G of labelled photos, dense or as ``G = ZZᵀ``, and their systems ``(I + SG)c = St``."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from tagloom.core import Floats

__all__ = ["DenseGram", "FactoredGram", "Gram", "gram_of_features"]

Solve = Callable[[Floats], Floats]

#: Up to this many rows a Gram matrix is made dense: systems of single tags are then solved directly.
DIRECT_ROWS = 512


class Gram(ABC):
    """Scores ``f = Gc`` of l photos by the coefficients c of the same photos."""

    n_rows: int

    @abstractmethod
    def product(self, C: Floats) -> Floats:
        """Return GC."""

    @abstractmethod
    def part(self, rows: NDArray[np.intp]) -> "Gram":
        """Return the Gram matrix of some rows."""

    @abstractmethod
    def solver(self, weights: Floats) -> Solve:
        """Factorise once, and return the function T ↦ ``(I + SG)⁻¹ST`` for S = diag(weights), zeros allowed."""


class DenseGram(Gram):
    """A Gram matrix as it is.

    Parameters
    ----------
    values : array of shape (l, l)
        Symmetric positive semi-definite.
    """

    def __init__(self, values: Floats) -> None:
        self.values = values
        self.n_rows = len(values)

    def product(self, C: Floats) -> Floats:
        """Return GC."""
        return self.values @ C

    def part(self, rows: NDArray[np.intp]) -> "DenseGram":
        """Return rows and columns."""
        return DenseGram(self.values[np.ix_(rows, rows)])

    def solver(self, weights: Floats) -> Solve:
        """Factorise ``S^(1/2) G S^(1/2) + I`` on the rows of positive weight."""
        rows = np.flatnonzero(weights > 0)
        roots = np.sqrt(weights[rows])
        system = self.values[np.ix_(rows, rows)] * roots * roots[:, None]
        system[np.diag_indices(len(rows))] += 1.0
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False) if len(rows) else None

        def solve(T: Floats) -> Floats:
            found = np.zeros_like(T)
            if factor is not None:
                found[rows] = roots[:, None] * cho_solve(factor, roots[:, None] * T[rows], check_finite=False)
            return found

        return solve


class FactoredGram(Gram):
    """A Gram matrix by the rows' coordinates, for more rows than coordinates.

    Parameters
    ----------
    features : array of shape (l, p)
        Z in ``G = ZZᵀ``.
    """

    def __init__(self, features: Floats) -> None:
        self.features = features
        self.n_rows = len(features)

    def product(self, C: Floats) -> Floats:
        """Return Z(ZᵀC)."""
        return self.features @ (self.features.T @ C)

    def part(self, rows: NDArray[np.intp]) -> Gram:
        """Return the Gram matrix of some rows, dense where they are few."""
        return gram_of_features(self.features[rows])

    def solver(self, weights: Floats) -> Solve:
        """Factorise ``I + ZᵀSZ``: c = S(T - Z(I + ZᵀSZ)⁻¹ZᵀST)."""
        Z, S = self.features, weights[:, None]
        system = Z.T @ (S * Z)
        system[np.diag_indices(len(system))] += 1.0
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)

        def solve(T: Floats) -> Floats:
            found: Floats = S * (T - Z @ cho_solve(factor, Z.T @ (S * T), check_finite=False))
            return found

        return solve


def gram_of_features(features: Floats) -> Gram:
    """Return ``ZZᵀ`` in the form that is cheaper to work with."""
    n, p = features.shape
    return DenseGram(features @ features.T) if n <= max(DIRECT_ROWS, p) else FactoredGram(features)
