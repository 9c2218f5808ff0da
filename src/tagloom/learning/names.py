"""What the names of tags say of photos: log-odds by the classes that the bundled network sees in them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import FeatureGroups
from tagloom.features.network import N_CLASSES, word_log_odds, word_weights

__all__ = ["CLASSES", "class_probabilities", "given_by_names", "telling_name"]

#: The feature group of the bundled network's class probabilities.
CLASSES = "semantic"


def class_probabilities(X: NDArray[Any], groups: FeatureGroups) -> NDArray[Any] | None:
    """Return the probabilities (n, 1000) of the network's classes, None where the features have none.

    Parameters
    ----------
    X : array of shape (n, d)
        Features as extracted.
    groups : FeatureGroups
        Their groups.
    """
    if CLASSES not in groups.names or dict(zip(groups.names, groups.sizes, strict=True))[CLASSES] != N_CLASSES:
        return None
    return np.asarray(X[:, groups[CLASSES]])


def telling_name(names: Sequence[str]) -> str:
    """Return the first name of a tag that says something, or else the first one.

    Parameters
    ----------
    names : sequence of str
        The tag's text and its aliases.
    """
    known = word_weights(names).known
    return names[int(np.argmax(known))]


def given_by_names(probabilities: NDArray[Any] | None, names: Sequence[Sequence[str]]) -> NDArray[np.float32] | None:
    """Return the log-odds that photos have tags by the names of the tags; None where no name says anything.

    Parameters
    ----------
    probabilities : array of shape (n, 1000) or None
        See `class_probabilities`.
    names : sequence of sequence of str
        For each tag its text and its aliases.

    Returns
    -------
    ndarray of float32, shape (n, n_tags), or None
        NaN for tags whose names say nothing.
    """
    if probabilities is None or not names:
        return None
    tags = [telling_name(one) for one in names]
    return word_log_odds(probabilities, tags) if word_weights(tags).known.any() else None
