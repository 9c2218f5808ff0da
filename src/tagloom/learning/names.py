"""What the names of tags say of photos: by the classes that the bundled network sees, or by an encoder that reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import FeatureRows
from tagloom.core import Bools, FeatureGroups
from tagloom.features.network import N_CLASSES, TextTower, seen_classes, word_log_odds, word_weights

__all__ = ["CLASSES", "Sight", "class_probabilities", "given_by_names"]

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


@dataclass(frozen=True, eq=False)
class Sight:
    """What a network sees in photos, where names can be compared with it.

    Parameters
    ----------
    values : array of shape (n, d)
        Of the photos: probabilities of the bundled network's classes, or embeddings.
    text : TextTower or None
        Embeds names; None compares them with the classes.
    """

    values: NDArray[Any]
    text: TextTower | None = None

    @classmethod
    def of(cls, rows: FeatureRows) -> Self | None:
        """Return what is seen in photos by their features; None where no name can be compared with them.

        Parameters
        ----------
        rows : FeatureRows
            The features. An encoder with a text tower comes before the bundled network.
        """
        for group, text in rows.texts.items():
            if group in rows.groups:
                return cls(np.asarray(rows.X[:, rows.groups[group]]), text)
        classes = class_probabilities(rows.X, rows.groups)
        return None if classes is None else cls(classes)

    def halved(self) -> Self:
        """Return it in half precision, to hold memory down."""
        return replace(self, values=self.values.astype(np.float16))

    def known(self, names: Sequence[str]) -> Bools:
        """Return which names say something."""
        if self.text is None:
            return word_weights(names).known
        return np.array([self.text.knows(name) for name in names], dtype=bool)

    def log_odds(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Return the log-odds (n, n_names) that photos show what is named, NaN for names that say nothing."""
        if self.text is None:
            return word_log_odds(self.values, names)
        return self.text.log_odds(self.values, names)

    def telling_name(self, names: Sequence[str]) -> str:
        """Return the first name of a tag that says something, or else the first one.

        Parameters
        ----------
        names : sequence of str
            The tag's text and its aliases.
        """
        return names[int(np.argmax(self.known(names)))]

    def seen(self, row: int, names: Sequence[str]) -> list[tuple[str, float]]:
        """Return what is seen in one photo that tells of a tag, each with its probability.

        Parameters
        ----------
        row : int
            The photo.
        names : sequence of str
            The tag's text and its aliases.
        """
        if self.text is None:
            return seen_classes(self.values[row], self.telling_name(names))
        return self.text.seen(self.values[row]) if self.known(names).any() else []


def given_by_names(sight: Sight | None, names: Sequence[Sequence[str]]) -> NDArray[np.float32] | None:
    """Return the log-odds that photos have tags by the names of the tags; None where no name says anything.

    Parameters
    ----------
    sight : Sight or None
        What is seen in the photos.
    names : sequence of sequence of str
        For each tag its text and its aliases.

    Returns
    -------
    ndarray of float32, shape (n, n_tags), or None
        NaN for tags whose names say nothing.
    """
    if sight is None or not names:
        return None
    tags = [sight.telling_name(one) for one in names]
    return sight.log_odds(tags) if sight.known(tags).any() else None
