"""NOVA's strength for each tag, from held-out photos."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.typing import Floats
from tagloom.methods.shared.out_of_fold import stable_folds
from tagloom.methods.shared.ridge_path import linear_scores
from tagloom.metrics import auc

__all__ = ["choose_strengths", "held_out_scores"]

Path = Callable[[NDArray[Any], LabelMatrix, Floats], Iterator[tuple[Floats, Floats]]]


def held_out_scores(
    X: NDArray[Any], Y: LabelMatrix, strengths: Floats, path: Path, *, n_splits: int, random_state: Any
) -> Floats:
    """Return for each point of a path and each tag the mean area under the ROC curve over the folds.

    Parameters
    ----------
    X, Y : arrays of shape (n, d) and (n, c)
        Features and label matrix.
    strengths : array of shape (k, c)
        The points.
    path : callable
        From features, labels and strengths to coefficients and intercepts, one pair after another.
    n_splits, random_state : int, Any
        Of `LabeledKFold`, dealt by what photos look like and not by their order.

    Returns
    -------
    ndarray of shape (k, c)
        NaN where no fold has the tag both present and absent in its held-out part and in the rest.
    """
    total, count = np.zeros(strengths.shape), np.zeros(strengths.shape[1])
    rows = labeled_rows(Y)
    if rows.sum() < 2:
        return np.full(strengths.shape, np.nan)
    for test in stable_folds(X, Y, n_splits=n_splits, random_state=random_state):
        learnt = np.setdiff1d(np.flatnonzero(rows), test)
        part = Y[learnt]
        contrast = (part == 1).any(axis=0) & (part == 0).any(axis=0)
        held = Y[test]
        contrast &= (held == 1).any(axis=0) & (held == 0).any(axis=0)
        if not contrast.any():
            continue
        tags = np.flatnonzero(contrast)
        # Tags that cannot be scored here need not be learnt either.
        points = path(X[learnt], np.where(contrast, part, UNKNOWN).astype(np.int8), strengths)
        for point, (coef, intercept) in enumerate(points):
            total[point, tags] += auc(held[:, tags], linear_scores(X[test], coef[:, tags], intercept[tags]))
        count[tags] += 1
    return np.divide(total, count, out=np.full(strengths.shape, np.nan), where=count > 0)


def choose_strengths(scores: Floats, strengths: Floats) -> Floats:
    """Return each tag's strength of the best score; equal ones: the largest strength.

    A tag that could not be scored takes the point that is best on average over the others, or the middle one.
    """
    scored = ~np.isnan(scores).any(axis=0)
    usual = int(np.argmax(scores[:, scored].mean(axis=1))) if scored.any() else len(strengths) // 2
    best = np.full(scores.shape[1], usual)
    best[scored] = np.argmax(scores[:, scored], axis=0)
    chosen: Floats = strengths[best, np.arange(scores.shape[1])]
    return chosen
