"""The transductive SVM on some words of Corel-5K, beside what else learns from the same kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import Experiment
from benchmarks.methods import make_method
from benchmarks.runner import open_draw
from tagloom.metrics import average_precision


def some_words(experiment: Experiment, data: str, methods: list[str], n_words: int) -> dict[str, Any]:
    """Fit methods on some words alone and compare their average precision, word by word.

    Parameters
    ----------
    experiment : Experiment
        Whose data and methods are used.
    data : str
        Its part.
    methods : list of str
        Methods with a point of the paper.
    n_words : int
        Words, spread evenly over the ranks by frequency of those that both parts have.
    """
    dataset, split, X, Y = open_draw(experiment, data, 0)
    test = split.evaluate["unlabeled"]
    words = spread_words(Y, dataset.Y[test], n_words)
    specs = {method.name: method for method in experiment.methods}
    places = np.searchsorted(split.fit_rows, test)
    rows = []
    for name in methods:
        spec = specs[name]
        model = make_method(spec.path, spec.fixed | (spec.paper or {}), experiment.seed, dataset.groups)
        scores = np.asarray(model.fit(X, Y[:, words]).transduction_)[places]
        precision = average_precision(dataset.Y[np.ix_(test, words)], scores)
        rows.append([spec.title, f"{precision.mean():.3f}", *(f"{value:.3f}" for value in precision)])
    tags = dataset.tags or tuple(map(str, range(dataset.Y.shape[1])))
    counts = [f"{tags[word]} ({int((Y[:, word] == 1).sum())})" for word in words]
    return {"tables": [{"caption": "", "header": ["method", "mean", *counts], "rows": rows}]}


def spread_words(Y: NDArray[np.int8], truth: NDArray[np.int8], n_words: int) -> NDArray[np.intp]:
    """Return columns that labelled and test rows both have, spread evenly over the ranks by frequency."""
    frequency = (Y == 1).sum(axis=0)
    known = np.flatnonzero((frequency > 0) & (truth == 1).any(axis=0))
    ranked = known[np.argsort(-frequency[known], kind="stable")]
    return np.asarray(ranked[np.linspace(0, len(ranked) - 1, n_words).round().astype(int)])
