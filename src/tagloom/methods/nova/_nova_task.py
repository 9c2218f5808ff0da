"""What NOVA solves: centred Gram matrices of the photos on which tags are known, one for each set of photos."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats, Indices
from tagloom.core.validation import check_magnitude
from tagloom.solvers.groups.columns import GroupColumns, GroupColumnsResult

__all__ = ["NovaTask", "Scaling", "TagSet"]

Scaling = Literal["columns", "groups"]

#: Rows that are centred at once, so that float32 features are never copied whole.
ROWS_AT_ONCE = 4096
#: Spread of a column, relative to its largest entry, below which it is constant but for rounding.
CONSTANT = {4: 1e-6, 8: 1e-12}
#: Features whose squares, summed over photos, are finite.
LARGEST = 1e140


@dataclass(frozen=True)
class TagSet:
    """Tags that are known on the same photos, and their common problem."""

    tags: Indices
    mean: Floats
    problem: GroupColumns


class NovaTask:
    """Every tag's problem, ``1/(2n)‖y - Xβ - b‖² + Σ_g p(‖β_g‖)`` over the photos on which the tag is known.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        1 is coded +1 and 0 is coded -1; entries of -1 take no part.
    sizes, weights : arrays of shape (g,)
        Columns and weight of each group.
    scaling : {"columns", "groups"} or None
        What columns are divided by: their own deviation, or the root mean square norm of their group.
    scaled_together : array, optional
        Columns of the groups of "groups", where these are not the groups of the penalty.
    entry_share : float
        See `GroupColumns`.

    Attributes
    ----------
    sets : list of TagSet
        One for each set of photos on which some tag is known; tags with no contrast are in none.
    base : ndarray of shape (c,)
        Mean of each tag's codes: its score where no feature is used.
    constant_tags : ndarray of int
        Tags without a known positive or without a known negative.
    scale : ndarray of shape (d,)
        What columns were divided by.
    largest : ndarray of shape (c,)
        For each tag the smallest strength at which a convex penalty uses nothing; NaN for constant tags.
    """

    def __init__(
        self,
        X: NDArray[Any],
        Y: LabelMatrix,
        sizes: Indices,
        weights: Floats,
        *,
        scaling: Scaling | None,
        scaled_together: Indices | None = None,
        entry_share: float = 0.0,
    ) -> None:
        check_magnitude(X, LARGEST, "NOVA")
        self.shape = (X.shape[1], Y.shape[1])
        known = Y != UNKNOWN
        positive, negative = (Y == 1).sum(axis=0), (Y == 0).sum(axis=0)
        self.base: Floats = np.divide(positive - negative, np.maximum(positive + negative, 1), dtype=np.float64)
        both = (positive > 0) & (negative > 0)
        self.constant_tags = np.flatnonzero(~both)
        together = np.asarray(sizes if scaled_together is None else scaled_together)
        self.scale = _scale(X, known.any(axis=1), together, scaling)
        self.sets: list[TagSet] = []
        self.largest: Floats = np.full(Y.shape[1], np.nan)
        tags = np.flatnonzero(both)
        patterns, which = np.unique(known[:, tags], axis=1, return_inverse=True)
        for number, pattern in enumerate(patterns.T):
            members = tags[which.ravel() == number]
            rows = np.flatnonzero(pattern)
            targets = np.where(Y[np.ix_(rows, members)] == 1, 1.0, -1.0)
            if entry_share == 0 and rows.size < np.max(sizes, initial=0):
                mean, part = _centred(X[rows], self.scale)
                problem = GroupColumns.from_rows(part, targets - targets.mean(axis=0), sizes, weights=weights)
            else:
                mean, A, B = _moments(X, rows, targets, self.scale)
                problem = GroupColumns(A, B, sizes, weights=weights, entry_share=entry_share)
            self.sets.append(TagSet(members, mean, problem))
            self.largest[members] = problem.largest

    def top(self, most: float | None) -> Floats:
        """Return for each tag a strength above which nothing, or next to nothing, is used.

        A concave penalty charges no more than ``most λ²/2`` for a group (None: there is no such bound), so that a group
        may be worth its price far above the strength at which zero is no longer a stationary point.
        """
        top = self.largest.copy()
        if most is not None:
            for part in self.sets:
                problem = part.problem
                gain = np.einsum("kc,kc->c", problem.dense_start(), problem.axes.B)
                at_most = np.sqrt(np.maximum(gain, 0.0) / most) / problem.weights.min(initial=1.0)
                top[part.tags] = np.maximum(top[part.tags], at_most)
        return top

    def solve(
        self, each: Callable[[GroupColumns, Floats], GroupColumnsResult], strengths: Floats
    ) -> tuple[Floats, Floats, list[tuple[Indices, GroupColumnsResult]]]:
        """Solve every set; return coefficients and intercepts for X as given, and what was found for which tags."""
        W, found = np.zeros(self.shape), []
        for part in self.sets:
            result = each(part.problem, strengths[part.tags])
            W[:, part.tags] = result.coef
            found.append((part.tags, result))
        return *self.as_given(W), found

    def path(
        self, each: Callable[[GroupColumns, Floats], Iterator[GroupColumnsResult]], strengths: Floats
    ) -> Iterator[tuple[Floats, Floats, list[tuple[Indices, GroupColumnsResult]]]]:
        """Solve for one row of strengths after another; yield what `solve` returns."""
        walks = [each(part.problem, strengths[:, part.tags]) for part in self.sets]
        for _ in strengths:
            W, found = np.zeros(self.shape), []
            for part, walk in zip(self.sets, walks, strict=True):
                result = next(walk)
                W[:, part.tags] = result.coef
                found.append((part.tags, result))
            yield *self.as_given(W), found

    def as_given(self, W: Floats) -> tuple[Floats, Floats]:
        """Return coefficients and intercepts for the features as they were given."""
        coef = W / self.scale[:, None]
        intercept = self.base.copy()
        for part in self.sets:
            intercept[part.tags] -= part.mean @ coef[:, part.tags]
        return coef, intercept


def _blocks(rows: Indices) -> Iterator[Indices]:
    for start in range(0, rows.size, ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


def _centred(part: NDArray[Any], scale: Floats) -> tuple[Floats, Floats]:
    """Return the mean of rows, and the rows centred and scaled, columns that do not vary set to zero."""
    rows = part.astype(np.float64)
    largest = np.abs(rows).max(axis=0, initial=0.0)
    mean: Floats = rows.mean(axis=0)
    rows -= mean
    rows[:, np.sqrt(np.mean(np.square(rows), axis=0)) <= CONSTANT.get(part.dtype.itemsize, 1e-12) * largest] = 0.0
    rows /= scale
    return mean, rows


def _moments(X: NDArray[Any], rows: Indices, targets: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean of some rows, and ``X̃ᵀX̃/n`` and ``X̃ᵀỹ/n`` of the centred and scaled columns."""
    n, d = rows.size, X.shape[1]
    mean = sum((X[block].sum(axis=0, dtype=np.float64) for block in _blocks(rows)), np.zeros(d)) / n
    A, B = np.zeros((d, d)), np.zeros((d, targets.shape[1]))
    centred_targets = targets - targets.mean(axis=0)
    largest = np.zeros(d)
    for number, block in enumerate(_blocks(rows)):
        part = X[block].astype(np.float64)
        np.maximum(largest, np.abs(part).max(axis=0), out=largest)
        part -= mean
        part /= scale
        first = number * ROWS_AT_ONCE
        A += part.T @ part
        B += part.T @ centred_targets[first : first + len(block)]
    A /= n
    B /= n
    constant = np.sqrt(A.diagonal()) * scale <= CONSTANT.get(X.dtype.itemsize, 1e-12) * largest
    A[constant], A[:, constant], B[constant] = 0.0, 0.0, 0.0
    return mean, A, B


def _scale(X: NDArray[Any], rows: NDArray[np.bool_], sizes: Indices, scaling: Scaling | None) -> Floats:
    """Return what the columns are divided by; a column or group that does not vary on the rows is left alone."""
    d = X.shape[1]
    chosen = np.flatnonzero(rows)
    if scaling is None or chosen.size == 0:
        return np.ones(d)
    mean = sum((X[block].sum(axis=0, dtype=np.float64) for block in _blocks(chosen)), np.zeros(d)) / chosen.size
    squares, largest = np.zeros(d), np.zeros(d)
    for block in _blocks(chosen):
        part = X[block].astype(np.float64)
        np.maximum(largest, np.abs(part).max(axis=0), out=largest)
        squares += np.square(part - mean).sum(axis=0)
    spread = np.sqrt(squares / chosen.size)
    spread[spread <= CONSTANT.get(X.dtype.itemsize, 1e-12) * largest] = 0.0
    if scaling == "groups":
        starts = np.cumsum(sizes) - sizes
        spread = np.repeat(np.sqrt(np.add.reduceat(np.square(spread), starts)), sizes)
    return np.where(spread > 0, spread, 1.0)
