"""Minimise a smooth function of a matrix plus a penalty on groups of its rows."""

import itertools
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError
from tagloom.solvers.cg import one_thread_each
from tagloom.solvers.groups import L21, Datafit, Penalty, QuadraticGram

__all__ = ["PenalizedResult", "newton_candidate", "solve_penalized", "suits_newton"]


# A Newton step for a quadratic with the l2,1 penalty, on the rows that are not zero.

# A step costs the cube of the rows, a pass over them the square times the columns: the most rows for which it pays.
FEWEST_ROWS, ROWS_PER_COLUMN = 200, 16
# Rows below which a factorisation is quicker in one thread than in several.
SMALL = 1000
# Lengths of the step that are compared.
LENGTHS = 0.5 ** np.arange(0, 9)


def suits_newton(datafit: Any, penalty: Any) -> bool:
    """Return whether the step is known for these parts and cheap at their size."""
    if not (isinstance(datafit, QuadraticGram) and isinstance(penalty, L21) and penalty.strength > 0):
        return False
    rows, columns = datafit.shape
    return penalty.weights is None and 0 < rows <= max(FEWEST_ROWS, ROWS_PER_COLUMN * columns)


def newton_candidate(datafit: QuadraticGram, penalty: L21, W: Reals) -> Reals | None:
    """Return W after a step on its non-zero rows that lowers the objective, or None if there is none.

    The Hessian is ``scale·A ⊗ I`` plus ``t_i(I - u_iu_iᵀ)`` for row i, with ``t_i = γ/‖w_i‖`` and u_i its direction.
    What couples the columns has rank one for each row, so the step needs two factorisations in the number of rows only:
    with ``M = scale·A + diag(t)`` and ``s_i = t_i u_iᵀΔ_i``, ``MΔ = -g + diag(s)U`` and
    ``(diag(1/t) - M⁻¹∘UUᵀ)s = diag(U(-M⁻¹g)ᵀ)``.
    """
    used = np.flatnonzero(W.any(axis=1))
    if used.size == 0:
        return None
    whole = used.size == len(W)
    part = W if whole else W[used]
    A = datafit.A if whole else datafit.A[np.ix_(used, used)]
    norms = np.sqrt(np.einsum("ij,ij->i", part, part))
    directions = part / norms[:, None]
    product = A @ part
    B = datafit.B if whole else datafit.B[used]
    gradient = datafit.scale * (product - B) + penalty.strength * directions
    with one_thread_each() if used.size < SMALL else nullcontext():
        step = _solve(datafit.scale * A, penalty.strength / norms, directions, gradient)
    if step is None or not np.isfinite(step).all():
        return None
    slope = datafit.scale * float(np.vdot(product - B, step))
    bend = 0.5 * datafit.scale * float(np.vdot(step, A @ step))
    length = _best_length(part, step, norms, slope, bend, penalty.strength)
    if length == 0:
        return None
    candidate = np.zeros_like(W)
    candidate[used] = part + length * step
    return candidate


