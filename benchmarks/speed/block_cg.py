"""`block_cg` on neighbour graphs, beside SciPy's cg column by column and a sparse factorisation.

The matrix is ``L + pull I`` with the Laplacian of an exact neighbour graph of points on a smooth manifold of six
dimensions, which hangs together as graphs of photos do (separate clusters would factorise piece by piece); the
right-hand sides are sparse 0/1 columns, one per tag. Errors are differences from a solution with residual 1e-12.
"""

from functools import partial
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg, splu

from benchmarks.speed.harness import Local, case, compare, out_parser, record, wall_ratio
from tagloom.solvers import block_cg

SIZES = {"full": [(10_000, 81), (50_000, 81)], "quick": [(1000, 20)]}
# Rows up to which the factorisation runs: its fill-in grows much faster than the graph.
MOST_FACTORISED = 10_000
NEIGHBORS = 15
PULL = 0.1
TOL = 1e-6
Floats = NDArray[np.float64]


def make_laplacian(n: int) -> sparse.csr_array:
    """Return ``L + pull I`` of the binary union graph of n points in 32 dimensions on a manifold of six."""
    rng = np.random.default_rng(0)
    place = rng.random((n, 6))
    points = np.cos(2.0 * place @ rng.standard_normal((6, 32)) + rng.uniform(0, 2 * np.pi, 32)).astype(np.float32)
    neighbors = faiss.knn(points, points, NEIGHBORS + 1)[1]
    rows = np.repeat(np.arange(n), NEIGHBORS)
    weights = sparse.csr_array((np.ones(rows.size), (rows, neighbors[:, 1:].ravel())), shape=(n, n))
    weights = weights.maximum(weights.T).tocsr()
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degrees + PULL) - weights)


def ours(A: sparse.csr_array, B: Floats, dtype: str, n_threads: int) -> Floats:
    return block_cg(A, B, tol=TOL, dtype=dtype, n_threads=n_threads).x


def by_column(A: sparse.csr_array, B: Floats) -> Floats:
    jacobi = sparse.diags_array(1 / A.diagonal())
    return np.column_stack([cg(A, b, rtol=TOL, M=jacobi)[0] for b in B.T])


def factorised(A: sparse.csr_array, B: Floats) -> Floats:
    return splu(A.tocsc()).solve(B)


def name_of(dtype: str, n_threads: int) -> str:
    return f"tagloom, {dtype}, {n_threads} thread{'s' if n_threads > 1 else ''}"


def solver_case(n: int, c: int) -> dict[str, Any]:
    A = make_laplacian(n)
    B = (np.random.default_rng(1).random((n, c)) < 0.02).astype(np.float64)
    exact = block_cg(A, B, tol=1e-12).x

    def accuracy(x: Floats) -> dict[str, float]:
        residuals = np.linalg.norm(B - A @ x, axis=0) / np.linalg.norm(B, axis=0)
        return {
            "max. relative residual": residuals.max(),
            "max. relative error": np.abs(x - exact).max() / np.abs(exact).max(),
        }

    dtypes = ("float64", "float32")
    # The solver's threads are its own, one block of columns each: the libraries below stay at one.
    contenders = [
        *(Local(name_of(t, k), partial(ours, A, B, t, k), role="ours") for t in dtypes for k in (1, 2)),
        Local("scipy cg, column by column", partial(by_column, A, B), role="peer", runs=1 if n > 10_000 else None),
        Local(
            "scipy splu",
            partial(factorised, A, B),
            role="peer",
            runs=1,
            skipped="" if n <= MOST_FACTORISED else f"fills in: not run above {MOST_FACTORISED} rows",
        ),
    ]
    entries = compare(contenders, accuracy=accuracy)
    ratios = {
        f"{dtype}: wall time of one thread to that of two": wall_ratio(entries, name_of(dtype, 1), name_of(dtype, 2))
        for dtype in dtypes
    }
    parameters = {"n": n, "columns": c, "entries": int(A.nnz), "neighbors": NEIGHBORS, "pull": PULL, "tol": TOL}
    return case(f"{n} rows, {A.nnz} entries, {c} columns, tolerance {TOL:g}", parameters, entries, ratios=ratios)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("block_cg").parse_args(argv)
    cases = [solver_case(*size) for size in SIZES["quick" if arguments.quick else "full"]]
    title = "Linear systems on neighbour graphs, all tags at once"
    record("block_cg", title, cases, arguments.out, packages=["faiss-cpu"])


if __name__ == "__main__":
    main()
