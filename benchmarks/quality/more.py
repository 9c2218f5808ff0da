"""More draws of `auto` at the places where the asked number of draws leaves a verdict open.

Verdicts on the page are of the draws that were asked for. These further ones, drawn in the same way, tell how much of
such a verdict is chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.quality.sets import find_set


@dataclass(frozen=True)
class Place:
    """Where further draws are made.

    Parameters
    ----------
    set_name : str
        The collection.
    fraction : float
        Share of labelled photos.
    methods : tuple of str
        ``auto``, or ``auto-no`` and ``auto-unknown`` for positive-only labels.
    draws : int
        How many, besides those asked for.
    """

    set_name: str
    fraction: float
    methods: tuple[str, ...]
    draws: int

    @property
    def numbers(self) -> range:
        """Numbers of the further draws: they follow those asked for."""
        first = find_set(self.set_name).draws
        return range(first, first + self.draws)


PLACES = (
    Place("corel5k", 0.02, ("auto",), 20),
    Place("msrc_v2", 0.05, ("auto",), 20),
    Place("coco_free", 0.25, ("auto-no", "auto-unknown"), 40),
)


def cells_of(name: str) -> Iterator[tuple[float, int, str]]:
    """Return fraction, draw and method of a set's further cells."""
    for place in PLACES:
        if place.set_name == name:
            yield from ((place.fraction, draw, method) for draw in place.numbers for method in place.methods)


def is_positive(method: str) -> bool:
    """Say whether a method is one of the study of positive-only labels."""
    return "-" in method
