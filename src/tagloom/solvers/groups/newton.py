"""Newton steps for many tags at once, each on the groups that it uses."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core import Bools, Floats, Indices, Singles
from tagloom.solvers.groups.axes import Layout

__all__ = ["NewtonModel", "best_steps", "directions", "shared_factors"]


# Cholesky factors of one matrix on many sets of groups: sets that begin alike share the beginning of their factor.


def shared_factors(
    A: Floats, layout: Layout, patterns: NDArray[np.bool_], ridge: float
) -> Iterator[tuple[int, Indices, Floats | None]]:
    """Yield for each set of groups its number, its rows in some order, and the factor L of A there, A = LLᵀ.

    Groups that many sets have come first, and sets are walked in the order of a dictionary, so that a set mostly adds a
    group or two to the factor before it.

    Parameters
    ----------
    A : array of shape (r, r)
        Positive semidefinite.
    layout : Layout
        Its groups.
    patterns : array of bool, shape (g, k)
        The sets, one in each column.
    ridge : float
        Added to the diagonal.

    Yields
    ------
    number, rows, factor
        The factor is None where rounding leaves the matrix indefinite.
    """
    # Weighed by size: what is done again most often should be small.
    order = np.argsort(-patterns.sum(axis=1) * layout.sizes.astype(np.float64), kind="stable")
    walk = np.lexsort(~patterns[order[::-1]])
    taken: list[tuple[int, Indices, Floats]] = []
    for number in walk:
        groups = [int(group) for group in order if patterns[group, number]]
        shared = 0
        while shared < min(len(taken), len(groups)) and taken[shared][0] == groups[shared]:
            shared += 1
        taken = taken[:shared]
        for group in groups[shared:]:
            extended = _extend(A, layout.runs[group], taken[-1] if taken else None, ridge)
            if extended is None:
                break
            taken.append((group, *extended))
        whole = len(taken) == len(groups) > 0
        rows = taken[-1][1] if taken else np.arange(0)
        yield int(number), rows, taken[-1][2] if whole else None


def _extend(
    A: Floats, run: slice, before: tuple[int, Indices, Floats] | None, ridge: float
) -> tuple[Indices, Floats] | None:
    """Return rows and factor with one more group; None where the rest of its block is not positive."""
    new = np.arange(run.start, run.stop)
    block = A[run, run].copy()
    block.flat[:: len(block) + 1] += ridge
    if before is None:
        rows, left = new, None
    else:
        rows = np.concatenate([before[1], new])
        left = linalg.solve_triangular(before[2], A[before[1], run], lower=True, check_finite=False)
        block -= left.T @ left
    try:
        corner = linalg.cholesky(block, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    if left is None:
        return rows, corner
    size = len(left)
    factor = np.zeros((rows.size, rows.size), order="F")
    factor[:size, :size] = before[2] if before is not None else 0.0
    factor[size:, :size] = left.T
    factor[size:, size:] = corner
    return rows, factor


#: Most conjugate gradient steps; where they do not do, the tag's system is factorised.
CG_STEPS = 60
#: Steps that are worth an elimination where each group has its own axes.
QUICK_STEPS = 4
#: Tags that conjugate gradients do not part, and entries that are no matter in a stack.
FEW = 8
#: Share of a stack's largest matrix below which a matrix goes to another stack.
FILLED = 0.85
#: Steps along a direction that are looked at.
STEPS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.001])
#: Added to the diagonal of a matrix before it is factorised, relative to its largest entry.
RIDGE = 1e-13
#: Most numbers in a stack of matrices that are factorised together.
STACK = 1 << 23


@dataclass(frozen=True)
class NewtonModel:
    """The second-order model of every tag: ``A + diag(pull) + Σ_g bend_g u_g u_gᵀ`` on the entries in use.

    Attributes
    ----------
    A, single : arrays of shape (r, r)
        The quadratic part that the tags share, in double and in single precision; None where that overflows.
    layout : Layout
        Its groups.
    used : array of bool, shape (r, c)
        Entries in use.
    pull, bend : arrays of shape (g, c)
        Slope over length of each group's penalty, and what is added along the group's own direction.
    directions : array of shape (r, c)
        u: each group in use divided by its length.
    plain : bool
        Whether groups are single columns, or not on their own axes.
    """

    A: Floats
    single: Singles | None
    layout: Layout
    used: Bools
    pull: Floats
    bend: Floats
    directions: Floats
    plain: bool

    def take(self, columns: NDArray[np.intp]) -> "NewtonModel":
        """Return the model of some tags."""
        return NewtonModel(
            self.A,
            self.single,
            self.layout,
            self.used[:, columns],
            self.pull[:, columns],
            self.bend[:, columns],
            self.directions[:, columns],
            self.plain,
        )

    @property
    def flat(self) -> Bools:
        """Return for each tag whether the penalty adds nothing, so that the tag's matrix is a part of A."""
        return np.logical_not(self.pull.any(axis=0) | self.bend.any(axis=0))


