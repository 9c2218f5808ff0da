"""Metrics of each tag's ranking of the photos: average precision, ROC area, break-even point."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.metrics.inputs import blocks, check_scored, hits_at_head, mean_of_scored, require

__all__ = [
    "auc",
    "average_precision",
    "break_even_point",
    "break_even_points",
    "macro_auc",
    "mean_average_precision",
    "micro_auc",
]

NO_POSITIVE = "no tag has a known positive; label photos that have the tags"
NO_CONTRAST = "no tag has both a known positive and a known negative; the area under the ROC curve needs both"


class _RankedLists:
    """Rows sorted by falling score, unknown entries last, with the extent of each run of equal scores."""

    def __init__(self, Y: LabelMatrix, scores: Floats) -> None:
        key = np.where(Y != UNKNOWN, -scores, np.inf)
        order = np.argsort(key, axis=1)
        key = np.take_along_axis(key, order, axis=1)
        labels = np.take_along_axis(Y, order, axis=1)
        length = key.shape[1]
        self.positive = labels == 1
        self.positives_so_far = np.cumsum(self.positive, axis=1)
        self.negatives_so_far = np.cumsum(labels == 0, axis=1)
        is_end = np.ones(key.shape, dtype=bool)
        is_end[:, :-1] = key[:, 1:] != key[:, :-1]
        ends = np.where(is_end, np.arange(length), length)
        #: Last position of the run of equal scores that each position is in.
        self.end = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]

    def average_precision(self) -> Floats:
        n_positive = self.positives_so_far[:, -1]
        precision_at_end = np.take_along_axis(self.positives_so_far, self.end, axis=1) / (self.end + 1.0)
        total = np.where(self.positive, precision_at_end, 0.0).sum(axis=1)
        return _divide(total, n_positive)

    def auc(self) -> Floats:
        n_negative = self.negatives_so_far[:, -1]
        until_end = np.take_along_axis(self.negatives_so_far, self.end, axis=1)
        # A tie is worth one half: all of the run's negatives less half of them.
        in_run = _run_totals(until_end, self.end)
        won = n_negative[:, None] - until_end + 0.5 * in_run
        total = np.where(self.positive, won, 0.0).sum(axis=1)
        return _divide(total, self.positives_so_far[:, -1] * n_negative)


def _run_totals(until_end: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn counts up to each run's end into counts within the run."""
    is_start = np.ones(end.shape, dtype=bool)
    is_start[:, 1:] = end[:, 1:] != end[:, :-1]
    before = np.zeros_like(until_end)
    before[:, 1:] = until_end[:, :-1]
    # Counts never fall along a row, so the last start's value is the running maximum of the values at starts.
    in_run: NDArray[np.int64] = until_end - np.maximum.accumulate(np.where(is_start, before, 0), axis=1)
    return in_run


def _divide(total: Floats, count: NDArray[np.int64]) -> Floats:
    """Divide, NaN where there is nothing to divide by."""
    quotient = np.full(total.shape, np.nan)
    np.divide(total, count, out=quotient, where=count > 0)
    return quotient


def _per_tag(Y: LabelMatrix, scores: Floats, metric: str) -> Floats:
    values = np.empty(Y.shape[1])
    for block in blocks(Y.shape[1], Y.shape[0]):
        lists = _RankedLists(np.ascontiguousarray(Y[:, block].T), np.ascontiguousarray(scores[:, block].T))
        values[block] = getattr(lists, metric)()
    return values


def average_precision(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Return the average precision of each tag over its known photos.

    The definition is scikit-learn's ``average_precision_score``: the sum over distinct scores, from high to
    low, of the gain in recall times the precision there. Photos with equal scores are one step; their order
    does not matter.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        1 has the tag, 0 does not, -1 is left out.
    scores : array of shape (n, c)
        Higher means more likely.

    Returns
    -------
    ndarray of shape (c,)
        NaN for a tag without a known positive.
    """
    return _per_tag(*check_scored(Y, scores), "average_precision")


def mean_average_precision(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean of `average_precision` over the tags that have a known positive (MAP, mAP).

    Papers 000 (MAP over concepts) and 003 (mAP) report this figure. Tags without a known positive are left
    out of the mean; `Evaluation.tags_without_positive` names them.

    Raises
    ------
    NothingToScoreError
        No tag has a known positive.
    """
    return mean_of_scored(average_precision(Y, scores), NO_POSITIVE)


def auc(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Return the area under the ROC curve of each tag over its known photos.

    It is the share of (positive, negative) pairs in the right order, a tie counting one half: the trapezoidal
    area, as scikit-learn's ``roc_auc_score``.

    Parameters
    ----------
    Y, scores
        As for `average_precision`.

    Returns
    -------
    ndarray of shape (c,)
        NaN for a tag that lacks a known positive or a known negative.
    """
    return _per_tag(*check_scored(Y, scores), "auc")


def macro_auc(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean of `auc` over the tags that have a known positive and a known negative (paper 004).

    Raises
    ------
    NothingToScoreError
        No tag has both.
    """
    return mean_of_scored(auc(Y, scores), NO_CONTRAST)


def micro_auc(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return the area under the ROC curve of all known entries pooled (paper 004): tags must share one scale.

    Raises
    ------
    NothingToScoreError
        The known entries are all positive or all negative.
    """
    labels, values = check_scored(Y, scores)
    known = labels != UNKNOWN
    pooled = _RankedLists(labels[known][None, :], values[known][None, :]).auc()
    require(not np.isnan(pooled[0]), "the known entries of Y are all of one kind; the ROC curve needs both")
    return float(pooled[0])


def break_even_points(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Return for each tag the precision among its N best photos, N its number of known positives.

    At that length precision equals recall. Ties are decided against the annotator: among equal scores the
    negatives come first.

    Parameters
    ----------
    Y, scores
        As for `average_precision`.

    Returns
    -------
    ndarray of shape (c,)
        NaN for a tag without a known positive.
    """
    labels, values = check_scored(Y, scores)
    hits = hits_at_head(np.ascontiguousarray(labels.T), np.ascontiguousarray(values.T))
    return _divide(hits.astype(np.float64), (labels == 1).sum(axis=0))


def break_even_point(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean of `break_even_points` over the tags that have a known positive (BEP of paper 003).

    Raises
    ------
    NothingToScoreError
        No tag has a known positive.
    """
    return mean_of_scored(break_even_points(Y, scores), NO_POSITIVE)
