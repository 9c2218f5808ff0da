"""From described scores to probabilities: the pooled sigmoid, each tag's own, and steps where they help."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats
from tagloom.tuning.calibration._isotonic import TagSteps, choose_steps
from tagloom.tuning.calibration._pooled_platt import USUAL_SPREADS, TagSigmoids, fit_pooled, fit_tags, platt_targets

__all__ = ["FOLDS_PRIOR", "PRIOR_MEANS", "CalibrationMap", "MapPrior", "Method", "Pooling", "fit_map", "left_out_prior"]

Method = Literal["auto", "platt", "isotonic"]
Pooling = Literal["partial", "none", "full"]

#: Means of the pooled coefficients of folds; see `FOLDS_PRIOR`.
PRIOR_MEANS = np.array([-0.3, 1.0, 1.15, 0.3])
#: Bounds of the pooled coefficients: a higher score never means less, however few examples a tag has. A tag whose only
#: example is left out is scored without any, so that its left-out scores can say the opposite of its scores elsewhere.
PRIOR_LEAST = np.array([-np.inf, 0.05, -np.inf, 0.0])
#: Spread of a tag's own sigmoid where tags are not pooled: wide, but perfectly separated tags stay finite.
ON_ITS_OWN = (3.0, 1.0)
#: Log-odds are cut here: no photo is surer than this.
LARGEST_LOGIT = 15.0
#: Log-odds above which the map may bend, and mean and spread of the bend's prior, found on the same photos. Sigmoids
#: are fitted to the many entries that are unlikely; the few that are most likely decide what can be accepted unseen.
BEND_FROM, BEND_MEAN, BEND_SPREAD = 1.0, 0.2, 0.2
#: A bend leaves at least this slope.
LEAST_SLOPE = 0.2
MAX_STEPS = 100


@dataclass(frozen=True, eq=False)
class MapPrior:
    """What a map is like before any label is looked at, as found on sub-problems of Corel5K's training photos.

    Attributes
    ----------
    means : ndarray of shape (q,)
        Of the pooled coefficients.
    deviations : ndarray of shape (q,) or (q, q)
        How much they differ: standard deviations, or a covariance.
    spreads : ndarray of shape (2,)
        How much offsets and slopes of tags differ.
    single : bool
        Whether the entries of a tag with a single example tell. Held out, the example was scored without any; unless
        that is described, what its scores are worth elsewhere they do not tell.
    """

    means: Floats
    deviations: Floats
    spreads: Floats
    single: bool


#: Of scores described by `ScoreScale`, with 25 to 450 labelled photos.
FOLDS_PRIOR = MapPrior(PRIOR_MEANS, np.array([0.4, 0.5, 0.2, 0.4]), USUAL_SPREADS, single=False)
#: The same of scores described by `LevelScale`, with 25 to 350 labelled photos and 2 to 260 tags: means, and by how
#: much they rise with `heaps`.
LEFT_OUT_MEANS, LEFT_OUT_RISES = np.array([-0.57, 2.37, 1.23, 0.04]), np.array([-1.03, 2.39, 0.40, 0.87])
LEFT_OUT_COVARIANCE = np.array(
    [
        [0.204, 0.190, 0.106, -0.081],
        [0.190, 0.489, 0.130, -0.169],
        [0.106, 0.130, 0.079, -0.042],
        [-0.081, -0.169, -0.042, 0.081],
    ]
)
LEFT_OUT_SPREADS = np.array([0.5, 0.3])


def left_out_prior(heaps: float) -> MapPrior:
    """Return the prior of a map from scores described by `LevelScale`.

    Parameters
    ----------
    heaps : float
        How clearly the scores fall into two heaps.
    """
    return MapPrior(LEFT_OUT_MEANS + heaps * LEFT_OUT_RISES, LEFT_OUT_COVARIANCE, LEFT_OUT_SPREADS, single=True)


@dataclass(frozen=True, eq=False)
class CalibrationMap:
    """What `fit_map` found.

    Attributes
    ----------
    coefficients, covariance : ndarray of shape (q,), (q, q)
        Of the pooled sigmoid.
    tags : TagSigmoids
        Each tag's own.
    steps : TagSteps
        Isotonic regression of the tags that have one.
    bend : float
        By how much the slope changes where log-odds are above 1.
    """

    coefficients: Floats
    covariance: Floats
    tags: TagSigmoids
    steps: TagSteps
    bend: float = 0.0

    def probabilities(self, features: Floats) -> Floats:
        """Return probabilities (n, c) of described scores (n, c, q), strictly between 0 and 1."""
        return expit(self.logits(features))

    def logits(self, features: Floats) -> Floats:
        """Return their log-odds."""
        found = self._sigmoid_logits(features)
        if self.steps.knots:
            mixed = self.steps.mix_into(found)
            for tag in self.steps.knots:
                found[:, tag] = logit(mixed[:, tag])
        if self.bend:
            found += self.bend * np.maximum(found - BEND_FROM, 0.0)
        return np.clip(found, -LARGEST_LOGIT, LARGEST_LOGIT)

    def deviations(self, features: Floats) -> Floats:
        """Return the standard deviations of the log-odds: what the examples leave open."""
        pooled = np.einsum("ncq,qr,ncr->nc", features, self.covariance, features, optimize=True)
        own = self.tags.deviations(features @ self.coefficients)
        return np.sqrt(pooled + np.square(own))

    def _sigmoid_logits(self, features: Floats) -> Floats:
        return self.tags.logits(features @ self.coefficients)


def fit_map(
    features: Floats,
    Y: LabelMatrix,
    folds: NDArray[np.intp],
    *,
    method: Method = "auto",
    pooling: Pooling = "partial",
    bend: bool = False,
    prior: MapPrior = FOLDS_PRIOR,
    telling: NDArray[np.bool_] | None = None,
) -> CalibrationMap:
    """Fit the maps to held-out entries.

    Parameters
    ----------
    features : array of shape (m, c, q)
        Described scores of held-out photos; m may be 0.
    Y : label matrix of shape (m, c)
        Their labels.
    folds : array of shape (m,)
        Which photos were held out together.
    method, pooling
        See `CalibratedAnnotator`.
    bend : bool, default=False
        Whether likely entries get a slope of their own.
    prior : MapPrior, optional
        What the map is like before labels are looked at.
    telling : array of bool, shape (m, c), optional
        Entries that tell something. A tag with a yes that does not keeps to the pooled sigmoid: without it there are
        noes alone. Default: all, but for tags with a single yes unless ``prior.single``.
    """
    positive = Y == 1
    known = Y != UNKNOWN if telling is None else (Y != UNKNOWN) & telling
    labels = positive.astype(np.float64)
    pooled = known if prior.single else known & ((positive & known).sum(axis=0) != 1)
    coefficients, covariance = fit_pooled(features[pooled], labels[pooled], prior.means, prior.deviations, PRIOR_LEAST)
    eta = features @ coefficients
    has_own = ~(positive & ~known).any(axis=0)
    own = _fit_own(eta, positive, known & has_own, pooling, prior.spreads)
    steps = TagSteps({})
    if method != "platt" and len(Y):
        options: dict[str, Any] = {"compare": method == "auto"}
        steps = choose_steps(own.logits(eta), positive, known, folds, **options)
    found = CalibrationMap(coefficients, covariance, own, steps)
    if not bend:
        return found
    return replace(found, bend=_fit_bend(found.logits(features)[known], labels[known]))


def _fit_bend(eta: Floats, labels: Floats) -> float:
    """Return the most probable change of slope above `BEND_FROM`, by Newton's method in one variable."""
    likely = eta > BEND_FROM
    eta, above, labels = eta[likely], eta[likely] - BEND_FROM, labels[likely]
    bend = BEND_MEAN
    for _ in range(MAX_STEPS):
        p = expit(eta + bend * above)
        gradient = float(above @ (p - labels)) + (bend - BEND_MEAN) / BEND_SPREAD**2
        curvature = float(np.square(above) @ (p * (1.0 - p))) + 1.0 / BEND_SPREAD**2
        step = float(np.clip(gradient / curvature, -0.5, 0.5))
        bend -= step
        if abs(step) < 1e-9:
            break
    return max(bend, LEAST_SLOPE - 1.0)


def _fit_own(
    eta: Floats, positive: NDArray[np.bool_], known: NDArray[np.bool_], pooling: Pooling, usual: Floats
) -> TagSigmoids:
    labels = positive.astype(np.float64)
    if pooling == "partial":
        return fit_tags(eta, labels, known, usual=usual)
    if pooling == "full":
        return fit_tags(eta, labels, np.zeros_like(known), spread=(1e-3, 1e-3))
    # A tag with a single example, or all of one kind, has no sigmoid of its own.
    n_positive = (positive & known).sum(axis=0)
    enough = (n_positive >= 2) & (known.sum(axis=0) - n_positive >= 2)
    return fit_tags(eta, platt_targets(positive, known), known & enough, spread=ON_ITS_OWN)
