"""What the kernels of this package have in common: checks, and blocks of rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError

__all__ = ["ROWS", "check_dtype", "check_gamma", "check_pair", "row_blocks"]

#: Rows of a kernel that are worked on at a time.
ROWS = 512


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return float64 or float32 as a dtype."""
    found: np.dtype[Any] = np.dtype(dtype)
    if found not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise InvalidInputError(f"dtype must be float64 or float32, got {found}")
    return found


def check_pair(A: ArrayLike, B: ArrayLike | None, dtype: DTypeLike) -> tuple[Reals, Reals | None]:
    """Return both arrays in one precision, checked; None stays None.

    Raises
    ------
    InvalidInputError
        If an array is not two-dimensional or holds NaN or infinity, or if the columns differ.
    """
    kind = check_dtype(dtype)
    left = _check(A, "A", kind)
    if B is None:
        return left, None
    right = _check(B, "B", kind)
    if left.shape[1] != right.shape[1]:
        raise InvalidInputError(f"A and B must have the same columns, got {left.shape[1]} and {right.shape[1]}")
    return left, right


def check_gamma(gamma: Any) -> float:
    """Return γ as a positive float."""
    is_real = isinstance(gamma, int | float | np.integer | np.floating) and not isinstance(gamma, bool)
    if not is_real or not 0.0 < gamma < np.inf:
        raise InvalidInputError(f"gamma must be a positive number, got {gamma!r}")
    return float(gamma)


def row_blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices that cover ``range(n)``."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


def _check(values: ArrayLike, name: str, dtype: np.dtype[Any]) -> Reals:
    array = np.asarray(values)
    if array.ndim != 2:
        raise InvalidInputError(f"{name} must have one row per photo, shape (n, d), got shape {array.shape}")
    converted: Reals = array.astype(dtype, copy=False)
    if not np.isfinite(converted).all():
        raise InvalidInputError(f"{name} must hold finite numbers; drop or fill such photos first")
    return converted
