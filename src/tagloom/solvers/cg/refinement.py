"""One block of columns solved to a float64 residual, whatever the precision of the iterations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Reals
from tagloom.solvers.cg._columns import ColumnBlock
from tagloom.solvers.cg._systems import ColumnSystems, column_norms

__all__ = ["BlockSolve", "Plan"]

# Largest gain that one pass is asked for; below it the iterations' own residual has lost touch with the true one.
SMALLEST_GAIN = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-13}
# Where the true residual ends this many times above the iterations' own, float32 is given up: more of its passes
# would cost more than float64.
DRIFT = 10.0
# A pass stops a little below its aim, so that the true residual seldom ends just above.
MARGIN = 0.9


@dataclass(frozen=True)
class Plan:
    """What all blocks have in common: the systems, the preconditioner and when to stop."""

    systems: ColumnSystems
    inverse: Reals | None
    dtype: np.dtype[Any]
    tol: float
    max_iter: int
    refine: bool


class BlockSolve:
    """Passes of conjugate gradients on what is left of the right-hand side.

    Parameters
    ----------
    plan : Plan
        Of the whole matrix.
    columns : slice
        The columns of this block.
    target : ndarray of float64, shape (n, w)
        Right-hand sides; zero in rows that are not solved for.
    x : ndarray of float64, shape (n, w)
        Start; zero in rows that are not solved for. Changed in place.
    """

    def __init__(self, plan: Plan, columns: slice, target: Reals, x: Reals) -> None:
        self.plan, self.target, self.x = plan, target, x
        self.names = np.arange(columns.start, columns.stop)
        self.systems = plan.systems.take(columns).astype(np.float64)
        self.size = column_norms(target)
        x[:, self.size == 0] = 0
        self.left = self.systems.residual(target, x) if x.any() else target.copy()
        self.relative = self._ratio(column_norms(self.left), self.size)
        self.n_iter = np.zeros(self.names.size, dtype=np.int64)

    def run(self) -> tuple[Reals, NDArray[np.int64], NDArray[np.float64]]:
        """Return the solution, each column's iterations and its relative residual."""
        working = self.plan.dtype
        while True:
            open_columns = np.flatnonzero((self.relative > self.plan.tol) & (self.n_iter < self.plan.max_iter))
            if open_columns.size == 0:
                break
            gain, aim = self._pass(self._with_company(open_columns), working)
            if not self.plan.refine or (working == np.float64 and not (gain < 0.5).any()):
                break
            if (gain > DRIFT * aim).any():
                working = np.dtype(np.float64)
        return self.x, self.n_iter, self.relative

    def _with_company(self, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Add a finished column to a single one: alone, its sums would be taken in another order."""
        if columns.size > 1 or self.names.size == 1:
            return columns
        other = 1 if columns[0] == 0 else 0
        return np.union1d(columns, [other])

    def _pass(
        self, columns: NDArray[np.intp], working: np.dtype[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Solve for the residual of some columns and add the solution.

        Returns, for the open ones, the factor by which the residual fell and the one that was aimed at.
        """
        before = self.relative[columns]
        unfinished = before > self.plan.tol
        scale = before * self.size[columns]
        budget = np.where(unfinished, self.plan.max_iter - self.n_iter[columns], 0)
        if working != np.float64 and self.plan.refine:
            budget = (budget + 3) // 4  # float64 has to have its turn where float32 does not suffice
        wanted = MARGIN * self._ratio(np.full(before.shape, self.plan.tol), before)
        aim = np.maximum(wanted, SMALLEST_GAIN[working])
        block = ColumnBlock(
            (self.systems if columns.size == self.names.size else self.systems.take(columns)).astype(working),
            self._unit(columns, scale, working),
            self._inverse(columns, working),
            aim,
            budget,
            self.names[columns],
            strict=working == np.float64,
        )
        step, used = block.run()
        self.n_iter[columns] += used
        after = self._add(columns, step * scale, keep_worse=working == np.float64 or not self.plan.refine)
        return self._ratio(after, before)[unfinished], aim[unfinished]

    def _add(self, columns: NDArray[np.intp], step: Reals, *, keep_worse: bool) -> NDArray[np.float64]:
        """Add a step to some columns and return their new relative residuals.

        A float32 step that raises the residual is dropped; a float64 one is kept, as it lowers the error in the norm of
        A even where the residual rises.
        """
        everything = columns.size == self.names.size
        part: Any = slice(None) if everything else columns
        systems = self.systems if everything else self.systems.take(columns)
        step += self.x[:, part]
        left = systems.residual(self.target[:, part], step)
        relative = self._ratio(column_norms(left), self.size[part])
        taken = np.ones(columns.size, dtype=bool) if keep_worse else relative < self.relative[part]
        if everything and taken.all():
            self.x, self.left, self.relative = step, left, relative
        else:
            chosen = columns[taken]
            self.x[:, chosen], self.left[:, chosen] = step[:, taken], left[:, taken]
            self.relative[chosen] = relative[taken]
        return relative

    def _unit(self, columns: NDArray[np.intp], scale: Reals, working: np.dtype[Any]) -> Reals:
        """Return what is left of some columns, brought to unit norm."""
        left = self.left if columns.size == self.names.size else self.left[:, columns]
        return (left * self._ratio(np.ones_like(scale), scale)).astype(working)

    def _inverse(self, columns: NDArray[np.intp], working: np.dtype[Any]) -> Reals | None:
        inverse = self.plan.inverse
        if inverse is None:
            return None
        if inverse.shape[1] > 1:
            inverse = inverse[:, self.names[columns]]
        return np.ascontiguousarray(inverse, dtype=working)

    @staticmethod
    def _ratio(above: Reals, below: Reals) -> NDArray[np.float64]:
        """Divide, with zero for anything over zero."""
        quotient = np.zeros(above.shape)
        np.divide(above, below, out=quotient, where=np.broadcast_to(below > 0, above.shape))
        return quotient
