"""TagProp: tags of weighted neighbours, the weights learned for the likelihood of the labels."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from tagloom.core import (
    COMMON,
    COUNT,
    NOT_NEGATIVE,
    UNKNOWN,
    Annotator,
    FeatureGroups,
    Floats,
    LabelMatrix,
    NumberIn,
    OneOf,
    labeled_rows,
)
from tagloom.methods.shared import GroupDistances, MetricSpec

__all__ = ["Likelihood", "NeighborWeights", "TagProp", "learn_by_em", "learn_by_gradient", "learn_sigmoids"]


# The likelihood of TagProp, its gradient, and how its parameters are learned.

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


class TagProp(Annotator):
    """Transfer of tags from neighbours with learned weights.

    Parameters
    ----------
    groups : FeatureGroups or None, default=None
        Groups that have a distance of their own. None: all columns are one group.
    weights : {"distance", "rank"}, default="distance"
        "distance": ``π_ij ∝ exp(-θ·d_ij)``, one θ ≥ 0 for each group (metric learning). "rank": one weight for each
        rank among the neighbours.
    n_neighbors : int, default=100
        K; all other labelled photos where there are fewer.
    metric : str or mapping, default="l1"
        "euclidean", "cosine", "l1", "intersection" or "chi2": one for all groups, or ``{group: metric}``.
    sigmoids : bool, default=True
        Whether each tag has a sigmoid of its own, which brings up rare tags.
    noise : float, default=1e-5
        ε, the probability that a neighbour misleads, in (0, 0.5).
    n_rounds : int, default=3
        Rounds in which sigmoids and neighbour weights are learned in turn.
    max_iter : int, default=100
        Most steps of EM or L-BFGS for the neighbour weights.
    tol : float, default=1e-7
        Relative gain of the log-likelihood at which they end.

    Attributes
    ----------
    neighbor_weights_ : ndarray of shape (groups,) or (K,)
        θ of the scaled distances, or the weights of ranks.
    scales_ : ndarray of shape (groups,)
        Largest distance of two labelled photos in each group; distances are divided by it.
    slopes_, offsets_ : ndarray of shape (c,)
        Of the sigmoids; None without.
    log_likelihood_ : list of float
        Balanced log-likelihood after learning the neighbour weights and, from the third value on, after each sigmoid
        and weight step with sigmoids. It never falls within either part.
    transduction_ : ndarray of shape (n, c)
        Scores of the training photos; a labelled photo is not its own neighbour.

    Notes
    -----
    ``p_iw = Σ_j π_ij ((1-ε)[y_jw = 1] + ε[y_jw = 0])`` over the K nearest labelled photos by the mean of the scaled
    distances, self excluded. Learned: the maximum of ``Σ c_iw log p(y_iw)``, c one over the number of yes (no) labels
    for a yes (no). Weights by rank are learned by EM, by distance with L-BFGS. With sigmoids
    ``p_iw = σ(a_w Σ_j π_ij y_jw + b_w)``. Scores are probabilities, with sigmoids their log-odds. A neighbour whose tag
    is unknown counts with the frequency of the tag.

    Deviations: neighbours are found once, by equally weighted distances; a tiny ridge (1e-7) keeps sigmoids of
    separable tags finite.

    References
    ----------
    M. Guillaumin, T. Mensink, J. Verbeek, C. Schmid: TagProp: discriminative metric learning in nearest neighbor models
    for image auto-annotation, ICCV 2009.
    """

    _parameter_constraints = COMMON | {
        "weights": [OneOf("distance", "rank")],
        "noise": [NumberIn(Real, 0, 0.5, closed="neither")],
        "n_rounds": [COUNT],
        "tol": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        groups: FeatureGroups | None = None,
        *,
        weights: Literal["distance", "rank"] = "distance",
        n_neighbors: int = 100,
        metric: MetricSpec = "l1",
        sigmoids: bool = True,
        noise: float = 1e-5,
        n_rounds: int = 3,
        max_iter: int = 100,
        tol: float = 1e-7,
    ) -> None:
        self.groups = groups
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.sigmoids = sigmoids
        self.noise = noise
        self.n_rounds = n_rounds
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        labelled = labeled_rows(Y)
        n_labelled = int(labelled.sum())
        self._distances = GroupDistances(X[labelled], self.groups, self.metric)
        self.scales_ = self._distances.scales
        count = min(int(self.n_neighbors), n_labelled - 1)
        indices, distances = self._distances.nearest(X[labelled], count, own=True)
        weighting = NeighborWeights(self.weights == "rank")
        self._likelihood = Likelihood(Y[labelled], indices, distances, weighting, float(self.noise))
        self.slopes_: Floats | None = None
        self.offsets_: Floats | None = None
        self.log_likelihood_: list[float] = []
        self.neighbor_weights_: Floats = np.ones(max(count, 1) if self.weights == "rank" else distances.shape[2])
        self.transduction_: Floats = np.empty(Y.shape)
        if count == 0:
            # A single labelled photo has nobody to learn from.
            self.transduction_[labelled] = self._likelihood.evidence.toarray()
        else:
            self._learn(distances)
            self.transduction_[labelled] = self._scores(indices, distances)
        self.transduction_[~labelled] = self._decision_function(X[~labelled])

    def _learn(self, distances: Floats) -> None:
        likelihood, by_rank = self._likelihood, self.weights == "rank"
        options: dict[str, Any] = {"max_iter": int(self.max_iter), "tol": float(self.tol)}
        if by_rank:
            self.neighbor_weights_, _ = learn_by_em(likelihood, **options)
        else:
            # Weights that fall by a factor of e over the typical distance of a neighbour.
            typical = distances.mean(axis=(0, 1)) * distances.shape[2]
            start = 1.0 / np.where(typical > 0, typical, 1.0)
            self.neighbor_weights_ = learn_by_gradient(likelihood.plain, start, by_rank=False, **options)
        self.log_likelihood_.append(likelihood.plain(self.neighbor_weights_)[0])
        if self.sigmoids:
            self._alternate(options)

    def _alternate(self, options: dict[str, Any]) -> None:
        """Learn sigmoids and neighbour weights in turn, each from where they are."""
        likelihood = self._likelihood
        slopes, offsets = np.zeros(self.n_tags_), np.zeros(self.n_tags_)
        for _ in range(int(self.n_rounds)):
            weights = likelihood.weighting.of(self.neighbor_weights_, likelihood.distances)
            x = likelihood.expected(weights, likelihood.indices)
            slopes, offsets = learn_sigmoids(likelihood, x, slopes, offsets)

            def value(parameters: Floats, a: Floats = slopes, b: Floats = offsets) -> tuple[float, Floats]:
                return likelihood.with_sigmoids(parameters, a, b)

            self.log_likelihood_.append(value(self.neighbor_weights_)[0])
            by_rank = likelihood.weighting.by_rank
            self.neighbor_weights_ = learn_by_gradient(value, self.neighbor_weights_, by_rank=by_rank, **options)
            self.log_likelihood_.append(value(self.neighbor_weights_)[0])
        self.slopes_, self.offsets_ = slopes, offsets

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        count = max(self._likelihood.indices.shape[1], 1)
        return self._scores(*self._distances.nearest(X, count))

    def _scores(self, indices: NDArray[np.intp], distances: Floats) -> Floats:
        weights = self._likelihood.weighting.of(self.neighbor_weights_, distances)
        x = self._likelihood.expected(weights, indices)
        if self.slopes_ is None or self.offsets_ is None:
            return self._likelihood.probability(x)
        return self.slopes_ * x + self.offsets_
