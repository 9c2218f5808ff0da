"""Step-like maps from log-odds to probabilities for tags with many examples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tagloom.core.typing import Bools, Floats

__all__ = ["TagSteps", "choose_steps", "fit_steps"]


#: Known positives, and known negatives, from which on a tag may have steps of its own.
ENOUGH = 30
#: Share of the sigmoid that is mixed in: steps alone would say 0 and 1, and tie photos.
SIGMOID_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class TagSteps:
    """Isotonic regression of some tags.

    Attributes
    ----------
    knots : dict of int to (ndarray, ndarray)
        For each of these tags the log-odds, rising, and the shares there; linear in between, constant beyond.
    """

    knots: dict[int, tuple[Floats, Floats]]

    def mix_into(self, logits: Floats) -> Floats:
        """Return probabilities of log-odds of shape (n, c): the sigmoid's, mixed with the steps of tags that have."""
        p = expit(logits)
        for tag, (at, shares) in self.knots.items():
            steps = np.interp(logits[:, tag], at, shares)
            p[:, tag] = (1.0 - SIGMOID_SHARE) * steps + SIGMOID_SHARE * p[:, tag]
        return p


def fit_steps(logits: Floats, positive: Bools, known: Bools, tags: NDArray[np.intp]) -> TagSteps:
    """Fit isotonic regression to the known entries of some tags, all in one pass.

    Parameters
    ----------
    logits : array of shape (m, c)
        Log-odds of held-out entries.
    positive, known : bool array of shape (m, c)
        Which entries have the tag, and which count.
    tags : array of int
        Columns to fit; each has a known entry.
    """
    from sklearn.isotonic import isotonic_regression

    place, row = np.nonzero(known[:, tags].T)
    values, labels = logits[row, tags[place]], positive[row, tags[place]]
    order = np.lexsort((values, place))
    place, values, labels = place[order], values[order], labels[order]
    is_first = np.ones(len(values), dtype=bool)
    is_first[1:] = (values[1:] != values[:-1]) | (place[1:] != place[:-1])
    starts = np.flatnonzero(is_first)
    if not len(starts):
        return TagSteps({})
    weights = np.diff(np.append(starts, len(values))).astype(np.float64)
    shares = np.add.reduceat(labels.astype(np.float64), starts) / weights
    # Tags are two apart, so that no block reaches from one into the next.
    lift = 2.0 * place[starts]
    fitted = np.clip(isotonic_regression(shares + lift, sample_weight=weights) - lift, 0.0, 1.0)
    ends = np.searchsorted(place[starts], np.arange(len(tags) + 1))
    at = values[starts]
    return TagSteps(
        {int(tag): (at[ends[i] : ends[i + 1]], fitted[ends[i] : ends[i + 1]]) for i, tag in enumerate(tags)}
    )


def choose_steps(
    logits: Floats, positive: Bools, known: Bools, folds: NDArray[np.intp], *, compare: bool, enough: int = ENOUGH
) -> TagSteps:
    """Return steps for tags with many examples.

    Parameters
    ----------
    logits, positive, known
        As for `fit_steps`.
    folds : array of shape (m,)
        Fold of each row.
    compare : bool
        Keep the steps of a tag only where, fitted on the other folds, they lower the log loss by more than one standard
        error.
    enough : int
        Known positives and negatives that a tag needs.
    """
    n_positive = (positive & known).sum(axis=0)
    n_negative = known.sum(axis=0) - n_positive
    tags = np.flatnonzero((n_positive >= enough) & (n_negative >= enough))
    if not len(tags) or not compare:
        return fit_steps(logits, positive, known, tags) if len(tags) else TagSteps({})
    gains = np.zeros((len(logits), len(tags)))
    for fold in np.unique(folds):
        inside = folds == fold
        steps = fit_steps(logits, positive, known & ~inside[:, None], tags)
        with_steps = _losses(steps.mix_into(logits[inside]), positive[inside])
        gains[inside] = (_losses(expit(logits[inside]), positive[inside]) - with_steps)[:, tags]
    counted = known[:, tags]
    gains = np.where(counted, gains, 0.0)
    count = counted.sum(axis=0)
    mean = gains.sum(axis=0) / count
    error = np.sqrt(np.where(counted, np.square(gains - mean), 0.0).sum(axis=0)) / count
    better = tags[mean > error]
    return fit_steps(logits, positive, known, better) if len(better) else TagSteps({})


def _losses(p: Floats, positive: Bools) -> Floats:
    step = np.finfo(np.float64).eps
    return -np.log(np.clip(np.where(positive, p, 1.0 - p), step, 1.0))
