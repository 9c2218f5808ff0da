"""From scores of names to log-odds: what `tagloom.features.network.words.SCORE_TO_LOG_ODDS` was fitted to."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import photo_features
from benchmarks.words.cells import PHOTOS_OF_A_CLASS, caltech101, load
from tagloom.features.network.words import SCORE_TO_LOG_ODDS, described_scores, word_weights


def fit() -> list[float]:
    """Return constant and slopes of a logistic regression; the positives of each collection weigh the same."""
    from sklearn.linear_model import LogisticRegression

    features, labels, weights = [], [], []
    for probabilities, tags, truth in (_corel5k_training(), _caltech101()):
        known = word_weights(tags).known
        features.append(described_scores(probabilities, tags)[:, known].reshape(-1, len(SCORE_TO_LOG_ODDS) - 1))
        labels.append(truth[:, known].ravel())
        weights.append(np.full(labels[-1].size, 1000.0 / labels[-1].sum()))
    model = LogisticRegression(C=1e6, max_iter=500)
    model.fit(np.concatenate(features), np.concatenate(labels), sample_weight=np.concatenate(weights))
    return [float(model.intercept_[0]), *model.coef_[0].tolist()]


def _corel5k_training() -> tuple[NDArray[Any], list[str], NDArray[np.bool_]]:
    data = load("corel5k")
    assert data.groups is not None
    assert data.test_rows is not None
    rows = ~data.test_rows
    return data.groups.split(data.X)["semantic"][rows], list(data.tags), data.Y[rows] == 1


def _caltech101() -> tuple[NDArray[Any], list[str], NDArray[np.bool_]]:
    paths, tags, truth = caltech101(slice(PHOTOS_OF_A_CLASS))
    X, _ = photo_features("words-caltech101", paths, ("semantic",))
    return X, tags, truth
