"""Probabilities that mean what they say, for any annotator."""

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tagloom.core import (
    COMMON,
    FOLDS,
    NOT_NEGATIVE,
    UNKNOWN,
    Annotator,
    Floats,
    LabelMatrix,
    NumberIn,
    OneOf,
    check_labels,
    labeled_rows,
    scratch,
)
from tagloom.exceptions import InvalidInputError
from tagloom.graph import knn_graph
from tagloom.methods.baselines import HarmonicPropagation, LocalGlobalConsistency, RegularizedLeastSquares
from tagloom.methods.shared import smoothing_graph, stable_folds
from tagloom.tuning.calibration.maps import CalibrationMap, Method, Pooling, fit_map
from tagloom.tuning.constants import DESCRIBED_ROWS, ENOUGH_PHOTOS, FEW_PHOTOS, FEW_PHOTOS_DOUBT, LEAST_SUGGESTED

__all__ = [
    "Accepting",
    "CalibratedAnnotator",
    "ScoreScale",
    "cautious_precision",
    "check_precision",
    "common_threshold",
    "folds_of",
    "scale_of",
    "with_shared_graph",
]


# What can be accepted: thresholds for a wanted precision, and what probabilities promise.


class Accepting(Annotator):
    """Base of annotators whose probabilities of the training photos are right on average.

    Besides what an `Annotator` needs, a subclass sets ``probabilities_`` and ``labels_`` (what is known), calibrates on
    ``_calibrated_against(Y)``, has log-odds as ``transduction_``, and implements ``_log_odds_deviations()``.
    """

    probabilities_: Floats
    labels_: LabelMatrix

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
        if not NOT_NEGATIVE.is_satisfied_by(caution):
            raise InvalidInputError(f"caution must be a number of at least 0, got {caution!r}")
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
        expected = np.where(self.labels_ == UNKNOWN, self.probabilities_, self.labels_)
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
        unknown = self.labels_ == UNKNOWN
        return unknown | ~unknown.any(axis=0)


def check_precision(precision: float) -> None:
    """Raise InvalidInputError unless a wanted precision lies between 0 and 1."""
    if not NumberIn(Real, 0, 1, closed="neither").is_satisfied_by(precision):
        raise InvalidInputError(f"precision must be a number between 0 and 1, got {precision!r}")


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
    return 1.0 - (1.0 - precision) * (FEW_PHOTOS_DOUBT + (1.0 - FEW_PHOTOS_DOUBT) * float(np.clip(grown, 0.0, 1.0)))


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
    least = min(LEAST_SUGGESTED, precision)
    likely, rest = [np.empty(0)], 0.0
    for start in range(0, len(values), DESCRIBED_ROWS):
        block = slice(start, start + DESCRIBED_ROWS)
        found = values[block][is_open[block]]
        is_likely = found >= least
        likely.append(found[is_likely].astype(np.float64))
        # Of all that are too unlikely the next one counts.
        rest = max(rest, float(found[~is_likely].max(initial=0.0)))
    ranked = -np.sort(-np.concatenate(likely))
    # Equal ones are taken together or not at all.
    is_last = np.ones(len(ranked), dtype=bool)
    is_last[:-1] = ranked[1:] < ranked[:-1]
    enough = np.cumsum(ranked) >= precision * np.arange(1, len(ranked) + 1)
    good = np.flatnonzero(enough & is_last)
    if not len(good):
        return np.inf
    last = int(good[-1])
    below = ranked[ranked < ranked[last]]
    return max(0.5 * (ranked[last] + (below[0] if len(below) else rest)), np.nextafter(least, 0.0))


# Scores of labelled photos by annotators that have not seen their labels, on one scale whatever the annotator is.


