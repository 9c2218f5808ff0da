"""From described scores to probabilities: the pooled sigmoid, each tag's own, and steps where they help."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tagloom.core import UNKNOWN, Bools, Floats, Indices, LabelMatrix
from tagloom.tuning.constants import (
    BEND_FROM,
    BEND_MEAN,
    BEND_SPREAD,
    LARGEST_LOGIT,
    LEAST_OWN_SLOPE,
    LEAST_SLOPE,
    LEAST_SPREAD,
    LEFT_OUT_COVARIANCE,
    LEFT_OUT_MEANS,
    LEFT_OUT_RISES,
    LEFT_OUT_SPREADS,
    MAX_NEWTON,
    MAX_ROUNDS,
    MAX_STEPS,
    NEWTON_TOLERANCE,
    ON_ITS_OWN,
    PRIOR_DEVIATIONS,
    PRIOR_LEAST,
    PRIOR_MEANS,
    SIGMOID_SHARE,
    STEP_EXAMPLES,
    USUAL_COUNT,
    USUAL_SPREADS,
)

__all__ = [
    "FOLDS_PRIOR",
    "CalibrationMap",
    "Method",
    "Pooling",
    "TagSigmoids",
    "TagSteps",
    "fit_map",
    "fit_pooled",
    "fit_tags",
    "left_out_prior",
    "take_tags",
]


# Sigmoids from scores to probabilities: one for all tags, and each tag's own drawn towards it.


def fit_pooled(
    features: Floats, labels: Floats, means: Floats, deviations: Floats, least: Floats | None = None
) -> tuple[Floats, Floats]:
    """Fit logistic regression whose coefficients are drawn towards normal priors.

    Parameters
    ----------
    features : array of shape (entries, q)
        One row per known entry; a column of ones is the intercept.
    labels : array of shape (entries,)
        Within 0 and 1.
    means : array of shape (q,)
        Of the coefficients' priors: what is used where nothing is known.
    deviations : array of shape (q,) or (q, q)
        How firmly: standard deviations, or a covariance.
    least : array of shape (q,), optional
        What coefficients must not be below. Default: nothing.

    Returns
    -------
    coefficients : ndarray of shape (q,)
        The most probable ones, by Newton's method with halved steps; one that would be below its bound has the bound,
        and the others are the most probable beside it.
    covariance : ndarray of shape (q, q)
        Of the normal approximation there.
    """
    bounds = np.full(len(means), -np.inf) if least is None else least
    covariance = np.diag(np.square(deviations)) if deviations.ndim == 1 else deviations
    precision = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    free = np.ones(len(means), dtype=bool)
    w = np.maximum(means, bounds)
    while True:
        w = _most_probable(features, labels, means, precision, w, free)
        below = free & (w < bounds)
        if not below.any():
            break
        free &= ~below
        w[below] = bounds[below]
    p = expit(features @ w)
    hessian = (features * (p * (1.0 - p))[:, None]).T @ features + precision
    return w, np.linalg.solve(hessian, np.eye(len(w)))


def _most_probable(
    features: Floats, labels: Floats, means: Floats, precision: Floats, start: Floats, free: NDArray[np.bool_]
) -> Floats:
    """Return the coefficients of the least loss, those that are not free as they are."""

    def loss(w: Floats) -> float:
        eta = features @ w
        away = w - means
        return float((np.logaddexp(0.0, eta) - labels * eta).sum() + 0.5 * away @ precision @ away)

    w = start.copy()
    value = loss(w)
    for _ in range(MAX_NEWTON):
        p = expit(features @ w)
        gradient = (features.T @ (p - labels) + precision @ (w - means))[free]
        hessian = (features * (p * (1.0 - p))[:, None]).T @ features + precision
        step = np.zeros(len(w))
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient)
        if gradient @ step[free] < NEWTON_TOLERANCE:
            break
        size = 1.0
        while loss(w - size * step) > value and size > 1e-6:
            size *= 0.5
        w = w - size * step
        value = loss(w)
    return w


@dataclass(frozen=True, eq=False)
class TagSigmoids:
    """``logit p = η + offset + slope·(η - centre)`` for each tag, η the pooled log-odds.

    Attributes
    ----------
    offsets, slopes, centres : ndarray of shape (c,)
        0 where a tag follows the pooled map.
    offset_variances, slope_variances : ndarray of shape (c,)
        What is not known of them; the centre makes the two nearly independent.
    offset_spread, slope_spread : float
        Standard deviation between tags that was found or given.
    """

    offsets: Floats
    slopes: Floats
    centres: Floats
    offset_variances: Floats
    slope_variances: Floats
    offset_spread: float
    slope_spread: float

    def logits(self, eta: Floats) -> Floats:
        """Return calibrated log-odds of pooled ones of shape (n, c); never falling with them."""
        return eta + self.offsets + self.slopes * (eta - self.centres)

    def deviations(self, eta: Floats) -> Floats:
        """Return the standard deviation of `logits`."""
        return np.sqrt(self.offset_variances + self.slope_variances * np.square(eta - self.centres))


def platt_targets(labels: NDArray[np.bool_], known: NDArray[np.bool_]) -> Floats:
    """Return Platt's targets of a tag: (N₊ + 1)/(N₊ + 2) for its positives and 1/(N₋ + 2) for its negatives."""
    n_positive = (labels & known).sum(axis=0)
    n_negative = (~labels & known).sum(axis=0)
    targets: Floats = np.where(labels, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    return targets


def fit_tags(
    eta: Floats,
    targets: Floats,
    known: NDArray[np.bool_],
    *,
    spread: tuple[float, float] | None = None,
    usual: Floats = USUAL_SPREADS,
) -> TagSigmoids:
    """Fit every tag's own sigmoid on top of the pooled one, all tags together.

    Parameters
    ----------
    eta : array of shape (m, c)
        Pooled log-odds of held-out entries.
    targets : array of shape (m, c)
        Labels, or smoothed ones, where known.
    known : bool array of shape (m, c)
        Entries that count.
    spread : (float, float), optional
        Standard deviations between tags of offsets and slopes. Default: estimated (empirical Bayes): the spread at
        which the mean of the square of each tag's deviation, what is not known of it included, is its square; twenty
        tags of the usual spreads are counted along.
    usual : array of shape (2,), optional
        The usual spreads of offsets and slopes.

    Returns
    -------
    TagSigmoids
        Tags without information have offset and slope 0.
    """
    weights = np.where(known, expit(eta) * expit(-eta), 0.0)
    total = weights.sum(axis=0)
    centres = np.divide((weights * eta).sum(axis=0), total, out=np.zeros(eta.shape[1]), where=total > 0)
    spreads = usual if spread is None else np.asarray(spread, dtype=np.float64)
    found, variances = np.zeros((2, eta.shape[1])), np.zeros((2, eta.shape[1]))
    # Tags without contrast say nothing of how tags differ.
    positive = np.where(known, targets, 0.0).sum(axis=0)
    telling = (positive >= 2.0) & (known.sum(axis=0) - positive >= 2.0)
    for _ in range(MAX_ROUNDS if spread is None else 1):
        found, variances = _newton(eta, targets, known, centres, spreads, found)
        if spread is not None or not telling.any():
            break
        squares = (np.square(found) + variances)[:, telling].sum(axis=1) + USUAL_COUNT * np.square(usual)
        updated = np.sqrt(np.maximum(squares / (telling.sum() + USUAL_COUNT), LEAST_SPREAD**2))
        settled = np.abs(np.log(updated / spreads)).max() < 1e-3
        spreads = updated
        if settled:
            break
    if spread is None and not telling.any():
        found = np.zeros_like(found)
    # A map that falls would turn a tag's ranking round.
    slopes = np.maximum(found[1], LEAST_OWN_SLOPE)
    return TagSigmoids(found[0], slopes, centres, variances[0], variances[1], float(spreads[0]), float(spreads[1]))


def _newton(
    eta: Floats, targets: Floats, known: NDArray[np.bool_], centres: Floats, spreads: Floats, start: Floats
) -> tuple[Floats, Floats]:
    """Return the most probable offsets and slopes of all tags, shape (2, c), and their variances."""
    h = eta - centres
    b, a = start.copy()
    prior = 1.0 / np.square(spreads)
    bb = ba = aa = determinant = np.ones(eta.shape[1])
    for _ in range(MAX_NEWTON):
        p = expit(eta + b + a * h)
        residual = np.where(known, p - targets, 0.0)
        weights = np.where(known, p * (1.0 - p), 0.0)
        gradient_b = residual.sum(axis=0) + prior[0] * b
        gradient_a = (residual * h).sum(axis=0) + prior[1] * a
        bb = weights.sum(axis=0) + prior[0]
        ba = (weights * h).sum(axis=0)
        aa = (weights * h * h).sum(axis=0) + prior[1]
        determinant = bb * aa - ba * ba
        step_b = (aa * gradient_b - ba * gradient_a) / determinant
        step_a = (bb * gradient_a - ba * gradient_b) / determinant
        # A full Newton step from afar may overshoot on a sigmoid's flat part: at most one unit at a time.
        size = 1.0 / np.maximum(1.0, np.maximum(np.abs(step_b), np.abs(step_a)))
        b, a = b - size * step_b, a - size * step_a
        if max(np.abs(step_b).max(), np.abs(step_a).max()) < 1e-9:
            break
    return np.stack([b, a]), np.stack([aa / determinant, bb / determinant])


# Step-like maps from log-odds to probabilities for tags with many examples.


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
    logits: Floats,
    positive: Bools,
    known: Bools,
    folds: NDArray[np.intp],
    *,
    compare: bool,
    enough: int = STEP_EXAMPLES,
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


Method = Literal["auto", "platt", "isotonic"]
Pooling = Literal["partial", "none", "full"]


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
FOLDS_PRIOR = MapPrior(PRIOR_MEANS, PRIOR_DEVIATIONS, USUAL_SPREADS, single=False)


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
        found = self.tags.logits(features @ self.coefficients)
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


def take_tags(values: NDArray[Any], at: Indices, fill: float) -> NDArray[Any]:
    """Return columns of tags along the last axis, a number for those that are new (-1)."""
    found = values[..., np.maximum(at, 0)]
    found[..., at < 0] = fill
    return found


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