def directions(model: NewtonModel, slopes: Floats, forcing: float) -> Floats:
    """Return for each tag the solution of its model for minus the slopes, exact or nearly so.

    Tags whose penalty is flat, as where SCAD has let go of every group in use, share one factorisation for each set of
    entries. Tags that use few entries are solved by elimination, in stacks. The others by conjugate gradients, all at
    once, the groups' own blocks as preconditioner, until the residual in its norm is ``forcing`` of what it was; those
    for which that takes too long are eliminated too.
    """
    result = np.zeros_like(slopes)
    flat = model.flat
    _solve_flat(model, slopes, np.flatnonzero(flat), result)
    # Elimination takes ⅔ m³ operations, a step of conjugate gradients 2 r² for the r rows that some tag uses. Where
    # the preconditioner is only a diagonal, many steps are needed.
    worth = CG_STEPS if model.plain else QUICK_STEPS
    n_used = model.used.sum(axis=0, dtype=np.float64)
    few = (n_used**3 < worth * float(model.used.any(axis=1).sum()) ** 2) | (model.single is None)
    _solve_stacks(model, slopes, np.flatnonzero(few & ~flat), result)
    others = np.flatnonzero(~flat & ~few)
    if others.size:
        part = model.take(others)
        result[:, others], done = _conjugate(part, slopes[:, others], forcing)
        _solve_stacks(model, slopes, others[~done], result)
    return result


def _solve_flat(model: NewtonModel, slopes: Floats, tags: NDArray[np.intp], result: Floats) -> None:
    """Solve for tags whose matrix is a part of A, one factorisation for each set of entries in use."""
    if not tags.size:
        return
    patterns, which = np.unique(model.used[:, tags], axis=1, return_inverse=True)
    members = [tags[which.ravel() == number] for number in range(patterns.shape[1])]
    if model.plain:
        for number, pattern in enumerate(patterns.T):
            _solve_set(model.A, np.flatnonzero(pattern), members[number], slopes, result)
        return
    ridge = RIDGE * max(float(model.A.diagonal().max()), np.finfo(np.float64).tiny)
    by_group = patterns[model.layout.starts]
    for number, rows, factor in shared_factors(model.A, model.layout, by_group, ridge):
        if factor is None:
            _solve_set(model.A, np.flatnonzero(patterns[:, number]), members[number], slopes, result)
        else:
            place = np.ix_(rows, members[number])
            result[place] = linalg.cho_solve((factor, True), -slopes[place], check_finite=False)


def _solve_set(A: Floats, rows: NDArray[np.intp], members: NDArray[np.intp], slopes: Floats, result: Floats) -> None:
    """Solve for tags that use the same rows."""
    if rows.size:
        result[np.ix_(rows, members)] = _solve_positive(A, rows, -slopes[np.ix_(rows, members)])


def _solve_positive(A: Floats, rows: NDArray[np.intp], right: Floats) -> Floats:
    """Solve with a part of A, with the least addition to its diagonal that lets it be factorised."""
    ridge = RIDGE * max(float(A.diagonal()[rows].max()), np.finfo(np.float64).tiny)
    while True:
        # The transpose of the copy is in the order that LAPACK works in, and may be overwritten.
        matrix = A[np.ix_(rows, rows)].T
        matrix[np.diag_indices(rows.size)] += ridge
        try:
            factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            ridge *= 100.0
            continue
        solution: Floats = linalg.cho_solve(factor, right, check_finite=False)
        return solution


