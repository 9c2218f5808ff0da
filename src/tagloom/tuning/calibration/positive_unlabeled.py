"""Photos on which only some of the true tags are named: an absent keyword is not a no."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tagloom.core import (
    COMMON,
    FOLDS,
    SHARE,
    UNKNOWN,
    Annotator,
    Floats,
    LabelMatrix,
    NumberIn,
    OneOf,
    check_labels,
    labeled_rows,
)
from tagloom.exceptions import InvalidInputError, NothingToScoreError
from tagloom.methods.baselines import HarmonicPropagation
from tagloom.tuning.calibration.calibrated import CalibratedAnnotator
from tagloom.tuning.constants import HEAD, HEAD_CAUTION, LEAST_COMPLETENESS

__all__ = [
    "DebiasedLabels",
    "PositiveUnlabeledAnnotator",
    "absent_entries",
    "debias_labels",
    "estimate_completeness",
    "forgotten_share",
    "weak_negatives",
]


@dataclass(frozen=True, eq=False)
class DebiasedLabels:
    """Result of `debias_labels`: soft targets and weights.

    Attributes
    ----------
    labels : label matrix of shape (n, c)
        1 where named; 0 where absent from a touched photo and unlikely; -1 where absent and likely enough to have been
        forgotten, and on photos that nobody touched.
    targets : ndarray of shape (n, c)
        Soft labels of touched photos: 1 where named, 0 where denied, else the probability that the tag was
        forgotten. NaN on photos that nobody touched.
    weights : ndarray of shape (n, c)
        Weight of each entry as a no: ``1 - targets`` where absent, 1 where named or denied, 0 where untouched.
    completeness : float
        Share of true tags that are named.
    suspected : int
        Entries set to -1.
    """

    labels: LabelMatrix
    targets: Floats
    weights: Floats
    completeness: float
    suspected: int


def absent_entries(Y: LabelMatrix) -> NDArray[np.bool_]:
    """Return the unknown entries of photos that have a known one."""
    return labeled_rows(Y)[:, None] & (Y == UNKNOWN)


def weak_negatives(Y: ArrayLike) -> LabelMatrix:
    """Return Y with every unknown entry of labelled photos set to 0."""
    Y = check_labels(Y)
    return np.where(absent_entries(Y), 0, Y).astype(np.int8)


def estimate_completeness(Y: ArrayLike, probabilities: ArrayLike, *, least: float = LEAST_COMPLETENESS) -> float:
    """Estimate which share of the true tags is named on labelled photos.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        1 where named, 0 where denied, -1 elsewhere.
    probabilities : array of shape (n, c)
        Probability of being *named*, from a model that has not seen the entry; only touched photos are looked at.
    least : float, default=0.05
        A true tag is taken to be named with at least this probability.

    Raises
    ------
    NothingToScoreError
        No tag is named.

    Notes
    -----
    With tags named at random with probability c whatever the tag and the photo, ``P(named | x) = c·P(has it | x)``
    (Elkan and Noto). Where the model is all but certain, the second factor is 1 and the share of named entries is c. Of
    all heads of the ranking by probability with at least 100 entries, the one with the largest share less three
    standard errors is taken. The model is never quite certain, so the estimate errs towards less complete labels;
    denied entries are left out, since nobody forgot them.

    A photo with a single true tag is touched only if that one is named, which would look like complete labels. So c is
    measured on entries of photos that have another known entry. With N named entries of which M have another one on
    their photo, touched photos have ``M/c + N - M`` true tags in expectation, and what is returned is N over that.
    Where photos have hardly more than one tag, M is small and labels are all but complete, unless c is.
    """
    Y = check_labels(Y)
    values = np.asarray(probabilities, dtype=np.float64)
    if values.shape != Y.shape:
        raise InvalidInputError(f"expected probabilities of the shape of Y, {Y.shape}, got {values.shape}")
    known = Y != UNKNOWN
    has_other = known.sum(axis=1, keepdims=True) - known > 0
    n_named, n_with_other = int((Y == 1).sum()), int(((Y == 1) & has_other).sum())
    if n_named == 0:
        raise NothingToScoreError("no tag is named on any photo: completeness cannot be estimated")
    if n_with_other == 0:
        # Nothing was ever named beside something else: there is no sign of a habit of naming all.
        return 1.0
    open_entries = has_other & (Y != 0)
    chance = min(max(_share_at_head(Y[open_entries] == 1, values[open_entries]), least), 1.0)
    return float(n_named / (n_with_other / chance + n_named - n_with_other))


def _share_at_head(named: NDArray[np.bool_], probabilities: Floats) -> float:
    # Among equal probabilities the absent ones come first.
    order = np.lexsort((named, -probabilities))
    counts = np.arange(1, len(order) + 1)
    shares = np.cumsum(named[order]) / counts
    first = min(HEAD, len(order)) - 1
    errors = np.sqrt(np.maximum(shares * (1.0 - shares), 0.25 / counts) / counts)
    best = first + int(np.argmax((shares - HEAD_CAUTION * errors)[first:]))
    return float(shares[best])


def debias_labels(
    Y: ArrayLike, probabilities: ArrayLike, completeness: float, *, suspicion: float = 0.1
) -> DebiasedLabels:
    """Estimate which missing tags of labelled photos are true rejections.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        1 where named, 0 where denied, -1 elsewhere.
    probabilities : array of shape (n, c)
        Probability of being named, from a model that has not seen the entry.
    completeness : float
        Share of true tags that are named, in (0, 1].
    suspicion : float, default=0.1
        An absent tag is left unknown where the probability that it was forgotten is larger. There are many more
        noes than yeses, so that doubting one too many costs little.

    Notes
    -----
    ``P(has it | x, not named) = (1 - c)/c · g/(1 - g)`` with g the probability of being named, at most 1.
    """
    Y = check_labels(Y)
    if not 0.0 < completeness <= 1.0:
        raise InvalidInputError(f"completeness must lie in (0, 1], got {completeness!r}")
    if not 0.0 <= suspicion <= 1.0:
        raise InvalidInputError(f"suspicion must lie within 0 and 1, got {suspicion!r}")
    named = np.asarray(probabilities, dtype=np.float64)
    if named.shape != Y.shape:
        raise InvalidInputError(f"expected probabilities of the shape of Y, {Y.shape}, got {named.shape}")
    touched = labeled_rows(Y)[:, None] & np.ones(Y.shape[1], dtype=bool)
    absent = touched & (Y == UNKNOWN)
    forgotten = forgotten_share(named, completeness)
    targets = np.where(absent, forgotten, np.where(Y == UNKNOWN, np.nan, Y))
    weights = np.where(absent, 1.0 - forgotten, touched)
    suspected = absent & (forgotten > suspicion)
    labels = np.where(suspected, UNKNOWN, weak_negatives(Y)).astype(np.int8)
    return DebiasedLabels(labels, targets, weights, float(completeness), int(suspected.sum()))


def forgotten_share(named: Floats, completeness: float) -> Floats:
    """Return the probability that an absent tag is true."""
    odds = named / np.maximum(1.0 - named, np.finfo(np.float64).tiny)
    return np.minimum((1.0 - completeness) / completeness * odds, 1.0)


class PositiveUnlabeledAnnotator(Annotator):
    """Annotator for positive-only labels.

    The annotator is first fitted as if absence meant no, and its held-out probabilities say how complete the labels
    are and which absent tags were probably forgotten. It is fitted again with those left unknown, and its
    probabilities are divided by the completeness.

    Parameters
    ----------
    annotator : Annotator or None, default=None
        Cloned. None: `HarmonicPropagation`.
    completeness : float or "estimate", default="estimate"
        Share of true tags that are named on touched photos. 1 means that absence means no.
    suspicion : float, default=0.1
        See `debias_labels`.
    refit : bool, default=True
        Leave suspected entries unknown and fit again. Right for annotators that spread labels over the graph. A
        regression loses just its hard noes and ranks worse: give False, and only probabilities are corrected.
    method : {"auto", "platt", "isotonic"}, default="auto"
        See `CalibratedAnnotator`.
    folds : int, default=5
        Folds for held-out scores.
    random_state : int, Generator or None, default=0
        For dealing the folds.

    Attributes
    ----------
    completeness_ : float
        As given or estimated.
    labels_ : label matrix of shape (n, c)
        What the annotator was fitted with in the end; see `DebiasedLabels`.
    calibrated_ : CalibratedAnnotator
        Fitted with ``labels_``, calibrated against being named.
    probabilities_ : ndarray of shape (n, c)
        Probability of having each tag: of being forgotten for absent tags of touched photos, 1 and 0 for what was
        named and denied.
    transduction_ : ndarray of shape (n, c)
        Log-odds; those of touched photos are held-out.

    Notes
    -----
    Assumed is that each true tag is named with the same probability, whatever the tag and the photo. People name what
    catches the eye first, so the truth is more complicated; the assumption needs one number that can be estimated.

    On Corel5K training photos with half of the tags hidden at random it betters probabilities; the ranking of photos
    hardly changes.

    Photos with no known entry are not touched: their tags are not absent.

    References
    ----------
    C. Elkan, K. Noto: Learning classifiers from only positive and unlabeled data, KDD 2008.
    """

    _parameter_constraints = COMMON | {
        "completeness": [OneOf("estimate"), NumberIn(Real, 0, 1, closed="right")],
        "suspicion": [SHARE],
        "method": [OneOf("auto", "platt", "isotonic")],
        "folds": [FOLDS],
    }

    def __init__(
        self,
        annotator: Annotator | None = None,
        *,
        completeness: float | Literal["estimate"] = "estimate",
        suspicion: float = 0.1,
        refit: bool = True,
        method: Literal["auto", "platt", "isotonic"] = "auto",
        folds: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.annotator = annotator
        self.completeness = completeness
        self.suspicion = suspicion
        self.refit = refit
        self.method = method
        self.folds = folds
        self.random_state = random_state

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        base = HarmonicPropagation() if self.annotator is None else self.annotator
        calibrated = CalibratedAnnotator(
            clone(base), method=self.method, folds=self.folds, random_state=self.random_state
        )
        as_no = weak_negatives(Y)
        # Steps would raise just those photos whose tags happen to be named, and completeness with them.
        first = clone(calibrated).set_params(method="platt").fit(X, as_no)
        self.completeness_ = self._completeness(Y, first.probabilities_)
        debiased = debias_labels(Y, first.probabilities_, self.completeness_, suspicion=self.suspicion)
        self.labels_ = debiased.labels if self.refit else as_no
        # Without anything suspected the first fit is the last, unless steps are wanted.
        again = self.method != "platt" or (self.refit and debiased.suspected > 0)
        self.calibrated_ = calibrated.fit(X, self.labels_, against=as_no) if again else first
        named = self.calibrated_.probabilities_
        self.transduction_ = self._log_odds(named)
        absent = absent_entries(Y)
        has_it = np.where(absent, forgotten_share(named, self.completeness_), self._correct(named))
        self.probabilities_: Floats = np.where(Y == UNKNOWN, has_it, Y)
        self.thresholds_ = self._log_odds_of_thresholds()

    def _completeness(self, Y: LabelMatrix, named: Floats) -> float:
        if self.completeness != "estimate":
            return float(self.completeness)
        return estimate_completeness(Y, named) if (Y == 1).any() else 1.0

    def _correct(self, named: Floats) -> Floats:
        return np.minimum(named / self.completeness_, 1.0)

    def _log_odds(self, named: Floats) -> Floats:
        # Below 1 the order of photos is kept where the quotient is cut at 1.
        return np.log(named) - np.log1p(-named) - np.log(self.completeness_)

    def _log_odds_of_thresholds(self) -> Floats:
        return self.calibrated_.thresholds_ - np.log(self.completeness_)

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        return self._log_odds(self.calibrated_.predict_proba(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of shape (n, c) of having each tag, for photos never seen."""
        check_is_fitted(self)
        return self._correct(self.calibrated_.predict_proba(X))
