"""The likelihood of TagProp, its gradient, and how its parameters are learned."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats

__all__ = ["Likelihood", "NeighborWeights", "learn_by_em", "learn_by_gradient", "learn_sigmoids", "tag_evidence"]

Value = tuple[float, Floats]

#: Weight of the squares of slopes and offsets: keeps those of tags that can be told apart without error finite.
RIDGE = 1e-7
#: Products held at a time: few enough to stay in the cache of a core.
_ENTRIES = 1 << 18


def tag_evidence(Y: LabelMatrix) -> Any:
    """Return what a neighbour says of each tag, CSR (l, c): 1, 0, or the tag's frequency where it is unknown."""
    known = Y != UNKNOWN
    frequency = (Y == 1).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return sparse.csr_array(np.where(known, Y == 1, frequency))


@dataclass(frozen=True)
class NeighborWeights:
    """π of every photo for its neighbours, by rank or by distances.

    Attributes
    ----------
    by_rank : bool
        Whether the parameters are γ, one for each rank, or θ, one for each distance.
    """

    by_rank: bool

    def of(self, parameters: Floats, distances: Floats) -> Floats:
        """Return π of shape (n, K) for distances of shape (n, K, g)."""
        if self.by_rank:
            return np.broadcast_to(parameters, distances.shape[:2])
        closeness = -(distances @ parameters)
        closeness -= closeness.max(axis=1, keepdims=True)
        shares = np.exp(closeness)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def gradient(self, by_weight: Floats, weights: Floats, distances: Floats) -> Floats:
        """Return the gradient in the parameters from that in π."""
        if self.by_rank:
            return np.asarray(by_weight.sum(axis=0))
        centred = weights * (by_weight - (weights * by_weight).sum(axis=1, keepdims=True))
        return -np.einsum("ik,ikg->g", centred, distances)


class Likelihood:
    """Weighted log-likelihood of the labels of photos, given their neighbours.

    Parameters
    ----------
    Y : label matrix of shape (l, c)
        Labels; photo i has the neighbours ``indices[i]`` among the same rows.
    indices, distances : arrays of shape (l, K), (l, K, g)
        Neighbours and their distances.
    weighting : NeighborWeights
        How π comes from the parameters.
    noise : float
        ε.
    """

    def __init__(
        self,
        Y: LabelMatrix,
        indices: NDArray[np.intp],
        distances: Floats,
        weighting: NeighborWeights,
        noise: float,
    ) -> None:
        self.evidence = tag_evidence(Y)
        self.indices = indices
        self.distances = distances
        self.weighting = weighting
        self.noise = noise
        self.yes = (Y == 1) / max(int((Y == 1).sum()), 1)
        self.no = (Y == 0) / max(int((Y == 0).sum()), 1)

    def expected(self, weights: Floats, indices: NDArray[np.intp]) -> Floats:
        """Return ``x_iw = Σ_j π_ij y_jw`` of shape (n, c)."""
        n, count = indices.shape
        pointers = np.arange(n + 1) * count
        shares = sparse.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(n, self.evidence.shape[0]))
        return np.asarray((shares @ self.evidence).toarray())

    def probability(self, x: Floats) -> Floats:
        """Return p of a yes without sigmoids."""
        found: Floats = self.noise + (1.0 - 2.0 * self.noise) * x
        return found

    def plain(self, parameters: Floats) -> Value:
        """Return the log-likelihood without sigmoids, and its gradient in the parameters of π."""

        def of_x(x: Floats) -> tuple[float, Floats]:
            p = self.probability(x)
            value = float((self.yes * np.log(p)).sum() + (self.no * np.log1p(-p)).sum())
            return value, (1.0 - 2.0 * self.noise) * (self.yes / p - self.no / (1.0 - p))

        return self._value(parameters, of_x)

    def with_sigmoids(self, parameters: Floats, slopes: Floats, offsets: Floats) -> Value:
        """Return the log-likelihood with sigmoids (their ridge included), and its gradient in the parameters of π."""

        def of_x(x: Floats) -> tuple[float, Floats]:
            odds = slopes * x + offsets
            value = float((self.yes * log_expit(odds)).sum() + (self.no * log_expit(-odds)).sum())
            penalty = 0.5 * RIDGE * float((self.sizes * (np.square(slopes) + np.square(offsets))).sum())
            return value - penalty, slopes * (self.yes - (self.yes + self.no) * expit(odds))

        return self._value(parameters, of_x)

    @property
    def sizes(self) -> Floats:
        """Return the sum of the weights of each tag."""
        return np.asarray((self.yes + self.no).sum(axis=0))

    def _value(self, parameters: Floats, of_x: Callable[[Floats], tuple[float, Floats]]) -> Value:
        weights = self.weighting.of(parameters, self.distances)
        value, by_x = of_x(self.expected(weights, self.indices))
        return value, self.weighting.gradient(self.by_weight(by_x), weights, self.distances)

    def by_weight(self, by_x: Floats) -> Floats:
        """Return ``Σ_w G_iw y_jw`` for every photo i and its neighbours j, (l, K)."""
        found = np.empty(self.indices.shape)
        size = max(1, _ENTRIES // self.evidence.shape[0])
        for start in range(0, len(found), size):
            rows = slice(start, start + size)
            products = self.evidence @ by_x[rows].T
            found[rows] = np.take_along_axis(products.T, self.indices[rows], axis=1)
        return found


def learn_by_em(likelihood: Likelihood, *, max_iter: int, tol: float) -> tuple[Floats, list[float]]:
    """Return γ on the simplex and the log-likelihood before each step, which never falls.

    ``γ_k ← γ_k Σ_iw c_iw p(y_iw | neighbour k) / p(y_iw)``, divided by the sum of all c.
    """
    count = likelihood.indices.shape[1]
    shares = np.full(count, 1.0 / count)
    values = [likelihood.plain(shares)[0]]
    total = float(likelihood.sizes.sum())
    for _ in range(max_iter):
        p = likelihood.probability(
            likelihood.expected(likelihood.weighting.of(shares, likelihood.distances), likelihood.indices)
        )
        by_p, noes = likelihood.yes / p - likelihood.no / (1.0 - p), likelihood.no / (1.0 - p)
        agreed = (1.0 - 2.0 * likelihood.noise) * likelihood.by_weight(by_p)
        agreed += (likelihood.noise * by_p + noes).sum(axis=1, keepdims=True)
        shares = shares * agreed.sum(axis=0) / total
        shares /= shares.sum()
        values.append(likelihood.plain(shares)[0])
        if values[-1] - values[-2] <= tol * abs(values[-1]):
            break
    return shares, values


def learn_by_gradient(
    value: Callable[[Floats], Value], start: Floats, *, by_rank: bool, max_iter: int, tol: float
) -> Floats:
    """Return the parameters of π that maximise a log-likelihood, from a start and never worse than it.

    θ is kept non-negative; γ is written as a softmax.
    """
    if by_rank:
        logs = np.log(np.maximum(start, 1e-12))

        def loss(eta: Floats) -> Value:
            shares = np.exp(eta - eta.max())
            shares /= shares.sum()
            found, gradient = value(shares)
            return -found, -shares * (gradient - float(shares @ gradient))

        found = minimize(loss, logs, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "ftol": tol})
        shares = np.exp(found.x - found.x.max())
        best = shares / shares.sum()
    else:

        def negative(theta: Floats) -> Value:
            found, gradient = value(theta)
            return -found, -gradient

        found = minimize(
            negative,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * len(start),
            options={"maxiter": max_iter, "ftol": tol},
        )
        best = np.asarray(found.x)
    return best if value(best)[0] >= value(start)[0] else start


