"""Figures of drawn-again photos: how far a figure would move with another sample of them.

Photos drawn again know of no other example of a tag than those that are there: one that is found at once is found at
once in every sample. So tags with few examples get a spread of their own, that of a share of so many.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.seeds import check_generator
from tagloom.core.typing import Floats

__all__ = [
    "centred",
    "draw_counts",
    "interval",
    "interval_around",
    "mean_over_tags",
    "resampled_average_precision",
    "share_interval",
    "spread_of_few",
]


#: Numbers held at once while one tag is resampled.
_MOST_ENTRIES = 1 << 23


def draw_counts(n_photos: int, n_draws: int, seed: int) -> NDArray[np.int64]:
    """Return how often each photo is drawn in each of some samples with replacement, shape (draws, photos)."""
    generator = check_generator(seed)
    return generator.multinomial(n_photos, np.full(n_photos, 1.0 / n_photos), size=n_draws)


def resampled_average_precision(Y: LabelMatrix, scores: Floats, counts: NDArray[np.int64]) -> Floats:
    """Return the average precision of each tag in each sample, shape (draws, c); NaN without a positive in it.

    Parameters
    ----------
    Y : label matrix of shape (m, c)
        Labels with -1 for unknown.
    scores : array of shape (m, c)
        Scores.
    counts : array of int, shape (draws, m)
        How often each photo is in a sample. Copies of a photo are tied, as `tagloom.metrics.average_precision` has it.
    """
    figures = np.full((len(counts), Y.shape[1]), np.nan)
    size = max(1, _MOST_ENTRIES // max(1, len(Y)))
    for tag in range(Y.shape[1]):
        order, ends, positive = _ranked(Y[:, tag], scores[:, tag])
        if not positive.any():
            continue
        for start in range(0, len(counts), size):
            drawn = counts[start : start + size][:, order]
            figures[start : start + size, tag] = _weighted(drawn, ends, positive)
    return figures


def _ranked(labels: NDArray[np.int8], scores: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Return the known photos by falling score, the last place with each one's score, and which are positive."""
    known = np.flatnonzero(labels != UNKNOWN)
    order = known[np.argsort(-scores[known], kind="stable")]
    ranked = -scores[order]
    ends = np.searchsorted(ranked, ranked, side="right") - 1
    return order, ends, labels[order] == 1


def _weighted(drawn: NDArray[np.int64], ends: NDArray[np.intp], positive: NDArray[np.bool_]) -> Floats:
    total = np.cumsum(drawn, axis=1)
    hits = np.cumsum(drawn * positive, axis=1)
    at = ends[positive]
    weights = drawn[:, positive]
    # Where nothing is drawn down to a place, the place has no weight either.
    precision = hits[:, at] / np.maximum(total[:, at], 1)
    n_positive = weights.sum(axis=1)
    found = np.full(len(drawn), np.nan)
    np.divide((weights * precision).sum(axis=1), n_positive, out=found, where=n_positive > 0)
    return found


