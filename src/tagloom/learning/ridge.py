"""Ridge, smoothed or not, as a project learns with it: one penalty and one graph for training, folds and updates."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import FeatureRows
from tagloom.core import Annotator, LabelMatrix, fit_thresholds, known_patterns, labeled_rows
from tagloom.features import GroupScaler
from tagloom.graph import NeighborGraph
from tagloom.learning.constants import MAX_PATTERNS
from tagloom.learning.judgements import Solver, follow_judgements
from tagloom.learning.kept_graph import KeptGraph
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.probabilities import Learned, learn
from tagloom.learning.suggest import SCORE
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.shared import FixedRidge, GraphSmoother
from tagloom.settings import Settings
from tagloom.store import ProjectStore


@dataclass(frozen=True, slots=True, eq=False)
class RidgeSolution:
    """Coefficients W (d, k) and b (k,) of some tags, and the scores (n, k) of all photos."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    scores: NDArray[np.float32]


@dataclass(slots=True, eq=False)
class RidgeLearner:
    """Features, graph and penalty that stay as they are while labels change.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Scaled features.
    strength : float
        λ of the ridge.
    graph : NeighborGraph or None
        The graph that scores are smoothed over; None: they are not.
    smoothing : float
        How much.
    n_threads : int or None
        Threads of the smoothing.
    """

    X: NDArray[Any]
    strength: float
    graph: NeighborGraph | None = None
    smoothing: float = 0.0
    n_threads: int | None = None
    _ridge: FixedRidge = field(init=False, repr=False)
    _smoother: GraphSmoother | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._ridge = FixedRidge(self.X, self.strength)
        is_smooth = self.graph is not None and self.smoothing > 0.0 and len(self.X) > 1
        self._smoother = (
            GraphSmoother(self.graph, self.smoothing, n_threads=self.n_threads)
            if self.graph is not None and is_smooth
            else None
        )

    def __sklearn_clone__(self) -> Self:
        """Clones of an annotator share it: it is the same for all labels."""
        return self

    def set_strength(self, strength: float) -> None:
        """Take another penalty; graph and features stay."""
        self.strength = strength
        self._ridge = FixedRidge(self.X, strength)

    def solve(
        self, Y: LabelMatrix, tags: NDArray[np.intp] | None = None, *, hidden: NDArray[np.bool_] | None = None
    ) -> RidgeSolution:
        """Solve some tags, by default all.

        Parameters
        ----------
        Y : label matrix of shape (n, c)
            All labels.
        tags : array of int, optional
            Columns to solve.
        hidden : array of bool, shape (n, k), optional
            Entries of these columns that are not learnt from.
        """
        coef, intercept = self._ridge.coefficients(Y, tags, hidden=hidden)
        scores = self._ridge.scores(coef, intercept)
        return RidgeSolution(coef, intercept, scores if self._smoother is None else self._smoother.smooth(scores))

    def without(self, Y: LabelMatrix) -> Solver:
        """Return what gives scores of columns of Y that were learnt without some entries."""
        return lambda tags, hidden: self.solve(Y, tags, hidden=hidden).scores

    def thresholds(self, Y: LabelMatrix) -> NDArray[np.float64]:
        """Return thresholds of scores: as many photos above as have the tag, by what is said of each without it."""
        rows = np.flatnonzero(labeled_rows(Y))
        fitted = RegularizedLeastSquares(self.strength).fit(self.X[rows], Y[rows])
        honest = np.where(np.isnan(fitted.loo_scores_), fitted.transduction_, fitted.loo_scores_)
        return fit_thresholds(honest, Y[rows])


class SharedRidge(Annotator):
    """A `RidgeLearner` as an annotator, for what fits one several times on the same photos.

    Parameters
    ----------
    learner : RidgeLearner or None, default=None
        Features, graph and penalty. Those given to `fit` must be its own.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        The solution.
    """

    def __init__(self, learner: RidgeLearner | None = None) -> None:
        self.learner = learner

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        learner = RidgeLearner(X, choose_strength(X, Y)) if self.learner is None else self.learner
        found = learner.solve(Y)
        self.coef_, self.intercept_, self.transduction_ = found.coef, found.intercept, found.scores

    def _decision_function(self, X: Any) -> NDArray[np.floating[Any]]:
        return np.asarray(X @ self.coef_.astype(X.dtype) + self.intercept_)


