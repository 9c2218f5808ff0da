"""Fig. 5: the words that photos of the test part are given, beside those that people gave them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.examples import best_words, shown_photos
from benchmarks.experiment import Experiment
from benchmarks.runner import fit_cell


def example_words(
    experiment: Experiment, data: str, methods: list[str], boost: str, n_photos: int, n_words: int
) -> dict[str, Any]:
    """Give photos of the first partition's test part their best words.

    Parameters
    ----------
    experiment : Experiment
        Whose cells are fitted.
    data : str
        Its part.
    methods : list of str
        Methods with a grid over ``boost``.
    boost : str
        The point.
    n_photos, n_words : int
        How many photos are shown (drawn at random among those with two words or more), and words of each.
    """
    titles = {method.name: method.title for method in experiment.methods}
    given: dict[str, NDArray[np.intp]] = {}
    for name in methods:
        dataset, split, model = fit_cell(experiment, data, name, 0, boost=boost)
        rows = split.evaluate["novel"]
        given[name] = best_words(model.decision_function(dataset.X[rows]), n_words)
    truth = dataset.Y[rows] == 1
    summary = [[titles[name], f"{np.take_along_axis(truth, given[name], axis=1).mean():.3f}"] for name in methods]
    shown = shown_photos(
        dataset,
        rows,
        [given[name] for name in methods],
        n_photos=n_photos,
        fewest=2,
        seed=(experiment.seed, data),
    )
    return {
        "tables": [
            {"caption": "", "header": ["photo", "truth", *(titles[name] for name in methods)], "rows": shown},
            {
                "caption": f"All {len(rows):,} photos of this test part, share of right words among the {n_words}:",
                "header": ["method", "right"],
                "rows": summary,
            },
        ]
    }
