"""Matrix times a block of columns, written into a buffer that is already there."""

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from tagloom.core import Reals, cpu_count, limit_libraries
from tagloom.exceptions import InvalidInputError

__all__ = [
    "Product",
    "add_product",
    "as_product",
    "choose_threads",
    "multiply_rows",
    "one_thread_each",
    "run_blocks",
    "run_rows",
]


# Blocks of rows or columns side by side, one thread for each.

Block = TypeVar("Block")

# Entries of a block of columns below which starting threads costs more than it brings.
SMALL = 50_000


def choose_threads(n_threads: int | None, n_entries: int) -> int:
    """Return the number of threads: for large problems all cores, or ``OMP_NUM_THREADS`` where lower, unless given."""
    if n_threads is None:
        wish = os.environ.get("OMP_NUM_THREADS", "")
        most = max(1, min(cpu_count(), int(wish))) if wish.isdigit() else cpu_count()
        return most if n_entries >= SMALL else 1
    if n_threads < 1:
        raise InvalidInputError(f"n_threads must be at least 1, got {n_threads!r}")
    return int(n_threads)


def one_thread_each() -> AbstractContextManager[object]:
    """Return a context in which the linear algebra libraries keep to one thread: best for small matrices, too."""
    return limit_libraries(1, only_blas=True)


def run_blocks(work: Callable[[Block], None], blocks: Sequence[Block], n_threads: int) -> None:
    """Call ``work`` for every block, in as many threads as are given.

    Meanwhile the linear algebra libraries keep to one thread each: their own threads, asked for by several of ours at
    once, wait for each other.
    """
    if n_threads == 1 or len(blocks) < 2:
        for block in blocks:
            work(block)
        return
    with one_thread_each(), ThreadPoolExecutor(min(n_threads, len(blocks))) as pool:
        list(pool.map(work, blocks))


