"""Feature rows as the neighbour search sees them: checked, scaled, in float64, a few at a time."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError
from tagloom.graph.runtime import row_blocks

__all__ = ["Rows", "check_features", "first_copies", "power_of_two_scale", "row_norms", "row_sums"]

_BLOCK = 2048


def check_features(X: ArrayLike, name: str = "X") -> Reals:
    """Return features as a C-contiguous float32 or float64 matrix.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Numbers; anything but float32 becomes float64.
    name : str
        How errors call it.

    Raises
    ------
    InvalidInputError
        If X is sparse, not two-dimensional, empty, not numeric, or holds NaN or infinity.
    """
    if sparse.issparse(X):
        raise InvalidInputError(
            f"{name} must be a dense array, got {type(X).__name__}; neighbour search needs dense rows. Use "
            f"{name}.toarray(), or reduce its columns first"
        )
    array = np.asarray(X)
    if array.ndim != 2:
        raise InvalidInputError(f"{name} must have shape (photos, columns), got shape {array.shape}")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InvalidInputError(f"{name} must have at least one row and one column, got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold real numbers, got dtype {array.dtype}")
    dtype = np.float32 if array.dtype in (np.float32, np.float16) else np.float64
    array = np.ascontiguousarray(array, dtype=dtype)
    for rows in row_blocks(array.shape[0], _BLOCK):
        finite = np.isfinite(array[rows])
        if not finite.all():
            row, column = (int(index) for index in np.argwhere(~finite)[0])
            raise InvalidInputError(
                f"{name} must be finite, got {array[rows][row, column]} at row {rows.start + row}, column {column}; "
                f"drop or fill such photos first"
            )
    return array


class Rows:
    """A feature matrix whose rows are divided, widened to float64 and marked when they are asked for.

    Nothing of the size of the matrix is copied: a block of rows is made at a time.

    Parameters
    ----------
    X : array of shape (n, d)
        Checked features, float32 or float64.
    divisor : array of shape (n,) or float, optional
        What each row is divided by.
    empty : bool array of shape (n,), optional
        Rows that have no direction or no mass. A last column is added that is 1 in these rows and 0 in the others, so
        that they lie as far from every other row as two rows can be, and at 0 from each other.
    """

    def __init__(
        self,
        X: Reals,
        divisor: NDArray[np.float64] | float | None = None,
        empty: NDArray[np.bool_] | None = None,
    ) -> None:
        self.X = X
        self.divisor = divisor
        self.empty = empty

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def width(self) -> int:
        """Number of columns with the mark of empty rows."""
        return int(self.X.shape[1]) + (self.empty is not None)

    def take(self, index: slice | NDArray[np.intp]) -> NDArray[np.float64]:
        """Return a fresh float64 block of the rows at ``index``."""
        block = np.array(self.X[index], dtype=np.float64)
        if isinstance(self.divisor, np.ndarray):
            block /= self.divisor[index, None]
        elif self.divisor is not None:
            block /= self.divisor
        if self.empty is not None:
            block = np.concatenate([block, self.empty[index, None]], axis=1)
        return block

    def subset(self, index: NDArray[np.intp]) -> "Rows":
        """Return the rows at ``index`` as `Rows` of their own."""
        divisor = self.divisor[index] if isinstance(self.divisor, np.ndarray) else self.divisor
        return Rows(self.X[index], divisor, None if self.empty is None else self.empty[index])


def row_sums(X: Reals) -> NDArray[np.float64]:
    """Return the sum of each row, added in float64."""
    return np.asarray(X.sum(axis=1, dtype=np.float64))


def row_norms(X: Reals) -> NDArray[np.float64]:
    """Return the Euclidean norm of each row, safe from overflow and underflow."""
    norms = np.zeros(X.shape[0])
    for rows in row_blocks(X.shape[0], _BLOCK):
        block = X[rows].astype(np.float64)
        largest = np.abs(block).max(axis=1)
        block /= np.where(largest > 0, largest, 1.0)[:, None]
        norms[rows] = largest * np.sqrt(np.einsum("ij,ij->i", block, block))
    return norms


def power_of_two_scale(*matrices: Reals) -> float:
    """Return a power of two that brings extreme features near 1, and 1.0 where nothing is extreme.

    Dividing by it is exact, and afterwards no square leaves the range of float32.
    """
    largest = max(max(float(X.max()), -float(X.min())) for X in matrices)  # no copy of them all, as of np.abs
    exponent = int(np.frexp(largest)[1])
    if largest == 0.0 or abs(exponent) <= 30:
        return 1.0
    return float(np.ldexp(1.0, min(exponent, 1023)))


def first_copies(X: Reals, n_copies: int) -> NDArray[np.intp] | None:
    """Return the rows that are among the first ``n_copies`` equal ones, or None if that is all of them.

    Equal rows are equally far from everything, and ties go to the smaller index; so later copies can never be chosen.
    Leaving them out keeps a folder of a thousand equal photos from being a thousand-way tie for each of them.
    """
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    signature = np.concatenate(
        [np.einsum("ij,j->i", X[rows].astype(np.float64), direction) for rows in row_blocks(X.shape[0], _BLOCK)]
    )
    order = np.argsort(signature, kind="stable")
    same = np.flatnonzero(signature[order[1:]] == signature[order[:-1]])
    if same.size < n_copies:
        return None
    starts = np.ones(X.shape[0], dtype=bool)
    for part in row_blocks(same.size, _BLOCK):
        pair = same[part]
        starts[pair + 1] = (X[order[pair]] != X[order[pair + 1]]).any(axis=1)
    position = np.arange(X.shape[0])
    rank = position - np.maximum.accumulate(np.where(starts, position, 0))
    kept = np.sort(order[rank < n_copies])
    return None if kept.size == X.shape[0] else kept
