"""Penalised least squares for many tags on one Gram matrix, each tag with groups and a strength of its own."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.solvers.groups.axes import axes_of_rows, own_axes, plain_axes
from tagloom.solvers.groups.penalties import Norm, Radial
from tagloom.solvers.groups.problem import GroupProblem
from tagloom.solvers.groups.splitting import split
from tagloom.solvers.groups.state import GroupState

__all__ = ["GroupColumns", "GroupColumnsResult"]


# One descent of many tags: where each is, and how the rounds bring it on.

#: Rounds between two gradients computed anew.
REFRESH = 5


class Descent:
    """One descent: where every tag is.

    Parameters
    ----------
    problem : GroupProblem
        The matrices and groups.
    radial : Radial
        The penalty of a length.
    strengths : array of shape (c,) or (k c,)
        λ of each tag, or of each tag at several points one after another, which are descents of their own.
    W, G : arrays of shape (r, c) or (r, k c)
        Coefficients, and the gradient of the smooth part there if it is known.
    """

    def __init__(
        self, problem: GroupProblem, radial: Radial, strengths: Floats, W: Floats, G: Floats | None = None
    ) -> None:
        self.problem, self.radial, self.strengths = problem, radial, strengths
        n_tags = max(1, problem.axes.B.shape[1])
        self.n_points = max(1, strengths.size // n_tags)
        self.points, self.tags = np.divmod(np.arange(strengths.size), n_tags)
        self.W: Floats = np.array(W, dtype=np.float64)
        self.G: Floats = problem.axes.A @ self.W - problem.axes.B[:, self.tags] if G is None else np.array(G)
        whole = self.state(np.arange(strengths.size))
        self.values, self.optimality = whole.values(), whole.optimality()
        self.history = [self.values.copy()]
        self.n_iter = 0

    def state(self, live: NDArray[np.intp]) -> GroupState:
        """Return some tags, to be moved."""
        W, G = self.W[:, live], self.G[:, live]
        return GroupState(self.problem, self.radial, self.strengths[live], W, G, self.tags[live])

    def keep(self, live: NDArray[np.intp], state: GroupState, tol: float) -> NDArray[np.intp]:
        """Take over where some tags have got to, and return which are not done; done by a gradient computed anew."""
        optimality = state.optimality()
        due = self.n_iter % REFRESH == REFRESH - 1
        if due or (optimality <= tol).any():
            state.refresh(all_tags=due, some=optimality <= tol)
            optimality = state.optimality()
        self.W[:, live], self.G[:, live] = state.W, state.G
        self.values[live], self.optimality[live] = state.values(), optimality
        self.history.append(self.values.copy())
        self.n_iter += 1
        return live[optimality > tol]

    def split(self, live: NDArray[np.intp], tol: float) -> NDArray[np.intp]:
        """Move some tags of a convex problem to where splitting takes them, if lower; return which are not done."""
        state = self.state(live)
        limits = (state.limits, state.entry_limits)
        W = split(self.problem, limits, state.W, state.G, state.tags)
        other = GroupState(self.problem, self.radial, self.strengths[live], W, np.empty_like(W), state.tags)
        other.refresh(all_tags=True)
        values = other.values()
        lower = values < self.values[live]
        moved = live[lower]
        self.W[:, moved], self.G[:, moved] = other.W[:, lower], other.G[:, lower]
        self.values[moved], self.optimality[moved] = values[lower], other.optimality()[lower]
        self.history.append(self.values.copy())
        return np.flatnonzero(self.optimality > tol)

    def take_better(self, other: "Descent") -> None:
        """Take the other descent's end where it is lower."""
        better = other.values < self.values
        self.W[:, better], self.G[:, better] = other.W[:, better], other.G[:, better]
        self.values[better], self.optimality[better] = other.values[better], other.optimality[better]
        self.n_iter += other.n_iter
        self.history.append(self.values.copy())


def joined(runs: list[Descent], radial: Radial) -> Descent:
    """Return a descent from where several of one point each have got to, under another penalty."""
    first = runs[0]
    strengths, W, G = (
        np.concatenate([getattr(run, name) for run in runs], axis=-1) for name in ("strengths", "W", "G")
    )
    return Descent(first.problem, radial, strengths, W, G)