@dataclass(frozen=True, eq=False)
class ScoreScale:
    """What is known of a fitted annotator's scores without a look at labels it has not seen.

    Attributes
    ----------
    centre, spread : ndarray of shape (c,)
        Mean and standard deviation of each tag's scores over the entries unknown to the annotator.
    prior : ndarray of shape (c,)
        Log-odds of each tag's frequency among the entries known to it, one half added to both counts.
    evidence : ndarray of shape (c,)
        ``log(1 + positives)`` known to it.
    n_reference : ndarray of shape (c,)
        Entries that centre and spread come from.
    """

    centre: Floats
    spread: Floats
    prior: Floats
    evidence: Floats
    n_reference: NDArray[np.int64]

    def describe(self, scores: NDArray[np.floating[Any]]) -> Floats:
        """Return features of scores of shape (n, c) as an array of shape (n, c, 4) for the pooled sigmoid.

        The intercept, the compressed distance from the centre in spreads, the prior, and the product of the second with
        the evidence: a score says more of a tag with more examples.
        """
        distance = np.arcsinh((np.asarray(scores, dtype=np.float64) - self.centre) / self.spread)
        constant = np.ones_like(distance)
        prior = np.broadcast_to(self.prior, distance.shape)
        return np.stack([constant, distance, prior, distance * self.evidence], axis=-1)


def scale_of(scores: NDArray[np.floating[Any]], Y: LabelMatrix) -> ScoreScale:
    """Return the scale of an annotator's scores ``transduction_`` after it was fitted with Y."""
    count = (Y == UNKNOWN).sum(axis=0)
    total = np.maximum(count, 1)
    blocks = _described_together(len(Y))
    sums = (np.where(Y[one] == UNKNOWN, scores[one], 0.0).sum(axis=0, dtype=np.float64) for one in blocks)
    centre = sum(sums, np.zeros(Y.shape[1])) / total
    squares = (
        np.where(Y[one] == UNKNOWN, np.square(scores[one] - centre), 0.0).sum(axis=0, dtype=np.float64)
        for one in blocks
    )
    variance = sum(squares, np.zeros(Y.shape[1])) / total
    # Scores that do not vary say nothing: any positive number keeps them at the centre.
    tiny = 1e-9 * (1.0 + np.abs(centre))
    spread = np.where(np.sqrt(variance) > tiny, np.sqrt(variance), 1.0)
    return ScoreScale(centre, spread, known_log_odds(Y), np.log1p((Y == 1).sum(axis=0)), count)


def _described_together(n: int) -> list[slice]:
    """Return row ranges: what is described of scores is several times as large as they are."""
    return [slice(start, start + DESCRIBED_ROWS) for start in range(0, n, DESCRIBED_ROWS)]


def known_log_odds(Y: LabelMatrix) -> Floats:
    """Return for each tag the log-odds of a yes among the known entries, one half added to both counts."""
    n_positive, n_known = (Y == 1).sum(axis=0), (Y != UNKNOWN).sum(axis=0)
    return np.asarray(logit((n_positive + 0.5) / (n_known + 1.0)))


