"""Sparse logistic regression with the regularisation parameter integrated out: no parameter to tune."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Floats, LabelMatrix
from tagloom.methods.shared import LogisticTask, SelectingAnnotator, top_features, warn_unless_converged
from tagloom.solvers.groups import ColumnGroupL2
from tagloom.solvers.logistic import GroupLogistic

__all__ = ["SBMLR"]


# The regularisation parameter of l1 logistic regression that equals N/Σ|w|, for many tags at once.

#: Ratio of neighbouring α of the first look along the path.
RATIO = 0.8
#: The look ends where α is below this share of α_max …
FLOOR = 1e-3
#: … or, below a quarter of α_max, where α Σ|w| is less than this share of N, before and after a root was passed:
#: further down it only falls behind.
HOPELESS, PASSED = 0.5, 0.8
#: Relative width of the bracket of α at which it is done.
WIDTH = 1e-6
#: Optimality residual of the first look, which only has to find brackets.
ROUGH = 1e-3


class BayesianL1:
    """Search of the last root of ``α Σ|w(α)| - N(α)`` along the l1 path (see `SBMLR`).

    Parameters
    ----------
    problem : GroupLogistic
        Every column a group of weight 1; its strengths are α/n.
    largest : array of shape (c,)
        The strengths at which nothing is used.
    n_known : array of shape (c,)
        n of each tag.
    tol : float
        Optimality residual of the end.
    steps : int
        Most Newton steps for one α.

    Attributes
    ----------
    coef, intercept : arrays of shape (d, c) and (c,)
        The solutions at ``alpha``.
    alpha : array of shape (c,)
        Infinite where no feature is supported.
    optimality : array of shape (c,)
        See `GroupLogisticResult`.
    n_values : int
        Values of α looked at.
    """

    def __init__(self, problem: GroupLogistic, largest: Floats, n_known: NDArray[np.intp], *, tol: float, steps: int):
        self.problem, self.n_known, self.tol, self.steps = problem, n_known, tol, steps
        self.alpha_max: Floats = largest * n_known
        d, c = problem.shape
        self.coef, self.intercept = np.zeros((d, c)), problem.base_intercept.copy()
        self.alpha: Floats = np.full(c, np.inf)
        self.optimality, self.n_values = np.zeros(c), 0
        # α above the root with its excess and count, and α below it.
        self.upper, self.lower = np.full(c, np.nan), np.full(c, np.nan)
        self.upper_excess, self.lower_excess = np.full(c, np.nan), np.full(c, np.nan)
        self.upper_count, self.lower_count = np.zeros(c, dtype=np.intp), np.zeros(c, dtype=np.intp)

    def run(self) -> None:
        """Find the root of every tag."""
        found = self._bracket()
        self._narrow(found)
        if found.size:
            alpha = self.upper[found]
            start = (self.coef[:, found], self.intercept[found])
            result = self.problem.solve(
                alpha / self.n_known[found], start=start, tags=found, tol=self.tol, max_iter=self.steps
            )
            self.coef[:, found], self.intercept[found] = result.coef, result.intercept
            self.alpha[found], self.optimality[found] = alpha, result.optimality

    def objective(self) -> Floats:
        """Return ``NLL + N log Σ|w|`` of each tag; N log Σ|w| is 0 where N is."""
        d = self.problem.shape[0]
        scores = self.problem.columns[:d].T @ self.coef + self.intercept
        losses = np.logaddexp(0.0, scores) - self.problem.labels * scores
        total: Floats = np.einsum("it,it->t", self.problem.shares, losses) * self.n_known
        norms = np.abs(self.coef).sum(axis=0)
        return total + (self.coef != 0).sum(axis=0) * np.log(np.where(norms > 0, norms, 1.0))

    def _look(
        self, tags: NDArray[np.intp], alpha: Floats, start: tuple[Floats, Floats], tol: float
    ) -> tuple[Floats, Floats, Floats, NDArray[np.intp]]:
        """Return w and b at α, ``α Σ|w| - N`` and N."""
        strengths = alpha / self.n_known[tags]
        result = self.problem.solve(strengths, start=start, tags=tags, tol=tol, max_iter=self.steps)
        self.n_values += 1
        count = (result.coef != 0).sum(axis=0)
        return result.coef, result.intercept, alpha * np.abs(result.coef).sum(axis=0) - count, count

    def _bracket(self) -> NDArray[np.intp]:
        """Go down the path and keep each tag's last change from plus to minus; return the tags that have one."""
        live = np.arange(self.alpha.size)
        coef, intercept = self.coef.copy(), self.intercept.copy()
        share, above = 1.0, np.full(live.size, -1.0)
        while live.size and share > FLOOR:
            share *= RATIO
            alpha = share * self.alpha_max[live]
            before = (coef[:, live], intercept[live])
            W, b, excess, count = self._look(live, alpha, before, ROUGH)
            crossed = (above[live] > 0) & (excess <= 0)
            tags = live[crossed]
            self.lower[tags], self.lower_excess[tags] = alpha[crossed], excess[crossed]
            self.lower_count[tags] = count[crossed]
            # What belongs to the upper end stays as the start of the narrowing.
            self.coef[:, tags], self.intercept[tags] = before[0][:, crossed], before[1][crossed]
            self.upper[tags] = alpha[crossed] / RATIO
            self.upper_excess[tags] = above[tags]
            self.upper_count[tags] = (self.coef[:, tags] != 0).sum(axis=0)
            coef[:, live], intercept[live], above[live] = W, b, excess
            least = np.where(np.isnan(self.lower[live]), HOPELESS, PASSED)
            ended = (share < 0.25) & (excess + count < least * count)
            live = live[~ended]
        return np.flatnonzero(~np.isnan(self.lower))

    def _narrow(self, tags: NDArray[np.intp]) -> None:
        """Halve the brackets, or go where a straight line through both ends is zero while N is the same there."""
        live, turn = tags, 0
        while live.size:
            upper, lower = self.upper[live], self.lower[live]
            high, low = self.upper_excess[live], self.lower_excess[live]
            middle = np.sqrt(upper * lower)
            line = (lower * high - upper * low) / (high - low)
            smooth = (self.upper_count[live] == self.lower_count[live]) & (turn % 3 != 2)
            alpha = np.where(smooth, np.clip(line, lower, upper), middle)
            start = (self.coef[:, live], self.intercept[live])
            W, b, excess, count = self._look(live, alpha, start, min(self.tol, WIDTH))
            plus = excess > 0
            for tag_set, place, ends in (
                (live[plus], plus, (self.upper, self.upper_excess, self.upper_count)),
                (live[~plus], ~plus, (self.lower, self.lower_excess, self.lower_count)),
            ):
                for array, values in zip(ends, (alpha, excess, count), strict=True):
                    array[tag_set] = values[place]
            self.coef[:, live[plus]], self.intercept[live[plus]] = W[:, plus], b[plus]
            narrow = self.upper[live] - self.lower[live] <= WIDTH * self.upper[live]
            exact = np.abs(excess) <= WIDTH * count
            # An exact root from below serves as well as one from above.
            self.upper[live[exact]] = alpha[exact]
            self.coef[:, live[exact]], self.intercept[live[exact]] = W[:, exact], b[exact]
            live, turn = live[~(narrow | exact)], turn + 1


