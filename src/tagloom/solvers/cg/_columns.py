"""Conjugate gradients on one block of columns."""

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Reals
from tagloom.exceptions import NotPositiveDefiniteError
from tagloom.solvers.cg._systems import SWEEP, ColumnSystems

__all__ = ["ColumnBlock"]

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
