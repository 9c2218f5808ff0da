"""The regularisation parameter of l1 logistic regression that equals N/Σ|w|, for many tags at once."""

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats
from tagloom.solvers.logistic import GroupLogistic

__all__ = ["BayesianL1"]


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