class SBMLR(SelectingAnnotator):
    """Sparse logistic regression with a Bayesian l1 penalty that needs no tuning.

    Parameters
    ----------
    n_features : int or None, default=None
        Keep at most so many of the features in use, those with the largest ``feature_scores_``. None keeps all.
    refit : bool, default=True
        Score photos by regularised least squares on the features selected for any tag, the protocol of paper 000.
        False scores with the sparse logistic models themselves.
    regularization : "loo" or float, default="loo"
        λ of that least squares, see `RegularizedLeastSquares`.
    standardize : bool, default=True
        Divide columns by their standard deviation on the labelled photos first, so that one Laplace prior suits all of
        them; coefficients are for the features as given.
    tol : float, default=1e-6
        Largest optimality residual of a tag at which it is done.
    max_iter : int, default=100
        Most Newton steps for one value of α.

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (d, c) and (c,)
        What scores photos; see ``refit``.
    sparse_coef_, sparse_intercept_ : ndarrays of shape (d, c) and (c,)
        The sparse logistic models.
    alpha_ : ndarray of shape (c,)
        α at the end: N/Σ|w|; infinite where no feature is supported.
    feature_scores_ : ndarray of shape (d,)
        Norm over tags of the coefficients (of standardised features if ``standardize``).
    selected_features_ : ndarray of int
        Features in use for any tag, or the best of them, in ascending order.
    optimality_ : float
        Largest violation, over tags and features, of the optimality conditions of l1 logistic regression at the final
        α, divided by α.
    objective_ : list of float
        ``NLL + N log Σ|w|`` summed over tags.
    n_iter_ : int
        Values of α looked at.

    Notes
    -----
    Per tag ``NLL + N log Σ_j|w_j|``, N the number of non-zero w_j: a Laplace prior with its scale integrated out.
    A stationary point is a solution of ``NLL + α Σ|w|`` with ``α = N/Σ|w|``. The intercept is not penalised.

    α is found as the last root, as α falls along the l1 path, of ``α Σ|w(α)| - N(α)`` where that changes from plus to
    minus: the end that the iteration ``α ← N/Σ|w|`` is drawn to from small α. Where N jumps over the root as a feature
    enters, no α satisfies the equation, and the coordinate-wise algorithm adds and drops that feature for ever; here α
    stops at the value where it enters, so that ``N ≤ α Σ|w| ≤ N + (features about to enter)``.

    The path is looked at in steps of 0.8 down to α_max/1000, less far where α Σ|w| has fallen well below N (the rule is
    in `tagloom.methods.baselines.sbmlr`): roots between two looks or beyond the end are not seen.

    Separable data have finite answers: as α goes to 0, α Σ|w| does too while N ≥ 1, so the root lies above 0. Where
    α Σ|w| exceeds N nowhere (a few labelled photos), not even one feature is supported: w = 0, ``alpha_`` infinite, and
    the sparse model's score is constant. So it is for a tag without a known positive or without a known negative, which
    a warning names.

    Deviations: one-vs-rest in place of a multinomial model, as tags are not exclusive; all tags at once by a proximal
    Newton method for given α in place of coordinate steps with α refreshed after each. On small problems those steps
    were seen to hover about the same α.

    References
    ----------
    G. C. Cawley, N. L. C. Talbot, M. Girolami, "Sparse multinomial logistic regression via Bayesian L1
    regularisation", NIPS 2006.
    """

    def __init__(
        self,
        *,
        n_features: int | None = None,
        refit: bool = True,
        regularization: float | Literal["loo"] = "loo",
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> None:
        self.n_features = n_features
        self.refit = refit
        self.regularization = regularization
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        d = X.shape[1]
        task = LogisticTask(X, Y, ColumnGroupL2(np.arange(d), np.ones(d)), standardize=self.standardize)
        task.warn_constant_tags("SBMLR")
        coef, intercept = np.zeros((d, task.tags.size)), task.base[task.tags]
        self.alpha_ = np.full(Y.shape[1], np.inf)
        self.objective_, self.optimality_, self.n_iter_ = [0.0], 0.0, 0
        if task.problem is not None:
            search = BayesianL1(task.problem, task.largest, task.n_known[task.tags], tol=self.tol, steps=self.max_iter)
            search.run()
            coef, intercept = search.coef, search.intercept
            self.alpha_[task.tags] = search.alpha
            self.optimality_, self.n_iter_ = float(search.optimality.max(initial=0.0)), search.n_values
            self.objective_ = [float(search.objective().sum())]
            warn_unless_converged("SBMLR", self.optimality_, self.tol, self.max_iter)
        self.feature_scores_ = np.sqrt(np.square(coef).sum(axis=1))
        self.sparse_coef_, self.sparse_intercept_ = task.embed(coef, intercept)
        features = self._select()
        if self.refit:
            self._learn(X, Y, features)
            return
        self.selected_features_ = np.sort(features)
        self.coef_, self.intercept_ = np.zeros_like(self.sparse_coef_), self.sparse_intercept_
        self.coef_[features] = self.sparse_coef_[features]
        self.transduction_ = self._decision_function(X)

    def _select(self) -> NDArray[np.intp]:
        n_used = int((self.feature_scores_ > 0).sum())
        return top_features(self.feature_scores_, n_used if self.n_features is None else min(n_used, self.n_features))
