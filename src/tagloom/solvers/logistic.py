"""Group lasso with the logistic loss, for all tags at once."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.solvers._model_sets import GroupLayout, ModelSets, choose_sets
from tagloom.solvers.groups.norms import ColumnGroupL2

__all__ = ["GroupLogistic", "GroupLogisticResult"]


#: Groups of a tag's first working set, and how many times those in use later ones have.
FIRST_GROUPS, GROWTH = 10, 1.5
#: Bytes of the columns gathered for the models of several tags.
GATHERED_BYTES = 64 * 2**20
#: How much better than the tag's present violation its model is solved.
MODEL_SHARE = 0.1
#: Share of the predicted decrease that a step has to bring, and how often it is halved before that is given up.
ARMIJO, MAX_HALVINGS = 1e-4, 30
#: Relative difference of two objectives that float64 cannot tell.
ROUNDING = 1e-14


@dataclass(frozen=True)
class GroupLogisticResult:
    """What `GroupLogistic.solve` found.

    Attributes
    ----------
    coef : ndarray of shape (d, c)
        W, with exact zeros.
    intercept : ndarray of shape (c,)
        b.
    objective : list of ndarray of shape (c,)
        The objective of each tag at the start and after each iteration; it rises by rounding at most.
    optimality : ndarray of shape (c,)
        For each tag the largest distance, over groups, of minus the gradient from the penalty's subdifferential,
        divided by ``strength · weight`` of the group. The intercept's gradient is divided by ``strength``.
    n_iter : int
        Newton steps.
    """

    coef: Floats
    intercept: Floats
    objective: list[Floats] = field(repr=False)
    optimality: Floats
    n_iter: int


class GroupLogistic:
    """``Σ_known (1/n_t) log(1 + exp(-y f)) + strength_t Σ_g weight_g ‖W_gt‖`` with ``f = x·w_t + b_t``, for all tags t.

    Parameters
    ----------
    X : array of shape (n, d)
        Features. Centred columns converge faster; the solution's W does not depend on it.
    Y : label matrix of shape (n, c)
        1, 0 or -1 (left out); every tag needs a 1 and a 0.
    penalty : ColumnGroupL2
        Groups and weights; its strength has to be 1.

    Notes
    -----
    A proximal Newton method: on a working set of groups of its own, each tag's loss is replaced by its quadratic model,
    the models of many tags are minimised in step by block-coordinate descent, and the step is halved until the
    objective has fallen enough. So it never rises, and the end is reached quadratically. Tags that are done drop out.
    """

    def __init__(self, X: ArrayLike, Y: NDArray[np.int8], penalty: ColumnGroupL2) -> None:
        features = np.asarray(X)
        known = Y != -1
        if not (((Y == 1).any(axis=0)) & ((Y == 0).any(axis=0))).all():
            raise InvalidInputError("every tag needs at least one 1 and one 0; leave the others out")
        if penalty.strength != 1.0:
            raise InvalidInputError(f"the penalty's strength has to be 1 here, got {penalty.strength!r}")
        self.shape = (features.shape[1], Y.shape[1])
        # The rows of one array, so that the columns of a working set are gathered in long runs; a row of ones for the
        # intercept and a row of zeros for the places left over come last.
        self.columns = np.zeros((features.shape[1] + 2, features.shape[0]))
        self.columns[:-2] = features.T
        self.columns[-2] = 1.0
        self.labels: Floats = np.where(Y == 1, 1.0, 0.0)
        self.shares: Floats = known / known.sum(axis=0)
        self.penalty = penalty
        labels = penalty.groups(self.shape[0])
        sizes = np.bincount(labels)
        self.layout = GroupLayout(
            np.cumsum(sizes) - sizes, sizes.astype(np.intp), np.asarray(penalty.weights, dtype=np.float64)
        )
        rate = (self.shares * self.labels).sum(axis=0)
        self.base_intercept: Floats = np.log(rate / (1.0 - rate))

    def largest_strengths(self) -> Floats:
        """Return for each tag the smallest strength at which no group is used."""
        residuals = self.shares * (expit(self.base_intercept) - self.labels)
        return self.penalty.smallest_zero(self.columns[:-2] @ residuals)

    def solve(
        self,
        strengths: Floats,
        *,
        start: tuple[Floats, Floats] | None = None,
        tags: NDArray[np.intp] | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> GroupLogisticResult:
        """Minimise the objectives.

        Parameters
        ----------
        strengths : array of shape (c,)
            Positive, one per tag.
        start : (W, b), optional
            Where to begin, such as the solution for larger strengths. Default: no group in use.
        tags : array of int, optional
            The tags to solve for; strengths, start and result then have these columns alone.
        tol : float, default=1e-6
            A tag is done when its optimality residual is this small.
        max_iter : int, default=100
            Most Newton steps.
        """
        chosen = np.arange(self.shape[1]) if tags is None else tags
        search = _Search(self, np.asarray(strengths, dtype=np.float64), start, chosen)
        search.run(tol, max_iter)
        return search.result()


class _Search:
    """The Newton steps of some tags."""

    def __init__(
        self, problem: GroupLogistic, strengths: Floats, start: tuple[Floats, Floats] | None, tags: NDArray[np.intp]
    ) -> None:
        if strengths.shape != tags.shape or not (np.isfinite(strengths).all() and (strengths > 0).all()):
            raise InvalidInputError(f"strengths must be {tags.size} positive numbers, one per tag")
        self.problem, self.strengths = problem, strengths
        self.labels, self.shares = problem.labels[:, tags], problem.shares[:, tags]
        if start is None:
            self.W, self.b = np.zeros((problem.shape[0], tags.size)), problem.base_intercept[tags].copy()
        else:
            self.W, self.b = start[0].copy(), start[1].copy()
        used = self.W.any(axis=1)
        self.scores = problem.columns[:-2][used].T @ self.W[used] + self.b
        self.weights = problem.layout.weights[:, None]
        every = np.arange(tags.size)
        self.values = self._objective(self.scores, self.W, every)
        self.objective = [self.values.copy()]
        self.optimality = np.full(tags.size, np.inf)
        self.n_iter = 0

    def run(self, tol: float, max_iter: int) -> None:
        """Step until every tag is optimal or none can be improved."""
        live = np.arange(self.b.size)
        while True:
            probabilities = expit(self.scores[:, live])
            residuals = self.shares[:, live] * (probabilities - self.labels[:, live])
            gradient = self.problem.columns[:-1] @ residuals
            violations = self._violations(gradient, live)
            self.optimality[live] = violations.max(axis=0)
            wanting = self.optimality[live] > tol
            if not wanting.any() or self.n_iter >= max_iter:
                return
            curvature = self.shares[:, live] * probabilities * (1.0 - probabilities)
            moved = self._step(live[wanting], gradient[:, wanting], curvature[:, wanting], violations[:, wanting], tol)
            self.n_iter += 1
            self.objective.append(self.values.copy())
            live = live[wanting][moved]

    def result(self) -> GroupLogisticResult:
        """Return what was found."""
        return GroupLogisticResult(self.W, self.b, self.objective, self.optimality, self.n_iter)

    def _violations(self, gradient: Floats, tags: NDArray[np.intp]) -> Floats:
        """Return the relative violation of each group, and of the intercept in the last row."""
        relative = gradient / self.strengths[tags]
        groups = self.problem.penalty.violations(self.W[:, tags], relative[:-1]) / self.weights
        return np.concatenate([groups, np.abs(relative[-1:])])

    def _step(
        self, tags: NDArray[np.intp], gradient: Floats, curvature: Floats, violations: Floats, tol: float
    ) -> NDArray[np.bool_]:
        """Take a Newton step on each of the tags; return which of them moved."""
        chosen = self._working_sets(tags, violations[:-1])
        width = 1 + np.where(chosen, self.problem.layout.sizes[:, None], 0).sum(axis=0)
        aims = np.maximum(MODEL_SHARE * violations.max(axis=0), 0.1 * tol)
        moved = np.zeros(tags.size, dtype=bool)
        order = np.argsort(width, kind="stable")[::-1]
        first = 0
        while first < tags.size:  # tags whose working sets are about as large go together
            room = int(GATHERED_BYTES // (8 * width[order[first]] * len(self.scores)))
            part = order[first : first + max(1, room)]
            moved[part] = self._move(tags[part], gradient[:, part], curvature[:, part], chosen[:, part], aims[part])
            first += part.size
        return moved

    def _working_sets(self, tags: NDArray[np.intp], violations: Floats) -> NDArray[np.bool_]:
        """Return the groups in use and those that violate optimality most, for each tag."""
        in_use = self.problem.penalty.norms(self.W[:, tags]) > 0
        size = np.maximum(FIRST_GROUPS, np.ceil(GROWTH * in_use.sum(axis=0)))
        priority = np.where(in_use, np.inf, violations)
        ranks = np.empty(priority.shape, dtype=np.intp)
        np.put_along_axis(
            ranks, np.argsort(-priority, axis=0, kind="stable"), np.arange(len(priority))[:, None], axis=0
        )
        return (ranks < size) & (priority > 0)

    def _move(
        self, tags: NDArray[np.intp], gradient: Floats, curvature: Floats, chosen: NDArray[np.bool_], aims: Floats
    ) -> NDArray[np.bool_]:
        """Minimise the models of some tags and go along the way to their minima."""
        d = self.problem.shape[0]
        columns, weights, slots = choose_sets(self.problem.layout, chosen, d, d + 1)
        gathered = self.problem.columns[columns]
        hessian = np.matmul(gathered * curvature.T[:, None, :], gathered.transpose(0, 2, 1))
        place = np.arange(tags.size)[:, None]
        coefficients = np.concatenate([self.W[:, tags], self.b[None, tags], np.zeros((1, tags.size))]).T
        slopes = np.concatenate([gradient, np.zeros((1, tags.size))]).T
        before = coefficients[place, columns]
        linear = slopes[place, columns]
        model = ModelSets(hessian, linear, before, weights * self.strengths[tags, None], slots)
        target = model.minimize(aims)
        change = target - before
        coefficients[place, columns] = target
        W, b = coefficients[:, :d].T, coefficients[:, d]
        way = np.matmul(change[:, None, :], gathered)[:, 0].T
        return self._search_line(tags, np.einsum("tk,tk->t", linear, change), W, b, way)

    def _search_line(
        self, tags: NDArray[np.intp], slope: Floats, W: Floats, b: Floats, way: Floats
    ) -> NDArray[np.bool_]:
        """Halve the steps until the objectives have fallen enough."""
        penalties = self._penalty(W, tags) - self._penalty(self.W[:, tags], tags)
        predicted = np.minimum(slope + penalties, 0.0)
        left, length = np.arange(tags.size), 1.0
        for _ in range(MAX_HALVINGS):
            now = tags[left]
            scores = self.scores[:, now] + length * way[:, left]
            # At full length zeros have to stay exact.
            trial = W[:, left] if length == 1.0 else self.W[:, now] + length * (W[:, left] - self.W[:, now])
            values = self._objective(scores, trial, now)
            limit = self.values[now] + ARMIJO * length * predicted[left] + ROUNDING * np.abs(self.values[now])
            good = values <= limit
            done = now[good]
            self.scores[:, done], self.W[:, done], self.values[done] = scores[:, good], trial[:, good], values[good]
            self.b[done] += length * (b[left[good]] - self.b[done])
            left = left[~good]
            if left.size == 0:
                break
            length *= 0.5
        moved = np.ones(tags.size, dtype=bool)
        moved[left] = False
        return moved

    def _penalty(self, W: Floats, tags: NDArray[np.intp]) -> Floats:
        total: Floats = self.strengths[tags] * (self.weights * self.problem.penalty.norms(W)).sum(axis=0)
        return total

    def _objective(self, scores: Floats, W: Floats, tags: NDArray[np.intp]) -> Floats:
        # log(1 + e^f) - y f, without overflow
        losses: Any = np.maximum(scores, 0.0) - self.labels[:, tags] * scores + np.log1p(np.exp(-np.abs(scores)))
        total: Floats = np.einsum("it,it->t", self.shares[:, tags], losses)
        return total + self._penalty(W, tags)
