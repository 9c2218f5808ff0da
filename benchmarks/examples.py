"""Words that some photos are given by several methods, beside those that people gave them."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset
from benchmarks.results import seed_of


def best_words(scores: NDArray[np.floating], n_words: int) -> NDArray[np.intp]:
    """Return the tags with the largest scores of each photo, best first; of equal ones the first."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :n_words]


def shown_photos(
    dataset: Dataset,
    rows: NDArray[np.intp],
    given: list[NDArray[np.intp]],
    *,
    n_photos: int,
    fewest: int,
    seed: tuple[object, ...],
) -> list[list[str]]:
    """Return a table row for each photo that is shown: its name, its true words, and those of every method.

    Parameters
    ----------
    dataset : Dataset
        Of the photos.
    rows : array of int
        The photos to draw from.
    given : list of arrays of shape (photos, words)
        Of each method.
    n_photos, fewest : int
        How many are drawn, among those with so many true words or more.
    seed : tuple
        What the draw depends on.
    """
    truth = dataset.Y[rows] == 1
    candidates = np.flatnonzero(truth.sum(axis=1) >= fewest)
    chosen = np.sort(np.random.default_rng(seed_of(*seed)).permutation(candidates)[:n_photos])
    return [
        [
            dataset.names[rows[place]],
            ", ".join(dataset.tags[tag] for tag in np.flatnonzero(truth[place])),
            *(", ".join(_word(dataset.tags[tag], truth[place, tag]) for tag in words[place]) for words in given),
        ]
        for place in chosen
    ]


def _word(word: str, right: bool) -> str:
    return word if right else f"*{word}*"
