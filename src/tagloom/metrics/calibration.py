"""Whether probabilities mean what they say: reliability, calibration error, Brier score."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.exceptions import InvalidInputError
from tagloom.metrics.inputs import blocks, check_scored, require

__all__ = [
    "ReliabilityCurve",
    "brier_score",
    "brier_skill",
    "calibration_error",
    "log_loss",
    "reliability_curve",
    "select_entries",
]

CalibrationEntries = Literal["best", "likely", "all"]
NOTHING_SELECTED = "no known entry is selected; choose entries='all' or a smaller min_probability"


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Predicted probabilities and observed shares in bins of equal size.

    Attributes
    ----------
    predicted : ndarray of shape (b,)
        Mean probability of each bin.
    observed : ndarray of shape (b,)
        Share of entries in the bin that have the tag.
    counts : ndarray of shape (b,)
        Entries of each bin; they differ by at most one.
    """

    predicted: Floats
    observed: Floats
    counts: NDArray[np.int64]

    @property
    def error(self) -> float:
        """Mean of ``|predicted - observed|`` over entries: the expected calibration error."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    @property
    def standard_errors(self) -> Floats:
        """Standard error of each observed share were the bin's mean probability true."""
        return np.sqrt(np.maximum(self.predicted * (1.0 - self.predicted), 0.0) / self.counts)


def select_entries(
    Y: ArrayLike,
    probabilities: ArrayLike,
    *,
    entries: CalibrationEntries = "all",
    n_best: int = 5,
    min_probability: float = 0.05,
) -> NDArray[np.bool_]:
    """Select the known entries that a calibration metric counts.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        1 has the tag, 0 does not, -1 is left out.
    probabilities : array of shape (n, c)
        Within 0 and 1 at known entries.
    entries : {"all", "best", "likely"}, default="all"
        All known entries; each photo's ``n_best`` most probable known ones; those of at least ``min_probability``.
    n_best : int, default=5
        For "best". Photos with fewer known entries give all of them. Equal probabilities: the tags that come first.
    min_probability : float, default=0.05
        For "likely".
    """
    labels, values = _check_probabilities(Y, probabilities)
    known = labels != UNKNOWN
    if entries == "all":
        return known
    if entries == "likely":
        likely: NDArray[np.bool_] = known & (values >= min_probability)
        return likely
    if entries != "best":
        raise InvalidInputError(f"entries must be one of {', '.join(get_args(CalibrationEntries))}, got {entries!r}")
    if not isinstance(n_best, int | np.integer) or n_best < 1:
        raise InvalidInputError(f"n_best must be a positive integer, got {n_best!r}")
    selected = np.zeros(labels.shape, dtype=bool)
    for block in blocks(*labels.shape):
        order = np.argsort(np.where(known[block], -values[block], np.inf), axis=1, kind="stable")[:, :n_best]
        np.put_along_axis(selected[block], order, True, axis=1)
    return selected & known


