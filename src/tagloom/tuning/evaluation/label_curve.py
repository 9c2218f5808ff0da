"""What more labels would bring: figures with parts of the labels, and a power law through them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats

from tagloom.core import NO_PROGRESS, Annotator, Floats, Progress, check_generator, check_labels, labeled_rows
from tagloom.exceptions import InvalidInputError
from tagloom.metrics import average_precision, mean_average_precision
from tagloom.tuning.constants import CURVE_SHARES, FAR_FORECAST, SMALLEST_LOSS
from tagloom.tuning.evaluation.evaluation import (
    SharedFits,
    centred,
    check_draws,
    deal_folds,
    draw_counts,
    draw_seed,
    interval,
    interval_around,
    mean_over_tags,
    resampled_average_precision,
    score_held_out,
    spread_of_few,
)

__all__ = ["Forecast", "LearningCurve", "learning_curve"]


@dataclass(frozen=True)
class Forecast:
    """Forecast of the gain from more labelled photos.

    Attributes
    ----------
    n_more : int
        Photos labelled in addition.
    map, gain : float
        Mean average precision then, and how much more that is than the curve has now.
    low, high : float
        Interval of the gain; where it holds 0 the curve does not tell whether more labels help.
    is_far : bool
        Whether this is more than twice the labels there are: then the interval holds only if the curve goes on as it
        began.
    """

    n_more: int
    map: float
    gain: float
    low: float
    high: float
    is_far: bool


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Result of `learning_curve`.

    Attributes
    ----------
    n_labels : ndarray of shape (k,)
        Labelled photos learnt from, rising.
    map, low, high : ndarray of shape (k,)
        Mean average precision on held-out photos, and its interval over photos drawn again.
    n_labeled : int
        All labelled photos.
    exponent, factor : float
        Of the power law ``1 - MAP = factor · n^(-exponent)``.

    Notes
    -----
    The law is a line through the logarithms, by least squares. Real curves bend, and a few points do not tell how; so
    the interval of a forecast spans three laws: the power law, ``MAP = a + b log n`` through all points, and the same
    through the last two. The interval of each has two parts: photos drawn again (every point of the curve with the same
    photos), and, for the laws through all points, the scatter of the points around the line, whose few degrees of
    freedom make the slope's error follow a t distribution.

    It is still too narrow where the curve has only begun to rise; see docs/how-to/evaluate.md.
    """

    n_labels: Floats
    map: Floats
    low: Floats
    high: Floats
    n_labeled: int
    exponent: float
    factor: float
    _drawn: Floats
    _level: float
    _seed: int

    def predict(self, n_labels: ArrayLike) -> Floats:
        """Return the power law's mean average precision with numbers of labelled photos."""
        n = np.asarray(n_labels, dtype=np.float64)
        return np.asarray(1.0 - self.factor * n**-self.exponent)

    def forecast(self, n_more: int = 100) -> Forecast:
        """Return what more labelled photos would bring.

        Parameters
        ----------
        n_more : int, default=100
            Photos labelled in addition.
        """
        if not isinstance(n_more, int | np.integer) or n_more < 1:
            raise InvalidInputError(f"n_more must be a positive integer, got {n_more!r}")
        now, then = float(self.n_labeled), float(self.n_labeled + n_more)
        ends = [interval(gains, self._level) for gains in self._gains(now, then)]
        at_now, at_then = self.predict([now, then])
        return Forecast(
            int(n_more),
            float(at_then),
            float(at_then - at_now),
            float(min(low for low, _ in ends)),
            float(max(high for _, high in ends)),
            then > FAR_FORECAST * now,
        )

    def _gains(self, now: float, then: float) -> list[Floats]:
        """Return the gains of all samples by each of the three laws."""
        x, step = np.log(self.n_labels), np.log(then / now)
        freedom = len(x) - 2
        noise = stats.t.rvs(freedom, size=len(self._drawn), random_state=check_generator(self._seed))
        slopes, means, error = _lines(x, _log_losses(self.map), _log_losses(self._drawn))
        rates = slopes + error * noise
        at_now = np.exp(means + rates * (np.log(now) - x.mean()))
        by_power = at_now * (1.0 - np.exp(rates * step))
        slopes, _, error = _lines(x, self.map, self._drawn)
        by_logarithm = (slopes + error * noise) * step
        by_last = (self._drawn[:, -1] - self._drawn[:, -2]) / (x[-1] - x[-2]) * step
        return [by_power, by_logarithm, by_last]


