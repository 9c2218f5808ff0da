"""What methods do with features and labels before they learn."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from tagloom.core import LabelMatrix
from tagloom.exceptions import InvalidInputError

__all__ = ["filled", "warn_without_positives"]

#: Entries of sparse features that may be filled in to search neighbours.
MOST_ENTRIES = 250_000_000


def filled(X: Any, otherwise: str) -> Any:
    """Return features as a neighbour search needs them, dense; ``otherwise``: what to do if they are too large."""
    if not sparse.issparse(X):
        return X
    if X.shape[0] * X.shape[1] > MOST_ENTRIES:
        raise InvalidInputError(
            f"sparse features of shape {X.shape} are too large to be filled in for the neighbour graph; {otherwise}"
        )
    return X.toarray()


def warn_without_positives(Y: LabelMatrix, consequence: str) -> None:
    """Name the tags that no photo is known to have, and what comes of it."""
    lost = np.flatnonzero(~(Y == 1).any(axis=0))
    if lost.size:
        warnings.warn(
            f"no photo is known to have the tags (columns) {lost[:10].tolist()}, {lost.size} in all: {consequence}. "
            f"Label a photo that has them, or leave them out",
            UserWarning,
            stacklevel=4,
        )
