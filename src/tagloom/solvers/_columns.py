"""Conjugate gradients on one block of columns: the systems, and the loop over them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.solvers._products import FloatArray, Product
from tagloom.solvers.errors import NotPositiveDefiniteError

__all__ = ["ColumnBlock", "ColumnSystems", "column_norms"]

# Rows summed in the working precision before the partial sums are added in float64.
CHUNK = 64
# Relative residual below which a vanishing curvature is rounding, not a property of the matrix.
ROUNDING = 1e-11


@dataclass(frozen=True)
class ColumnSystems:
    """For each column j the matrix ``scales_j (A + U diag(weights) Uᵀ) + diag(shifts_j)`` on the rows of ``mask_j``.

    All columns share the product with A, which is where the time goes; what differs per column is elementwise.
    """

    product: Product
    scales: FloatArray | None = None
    shifts: FloatArray | None = None
    mask: NDArray[Any] | None = None
    vectors: FloatArray | None = None
    weights: FloatArray | None = None

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

    def diagonal(self) -> FloatArray:
        """Return the diagonals, of shape (n, 1) if all columns agree, else (n, c)."""
        base = self.product.diagonal()
        if base is None:
            raise InvalidInputError(
                "A is known by its products only, so its diagonal cannot be read: give preconditioner=None or an "
                "array with the diagonal"
            )
        diagonal: FloatArray = np.asarray(base, dtype=np.float64)[:, None]
        if self.vectors is not None:
            diagonal = diagonal + (np.square(self.vectors) @ self.weights)[:, None]
        if self.scales is not None:
            diagonal = diagonal * self.scales
        return diagonal if self.shifts is None else diagonal + self.shifts

    def apply(self, block: FloatArray, out: FloatArray, scratch: FloatArray) -> None:
        """Write the product of each column with its own matrix into ``out``; ``scratch`` has the same shape."""
        self.product.into(block, out)
        if self.vectors is not None and self.weights is not None:
            for vector, weight in zip(self.vectors.T, self.weights, strict=True):
                np.multiply(block, vector[:, None], out=scratch)
                inner = (weight * scratch.sum(axis=0, dtype=np.float64)).astype(out.dtype)
                np.multiply(vector[:, None], inner, out=scratch)
                out += scratch
        if self.scales is not None:
            out *= self.scales
        if self.shifts is not None:
            np.multiply(block, self.shifts, out=scratch)
            out += scratch
        if self.mask is not None:
            out *= self.mask

    def residual(self, target: FloatArray, x: FloatArray) -> FloatArray:
        """Return ``target - (matrix of the column) x`` on the rows that are solved for."""
        result, scratch = np.empty_like(x), np.empty_like(x)
        self.apply(x, result, scratch)
        np.subtract(target, result, out=result)
        if self.mask is not None:
            result *= self.mask
        return result


def column_norms(block: FloatArray) -> NDArray[np.float64]:
    """Return the Euclidean norm of each column, safe from overflow and underflow."""
    largest = np.abs(block).max(axis=0, initial=0.0).astype(np.float64)
    scale = np.where(largest > 0, largest, 1.0)
    scaled = block / scale
    norms: NDArray[np.float64] = scale * np.sqrt(np.einsum("ij,ij->j", scaled, scaled))
    return norms


class ColumnBlock:
    """Preconditioned conjugate gradients on several columns in step, from a zero start.

    Five buffers of shape (n, width) are allocated once. A column that is done is frozen (its step is zero), and once a
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
        residual: FloatArray,
        inverse: FloatArray | None,
        tolerance: NDArray[np.float64],
        limit: NDArray[np.int64],
        names: NDArray[np.intp],
        *,
        strict: bool,
    ) -> None:
        self.systems, self.inverse, self.names, self.strict = systems, inverse, names, strict
        self.dtype = residual.dtype
        self.n, width = residual.shape
        self._padded = -(-self.n // CHUNK) * CHUNK
        self._buffers = [np.zeros(self._padded * width, dtype=self.dtype) for _ in range(5)]
        self._view(width)
        self.R[: self.n] = residual
        self.solution = np.zeros((self.n, width), dtype=self.dtype)
        self.iterations = np.zeros(width, dtype=np.int64)
        self.target, self.limit = np.square(tolerance), limit
        self.places = np.arange(width)
        self.size = np.ones(width)
        self.largest_inverse = 1.0 if inverse is None else float(inverse.max(initial=0.0)) or 1.0
        self.live = (self._dot(self.R, self.R) > self.target) & (limit > 0)
        self._precondition()
        self.decrease = self._dot(self.R, self.T)
        self.P[:] = self.T

    def run(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """Iterate until every column is done; return the solutions and each column's iterations."""
        while self.live.any():
            self._step()
            if 4 * np.count_nonzero(self.live) <= 3 * self.live.size and self.live.size > 2:
                self._compact()
        self.solution[:, self.places] = self.X[: self.n]
        return self.solution, self.iterations

    def _view(self, width: int) -> None:
        """Let X, R, P, Q and T be the buffers' beginnings, as matrices of this width."""
        self.X, self.R, self.P, self.Q, self.T = (
            buffer[: self._padded * width].reshape(self._padded, width) for buffer in self._buffers
        )
        # The rows beyond n only round the sums up to whole chunks: they have to stay zero.
        self.Q[self.n :] = 0
        self.T[self.n :] = 0

    def _dot(self, left: FloatArray, right: FloatArray) -> NDArray[np.float64]:
        """Column-wise inner products: short runs in the working precision, their sums in float64."""
        width = left.shape[1]
        shape = (-1, CHUNK, width)
        partial = np.einsum("kij,kij->kj", left.reshape(shape), right.reshape(shape))
        total: NDArray[np.float64] = partial.sum(axis=0, dtype=np.float64)
        return total

    def _precondition(self) -> None:
        if self.inverse is None:
            self.T[:] = self.R
        else:
            np.multiply(self.R[: self.n], self.inverse, out=self.T[: self.n])

    def _step(self) -> None:
        """Move every live column along its direction, then turn the directions."""
        n = self.n
        self.systems.apply(self.P[:n], self.Q[:n], self.T[:n])
        curvature = self._dot(self.P, self.Q)
        self._check_curvature(curvature)
        step = np.divide(self.decrease, curvature, out=np.zeros_like(curvature), where=self.live)
        step_cast = step.astype(self.dtype)
        np.multiply(self.P, step_cast, out=self.T)
        self.X += self.T
        self.Q *= step_cast
        self.R -= self.Q
        self.iterations[self.places] += self.live
        self._precondition()
        decrease = self._dot(self.R, self.T)
        self._check_residual(decrease)
        turn = np.divide(decrease, self.decrease, out=np.zeros_like(decrease), where=self.live)
        self.P *= turn.astype(self.dtype)
        self.P += self.T
        self.decrease = decrease
        self.live &= self.iterations[self.places] < self.limit[self.places]

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
                f"{int(self.names[self.places[first]])}. Expected a symmetric positive definite matrix; add "
                f"a small positive "
                f"diagonal, or fix at least one entry in each connected component"
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
