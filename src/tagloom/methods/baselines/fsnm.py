"""FSNM: feature selection by joint l2,1 norms of loss and penalty, then regularised least squares."""

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import POSITIVE, UNKNOWN, Floats, LabelMatrix, OneOf, check_labels, labeled_rows
from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.shared import (
    SelectingAnnotator,
    best_first,
    fold_precision,
    label_folds,
    linear_scores,
    tag_shares,
    top_features,
)
from tagloom.solvers import L21

__all__ = ["FSNM", "JointNorms", "JointNormsPath"]


# Joint l2,1 norms: the sum of the rows' residual norms plus the sum of the coefficients' row norms.

#: Over-relaxation of the splitting, in (0, 2).
RELAXATION = 1.6
#: Steps the acceleration remembers, the share of the trace that keeps its small system solvable, how large the
#: remaining change may be at an accelerated state relative to the one before, and how far away that state may lie.
MEMORY = 12
RIDGE = 1e-10
SAFEGUARD = 1.0
REACH = 100.0
#: How far the step may leave its first value in either direction.
STEP_RANGE = 100.0
#: Steps between two looks at the duality gap.
PERIOD = 10
#: Share of the largest useful strength above which features and residuals are weighted alike (see `JointNorms.solve`).
BALANCE = 0.1
#: Objective per row, relative to labels 0 and 1, below which a gap is rounding.
NOTHING = 1e-9
#: Entries of X up to which the simplex method is the quicker one for a single tag.
SIMPLEX_ENTRIES = 200_000
#: Reweighted means for the intercept of the empty model.
MEDIAN_STEPS = 2000


@dataclass(frozen=True)
class JointNormsResult:
    """What `JointNorms.solve` found.

    Attributes
    ----------
    coef : ndarray of shape (d, c)
        W, with exact zero rows.
    intercept : ndarray of shape (c,)
        b.
    objective : list of float
        Objective of the best W so far, each time it was improved.
    bound : float
        Largest value of the dual found: no W has a smaller objective.
    gap : float
        (objective - bound) / objective.
    n_iter : int
        Steps of the splitting.
    fitted, dual : ndarray of shape (m, c)
        Scores and dual variables at the end, a start for a solution nearby.
    step : float
        Weight of the splitting at the end.
    """

    coef: Floats
    intercept: Floats
    objective: list[float] = field(repr=False)
    bound: float
    gap: float
    n_iter: int
    fitted: Floats = field(repr=False)
    dual: Floats = field(repr=False)
    step: float