def _solve(H: Reals, t: Reals, directions: Reals, gradient: Reals) -> Reals | None:
    """Return the Newton step, or None where a factorisation fails."""
    H[np.diag_indices_from(H)] += t
    factor, failed = lapack.dpotrf(H.T, lower=1, overwrite_a=1)
    if failed:
        return None
    free, _ = lapack.dpotrs(factor, -gradient, lower=1)
    # The entries of the inverse themselves stand in the second system.
    lower, failed = lapack.dpotri(factor, lower=1)
    if failed:
        return None
    coupling = np.multiply(lower, directions @ -directions.T, order="F")
    coupling[np.diag_indices_from(coupling)] += 1.0 / t
    second, failed = lapack.dpotrf(coupling, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    s, _ = lapack.dpotrs(second, np.einsum("ij,ij->i", directions, free), lower=1)
    bound, _ = lapack.dpotrs(factor, s[:, None] * directions, lower=1)
    result: Reals = free + bound
    return result


def _best_length(W: Reals, step: Reals, norms: Reals, slope: float, bend: float, strength: float) -> float:
    """Return the length of the step with the lowest objective, 0 if none lowers it."""
    along, size = np.einsum("ij,ij->i", W, step), np.einsum("ij,ij->i", step, step)
    squares = norms**2 + 2.0 * np.outer(LENGTHS, along) + np.outer(LENGTHS**2, size)
    change = np.sqrt(np.maximum(squares, 0.0)) - norms
    values = LENGTHS * slope + LENGTHS**2 * bend + strength * change.sum(axis=1)
    best = int(np.argmin(values))
    # Where the change is rounding the caller compares the optimality.
    return float(LENGTHS[best]) if values[best] < 0 else 0.0


# Rows that one step changes together: enough for the matrix products to be efficient, few enough for long steps.
BLOCK_ROWS = 32
# Steps on a block while its share of the matrix is at hand.
INNER_STEPS = 4
# Epochs between two looks at objective and optimality, and the memory of the extrapolation.
PERIOD = 5
# Relative difference of two objectives that float64 cannot tell.
ROUNDING = 1e-14
# Groups of the first working set.
FIRST_GROUPS = 16
# How much better than the whole problem's present optimality a working set's own is made.
SUBPROBLEM = 0.2


@dataclass(frozen=True)
class PenalizedResult:
    """Result of `solve_penalized`.

    Attributes
    ----------
    coef : ndarray of shape (d, c)
        The minimiser (a stationary point where the penalty is not convex); groups that are not needed are exactly zero.
    objective : list of float
        Datafit plus penalty as computed; it rises by rounding at most.
    optimality : float
        Largest distance, over groups, of minus the gradient from the penalty's subdifferential, divided by the largest
        norm of a group's gradient at W = 0. Zero at a solution.
    n_iter : int
        Passes over the rows in use.
    converged : bool
        Whether ``optimality`` is at most ``tol``.
    """

    coef: Reals
    objective: list[float] = field(repr=False)
    optimality: float
    n_iter: int
    converged: bool


def solve_penalized(
    datafit: Datafit,
    penalty: Penalty,
    *,
    W0: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 2000,
    working_set: bool = True,
) -> PenalizedResult:
    """Minimise ``datafit(W) + penalty(W)``.

    Block-coordinate proximal descent with Anderson extrapolation, on a growing working set of groups.

    Parameters
    ----------
    datafit : Datafit
        The smooth part, `QuadraticGram` for instance.
    penalty : Penalty
        The penalty on groups of rows, `L21` for instance.
    W0 : array of shape (d, c), optional
        Start, such as the solution for a larger penalty. Default: zero.
    tol : float, default=1e-6
        Stop when the optimality residual is this small.
    max_iter : int, default=2000
        Most passes over the rows in use.
    working_set : bool, default=True
        Whether to solve on few groups first and add those that violate optimality; else on all from the beginning.

    Returns
    -------
    PenalizedResult
        ``coef``, ``objective``, ``optimality``, ``n_iter``, ``converged``.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` passes end above ``tol``.

    Notes
    -----
    A block of rows takes steps ``W_b ← prox(W_b - ∇_b/L_b, 1/L_b)`` with L_b the Lipschitz constant of the block alone,
    which never raise the objective. Every few passes the last iterates are combined to cancel their differences as far
    as possible; the combination is kept only if its objective is lower. For a quadratic with `L21` a pass, which
    settles the rows in use, is followed by a Newton step on them instead, as long as it lowers the objective.
    """
    if not (np.isfinite(tol) and tol > 0) or max_iter < 0:
        raise InvalidInputError(f"tol must be positive and max_iter not negative, got {tol!r} and {max_iter!r}")
    W = _start(W0, datafit.shape)
    search = _Search(datafit, penalty, W, tol, max_iter)
    search.run(working_set=working_set)
    result = search.result()
    if not result.converged:
        warnings.warn(
            f"the penalised problem was left at an optimality residual of {result.optimality:.2g} after "
            f"{result.n_iter} of at most {max_iter} passes, above tol={tol:g}. Raise max_iter or tol, or scale the "
            f"features",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result


class _Search:
    """The loop over working sets."""

    def __init__(self, datafit: Datafit, penalty: Penalty, W: Reals, tol: float, max_iter: int) -> None:
        self.datafit, self.penalty, self.W, self.tol, self.max_iter = datafit, penalty, W, tol, max_iter
        self.labels = penalty.groups(len(W))
        at_zero = datafit.full_gradient(W[:0], np.arange(0))
        norms = np.sqrt(np.bincount(self.labels, weights=np.einsum("ij,ij->i", at_zero, at_zero)))
        self.scale = float(norms.max(initial=0.0)) or 1.0
        self.n_iter = 0
        self.objective = [self._objective(W)]
        self.distances = self._distances()

    def run(self, *, working_set: bool) -> None:
        """Solve on working sets until no group violates optimality."""
        while self._optimality() > self.tol and self.n_iter < self.max_iter:
            rows = self._choose_rows() if working_set else np.argsort(self.labels, kind="stable")
            aim = self.tol if rows.size == len(self.W) else max(self.tol, SUBPROBLEM * self._optimality())
            descent = _Descent(
                self.datafit.restrict(rows), self.penalty.restrict(rows), self.W[rows], self.labels[rows]
            )
            for objective in descent.run(aim * self.scale, self.max_iter - self.n_iter):
                self.objective.append(objective)
            self.n_iter += descent.n_iter
            self.W[rows] = descent.W
            self.distances = self._distances()

    def result(self) -> PenalizedResult:
        """Return what was found."""
        optimality = self._optimality()
        return PenalizedResult(self.W, self.objective, optimality, self.n_iter, optimality <= self.tol)

    def _choose_rows(self) -> NDArray[np.intp]:
        """Return the rows of all groups in use and of those that violate optimality most."""
        in_use = np.zeros(self.distances.size, dtype=bool)
        in_use[self.labels[self.W.any(axis=1)]] = True
        size = max(FIRST_GROUPS, 2 * int(in_use.sum()))
        priority = np.where(in_use, np.inf, self.distances)
        chosen = np.argsort(-priority, kind="stable")[:size]
        chosen = chosen[priority[chosen] > 0]
        rows = np.flatnonzero(np.isin(self.labels, chosen))
        return rows[np.argsort(self.labels[rows], kind="stable")]

    def _distances(self) -> NDArray[np.float64]:
        rows = np.flatnonzero(self.W.any(axis=1))
        return self.penalty.subdifferential_distance(self.W, self.datafit.full_gradient(self.W[rows], rows))

    def _optimality(self) -> float:
        return float(self.distances.max(initial=0.0)) / self.scale

    def _objective(self, W: Reals) -> float:
        rows = np.flatnonzero(W.any(axis=1))
        part = W[rows]
        return self.datafit.restrict(rows).value(part) + self.penalty.value(W)


class _Descent:
    """Block-coordinate proximal descent on a fixed set of rows."""

    def __init__(self, datafit: Datafit, penalty: Penalty, W: Reals, labels: NDArray[np.intp]) -> None:
        self.datafit, self.penalty, self.W, self.n_iter = datafit, penalty, W.copy(), 0
        blocks = _row_blocks(labels)
        constants = [datafit.lipschitz(rows) for rows in blocks]
        floor = np.finfo(np.float64).eps * max(constants, default=0.0)
        self.blocks = [
            (rows, penalty.restrict(np.arange(rows.start, rows.stop)), constant)
            for rows, constant in zip(blocks, constants, strict=True)
            if constant > floor
        ]
        for rows, constant in zip(blocks, constants, strict=True):
            if constant <= floor:  # the datafit does not depend on these rows, so the penalty alone decides
                self.W[rows] = 0

    def run(self, aim: float, max_iter: int) -> Iterator[float]:
        """Descend until the optimality residual is at most ``aim``; yield the objective from time to time."""
        suits = suits_newton(self.datafit, self.penalty)
        by_newton = suits
        while self.n_iter < max_iter:
            memory = [self.W.copy()]
            for _ in range(1 if by_newton else min(PERIOD, max_iter - self.n_iter)):
                self._epoch()
                memory.append(self.W.copy())
            before = self.W
            yield self._newton() if by_newton else self._extrapolate(memory)
            if self._distance(self.W) <= aim:
                break
            # Where a Newton step was of no use the rows in use are not settled: passes come first.
            by_newton = suits and not (by_newton and self.W is before)

    def _epoch(self) -> None:
        """Step on every block once."""
        for rows, penalty, constant in self.blocks:
            gradient = self.datafit.gradient(self.W, rows)
            for last in range(INNER_STEPS - 1, -1, -1):
                before = self.W[rows]
                after = penalty.prox(before - gradient / constant, 1 / constant)
                change = after - before
                self.W[rows] = after
                if last == 0 or not change.any():
                    break
                gradient += self.datafit.curvature(rows, change)
        self.n_iter += 1

    def _extrapolate(self, memory: list[Reals]) -> float:
        """Combine the last iterates if that is an improvement, and return the objective."""
        objective = self._objective(self.W)
        differences = np.array([(late - early).ravel() for early, late in itertools.pairwise(memory)])
        gram = differences @ differences.T
        size = np.trace(gram)
        if size == 0:
            return objective
        weights = np.linalg.solve(gram / size + 1e-12 * np.eye(len(gram)), np.ones(len(gram)))
        candidate = np.tensordot(weights / weights.sum(), np.array(memory[1:]), axes=1)
        candidate[self.W == 0] = 0
        return self._take_better(candidate, objective)

    def _newton(self) -> float:
        """Take a Newton step if that is an improvement, and return the objective."""
        objective = self._objective(self.W)
        candidate = newton_candidate(cast(QuadraticGram, self.datafit), cast(L21, self.penalty), self.W)
        return objective if candidate is None else self._take_better(candidate, objective)

    def _take_better(self, candidate: Reals, objective: float) -> float:
        """Move to the candidate if that is an improvement, and return the objective."""
        value = self._objective(candidate)
        # Near the solution objectives agree to the last digit; the optimality residual still tells them apart.
        level = value <= objective + ROUNDING * abs(objective)
        if value < objective or (level and self._distance(candidate) < self._distance(self.W)):
            self.W, objective = candidate, value
        return objective

    def _distance(self, W: Reals) -> float:
        """Return the largest violation of optimality at W."""
        return float(self.penalty.subdifferential_distance(W, self.datafit.gradient(W)).max(initial=0.0))

    def _objective(self, W: Reals) -> float:
        return self.datafit.value(W) + self.penalty.value(W)


def _row_blocks(labels: NDArray[np.intp]) -> list[slice]:
    """Cut rows into eight or more runs of whole groups, of at most ``BLOCK_ROWS`` rows but where a group has more."""
    most = max(1, min(BLOCK_ROWS, labels.size // 8))
    edges = np.flatnonzero(np.diff(labels, prepend=-1, append=-1))
    blocks, start = [], 0
    for first, last in itertools.pairwise(edges):
        if last - start > most and first > start:
            blocks.append(slice(start, int(first)))
            start = int(first)
    if labels.size:
        blocks.append(slice(start, labels.size))
    return blocks


def _start(W0: ArrayLike | None, shape: tuple[int, int]) -> Reals:
    if W0 is None:
        return np.zeros(shape)
    W: Reals = np.array(W0, dtype=np.float64)
    if W.shape != shape or not np.isfinite(W).all():
        raise InvalidInputError(f"W0 must be finite and of shape {shape}, got shape {W.shape}")
    return W
