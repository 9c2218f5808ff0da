"""One matrix shared by all columns, and what is each column's own."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Reals
from tagloom.exceptions import InvalidInputError
from tagloom.solvers.cg.products import Product

__all__ = ["SWEEP", "ColumnSystems", "column_norms"]

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
