"""What others make of the same labels, where they finish: a linear model, votes of neighbours, label spreading."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import measure
from benchmarks.scale.made_up import blocks, labelled
from tagloom.metrics import mean_average_precision

#: Photos up to which label spreading is tried: its graph compares all pairs, as scikit-learn makes it.
MOST_SPREAD = 10_000
NEIGHBORS, FOLDS = 15, 3
#: Inverse penalties that cross-validation compares.
PENALTIES = (0.001, 0.01, 0.1)

Scores = NDArray[Any]


def peers(n: int, rows: slice) -> dict[str, dict[str, float]]:
    """Return processor seconds and mean average precision of each, over some photos without labels."""
    parts = list(blocks(n))
    X = np.concatenate([np.hstack([deep, color]) for deep, color, _ in parts])
    truth = np.concatenate([Y for *_, Y in parts])
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    n_labelled, found = labelled(n), {}
    tried: dict[str, Callable[[Scores, Scores], Scores]] = {"logistic regression": logistic, "votes": votes}
    if n <= MOST_SPREAD:
        tried["label spreading"] = spreading
    for name, method in tried.items():
        with measure() as elapsed:
            scores = method(X, truth[:n_labelled])
        figure = float(mean_average_precision(truth[rows], scores[rows]))
        found[name] = {"cpu": round(elapsed.cpu, 2), "map": round(figure, 4)}
    return found


def logistic(X: Scores, Y: Scores) -> Scores:
    """Return scores of one logistic regression a tag, with the common penalty that cross-validation prefers."""
    from sklearn.model_selection import KFold

    known = X[: len(Y)]
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(known))
    figures = []
    for penalty in PENALTIES:
        held_out = np.zeros(Y.shape)
        for rest, held in folds:
            held_out[held] = _linear(known[rest], Y[rest], known[held], penalty)
        figures.append(mean_average_precision(Y, held_out))
    return _linear(known, Y, X, PENALTIES[int(np.argmax(figures))])


def _linear(X: Scores, Y: Scores, new: Scores, penalty: float) -> Scores:
    from sklearn.linear_model import LogisticRegression

    coefficients = np.zeros((X.shape[1], Y.shape[1]), dtype=X.dtype)
    for tag in np.flatnonzero((Y.sum(axis=0) > 0) & (Y.sum(axis=0) < len(Y))):
        coefficients[:, tag] = LogisticRegression(C=penalty, tol=1e-3).fit(X, Y[:, tag]).coef_[0]
    return np.asarray(new @ coefficients)


def votes(X: Scores, Y: Scores) -> Scores:
    """Return how many of the nearest labelled photos have each tag."""
    from sklearn.neighbors import NearestNeighbors

    indices = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(X[: len(Y)]).kneighbors(X)[1]
    return np.stack([Y[one].mean(axis=0) for one in indices])


def spreading(X: Scores, Y: Scores) -> Scores:
    """Return probabilities of scikit-learn's label spreading, a tag at a time over one graph."""
    from sklearn.neighbors import kneighbors_graph
    from sklearn.semi_supervised import LabelSpreading

    graph = kneighbors_graph(X, NEIGHBORS, include_self=False)
    graph = (0.5 * (graph + graph.T)).tocsr()
    scores = np.zeros((len(X), Y.shape[1]))
    for tag in np.flatnonzero(Y.any(axis=0)):
        y = np.full(len(X), -1)
        y[: len(Y)] = Y[:, tag]
        scores[:, tag] = LabelSpreading(kernel=lambda *_: graph).fit(X, y).label_distributions_[:, 1]
    return scores