def learning_curve(
    annotator: Annotator,
    X: Any,
    Y: ArrayLike,
    *,
    shares: ArrayLike = CURVE_SHARES,
    n_splits: int = 5,
    n_draws: int = 400,
    level: float = 0.95,
    random_state: Any = 0,
    progress: Progress = NO_PROGRESS,
) -> LearningCurve:
    """Measure an annotator with parts of the labels, on the same held-out photos.

    Parameters
    ----------
    annotator : Annotator
        Cloned, never changed.
    X : array of shape (n, d)
        Features of all photos.
    Y : label matrix of shape (n, c)
        Labels with -1 for unknown.
    shares : array-like of float, default=(0.25, 0.4, 0.63, 1.0)
        Parts of each fold's training labels, rising, at least three; a smaller part lies within a larger one.
    n_splits, n_draws, level, random_state, progress
        As for `tagloom.tuning.cross_validate`.
    """
    X = X if sparse.issparse(X) else np.asarray(X)
    Y = check_labels(Y, n_rows=X.shape[0])
    parts = np.asarray(shares, dtype=np.float64)
    if parts.ndim != 1 or len(parts) < 3 or not (np.diff(parts) > 0).all() or parts[0] <= 0 or parts[-1] > 1:
        raise InvalidInputError(f"shares must be at least three rising numbers above 0 and up to 1, got {shares!r}")
    check_draws(n_draws, level)
    seed = draw_seed(random_state)
    folds, fits = deal_folds(X, Y, n_splits, seed), SharedFits(annotator, X)
    counts = draw_counts(int(labeled_rows(Y).sum()), n_draws, seed)
    sizes, figures, drawn = [], [], []
    progress.start("measuring with fewer labels", len(folds) * len(parts))
    try:
        for share in parts.tolist():
            found = score_held_out(annotator, X, Y, folds, seed=seed, share=share, fits=fits, progress=progress)
            sizes.append(found.n_learnt)
            figures.append(mean_average_precision(found.labels, found.scores))
            own = average_precision(found.labels, found.scores)
            samples = resampled_average_precision(found.labels, found.scores, counts)
            varied = spread_of_few(centred(samples, own), own, (found.labels == 1).sum(axis=0), seed)
            drawn.append(mean_over_tags(varied, own))
    finally:
        progress.finish()
    return _curve(np.array(sizes), np.array(figures), np.array(drawn).T, int(labeled_rows(Y).sum()), level, seed)


def _curve(sizes: Floats, figures: Floats, drawn: Floats, n_labeled: int, level: float, seed: int) -> LearningCurve:
    """Fit the power law to the figures; keep those of every sample for the intervals."""
    x = np.log(sizes)
    if not (np.diff(x) > 0).all():
        raise InvalidInputError(f"{n_labeled} labelled photos are too few to leave some out; label more")
    slopes, means, _ = _lines(x, _log_losses(figures), _log_losses(figures[None, :]))
    exponent = -float(slopes[0])
    factor = float(np.exp(means[0] + exponent * x.mean()))
    low, high = interval_around(figures, drawn, level)
    return LearningCurve(sizes, figures, low, high, n_labeled, exponent, factor, drawn, level, seed)


def _log_losses(figures: Floats) -> Floats:
    return np.log(np.maximum(1.0 - figures, SMALLEST_LOSS))


def _lines(x: Floats, figures: Floats, drawn: Floats) -> tuple[Floats, Floats, float]:
    """Return slopes and means of the lines through all samples, and the standard error of the figures' own slope."""
    centred = x - x.mean()
    length = float(np.square(centred).sum())
    slope = float(figures @ centred) / length
    residuals = figures - figures.mean() - slope * centred
    error = float(np.sqrt(np.square(residuals).sum() / (len(x) - 2) / length))
    return drawn @ centred / length, drawn.mean(axis=1), error
