"""Conjugate gradients for one sparse matrix and many right-hand sides."""

import itertools
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError, NotPositiveDefiniteError
from tagloom.solvers.cg.products import as_product, choose_threads, run_blocks
from tagloom.solvers.cg.refinement import BlockSolve, ColumnSystems, Plan

__all__ = ["BlockCGResult", "block_cg"]


# Arguments of `block_cg`: what is allowed, and what is chosen where nothing is said.

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


Preconditioner = Literal["jacobi"] | ArrayLike | None

# Rows and columns from which reordering pays: below, the block is in cache anyway or is used too seldom.
LARGE, WIDE = 5_000, 16


@dataclass(frozen=True)
class BlockCGResult:
    """Result of `block_cg`.

    Attributes
    ----------
    x : ndarray of shape (n, c)
        Solutions; float64, unless float32 was asked for without refinement.
    n_iter : ndarray of shape (c,)
        Iterations of each column.
    residuals : ndarray of shape (c,)
        Relative residual of each column, computed afresh in float64 from the solution.
    converged : ndarray of bool, shape (c,)
        Which residuals are at most ``tol``.
    """

    x: Reals
    n_iter: NDArray[np.int64]
    residuals: NDArray[np.float64]
    converged: NDArray[np.bool_]


def block_cg(
    A: Any,
    B: ArrayLike,
    *,
    x0: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    preconditioner: Preconditioner = "jacobi",
    dtype: Literal["float32", "float64"] | None = None,
    refine: bool = True,
    n_threads: int | None = None,
    block_size: int | None = None,
    scales: ArrayLike | None = None,
    shifts: ArrayLike | None = None,
    low_rank: tuple[ArrayLike, ArrayLike] | None = None,
    column_mask: ArrayLike | None = None,
) -> BlockCGResult:
    """Solve ``A X = B`` for a sparse symmetric positive definite A and all columns of B at once.

    Every column runs its own conjugate gradients; the products with A, which take most of the time, are shared by a
    block of columns. Columns that are done leave their block.

    Parameters
    ----------
    A : sparse matrix, ndarray, LinearOperator or callable, shape (n, n)
        Symmetric positive definite (symmetry is not checked). A callable gets a block of shape (n, w) and returns A
        times it.
    B : array of shape (n, c)
        Right-hand sides.
    x0 : array of shape (n, c), optional
        Start; with ``column_mask`` also the values of the fixed entries. Default: zero.
    tol : float, default=1e-6
        A column is done when the Euclidean norm of its residual is at most ``tol`` times that of its right-hand side.
    max_iter : int, optional
        Most iterations of a column. Default: 10 n, at least 100 and at most 5,000.
    preconditioner : "jacobi", None or array of shape (n,) or (n, c), default="jacobi"
        Diagonal that residuals are divided by: that of the column's matrix, ones, or one given.
    dtype : {"float32", "float64"}, optional
        Precision of the iterations. Default: float32 if B is float32, else float64.
    refine : bool, default=True
        Whether residuals are computed afresh in float64 and columns above ``tol`` solved on. With it float32 iterations
        end at the same residual as float64 ones; where float32 brings nothing more, float64 takes over.
    n_threads : int, optional
        Threads over blocks of columns. Default: one per core (or ``OMP_NUM_THREADS`` where lower), one for small
        problems. The solution does not depend on it.
    block_size : int, optional
        Most columns of a block. Default: three cache lines per row.
    scales : array of shape (c,), optional
        Non-negative factors of A, one per column.
    shifts : array of shape (c,) or (n, c), optional
        Added to the diagonal, per column or per entry.
    low_rank : (U, weights), optional
        U of shape (n, r) with small r, or (n,), and r numbers: A stands for ``A + U diag(weights) Uᵀ``. The sum has to
        be positive definite, single weights may be negative.
    column_mask : array of bool, shape (n, c), optional
        Entries that are solved for. The others keep their value in ``x0``, and the equations of their rows are left
        out for that column. Together: ``(scales_j (A + U diag(weights) Uᵀ) + diag(shifts_j)) x_j = b_j``.

    Returns
    -------
    BlockCGResult
        ``x``, ``n_iter``, ``residuals``, ``converged``.

    Raises
    ------
    NotPositiveDefiniteError
        A diagonal entry or a curvature pᵀAp is not positive.
    InvalidInputError
        Shapes do not agree, or an entry is not finite.

    Warns
    -----
    ConvergenceWarning
        Says how many columns stayed above ``tol``, and the largest residual.

    Notes
    -----
    A column whose right-hand side is zero gets the solution zero without an iteration. With a mask, the right-hand
    side of a column is what is left of b after the fixed entries were moved to it; rows fixed in every column are cut
    out of A first.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> A = sparse.diags_array([2.0, 4.0]).tocsr()
    >>> block_cg(A, np.array([[2.0, 0.0], [4.0, 8.0]])).x
    array([[1., 0.],
           [1., 2.]])
    """
    B = check_block("B", B)
    n, c = B.shape
    if not (np.isfinite(tol) and tol > 0):
        raise InvalidInputError(f"tol must be a positive number, got {tol!r}")
    systems = ColumnSystems(
        as_product(A, n),
        scales=check_scales(scales, c),
        shifts=check_shifts(shifts, n, c),
        mask=check_mask(column_mask, n, c),
        **check_low_rank(low_rank, n),
    )
    rows, reduced = _choose_rows(systems, c)
    plan = Plan(
        systems=reduced,
        inverse=_inverse(preconditioner, reduced, rows, (n, c)),
        dtype=choose_dtype(dtype, B),
        tol=tol,
        max_iter=check_max_iter(max_iter, n),
        refine=refine,
    )
    workers = choose_threads(n_threads, n * c)
    blocks = _column_blocks(c, choose_block_width(block_size, plan.dtype), workers)
    start = None if x0 is None else check_block("x0", x0, (n, c))
    result = _run(plan, systems, rows, B, start, blocks, workers)
    _warn_unconverged(result, plan)
    return result