class JointNorms:
    """``min Σ_i ‖(Y - XW - 1bᵀ)_i‖ + γ Σ_j ‖w_j‖``, residual norms over known entries.

    Parameters
    ----------
    X : array of shape (m, d)
        Labelled rows.
    Y : array of shape (m, c)
        Labels.
    known : bool array of shape (m, c)
        Which entries of Y count; every column has one.
    fit_intercept : bool
        Whether there is a b; it is not penalised.

    Notes
    -----
    The dual is ``max ⟨Z, Y⟩`` subject to ``‖Z_i‖ ≤ 1``, ``‖(XᵀZ)_j‖ ≤ γ``, Z = 0 at unknown entries and, with an
    intercept, ``1ᵀZ = 0``.
    """

    def __init__(self, X: NDArray[Any], Y: NDArray[Any], known: NDArray[np.bool_], *, fit_intercept: bool) -> None:
        self.fit_intercept = fit_intercept
        self.known = known
        self.Y: Floats = np.where(known, Y, 0.0)
        self.X: Floats = X.astype(np.float64)
        # An intercept makes the problem indifferent to the origin of X, and a centred X splits off its projection.
        self.x_mean: Floats = self.X.mean(axis=0) if fit_intercept else np.zeros(X.shape[1])
        self.X -= self.x_mean
        # What centring leaves of a constant column is rounding, not a feature.
        rounding = 8.0 * np.finfo(np.float64).eps * np.abs(self.x_mean)
        self.X[:, np.abs(self.X).max(axis=0) <= rounding] = 0.0
        self.is_wide = self.X.shape[1] > self.X.shape[0]
        self.gram: Floats = self.X @ self.X.T if self.is_wide else self.X.T @ self.X
        self.column_weight = float(np.trace(self.gram)) / self.X.shape[1] or 1.0
        self.counts = known.sum(axis=0)
        self.largest_strength = self._largest_strength()

    def residuals(self, fitted: Floats) -> Floats:
        """Return ``Y - fitted``, zero at unknown entries."""
        return np.where(self.known, self.Y - fitted, 0.0)

    def certify(self, coef: Floats, intercept: Floats, dual: Floats, strength: float) -> tuple[float, float]:
        """Return the objective at ``coef`` and the value of ``dual`` after it was made feasible."""
        objective = _row_norms(self.residuals(self.X @ coef + intercept)).sum() + strength * _row_norms(coef).sum()
        if self.fit_intercept:
            dual = np.where(self.known, dual - dual.sum(axis=0) / self.counts, 0.0)
        excess = max(1.0, _row_norms(dual).max(), _row_norms(self.X.T @ dual).max(initial=0.0) / strength)
        return float(objective), float(np.vdot(dual, self.Y) / excess)

    def solve(
        self, strength: float, *, tol: float, max_iter: int, start: JointNormsResult | None = None
    ) -> JointNormsResult:
        """Minimise until the relative gap is at most ``tol``.

        A single tag is a linear program, which HiGHS solves exactly. Several tags: Douglas-Rachford splitting with
        Anderson acceleration. Fitted values and coefficients are split from the linear relation between them: each
        step shortens the rows of both (the two proximal maps are those of `L21`) and projects onto
        ``{(XW + 1bᵀ, W)}``, one Cholesky factorisation of the smaller Gram matrix for all steps. In the projection
        coefficients weigh as much as their features do, times ``min(1, γ / (BALANCE · γ_max))``: for small γ the
        coefficients have to move far.
        """
        result = self._solve_program(strength) if self.Y.shape[1] == 1 else None
        if result is None:
            result = self._split(strength, tol, max_iter, start)
        if result.gap > tol:
            warnings.warn(
                f"the joint l2,1 problem was left at a relative duality gap of {result.gap:.2g} after {result.n_iter} "
                f"steps, above tol={tol:g}. Raise max_iter or tol, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return result

    def _split(self, strength: float, tol: float, max_iter: int, start: JointNormsResult | None) -> JointNormsResult:
        share = strength / (BALANCE * self.largest_strength) if self.largest_strength > 0.0 else 1.0
        weight = self.column_weight * float(np.clip(share, 1e-6, 1.0))
        search = _Splitting(self, strength, weight, start)
        search.run(tol, max_iter)
        return search.result()

    def _solve_program(self, strength: float) -> JointNormsResult | None:
        """Solve the dual of a single tag's problem, whose multipliers are W and b; None where HiGHS gives up."""
        m, d = self.X.shape
        with_intercept = {"A_eq": np.ones((1, m)), "b_eq": [0.0]} if self.fit_intercept else {}
        found = optimize.linprog(
            -self.Y[:, 0],
            A_ub=np.concatenate([self.X.T, -self.X.T]),
            b_ub=np.full(2 * d, strength),
            bounds=(-1.0, 1.0),
            method="highs-ds" if self.X.size <= SIMPLEX_ENTRIES else "highs-ipm",
            **with_intercept,
        )
        if found.status != 0:
            return None
        coef = (found.ineqlin.marginals[d:] - found.ineqlin.marginals[:d])[:, None]
        intercept = -found.eqlin.marginals if self.fit_intercept else np.zeros(1)
        dual = found.x[:, None]
        objective, bound = self.certify(coef, intercept, dual, strength)
        gap = relative_gap(objective, bound, m)
        fitted, offset = self.X @ coef + intercept, intercept - self.x_mean @ coef
        return JointNormsResult(coef, offset, [objective], bound, gap, int(found.nit), fitted, dual, 1.0)

    def _largest_strength(self) -> float:
        """Return a γ from which on W = 0 is a solution, the smallest one unless a row equals the median.

        Without features the best intercept is the rows' geometric median, found by reweighted means.
        """
        residuals = self.residuals(np.zeros_like(self.Y))
        smallest = 1e-9 * max(1.0, float(_row_norms(residuals).max()))
        if not self.fit_intercept:
            dual = residuals / np.maximum(_row_norms(residuals), smallest)[:, None]
            return float(_row_norms(self.X.T @ dual).max(initial=0.0))
        intercept = self.Y.sum(axis=0) / self.counts
        smoothing = 1.0
        for _ in range(MEDIAN_STEPS):
            norms = _row_norms(self.residuals(np.broadcast_to(intercept, self.Y.shape)))
            weights = 1.0 / np.maximum(norms, smoothing)
            moved = weights @ self.Y / (weights @ self.known)
            change, intercept = float(np.abs(moved - intercept).max()), moved
            smoothing = max(smallest, min(smoothing, change))
            if change <= smallest:
                break
        dual = weights[:, None] * self.residuals(np.broadcast_to(intercept, self.Y.shape))
        return float(_row_norms(self.X.T @ dual).max(initial=0.0))


class _Splitting:
    """The iteration on one stacked state: fitted values above, weighted coefficients below."""

    def __init__(self, problem: JointNorms, strength: float, weight: float, start: JointNormsResult | None) -> None:
        self.problem, self.strength, self.root = problem, strength, float(np.sqrt(weight))
        self.m, self.c = problem.Y.shape
        self.X = problem.X / self.root
        gram = problem.gram / weight
        gram[np.diag_indices(len(gram))] += 1.0
        self.factor = linalg.cho_factor(gram, overwrite_a=True, check_finite=False)
        self.loss, self.penalty = L21(1.0), L21(strength / self.root)
        self.objective: list[float] = []
        self.bound, self.n_iter = -np.inf, 0
        self.coef, self.intercept = np.zeros((self.X.shape[1], self.c)), np.zeros(self.c)
        self._begin(start)
        self.acceleration = _Anderson(self.state.size)

    def _begin(self, start: JointNormsResult | None) -> None:
        """Put the state where fitted values, coefficients and dual variables of the start are those of a step."""
        if start is None:
            problem = self.problem
            mean = problem.Y.sum(axis=0) / problem.counts if problem.fit_intercept else np.zeros(self.c)
            fitted, coef = np.tile(mean, (self.m, 1)), np.zeros_like(self.coef)
            dual = np.zeros_like(fitted)
            self.step = 1.0 / max(float(_row_norms(problem.residuals(fitted)).mean()), 1e-3)
        else:
            fitted, coef, dual, self.step = start.fitted, start.coef, start.dual, start.step
        self.first_step = self.step
        above, below = fitted - dual / self.step, self.root * coef + self.X.T @ dual / self.step
        self.state = np.concatenate([above, below])
        self.shortened = np.concatenate([fitted, self.root * coef])

    def run(self, tol: float, max_iter: int) -> None:
        """Step until the gap is small enough."""
        next_balance = 2 * PERIOD
        while self.n_iter < max_iter:
            before = self.shortened
            self._shorten()
            doubled = 2.0 * self.shortened - self.state
            projected, intercept = self._project(doubled)
            change = projected - self.shortened
            self.n_iter += 1
            if self.n_iter == 1 or self.n_iter % PERIOD == 0 or self.n_iter == max_iter:
                self._record(intercept)
                if self.gap() <= tol:
                    break
                if self.n_iter >= next_balance:
                    next_balance = int(1.3 * self.n_iter) + 2 * PERIOD
                    if self._rebalance(change, self.shortened - before):
                        continue
            self.state = self.acceleration.advance(self.state, RELAXATION * change)

    def _shorten(self) -> None:
        """Apply both proximal maps to the state."""
        above, below = self.state[: self.m], self.state[self.m :]
        residuals = self.problem.residuals(above)
        fitted = above + residuals - self.loss.prox(residuals, 1.0 / self.step)
        self.shortened = np.concatenate([fitted, self.penalty.prox(below, 1.0 / self.step)])

    def _project(self, point: Floats) -> tuple[Floats, Floats]:
        """Return the nearest fitted values and coefficients that belong together, and their intercept."""
        fitted, coef = point[: self.m], point[self.m :]
        intercept = fitted.mean(axis=0) if self.problem.fit_intercept else np.zeros(self.c)
        if self.problem.is_wide:
            pull = linalg.cho_solve(self.factor, fitted - intercept - self.X @ coef, check_finite=False)
            coef = coef + self.X.T @ pull
        else:
            coef = linalg.cho_solve(self.factor, self.X.T @ fitted + coef, check_finite=False)
        return np.concatenate([self.X @ coef + intercept, coef]), intercept

    def _dual(self) -> Floats:
        return self.step * (self.shortened - self.state)[: self.m]

    def _record(self, intercept: Floats) -> None:
        """Keep the present coefficients if they are the best so far, and the present bound likewise."""
        coef = self.shortened[self.m :] / self.root
        objective, bound = self.problem.certify(coef, intercept, self._dual(), self.strength)
        self.bound = max(self.bound, bound)
        if not self.objective or objective < self.objective[-1]:
            self.objective.append(objective)
            self.coef, self.intercept = coef, intercept

    def _rebalance(self, disagreement: Floats, movement: Floats) -> bool:
        """Change the step where one of the two kinds of residual lags behind; the dual variables stay."""
        ratio = np.linalg.norm(disagreement) / max(float(np.linalg.norm(movement)), 1e-300)
        wish = self.step * float(np.clip(np.sqrt(ratio), 0.1, 10.0))
        factor = float(np.clip(wish, self.first_step / STEP_RANGE, self.first_step * STEP_RANGE)) / self.step
        if 2 / 3 < factor < 1.5:
            return False
        self.state = self.shortened + (self.state - self.shortened) / factor
        self.step *= factor
        self.acceleration.forget()
        return True

    def gap(self) -> float:
        """Return the relative duality gap of the best coefficients."""
        return relative_gap(self.objective[-1], self.bound, self.m)

    def result(self) -> JointNormsResult:
        """Return the best coefficients, and the state as a start for a neighbouring problem."""
        return JointNormsResult(
            self.coef,
            self.intercept - self.problem.x_mean @ self.coef,
            self.objective,
            self.bound,
            self.gap(),
            self.n_iter,
            self.shortened[: self.m],
            self._dual(),
            self.step,
        )


class _Anderson:
    """Anderson acceleration of ``z ← z + f(z)``: cancel as much of f as the last steps can explain.

    An accelerated state counts only if ‖f‖ is not larger there than it was; else the plain step is taken in its place
    and the memory dropped. The plain iteration never raises ‖f‖.
    """

    def __init__(self, size: int) -> None:
        self.turns, self.moves = np.empty((2, MEMORY, size))
        self.gram = np.empty((MEMORY, MEMORY))
        self.forget()

    def forget(self) -> None:
        """Start the memory anew."""
        self.last: tuple[Floats, Floats] | None = None
        self.limit = np.inf
        self.n_kept = 0

    def advance(self, state: Floats, change: Floats) -> Floats:
        """Return the next state."""
        size = float(np.linalg.norm(change))
        if self.last is not None and size > self.limit:
            plain = self.last[0]
            self.forget()
            return plain
        plain = state + change
        if self.last is not None:
            self._keep(plain - self.last[0], change - self.last[1])
        self.last, self.limit = (plain, change), np.inf
        n = min(self.n_kept, MEMORY)
        trace = float(np.trace(self.gram[:n, :n]))
        if n < 2 or trace == 0.0:
            return plain
        gram = self.gram[:n, :n] + RIDGE * trace * np.eye(n)
        weights = np.linalg.solve(gram, self.turns[:n] @ change.ravel())
        further = (weights @ self.moves[:n]).reshape(plain.shape)
        if np.linalg.norm(further) > REACH * size:
            return plain
        self.limit = SAFEGUARD * size
        return plain - further

    def _keep(self, move: Floats, turn: Floats) -> None:
        """Put a step in place of the oldest one, and its inner products with the others."""
        place = self.n_kept % MEMORY
        self.moves[place], self.turns[place] = move.ravel(), turn.ravel()
        self.n_kept += 1
        n = min(self.n_kept, MEMORY)
        self.gram[place, :n] = self.gram[:n, place] = self.turns[:n] @ self.turns[place]


def relative_gap(objective: float, bound: float, n_rows: int) -> float:
    """Return the duality gap relative to the objective, or to what counts as none."""
    return max(0.0, objective - bound) / max(objective, NOTHING * n_rows)


def _row_norms(M: Floats) -> Floats:
    norms: Floats = np.sqrt(np.einsum("ij,ij->i", M, M))
    return norms


#: Candidates for γ of "auto", as shares of γ_max.
GRID = np.geomspace(0.5, 0.005, 7)
#: γ over γ_max where there is nothing to choose by.
FALLBACK = 0.1
#: Gap at which candidates are compared: their order does not need more.
ROUGH = 3e-3


@dataclass(frozen=True)
class JointNormsPath:
    """Solutions for several γ, the largest first.

    Attributes
    ----------
    strengths : ndarray of shape (p,)
        γ.
    coef : ndarray of shape (p, d, c)
        W.
    intercept : ndarray of shape (p, c)
        b.
    optimality : ndarray of shape (p,)
        Relative duality gaps.
    """

    strengths: Floats
    coef: Floats
    intercept: Floats
    optimality: Floats

    @property
    def n_selected(self) -> NDArray[np.intp]:
        """Number of features in use at each γ."""
        return np.asarray(self.coef.any(axis=2).sum(axis=1))


class FSNM(SelectingAnnotator):
    """Feature selection by a robust regression with l2,1 norms in loss and penalty, then ridge.

    Parameters
    ----------
    sparsity : "auto" or float, default="auto"
        γ. "auto" takes the best of seven shares of ``sparsity_max_``, 0.5 … 0.005, by the mean average precision on
        held-out labelled rows (`LabeledKFold`); among equals the largest. Where that one selects no feature at all, the
        next smaller one that does.
    n_features : int or None, default=None
        Keep at most so many of the features with a non-zero row, those with the largest norms. None keeps all.
    refit : bool, default=True
        Learn the scores by regularised least squares on the selected features, the protocol of paper 000. False
        scores with the W of the objective itself.
    regularization : "loo" or float, default="loo"
        λ of that least squares, see `RegularizedLeastSquares`.
    fit_intercept : bool, default=True
        Whether the objective has a b, which is not penalised.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=5000
        Most steps.
    n_splits : int, default=5
        Folds of "auto".
    random_state : int, Generator or None, default=0
        For the folds.

    Attributes
    ----------
    coef_ : ndarray of shape (d, c)
        Coefficients of the scores; zero rows for features that are not in use.
    intercept_ : ndarray of shape (c,)
        Added to every score.
    sparse_coef_, sparse_intercept_ : ndarray of shape (d, c) and (c,)
        W and b of the objective.
    feature_scores_ : ndarray of shape (d,)
        Row norms of ``sparse_coef_``.
    selected_features_ : ndarray of int
        The features in use, ascending.
    sparsity_, sparsity_max_ : float
        γ as used; γ from which on no feature is selected.
    objective_ : list of float
        Objective of the best W so far, each time it was improved.
    optimality_ : float
        Relative duality gap of W.
    n_iter_ : int
        Steps.
    candidates_, precision_ : ndarray of shape (7,) or None
        Candidates of "auto" and their mean average precision; None where nothing could be compared (then γ is a tenth
        of ``sparsity_max_``).
    transduction_ : ndarray of shape (n, c)
        Scores of the training rows.
    thresholds_ : ndarray of shape (c,)
        From leave-one-out scores with ``refit``, else from ``transduction_``.

    Notes
    -----
    Objective: ``Σ_i ‖(Y - XW - 1bᵀ)_i‖ + γ Σ_j ‖w_j‖`` over labelled rows i; the norm of a row's residual is that over
    its known tags. Reference: Nie, Huang, Cai and Ding, "Efficient and robust feature selection via joint l2,1-norms
    minimization", NIPS 2010; FSNM is its name in paper 000.

    Certificate: any Z with ``‖Z_i‖ ≤ 1``, ``‖(XᵀZ)_j‖ ≤ γ``, zeros at unknown entries and ``1ᵀZ = 0`` (with an
    intercept) bounds the objective from below by ``⟨Z, Y⟩``.

    A single tag is absolute error with an l1 penalty: rare tags then have no feature at all (the median of the labels
    is 0), so give several tags at once. Where many rows have no tag the same holds for all of them.

    Deviations: Nie et al. append a constant column to X where a bias is wanted and penalise it; here b is free.
    Their reweighting never makes a row zero and slows down as residuals vanish; here zero rows are exact. A group
    lasso for each reweighting of the residuals alone (``benchmarks/speed/fsnm.py``) does as well while no row is fitted
    exactly, and stopped 1 % above the optimum where many are (500 × 500, γ = 0.03 γ_max).
    """

    _parameter_constraints = SelectingAnnotator._parameter_constraints | {"sparsity": [OneOf("auto"), POSITIVE]}

    def __init__(
        self,
        *,
        sparsity: float | Literal["auto"] = "auto",
        n_features: int | None = None,
        refit: bool = True,
        regularization: float | Literal["loo"] = "loo",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_splits: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.sparsity = sparsity
        self.n_features = n_features
        self.refit = refit
        self.regularization = regularization
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.n_splits = n_splits
        self.random_state = random_state

    def sparsity_path(self, X: Any, Y: Any, *, n_strengths: int = 20, smallest: float = 1e-3) -> JointNormsPath:
        """Return solutions from γ_max down to a share of it, each started from the last.

        Parameters
        ----------
        X, Y
            As for ``fit``.
        n_strengths : int, default=20
            How many values of γ, geometric.
        smallest : float, default=1e-3
            The last one as a share of γ_max.
        """
        X = self._check_X(X, reset=True)
        Y = check_labels(Y, n_rows=X.shape[0])
        problem, tags = self._problem(X, Y)
        strengths = (problem.largest_strength or 1.0) * np.geomspace(1.0, smallest, n_strengths)
        solutions = self._path(problem, strengths, self.tol)
        spread = [_spread(solution, tags) for solution in solutions]
        return JointNormsPath(
            strengths,
            np.array([coef for coef, _ in spread]),
            np.array([intercept for _, intercept in spread]),
            np.array([solution.gap for solution in solutions]),
        )

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        problem, tags = self._problem(X, Y)
        self.sparsity_max_ = problem.largest_strength
        self.candidates_: Floats | None = None
        self.precision_: Floats | None = None
        strengths = self._choose(X, Y) if self.sparsity == "auto" else [float(self.sparsity)]
        for strength in strengths:
            solution = problem.solve(strength, tol=self.tol, max_iter=self.max_iter)
            if solution.coef.any():
                break
        self.sparsity_ = strength
        self.sparse_coef_, self.sparse_intercept_ = _spread(solution, tags)
        self.objective_, self.optimality_, self.n_iter_ = solution.objective, solution.gap, solution.n_iter
        self.feature_scores_ = np.linalg.norm(self.sparse_coef_, axis=1)
        features = self._select(self.feature_scores_)
        if self.refit:
            self._learn(X, Y, features)
            return
        self.selected_features_ = np.sort(features)
        self.coef_ = np.zeros_like(self.sparse_coef_)
        self.coef_[features] = self.sparse_coef_[features]
        self.intercept_ = self.sparse_intercept_
        self.transduction_ = self._decision_function(X)

    def _problem(self, X: NDArray[Any], Y: LabelMatrix) -> tuple[JointNorms, NDArray[np.bool_]]:
        """Return the problem of the labelled rows, and which tags it has: those somebody has said anything about."""
        tags: NDArray[np.bool_] = (Y != UNKNOWN).any(axis=0)
        rows = labeled_rows(Y)
        labels = Y[rows][:, tags]
        return JointNorms(X[rows], labels, labels != UNKNOWN, fit_intercept=self.fit_intercept), tags

    def _select(self, norms: Floats) -> NDArray[np.intp]:
        n_used = int(np.count_nonzero(norms))
        return top_features(norms, n_used if self.n_features is None else min(n_used, int(self.n_features)))

    def _path(self, problem: JointNorms, strengths: Floats, tol: float) -> list[JointNormsResult]:
        found: list[JointNormsResult] = []
        for strength in strengths:
            start = found[-1] if found else None
            found.append(problem.solve(float(strength), tol=tol, max_iter=self.max_iter, start=start))
        return found

    def _choose(self, X: NDArray[Any], Y: LabelMatrix) -> list[float]:
        """Compare values of γ, with one warm-started path for each fold; return the best and those below it."""
        scale = self.sparsity_max_ or 1.0
        candidates = self.candidates_ = scale * GRID
        figures = []
        for train, held_out in label_folds(Y, self.n_splits, self.random_state):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores = self._fold_scores(X[train], Y[train], X[held_out], candidates)
            figures.append(np.array([fold_precision(Y[held_out], each) for each in scores]))
        best, self.precision_ = best_first(figures)
        return [FALLBACK * scale] if best is None else [float(strength) for strength in candidates[best:]]

    def _fold_scores(self, X: NDArray[Any], Y: LabelMatrix, judged: NDArray[Any], candidates: Floats) -> list[Floats]:
        problem, tags = self._problem(X, Y)
        scores: list[Floats] = []
        before: NDArray[np.intp] | None = None
        for solution in self._path(problem, candidates, ROUGH):
            coef, intercept = _spread(solution, tags)
            features = np.sort(self._select(np.linalg.norm(coef, axis=1)))
            if self.refit:
                # The same features give the same least squares: nothing to learn again.
                same = before is not None and np.array_equal(features, before)
                scores.append(scores[-1] if same else self._refitted(X, Y, judged, features))
            else:
                scores.append(linear_scores(judged[:, features], coef[features], intercept))
            before = features
        return scores

    def _refitted(self, X: NDArray[Any], Y: LabelMatrix, judged: NDArray[Any], features: NDArray[np.intp]) -> Floats:
        if not len(features):
            return np.tile(tag_shares(Y), (len(judged), 1))
        model = RegularizedLeastSquares(self.regularization).fit(X[:, features], Y)
        return np.asarray(model.decision_function(judged[:, features]))


def _spread(solution: JointNormsResult, tags: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return coefficients and intercept for all tags, zero for those nobody has said anything about."""
    coef, intercept = np.zeros((len(solution.coef), tags.size)), np.zeros(tags.size)
    coef[:, tags], intercept[tags] = solution.coef, solution.intercept
    return coef, intercept
