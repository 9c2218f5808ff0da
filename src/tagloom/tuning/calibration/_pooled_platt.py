"""Sigmoids from scores to probabilities: one for all tags, and each tag's own drawn towards it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tagloom.core.typing import Floats

__all__ = ["USUAL_SPREADS", "TagSigmoids", "fit_pooled", "fit_tags", "platt_targets"]


MAX_NEWTON = 50
TOLERANCE = 1e-10
#: Rounds in which the spread between tags is estimated, and what it stays above.
MAX_ROUNDS, LEAST_SPREAD = 30, 1e-3
#: Spreads of offsets and slopes before any tag is looked at, and how many tags that is worth: a dozen tags with two or
#: three examples each always look more different than they are.
USUAL_SPREADS, USUAL_COUNT = np.array([0.3, 0.2]), 20.0


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
        if gradient @ step[free] < TOLERANCE:
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
    slopes = np.maximum(found[1], -0.95)
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
