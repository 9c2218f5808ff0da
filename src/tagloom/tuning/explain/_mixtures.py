"""Explanations of scores that are mixtures: sums of what is known of the scores of single tags."""

from collections.abc import Sequence

import numpy as np

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.tuning.explain._explanations import Decomposition, NeighborDecomposition, is_small, sum_up

__all__ = ["mix_groups", "mix_neighbors"]


def mix_groups(parts: Sequence[tuple[float, Decomposition]], level: float, score: float) -> Decomposition | None:
    """Return the sum of decompositions of single tags by the same names, None where there are none.

    Parameters
    ----------
    parts : sequence of (float, Decomposition)
        Shares and decompositions.
    level : float
        What the mixture adds to their sum.
    score : float
        What is explained.
    """
    if not parts:
        return None
    amounts = np.sum([share * part.amounts for share, part in parts], axis=0)
    base = level + sum(share * part.base for share, part in parts)
    return sum_up(parts[0][1].names, amounts, float(base), score, is_own=all(part.is_exact for _, part in parts))


def mix_neighbors(
    parts: Sequence[tuple[int, float, NeighborDecomposition]], level: float, score: float, Y: LabelMatrix, tag: int
) -> NeighborDecomposition:
    """Return what each labelled photo adds by all of its labels; weights are those of the label of the tag itself.

    Parameters
    ----------
    parts : sequence of (int, float, NeighborDecomposition)
        Tags, their shares, and decompositions by photos; a tag may be there more than once.
    level : float
        What the mixture adds to their sum.
    score : float
        What is explained.
    Y : label matrix of shape (n, c)
        Labels.
    tag : int
        The tag that is explained.
    """
    totals, own = np.zeros(len(Y)), np.zeros(len(Y))
    base = level
    for other, share, part in parts:
        rows = np.asarray(part.names, dtype=np.intp)
        totals[rows] += share * part.amounts
        base += share * part.base
        if other == tag:
            own[rows] += share * part.weights
    kept = np.flatnonzero((Y != UNKNOWN).any(axis=1))
    rest = score - base - float(totals.sum())
    is_exact = all(part.is_exact for *_, part in parts) and is_small(rest, score)
    labels = Y[kept, tag]
    frequency = float(labels[labels != UNKNOWN].mean()) if (labels != UNKNOWN).any() else 0.0
    names = tuple(kept.tolist())
    return NeighborDecomposition(names, totals[kept], float(base), rest, is_exact, own[kept], labels, frequency)
