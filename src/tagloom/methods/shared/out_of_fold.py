"""What an annotator says of labelled photos whose labels it has not seen."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tagloom.core import UNKNOWN, Annotator, LabeledKFold, LabelMatrix

__all__ = ["known_means", "out_of_fold_scores", "stable_folds"]


def out_of_fold_scores(
    annotator: Annotator, X: NDArray[Any], Y: LabelMatrix, *, n_splits: int = 5, random_state: Any = 0
) -> NDArray[np.float64]:
    """Return scores of the labelled rows, each by a clone that was fitted with the row unlabelled; else NaN.

    They are deviations from the clone's mean score of the photos it has learnt from. With the means the scores of
    different clones could not be compared: a fold rich in a tag leaves fewer of it to learn from, so that its intercept
    is low just there.

    Parameters
    ----------
    annotator : Annotator
        Cloned, never changed. Its ``transduction_`` scores the rows that were hidden from it.
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        At least two labelled rows.
    n_splits : int, default=5
        Folds of `LabeledKFold`.
    random_state : int, Generator or None, default=0
        For dealing the folds.
    """
    scores = np.full(Y.shape, np.nan)
    for held_out in stable_folds(X, Y, n_splits=n_splits, random_state=random_state):
        hidden = Y.copy()
        hidden[held_out] = UNKNOWN
        with warnings.catch_warnings():
            # The annotator warns of what all rows lack when it is fitted on them; a fold lacks more.
            warnings.simplefilter("ignore")
            found = clone(annotator).fit(X, hidden).transduction_
        scores[held_out] = found[held_out] - known_means(found, hidden)
    return scores


def known_means(scores: NDArray[np.floating[Any]], Y: LabelMatrix) -> NDArray[np.float64]:
    """Return the mean score of each tag where it is known, over all photos where it is known nowhere."""
    known = Y != UNKNOWN
    counts = known.sum(axis=0)
    means = np.where(known, scores, 0.0).sum(axis=0, dtype=np.float64) / np.maximum(counts, 1)
    return np.where(counts > 0, means, scores.mean(axis=0, dtype=np.float64))


def stable_folds(
    X: NDArray[Any], Y: LabelMatrix, *, n_splits: int = 5, random_state: Any = 0
) -> Iterator[NDArray[np.intp]]:
    """Yield the held-out rows of `LabeledKFold`, dealt so that neither the order of photos nor that of tags matters.

    Parameters
    ----------
    X : array of shape (n, d)
        Features; their content gives the order in which rows are dealt.
    Y : label matrix of shape (n, c)
        At least two labelled rows.
    n_splits, random_state
        See `LabeledKFold`.
    """
    key = X.astype(np.float64, copy=False) @ np.random.default_rng(0).normal(size=X.shape[1])
    order = np.lexsort((Y.sum(axis=1, dtype=np.int64), key))
    distinct = np.unique(Y[order], axis=1)
    for _, held_out in LabeledKFold(n_splits, random_state=random_state).split(None, distinct):
        yield order[held_out]
