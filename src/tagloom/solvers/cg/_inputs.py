"""Arguments of `block_cg`: what is allowed, and what is chosen where nothing is said."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core.typing import Reals
from tagloom.exceptions import InvalidInputError

__all__ = [
    "check_block",
    "check_low_rank",
    "check_mask",
    "check_max_iter",
    "check_scales",
    "check_shifts",
    "choose_block_width",
    "choose_dtype",
]

# A row of a block as wide as three cache lines: measured best for products that gather rows of the block.
ROW_BYTES = 192


def choose_block_width(block_size: int | None, dtype: np.dtype[Any]) -> int:
    """Return the most columns of a block: three cache lines per row unless one is given."""
    if block_size is None:
        return max(2, ROW_BYTES // dtype.itemsize)
    if block_size < 1:
        raise InvalidInputError(f"block_size must be at least 1, got {block_size!r}")
    return max(2, int(block_size))


def check_max_iter(max_iter: int | None, n: int) -> int:
    """Return the most iterations of a column."""
    if max_iter is None:
        return max(100, min(10 * n, 5000))
    if max_iter < 0:
        raise InvalidInputError(f"max_iter must be at least 0, got {max_iter!r}")
    return int(max_iter)


def choose_dtype(dtype: str | None, B: Reals) -> np.dtype[Any]:
    """Return the precision of the iterations: that of B unless one is given."""
    if dtype not in (None, "float32", "float64"):
        raise InvalidInputError(f"dtype must be 'float32', 'float64' or None, got {dtype!r}")
    return np.dtype(dtype or B.dtype)


def check_block(name: str, values: ArrayLike, shape: tuple[int, int] | None = None) -> Reals:
    """Return a finite two-dimensional float array, of one shape where that matters."""
    array = np.asarray(values)
    if array.ndim != 2 or (shape is not None and array.shape != shape):
        expected = "two dimensions (rows, columns)" if shape is None else f"shape {shape}"
        raise InvalidInputError(f"{name} must have {expected}, got shape {array.shape}")
    if array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInputError(
            f"{name} must hold finite numbers, got {array[row, column]} at row {row}, column {column}"
        )
    return array


def check_scales(scales: ArrayLike | None, c: int) -> NDArray[np.float64] | None:
    """Validate the factors of A."""
    if scales is None:
        return None
    array = np.asarray(scales, dtype=np.float64)
    if array.shape != (c,) or not (array >= 0).all() or not np.isfinite(array).all():
        raise InvalidInputError(f"scales must be {c} finite numbers of at least 0, one per column")
    return array


def check_shifts(shifts: ArrayLike | None, n: int, c: int) -> Reals | None:
    """Return the shifts with two dimensions, (1, c) or (n, c)."""
    if shifts is None:
        return None
    array = np.asarray(shifts, dtype=np.float64)
    return check_block("shifts", array[None, :] if array.ndim == 1 else array, (1, c) if array.ndim == 1 else (n, c))


def check_mask(column_mask: ArrayLike | None, n: int, c: int) -> NDArray[np.bool_] | None:
    """Return the mask, or None where every entry is solved for."""
    if column_mask is None:
        return None
    array = np.asarray(column_mask)
    if array.shape != (n, c) or array.dtype != bool:
        raise InvalidInputError(
            f"column_mask must be boolean of shape {(n, c)}, got {array.dtype} of shape {array.shape}"
        )
    return None if array.all() else array


def check_low_rank(low_rank: tuple[ArrayLike, ArrayLike] | None, n: int) -> dict[str, Reals]:
    """Return the two fields of `ColumnSystems` that a low-rank term fills."""
    if low_rank is None:
        return {}
    vectors = np.asarray(low_rank[0], dtype=np.float64)
    vectors = vectors[:, None] if vectors.ndim == 1 else vectors
    weights = np.atleast_1d(np.asarray(low_rank[1], dtype=np.float64))
    if vectors.shape != (n, weights.size):
        raise InvalidInputError(
            f"low_rank must be (U, weights) with U of shape ({n}, r) and r weights, got {vectors.shape} and "
            f"{weights.shape}"
        )
    return {
        "vectors": check_block("U of low_rank", vectors),
        "weights": check_block("weights of low_rank", weights[:, None])[:, 0],
    }
