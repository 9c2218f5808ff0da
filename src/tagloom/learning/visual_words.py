"""Visual words for topic models, from whatever feature groups of a folder are made of words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import SettingsError
from tagloom.features.words.word_counts import WORD_FAMILIES, WORDS_PER_PHOTO, word_counts

__all__ = ["WORDS_PER_PHOTO", "WORD_FAMILIES", "visual_words"]


def visual_words(X: NDArray[Any], groups: FeatureGroups) -> Any:
    """Return counts of visual words, see `tagloom.features.words.word_counts.word_counts`.

    Parameters
    ----------
    X : array of shape (n, d)
        Features as they are computed, not scaled.
    groups : FeatureGroups
        Their groups.

    Returns
    -------
    sparse array of shape (n, words)
        CSR, float32.

    Raises
    ------
    SettingsError
        If no group is made of words; says which would be.
    """
    found = word_counts(np.asarray(X), groups)
    if found is None:
        raise SettingsError(
            f"method 'topics' needs visual words, but the features are {', '.join(groups.names)}; add one of "
            f"{', '.join(WORD_FAMILIES)} to descriptors (the default descriptors have 'semantic')"
        )
    return found
