"""Metrics of the keywords that photos are given: complete length, accuracy, P, R and N+, precision."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.exceptions import InvalidInputError
from tagloom.metrics.inputs import blocks, check_scored, hits_at_head, mean_of_scored, require

__all__ = [
    "annotation_accuracy",
    "assign_keywords",
    "complete_length",
    "keyword_precision",
    "keyword_recall",
    "n_recalled_keywords",
    "precision",
]

NO_TAGGED_PHOTO = "no photo has a known positive; label photos that have the tags"


def complete_length(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return how long a photo's list of best tags must be to hold all its true tags, on average (paper 001).

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        1 has the tag, 0 does not; an entry of -1 takes no place in the list.
    scores : array of shape (n, c)
        Higher means more likely, comparable within a photo.

    Returns
    -------
    float
        Mean over the photos that have a known positive. Ties are decided against the annotator: the list runs
        to the end of the last true tag's tie.

    Raises
    ------
    NothingToScoreError
        No photo has a known positive.
    """
    labels, values = check_scored(Y, scores)
    positive = labels == 1
    worst = np.where(positive, values, np.inf).min(axis=1)
    lengths = ((labels != UNKNOWN) & (values >= worst[:, None])).sum(axis=1)
    return _mean_over_photos(lengths.astype(np.float64), positive.sum(axis=1))


def annotation_accuracy(Y: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean of R/M: the share of true tags among as many best tags as the photo has (paper 001).

    M is both the number of true tags of a photo and the number of tags it is given, R the number of these
    that are right. Photos without a known positive are left out of the mean. Ties are decided against the
    annotator.

    Parameters
    ----------
    Y, scores
        As for `complete_length`.

    Raises
    ------
    NothingToScoreError
        No photo has a known positive.
    """
    labels, values = check_scored(Y, scores)
    n_true = (labels == 1).sum(axis=1)
    return _mean_over_photos(hits_at_head(labels, values) / np.maximum(n_true, 1), n_true)


def _mean_over_photos(values: Floats, n_true: NDArray[np.int64]) -> float:
    return mean_of_scored(np.where(n_true > 0, values, np.nan), NO_TAGGED_PHOTO)


def assign_keywords(Y: ArrayLike, scores: ArrayLike, n_keywords: int = 5) -> NDArray[np.bool_]:
    """Give every photo its best-scored keywords among the known entries (paper 003: 5 of them).

    Parameters
    ----------
    Y, scores
        As for `complete_length`.
    n_keywords : int, default=5
        Keywords per photo; a photo with fewer known entries is given all of these.

    Returns
    -------
    ndarray of bool, shape (n, c)
        Ties are decided against the annotator (among equal scores zeros come first), then by the order of the
        columns.
    """
    if not isinstance(n_keywords, int | np.integer) or isinstance(n_keywords, bool) or n_keywords < 1:
        raise InvalidInputError(f"n_keywords must be a positive integer, got {n_keywords!r}")
    labels, values = check_scored(Y, scores)
    given = np.zeros(labels.shape, dtype=bool)
    for block in blocks(*labels.shape):
        key = np.where(labels[block] != UNKNOWN, -values[block], np.inf)
        # Stable sorts from the last key to the first: label, then score.
        by_label = np.argsort(labels[block], axis=1, kind="stable")
        by_score = np.argsort(np.take_along_axis(key, by_label, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(by_label, by_score[:, :n_keywords], axis=1)
        np.put_along_axis(given[block], best, True, axis=1)
    given &= labels != UNKNOWN
    return given


def _keyword_counts(
    Y: ArrayLike, scores: ArrayLike, n_keywords: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return, for tags with a known positive, how many photos are given it rightly, are given it, have it."""
    given = assign_keywords(Y, scores, n_keywords)
    positive = np.asarray(Y) == 1
    n_true = positive.sum(axis=0)
    scored = n_true > 0
    require(bool(scored.any()), "no tag has a known positive; label photos that have the tags")
    right = (given & positive).sum(axis=0)
    return right[scored], given.sum(axis=0)[scored], n_true[scored]


def keyword_precision(Y: ArrayLike, scores: ArrayLike, n_keywords: int = 5) -> float:
    """Return P of paper 003: the mean over tags of (photos given the tag rightly) / (photos given the tag).

    A tag that no photo is given is 0/0 and counts 0: it was never found. Tags without a known positive are
    left out.

    Parameters
    ----------
    Y, scores, n_keywords
        As for `assign_keywords`.

    Raises
    ------
    NothingToScoreError
        No tag has a known positive.
    """
    right, given, _ = _keyword_counts(Y, scores, n_keywords)
    return float((right / np.maximum(given, 1)).mean())


def keyword_recall(Y: ArrayLike, scores: ArrayLike, n_keywords: int = 5) -> float:
    """Return R of paper 003: the mean over tags of (photos given the tag rightly) / (photos that have it).

    Tags without a known positive are 0/0 and left out.

    Parameters
    ----------
    Y, scores, n_keywords
        As for `assign_keywords`.

    Raises
    ------
    NothingToScoreError
        No tag has a known positive.
    """
    right, _, n_true = _keyword_counts(Y, scores, n_keywords)
    return float((right / n_true).mean())


def n_recalled_keywords(Y: ArrayLike, scores: ArrayLike, n_keywords: int = 5) -> int:
    """Return N+ of paper 003: how many tags are given rightly to at least one photo.

    Parameters
    ----------
    Y, scores, n_keywords
        As for `assign_keywords`.

    Raises
    ------
    NothingToScoreError
        No tag has a known positive.
    """
    right, _, _ = _keyword_counts(Y, scores, n_keywords)
    return int((right > 0).sum())


def precision(
    Y: ArrayLike,
    scores: ArrayLike,
    thresholds: ArrayLike = 0.5,
    *,
    average: Literal["micro", "macro"] = "micro",
) -> float:
    """Return the share of right entries among those predicted, that is, scored above the thresholds.

    Paper 004 reports "precision" without a definition; this is the usual one of predicted entries. Its labels
    are coded ±1, which makes the middle 0; annotators of tagloom learn 0 and 1, which makes it 0.5.

    Parameters
    ----------
    Y, scores
        As for `complete_length`.
    thresholds : float or array of shape (c,), default=0.5
        A known entry is predicted where its score is above; +inf: never.
    average : {"micro", "macro"}, default="micro"
        Pool all known entries, or take the mean over tags that have a known positive. 0/0 (nothing predicted)
        counts 0.

    Raises
    ------
    NothingToScoreError
        No tag has a known positive.
    """
    if average not in ("micro", "macro"):
        raise InvalidInputError(f"average must be 'micro' or 'macro', got {average!r}")
    labels, values = check_scored(Y, scores)
    limits = np.asarray(thresholds, dtype=np.float64)
    if limits.shape not in ((), (labels.shape[1],)) or np.isnan(limits).any():
        raise InvalidInputError(f"thresholds must be one number or one per tag ({labels.shape[1]}), got {limits!r}")
    predicted = (labels != UNKNOWN) & (values > limits)
    return _precision_of(labels, predicted, average)


def _precision_of(labels: LabelMatrix, predicted: NDArray[np.bool_], average: str) -> float:
    positive = labels == 1
    scored = positive.any(axis=0)
    require(bool(scored.any()), "no tag has a known positive; label photos that have the tags")
    right, given = (predicted & positive).sum(axis=0), predicted.sum(axis=0)
    if average == "micro":
        return float(right.sum() / max(int(given.sum()), 1))
    return float((right[scored] / np.maximum(given[scored], 1)).mean())
