"""Centred features and their products, dense or sparse."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import Floats
from tagloom.solvers.cg import run_rows

__all__ = ["CentredFeatures", "column_sums"]


# Rows whose float32 products are summed in that precision; the sums of such blocks are added in float64.
ROWS_AT_ONCE = 4096


class CentredFeatures:
    """``X̃ = X - 1x̄ᵀ`` and the products that a fit asks for; results are float64.

    Dense features are centred in a copy of the working precision: centring afterwards would cost digits where means are
    large. Sparse ones stay as they are, and the mean is taken from every product. Columns that are constant up to
    rounding become zero: what centring leaves of them is no signal.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Features.
    dtype : dtype
        Precision of products: float32 or float64.
    n_threads : int, optional
        See `tagloom.solvers.block_cg`.
    """

    def __init__(self, X: Any, dtype: Any, n_threads: int | None = None) -> None:
        self.shape: tuple[int, int] = X.shape
        self.dtype, self.n_threads = np.dtype(dtype), n_threads
        self.is_sparse = sparse.issparse(X)
        self._sums: Floats | None = None
        self.mean = column_means(X)
        if self.is_sparse:
            self._X = sparse.csr_array(X, dtype=np.float64)
            constant = self._is_constant(_extremes(self._X))
            if constant.any():
                self._X = sparse.csr_array(self._X @ sparse.diags_array((~constant).astype(np.float64)))
                self.mean[constant] = 0.0
            self._T = sparse.csr_array(self._X.T)
        else:
            self._X = np.subtract(X, self.mean.astype(self.dtype), dtype=self.dtype)
            self._X[:, self._is_constant(_extremes(self._X))] = 0.0

    def _is_constant(self, extremes: tuple[Floats, Floats]) -> NDArray[np.bool_]:
        """Return which columns, given their least and greatest entries, differ by rounding only."""
        least, greatest = extremes
        # An entry is off by the rounding of the mean in the working precision, and of the sum that it was made from.
        rounding = np.finfo(self.dtype).eps + self.shape[0] * np.finfo(np.float64).eps
        constant: NDArray[np.bool_] = greatest - least <= rounding * np.abs(self.mean)
        return constant

    def times(self, W: Floats) -> Floats:
        """Return ``X̃W``, with columns of mean zero."""
        if self.is_sparse:
            scores = np.asarray(self._X @ W)
            scores -= self.mean @ W
            return scores
        used = np.flatnonzero(W.any(axis=1))
        few = 3 * used.size < W.shape[0]
        factor = (W[used] if few else W).astype(self.dtype)
        scores = np.empty((self.shape[0], W.shape[1]))

        def multiply(part: slice) -> None:
            for rows in _blocks_of(part):
                block = self._X[rows]
                scores[rows] = (block.take(used, axis=1) if few else block) @ factor

        run_rows(multiply, self.shape[0], W.shape[1], self.n_threads)
        mean = column_sums(scores, self.n_threads) / max(1, self.shape[0])

        def centre(part: slice) -> None:
            scores[part] -= mean

        run_rows(centre, self.shape[0], W.shape[1], self.n_threads)
        return scores

    def times_on(self, rows: NDArray[np.intp], W: Floats) -> Floats:
        """Return ``X̃W`` on some rows alone."""
        if self.is_sparse:
            return np.asarray(self._X[rows] @ W - self.mean @ W)
        used = np.flatnonzero(W.any(axis=1))
        return np.asarray(self.columns(used, rows) @ W[used].astype(self.dtype), dtype=np.float64)

    def transposed_times(self, R: NDArray[np.floating[Any]]) -> Floats:
        """Return ``X̃ᵀR`` for R with columns of mean zero."""
        if self.is_sparse:
            return np.asarray(self._T @ R)
        return self.product(self._X, R.astype(self.dtype, copy=False))

    def transposed_times_rows(self, R: NDArray[np.floating[Any]], rows: NDArray[np.intp]) -> Floats:
        """Return ``X̃ᵀHS`` with S that is R on some rows and zero on the others, H taking column means out."""
        mean = column_sums(R, self.n_threads) / self.shape[0]
        if self.is_sparse:
            spread = np.zeros((self.shape[0], R.shape[1]))
            spread[rows] = R
            return np.asarray(self._T @ (spread - mean))
        totals: dict[int, Floats] = {}

        def multiply(part: slice) -> None:
            total = totals[part.start] = np.zeros((self.shape[1], R.shape[1]))
            for block in _blocks_of(part):
                total += self._X.take(rows[block], axis=0).T @ R[block].astype(self.dtype, copy=False)

        run_rows(multiply, rows.size, max(self.shape[1], R.shape[1]), self.n_threads)
        result = _in_order(totals)
        # Columns of X̃ have a mean of zero up to rounding in the working precision.
        result -= np.outer(self._left_over(), mean)
        return result

    def _left_over(self) -> Floats:
        if self._sums is None:
            self._sums = column_sums(self._X, self.n_threads)
        return self._sums

    def columns(self, features: NDArray[np.intp], rows: NDArray[np.intp] | None = None) -> NDArray[np.floating[Any]]:
        """Return some centred columns, dense, all rows or some."""
        if self.is_sparse:
            part = self._X[:, features] if rows is None else self._X[rows][:, features]
            return np.asarray(part.toarray() - self.mean[features], dtype=self.dtype)
        if rows is None:
            return np.ascontiguousarray(self._X[:, features])
        chosen = rows
        result = np.empty((chosen.size, features.size), dtype=self.dtype)

        def copy(part: slice) -> None:
            for block in _blocks_of(part):
                result[block] = self._X.take(chosen[block], axis=0).take(features, axis=1)

        run_rows(copy, chosen.size, features.size, self.n_threads)
        return result

    def gram(self, *, precise: bool = False) -> Floats:
        """Return ``X̃ᵀX̃``; ``precise`` to multiply in float64 in any case."""
        if self.is_sparse:
            total = np.asarray((self._T @ self._X).toarray())
            total -= self.shape[0] * np.outer(self.mean, self.mean)
            return total
        return self.product(self._X, self._X, precise=precise)

    def product(self, left: Any, right: Any, *, precise: bool = False) -> Floats:
        """Return `summed_product` with the threads of these features."""
        return summed_product(left, right, precise=precise, n_threads=self.n_threads)

    def gram_columns(self, features: NDArray[np.intp]) -> Floats:
        """Return ``X̃ᵀX̃`` for some features against all."""
        if self.is_sparse:
            total = np.asarray((self._T @ self._X[:, features]).toarray())
            total -= self.shape[0] * np.outer(self.mean, self.mean[features])
            return total
        total = np.zeros((self.shape[1], features.size))
        for start in range(0, self.shape[0], ROWS_AT_ONCE):
            block = self._X[start : start + ROWS_AT_ONCE]
            total += block.T @ block.take(features, axis=1)
        return total


def column_means(X: Any) -> Floats:
    """Return the mean of each column in float64."""
    if sparse.issparse(X):
        return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    total = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        block = X[start : start + ROWS_AT_ONCE]
        total += block.sum(axis=0, dtype=np.float64)
    return total / max(1, X.shape[0])


def _extremes(X: Any) -> tuple[Floats, Floats]:
    """Return the least and the greatest entry of each column."""
    if sparse.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)


def summed_product(
    left: NDArray[np.floating[Any]],
    right: NDArray[np.floating[Any]],
    *,
    precise: bool = False,
    n_threads: int | None = None,
) -> Floats:
    """Return ``leftᵀ right``, summed in float64 over blocks of rows, or ``precise``: multiplied in it as well."""
    totals: dict[int, Floats] = {}

    def multiply(part: slice) -> None:
        total = totals[part.start] = np.zeros((left.shape[1], right.shape[1]))
        for rows in _blocks_of(part):
            factor = left[rows].astype(np.float64, copy=False) if precise else left[rows]
            total += factor.T @ (factor if left is right else right[rows])

    run_rows(multiply, len(left), max(left.shape[1], right.shape[1]), n_threads)
    return _in_order(totals)


def column_sums(A: NDArray[np.floating[Any]], n_threads: int | None = None) -> Floats:
    """Return the sum of each column in float64."""
    totals: dict[int, Floats] = {}

    def add(part: slice) -> None:
        totals[part.start] = A[part].sum(axis=0, dtype=np.float64)

    run_rows(add, len(A), A.shape[1], n_threads)
    return _in_order(totals)


def _in_order(totals: dict[int, Floats]) -> Floats:
    """Return the sum of what ranges of rows gave, in their order: as many threads give the same sum again."""
    first, *others = (totals[start] for start in sorted(totals))
    for total in others:
        first += total
    return first


def _blocks_of(rows: slice) -> Iterator[slice]:
    for start in range(rows.start, rows.stop, ROWS_AT_ONCE):
        yield slice(start, min(start + ROWS_AT_ONCE, rows.stop))
