"""The distances: for each an exact formula for pairs, a fast one for blocks, and a bound on how far they differ.

A *key* is what neighbours are ranked by, smaller is nearer: the squared Euclidean distance, minus the inner product,
the L1 or the χ² distance. `Space.between` evaluates it in float64 without cancellation, row by row, in an order of
summation that does not depend on blocks or threads; `Space.combine` evaluates it for all pairs of two blocks, fast,
and wrong by at most `Space.slack`. The search ranks by the second and settles with the first whatever lies within the
bound.
"""

from abc import ABC, abstractmethod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tagloom.core import Reals, scratch
from tagloom.exceptions import InvalidInputError
from tagloom.graph.rows import Rows, power_of_two_scale, row_norms, row_sums
from tagloom.graph.runtime import row_blocks

__all__ = ["METRICS", "Metric", "Space", "make_space"]

Metric = Literal["euclidean", "cosine", "inner_product", "l1", "intersection", "chi2"]
METRICS: tuple[str, ...] = get_args(Metric)
_NORMALIZABLE = ("l1", "intersection", "chi2")
_SUM_TOLERANCE = 1e-4
_PAIR_ELEMENTS = 1 << 16
_SIDE_ROWS = 4096


class Space(ABC):
    """Queries, points and the key between them.

    Parameters
    ----------
    queries, points : Rows
        May be the same object.
    factor : float
        What a key, or its root, is multiplied by to give the distance.
    """

    faiss_metric: str | None = None
    """The metric of faiss whose brute force beats `combine`, if there is one."""
    embedding: Literal["same", "similar", "none"] = "same"
    """Whether squared distances of embedded rows rank neighbours as the key does, nearly so, or not."""

    def __init__(self, queries: Rows, points: Rows, factor: float = 1.0) -> None:
        self.queries = queries
        self.points = points
        self.factor = factor

    @abstractmethod
    def between(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the exact key of each row of ``left`` with the same row of ``right``; may overwrite both."""

    @abstractmethod
    def combine(self, A: Reals, B: Reals) -> Reals:
        """Return the fast keys of all rows of a query side with all rows of a point side."""

    @abstractmethod
    def slack(self, sizes: NDArray[np.float64], keys: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
        """Bound the error of fast keys up to about ``keys``, for queries of the given sizes and a unit roundoff."""

    def embed(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map rows to where the approximate search looks for candidates by squared distance."""
        return block

    def sizes(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what `slack` needs to know of each row of a block."""
        return np.asarray(np.abs(block).sum(axis=1))

    def query_side(self, rows: slice | NDArray[np.intp], dtype: Any) -> tuple[Reals, NDArray[np.float64]]:
        """Return queries in the form that `combine` takes, and their sizes."""
        block = self.queries.take(rows)
        return block.astype(dtype), self.sizes(block)

    def point_side(self, rows: slice, dtype: Any) -> Reals:
        """Return points in the form that `combine` takes."""
        return self.points.take(rows).astype(dtype)

    def all_points(self, dtype: Any) -> Reals:
        """Return the form that `combine` takes for all points, made block by block."""
        blocks = row_blocks(self.points.n_rows, _SIDE_ROWS)
        first = self.point_side(next(blocks), dtype)
        side = scratch((self.points.n_rows, first.shape[1]), dtype)
        side[: first.shape[0]] = first
        for rows in blocks:
            side[rows] = self.point_side(rows, dtype)
        return side

    def distances(self, keys: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn keys into distances; what float64 cannot hold becomes infinite."""
        with np.errstate(over="ignore"):
            return keys * self.factor

    def pair_keys(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the exact keys of the pairs (query, point).

        Parameters
        ----------
        rows, columns : int arrays of shape (m,)
            Indices of queries and points.
        """
        keys = np.empty(rows.size)
        for part in row_blocks(rows.size, max(1, _PAIR_ELEMENTS // self.points.width)):
            keys[part] = self.between(self.queries.take(rows[part]), self.points.take(columns[part]))
        return keys

    def with_points(self, index: NDArray[np.intp]) -> "Space":
        """Return the same space with fewer points."""
        return type(self)(self.queries, self.points.subset(index), self.factor)

    def _rounding(self, unit: float) -> float:
        """Return the classical bound on the relative error of a sum of products over the columns."""
        return 1.1 * (self.points.width + 12) * unit


class SquaredSpace(Space):
    """Squared Euclidean distance; also cosine distance, which is half of it between rows of length 1.

    The fast form ‖q‖² + ‖p‖² - 2⟨q, p⟩ is a single matrix product of widened, centred rows.
    """

    def __init__(self, queries: Rows, points: Rows, factor: float = 1.0, *, rooted: bool = True) -> None:
        super().__init__(queries, points, factor)
        self.rooted = rooted
        total = np.zeros(points.width)
        for rows in row_blocks(points.n_rows, _SIDE_ROWS):
            total += points.take(rows).sum(axis=0)
        self.center = total / points.n_rows

    def with_points(self, index: NDArray[np.intp]) -> "SquaredSpace":
        """Return the same space with fewer points."""
        return SquaredSpace(self.queries, self.points.subset(index), self.factor, rooted=self.rooted)

    def between(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return squared distances from differences, so that near-duplicates keep their digits."""
        right -= left
        return np.asarray(np.einsum("ij,ij->i", right, right))

    def query_side(self, rows: slice | NDArray[np.intp], dtype: Any) -> tuple[Reals, NDArray[np.float64]]:
        """Return (-2(q - c), 1, ‖q - c‖²) and the norms ‖q - c‖."""
        block = self.queries.take(rows) - self.center
        squares = np.einsum("ij,ij->i", block, block)
        block *= -2.0
        side = np.concatenate([block, np.ones((len(block), 1)), squares[:, None]], axis=1)
        return side.astype(dtype), np.sqrt(squares)

    def point_side(self, rows: slice, dtype: Any) -> Reals:
        """Return (p - c, ‖p - c‖², 1)."""
        block = self.points.take(rows) - self.center
        squares = np.einsum("ij,ij->i", block, block)
        return np.concatenate([block, squares[:, None], np.ones((len(block), 1))], axis=1).astype(dtype)

    def combine(self, A: Reals, B: Reals) -> Reals:
        """Return the matrix product of the two sides."""
        return np.asarray(A @ B.T)

    def slack(self, sizes: NDArray[np.float64], keys: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
        """Bound by the norms: a point within √key of the query has a norm of at most ‖q‖ + √key."""
        reach = 2.0 * sizes + np.sqrt(np.maximum(keys, 0.0))
        return self._rounding(unit) * reach * reach + self.points.width * 1e-36

    def distances(self, keys: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Euclidean distances, or half the squares for cosine."""
        return super().distances(np.sqrt(keys) if self.rooted else keys)


class ProductSpace(Space):
    """Minus the inner product."""

    embedding = "none"

    def __init__(self, queries: Rows, points: Rows, factor: float = 1.0) -> None:
        super().__init__(queries, points, factor)
        self._largest = max(
            float(np.sqrt(np.square(points.take(rows)).sum(axis=1)).max())
            for rows in row_blocks(points.n_rows, _SIDE_ROWS)
        )

    def between(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return minus the inner products, added in float64."""
        return -np.asarray(np.einsum("ij,ij->i", left, right))

    def sizes(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the norms."""
        return np.sqrt(np.einsum("ij,ij->i", block, block))

    def combine(self, A: Reals, B: Reals) -> Reals:
        """Return minus the matrix product."""
        return np.asarray((-A) @ B.T)

    def slack(self, sizes: NDArray[np.float64], keys: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
        """Bound by the product of the norms."""
        return self._rounding(unit) * sizes * self._largest + np.zeros_like(keys) + self.points.width * 1e-36


class AbsoluteSpace(Space):
    """L1 distance; half of it is 1 - intersection for histograms of sum 1."""

    faiss_metric = "METRIC_L1"
    embedding = "similar"

    def embed(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return roots, which bring large and small differences nearer to each other; negative ones keep their sign."""
        return np.sign(block) * np.sqrt(np.abs(block))

    def between(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return L1 distances."""
        right -= left
        return np.asarray(np.einsum("ij->i", np.abs(right, out=right)))

    def combine(self, A: Reals, B: Reals) -> Reals:
        """Return all L1 distances."""
        return np.asarray(cdist(A, B, "cityblock"))

    def slack(self, sizes: NDArray[np.float64], keys: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
        """Bound by the distance itself, and by the masses for the rounding of the rows."""
        return self._rounding(unit) * keys + 4.0 * unit * (2.0 * sizes + keys) + self.points.width * 1e-36


class ChiSquaredSpace(Space):
    """χ² distance Σ (x - y)² / (x + y) of non-negative rows, with 0/0 = 0."""

    embedding = "similar"

    def embed(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return square roots: with H = Σ (√x - √y)², the χ² distance lies between H and 2H."""
        return np.sqrt(block)

    def between(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return χ² distances."""
        total = left + right
        right -= left
        right *= right
        np.divide(right, total, out=right, where=total > 0)
        return np.asarray(np.einsum("ij->i", right))

    def combine(self, A: Reals, B: Reals) -> Reals:
        """Return all χ² distances, by Σ (x - y)²/(x + y) = Σy - 3Σx + 4 Σ x²/(x + y).

        Three passes per pair instead of five, and only over the columns where the query is not zero.
        """
        keys = np.empty((len(A), len(B)), dtype=A.dtype)
        keys[:] = B.sum(axis=1) - 3.0 * A.sum(axis=1, keepdims=True)
        # Where both are 0 the summand is 0 · (1 / tiny) = 0; elsewhere tiny is lost in rounding.
        tiny = np.asarray(1e-30, dtype=A.dtype)
        for columns in row_blocks(len(B), max(64, _PAIR_ELEMENTS // B.shape[1])):
            transposed = np.ascontiguousarray(B[columns].T)
            buffer = np.empty_like(transposed)
            for query, row in zip(A, keys, strict=True):
                filled = np.flatnonzero(query)
                few = 2 * filled.size < query.size
                x, y = (query[filled], transposed[filled]) if few else (query, transposed)
                part = np.add(y, (x + tiny)[:, None], out=buffer[: len(x)])
                np.reciprocal(part, out=part)
                row[columns] += (4.0 * x * x) @ part
        return keys

    def slack(self, sizes: NDArray[np.float64], keys: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
        """Bound by the masses: χ² ≥ (Σx - Σy)²/(Σx + Σy), so a near point's mass is near the query's."""
        keys = np.maximum(keys, 0.0)
        reach = 2.0 * sizes + keys + np.sqrt(2.0 * keys * sizes)
        return 8.0 * self._rounding(unit) * reach + self.points.width * 1e-18


def make_space(metric: str, queries: Reals, points: Reals, *, normalize: bool = False) -> Space:
    """Return the space of a metric over checked features.

    Parameters
    ----------
    metric : str
        One of `METRICS`.
    queries, points : arrays of shape (q, d) and (n, d)
        May be the same object.
    normalize : bool
        Divide every row by its sum first ("l1", "intersection" and "chi2" only).

    Raises
    ------
    InvalidInputError
        If the metric is not known, or the features are not what it is defined for.
    """
    if metric not in METRICS:
        raise InvalidInputError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if normalize and metric not in _NORMALIZABLE:
        raise InvalidInputError(
            f"normalize=True divides histograms by their sums and works with {', '.join(_NORMALIZABLE)}; got "
            f"metric {metric!r}"
        )
    matrices = [points] if queries is points else [queries, points]
    if metric == "cosine":
        return SquaredSpace(*_divided(matrices, [row_norms(X) for X in matrices]), 0.5, rooted=False)
    if normalize or metric in ("intersection", "chi2"):
        for X in matrices:
            _check_histograms(X, metric, normalized=metric == "intersection" and not normalize)
    if normalize or metric == "intersection":
        sides, factor = _divided(matrices, [row_sums(X) for X in matrices]), 0.5 if metric == "intersection" else 1.0
        return ChiSquaredSpace(*sides) if metric == "chi2" else AbsoluteSpace(*sides, factor)
    scale = power_of_two_scale(*matrices)
    rows = [Rows(X, None if scale == 1.0 else scale) for X in matrices]
    if metric == "inner_product":
        return ProductSpace(rows[0], rows[-1], scale * scale)
    kind = {"euclidean": SquaredSpace, "l1": AbsoluteSpace, "chi2": ChiSquaredSpace}[metric]
    return kind(rows[0], rows[-1], scale)


def _divided(matrices: list[Reals], divisors: list[NDArray[np.float64]]) -> tuple[Rows, Rows]:
    """Divide rows by what was measured of them; rows of 0 become the empty rows of `Rows`."""
    some_empty = any((divisor == 0).any() for divisor in divisors)
    rows = [
        Rows(X, np.where(divisor > 0, divisor, 1.0), divisor == 0 if some_empty else None)
        for X, divisor in zip(matrices, divisors, strict=True)
    ]
    return rows[0], rows[-1]


def _check_histograms(X: Reals, metric: str, *, normalized: bool) -> None:
    """Raise unless rows are non-negative and, where asked, of sum 1."""
    if X.min() < 0:
        row, column = (int(index) for index in np.argwhere(X < 0)[0])
        raise InvalidInputError(
            f"metric {metric!r} needs histograms without negative entries, got {X[row, column]} at row {row}, "
            f"column {column}; use metric 'l1' or 'euclidean' for other features"
        )
    if normalized:
        sums = row_sums(X)
        wrong = np.flatnonzero(np.abs(sums - 1.0) > _SUM_TOLERANCE)
        if wrong.size:
            raise InvalidInputError(
                f"metric 'intersection' needs histograms of sum 1, got a sum of {sums[wrong[0]]:.6g} in row {wrong[0]} "
                f"({wrong.size} rows in all); pass normalize=True to divide every row by its sum"
            )
