"""TagProp: tags of weighted neighbours, the weights learned for the likelihood of the labels."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import LabelMatrix, labeled_rows
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines._shared.group_distances import GroupDistances, MetricSpec, check_metrics
from tagloom.methods.baselines.tagprop_model import (
    Likelihood,
    NeighborWeights,
    learn_by_em,
    learn_by_gradient,
    learn_sigmoids,
)

__all__ = ["TagProp"]


class TagProp(Annotator):
    """Tag propagation with learned weights of neighbours.

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

    _allows_zero_tol = True

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
        self._check_parameters()
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

    def _check_parameters(self) -> None:
        check_metrics(self.groups, self.metric)
        if self.weights not in ("distance", "rank"):
            raise InvalidInputError(f"weights must be 'distance' or 'rank', got {self.weights!r}")
        for name in ("n_neighbors", "n_rounds", "max_iter"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise InvalidInputError(f"{name} must be a positive integer, got {value!r}")
        if not 0.0 < self.noise < 0.5:
            raise InvalidInputError(f"noise must lie between 0 and 0.5, got {self.noise!r}")
        if not 0.0 <= self.tol < np.inf:
            raise InvalidInputError(f"tol must be a finite number of at least 0, got {self.tol!r}")
