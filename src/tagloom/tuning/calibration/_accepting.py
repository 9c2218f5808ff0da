"""What can be accepted: thresholds for a wanted precision, and what probabilities promise."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix, check_labels
from tagloom.core.typing import Floats
from tagloom.core.validation import check_number
from tagloom.exceptions import InvalidInputError

__all__ = ["Accepting", "cautious_precision", "check_precision", "common_threshold"]


#: Probability below which nothing is suggested.
LEAST_SUGGESTED = 0.5
#: Labelled photos up to which half of the usual doubt is accepted, and from which on all of it.
FEW_PHOTOS, ENOUGH_PHOTOS = 20, 50


class Accepting(Annotator):
    """Base of annotators whose probabilities of the training photos are right on average.

    Besides what an `Annotator` needs, a subclass sets ``probabilities_`` and ``_labels``, calibrates against
    ``_calibrated_against(Y)``, has log-odds as ``transduction_``, and implements ``_log_odds_deviations()``.
    """

    probabilities_: Floats
    _labels: LabelMatrix

    def fit(self, X: Any, Y: Any, against: Any = None) -> Self:
        """Learn, and calibrate on other labels than those that are learnt from, where they are given.

        Parameters
        ----------
        X : array or CSR of shape (n, d)
            Features of all photos.
        Y : label matrix of shape (n, c)
            What is learnt from.
        against : label matrix of shape (n, c), optional
            Labels of the photos labelled in Y that the probabilities shall predict, such as those of a sample. Default:
            Y itself.

        Returns
        -------
        self
        """
        self._against = against
        try:
            super().fit(X, Y)
        finally:
            del self._against
        return self

    def _calibrated_against(self, Y: LabelMatrix) -> LabelMatrix:
        return Y if self._against is None else check_labels(self._against, n_rows=len(Y), n_tags=Y.shape[1])

    def thresholds_for(
        self, precision: float = 0.95, *, over: Literal["all", "tag"] = "all", caution: float = 0.0
    ) -> Floats:
        """Return for each tag the probability above which suggestions are right with a wanted precision.

        Parameters
        ----------
        precision : float, default=0.95
            Wanted share of right ones among the accepted suggestions.
        over : {"all", "tag"}, default="all"
            Whether that is the share over all accepted suggestions together, or of each tag: fewer are accepted then.
        caution : float, default=0.0
            Standard deviations by which log-odds are lowered first, for what the examples leave open: tags with few
            examples have to be surer.

        Returns
        -------
        ndarray of shape (c,)
            Accept ``probabilities_ > thresholds``; +inf where no photo can be accepted.

        Notes
        -----
        Entries that are unknown (all entries for a tag known everywhere) are taken from the most probable one down as
        long as their mean probability is at least the wanted precision.
        """
        check_is_fitted(self)
        check_precision(precision)
        check_number("caution", caution, least=0.0)
        if over not in ("all", "tag"):
            raise InvalidInputError(f"over must be 'all' or 'tag', got {over!r}")
        open_entries = self._open_entries()
        likely = self.probabilities_
        if caution > 0.0:
            likely = np.minimum(likely, expit(self.transduction_ - caution * self._log_odds_deviations()))
        cautious = np.where(open_entries, likely, -np.inf)
        limits = _limits(cautious.reshape(-1, 1) if over == "all" else cautious, precision)
        accepted = cautious >= limits
        return _cuts(np.where(open_entries, self.probabilities_, np.nan), accepted)

    def expected_counts(self) -> Floats:
        """Return how many of the training photos have each tag: the known ones and the sum of probabilities.

        Notes
        -----
        Rather too high for rare tags: a tag is known at all only because a labelled photo has it, and tags as rare that
        no labelled photo has are not in the sum.
        """
        check_is_fitted(self)
        expected = np.where(self._labels == UNKNOWN, self.probabilities_, self._labels)
        return np.asarray(expected.sum(axis=0), dtype=np.float64)

    def expected_precision_above(self, thresholds: ArrayLike) -> Floats:
        """Return for each tag the mean probability of its photos above a threshold, NaN where there is none.

        Parameters
        ----------
        thresholds : float or array of shape (c,)
            Probabilities. Photos whose entry is unknown are counted, all photos for a tag known everywhere.
        """
        check_is_fitted(self)
        limits = np.asarray(thresholds, dtype=np.float64)
        if limits.shape not in ((), (self.n_tags_,)):
            raise InvalidInputError(f"expected one threshold or one per tag ({self.n_tags_}), got {limits.shape}")
        above = self._open_entries() & (self.probabilities_ > limits)
        count = above.sum(axis=0)
        total = np.where(above, self.probabilities_, 0.0).sum(axis=0)
        return np.divide(total, count, out=np.full(self.n_tags_, np.nan), where=count > 0)

    def _log_odds_deviations(self) -> Any:
        """Return the standard deviations (n, c) of the log-odds."""
        raise TypeError(f"{type(self).__name__} does not define _log_odds_deviations")

    def _open_entries(self) -> NDArray[np.bool_]:
        unknown = self._labels == UNKNOWN
        return unknown | ~unknown.any(axis=0)


def check_precision(precision: float) -> None:
    """Raise InvalidInputError unless a wanted precision lies between 0 and 1."""
    check_number("precision", precision)
    if not 0.0 < precision < 1.0:
        raise InvalidInputError(f"precision must lie between 0 and 1, got {precision!r}")


def _limits(cautious: Floats, precision: float) -> Floats:
    """Return for each column the smallest value whose larger ones have at least a mean; +inf where there is none."""
    ranked = -np.sort(-cautious, axis=0)
    means = np.cumsum(ranked, axis=0) / np.arange(1, len(ranked) + 1)[:, None]
    # Equal ones are taken together or not at all.
    is_last = np.ones(ranked.shape, dtype=bool)
    is_last[:-1] = ranked[1:] < ranked[:-1]
    good = (means >= precision) & is_last
    last = len(good) - 1 - np.argmax(good[::-1], axis=0)
    found = np.take_along_axis(ranked, last[None, :], axis=0)[0]
    return np.where(good.any(axis=0), found, np.inf)


def _cuts(probabilities: Floats, accepted: NDArray[np.bool_]) -> Floats:
    """Return for each column a number above all refused probabilities; midway to the accepted ones above it."""
    refused = np.where(accepted | np.isnan(probabilities), 0.0, probabilities).max(axis=0)
    above = np.where(accepted & (probabilities > refused), probabilities, np.inf).min(axis=0)
    return np.where(np.isfinite(above), 0.5 * (refused + above), np.inf)


def cautious_precision(precision: float, n_labeled: int) -> float:
    """Return the mean probability that suggestions must have for a wanted precision, with few labelled photos.

    Parameters
    ----------
    precision : float
        Wanted share of right ones.
    n_labeled : int
        Labelled photos.

    Notes
    -----
    Twenty labelled photos leave a standard deviation of about 1 in the log-odds of likely suggestions, and these err
    together. Suggestions with the mean probability 0.95 keep a mean of 0.8 if their log-odds are lowered by 1.3
    deviations, the lower end of a 90 % confidence interval. So half of the doubt is accepted with 20 photos, and all of
    it with 50. That was chosen on Corel5K's training photos and Caltech-101 with 20, 30 and 40 labelled photos: where
    more than 20 suggestions came out there, less than 0.8 of them were right in 2 of 98 problems, in 6 of 104 without.
    """
    grown = (n_labeled - FEW_PHOTOS) / (ENOUGH_PHOTOS - FEW_PHOTOS)
    return 1.0 - (1.0 - precision) * (0.5 + 0.5 * float(np.clip(grown, 0.0, 1.0)))


def common_threshold(values: NDArray[np.floating[Any]], is_open: NDArray[np.bool_], precision: float) -> float:
    """Return the probability above which suggestions are right with a wanted precision; +inf where there is none.

    Parameters
    ----------
    values : array of shape (n, c)
        Probabilities.
    is_open : array of bool, shape (n, c)
        Entries of which nothing was said.
    precision : float
        Wanted mean of the accepted probabilities. They are taken from the largest one down as long as their mean is at
        least that, as in `Accepting.thresholds_for`; but nothing is suggested that is less
        likely than not, however sure the others are (or less likely than a smaller precision that is wanted).
    """
    ranked = -np.sort(-values[is_open].astype(np.float64))
    # Equal ones are taken together or not at all.
    is_last = np.ones(len(ranked), dtype=bool)
    is_last[:-1] = ranked[1:] < ranked[:-1]
    enough = np.cumsum(ranked) >= precision * np.arange(1, len(ranked) + 1)
    least = min(LEAST_SUGGESTED, precision)
    good = np.flatnonzero(enough & is_last & (ranked >= least))
    if not len(good):
        return np.inf
    last = int(good[-1])
    below = ranked[ranked < ranked[last]]
    return max(0.5 * (ranked[last] + (below[0] if len(below) else 0.0)), np.nextafter(least, 0.0))
