"""Groups of columns turned to their own principal axes, where each group's share of a Gram matrix is diagonal."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Floats, Indices
from tagloom.exceptions import InvalidInputError

__all__ = ["Axes", "Layout", "Turn", "axes_of_rows", "own_axes", "plain_axes"]


#: A direction whose share of its group's largest eigenvalue is below this, times the size, is rounding.
NEGLIGIBLE = 1e-14
#: Groups of one row that a pass takes together, so that one product with the matrix serves them.
BLOCK = 32


class Turn(NamedTuple):
    """A group of several rows (its number), or several groups of one row each (None); which groups, and their rows."""

    group: int | None
    groups: Any
    rows: Any


@dataclass(frozen=True)
class Layout:
    """Runs of rows, one for each group: first row and number of rows (at least 1), and the group of each row."""

    starts: Indices
    sizes: Indices

    @cached_property
    def group_of(self) -> Indices:
        """Return the group of each row."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    @cached_property
    def runs(self) -> list[slice]:
        """Return the rows of each group."""
        return [slice(int(a), int(a + m)) for a, m in zip(self.starts, self.sizes, strict=True)]

    @cached_property
    def turns(self) -> list["Turn"]:
        """Return what a pass takes together: every group of several rows, and the others in blocks."""
        turns: list[Turn] = []
        singles: list[int] = []
        for group, rows in enumerate(self.runs):
            if self.sizes[group] > 1:
                turns.append(Turn(group, group, rows))
                continue
            singles.append(group)
            if len(singles) == BLOCK:
                turns.append(self._block(singles))
                singles = []
        return [*turns, self._block(singles)] if singles else turns

    def _block(self, singles: list[int]) -> "Turn":
        """Return some groups of one row as a turn."""
        in_a_row = singles[-1] - singles[0] == len(singles) - 1
        return Turn(None, slice(singles[0], singles[-1] + 1) if in_a_row else singles, self.starts[singles])

    def dot(self, U: Any, V: Any) -> Any:
        """Return ``U_gᵀV_g`` for each group and column, shape (g, c), in the precision given."""
        products = U * V
        if self.sizes.size == len(products):
            return products
        return np.add.reduceat(products, self.starts, axis=0)

    def norms(self, W: Any) -> Any:
        """Return ``‖W_g‖`` for each group and column, in the precision given."""
        return np.sqrt(self.dot(W, W)) if self.sizes.size < len(W) else np.abs(W)


@dataclass(frozen=True)
class Axes:
    """A problem in other coordinates: ``turned.A``, ``turned.B`` and the way back.

    Attributes
    ----------
    A, B : arrays of shape (r, r) and (r, c)
        The quadratic and the linear part on the axes that are kept.
    layout : Layout
        The groups that have an axis left.
    groups : array of shape (g,)
        Their numbers among the groups as given.
    bases : list of array or None
        For each of them the axes as columns; None for a single column.
    given : Layout
        Rows of these groups in the coordinates as given.
    n_rows : int
        Rows as given.
    """

    A: Floats
    B: Floats
    layout: Layout
    groups: Indices
    bases: list[Floats | None]
    given: Layout
    n_rows: int

    def turn(self, W: Floats) -> Floats:
        """Return W on the axes."""
        parts = zip(self.bases, self.given.runs, strict=True)
        turned = [W[rows] if basis is None else basis.T @ W[rows] for basis, rows in parts]
        return np.concatenate(turned) if turned else W[:0]

    def turn_back(self, W: Floats) -> Floats:
        """Return what has these values on the axes."""
        result = np.zeros((self.n_rows, *W.shape[1:]))
        for basis, rows, turned in zip(self.bases, self.given.runs, self.layout.runs, strict=True):
            result[rows] = W[turned] if basis is None else basis @ W[turned]
        return result


def _layout(sizes: NDArray[np.intp]) -> Layout:
    sizes = np.asarray(sizes, dtype=np.intp)
    return Layout(np.cumsum(sizes) - sizes, sizes)


def _check(A: Floats, B: Floats, sizes: Indices) -> None:
    if B.ndim != 2 or A.shape != (len(B), len(B)) or sizes.sum() != len(B) or (sizes < 1).any():
        raise InvalidInputError(
            f"A must be (d, d), B (d, c) and the sizes of the groups add up to d, got {A.shape}, {B.shape} and sizes "
            f"of sum {sizes.sum()}"
        )
    if not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise InvalidInputError("A and B must hold finite numbers, got NaN or infinite entries")