#: Passes over the groups before a Newton step; before the first one of a cold start, or while less than this share of
#: the tags takes whole steps, more.
PASSES, MORE_PASSES, SETTLED = 1, 4, 0.75
#: Residual of the group lasso from which a concave penalty starts.
ROUGH = 1e-2
#: From so many groups on, and above this residual, a convex problem is first solved roughly by splitting.
MANY_GROUPS, SPLIT_ABOVE = 50, 3e-3
#: Columns, one for each tag and point of a path, and numbers in a matrix of them, that go down together at most.
WIDEST, NUMBERS = 512, 1 << 20


@dataclass(frozen=True)
class GroupColumnsResult:
    """Result of `GroupColumns.solve`.

    Attributes
    ----------
    coef : ndarray of shape (d, c)
        Groups that a tag does not use are exactly zero.
    values : ndarray of shape (c,)
        Objective of each tag, without the constant ½yᵀy.
    objective : list of float
        Their sum after every round; it rises by rounding at most. Of `GroupColumns.approximate` the last entry is after
        short groups were set to zero, which may raise it.
    optimality : ndarray of shape (c,)
        Largest distance, over groups, of minus the gradient from the penalty's subdifferential, relative to the
        smallest strength at which the tag uses nothing.
    n_iter : int
        Rounds.
    converged : bool
        Whether every tag is within the tolerance.
    """

    coef: Floats
    values: Floats
    objective: list[float] = field(repr=False)
    optimality: Floats = field(repr=False)
    n_iter: int
    converged: bool