def _run(
    plan: Plan,
    systems: ColumnSystems,
    rows: NDArray[np.intp] | None,
    B: Reals,
    start: Reals | None,
    blocks: list[slice],
    workers: int,
) -> BlockCGResult:
    """Solve the blocks, several at a time, and put the columns together."""
    n, c = B.shape
    whole = systems.astype(np.float64)
    # The product keeps its casts: made here, they are ready when several threads ask for them.
    plan.systems.product.astype(plan.dtype)
    plan.systems.product.astype(np.dtype(np.float64))
    x = np.empty((n, c), dtype=np.float64 if plan.refine else plan.dtype)
    n_iter, residuals = np.zeros(c, dtype=np.int64), np.zeros(c)

    def solve(columns: slice) -> None:
        target: Reals = np.array(B[:, columns], dtype=np.float64, order="C")
        guess: Reals = (
            np.zeros_like(target) if start is None else np.array(start[:, columns], dtype=np.float64, order="C")
        )
        fixed: Reals = np.zeros_like(target)
        if whole.mask is not None:
            block = whole.take(columns)
            fixed = np.where(np.asarray(block.mask), 0.0, guess)
            target, guess = block.residual(target, fixed), guess - fixed
        if rows is not None:
            target, guess = target[rows], guess[rows]
        free, n_iter[columns], residuals[columns] = BlockSolve(plan, columns, target, guess).run()
        fixed[slice(None) if rows is None else rows] += free
        x[:, columns] = fixed

    run_blocks(solve, blocks, workers)
    return BlockCGResult(x=x, n_iter=n_iter, residuals=residuals, converged=residuals <= plan.tol)


def _warn_unconverged(result: BlockCGResult, plan: Plan) -> None:
    failed = ~result.converged
    if not failed.any():
        return
    worst = int(np.argmax(np.where(failed, result.residuals, -1.0)))
    warnings.warn(
        f"conjugate gradients left {int(failed.sum())} of {failed.size} columns above the relative residual "
        f"tol={plan.tol:g} (largest {result.residuals[worst]:.2g}, column {worst}, after "
        f"{int(result.n_iter[worst])} of at "
        f"most {plan.max_iter} iterations). Raise max_iter or tol, or make the matrix better conditioned",
        ConvergenceWarning,
        stacklevel=3,
    )


def _choose_rows(systems: ColumnSystems, c: int) -> tuple[NDArray[np.intp] | None, ColumnSystems]:
    """Return the rows to solve for, in the order to work in, and the systems on them; None and all where not worth it.

    Rows that every column keeps fixed are cut out. Large graphs are reordered, so that a node's neighbours lie near it
    and the products find them in cache.
    """
    needed = np.ones(systems.n, dtype=bool) if systems.mask is None else np.asarray(systems.mask.any(axis=1))
    order = systems.product.local_order() if systems.n >= LARGE and c >= WIDE else None
    if order is None and needed.all():
        return None, systems
    rows = np.flatnonzero(needed) if order is None else order[needed[order]]
    reduced = systems.restrict(rows)
    return (None, systems) if reduced is None else (rows, reduced)


def _inverse(
    preconditioner: Any, systems: ColumnSystems, rows: NDArray[np.intp] | None, shape: tuple[int, int]
) -> Reals | None:
    """Return the inverse of the preconditioner's diagonal on the rows of ``systems``, of shape (n, 1) or (n, c)."""
    if preconditioner is None:
        return None
    if isinstance(preconditioner, str):
        if preconditioner != "jacobi":
            raise InvalidInputError(f"preconditioner must be 'jacobi', None or an array, got {preconditioner!r}")
        diagonal = systems.diagonal()
    else:
        diagonal = np.asarray(preconditioner, dtype=np.float64)
        diagonal = diagonal[:, None] if diagonal.ndim == 1 else diagonal
        if diagonal.shape not in ((shape[0], 1), shape):
            raise InvalidInputError(
                f"a preconditioner array must have shape ({shape[0]},) or {shape}, got {diagonal.shape}"
            )
        diagonal = diagonal if rows is None else diagonal[rows]
    solved = np.True_ if systems.mask is None else systems.mask
    wrong = ~(diagonal > 0) & (solved if diagonal.shape[1] > 1 else np.any(solved, axis=-1, keepdims=True))
    if wrong.any():
        row, column = (int(index) for index in np.argwhere(wrong)[0])
        entry = diagonal[row, min(column, diagonal.shape[1] - 1)]
        row = row if rows is None else int(rows[row])
        raise NotPositiveDefiniteError(
            f"A is not positive definite: its diagonal (or the preconditioner's) is {entry:.3g} at row {row}, column "
            f"{column} of B. Expected positive entries; an isolated node of a graph needs a positive shift "
            f"or a fixed value"
        )
    return np.divide(1.0, diagonal, out=np.zeros(diagonal.shape), where=diagonal > 0)


def _column_blocks(c: int, width: int, workers: int) -> list[slice]:
    """Cut c columns into blocks of nearly equal width, as many for each worker; none of a single column."""
    n_blocks = max(1, -(-c // width))
    if workers > 1:
        n_blocks = -(-n_blocks // workers) * workers
    n_blocks = max(1, min(n_blocks, c // 2))
    edges = np.linspace(0, c, n_blocks + 1).astype(int)
    return [slice(int(first), int(last)) for first, last in itertools.pairwise(edges) if last > first]
