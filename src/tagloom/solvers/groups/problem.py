"""A penalised problem of many tags on the axes of its groups: what is the same for all tags."""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from tagloom.core import Floats, Singles
from tagloom.exceptions import InvalidInputError
from tagloom.solvers.groups.axes import Axes

__all__ = ["GroupProblem"]

#: Ridge of the dense start, relative to the mean of the diagonal.
DENSE_RIDGE = 1e-3
#: Largest entry of A at which its products are made in single precision where they need not be exact.
LARGEST_SINGLE = 1e30


class Spectrum:
    """Eigenvalues and eigenvectors of A in single precision, with the linear parts in their coordinates."""

    def __init__(self, axes: Axes) -> None:
        values, vectors = np.linalg.eigh(axes.A)
        self.values = np.maximum(values, 0.0).astype(np.float32)[:, None]
        self.vectors = vectors.astype(np.float32)
        self.linear = (vectors.T @ axes.B).astype(np.float32)
        self.mean = float(axes.A.diagonal().mean()) if axes.A.size else 1.0


class GroupProblem:
    """Matrices, groups and weights.

    Parameters
    ----------
    axes : Axes
        The quadratic and the linear part.
    n_groups : int
        Groups as given.
    weights : array of shape (n_groups,), optional
        Positive. Default: ones.
    entry_share : float
        Share of the strength that is put on the absolute values of the entries.

    Attributes
    ----------
    single : array of shape (r, r) or None
        A in single precision; None where that overflows.
    weights : array of shape (g,)
        Of the groups that have an axis left.
    shape : tuple of int
        Rows as given, and tags.
    steepness : array of shape (g,)
        The largest curvature of each group.
    largest : array of shape (c,)
        The smallest strength of a convex penalty at which a tag uses nothing.
    """

    def __init__(self, axes: Axes, n_groups: int, weights: ArrayLike | None, entry_share: float) -> None:
        every = np.ones(n_groups) if weights is None else np.asarray(weights, dtype=np.float64)
        if every.shape != (n_groups,) or not (np.isfinite(every).all() and (every > 0).all()):
            raise InvalidInputError(f"expected {n_groups} positive weights, one per group, got {weights!r}")
        self.axes, self.entry_share = axes, entry_share
        fits = bool(axes.A.diagonal().max(initial=0.0) <= LARGEST_SINGLE)
        self.single: Singles | None = axes.A.astype(np.float32) if fits else None
        self.weights = every[axes.groups]
        self.shape = (axes.n_rows, axes.B.shape[1])
        blocks = (axes.A[run, run] for run in axes.layout.runs)
        # On its own axes a group's block is diagonal.
        largest = [np.linalg.eigvalsh(block)[-1] if entry_share > 0 else block.diagonal().max() for block in blocks]
        self.steepness = np.array(largest) * (1 + 1e-10)
        self.largest = self._largest_strengths()

    def _largest_strengths(self) -> Floats:
        layout, share = self.axes.layout, self.entry_share
        high = layout.norms(self.axes.B) / self.weights[:, None] / (1 - share)
        if share > 0:
            low = np.zeros_like(high)
            for _ in range(60):
                middle = (low + high) / 2
                left = np.maximum(np.abs(self.axes.B) - (share * middle)[layout.group_of], 0.0)
                uses = layout.norms(left) > (1 - share) * middle * self.weights[:, None]
                low, high = np.where(uses, middle, low), np.where(uses, high, middle)
        largest: Floats = high.max(axis=0, initial=0.0)
        return largest

    @cached_property
    def spectrum(self) -> Spectrum:
        """The eigendecomposition of A."""
        return Spectrum(self.axes)

    @cached_property
    def dense_start(self) -> Floats:
        """Least squares with a ridge of a thousandth of the mean of the diagonal, on the axes."""
        return self.least_squares(DENSE_RIDGE * self.axes.A.diagonal().mean() if self.axes.A.size else 0.0)

    def least_squares(self, ridge: float) -> Floats:
        """Return least squares with a ridge, on the axes."""
        if not self.axes.A.size:
            return np.zeros_like(self.axes.B)
        A = self.axes.A.copy()
        A.flat[:: len(A) + 1] += ridge
        start: Floats = linalg.solve(A, self.axes.B, assume_a="pos", check_finite=False)
        return start
