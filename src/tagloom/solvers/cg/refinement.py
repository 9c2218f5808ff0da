"""One block of columns solved to a float64 residual, whatever the precision of the iterations."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError, NotPositiveDefiniteError
from tagloom.solvers.cg.products import Product

__all__ = ["BlockSolve", "ColumnSystems", "Plan"]


# One matrix shared by all columns, and what is each column's own.

# Rows on which elementwise work is done at a time, so that what is in between stays in cache.
SWEEP = 1024


@dataclass(frozen=True)
class ColumnSystems:
    """For each column j the matrix ``scales_j (A + U diag(weights) Uᵀ) + diag(shifts_j)`` on the rows of ``mask_j``.

    All columns share the product with A, which is where the time goes; what differs per column is elementwise.
    """

    product: Product
    scales: Reals | None = None
    shifts: Reals | None = None
    mask: NDArray[Any] | None = None
    vectors: Reals | None = None
    weights: Reals | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.product.n

    def take(self, columns: Any) -> "ColumnSystems":
        """Return the systems of some columns (a slice or an index array)."""
        return replace(
            self,
            scales=None if self.scales is None else self.scales[columns],
            shifts=None if self.shifts is None else np.ascontiguousarray(self.shifts[:, columns]),
            mask=None if self.mask is None else np.ascontiguousarray(self.mask[:, columns]),
        )

    def restrict(self, rows: NDArray[np.intp]) -> "ColumnSystems | None":
        """Return the principal submatrices on some rows, or None if A is known by its products only."""
        product = self.product.restrict(rows)
        if product is None:
            return None
        shifts, mask = self.shifts, self.mask
        if shifts is not None and shifts.shape[0] > 1:
            shifts = shifts[rows]
        if mask is not None:
            mask = mask[rows]
            mask = None if mask.all() else mask
        vectors = None if self.vectors is None else self.vectors[rows]
        return replace(self, product=product, shifts=shifts, mask=mask, vectors=vectors)

    def astype(self, dtype: Any) -> "ColumnSystems":
        """Return the same systems in another precision."""
        dtype = np.dtype(dtype)
        return replace(
            self,
            product=self.product.astype(dtype),
            scales=None if self.scales is None else self.scales.astype(dtype),
            shifts=None if self.shifts is None else self.shifts.astype(dtype),
            # A product of floats with booleans would convert them on every call.
            mask=None if self.mask is None else self.mask.astype(dtype),
            vectors=None if self.vectors is None else self.vectors.astype(dtype),
        )

    def diagonal(self) -> Reals:
        """Return the diagonals, of shape (n, 1) if all columns agree, else (n, c)."""
        base = self.product.diagonal()
        if base is None:
            raise InvalidInputError(
                "A is known by its products only, so its diagonal cannot be read: give preconditioner=None or an "
                "array with the diagonal"
            )
        diagonal: Reals = np.asarray(base, dtype=np.float64)[:, None]
        if self.vectors is not None:
            diagonal = diagonal + (np.square(self.vectors) @ self.weights)[:, None]
        if self.scales is not None:
            diagonal = diagonal * self.scales
        return diagonal if self.shifts is None else diagonal + self.shifts

    def apply(self, block: Reals, out: Reals) -> None:
        """Write the product of each column with its own matrix into ``out``."""
        self.product.into(block, out)
        sweeps = [slice(first, first + SWEEP) for first in range(0, self.n, SWEEP)]
        if self.vectors is not None and self.weights is not None:
            for vector, weight in zip(self.vectors.T, self.weights, strict=True):
                inner = np.zeros(block.shape[1])
                for rows in sweeps:
                    inner += np.einsum("ij,i->j", block[rows], vector[rows])
                inner_cast = (weight * inner).astype(out.dtype)
                for rows in sweeps:
                    out[rows] += vector[rows, None] * inner_cast
        if self.scales is not None:
            out *= self.scales
        if self.shifts is not None:
            for rows in sweeps:
                out[rows] += block[rows] * (self.shifts if len(self.shifts) == 1 else self.shifts[rows])
        if self.mask is not None:
            out *= self.mask

    def residual(self, target: Reals, x: Reals) -> Reals:
        """Return ``target - (matrix of the column) x`` on the rows that are solved for."""
        result = np.empty_like(x)
        self.apply(x, result)
        np.subtract(target, result, out=result)
        if self.mask is not None:
            result *= self.mask
        return result


def column_norms(block: Reals) -> NDArray[np.float64]:
    """Return the Euclidean norm of each column, safe from overflow and underflow."""
    largest = np.abs(block).max(axis=0, initial=0.0).astype(np.float64)
    scale = np.where(largest > 0, largest, 1.0)
    scaled = block / scale
    norms: NDArray[np.float64] = scale * np.sqrt(np.einsum("ij,ij->j", scaled, scaled))
    return norms


# Conjugate gradients on one block of columns.

# Rows summed in the working precision before the partial sums are added in float64; divides SWEEP.
CHUNK = 64
# Relative residual below which a vanishing curvature is rounding, not a property of the matrix.
ROUNDING = 1e-11


class ColumnBlock:
    """Preconditioned conjugate gradients on several columns in step, from a zero start.

    Four buffers of shape (n, width) are allocated once. A column that is done is frozen (its step is zero), and once a
    quarter of the block is frozen the others are moved together, so that they alone take part in products. What
    happens to a column does not depend on its company: a block never gets narrower than two columns, because NumPy sums
    a single column in another order.

    Parameters
    ----------
    systems : ColumnSystems
        In the working precision.
    residual : ndarray of shape (n, w)
        Right-hand sides with columns of unit norm.
    inverse : ndarray of shape (n, 1) or (n, w) or None
        Inverse diagonal of the preconditioner.
    tolerance : ndarray of shape (w,)
        Norm of the residual at which a column is done.
    limit : ndarray of shape (w,)
        Most iterations of each column.
    names : ndarray of shape (w,)
        The columns' numbers in the caller's matrix, for messages.
    strict : bool
        Whether a curvature that is not positive is an error (float64) or ends the column (float32).
    """

    def __init__(
        self,
        systems: ColumnSystems,
        residual: Reals,
        inverse: Reals | None,
        tolerance: NDArray[np.float64],
        limit: NDArray[np.int64],
        names: NDArray[np.intp],
        *,
        strict: bool,
    ) -> None:
        self.systems, self.names, self.strict = systems, names, strict
        self.dtype = residual.dtype
        self.n, width = residual.shape
        self._padded = -(-self.n // CHUNK) * CHUNK
        self._buffers = [np.zeros(self._padded * width, dtype=self.dtype) for _ in range(4)]
        self._view(width)
        self.R[: self.n] = residual
        self.inverse = None if inverse is None else np.pad(inverse, ((0, self._padded - self.n), (0, 0)))
        self.largest_inverse = 1.0 if inverse is None else float(inverse.max(initial=0.0)) or 1.0
        self.solution = np.zeros((self.n, width), dtype=self.dtype)
        self.iterations = np.zeros(width, dtype=np.int64)
        self.target, self.limit = np.square(tolerance), limit
        self.places = np.arange(width)
        self.size = np.ones(width)
        self.live = (self._dot(self.R, self.R) > self.target) & (limit > 0)
        still = np.zeros(width, dtype=self.dtype)
        self.decrease = self._move(still)
        self._turn(still)

    def run(self) -> tuple[Reals, NDArray[np.int64]]:
        """Iterate until every column is done; return the solutions and each column's iterations."""
        while self.live.any():
            self._step()
            if 4 * np.count_nonzero(self.live) <= 3 * self.live.size and self.live.size > 2:
                self._compact()
        self.solution[:, self.places] = self.X[: self.n]
        return self.solution, self.iterations

    def _view(self, width: int) -> None:
        """Let X, R, P and Q be the buffers' beginnings, as matrices of this width."""
        self.X, self.R, self.P, self.Q = (
            buffer[: self._padded * width].reshape(self._padded, width) for buffer in self._buffers
        )
        # The rows beyond n only round the sums up to whole chunks: they have to stay zero.
        self.Q[self.n :] = 0
        self._sweeps = [slice(first, first + SWEEP) for first in range(0, self._padded, SWEEP)]
        self._partial = np.empty((self._padded // CHUNK, width), dtype=self.dtype)
        self._scratch = np.empty((min(SWEEP, self._padded), width), dtype=self.dtype)

    def _dot(self, left: Reals, right: Reals) -> NDArray[np.float64]:
        """Column-wise inner products: short runs in the working precision, their sums in float64."""
        shape = (-1, CHUNK, left.shape[1])
        np.einsum("kij,kij->kj", left.reshape(shape), right.reshape(shape), out=self._partial)
        total: NDArray[np.float64] = self._partial.sum(axis=0, dtype=np.float64)
        return total

    def _step(self) -> None:
        """Move every live column along its direction, then turn the directions."""
        self.systems.apply(self.P[: self.n], self.Q[: self.n])
        curvature = self._dot(self.P, self.Q)
        self._check_curvature(curvature)
        step = np.divide(self.decrease, curvature, out=np.zeros_like(curvature), where=self.live)
        decrease = self._move(step.astype(self.dtype))
        self.iterations[self.places] += self.live
        self._check_residual(decrease)
        turn = np.divide(decrease, self.decrease, out=np.zeros_like(decrease), where=self.live)
        self._turn(turn.astype(self.dtype))
        self.decrease = decrease
        self.live &= self.iterations[self.places] < self.limit[self.places]

    def _move(self, step: Reals) -> NDArray[np.float64]:
        """Add ``step · P`` to X, take ``step · Q`` from R, and return rᵀM⁻¹r of the new residuals."""
        shape = (-1, CHUNK, step.size)
        for rows in self._sweeps:
            R = self.R[rows]
            scratch = self._scratch[: len(R)]
            np.multiply(self.P[rows], step, out=scratch)
            self.X[rows] += scratch
            np.multiply(self.Q[rows], step, out=scratch)
            R -= scratch
            preconditioned = self._precondition(rows, scratch)
            sums = self._partial[rows.start // CHUNK : rows.stop // CHUNK]
            np.einsum("kij,kij->kj", R.reshape(shape), preconditioned.reshape(shape), out=sums)
        total: NDArray[np.float64] = self._partial.sum(axis=0, dtype=np.float64)
        return total

    def _turn(self, turn: Reals) -> None:
        """Replace P by ``M⁻¹R + turn · P``."""
        for rows in self._sweeps:
            P = self.P[rows]
            P *= turn
            P += self._precondition(rows, self._scratch[: len(P)])

    def _precondition(self, rows: slice, out: Reals) -> Reals:
        """Return some rows of M⁻¹R, written into ``out`` where anything is to compute."""
        if self.inverse is None:
            return self.R[rows]
        return np.multiply(self.R[rows], self.inverse[rows], out=out)

    def _check_residual(self, decrease: NDArray[np.float64]) -> None:
        """Freeze columns whose residual is small enough.

        ``decrease`` is rᵀM⁻¹r, at most ‖r‖² times the largest entry of M⁻¹: where even that bound is above the target,
        the norm need not be computed.
        """
        squared = decrease / self.largest_inverse
        if (squared <= self.target)[self.live].any():
            squared = self._dot(self.R, self.R)
            self.live &= squared > self.target
        self.size = np.sqrt(squared)

    def _check_curvature(self, curvature: NDArray[np.float64]) -> None:
        """Freeze columns whose curvature pᵀAp is lost to rounding; raise where A is to blame."""
        flat = self.live & ~(curvature > 0)
        if not flat.any():
            return
        guilty = flat & (self.size > ROUNDING)
        if self.strict and guilty.any():
            first = int(np.argmax(guilty))
            raise NotPositiveDefiniteError(
                f"A is not positive definite: pᵀAp = {curvature[first]:.3g} for a search direction p of column "
                f"{int(self.names[self.places[first]])}. Expected a symmetric positive definite matrix; add a small "
                f"positive diagonal, or fix at least one entry in each connected component"
            )
        self.live &= ~flat

    def _compact(self) -> None:
        """Write finished columns to the solution and move the live ones together."""
        keep = np.flatnonzero(self.live)
        if keep.size < 2:
            keep = np.union1d(keep, np.flatnonzero(~self.live)[: 2 - keep.size])
        gone = np.setdiff1d(np.arange(self.live.size), keep)
        self.solution[:, self.places[gone]] = self.X[: self.n, gone]
        scratch = self._buffers.pop()
        for position, matrix in enumerate((self.X, self.R, self.P)):
            moved = scratch[: self._padded * keep.size].reshape(self._padded, keep.size)
            np.take(matrix, keep, axis=1, out=moved)
            scratch, self._buffers[position] = self._buffers[position], scratch
        self._buffers.append(scratch)
        self._view(keep.size)
        self.systems = self.systems.take(keep)
        if self.inverse is not None and self.inverse.shape[1] > 1:
            self.inverse = np.ascontiguousarray(self.inverse[:, keep])
        self.places, self.live = self.places[keep], self.live[keep]
        self.target, self.size, self.decrease = self.target[keep], self.size[keep], self.decrease[keep]


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
