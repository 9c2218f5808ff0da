"""SFSS: features chosen for all tags together while tags spread over the neighbour graph (paper 000)."""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from tagloom.core import (
    COMMON,
    FOLDS,
    NOT_NEGATIVE,
    POSITIVE,
    Annotator,
    FeatureGroups,
    Floats,
    LabeledKFold,
    LabelMatrix,
    OneOf,
    check_labels,
    check_magnitude,
    fit_thresholds,
    labeled_rows,
)
from tagloom.exceptions import InvalidInputError, NothingToScoreError
from tagloom.graph import NeighborGraph, check_graph, knn_graph
from tagloom.methods.sfss.explicit import (
    ExplicitQuadratic,
    direct_intercept,
    direct_quadratic,
    joint_quadratic,
    least_norm,
    reweighted,
)
from tagloom.methods.sfss.features import CentredFeatures
from tagloom.methods.sfss.problem import Scores, ScoreSystem
from tagloom.methods.sfss.reduced import ReducedProblem
from tagloom.methods.sfss.solve import JointProblem, JointSolution
from tagloom.methods.shared import filled, warn_without_positives
from tagloom.metrics import mean_average_precision
from tagloom.solvers import L21, solve_penalized

__all__ = ["SFSS", "SHARES", "SparsityPath"]


#: Features whose squares, summed over rows, stay finite with room to spare: in single precision, and in double.
LARGEST, LARGEST_IN_DOUBLE = 1e16, 1e140


def check_size(X: Any, *, in_single: bool) -> None:
    """Raise an error if features are so large that their products overflow, in single precision or in double."""
    check_magnitude(X, LARGEST if in_single else LARGEST_IN_DOUBLE, "SFSS")


# The strength of the penalty by held-out labels.

#: Shares of γ_max that ``sparsity="auto"`` chooses from.
SHARES = 10.0 ** np.arange(-0.25, -2.01, -0.25)
#: Share that is taken where nothing can be compared.
PLAIN_SHARE = 0.1
#: Optimality of the fits that are only compared.
CHOOSING_TOLERANCE = 1e-2


def choose_share(
    features: CentredFeatures,
    Y: LabelMatrix,
    folds: LabeledKFold,
    solve: Callable[[LabelMatrix], Iterable[Floats]],
) -> float:
    """Return the share of γ_max whose ``XW + b`` ranks held-out labelled photos best; the largest among equals.

    Parameters
    ----------
    features : CentredFeatures
        Of all photos.
    Y : label matrix of shape (n, c)
        Labels.
    folds : LabeledKFold
        Which labels are hidden together.
    solve : callable
        From labels with one fold hidden to W for each of `SHARES`.

    Warns
    -----
    UserWarning
        If no hidden label can be scored; then it is `PLAIN_SHARE`.
    """
    found = []
    try:
        for labels, held_out in folds.split_labels(Y):
            if (Y[held_out] == 1).any():
                ranked = [features.times_on(held_out, W) for W in solve(labels)]
                found.append([mean_average_precision(Y[held_out], scores) for scores in ranked])
    except NothingToScoreError:
        found = []
    if found:
        return float(SHARES[int(np.argmax(np.mean(found, axis=0)))])
    warnings.warn(
        f'sparsity="auto" has no held-out labels to compare with and takes {PLAIN_SHARE:g} times the largest sparsity. '
        f"Label more photos (each fold needs some with a tag and some without), or give sparsity as a number",
        UserWarning,
        stacklevel=2,
    )
    return PLAIN_SHARE


# Solutions of SFSS for falling strengths of the penalty.

# Tolerance from which on the polynomial is exact enough for a whole path.
ELIMINATES = 1e-5


@dataclass(frozen=True)
class PathPoint:
    """W for one γ; ``mean`` is that of F over photos."""

    W: Floats
    mean: Floats
    objective: float
    optimality: float