def centred(drawn: Floats, figures: Floats) -> Floats:
    """Return the samples' figures of each tag, moved so that their mean is the tag's own figure; NaN stays.

    A photo that is drawn twice stands beside its copy, which lifts the ranking of a rare tag, and samples without its
    positives, where it would be missed, are not counted: samples are better than the photos themselves on average, by
    more the rarer the tag. Another set of photos has no copies, so the spread of the samples is used, and not their
    level.

    Parameters
    ----------
    drawn : array of shape (draws, c)
        What `resampled_average_precision` returns.
    figures : array of shape (c,)
        Of the photos themselves.
    """
    has = ~np.isnan(drawn)
    means = np.where(has, drawn, 0.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    return figures + (drawn - means)


def spread_of_few(drawn: Floats, figures: Floats, n_positive: NDArray[np.int64], seed: int) -> Floats:
    """Return samples in which tags with few examples vary as much as a share of so many does; no NaN of a known tag.

    Parameters
    ----------
    drawn : array of shape (draws, c)
        What `centred` returns.
    figures : array of shape (c,)
        Of the photos themselves; NaN without a positive.
    n_positive : array of int, shape (c,)
        Examples of each tag.
    seed : int
        Of what is added to the samples: with the same seed it is the same but for its size.

    Notes
    -----
    Average precision is a mean over the examples of numbers between 0 and 1, so that its variance is at most about
    that of a share of so many (`share_interval`); where the samples vary less, independent noise makes up for it.
    """
    filled = np.where(np.isnan(drawn), figures, drawn)
    a, b = _beta_of(figures, n_positive)
    lacking = np.maximum(a * b / (np.square(a + b) * (a + b + 1.0)) - filled.var(axis=0), 0.0)
    found: Floats = filled + np.sqrt(lacking) * check_generator(seed).standard_normal(filled.shape)
    return found


def share_interval(figures: Floats | float, n: NDArray[np.int64] | int, level: float) -> tuple[Floats, Floats]:
    """Return the interval of means of n numbers between 0 and 1, which the mean itself lies in; NaN stays.

    Parameters
    ----------
    figures : float or array
        The means.
    n : int or array of int
        How many numbers each is of.
    level : float
        Share of the probability between the ends.

    Notes
    -----
    That of the beta distribution with one half added on both sides (Jeffreys' interval of a share): no numbers between
    0 and 1 vary more than zeros and ones. Of average precision of tags with 1 to 30 examples it held 97 to 100 % of the
    expected figures on photos of Corel5K, photos drawn again 24 to 93 %.
    """
    a, b = _beta_of(np.asarray(figures, dtype=np.float64), np.asarray(n))
    low, high = beta.ppf(0.5 * (1.0 - level), a, b), beta.ppf(0.5 * (1.0 + level), a, b)
    # With nothing but zeros or ones the distribution ends short of them.
    return np.minimum(low, figures), np.maximum(high, figures)


def _beta_of(figures: Floats, n: NDArray[np.int64]) -> tuple[Floats, Floats]:
    return n * figures + 0.5, n * (1.0 - figures) + 0.5


def mean_over_tags(drawn: Floats, figures: Floats) -> Floats:
    """Return the mean over the tags that have a figure of their own, for each sample; NaN where none has one.

    The tags are the same in all samples, or the samples would be of another mean than the one that they are to tell
    of: a sample without a positive of a tag says nothing about it, and leaves it at its own figure.

    Parameters
    ----------
    drawn : array of shape (draws, c)
        What `centred` returns.
    figures : array of shape (c,)
        Of the photos themselves; NaN for tags that are left out.
    """
    has = ~np.isnan(figures)
    if not has.any():
        return np.full(len(drawn), np.nan)
    kept = drawn[:, has]
    return np.asarray(np.where(np.isnan(kept), figures[has], kept).mean(axis=1))


def interval_around(
    estimate: Floats | float, drawn: Floats, level: float, *, least: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the interval of a figure between ``least`` and 1, which the figure itself lies in.

    Parameters
    ----------
    estimate : float or array
        The figure of the photos themselves.
    drawn : array with one more axis, the first
        That of each sample, centred.
    level : float
        Share of the samples between the ends.
    least : float, default=0.0
        The smallest figure that there can be.
    """
    low, high = interval(drawn, level)
    # Few and skewed samples may all but miss their own mean.
    return np.fmin(np.maximum(low, least), estimate), np.fmax(np.minimum(high, 1.0), estimate)


def interval(figures: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of the middle share of the samples, along the first axis; NaN left out."""
    shape = figures.shape[1:]
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    has = ~np.isnan(figures).all(axis=0)
    if has.any():
        kept = figures[..., has] if shape else figures
        tails = [50.0 * (1.0 - level), 50.0 * (1.0 + level)]
        low[has], high[has] = np.nanpercentile(kept, tails, axis=0)
    return low, high
