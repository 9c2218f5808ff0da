"""Group lasso with the logistic loss, for all tags at once."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tagloom.core import Floats, Indices
from tagloom.exceptions import InvalidInputError
from tagloom.solvers.groups import ColumnGroupL2

__all__ = ["GroupLogistic", "GroupLogisticResult"]


# Quadratic models of many tags at once, each on a working set of its own.

#: Steps on a group of several columns while its share of the model is at hand.
INNER_STEPS = 5
#: Passes over a working set before a look at the violations and a Newton step, and most such rounds.
PASSES, MAX_ROUNDS = 3, 40
#: Added to the diagonal of that step's matrix, relative to its largest entry: duplicate columns make it singular.
RIDGE = 1e-12


@dataclass(frozen=True)
class GroupLayout:
    """Consecutive columns as groups: the first column, the size and the weight of each."""

    starts: Indices
    sizes: Indices
    weights: Floats


@dataclass(frozen=True)
class Slots:
    """Places for groups of one size: ``count`` runs of ``size`` positions from ``first`` on, the same for all tags."""

    first: int
    size: int
    count: int


def choose_sets(
    layout: GroupLayout, chosen: NDArray[np.bool_], intercept: int, nothing: int
) -> tuple[Indices, Floats, list[Slots]]:
    """Lay the chosen groups of every tag out so that position k means a group of the same size for all tags.

    Parameters
    ----------
    layout : GroupLayout
        The groups.
    chosen : array of bool, shape (g, c)
        The groups of each tag's working set.
    intercept, nothing : int
        The number of the column of ones, which comes first, and of the column of zeros, which fills places left over.

    Returns
    -------
    columns : array of shape (c, m)
        The column at each position.
    weights : array of shape (c, s)
        The weight of each slot's group, 0 for the intercept.
    slots : list of Slots
        Runs of slots, one for each size of group.
    """
    n_tags = chosen.shape[1]
    columns = [np.full((n_tags, 1), intercept)]
    weights = [np.zeros((n_tags, 1))]
    slots, first = [Slots(0, 1, 1)], 1
    for size in np.unique(layout.sizes):
        groups = np.flatnonzero(layout.sizes == size)
        members = chosen[groups]
        count = int(members.sum(axis=0).max(initial=0))
        if count == 0:
            continue
        order = np.argsort(~members, axis=0, kind="stable")[:count]
        taken = np.take_along_axis(members, order, axis=0).T
        which = groups[order].T
        part = layout.starts[which][:, :, None] + np.arange(size)
        columns.append(np.where(taken[:, :, None], part, nothing).reshape(n_tags, -1))
        weights.append(layout.weights[which])
        slots.append(Slots(first, int(size), count))
        first += int(size) * count
    return np.concatenate(columns, axis=1), np.concatenate(weights, axis=1), slots


class ModelSets:
    """``½(v - v⁰)ᵀH(v - v⁰) + gᵀ(v - v⁰) + Σ_s limit_s ‖v_s‖`` for each of several tags.

    Parameters
    ----------
    hessian : array of shape (c, m, m)
        H, positive semidefinite.
    gradient : array of shape (c, m)
        g.
    values : array of shape (c, m)
        v⁰.
    limits : array of shape (c, s)
        The price of a unit of norm in each slot.
    slots : list of Slots
        From `choose_sets`.
    """

    def __init__(self, hessian: Floats, gradient: Floats, values: Floats, limits: Floats, slots: list[Slots]) -> None:
        self.hessian, self.gradient, self.values, self.limits = hessian, gradient.copy(), values.copy(), limits
        self.slots = slots
        self.sizes = np.concatenate([np.full(run.count, run.size) for run in slots])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.slot_of = np.repeat(np.arange(self.sizes.size), self.sizes)
        # The intercept's limit is 0; its violation is measured by the others'.
        self.units = np.where(limits > 0, limits, limits.max(axis=1, keepdims=True))
        self.diagonal = np.maximum(np.einsum("tkk->tk", hessian), np.finfo(np.float64).tiny)
        self.bounds = [self._largest_eigenvalues(run) for run in slots]

    def minimize(self, aims: Floats) -> Floats:
        """Descend until each tag's violation, relative to its limits, is at most its aim; return v."""
        for _ in range(MAX_ROUNDS):
            for _ in range(PASSES):
                self._pass()
            worst = self._violations(self.values, self.gradient)
            if (worst > aims).any():
                worst = self._newton(worst)
            if (worst <= aims).all():
                break
        return self.values

    def _pass(self) -> None:
        """Step on every slot once."""
        slot = 0
        for run, bounds in zip(self.slots, self.bounds, strict=True):
            for place in range(run.count):
                if run.size == 1:
                    self._step(run.first + place, self.limits[:, slot])
                else:
                    self._group_step(run, place, bounds[:, place], self.limits[:, slot])
                slot += 1

    def _step(self, position: int, limit: Floats) -> None:
        """Minimise over one coordinate of every tag."""
        curvature = self.diagonal[:, position]
        before = self.values[:, position]
        free = curvature * before - self.gradient[:, position]
        after = (free - np.minimum(np.maximum(free, -limit), limit)) / curvature
        change = after - before
        if change.any():
            self.gradient += self.hessian[:, position] * change[:, None]
            self.values[:, position] = after

    def _group_step(self, run: Slots, place: int, bound: Floats, limit: Floats) -> None:
        """Take a few proximal steps on one group of every tag."""
        first = run.first + place * run.size
        part = slice(first, first + run.size)
        block = self.hessian[:, part, part]
        gradient, start = self.gradient[:, part].copy(), self.values[:, part].copy()
        values = start
        for _ in range(INNER_STEPS):
            free = values - gradient / bound[:, None]
            norms = np.sqrt(np.einsum("tk,tk->t", free, free))
            shorter = np.maximum(norms - limit / bound, 0.0)
            after = free * np.divide(shorter, norms, out=np.zeros_like(norms), where=norms > 0)[:, None]
            change = after - values
            values = after
            if not change.any():
                break
            gradient += np.matmul(block, change[:, :, None])[:, :, 0]
        total = values - start
        if total.any():
            self.gradient += np.matmul(total[:, None, :], self.hessian[:, part])[:, 0]
            self.values[:, part] = values

    def _newton(self, worst: Floats) -> Floats:
        """Solve for the groups in use as if none were to leave; keep that where it is lower and closer to optimality.

        Descent finds the groups soon, and takes long for the rest where columns are much alike.
        """
        norms = self._norms(self.values)
        norms[:, self.limits.max(axis=0) == 0] = 1.0  # the intercept is in use even at zero
        used = (norms > 0)[:, self.slot_of]
        pull = np.divide(self.limits, norms, out=np.zeros_like(norms), where=norms > 0)[:, self.slot_of]
        matrix = np.where(used[:, :, None] & used[:, None, :], self.hessian, 0.0)
        if (self.sizes > 1).any():
            matrix += self._norm_curvature(norms, pull)
        diagonal = np.einsum("tkk->tk", matrix)
        ridge = RIDGE * np.maximum(self.diagonal.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        diagonal[:] = np.where(used, diagonal + ridge, 1.0)
        slopes = np.where(used, self.gradient + pull * self.values, 0.0)
        change = -np.linalg.solve(matrix, slopes[:, :, None])[:, :, 0]
        values = self.values + change
        gradient = self.gradient + np.matmul(self.hessian, change[:, :, None])[:, :, 0]
        reached = self._violations(values, gradient)
        better = (reached < worst) & ~self._rises(values, gradient)
        self.values[better], self.gradient[better] = values[better], gradient[better]
        return np.where(better, reached, worst)

    def _rises(self, values: Floats, gradient: Floats) -> NDArray[np.bool_]:
        """Return whose model is larger, by more than rounding, at other values with this gradient."""
        smooth = 0.5 * np.einsum("tk,tk->t", self.gradient + gradient, values - self.values)
        prices = np.einsum("ts,ts->t", self.limits, self._norms(self.values))
        rise = smooth + np.einsum("ts,ts->t", self.limits, self._norms(values)) - prices
        return rise > ROUNDING * (np.abs(smooth) + prices)

    def _norm_curvature(self, norms: Floats, pull: Floats) -> Floats:
        """Return the second derivative of the norms of groups of several columns, on the groups in use."""
        wide = (self.sizes > 1)[self.slot_of]
        pull = np.where(wide, pull, 0.0)
        units = self.values / np.where(norms > 0, norms, 1.0)[:, self.slot_of]
        together = self.slot_of[:, None] == self.slot_of
        curvature: Floats = np.where(together, -(pull * units)[:, :, None] * units[:, None, :], 0.0)
        np.einsum("tkk->tk", curvature)[:] += pull
        return curvature

    def _norms(self, values: Floats) -> Floats:
        """Return the norm of each slot."""
        norms: Floats = np.sqrt(np.add.reduceat(np.square(values), self.starts, axis=1))
        return norms

    def _violations(self, values: Floats, gradient: Floats) -> Floats:
        """Return each tag's largest distance from optimality, relative to the limits."""
        norms = self._norms(values)
        used = norms > 0
        pull = np.divide(self.limits, norms, out=np.zeros_like(norms), where=used)
        distance = self._norms(gradient + pull[:, self.slot_of] * values)
        distance = np.where(used, distance, np.maximum(distance - self.limits, 0.0))
        worst: Floats = (distance / self.units).max(axis=1)
        return worst

    def _largest_eigenvalues(self, run: Slots) -> Floats:
        """Return for each tag and slot the largest eigenvalue of its block of H."""
        tiny = np.finfo(np.float64).tiny
        if run.size == 1:
            return self.diagonal[:, run.first : run.first + run.count]
        starts = range(run.first, run.first + run.size * run.count, run.size)
        blocks = np.stack([self.hessian[:, a : a + run.size, a : a + run.size] for a in starts], axis=1)
        # Rounding may leave the computed eigenvalue just below the true one.
        return np.maximum(np.linalg.eigvalsh(blocks)[..., -1] * (1 + 1e-10), tiny)


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