def walk(problem: JointProblem, shares: Floats, tol: float, max_iter: int) -> Iterator[PathPoint]:
    """Yield the solutions for shares of γ_max, each from the one before.

    With F eliminated once there is no pass over photos for a γ. This is for tolerances that the polynomial can meet,
    and as long as it is shown to be good enough; else every γ has its rounds.
    """
    problem.at_zero(max(0.1 * tol * float(shares[-1]), problem.finest))
    strengths = np.maximum(problem.largest_strength() * shares, np.finfo(np.float64).tiny)
    points = _eliminated(problem, strengths, tol)
    yield from points
    solution: JointSolution | None = None
    for strength in strengths[len(points) :]:
        solution = problem.solve(float(strength), start=solution, tol=tol, max_iter=max_iter)
        mean = problem.system.all_rows(solution.scores).mean(axis=0)
        yield PathPoint(solution.W, mean, solution.objective[-1], solution.optimality)


def _eliminated(problem: JointProblem, strengths: Floats, tol: float) -> list[PathPoint]:
    """Return the first points of the path for which the reduced problem is certified; none where it does not pay."""
    system, largest = problem.system, problem.largest_strength()
    zero = problem.at_zero(problem.finest)
    last = float(strengths[-1])
    if tol < ELIMINATES or not largest > 0 or not problem.starts_reduced(zero.gradient, last, tol):
        return []
    model = problem.reduced(float(np.sqrt(0.1 * tol * min(1.0, last / largest))))
    nothing = np.zeros(system.shape)
    reduced = ReducedProblem(model, zero.gradient, zero.smooth, system.residual(zero.scores, nothing), bounded=True)
    start_mean = system.all_rows(zero.scores).mean(axis=0)
    points: list[PathPoint] = []
    W = np.zeros_like(zero.gradient)
    for strength in strengths:
        found = reduced.solve(float(strength), W, 0.3 * tol)
        if found.optimality + found.bound > tol:
            break
        W = found.W
        points.append(PathPoint(W, start_mean + model.mean_change(W), found.objective, found.optimality + found.bound))
    return points if points and _holds(problem, points[-1].W, float(strengths[len(points) - 1]), tol) else []


def _holds(problem: JointProblem, W: Floats, strength: float, tol: float) -> bool:
    """Return whether a solution of the reduced problem is one of the true problem: rounding is not in the bound."""
    system, zero = problem.system, problem.at_zero(problem.finest)
    used = np.flatnonzero(W.any(axis=1))
    scores = system.moved(zero.scores, problem.reduced().response(used, W[used]))
    regression = problem.features.times(W)
    found = problem.look(W, system.improve(scores, regression, 0.1), regression, L21(strength))
    return bool(found.distances.max(initial=0.0) <= tol * strength)


@dataclass(frozen=True)
class SparsityPath:
    """Solutions from the largest penalty down.

    Attributes
    ----------
    sparsities : ndarray of shape (p,)
        γ, falling; the first is γ_max.
    coefs : ndarray of shape (p, d, c)
        W.
    intercepts : ndarray of shape (p, c)
        b.
    n_selected : ndarray of shape (p,)
        Features in use.
    objectives : ndarray of shape (p,)
        Eq. (6).
    optimalities : ndarray of shape (p,)
        See `SFSS`.
    """

    sparsities: Floats
    coefs: Floats
    intercepts: Floats
    n_selected: NDArray[np.intp]
    objectives: Floats
    optimalities: Floats


