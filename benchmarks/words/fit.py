"""From scores of names to log-odds: what `tagloom.features.network.words.SCORE_TO_LOG_ODDS` was fitted to."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import data_folder, photo_features
from benchmarks.words.cells import load
from tagloom.features.network.words import SCORE_TO_LOG_ODDS, described_scores, word_weights

#: Photos of each class of Caltech-101, and folders that are no class, or a second one of another.
PHOTOS_OF_A_CLASS = 8
LEFT_OUT = ("BACKGROUND_Google", "Faces_easy")


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
    folders = [one for one in sorted((data_folder("caltech101") / "images").iterdir()) if one.name not in LEFT_OUT]
    paths: list[Path] = []
    of_class: list[int] = []
    for place, folder in enumerate(folders):
        found = sorted(folder.glob("*.jpg"))[:PHOTOS_OF_A_CLASS]
        paths += found
        of_class += [place] * len(found)
    X, _ = photo_features("words-caltech101", paths, ("semantic",))
    truth = np.eye(len(folders), dtype=bool)[of_class]
    return X, [folder.name.replace("_", " ") for folder in folders], truth