def own_axes(A: Floats, B: Floats, sizes: Indices) -> Axes:
    """Turn every group to the principal axes of its block of A and drop directions in which A is zero.

    A norm of a group does not see the turn, so a penalty of norms is the same function there.
    """
    _check(A, B, sizes)
    given = _layout(sizes)
    groups: list[int] = []
    bases: list[Floats | None] = []
    for group, rows in enumerate(given.runs):
        values, vectors = np.linalg.eigh(A[rows, rows])
        kept = values > NEGLIGIBLE * len(values) * max(values[-1], 0.0)
        if kept.any() and values[-1] > 0:
            groups.append(group)
            bases.append(None if len(values) == 1 else vectors[:, kept])
    chosen = np.array(groups, dtype=np.intp)
    left = Layout(given.starts[chosen], given.sizes[chosen])
    layout = _layout(np.array([1 if basis is None else basis.shape[1] for basis in bases], dtype=np.intp))
    empty = Axes(np.zeros((0, 0)), np.zeros((0, B.shape[1])), layout, chosen, bases, left, len(B))
    half = empty.turn(A)
    turned = empty.turn(np.ascontiguousarray(half.T))
    turned = (turned + turned.T) / 2
    for rows in layout.runs:
        turned[rows, rows] = np.diag(turned[rows, rows].diagonal())  # the rest of the block is rounding
    return Axes(turned, empty.turn(B), layout, chosen, bases, left, len(B))


def axes_of_rows(X: Floats, Y: Floats, sizes: Indices) -> Axes:
    """Return what `own_axes` does for A = XᵀX/n and B = XᵀY/n, without A: for groups with more columns than rows.

    Parameters
    ----------
    X, Y : arrays of shape (n, d) and (n, c)
        Centred columns and targets.
    sizes : array of shape (g,)
        Columns of each group.
    """
    given, n = _layout(sizes), len(X)
    groups: list[int] = []
    bases: list[Floats | None] = []
    for group, rows in enumerate(given.runs):
        values, basis = _principal_axes(X[:, rows])
        kept = values > NEGLIGIBLE * max(n, len(basis)) * max(values.max(), 0.0)
        if kept.any():
            groups.append(group)
            bases.append(None if len(basis) == 1 else basis[:, kept])
    chosen = np.array(groups, dtype=np.intp)
    left = Layout(given.starts[chosen], given.sizes[chosen])
    layout = _layout(np.array([1 if basis is None else basis.shape[1] for basis in bases], dtype=np.intp))
    turned = [X[:, rows] if basis is None else X[:, rows] @ basis for basis, rows in zip(bases, left.runs, strict=True)]
    Z = np.concatenate(turned, axis=1) if turned else np.zeros((n, 0))
    A = Z.T @ Z / n
    for rows in layout.runs:
        A[rows, rows] = np.diag(A[rows, rows].diagonal())  # the rest of the block is rounding
    return Axes(A, Z.T @ Y / n, layout, chosen, bases, left, X.shape[1])


def _principal_axes(part: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of PᵀP/n that may differ from zero, and their vectors as columns."""
    n, m = part.shape
    if m <= n:
        values, vectors = np.linalg.eigh(part.T @ part / n)
        return values, vectors
    # Eigenvectors of PPᵀ, multiplied by Pᵀ, would not be orthonormal where eigenvalues are small.
    Q, R = np.linalg.qr(part.T)
    turn, lengths, _ = np.linalg.svd(R)
    return np.square(lengths) / n, Q @ turn


def plain_axes(A: Floats, B: Floats, sizes: Indices) -> Axes:
    """Return the problem in the coordinates as given, without columns on which it does not depend."""
    _check(A, B, sizes)
    given = _layout(sizes)
    largest = np.maximum.reduceat(A.diagonal(), given.starts) if sizes.size else np.zeros(0)
    chosen = np.flatnonzero(largest > 0)
    left = Layout(given.starts[chosen], given.sizes[chosen])
    rows = np.concatenate([np.arange(run.start, run.stop) for run in left.runs]) if chosen.size else np.arange(0)
    # A basis of None passes rows through, which is right for groups of any size here.
    return Axes(
        A[np.ix_(rows, rows)], B[rows], _layout(given.sizes[chosen]), chosen, [None] * chosen.size, left, len(B)
    )
