"""The penalty of a stored ridge regression, told from its coefficients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import LabelMatrix, known_patterns

__all__ = ["common_strength"]


def common_strength(X: NDArray[Any], Y: LabelMatrix, coef: NDArray[Any]) -> float:
    """Return the λ that coefficients were fitted with, one for all tags.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Labels.
    coef : array of shape (d, c)
        The coefficients.

    Notes
    -----
    At the optimum ``X̃ᵀ(ỹ - X̃w) = λw``, so that ``λ = wᵀX̃ᵀ(ỹ - X̃w) / wᵀw`` for every tag. The median over tags: labels
    of a few tags may have changed since.
    """
    patterns, pattern_of = known_patterns(Y)
    found = np.full(Y.shape[1], np.nan)
    for group in range(patterns.shape[1]):
        rows, tags = np.flatnonzero(patterns[:, group]), np.flatnonzero(pattern_of == group)
        lengths = np.square(coef[:, tags]).sum(axis=0)
        if not len(rows) or not lengths.any():
            continue
        centred = X[rows].astype(np.float64)
        centred -= centred.mean(axis=0)
        labels = Y[np.ix_(rows, tags)].astype(np.float64)
        fitted = centred @ coef[:, tags]
        pulls = (fitted * (labels - labels.mean(axis=0) - fitted)).sum(axis=0)
        np.divide(pulls, lengths, out=lengths, where=lengths > 0)
        found[tags] = np.where(np.square(coef[:, tags]).sum(axis=0) > 0, lengths, np.nan)
    known = found[found > 0]
    return float(np.median(known)) if known.size else 1.0