class GroupColumns(GroupProblem):
    """Penalised quadratics ``½ βᵀAβ - bᵀβ + Σ_g p(‖β_g‖; λ w_g)``, one for each column b of B.

    Parameters
    ----------
    A : array of shape (d, d)
        Positive semidefinite, XᵀX/n as a rule. Shared by all tags.
    B : array of shape (d, c)
        One column for each tag.
    sizes : array of shape (g,)
        Columns of each group, in order.
    weights : array of shape (g,), optional
        w, positive. Default: ones.
    entry_share : float, default=0.0
        Of the strength this share is put on the absolute values of the entries: the sparse group lasso.

    Notes
    -----
    Every group is turned to the principal axes of its own block of A, which its norm does not see. There the minimum
    over one group, the others fixed, is one equation for a length, solved for all tags at once. Passes over the groups
    find out which are used; Newton steps on these do the rest (`tagloom.solvers.groups.newton`). A tag that is done
    leaves. With an ``entry_share`` columns stay as they are, and a pass takes proximal steps.
    """

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        sizes: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        entry_share: float = 0.0,
    ) -> None:
        if not 0 <= entry_share < 1:
            raise InvalidInputError(f"entry_share must be at least 0 and below 1, got {entry_share!r}")
        lengths = np.asarray(sizes, dtype=np.intp)
        turn = plain_axes if entry_share > 0 else own_axes
        axes = turn(np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64), lengths)
        super().__init__(axes, lengths.size, weights, float(entry_share))

    @classmethod
    def from_rows(
        cls, X: ArrayLike, Y: ArrayLike, sizes: ArrayLike, *, weights: ArrayLike | None = None
    ) -> "GroupColumns":
        """Return the problem of A = XᵀX/n and B = XᵀY/n without A: for groups with more columns than X has rows.

        Parameters
        ----------
        X, Y : arrays of shape (n, d) and (n, c)
            Centred columns and targets.
        sizes, weights : arrays of shape (g,)
            As of the class.
        """
        rows, targets = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        lengths = np.asarray(sizes, dtype=np.intp)
        if rows.ndim != 2 or len(rows) != len(targets) or lengths.sum() != rows.shape[1] or (lengths < 1).any():
            raise InvalidInputError(
                f"X must be (n, d), Y (n, c) and the sizes add up to d, got {rows.shape}, {targets.shape} and sizes of "
                f"sum {lengths.sum()}"
            )
        problem = cls.__new__(cls)
        GroupProblem.__init__(problem, axes_of_rows(rows, targets, lengths), lengths.size, weights, 0.0)
        return problem

    def solve(
        self,
        radial: Radial,
        strengths: ArrayLike,
        *,
        W0: ArrayLike | None = None,
        dense: bool = True,
        tol: float = 1e-6,
        max_iter: int = 200,
    ) -> GroupColumnsResult:
        """Minimise for every tag.

        Parameters
        ----------
        radial : Radial
            The penalty of a length: `Norm`, `SCAD` or `MCP`.
        strengths : float or array of shape (c,)
            λ, positive.
        W0 : array of shape (d, c), optional
            Start. Default: zero for a convex penalty. For a concave one the group lasso of the same strength and, if
            there are at most 50 groups, least squares with a little ridge: each tag keeps the better end.
        dense : bool, default=True
            Whether a concave penalty has the second start.
        tol : float, default=1e-6
            Largest optimality residual of a tag that is done.
        max_iter : int, default=200
            Most rounds from one start.

        Returns
        -------
        GroupColumnsResult
            Coefficients, values, certificate.

        Warns
        -----
        ConvergenceWarning
            If a tag is not done after ``max_iter`` rounds.
        """
        chosen = self._check_strengths(strengths)
        if W0 is not None:
            state = self._descend(Descent(self, radial, chosen, self._start(W0)), tol, max_iter, warm=True)
        elif radial.convex:
            state = self._descend(self._zero(radial, chosen), tol, max_iter)
        else:
            convex = self._descend(self._zero(Norm(), chosen), max(tol, ROUGH), max_iter)
            state = self._concave(joined([convex], radial), tol, max_iter, dense=dense)
        result = self._result(state, tol)
        if not result.converged:
            warnings.warn(
                f"{int((result.optimality > tol).sum())} of {chosen.size} tags were left at an optimality residual of "
                f"up to {result.optimality.max():.2g} after {result.n_iter} rounds, above tol={tol:g}. Raise max_iter "
                f"or tol, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return result

    def _check_strengths(self, strengths: ArrayLike) -> Floats:
        chosen = np.asarray(strengths, dtype=np.float64)
        if chosen.shape not in ((), (self.shape[1],)) or not (np.isfinite(chosen).all() and (chosen > 0).all()):
            raise InvalidInputError(f"strengths must be positive numbers, one or {self.shape[1]}, got {strengths!r}")
        return np.broadcast_to(chosen, (self.shape[1],))

    def _start(self, W0: ArrayLike) -> Floats:
        W = np.asarray(W0, dtype=np.float64)
        if W.shape != self.shape or not np.isfinite(W).all():
            raise InvalidInputError(f"W0 must be finite and of shape {self.shape}, got shape {W.shape}")
        return self.axes.turn(W)

    def _concave(self, run: Descent, tol: float, max_iter: int, *, dense: bool) -> Descent:
        """Descend from the group lasso, where the run is, and from least squares; keep the better end of each tag."""
        self._descend(run, tol, max_iter, warm=True)
        if dense and self.weights.size <= MANY_GROUPS:
            other = Descent(self, run.radial, run.strengths, self.dense_start[:, run.tags])
            run.take_better(self._descend(other, tol, max_iter, warm=True))
        return run

    def _zero(self, radial: Radial, chosen: Floats) -> Descent:
        return Descent(self, radial, chosen, np.zeros_like(self.axes.B), -self.axes.B)

    def _descend(self, run: Descent, tol: float, max_iter: int, *, warm: bool = False) -> Descent:
        """Take rounds of passes and a Newton step until every tag is done."""
        live = np.flatnonzero(run.optimality > tol)
        many = self.entry_share > 0 or self.weights.size > MANY_GROUPS
        splits = self.single is not None and many and run.radial.convex
        if splits and (run.optimality > SPLIT_ABOVE).any():
            live = run.split(np.flatnonzero(run.optimality > SPLIT_ABOVE), tol)
        passes = np.full(run.n_points, PASSES if warm else MORE_PASSES)
        while live.size and run.n_iter < max_iter:
            state, points = run.state(live), run.points[live]
            for number in range(passes[points].max()):
                state.sweep(passes[points] > number)
            left = state.optimality() > tol
            if left.any():
                # Where steps are cut short, which groups are used is not settled.
                whole, steps = (np.bincount(points[some], minlength=passes.size) for some in (state.newton(left), left))
                passes = np.where(steps == 0, passes, np.where(whole > SETTLED * steps, PASSES, MORE_PASSES))
            live = run.keep(live, state, tol)
        return run

    def path(
        self, radial: Radial, strengths: ArrayLike, *, dense: bool = True, tol: float = 1e-6, max_iter: int = 200
    ) -> Iterator[GroupColumnsResult]:
        """Minimise for one set of strengths after another, each from the ones before.

        Parameters
        ----------
        radial : Radial
            The penalty of a length.
        strengths : array of shape (k, c)
            One row for each point, from large to small as a rule.
        dense, tol, max_iter : bool, float, int
            As in `solve`.

        Yields
        ------
        GroupColumnsResult
            One for each row. For a concave penalty each is what `solve` gives for it, with the group lasso that it
            starts from taken along the path; several points go down together, and ``n_iter`` is of all of them.
        """
        points = np.array([self._check_strengths(row) for row in np.asarray(strengths, dtype=np.float64)])
        if radial.convex:
            yield from (self._result(run, tol) for run in self._walk(radial, points, tol, max_iter))
            return
        walk = self._walk(Norm(), points, max(tol, ROUGH), max_iter)
        together = max(1, min(WIDEST, NUMBERS // max(1, len(self.axes.B))) // max(1, self.shape[1]))
        while runs := list(islice(walk, together if self.shape[1] else 1)):
            found = self._concave(joined(runs, radial), tol, max_iter, dense=dense)
            yield from (self._result(found, tol, point) for point in range(len(runs)))

    def _walk(self, radial: Radial, points: Floats, tol: float, max_iter: int) -> Iterator[Descent]:
        """Descend under a convex penalty for one row of strengths after another."""
        runs: list[Descent] = []
        for row in points:
            run = self._descend(self._foreseen(radial, row, runs), tol, max_iter, warm=True)
            runs = [*runs[-1:], run]
            yield run

    def _foreseen(self, radial: Radial, chosen: Floats, runs: list[Descent]) -> Descent:
        """Start from the point before, or where the way to it leads on to, whichever is lower."""
        if not runs:
            return self._zero(radial, chosen)
        last = runs[-1]
        start = Descent(self, radial, chosen, last.W, last.G)
        if len(runs) > 1:
            step = last.strengths - runs[0].strengths
            ratio = np.divide(chosen - last.strengths, step, out=np.zeros_like(step), where=step != 0)
            # The gradient is linear in W, so the way on costs no product with the matrix.
            W, G = last.W + ratio * (last.W - runs[0].W), last.G + ratio * (last.G - runs[0].G)
            start.take_better(Descent(self, radial, chosen, W, G))
            start.history = start.history[-1:]
        return start

    def approximate(
        self,
        radial: Radial,
        strengths: ArrayLike,
        *,
        ridge: float | None = None,
        threshold: float = 1e-3,
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> GroupColumnsResult:
        """Go down by local quadratic approximation, the papers' own algorithm: a group that is gone stays so.

        Parameters
        ----------
        radial : Radial
            The penalty of a length.
        strengths : float or array of shape (c,)
            λ, positive.
        ridge : float, optional
            Of the least squares at the start. Default: a thousandth of the mean of A's diagonal.
        threshold : float, default=1e-3
            Groups shorter than this at the end are set to zero (ε₁).
        tol : float, default=1e-6
            Change of a tag's coefficients, relative to their length, at which it is done.
        max_iter : int, default=100
            Most systems for one tag.

        Returns
        -------
        GroupColumnsResult
            ``optimality`` is that of the end point, which the method does not look at.
        """
        if self.entry_share > 0:
            raise InvalidInputError("local quadratic approximation is for penalties of groups, without an entry_share")
        start = self.dense_start if ridge is None else self.least_squares(ridge)
        run = Descent(self, radial, self._check_strengths(strengths), start)
        live = np.arange(run.strengths.size)
        while live.size and run.n_iter < max_iter:
            state = run.state(live)
            change = state.approximate()
            run.keep(live, state, -1.0)
            length = np.sqrt(np.einsum("kc,kc->c", state.W, state.W))
            live = live[change > tol * length]
        short = self.axes.layout.norms(run.W) < threshold
        last = Descent(self, radial, run.strengths, np.where(short[self.axes.layout.group_of], 0.0, run.W))
        last.n_iter, last.history = run.n_iter, [*run.history, *last.history]
        return self._result(last, tol)

    def _result(self, run: Descent, tol: float, point: int = 0) -> GroupColumnsResult:
        own = run.points == point
        optimality, objective = run.optimality[own], [float(values[own].sum()) for values in run.history]
        coef, converged = self.axes.turn_back(run.W[:, own]), bool((optimality <= tol).all())
        return GroupColumnsResult(coef, run.values[own], objective, optimality, run.n_iter, converged)
