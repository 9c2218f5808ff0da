"""Fig. 5: the words that photos of the test part are given, beside those that people gave them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import Experiment
from benchmarks.results import seed_of
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
        given[name] = np.argsort(-model.decision_function(dataset.X[rows]), axis=1, kind="stable")[:, :n_words]
    truth = dataset.Y[rows] == 1
    summary = [[titles[name], f"{np.take_along_axis(truth, given[name], axis=1).mean():.3f}"] for name in methods]
    candidates = np.flatnonzero(truth.sum(axis=1) >= 2)
    chosen = np.sort(np.random.default_rng(seed_of(experiment.seed, data)).permutation(candidates)[:n_photos])
    shown = [
        [
            dataset.names[rows[place]],
            ", ".join(dataset.tags[tag] for tag in np.flatnonzero(truth[place])),
            *(", ".join(_word(dataset.tags[tag], truth[place, tag]) for tag in given[name][place]) for name in methods),
        ]
        for place in chosen
    ]
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


def _word(word: str, right: bool) -> str:
    return word if right else f"*{word}*"
