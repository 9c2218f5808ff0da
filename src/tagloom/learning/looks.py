"""What a person has said looking at one photo after the other: the only labels that tell how right suggestions are."""

import numpy as np
from numpy.typing import NDArray

from tagloom.store.decisions import Decisions
from tagloom.store.log import ORIGINS

__all__ = ["Looks"]

#: Pairs decided in one action up to which each of them was looked at: "accept all above here" says nothing of a photo.
MOST_AT_ONCE = 10
SUGGESTED = ORIGINS.index("suggested")


class Looks:
    """For each tag the photos that somebody looked at, and what was said of them, the latest last."""

    def __init__(self) -> None:
        self._n_read = 0
        self._of_tag: dict[int, dict[int, tuple[int, bool]]] = {}

    def read(self, decisions: Decisions) -> None:
        """Take in what was said since the last time."""
        n_read = decisions.count()
        made = decisions.made_since(self._n_read, most_in_batch=MOST_AT_ONCE)
        self._n_read = n_read
        for photo, tag, state, origin in made.tolist():
            of_tag = self._of_tag.setdefault(tag, {})
            of_tag.pop(photo, None)  # what was said last comes last
            of_tag[photo] = state, origin == SUGGESTED

    def suggested(self, tag: int) -> NDArray[np.int64]:
        """Return photos that a tag was suggested for and what was said of them, 1 or 0, shape (k, 2), latest last."""
        said = self._of_tag.get(tag, {}).items()
        pairs = [(photo, state) for photo, (state, is_suggested) in said if is_suggested]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def given(self) -> NDArray[np.int64]:
        """Return the photos that a tag was given to by itself, each as often as it was given one; no suggestions."""
        said = (pair for of_tag in self._of_tag.values() for pair in of_tag.items())
        return np.array(
            [photo for photo, (state, is_suggested) in said if state == 1 and not is_suggested], dtype=np.int64
        )

    def photos(self, tag: int) -> NDArray[np.int64]:
        """Return the photos that were looked at for a tag."""
        return np.fromiter(self._of_tag.get(tag, {}), dtype=np.int64)
