"""Histogram intersection: what two histograms have in common."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import Reals, cpu_count
from tagloom.exceptions import InvalidInputError

__all__ = ["intersection_kernel"]

_ROWS = 512  # rows of K that one thread fills at a time
_COLUMNS = 512  # columns summed in the precision of the input; their sums are added up in double precision
_SPARSE_WIDTH, _DENSE_WIDTH = 512, 128  # rows of B in a tile; measured, tile and buffer stay in the cache of a core
_SPARSE_SHARE = 1 / 3  # of positive values, below which picking them out is worth its cost


def intersection_kernel(A: ArrayLike, B: ArrayLike | None = None, *, n_threads: int | None = 1) -> NDArray[np.float64]:
    """Return ``K[i, j] = sum(minimum(A[i], B[j]))`` of all pairs of rows.

    Parameters
    ----------
    A : array of shape (n, d)
        Histograms: finite, not negative. float32 is computed in float32, everything else in float64.
    B : array of shape (m, d), optional
        Other histograms; default: A itself, at half the cost and exactly symmetric.
    n_threads : int or None, default=1
        Threads; None is the number of cores. The result does not depend on it.

    Returns
    -------
    ndarray of float64, shape (n, m)
        Positive semi-definite where B is A. Besides K itself, a few MiB per thread are needed.

    Notes
    -----
    A minimum with zero is zero: in blocks where fewer than a third of A's values are positive, as in histograms of
    visual words, only those are looked at.

    Examples
    --------
    >>> intersection_kernel([[1.0, 0.0, 2.0], [0.5, 0.5, 1.0]])
    array([[3. , 1.5],
           [1.5, 2. ]])
    """
    left = _check_histograms(A, "A")
    right = left if B is None else _check_histograms(B, "B")
    if left.shape[1] != right.shape[1]:
        raise InvalidInputError(f"A and B must have the same columns, got {left.shape[1]} and {right.shape[1]}")
    if n_threads is not None and n_threads < 1:
        raise InvalidInputError(f"n_threads must be None or at least 1, got {n_threads!r}")
    dtype = np.result_type(left, right)
    left, right = left.astype(dtype, copy=False), right.astype(dtype, copy=False)
    kernel = np.zeros((len(left), len(right)))

    def fill(start: int) -> None:
        rows = slice(start, start + _ROWS)
        first = start if B is None else 0
        _add_intersections(left[rows], right[first:], kernel[rows, first:])
        if B is None:
            kernel[start + _ROWS :, rows] = kernel[rows, start + _ROWS :].T

    with ThreadPoolExecutor(n_threads or cpu_count()) as threads:
        list(threads.map(fill, range(0, len(left), _ROWS)))
    return kernel


def _add_intersections(rows: Reals, others: Reals, kernel: NDArray[np.float64]) -> None:
    """Add the intersections of rows (a, d) and others (b, d) to the kernel (a, b), tile by tile."""
    for start in range(0, rows.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        values = rows[:, columns]
        sparse = np.count_nonzero(values) < _SPARSE_SHARE * values.size
        width = _SPARSE_WIDTH if sparse else _DENSE_WIDTH
        for first in range(0, len(others), width):
            add = _add_sparse if sparse else _add_dense
            add(values, others[first : first + width, columns], kernel[:, first : first + width])


def _add_sparse(values: Reals, tile: Reals, kernel: NDArray[np.float64]) -> None:
    by_column = np.ascontiguousarray(tile.T)
    buffer = np.empty_like(by_column)
    for row, out in zip(values, kernel, strict=True):
        positive = np.flatnonzero(row)
        # all indices are valid; mode="clip" lets numpy write into the buffer directly
        common = np.take(by_column, positive, axis=0, mode="clip", out=buffer[: len(positive)])
        np.minimum(common, row[positive, None], out=common)
        out += np.add.reduce(common, axis=0)


def _add_dense(values: Reals, tile: Reals, kernel: NDArray[np.float64]) -> None:
    tile = np.ascontiguousarray(tile)
    buffer = np.empty_like(tile)
    for row, out in zip(values, kernel, strict=True):
        out += np.einsum("ij->i", np.minimum(tile, row, out=buffer))


def _check_histograms(values: ArrayLike, name: str) -> Reals:
    array = np.asarray(values)
    histograms: Reals = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    if histograms.ndim != 2:
        raise InvalidInputError(f"{name} must have one histogram per row, shape (n, d), got shape {histograms.shape}")
    if not np.isfinite(histograms).all() or (histograms < 0).any():
        raise InvalidInputError(f"{name} must hold histograms: finite and not negative numbers")
    return histograms
