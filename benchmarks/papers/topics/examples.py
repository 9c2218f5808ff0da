"""Fig. 3: the words that photos without tags are given, beside those that people gave them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.examples import best_words, shown_photos
from benchmarks.experiment import Experiment
from benchmarks.runner import fit_cell


def example_photos(
    experiment: Experiment, data: str, methods: list[str], n_topics: int, n_photos: int, n_words: int
) -> dict[str, Any]:
    """Give photos of the first draw their best words.

    Parameters
    ----------
    experiment : Experiment
        Whose cells are fitted.
    data : str
        Its part.
    methods : list of str
        Methods with a grid over ``n_topics``.
    n_topics : int
        The point.
    n_photos, n_words : int
        How many photos are shown (drawn at random among those with three words or more), and words of each.
    """
    titles = {method.name: method.title for method in experiment.methods}
    given: dict[str, NDArray[np.intp]] = {}
    for name in methods:
        dataset, split, model = fit_cell(experiment, data, name, 0, n_topics=n_topics)
        rows = split.evaluate["unlabeled"]
        scores = model.transduction_[np.searchsorted(split.fit_rows, rows)]
        given[name] = best_words(scores, n_words)
    truth = dataset.Y[rows] == 1
    shown = shown_photos(
        dataset,
        rows,
        [given[name] for name in methods],
        n_photos=n_photos,
        fewest=3,
        seed=(experiment.seed, data),
    )
    counted = [[titles[name], *_counts(given[name], truth)] for name in methods]
    return {
        "tables": [
            {"caption": "", "header": ["photo", "truth", *(titles[name] for name in methods)], "rows": shown},
            {
                "caption": f"All {len(rows):,} photos without tags, {n_words} words each:",
                "header": ["method", "right words", "different words given", "share of the five commonest"],
                "rows": counted,
            },
        ]
    }


def _counts(given: NDArray[np.intp], truth: NDArray[np.bool_]) -> list[str]:
    """Return the share of right words, how many words are given at all, and how often these are the usual ones."""
    counts = np.sort(np.bincount(given.ravel(), minlength=truth.shape[1]))[::-1]
    right = np.take_along_axis(truth, given, axis=1).mean()
    return [f"{right:.3f}", f"{(counts > 0).sum()}", f"{counts[:5].sum() / counts.sum():.3f}"]