def run_rows(work: Callable[[slice], None], n_rows: int, n_columns: int, n_threads: int | None) -> None:
    """Call ``work`` for equal ranges of rows of a matrix, as many as threads; a small matrix is one range."""
    small = n_rows * n_columns < SMALL
    workers = 1 if small else choose_threads(n_threads, n_rows * n_columns)
    edges = [n_rows * block // workers for block in range(workers + 1)]
    run_blocks(work, [slice(first, last) for first, last in itertools.pairwise(edges)], workers)


try:
    from scipy.sparse._sparsetools import csr_matvecs
except ImportError:  # a SciPy that has moved its private kernels
    csr_matvecs = None


class Product(Protocol):
    """What the solver asks of a matrix."""

    n: int

    def into(self, block: Reals, out: Reals) -> None:
        """Write ``A @ block`` into ``out``; both are C-contiguous and of the product's dtype."""

    def astype(self, dtype: np.dtype[Any]) -> "Product":
        """Return the same matrix in another precision; made once, then kept."""

    def diagonal(self) -> Reals | None:
        """Return the diagonal, or None if only products are known."""

    def restrict(self, rows: NDArray[np.intp]) -> "Product | None":
        """Return the principal submatrix, or None if only products are known."""

    def local_order(self) -> NDArray[np.intp] | None:
        """Return an order of the rows in which neighbours are near each other, or None if there is none to gain."""


def multiply_into(A: Any, block: Reals, out: Reals) -> None:
    """Write ``A @ block`` into ``out`` without a temporary (CSR, all three of one dtype).

    SciPy's own operator allocates the result on every call; its kernel does not. The kernel is private, hence the
    fallback. Both release the interpreter lock.
    """
    if csr_matvecs is None:
        out[:] = A @ block
        return
    out.fill(0)
    add_product(A, block, out)


def add_product(A: Any, block: Reals, out: Reals) -> None:
    """Add ``A @ block`` to ``out`` (CSR, all three C-contiguous and of one dtype)."""
    if csr_matvecs is None:
        out += A @ block
        return
    rows, columns = A.shape
    csr_matvecs(rows, columns, block.shape[1], A.indptr, A.indices, A.data, block.ravel(), out.ravel())


def multiply_rows(A: Any, block: Reals, n_threads: int | None) -> Reals:
    """Return ``A @ block`` for CSR, ranges of rows side by side; the sums are those of SciPy's product."""
    if csr_matvecs is None or A.dtype != block.dtype:
        return np.asarray(A @ block)
    block = np.ascontiguousarray(block)
    out = np.zeros((A.shape[0], block.shape[1]), dtype=block.dtype)

    def multiply(rows: slice) -> None:
        starts, part = A.indptr[rows.start : rows.stop + 1], out[rows]
        csr_matvecs(len(part), A.shape[1], block.shape[1], starts, A.indices, A.data, block.ravel(), part.ravel())

    run_rows(multiply, A.shape[0], block.shape[1], n_threads)
    return out


class _SparseProduct:
    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.n: int = matrix.shape[0]
        self._twins: dict[np.dtype[Any], _SparseProduct] = {matrix.dtype: self}

    def into(self, block: Reals, out: Reals) -> None:
        multiply_into(self.matrix, block, out)

    def astype(self, dtype: np.dtype[Any]) -> "_SparseProduct":
        if dtype not in self._twins:
            data = _cast(self.matrix.data, dtype)
            structure = (data, self.matrix.indices, self.matrix.indptr)
            self._twins[dtype] = _SparseProduct(sparse.csr_array(structure, shape=self.matrix.shape, copy=False))
        return self._twins[dtype]

    def diagonal(self) -> Reals:
        return np.asarray(self.matrix.diagonal())

    def restrict(self, rows: NDArray[np.intp]) -> "_SparseProduct":
        matrix = self.matrix[rows][:, rows]
        matrix.sort_indices()
        return _SparseProduct(matrix)

    def local_order(self) -> NDArray[np.intp]:
        return np.asarray(reverse_cuthill_mckee(sparse.csr_matrix(self.matrix), symmetric_mode=True), dtype=np.intp)


class _DenseProduct:
    def __init__(self, matrix: Reals) -> None:
        self.matrix = matrix
        self.n: int = matrix.shape[0]
        self._twins: dict[np.dtype[Any], _DenseProduct] = {matrix.dtype: self}

    def into(self, block: Reals, out: Reals) -> None:
        np.matmul(self.matrix, block, out=out)

    def astype(self, dtype: np.dtype[Any]) -> "_DenseProduct":
        if dtype not in self._twins:
            self._twins[dtype] = _DenseProduct(_cast(self.matrix, dtype))
        return self._twins[dtype]

    def diagonal(self) -> Reals:
        return self.matrix.diagonal().copy()

    def restrict(self, rows: NDArray[np.intp]) -> "_DenseProduct":
        return _DenseProduct(self.matrix[np.ix_(rows, rows)])

    def local_order(self) -> None:
        return None


class _OperatorProduct:
    def __init__(self, call: Callable[[Reals], Any], n: int) -> None:
        self.call = call
        self.n = n

    def into(self, block: Reals, out: Reals) -> None:
        result = np.asarray(self.call(block))
        if result.shape != out.shape:
            raise InvalidInputError(
                f"the operator was given a block of shape {block.shape} and returned shape {result.shape}; "
                f"expected {out.shape}"
            )
        out[:] = result

    def astype(self, dtype: np.dtype[Any]) -> "_OperatorProduct":  # noqa: ARG002 - results are cast as they arrive
        return self

    def diagonal(self) -> None:
        return None

    def restrict(self, rows: NDArray[np.intp]) -> None:  # noqa: ARG002 - only products are known
        return None

    def local_order(self) -> None:
        return None


def _cast(array: Reals, dtype: np.dtype[Any]) -> Reals:
    with np.errstate(over="ignore"):
        cast: Reals = array.astype(dtype)
    if not np.isfinite(cast).all():
        raise InvalidInputError(
            f"A has entries that {dtype} cannot hold (largest {np.abs(array).max():.3g}); use dtype='float64'"
        )
    return cast


def as_product(A: Any, n: int) -> Product:
    """Wrap a sparse matrix, a dense array, a ``LinearOperator`` or a function of a block.

    Parameters
    ----------
    A : sparse matrix, ndarray, LinearOperator or callable
        Square with n rows.
    n : int
        Rows of the right-hand sides.
    """
    shape = getattr(A, "shape", (n, n))
    if tuple(shape) != (n, n):
        raise InvalidInputError(f"A must be square with as many rows as B: expected {(n, n)}, got {tuple(shape)}")
    if hasattr(A, "matmat"):
        return _OperatorProduct(A.matmat, n)
    if callable(A):
        return _OperatorProduct(A, n)
    is_sparse = sparse.issparse(A)
    matrix = sparse.csr_array(A) if is_sparse else np.asarray(A)
    if matrix.dtype.kind not in "biuf":
        raise InvalidInputError(f"A must hold real numbers, got dtype {matrix.dtype}")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    if not np.isfinite(matrix.data if is_sparse else matrix).all():
        raise InvalidInputError("A holds NaN or infinite entries; expected finite numbers")
    return _SparseProduct(matrix) if is_sparse else _DenseProduct(np.ascontiguousarray(matrix))