def learn_sigmoids(likelihood: Likelihood, x: Floats, slopes: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """Return slope and offset of every tag for fixed x: Newton's method on all tags at once, steps halved as needed."""
    yes, both, sizes = likelihood.yes, likelihood.yes + likelihood.no, likelihood.sizes

    def value(a: Floats, b: Floats) -> Floats:
        odds = a * x + b
        fit = (yes * log_expit(odds)).sum(axis=0) + (likelihood.no * log_expit(-odds)).sum(axis=0)
        return np.asarray(fit - 0.5 * RIDGE * sizes * (a * a + b * b))

    now = value(slopes, offsets)
    for _ in range(100):
        p = expit(slopes * x + offsets)
        error, curvature = yes - both * p, both * p * (1.0 - p)
        ga = (error * x).sum(axis=0) - RIDGE * sizes * slopes
        gb = error.sum(axis=0) - RIDGE * sizes * offsets
        haa = (curvature * x * x).sum(axis=0) + RIDGE * sizes
        hab, hbb = (curvature * x).sum(axis=0), curvature.sum(axis=0) + RIDGE * sizes
        determinant = haa * hbb - hab * hab
        # Tags known nowhere have no curvature and stay as they are.
        alive = determinant > 0
        determinant = np.where(alive, determinant, 1.0)
        da = np.where(alive, (hbb * ga - hab * gb) / determinant, 0.0)
        db = np.where(alive, (haa * gb - hab * ga) / determinant, 0.0)
        step = np.ones(len(slopes))
        for _ in range(30):
            found = value(slopes + step * da, offsets + step * db)
            worse = found < now
            if not worse.any():
                break
            step = np.where(worse, step / 2, step)
        step = np.where(found < now, 0.0, step)
        slopes, offsets = slopes + step * da, offsets + step * db
        gained, now = np.maximum(found - now, 0.0), np.maximum(found, now)
        if (gained <= 1e-10 * np.maximum(np.abs(now), 1e-300)).all():
            break
    return slopes, offsets
