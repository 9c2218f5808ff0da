"""The ranking of suggestions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix

__all__ = ["top_suggestions"]


def top_suggestions(
    Y: LabelMatrix, scores: NDArray[Any], n_keywords: int, least: float = -np.inf
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rank the tags nobody has spoken about.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        Only entries -1 are suggested.
    scores : array of shape (n, c)
        Higher is better; equal scores rank in column order.
    n_keywords : int
        How many per photo at most; 0 means all.
    least : float
        What has a smaller score is no suggestion.

    Returns
    -------
    columns : ndarray of shape (n, k)
        Tags by falling score.
    counts : ndarray of shape (n,)
        How many of them are suggestions; the rest of the row is to be ignored.
    """
    unknown = (Y == UNKNOWN) & (scores >= least)
    k = Y.shape[1] if n_keywords == 0 else min(n_keywords, Y.shape[1])
    order = np.argsort(np.where(unknown, -scores, np.inf), axis=1, kind="stable")[:, :k]
    return order, np.minimum(unknown.sum(axis=1), k)
