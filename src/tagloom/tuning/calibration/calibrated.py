"""Probabilities that mean what they say, for any annotator."""

from typing import Any, get_args

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines.propagation import HarmonicPropagation
from tagloom.tuning.calibration._accepting import Accepting
from tagloom.tuning.calibration._held_out import HeldOut, collect_held_out, scale_of, with_shared_graph
from tagloom.tuning.calibration.maps import CalibrationMap, Method, Pooling, fit_map

__all__ = ["CalibratedAnnotator"]


class CalibratedAnnotator(Accepting):
    """Any annotator, with probabilities learnt from its scores of labelled photos whose labels it has not seen.

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
        self._check_parameters()
        target = self._calibrated_against(Y)
        base = HarmonicPropagation() if self.annotator is None else self.annotator
        shared = with_shared_graph(base, X)
        self.annotator_: Annotator = clone(shared).fit(X, Y)
        scores = self.annotator_.transduction_
        held_out = collect_held_out(shared, X, Y, scores, n_splits=self.folds, random_state=self.random_state)
        self._scale = scale_of(scores, Y) if held_out is None else held_out.scale
        self.map_, self.new_map_ = self._fit_maps(held_out, target)
        described = self._scale.describe(scores)
        logits, deviations = self.map_.logits(described), self.map_.deviations(described)
        if held_out is not None:
            rows = held_out.rows
            known = (Y[rows] != UNKNOWN) | (target[rows] != UNKNOWN)
            logits[rows] = np.where(known, self.map_.logits(held_out.trained), logits[rows])
            deviations[rows] = np.where(known, self.map_.deviations(held_out.trained), deviations[rows])
        self.transduction_ = logits
        self.probabilities_: Floats = expit(logits)
        self._deviations = deviations
        self._labels = target.copy()

    def _check_parameters(self) -> None:
        if self.method not in get_args(Method):
            raise InvalidInputError(f"method must be one of {', '.join(get_args(Method))}, got {self.method!r}")
        if self.pooling not in get_args(Pooling):
            raise InvalidInputError(f"pooling must be one of {', '.join(get_args(Pooling))}, got {self.pooling!r}")

    def _fit_maps(self, held_out: HeldOut | None, target: LabelMatrix) -> tuple[CalibrationMap, CalibrationMap]:
        options: dict[str, Any] = {"method": self.method, "pooling": self.pooling}
        if held_out is None:
            empty = self._scale.describe(np.empty((0, self.n_tags_)))
            alone = fit_map(empty, np.empty((0, self.n_tags_), dtype=np.int8), np.empty(0, dtype=np.intp), **options)
            return alone, alone
        labels = target[held_out.rows]
        trained = fit_map(held_out.trained, labels, held_out.folds, **options)
        if np.allclose(held_out.trained, held_out.new, rtol=0.0, atol=1e-9):
            return trained, trained
        return trained, fit_map(held_out.new, labels, held_out.folds, **options)

    def _decision_function(self, X: Any) -> Floats:
        return self.new_map_.logits(self._scale.describe(self.annotator_.decision_function(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of shape (n, c) for photos never seen, strictly between 0 and 1."""
        return expit(self.decision_function(X))

    def _log_odds_deviations(self) -> Floats:
        return self._deviations