def learn_ridge(learner: RidgeLearner, labels: TrainingLabels, *, precision: float) -> Learned:
    """Fit a ridge to all labels (see `tagloom.learning.probabilities.learn`).

    Parameters
    ----------
    learner : RidgeLearner
        Features, graph and penalty; the folds share them.
    labels : TrainingLabels
        What to learn from.
    precision : float
        Wanted of suggestions above the threshold.
    """

    def settle(values: NDArray[np.float32], annotator: Annotator) -> None:
        scores, columns = np.asarray(annotator.transduction_), np.arange(len(labels.tags))
        follow_judgements(values, scores, labels, columns, learner.without(labels.Y), is_held_out=True)

    found = learn(SharedRidge(learner), learner.X, labels, precision=precision, settle=settle)
    return replace(found, thresholds=learner.thresholds(labels.Y)) if found.kind == SCORE else found


def choose_strength(X: NDArray[Any], Y: LabelMatrix, *, share: float = 1.0) -> float:
    """Return the penalty that leave-one-out prefers (see `RegularizedLeastSquares`).

    Parameters
    ----------
    X : array of shape (n, d)
        Scaled features.
    Y : label matrix of shape (n, c)
        Labels.
    share : float, default=1.0
        Share of the known entries that is enough.

    Notes
    -----
    Tags that are known on the same photos share a decomposition. Those groups with the most known entries choose for
    all: as many as have the wanted share of the entries, and at most eight.
    """
    rows = np.flatnonzero(labeled_rows(Y))
    patterns, pattern_of = known_patterns(Y[rows])
    weight = patterns.sum(axis=0) * np.bincount(pattern_of, minlength=patterns.shape[1])
    largest = np.argsort(-weight, kind="stable")
    n_enough = 1 + int(np.searchsorted(np.cumsum(weight[largest]), share * weight.sum()))
    largest = largest[: min(n_enough, MAX_PATTERNS)]
    tags = np.flatnonzero(np.isin(pattern_of, largest))
    fitted = RegularizedLeastSquares().fit(X[rows], Y[np.ix_(rows, tags)])
    return float(np.asarray(fitted.regularization_))


class RidgePhotos:
    """All photos as a ridge sees them: scaled features, and the graph that scores are smoothed over.

    Parameters
    ----------
    store : ProjectStore
        Where a graph may be.
    rows : FeatureRows
        Features of all photos.
    settings : Settings
        Neighbours, threads.
    scaler : GroupScaler, optional
        Fitted. Default: one that is fitted to these photos.
    graph : NeighborGraph, optional
        Neighbours of the photos, where the caller has them.

    Attributes
    ----------
    graph : KeptGraph or None
        The graph, once a ridge was smoothed over it.
    """

    def __init__(
        self,
        store: ProjectStore,
        rows: FeatureRows,
        settings: Settings,
        *,
        scaler: GroupScaler | None = None,
        graph: NeighborGraph | None = None,
    ) -> None:
        self._store, self._settings, self._given = store, settings, graph
        self._learner: RidgeLearner | None = None
        self._features, self._scaler = rows, scaler
        self.groups = rows.groups
        self.graph: KeptGraph | None = None

    @cached_property
    def scaler(self) -> GroupScaler:
        """What scales the features."""
        return GroupScaler(self.groups).fit(np.asarray(self._features.X)) if self._scaler is None else self._scaler

    @cached_property
    def X(self) -> NDArray[np.float32]:
        """Scaled features; made when they are first asked for."""
        return self.scaler.transform(np.asarray(self._features.X))

    @property
    def neighbors(self) -> NeighborGraph | None:
        """The graph; made, or found with an earlier model, when first asked for. None for a single photo."""
        if self.graph is None and len(self.X) > 1:
            settings = self._settings
            self.graph = KeptGraph(
                self._store, self.X, settings.n_neighbors, given=self._given, n_threads=settings.n_threads
            )
        return None if self.graph is None else self.graph.graph

    def ridge(self, strength: float, smoothing: float) -> RidgeLearner:
        """Return the ridge of a penalty; features and graph are shared by all."""
        if self._learner is None:
            graph = self.neighbors if smoothing > 0.0 else None
            self._learner = RidgeLearner(self.X, strength, graph, smoothing, self._settings.n_threads)
        elif self._learner.strength != strength:
            self._learner.set_strength(strength)
        return self._learner
