"""Counts of visual words, from whatever feature groups are made of words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import FeatureGroups

__all__ = ["WORD_FAMILIES", "word_counts"]

#: Families of groups that are words: counts (blobs), or shares of a photo's words that become counts.
WORD_FAMILIES = ("blobs", "words", "semantic")
#: Words that a photo has in a group of shares.
WORDS_PER_PHOTO = 50
#: Shares are left out below so many words.
LEAST_WORDS = 0.05


def word_counts(X: NDArray[Any], groups: FeatureGroups) -> Any:
    """Return counts of visual words: the columns of the groups that are words, side by side; None where none is.

    A group whose rows sum to 1, such as a bag of words or the class probabilities of a network, becomes
    `WORDS_PER_PHOTO` words a photo; shares of less than a twentieth of a word are left out. Counts stay as they are.

    Parameters
    ----------
    X : array of shape (n, d)
        Features as they are computed, not scaled.
    groups : FeatureGroups
        Their groups.

    Returns
    -------
    sparse array of shape (n, words) or None
        CSR, float32.
    """
    chosen = [part for name, part in groups.split(X).items() if name.split("-")[0] in WORD_FAMILIES]
    if not chosen:
        return None
    return sparse.csr_array(sparse.hstack([_counts(part) for part in chosen], format="csr"))


def _counts(part: NDArray[Any]) -> Any:
    values = np.maximum(np.asarray(part, dtype=np.float32), 0.0)
    totals = values.sum(axis=1, keepdims=True)
    if totals.max(initial=0.0) > 1.01:
        return sparse.csr_array(values)
    values = values * (WORDS_PER_PHOTO / np.where(totals > 0, totals, 1.0))
    return sparse.csr_array(np.where(values >= LEAST_WORDS, values, np.float32(0.0)))
