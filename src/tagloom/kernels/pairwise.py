"""Kernels that compare rows pair by pair, in blocks of rows: inner products, Gaussian, exponential χ²."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError

__all__ = [
    "ROWS",
    "check_dtype",
    "check_gamma",
    "check_pair",
    "chi2_distances",
    "chi2_kernel",
    "linear_kernel",
    "rbf_kernel",
    "row_blocks",
]

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


def linear_kernel(
    A: ArrayLike, B: ArrayLike | None = None, *, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Return ``K[i, j] = A[i]·B[j]`` of all pairs of rows.

    Parameters
    ----------
    A : array of shape (n, d)
        Finite numbers.
    B : array of shape (m, d), optional
        Other rows; default: A itself, at half the cost and exactly symmetric.
    dtype : {float64, float32}, default=float64
        In which the products are computed and returned.

    Examples
    --------
    >>> linear_kernel([[1.0, 2.0], [0.0, 3.0]])
    array([[5., 6.],
           [6., 9.]])
    """
    left, right = check_pair(A, B, dtype)
    # A product of an array with its own transpose is the one numpy hands to a symmetric routine.
    return left @ left.T if right is None else left @ right.T


def rbf_kernel(
    A: ArrayLike, B: ArrayLike | None = None, *, gamma: float, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Return ``K[i, j] = exp(-gamma ‖A[i] - B[j]‖²)`` of all pairs of rows.

    Parameters
    ----------
    A : array of shape (n, d)
        Finite numbers.
    B : array of shape (m, d), optional
        Other rows; default: A itself, at half the cost, exactly symmetric with a diagonal of exactly 1.
    gamma : float
        θ of the LPSSVM paper; see `tagloom.kernels.default_gamma`.
    dtype : {float64, float32}, default=float64
        In which distances are computed and returned.

    Notes
    -----
    Squared distances are ``‖a‖² + ‖b‖² - 2a·b`` of rows less their mean: an error of about d times the rounding unit,
    relative to the largest squared norm that is left.

    Examples
    --------
    >>> rbf_kernel([[0.0], [1.0]], gamma=np.log(2.0))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    left, right = check_pair(A, B, dtype)
    gamma = check_gamma(gamma)
    centre = _mean(left if right is None else right)
    left = left - centre
    right = left if right is None else right - centre
    kernel: NDArray[np.floating[Any]] = left @ right.T
    norms, others = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right)
    for rows in row_blocks(len(left), ROWS):
        block = kernel[rows]
        block *= 2.0
        block -= norms[rows, None]
        block -= others
        np.minimum(block, 0.0, out=block)
        block *= gamma
        np.exp(block, out=block)
    if B is None:
        np.fill_diagonal(kernel, 1.0)
        _mirror(kernel)
    return kernel


def _mean(values: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    if not len(values):
        return np.zeros(values.shape[1], dtype=values.dtype)
    return values.mean(axis=0, dtype=np.float64).astype(values.dtype)


def _mirror(kernel: NDArray[np.floating[Any]]) -> None:
    """Copy the upper triangle to the lower one: norms subtracted in the other order differ in the last digit."""
    for rows in row_blocks(len(kernel), ROWS):
        block = kernel[rows, rows]
        upper = np.triu(block)
        kernel[rows, rows] = upper + np.triu(block, 1).T
        kernel[rows.stop :, rows] = kernel[rows, rows.stop :].T


def chi2_kernel(
    A: ArrayLike, B: ArrayLike | None = None, *, gamma: float, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Return ``K[i, j] = exp(-gamma Σ (a - b)² / (a + b))`` of all pairs of rows.

    Parameters
    ----------
    A : array of shape (n, d)
        Histograms: finite, not negative. A column that is zero in both rows adds nothing.
    B : array of shape (m, d), optional
        Other histograms; default: A itself, at half the cost, exactly symmetric with a diagonal of exactly 1.
    gamma : float
        See `tagloom.kernels.default_gamma`.
    dtype : {float64, float32}, default=float64
        Of the result; sums are computed in float64.

    Examples
    --------
    >>> chi2_kernel([[1.0, 0.0], [0.0, 1.0]], gamma=np.log(2.0))
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """
    kernel = chi2_distances(A, B, dtype=dtype)
    kernel *= -check_gamma(gamma)
    np.exp(kernel, out=kernel)
    return kernel


def chi2_distances(
    A: ArrayLike, B: ArrayLike | None = None, *, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Return ``Σ (a - b)² / (a + b)`` of all pairs of rows; see `chi2_kernel`."""
    # scikit-learn's compiled sum; loaded here, so that importing this package stays cheap.
    from sklearn.metrics.pairwise import additive_chi2_kernel

    left, right = check_pair(A, B, np.float64)
    for name, values in (("A", left), ("B", right)):
        if values is not None and values.size and values.min() < 0:
            raise InvalidInputError(f"{name} must hold histograms: the χ² kernel is not defined for negative numbers")
    # The compiled sum takes no read-only arrays.
    left = left if left.flags.writeable else left.copy()
    right = right if right is None or right.flags.writeable else right.copy()
    others = left if right is None else right
    distances = np.zeros((len(left), len(others)), dtype=dtype)
    if not (left.size and others.size):
        return distances
    for rows in row_blocks(len(left), ROWS):
        first = rows.start if right is None else 0
        distances[rows, first:] = -additive_chi2_kernel(left[rows], others[first:])
        if right is None:
            distances[rows.stop :, rows] = distances[rows, rows.stop :].T
    return distances
