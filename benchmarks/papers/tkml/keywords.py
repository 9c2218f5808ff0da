"""Five words per photo by standardised scores: how far a score stands out among those of its own word.

Words differ in the spread of their scores: a rare one hardly ever comes near a frequent one, however well it ranks the
photos. Standardising each word over the photos that are scored uses no label and changes no ranking of photos, hence
neither BEP nor mAP; it is applied to every method alike.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.metrics import keyword_precision, keyword_recall, n_recalled_keywords


def standardized(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return scores with mean 0 and deviation 1 over the photos, for each word; constant words get 0."""
    values = np.asarray(scores, dtype=np.float64)
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    constant = spread <= 1e-12 * np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
    found: NDArray[np.float64] = np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))
    return found


def n_plus(Y: NDArray[np.int8], scores: NDArray[Any]) -> float:
    """Return N+ by standardised scores."""
    return n_recalled_keywords(Y, standardized(scores))


def precision(Y: NDArray[np.int8], scores: NDArray[Any]) -> float:
    """Return P by standardised scores."""
    return keyword_precision(Y, standardized(scores))


def recall(Y: NDArray[np.int8], scores: NDArray[Any]) -> float:
    """Return R by standardised scores."""
    return keyword_recall(Y, standardized(scores))