def reliability_curve(
    Y: ArrayLike,
    probabilities: ArrayLike,
    *,
    n_bins: int = 15,
    entries: CalibrationEntries = "all",
    n_best: int = 5,
    min_probability: float = 0.05,
) -> ReliabilityCurve:
    """Return predicted probabilities and observed shares in bins of equal size.

    Parameters
    ----------
    Y, probabilities, entries, n_best, min_probability
        As for `select_entries`.
    n_bins : int, default=15
        Bins; as many as there are entries where those are fewer.

    Raises
    ------
    NothingToScoreError
        No known entry is selected.

    Notes
    -----
    Entries are sorted by probability and cut into bins whose sizes differ by at most one, the larger ones first (as
    ``numpy.array_split``). Entries of equal probability that lie across a cut count in both bins with the share of the
    tag that they have together: their order does not matter.
    """
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise InvalidInputError(f"n_bins must be a positive integer, got {n_bins!r}")
    labels, values = _check_probabilities(Y, probabilities)
    selected = select_entries(labels, values, entries=entries, n_best=n_best, min_probability=min_probability)
    require(bool(selected.any()), NOTHING_SELECTED)
    levels, level_of, counts_of = np.unique(values[selected], return_inverse=True, return_counts=True)
    shares = np.bincount(level_of.ravel(), weights=labels[selected] == 1) / counts_of
    level_of_place = np.repeat(np.arange(len(levels)), counts_of)
    total = len(level_of_place)
    n_used = min(int(n_bins), total)
    counts = np.full(n_used, total // n_used, dtype=np.int64)
    counts[: total % n_used] += 1
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    predicted = np.add.reduceat(levels[level_of_place], starts) / counts
    observed = np.add.reduceat(shares[level_of_place], starts) / counts
    return ReliabilityCurve(predicted, observed, counts)


def calibration_error(
    Y: ArrayLike,
    probabilities: ArrayLike,
    *,
    n_bins: int = 15,
    entries: CalibrationEntries = "all",
    n_best: int = 5,
    min_probability: float = 0.05,
) -> float:
    """Return the expected calibration error: the mean over entries of ``|predicted - observed|`` of their bin.

    Over all entries of a collection with many rare tags the figure is small whatever is predicted, since nearly all
    entries have a probability and a share near 0; look at "best" and "likely".

    Parameters
    ----------
    Y, probabilities, n_bins, entries, n_best, min_probability
        As for `reliability_curve`.

    Raises
    ------
    NothingToScoreError
        No known entry is selected.
    """
    curve = reliability_curve(
        Y, probabilities, n_bins=n_bins, entries=entries, n_best=n_best, min_probability=min_probability
    )
    return curve.error


def brier_score(Y: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean squared difference of probability and label over the known entries.

    Parameters
    ----------
    Y, probabilities
        As for `select_entries`.
    """
    labels, values = _check_probabilities(Y, probabilities)
    known = labels != UNKNOWN
    return float(np.square(values[known] - labels[known]).mean())


def brier_skill(Y: ArrayLike, probabilities: ArrayLike, prior: ArrayLike | None = None) -> float:
    """Return ``1 - brier_score / brier_score of the prior``: 1 is perfect, 0 no better than each tag's frequency.

    Parameters
    ----------
    Y, probabilities
        As for `select_entries`.
    prior : array of shape (c,), optional
        Probability of each tag for any photo, such as its frequency among the labelled photos. Default: its frequency
        among the known entries of Y, which is the best constant in hindsight.

    Raises
    ------
    NothingToScoreError
        The prior makes no error at all, as where no tag varies.
    """
    labels, values = _check_probabilities(Y, probabilities)
    known = labels != UNKNOWN
    if prior is None:
        constant = (labels == 1).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    else:
        constant = np.asarray(prior, dtype=np.float64)
        if constant.shape != (labels.shape[1],):
            raise InvalidInputError(f"prior must have one entry per tag ({labels.shape[1]}), got {constant.shape}")
    reference = brier_score(labels, np.broadcast_to(constant, labels.shape))
    require(reference > 0.0, "the prior of every tag is its label on every photo; there is no error to improve on")
    return 1.0 - brier_score(labels, values) / reference


def log_loss(Y: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean of ``-log`` of the probability given to what is true, over the known entries.

    Probabilities are cut to within the smallest float64 step of 0 and 1, so that a certain mistake costs 36, not
    infinity; scikit-learn's ``log_loss`` does the same.

    Parameters
    ----------
    Y, probabilities
        As for `select_entries`.
    """
    labels, values = _check_probabilities(Y, probabilities)
    known = labels != UNKNOWN
    step = np.finfo(np.float64).eps
    given = np.clip(values[known], step, 1.0 - step)
    return float(-np.where(labels[known] == 1, np.log(given), np.log1p(-given)).mean())


def _check_probabilities(Y: ArrayLike, probabilities: ArrayLike) -> tuple[LabelMatrix, Floats]:
    labels, values = check_scored(Y, probabilities)
    known = values[labels != UNKNOWN]
    if known.min() < 0.0 or known.max() > 1.0:
        raise InvalidInputError(
            f"expected probabilities within 0 and 1, got {known.min():g} to {known.max():g}: these are scores; wrap "
            f"the annotator in tagloom.tuning.CalibratedAnnotator"
        )
    return labels, values