def folds_of(X: NDArray[Any], Y: LabelMatrix, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a fold for each of some labelled photos, by `stable_folds`; one fold where there are fewer than two."""
    folds = np.zeros(len(Y), dtype=np.intp)
    if len(rows) >= 2:
        labelled = np.flatnonzero(labeled_rows(Y))
        for fold, held_out in enumerate(stable_folds(X[labelled], Y[labelled], random_state=0)):
            folds[labelled[held_out]] = fold
    return folds[rows]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out scores of the labelled photos as features of the pooled sigmoid.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Labelled photos.
    folds : ndarray of shape (m,)
        Which fold each was held out with.
    trained, new : ndarray of shape (m, c, q)
        Features of the held-out photos' scores as unlabelled photos of the training set, and as new photos.
    scale : ScoreScale
        Of the annotator fitted with all labels.
    """

    rows: NDArray[np.intp]
    folds: NDArray[np.intp]
    trained: Floats
    new: Floats
    scale: ScoreScale


def collect_held_out(
    annotator: Annotator,
    X: Any,
    Y: LabelMatrix,
    scores: NDArray[np.floating[Any]],
    *,
    n_splits: int,
    random_state: Any,
) -> HeldOut | None:
    """Fit clones of an annotator, each with a fold of the labelled photos unlabelled, and describe their scores.

    Parameters
    ----------
    annotator : Annotator
        Cloned, never changed.
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Labels.
    scores : array of shape (n, c)
        ``transduction_`` of the annotator fitted with all of Y.
    n_splits, random_state
        See `LabeledKFold`.

    Returns
    -------
    HeldOut or None
        None with fewer than two labelled photos.
    """
    rows = np.flatnonzero(labeled_rows(Y))
    scale = scale_of(scores, Y)
    if len(rows) < 2:
        return None
    folds = np.zeros(len(rows), dtype=np.intp)
    described: list[tuple[NDArray[np.intp], Floats, Floats, ScoreScale]] = []
    for fold, held_out in enumerate(stable_folds(X, Y, n_splits=n_splits, random_state=random_state)):
        hidden = Y.copy()
        hidden[held_out] = UNKNOWN
        with warnings.catch_warnings():
            # The annotator warns of what all rows lack when it is fitted on them; a fold lacks more.
            warnings.simplefilter("ignore")
            fitted = clone(annotator).fit(X, hidden)
            as_new = fitted.decision_function(X[held_out])
        found = fitted.transduction_
        own = scale_of(found, hidden)
        here = np.searchsorted(rows, held_out)
        folds[here] = fold
        described.append((here, own.describe(found[held_out]), own.describe(as_new), own))
    shape = (len(rows), Y.shape[1], described[0][1].shape[-1])
    trained, new = np.empty(shape), np.empty(shape)
    for places, of_trained, of_new, _ in described:
        trained[places], new[places] = of_trained, of_new
    return HeldOut(rows, folds, trained, new, _settled(scale, [own for *_, own in described], len(rows)))


def _settled(scale: ScoreScale, of_folds: list[ScoreScale], n_labelled: int) -> ScoreScale:
    """Return the scale with centre and spread of the folds where hardly an entry is unknown to the annotator itself."""
    few = scale.n_reference < n_labelled / len(of_folds)
    centre = np.where(few, np.mean([one.centre for one in of_folds], axis=0), scale.centre)
    spread = np.where(few, np.mean([one.spread for one in of_folds], axis=0), scale.spread)
    return replace(scale, centre=centre, spread=spread)


def with_shared_graph(annotator: Annotator, X: Any) -> Annotator:
    """Return a clone that is given its neighbour graph, where it would build the same one in every fit."""
    copy: Annotator = clone(annotator)
    if X.shape[0] < 2:
        return copy
    if isinstance(copy, RegularizedLeastSquares) and copy.smoothing > 0 and copy.graph is None:
        copy.graph = smoothing_graph(X, n_neighbors=copy.n_neighbors, metric=copy.metric)
    if isinstance(copy, HarmonicPropagation | LocalGlobalConsistency) and copy.graph is None:
        bandwidth = copy.bandwidth if copy.weights == "heat" else None
        copy.graph = knn_graph(
            X, copy.n_neighbors, metric=copy.metric, weights=copy.weights, bandwidth=bandwidth, n_threads=copy.n_threads
        )
    return copy


class CalibratedAnnotator(Accepting):
    """Annotator with probabilities, learned from the scores of held-out labelled photos.

    Parameters
    ----------
    annotator : Annotator or None, default=None
        Cloned. None: `HarmonicPropagation`.
    method : {"auto", "platt", "isotonic"}, default="auto"
        "platt": sigmoids. "isotonic": besides, isotonic regression for tags with 30 known positives and negatives.
        "auto": that only where it lowers the held-out log loss of a tag by more than a standard error.
    folds : int, default=5
        The annotator is fitted this many times more.
    pooling : {"partial", "none", "full"}, default="partial"
        How far tags share a sigmoid. "partial": each tag's offset and slope are drawn towards those of all tags, the
        more the fewer examples it has; how much tags differ is estimated. "none": each tag with two positives on its
        own, with Platt's smoothed targets. "full": one sigmoid of score and frequency for all tags.
    random_state : int, Generator or None, default=None
        For dealing the folds; the annotator has its own.

    Attributes
    ----------
    annotator_ : Annotator
        The clone fitted with all labels.
    probabilities_ : ndarray of shape (n, c)
        Of the training photos. Entries known to the annotator have the probability that was held out: what would be
        said of them without their photo's labels.
    transduction_ : ndarray of shape (n, c)
        Log-odds of ``probabilities_``; ``decision_function`` returns log-odds too.
    map_, new_map_ : CalibrationMap
        For training photos and for new ones. Many annotators score the two in different ways.
    scale_ : ScoreScale
        Of the scores of the annotator fitted with all labels.
    thresholds_ : ndarray of shape (c,)
        `fit_thresholds` of the held-out log-odds.

    Notes
    -----
    Scores become features that can be compared between fits: the distance from the tag's mean score of unlabelled
    photos in standard deviations, compressed by asinh; the log-odds of the tag's frequency; the first times
    ``log(1 + positives)``. One logistic regression of all held-out entries on them is the pooled map. It looks only at
    what the annotator of the fold knew, frequency and number of examples included, so that the smaller training sets of
    the folds are part of the model and not a bias: with all labels, more examples enter where there are more.

    Each tag's own sigmoid, ``logit p = η + b + a(η - η̄)`` on the pooled log-odds η, has normal priors around a = b = 0.
    Their widths are found by empirical Bayes over the tags. Tags with no or one example keep close to the pooled map,
    which gives them their prior where their score says nothing.

    The labelled photos are taken for a fair sample of all: where rare tags were looked for on purpose, they are taken
    for more frequent than they are.

    References
    ----------
    J. Platt: Probabilistic outputs for support vector machines, 1999. B. Zadrozny, C. Elkan: Transforming classifier
    scores into accurate multiclass probability estimates, KDD 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from tagloom.methods import RegularizedLeastSquares
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> Y = (X[:, :2] + rng.normal(size=(300, 2)) > 1).astype(np.int8)
    >>> Y[100:] = -1
    >>> annotator = CalibratedAnnotator(RegularizedLeastSquares(), random_state=0).fit(X, Y)
    >>> annotator.predict_proba(X[:3]).shape
    (3, 2)
    """

    _parameter_constraints = COMMON | {
        "method": [OneOf(*get_args(Method))],
        "folds": [FOLDS],
        "pooling": [OneOf(*get_args(Pooling))],
    }

    def __init__(
        self,
        annotator: Annotator | None = None,
        *,
        method: Method = "auto",
        folds: int = 5,
        pooling: Pooling = "partial",
        random_state: Any = None,
    ) -> None:
        self.annotator = annotator
        self.method = method
        self.folds = folds
        self.pooling = pooling
        self.random_state = random_state

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        target = self._calibrated_against(Y)
        base = HarmonicPropagation() if self.annotator is None else self.annotator
        shared = with_shared_graph(base, X)
        self.annotator_: Annotator = clone(shared).fit(X, Y)
        scores = self.annotator_.transduction_
        held_out = collect_held_out(shared, X, Y, scores, n_splits=self.folds, random_state=self.random_state)
        self.scale_ = scale_of(scores, Y) if held_out is None else held_out.scale
        self.map_, self.new_map_ = self._fit_maps(held_out, target)
        logits, deviations, probabilities = (scratch(scores.shape, np.float64) for _ in range(3))
        blocks = _described_together(len(scores))
        for block in blocks:
            described = self.scale_.describe(scores[block])
            logits[block], deviations[block] = self.map_.logits(described), self.map_.deviations(described)
        if held_out is not None:
            rows = held_out.rows
            known = (Y[rows] != UNKNOWN) | (target[rows] != UNKNOWN)
            logits[rows] = np.where(known, self.map_.logits(held_out.trained), logits[rows])
            deviations[rows] = np.where(known, self.map_.deviations(held_out.trained), deviations[rows])
        for block in blocks:
            probabilities[block] = expit(logits[block])
        self.transduction_ = logits
        self.probabilities_: Floats = probabilities
        self._log_odds_spread = deviations
        self.labels_ = target.copy()

    def _fit_maps(self, held_out: HeldOut | None, target: LabelMatrix) -> tuple[CalibrationMap, CalibrationMap]:
        options: dict[str, Any] = {"method": self.method, "pooling": self.pooling}
        if held_out is None:
            empty = self.scale_.describe(np.empty((0, self.n_tags_)))
            alone = fit_map(empty, np.empty((0, self.n_tags_), dtype=np.int8), np.empty(0, dtype=np.intp), **options)
            return alone, alone
        labels = target[held_out.rows]
        trained = fit_map(held_out.trained, labels, held_out.folds, **options)
        if np.allclose(held_out.trained, held_out.new, rtol=0.0, atol=1e-9):
            return trained, trained
        return trained, fit_map(held_out.new, labels, held_out.folds, **options)

    def _decision_function(self, X: Any) -> Floats:
        return self.new_map_.logits(self.scale_.describe(self.annotator_.decision_function(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of shape (n, c) for photos never seen, strictly between 0 and 1."""
        return expit(self.decision_function(X))

    def _log_odds_deviations(self) -> Floats:
        return self._log_odds_spread