class SFSS(SelectorMixin, Annotator):
    """Structural feature selection with sparsity: one set of features for all tags, learned from all photos.

    Scores F of the training photos follow their neighbours, equal the labels where these are known, and are regressed
    on the features by W, whose rows are zero but for the features that are needed. It is an annotator and a
    scikit-learn feature selector (``get_support``, ``transform``).

    Parameters
    ----------
    regression_weight : float, default=1.0
        μ of Eq. (6): how closely F and the regression follow each other.
    sparsity : "auto" or float, default="auto"
        γ of Eq. (6) itself; with 0 every feature is used. "auto" takes the best of eight shares of γ_max (see
        `largest_sparsity`) by the mean average precision of ``XW + b`` on labelled photos held out in turn.
    n_neighbors : int, default=15
        k of the neighbour graph.
    unlabeled_pull : float, default=1.0
        The diagonal of U for unknown entries, which pulls their scores to 0. 0 is the choice of flexible manifold
        embedding.
    solver : {"prox", "irls"}, default="prox"
        "prox" reaches exact zeros and is the fast one. "irls" is the paper's reweighting (Algorithm 1) on the full
        matrices: rows become small, not zero; with labels unknown entry by entry it builds a matrix per pattern.
    objective : {"joint", "direct"}, default="joint"
        "joint" is Eq. (6). "direct" is Eq. (3), the same without F: an ablation.
    graph : NeighborGraph or symmetric sparse matrix of shape (n, n), optional
        Graph over the training photos. Default: `tagloom.graph.knn_graph`, union of neighbours, weights 1.
    metric : str, default="euclidean"
        Distance of that graph.
    strategy : {"auto", "plain", "reduced"}, default="auto"
        How "prox" works inside; the result is the same. See Notes.
    ranking : {"propagated", "regression", "auto"}, default="propagated"
        What ``transduction_`` holds: F, or ``XW + b``, by which the paper annotates. "auto" takes the one whose mean
        average precision on labelled photos held out in turn is better, F among equals: ``n_folds`` more solutions.
    n_folds : int, default=5
        Folds of "auto".
    tol : float, default=1e-6
        Wanted ``optimality_``. Features of float32 are multiplied in float32 where ``tol`` is at least 1e-5.
    max_iter : int, default=500
        Most rounds.
    n_threads : int, optional
        Threads of the linear solver. Default: all cores.
    random_state : int, Generator or None, default=0
        For the folds of "auto".

    Attributes
    ----------
    coef_ : ndarray of shape (d, c)
        W.
    intercept_ : ndarray of shape (c,)
        b.
    transduction_ : ndarray of shape (n, c)
        F; known entries are their labels. ``XW + b`` with ``objective="direct"``, or where ``ranking_`` says so.
    ranking_ : {"propagated", "regression"}
        Which of them it is.
    selected_features_ : ndarray of int
        Features whose row of W is not zero.
    feature_scores_ : ndarray of shape (d,)
        Norms of the rows of W.
    sparsity_ : float
        γ as used.
    objective_ : list of float
        Eq. (6), or (3), after each round. It rises by rounding at most: by 1e-12 of its value, 1e-8 where products are
        in float32.
    optimality_ : float
        The certificate: the largest distance, over features, of minus the gradient from the penalty's subdifferential,
        divided by γ (for γ = 0: by γ_max).
    n_iter_ : int
        Rounds; iterations of "irls".
    thresholds_ : ndarray of shape (c,)
        `fit_thresholds` of ``XW + b``, which new photos are compared by.

    Warns
    -----
    UserWarning
        Names the tags (columns) that no photo is known to have, or says that "auto" had nothing to compare.
    ConvergenceWarning
        If ``max_iter`` rounds end above ``tol``.

    Notes
    -----
    Objective, Eq. (6): ``tr(FᵀLF) + tr((F - Y)ᵀU(F - Y)) + μ‖XW + 1bᵀ - F‖² + γ‖W‖₂,₁`` with U infinite on known
    entries: F equals Y there, and the equations of the other entries are solved (no large numbers). With F and b
    eliminated it is a group lasso over the rows of W.

    "reduced" takes the matrix of that group lasso for the features in use, ``μX̃ᵀX̃ - μ²X̃ᵀP̂X̃``, which costs a polynomial
    of the graph for each of them, once for every γ, and no further pass over photos but to check the result. "plain"
    takes ``μX̃ᵀX̃``, the model for fixed F, in rounds: F for the present W (c columns of a sparse system, from where they
    were), then W, with extrapolation; its rate is μ/(pull + μ) without. Labels that are unknown entry by entry, and
    what rounding leaves, need rounds in any case. "auto" estimates the work of both.

    Deviations: known entries are eliminated instead of weighted; labels may be unknown entry by entry; exact zeros by a
    proximal method; a round starts from zero, not at random.

    References
    ----------
    Z. Ma, Y. Yang, F. Nie, J. Uijlings, N. Sebe: Exploiting the entire feature space with sparsity for automatic image
    annotation, ACM Multimedia 2011.
    """

    _accepts_sparse = True

    _parameter_constraints = COMMON | {
        "regression_weight": [POSITIVE],
        "sparsity": [OneOf("auto"), NOT_NEGATIVE],
        "unlabeled_pull": [NOT_NEGATIVE],
        "solver": [OneOf("prox", "irls")],
        "objective": [OneOf("joint", "direct")],
        "strategy": [OneOf("auto", "plain", "reduced")],
        "ranking": [OneOf("propagated", "regression", "auto")],
        "n_folds": [FOLDS],
    }

    def __init__(
        self,
        *,
        regression_weight: float = 1.0,
        sparsity: float | Literal["auto"] = "auto",
        n_neighbors: int = 15,
        unlabeled_pull: float = 1.0,
        solver: Literal["prox", "irls"] = "prox",
        objective: Literal["joint", "direct"] = "joint",
        graph: Any = None,
        metric: Any = "euclidean",
        strategy: Literal["auto", "plain", "reduced"] = "auto",
        ranking: Literal["propagated", "regression", "auto"] = "propagated",
        n_folds: int = 5,
        tol: float = 1e-6,
        max_iter: int = 500,
        n_threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.regression_weight = regression_weight
        self.sparsity = sparsity
        self.n_neighbors = n_neighbors
        self.unlabeled_pull = unlabeled_pull
        self.solver = solver
        self.objective = objective
        self.graph = graph
        self.metric = metric
        self.strategy = strategy
        self.ranking = ranking
        self.n_folds = n_folds
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.random_state = random_state

    def largest_sparsity(self, X: Any, Y: Any) -> float:
        """Return γ_max, the smallest γ for which no feature is selected."""
        X, Y = self._check_both(X, Y)
        graph, features = self._graph_of(X), self._features(X)
        if self.objective == "direct":
            return L21(1.0).smallest_zero(2.0 * direct_quadratic(features, graph, Y, self.regression_weight).B)
        return self._problem(features, graph, Y).largest_strength()

    def sparsity_path(self, X: Any, Y: Any, *, n_points: int = 20, smallest: float = 0.01) -> SparsityPath:
        """Solve for γ from γ_max down to ``smallest · γ_max``, each from the solution before.

        Parameters
        ----------
        X, Y
            As for ``fit``.
        n_points : int, default=20
            Number of γ, on a logarithmic scale.
        smallest : float, default=0.01
            The last γ as a share of γ_max.
        """
        if n_points < 2 or not 0 < smallest < 1:
            raise InvalidInputError(
                f"n_points must be at least 2 and smallest between 0 and 1, got {n_points!r} and {smallest!r}"
            )
        if self.objective != "joint" or self.solver != "prox":
            raise InvalidInputError('sparsity_path is for objective="joint" and solver="prox"')
        X, Y = self._check_both(X, Y)
        features = self._features(X)
        problem = self._problem(features, self._graph_of(X), Y, n_strengths=n_points)
        shares = np.geomspace(1.0, smallest, n_points)
        points = list(walk(problem, shares, self.tol, self.max_iter))
        return SparsityPath(
            sparsities=problem.largest_strength() * shares,
            coefs=np.array([point.W for point in points]),
            intercepts=np.array([point.mean - features.mean @ point.W for point in points]),
            n_selected=np.array([int(point.W.any(axis=1).sum()) for point in points]),
            objectives=np.array([point.objective for point in points]),
            optimalities=np.array([point.optimality for point in points]),
        )

    def selected_by_group(self, groups: FeatureGroups) -> dict[str, int]:
        """Return how many features of each group are selected, ``{name: count}``.

        Parameters
        ----------
        groups : FeatureGroups
            The groups of the columns of X.
        """
        check_is_fitted(self)
        if groups.n_columns != self.feature_scores_.size:
            raise InvalidInputError(
                f"groups must have one column for each feature: expected {self.feature_scores_.size}, got "
                f"{groups.n_columns}"
            )
        counts = np.bincount(groups.labels[self.selected_features_], minlength=len(groups.names))
        return dict(zip(groups.names, counts.tolist(), strict=True))

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        warn_without_positives(Y, "their scores say nothing")
        graph, features = self._graph_of(X), self._features(X)
        if self.objective == "direct":
            self._fit_direct(features, graph, Y)
        else:
            self._fit_joint(features, graph, Y)
        self.feature_scores_: Floats = np.linalg.norm(self.coef_, axis=1)
        self.selected_features_: NDArray[np.intp] = np.flatnonzero(self.feature_scores_ > 0)
        rows = np.flatnonzero(labeled_rows(Y))
        self.thresholds_ = fit_thresholds(self._decision_function(X[rows]), Y[rows])

    def _fit_joint(self, features: CentredFeatures, graph: NeighborGraph, Y: LabelMatrix) -> None:
        problem = self._problem(features, graph, Y)
        self.sparsity_ = self._choose(problem, graph, Y) if self.sparsity == "auto" else float(self.sparsity)
        if self.sparsity_ > 0 and self.solver == "prox":
            solution = problem.solve(self.sparsity_, tol=self.tol, max_iter=self.max_iter)
        else:
            solution = self._solve_explicitly(problem, Y)
        self.coef_, self.objective_ = solution.W, solution.objective
        self.optimality_, self.n_iter_ = solution.optimality, solution.n_iter
        self.transduction_ = problem.system.all_rows(solution.scores)
        self.intercept_: Floats = self.transduction_.mean(axis=0) - features.mean @ self.coef_  # Eq. (7)
        self.ranking_ = self._choose_ranking(problem, graph, Y) if self.ranking == "auto" else self.ranking
        if self.ranking_ == "regression":
            self.transduction_ = features.times(self.coef_) + (self.intercept_ + features.mean @ self.coef_)

    def _solve_explicitly(self, problem: JointProblem, Y: LabelMatrix) -> JointSolution:
        """Solve with the full matrices of Eq. (14): Algorithm 1, or no penalty at all."""
        zero = problem.at_zero(1e-10)
        quadratic = joint_quadratic(problem.features, problem.system, Y, -0.5 * zero.gradient, zero.objective)
        if self.sparsity_ == 0:
            W = least_norm(quadratic)
            history = [quadratic.value(W)]
        else:
            W, history = reweighted(quadratic, self.sparsity_, tol=1e-3 * self.tol, max_iter=10 * self.max_iter)
        scores, optimality = self._certify(problem, W, zero.scores)
        return JointSolution(W, scores, history, optimality, len(history))

    def _certify(self, problem: JointProblem, W: Floats, scores: Scores) -> tuple[Scores, float]:
        """Return F for W and the optimality there."""
        regression = problem.features.times(W)
        for _ in range(4):
            scores = problem.system.improve(scores, regression, 1e-3)
        found = problem.look(W, scores, regression, L21(self.sparsity_))
        scale = self.sparsity_ or problem.largest_strength() or 1.0
        return scores, float(found.distances.max(initial=0.0)) / scale

    def _fit_direct(self, features: CentredFeatures, graph: NeighborGraph, Y: LabelMatrix) -> None:
        """Fit Eq. (3)."""
        quadratic = direct_quadratic(features, graph, Y, self.regression_weight)
        largest = L21(1.0).smallest_zero(2.0 * quadratic.B)
        is_open = self.sparsity == "auto"
        self.sparsity_ = self._choose_direct(features, graph, Y, largest) if is_open else float(self.sparsity)
        penalty = L21(self.sparsity_)
        if self.sparsity_ == 0:
            self.coef_ = least_norm(quadratic)
            self.objective_ = [quadratic.value(self.coef_)]
        elif self.solver == "irls":
            self.coef_, self.objective_ = reweighted(
                quadratic, self.sparsity_, tol=1e-3 * self.tol, max_iter=10 * self.max_iter
            )
        else:
            self.coef_, self.objective_ = self._solve_direct(quadratic, self.sparsity_, self.tol)
        self.n_iter_ = len(self.objective_)
        distances = penalty.subdifferential_distance(self.coef_, quadratic.gradient(self.coef_))
        self.optimality_ = float(distances.max(initial=0.0)) / (self.sparsity_ or largest or 1.0)
        regression = features.times(self.coef_)
        self.intercept_ = direct_intercept(features.mean, regression, self.coef_, Y)
        self.transduction_ = regression + (self.intercept_ + features.mean @ self.coef_)
        self.ranking_ = "regression"

    def _choose_ranking(self, problem: JointProblem, graph: NeighborGraph, Y: LabelMatrix) -> str:
        """Return which scores rank held-out labelled photos better at γ."""
        figures = []
        for labels, held_out in self._folds_of(Y):
            fold = self._problem(problem.features, graph, labels, gram=problem.gram)
            if self.sparsity_ > 0 and self.solver == "prox":
                found = fold.solve(self.sparsity_, tol=max(self.tol, CHOOSING_TOLERANCE), max_iter=self.max_iter)
            else:
                found = self._solve_explicitly(fold, labels)
            both = fold.system.all_rows(found.scores)[held_out], problem.features.times_on(held_out, found.W)
            with contextlib.suppress(NothingToScoreError):
                figures.append([mean_average_precision(Y[held_out], scores) for scores in both])
        if not figures:
            return "propagated"
        propagated, regression = np.mean(figures, axis=0)
        return "regression" if regression > propagated else "propagated"

    def _folds_of(self, Y: LabelMatrix) -> Iterator[tuple[LabelMatrix, NDArray[np.intp]]]:
        """Yield labels with a fold of the labelled photos hidden, and that fold; none where there are too few."""
        with contextlib.suppress(NothingToScoreError):
            yield from self._folds().split_labels(Y)

    def _choose(self, problem: JointProblem, graph: NeighborGraph, Y: LabelMatrix) -> float:
        """Return γ of Eq. (6) by held-out labels."""

        def solve(labels: LabelMatrix) -> Iterator[Floats]:
            fold = self._problem(problem.features, graph, labels, n_strengths=len(SHARES), gram=problem.gram)
            for point in walk(fold, SHARES, max(self.tol, CHOOSING_TOLERANCE), self.max_iter):
                yield point.W

        return problem.largest_strength() * choose_share(problem.features, Y, self._folds(), solve)

    def _choose_direct(self, features: CentredFeatures, graph: NeighborGraph, Y: LabelMatrix, largest: float) -> float:
        """Return γ of Eq. (3) by held-out labels."""

        def solve(labels: LabelMatrix) -> Iterator[Floats]:
            quadratic = direct_quadratic(features, graph, labels, self.regression_weight)
            most, W = L21(1.0).smallest_zero(2.0 * quadratic.B), np.zeros(quadratic.shape)
            for share in SHARES:
                W, _ = self._solve_direct(quadratic, share * most, max(self.tol, CHOOSING_TOLERANCE), W)
                yield W

        return largest * choose_share(features, Y, self._folds(), solve)

    def _solve_direct(
        self, quadratic: ExplicitQuadratic, strength: float, tol: float, start: Floats | None = None
    ) -> tuple[Floats, list[float]]:
        """Minimise Eq. (3) by "prox"; return W and the objective."""
        largest = L21(1.0).smallest_zero(2.0 * quadratic.B) or 1.0
        aim = max(tol * strength / largest, 1e-15)
        result = solve_penalized(quadratic, L21(strength), W0=start, tol=aim, max_iter=10 * self.max_iter)
        return np.asarray(result.coef, dtype=np.float64), result.objective

    def _folds(self) -> LabeledKFold:
        return LabeledKFold(self.n_folds, random_state=self.random_state)

    def _decision_function(self, X: Any) -> Floats:
        scores = np.asarray(X @ self.coef_, dtype=np.float64)
        scores += self.intercept_
        return scores

    def _get_support_mask(self) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.feature_scores_ > 0
        return mask

    def _features(self, X: Any) -> CentredFeatures:
        check_size(X, in_single=self.solver == "prox" and self.objective == "joint")
        single = X.dtype == np.float32 and self.tol >= 1e-5 and self.solver == "prox" and self.objective == "joint"
        return CentredFeatures(X, np.float32 if single else np.float64, self.n_threads)

    def _problem(self, features: CentredFeatures, graph: NeighborGraph, Y: LabelMatrix, **more: Any) -> JointProblem:
        system = ScoreSystem(graph, Y, float(self.regression_weight), float(self.unlabeled_pull), self.n_threads)
        return JointProblem(features, system, strategy=self.strategy, **more)

    def _graph_of(self, X: Any) -> NeighborGraph:
        """Build the graph, or check the one that was given."""
        if self.graph is None:
            features = filled(X, "build a graph and give it as graph=")
            return knn_graph(features, self.n_neighbors, metric=self.metric, n_threads=self.n_threads)
        return check_graph(self.graph, X.shape[0])

    def _check_both(self, X: Any, Y: Any) -> tuple[Any, LabelMatrix]:
        X = self._check_X(X, reset=True)
        return X, check_labels(Y, n_rows=X.shape[0])
