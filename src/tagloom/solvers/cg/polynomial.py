"""Approximate solutions of sparse systems by one fixed polynomial of the matrix, the same for every column."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.blas import daxpy, dscal, saxpy, sscal
from scipy.sparse.csgraph import reverse_cuthill_mckee

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError, NotPositiveDefiniteError
from tagloom.solvers.cg.products import add_product, choose_threads, run_blocks

__all__ = ["PolynomialInverse", "local_order"]

# Columns worked on at a time: a row of float32 is then about three cache lines.
WIDTH = 48
# Rows from which neighbours are moved near each other.
LARGE = 5_000
# Steps of the Lanczos process that looks for the ends of the spectrum.
LANCZOS_STEPS = 24
# The ends are found from within: the interval is made wider by these shares of its ends.
BELOW, ABOVE = 0.9, 1.02
SCALES = {np.dtype(np.float32): (sscal, saxpy), np.dtype(np.float64): (dscal, daxpy)}


class PolynomialInverse:
    """``q(A) ≈ A⁻¹`` for a sparse symmetric M-matrix A (Laplacian plus positive diagonal), by Chebyshev iteration.

    Conjugate gradients choose another polynomial for each column; here it is one for all, so that the approximate
    inverse is a linear, symmetric map, and a step costs one product with A and three sweeps over the block. Products,
    order of rows and bounds of the spectrum are prepared once for many right-hand sides.

    With ``p(λ) = 1 - λq(λ)`` the error of a solution is ``p(A)A⁻¹b``. On the interval of the spectrum |p| is at most
    the accuracy asked for, and below it (eigenvalues that were not found) p lies between that and 1.

    Parameters
    ----------
    A : sparse matrix of shape (n, n)
        Symmetric, positive diagonal, no positive entry elsewhere, positive definite.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the iterations.
    reorder : bool, default=True
        Whether to bring neighbours near each other where A is large; not needed where that was done before.
    n_threads : int, optional
        Threads over blocks of columns; default as in `block_cg`.

    Attributes
    ----------
    interval : tuple of float
        Where the eigenvalues of A, divided by its diagonal, are taken to lie.
    """

    def __init__(self, A: Any, *, dtype: str = "float32", reorder: bool = True, n_threads: int | None = None) -> None:
        A = sparse.csr_array(A)
        diagonal = A.diagonal()
        if A.shape[0] and not (diagonal > 0).all():
            raise NotPositiveDefiniteError(
                f"A must have a positive diagonal, got {diagonal.min():.3g} at row {int(diagonal.argmin())}"
            )
        self.n, self.dtype, self.n_threads = int(A.shape[0]), np.dtype(dtype), n_threads
        self.order = local_order(A) if reorder else None
        if self.order is not None:
            A = sparse.csr_array(A[self.order][:, self.order])
            A.sort_indices()
            diagonal = diagonal[self.order]
        self._roots = 1.0 / np.sqrt(diagonal)
        rows = np.repeat(self._roots, np.diff(A.indptr))
        scaled = sparse.csr_array((A.data * rows * self._roots[A.indices], A.indices, A.indptr), shape=A.shape)
        self.interval = _spectrum(scaled)
        # A step subtracts a product; the private kernel can only add one.
        self._negative = sparse.csr_array((-scaled.data.astype(self.dtype), A.indices, A.indptr), shape=A.shape)

    def degree(self, accuracy: float) -> int:
        """Return the steps after which |p| is at most ``accuracy`` on the interval."""
        if not 0 < accuracy < 1:
            raise InvalidInputError(f"accuracy must lie between 0 and 1, got {accuracy!r}")
        low, high = self.interval
        if low == high:
            return 1
        return max(1, int(np.ceil(np.arccosh(1 / accuracy) / np.arccosh((high + low) / (high - low)))))

    def solve(self, B: Reals, accuracy: float, *, mask: NDArray[np.bool_] | None = None) -> NDArray[np.floating[Any]]:
        """Return ``q(A) B`` in the working precision.

        Parameters
        ----------
        B : array of shape (n, c)
            Right-hand sides; zero outside of the mask.
        accuracy : float
            Bound of |p|, between 0 and 1.
        mask : array of bool, shape (n, c), optional
            Entries that are solved for, for each column the system on its own rows; the others are zero.
        """
        result = np.empty(B.shape, dtype=self.dtype)
        steps = self.degree(accuracy)

        def one(columns: slice) -> None:
            block = self._enter(B[:, columns])
            kept = None if mask is None else np.ascontiguousarray(self._arrange(mask[:, columns]).astype(self.dtype))
            result[:, columns] = self._leave(self._iterate(block, steps, kept)[0], self._roots)

        self._each_block(one, B.shape[1])
        return result

    def bilinear_factors(
        self, B: Reals, accuracy: float
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """Return Y and V with ``YᵀV = Bᵀ(2q - qAq)(A)B``, which is at most ``BᵀA⁻¹B`` as a matrix.

        Y is ``q(A)B`` and V is ``B + (B - AY)``. The gap is ``(B - AY)ᵀA⁻¹(B - AY)``: the square of the accuracy, and
        never of the wrong sign.
        """
        left, right = (np.empty(B.shape, dtype=self.dtype) for _ in range(2))
        steps = self.degree(accuracy)

        def one(columns: slice) -> None:
            solution, residual, last = self._iterate(self._enter(B[:, columns]), steps)
            add_product(self._negative, last, residual)
            left[:, columns] = self._leave(solution, self._roots)
            right[:, columns] = self._leave(residual, 1.0 / self._roots)
            right[:, columns] += B[:, columns]

        self._each_block(one, B.shape[1])
        return left, right

    def _leave(self, block: Reals, scale: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
        """Return a block of the iterations in the caller's order, times ``scale``; the block is changed."""
        block *= scale[:, None].astype(block.dtype)
        if self.order is None:
            return block
        result = np.empty_like(block)
        result[self.order] = block
        return result

    def _enter(self, B: Reals) -> NDArray[np.floating[Any]]:
        """Return a block in the working order, precision and scale."""
        block = self._arrange(np.asarray(B)) * self._roots[:, None].astype(B.dtype)
        return np.ascontiguousarray(block, dtype=self.dtype)

    def _arrange(self, block: NDArray[Any]) -> NDArray[Any]:
        return block if self.order is None else block[self.order]

    def _iterate(
        self, residual: NDArray[np.floating[Any]], steps: int, mask: NDArray[np.floating[Any]] | None = None
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """Run the three-term recurrence from zero; return solution, residual before the last step, last step."""
        scale, axpy = SCALES[self.dtype]
        low, high = self.interval
        centre, half = 0.5 * (high + low), 0.5 * (high - low)
        direction = residual / self.dtype.type(centre)
        solution = direction.copy()
        flat_residual, flat_direction, flat_solution = residual.ravel(), direction.ravel(), solution.ravel()
        rho = half / centre
        for _ in range(steps - 1):
            add_product(self._negative, direction, residual)
            if mask is not None:
                residual *= mask
            following = 1.0 / (2.0 * centre / half - rho) if half > 0 else 0.0
            scale(self.dtype.type(following * rho), flat_direction)
            axpy(flat_residual, flat_direction, a=2.0 * following / half if half > 0 else 1.0 / centre)
            axpy(flat_direction, flat_solution)
            rho = following
        return solution, residual, direction

    def _each_block(self, work: Callable[[slice], None], n_columns: int) -> None:
        workers = choose_threads(self.n_threads, self.n * n_columns)
        n_blocks = max(1, -(-n_columns // WIDTH))
        if workers > 1:
            n_blocks = min(max(1, n_columns), -(-n_blocks // workers) * workers)
        edges = np.linspace(0, n_columns, n_blocks + 1).astype(int)
        blocks = [slice(int(first), int(last)) for first, last in itertools.pairwise(edges) if last > first]
        run_blocks(work, blocks, workers)


def local_order(A: Any) -> NDArray[np.intp] | None:
    """Return an order of the rows in which neighbours are near each other; None for a matrix that fits in cache."""
    if A.shape[0] < LARGE:
        return None
    return np.asarray(reverse_cuthill_mckee(sparse.csr_matrix(A), symmetric_mode=True), dtype=np.intp)


def _spectrum(A: Any) -> tuple[float, float]:
    """Return an interval for the eigenvalues of an M-matrix with unit diagonal, by a short Lanczos process.

    ``A = I - N`` with N ≥ 0: the smallest eigenvalue is at least the smallest row sum of ``D⁻¹`` times the matrix
    before scaling, and the largest is at most 2.
    """
    n = A.shape[0]
    if n == 0:
        return 1.0, 1.0
    vector = np.random.default_rng(0).standard_normal(n)
    basis = np.empty((min(LANCZOS_STEPS, n), n))
    alphas, betas = [], []
    norm = float(np.linalg.norm(vector))
    for step in range(len(basis)):
        basis[step] = vector / norm
        vector = A @ basis[step]
        alphas.append(float(vector @ basis[step]))
        for _ in range(2):
            vector -= basis[: step + 1].T @ (basis[: step + 1] @ vector)
        norm = float(np.linalg.norm(vector))
        if norm <= 1e-10:
            break
        betas.append(norm)
    size = len(alphas)
    ritz = np.linalg.eigvalsh(np.diag(alphas) + np.diag(betas[: size - 1], 1) + np.diag(betas[: size - 1], -1))
    if not ritz[0] > 0:
        raise NotPositiveDefiniteError(
            f"A is not positive definite: {ritz[0]:.3g} is at least its smallest eigenvalue (divided by its diagonal). "
            f"Add a small positive diagonal"
        )
    return BELOW * float(ritz[0]), min(2.0, ABOVE * float(ritz[-1]))
