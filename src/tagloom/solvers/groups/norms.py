"""Norms of groups of rows, one for each column: the group lasso of every tag on its own."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError

__all__ = ["ColumnGroupL2"]


@dataclass(frozen=True)
class ColumnGroupL2:
    """``strength · Σ_g weights_g Σ_t ‖W_gt‖``: each column (tag) keeps or drops each group of rows on its own.

    With groups of one row it is the lasso. Unlike `L21`, a group that one tag needs may be zero for another.

    Parameters
    ----------
    labels : array of shape (d,)
        For each row the number of its group, in ascending order from 0.
    weights : array of shape (g,)
        Positive; √(rows of the group) as a rule.
    strength : float, default=1.0
        Not negative.
    """

    labels: ArrayLike
    weights: ArrayLike
    strength: float = 1.0

    def __post_init__(self) -> None:
        labels, weights = np.asarray(self.labels), np.asarray(self.weights, dtype=np.float64)
        steps = np.diff(labels)
        if labels.size and (labels[0] != 0 or (steps < 0).any() or (steps > 1).any()):
            raise InvalidInputError("labels must be in ascending order from 0 without a gap, such as 0, 0, 1, 2, 2")
        n_groups = int(labels[-1]) + 1 if labels.size else 0
        if weights.shape != (n_groups,) or not (np.isfinite(weights).all() and (weights > 0).all()):
            raise InvalidInputError(f"expected {n_groups} positive weights, one per group, got shape {weights.shape}")
        if not (np.isfinite(self.strength) and self.strength >= 0):
            raise InvalidInputError(f"strength must be finite and not negative, got {self.strength!r}")
        object.__setattr__(self, "_starts", np.flatnonzero(np.diff(labels, prepend=-1)))

    def groups(self, n_rows: int) -> NDArray[np.intp]:
        """Return the labels."""
        labels = np.asarray(self.labels, dtype=np.intp)
        if labels.size != n_rows:
            raise InvalidInputError(f"the penalty is on {labels.size} rows, got {n_rows}")
        return labels

    def norms(self, W: Reals) -> Reals:
        """Return ``‖W_gt‖`` for each group and column, shape (g, c)."""
        starts: NDArray[np.intp] = self._starts  # type: ignore[attr-defined]
        if starts.size == len(W):
            return np.abs(W)
        norms: Reals = np.sqrt(np.add.reduceat(np.square(W), starts, axis=0)) if starts.size else W[:0]
        return norms

    def value(self, W: Reals) -> float:
        """Return the penalty of W."""
        return float(self.strength * (np.asarray(self.weights) @ self.norms(W)).sum())

    def prox(self, W: Reals, step: float) -> Reals:
        """Shorten each group of each column; groups that are not longer become zero."""
        norms = self.norms(W)
        shorter = norms - step * self.strength * np.asarray(self.weights)[:, None]
        factor = np.divide(shorter, norms, out=np.zeros_like(norms), where=shorter > 0)
        return W * self._spread(factor)

    def violations(self, W: Reals, gradient: Reals) -> Reals:
        """Return for each group and column the distance of ``-gradient`` from the subdifferential, shape (g, c)."""
        limits = self.strength * np.asarray(self.weights, dtype=np.float64)[:, None]
        norms = self.norms(W)
        used = norms > 0
        pull = np.divide(limits, norms, out=np.zeros_like(norms), where=used)
        distance = self.norms(gradient + self._spread(pull) * W)
        return np.where(used, distance, np.maximum(distance - limits, 0.0))

    def subdifferential_distance(self, W: Reals, gradient: Reals) -> NDArray[np.float64]:
        """Return for each group the distance of ``-gradient`` from the subdifferential, all columns together."""
        return np.sqrt(np.square(self.violations(W, gradient)).sum(axis=1))

    def restrict(self, rows: NDArray[np.intp]) -> "ColumnGroupL2":
        """Return the penalty on some rows, which are whole groups."""
        groups, labels = np.unique(np.asarray(self.labels)[rows], return_inverse=True)
        return ColumnGroupL2(labels, np.asarray(self.weights, dtype=np.float64)[groups], self.strength)

    def smallest_zero(self, gradient: Reals) -> NDArray[np.float64]:
        """Return for each column the smallest strength for which zero is the solution, from the gradient at zero."""
        ratios = self.norms(gradient) / np.asarray(self.weights, dtype=np.float64)[:, None]
        largest: NDArray[np.float64] = ratios.max(axis=0, initial=0.0)
        return largest

    def _spread(self, factor: Reals) -> Reals:
        """Return one factor per row from one per group."""
        return factor if len(factor) == np.size(self.labels) else factor[np.asarray(self.labels)]
