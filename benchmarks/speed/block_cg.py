"""CPU and wall time of `block_cg` on neighbour graphs, beside SciPy's cg column by column and a sparse factorisation.

Run: ``python benchmarks/speed/block_cg.py --out block_cg.json``. The matrix is ``L + pull I`` with the Laplacian of an
exact neighbour graph of clustered points; the right-hand sides are sparse 0/1 columns, one per tag. Beside each time
stand the largest relative residual (float64) and the largest difference from a solution with residual 1e-12, relative
to its largest entry.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import scipy
from scipy import sparse
from scipy.sparse.linalg import cg, splu
from threadpoolctl import threadpool_limits

from tagloom.solvers import block_cg


def make_laplacian(n: int, n_neighbors: int, pull: float, seed: int) -> sparse.csr_array:
    """Return ``L + pull I`` of the binary union graph of n points in 32 dimensions, drawn around 50 centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((50, 32))
    points = (centres[rng.integers(50, size=n)] + 0.7 * rng.standard_normal((n, 32))).astype(np.float32)
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    _, neighbors = index.search(points, n_neighbors + 1)
    rows = np.repeat(np.arange(n), n_neighbors)
    weights = sparse.csr_array((np.ones(rows.size), (rows, neighbors[:, 1:].ravel())), shape=(n, n))
    weights = weights.maximum(weights.T).tocsr()
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degrees + pull) - weights)


def solve_by_column(A: sparse.csr_array, B: np.ndarray, tol: float) -> np.ndarray:
    jacobi = sparse.diags_array(1 / A.diagonal())
    with threadpool_limits(1):  # for vectors of this size idle BLAS threads would only add CPU time
        return np.column_stack([cg(A, b, rtol=tol, M=jacobi)[0] for b in B.T])


def measure(name: str, solve: Callable[[], np.ndarray], check: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Time a solver (best of some runs) and put its accuracy beside."""
    best = (np.inf, np.inf)
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        x = solve()
        best = min(best, (time.perf_counter() - wall, time.process_time() - cpu))
    A, B, exact = check["A"], check["B"], check["exact"]
    row = {
        "solver": name,
        "wall_s": round(best[0], 4),
        "cpu_s": round(best[1], 4),
        "max_relative_residual": float((np.linalg.norm(B - A @ x, axis=0) / np.linalg.norm(B, axis=0)).max()),
        "max_error": float(np.abs(x - exact).max() / np.abs(exact).max()),
    }
    print(
        f"  {name:<34} wall {row['wall_s']:8.3f} s  cpu {row['cpu_s']:8.3f} s  "
        f"residual {row['max_relative_residual']:.1e}  error {row['max_error']:.1e}"
    )
    return row


def run(n: int, arguments: argparse.Namespace) -> dict[str, Any]:
    A = make_laplacian(n, arguments.neighbors, arguments.pull, arguments.seed)
    rng = np.random.default_rng(arguments.seed + 1)
    B = (rng.random((n, arguments.columns)) < 0.02).astype(np.float64)
    check = {"A": A, "B": B, "exact": block_cg(A, B, tol=1e-12).x}
    tol = arguments.tol
    print(f"n = {n}, {A.nnz} entries, {arguments.columns} columns, tol {tol:g}")
    rows = []
    for dtype in ("float64", "float32"):
        for n_threads in (1, 2):
            rows.append(
                measure(
                    f"block_cg {dtype}, {n_threads} thread(s)",
                    lambda dtype=dtype, k=n_threads: block_cg(A, B, tol=tol, dtype=dtype, n_threads=k).x,
                    check,
                    arguments.repeats,
                )
            )
    rows.append(measure("scipy cg, column by column", lambda: solve_by_column(A, B, tol), check, 1))
    if n <= arguments.factor_up_to:
        rows.append(measure("scipy splu", lambda: splu(A.tocsc()).solve(B), check, 1))
    wall = [row["wall_s"] for row in rows]
    summary = {
        "two_threads_speedup_float64": wall[0] / wall[1],
        "two_threads_speedup_float32": wall[2] / wall[3],
        "cpu_ratio_scipy_cg_to_float32": rows[4]["cpu_s"] / rows[2]["cpu_s"],
        "cpu_ratio_scipy_cg_to_float64": rows[4]["cpu_s"] / rows[0]["cpu_s"],
    }
    print("  " + ", ".join(f"{key} {value:.2f}" for key, value in summary.items()))
    return {"n": n, "nnz": int(A.nnz), "rows": rows, **summary}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--columns", type=int, default=81)
    parser.add_argument("--neighbors", type=int, default=15)
    parser.add_argument("--pull", type=float, default=0.1)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--factor-up-to", type=int, default=5_000, help="largest n that is also factorised")
    arguments = parser.parse_args()
    report = {
        "benchmark": "block_cg",
        "settings": {key: value for key, value in vars(arguments).items() if key != "out"},
        "machine": {"cores": os.cpu_count(), "processor": platform.processor(), "python": platform.python_version()},
        "versions": {"numpy": np.__version__, "scipy": scipy.__version__},
        "results": [run(n, arguments) for n in arguments.sizes],
    }
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
