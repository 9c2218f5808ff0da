"""Cholesky factors of one matrix on many sets of groups: sets that begin alike share the beginning of their factor."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core.typing import Floats, Indices
from tagloom.solvers.groups.axes import Layout

__all__ = ["shared_factors"]


def shared_factors(
    A: Floats, layout: Layout, patterns: NDArray[np.bool_], ridge: float
) -> Iterator[tuple[int, Indices, Floats | None]]:
    """Yield for each set of groups its number, its rows in some order, and the factor L of A there, A = LLᵀ.

    Groups that many sets have come first, and sets are walked in the order of a dictionary, so that a set mostly adds a
    group or two to the factor before it.

    Parameters
    ----------
    A : array of shape (r, r)
        Positive semidefinite.
    layout : Layout
        Its groups.
    patterns : array of bool, shape (g, k)
        The sets, one in each column.
    ridge : float
        Added to the diagonal.

    Yields
    ------
    number, rows, factor
        The factor is None where rounding leaves the matrix indefinite.
    """
    # Weighed by size: what is done again most often should be small.
    order = np.argsort(-patterns.sum(axis=1) * layout.sizes.astype(np.float64), kind="stable")
    walk = np.lexsort(~patterns[order[::-1]])
    taken: list[tuple[int, Indices, Floats]] = []
    for number in walk:
        groups = [int(group) for group in order if patterns[group, number]]
        shared = 0
        while shared < min(len(taken), len(groups)) and taken[shared][0] == groups[shared]:
            shared += 1
        taken = taken[:shared]
        for group in groups[shared:]:
            extended = _extend(A, layout.runs[group], taken[-1] if taken else None, ridge)
            if extended is None:
                break
            taken.append((group, *extended))
        whole = len(taken) == len(groups) > 0
        rows = taken[-1][1] if taken else np.arange(0)
        yield int(number), rows, taken[-1][2] if whole else None


def _extend(
    A: Floats, run: slice, before: tuple[int, Indices, Floats] | None, ridge: float
) -> tuple[Indices, Floats] | None:
    """Return rows and factor with one more group; None where the rest of its block is not positive."""
    new = np.arange(run.start, run.stop)
    block = A[run, run].copy()
    block.flat[:: len(block) + 1] += ridge
    if before is None:
        rows, left = new, None
    else:
        rows = np.concatenate([before[1], new])
        left = linalg.solve_triangular(before[2], A[before[1], run], lower=True, check_finite=False)
        block -= left.T @ left
    try:
        corner = linalg.cholesky(block, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    if left is None:
        return rows, corner
    size = len(left)
    factor = np.zeros((rows.size, rows.size), order="F")
    factor[:size, :size] = before[2] if before is not None else 0.0
    factor[size:, :size] = left.T
    factor[size:, size:] = corner
    return rows, factor