def _solve_stacks(model: NewtonModel, slopes: Floats, tags: NDArray[np.intp], result: Floats) -> None:
    """Solve each tag's own system; tags of about the same size go together, filled up with unit rows."""
    sizes = model.used[:, tags].sum(axis=0)
    order = np.argsort(-sizes, kind="stable")
    tags, sizes = tags[order], sizes[order]
    start = 0
    while start < tags.size:
        size = int(sizes[start])
        alike = np.searchsorted(-sizes, -min(FILLED * size, size - FEW), side="right") - start
        count = max(1, min(int(alike), STACK // max(1, size * size)))
        members = tags[start : start + count]
        start += count
        if size == 0:
            break
        # The entries in use of each member first, then as many others as fill the rows.
        rows = np.argsort(~model.used[:, members], axis=0, kind="stable")[:size].T
        real = np.take_along_axis(model.used[:, members].T, rows, axis=1)
        right = np.where(real, -slopes[rows, members[:, None]], 0.0)
        found = np.linalg.solve(_stack(model, members, rows, real), right[:, :, None])[:, :, 0]
        result[rows, members[:, None]] = np.where(real, found, 0.0)


def _stack(model: NewtonModel, members: NDArray[np.intp], rows: NDArray[np.intp], real: Bools) -> Floats:
    """Return the matrices of some tags on the given rows; rows that are not real are those of the unit matrix."""
    groups = model.layout.group_of[rows]
    matrices = model.A[rows[:, :, None], rows[:, None, :]]
    u = model.directions[rows, members[:, None]]
    bend = model.bend[groups, members[:, None]]
    diagonal = np.einsum("tkk->tk", matrices)
    if (model.layout.sizes > 1).any():
        together = groups[:, :, None] == groups[:, None, :]
        matrices += np.where(together, (bend * u)[:, :, None] * u[:, None, :], 0.0)
    else:
        diagonal += bend * np.square(u)
    matrices *= real[:, :, None]
    matrices *= real[:, None, :]
    ridge = RIDGE * np.maximum(np.abs(diagonal).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    pull = model.pull[groups, members[:, None]]
    diagonal += np.where(real, pull + ridge, 1.0)
    return matrices


def _conjugate(model: NewtonModel, slopes: Floats, forcing: float) -> tuple[Floats, Bools]:
    """Return solutions by preconditioned conjugate gradients, and for which tags they came to an end.

    In single precision: a direction need not be exact. Where one of negative curvature turns up (a concave penalty) the
    tag keeps what it has, or goes down the preconditioned slope if it has nothing. When half of the tags have arrived
    the others go on by themselves.
    """
    result = np.zeros_like(slopes)
    size = np.sqrt(np.einsum("kc,kc->c", slopes, slopes))
    finished = size == 0
    live, steps, start = np.flatnonzero(~finished), 0, None
    while live.size and steps < CG_STEPS:
        system = _System(model.take(live))
        if start is None:
            start = _Start(system, (-slopes[:, live] / size[live]).astype(np.float32), forcing)
        taken, arrived, following = system.iterate(start, CG_STEPS - steps)
        result[:, live] = start.X * size[live]
        steps += taken
        finished[live[arrived]] = True
        live, start = live[~arrived], following
    return result, finished


class _Start:
    """Where conjugate gradients are: solution X, residual R, direction P, size ρ of the residual and its aim."""

    def __init__(self, system: "_System", R: Singles, forcing: float) -> None:
        self.X, self.R = np.zeros_like(R), R * system.used
        self.P = system.precondition(self.R)
        self.rho = np.einsum("kc,kc->c", self.R, self.P)
        self.aim = forcing**2 * self.rho

    def take(self, kept: Bools) -> "_Start":
        """Return some tags."""
        part = object.__new__(_Start)
        part.X, part.R, part.P = self.X[:, kept], self.R[:, kept], self.P[:, kept]
        part.rho, part.aim = self.rho[kept], self.aim[kept]
        return part


class _System:
    """The matrices of some tags in single precision: product and preconditioner."""

    def __init__(self, model: NewtonModel) -> None:
        self.layout, self.used = model.layout, model.used
        self.group_of = model.layout.group_of
        self.rows = np.flatnonzero(model.used.any(axis=1))
        self.whole = self.rows.size == len(model.A)
        single = model.A.astype(np.float32) if model.single is None else model.single
        self.A = single if self.whole else single[np.ix_(self.rows, self.rows)]
        self.u = model.directions.astype(np.float32)
        self.bend = model.bend.astype(np.float32)
        self.pull = model.pull.astype(np.float32)[self.group_of]
        weight = model.A.diagonal()[:, None] + model.pull[self.group_of]
        inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=model.used & (weight > 0))
        spread = inverse * model.directions
        denominator = 1.0 + model.bend * self.layout.dot(model.directions, spread)
        # A block that a concave penalty makes indefinite is taken without its bend.
        factor = np.divide(model.bend, denominator, out=np.zeros_like(denominator), where=denominator > 1e-3)
        self.inverse, self.spread = inverse.astype(np.float32), spread.astype(np.float32)
        self.factor = factor.astype(np.float32)

    def precondition(self, R: Singles) -> Singles:
        """Apply the inverse of the groups' own blocks, which are diagonal but for one direction each."""
        Z: Singles = R * self.inverse
        Z -= self.spread * (self.factor * self.layout.dot(self.u, Z))[self.group_of]
        return Z

    def multiply(self, V: Singles) -> Singles:
        """Apply every tag's matrix; no more rows are looked at than some tag uses."""
        if self.whole:
            product = self.A @ V
        else:
            product = np.zeros_like(V)
            product[self.rows] = self.A @ V[self.rows]
        product += self.pull * V
        product += self.u * (self.bend * self.layout.dot(self.u, V))[self.group_of]
        product *= self.used
        return product

    def iterate(self, at: _Start, most: int) -> tuple[int, Bools, _Start | None]:
        """Take steps until half of the tags have arrived; return their number, who has, and the others."""
        going = at.rho > 0
        n_tags, taken = going.size, 0
        while taken < most and 2 * np.count_nonzero(going) > (n_tags if n_tags > FEW else 0):
            taken += 1
            Q = self.multiply(at.P)
            curved = np.einsum("kc,kc->c", at.P, Q)
            stuck = going & (curved <= 0)
            if stuck.any():
                fresh = stuck & ~at.X.any(axis=0)
                at.X[:, fresh] = at.P[:, fresh]
                going &= ~stuck
            step = np.divide(at.rho, curved, out=np.zeros_like(at.rho), where=going)
            at.X += step * at.P
            at.R -= step * Q
            Z = self.precondition(at.R)
            after = np.einsum("kc,kc->c", at.R, Z)
            going &= after > at.aim
            at.P *= np.divide(after, at.rho, out=np.zeros_like(at.rho), where=going)
            at.P += Z
            at.rho = after
        return taken, ~going, at.take(going) if going.any() else None


def best_steps(
    smooth: tuple[Floats, Floats], penalties: Callable[[float], Floats], at_start: Floats
) -> tuple[Floats, Floats]:
    """Return for each tag the step along its direction with the lowest objective (0: none is lower), and the change.

    Parameters
    ----------
    smooth : tuple of arrays of shape (c,)
        Slope and curvature of the smooth part along the direction.
    penalties : callable
        The penalty of every tag after a step of a given length.
    at_start : array of shape (c,)
        The penalty before.
    """
    slope, curvature = smooth
    best, lowest = np.zeros_like(slope), np.zeros_like(slope)
    for step in STEPS:
        change = step * slope + 0.5 * step**2 * curvature + penalties(float(step)) - at_start
        better = change < lowest
        best[better], lowest[better] = step, change[better]
        if better.all():
            break
    return best, lowest
