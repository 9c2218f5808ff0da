"""Quadratic models of many tags at once, each on a working set of its own."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats, Indices

__all__ = ["GroupLayout", "ModelSets", "choose_sets"]


#: Steps on a group of several columns while its share of the model is at hand.
INNER_STEPS = 5
#: Passes over a working set before a look at the violations and a Newton step, and most such rounds.
PASSES, MAX_ROUNDS = 3, 40
#: Added to the diagonal of that step's matrix, relative to its largest entry: duplicate columns make it singular.
RIDGE = 1e-12
#: Relative difference of two values that float64 cannot tell.
ROUNDING = 1e-14


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
