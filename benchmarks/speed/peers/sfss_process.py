"""SFSS and the algorithm as printed, each to be run in a process of its own (see worker.py)."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.literal.sfss import sfss
from tagloom.graph import NeighborGraph
from tagloom.methods.sfss import SFSS

Arrays = dict[str, Any]


def weights(arrays: Arrays) -> Any:
    n = len(arrays["X"])
    return sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))


def estimator(arrays: Arrays) -> SFSS:
    graph = NeighborGraph(weights(arrays))
    threads = int(arrays["threads"])
    return SFSS(sparsity=float(arrays["gamma"]), graph=graph, tol=float(arrays["tol"]), n_threads=threads)


def fit(arrays: Arrays) -> Arrays:
    model = estimator(arrays).fit(arrays["X"], arrays["Y"])
    return {"W": model.coef_, "optimality": np.array(model.optimality_)}


def path(arrays: Arrays) -> Arrays:
    found = estimator(arrays).sparsity_path(arrays["X"], arrays["Y"], n_points=20, smallest=0.01)
    return {"optimality": np.array(found.optimalities.max())}


def literal(arrays: Arrays) -> Arrays:
    X, Y = arrays["X"].astype(np.float64), arrays["Y"]
    W, _, _ = sfss(X, weights(arrays).toarray(), Y, 1.0, float(arrays["gamma"]), tol=1e-8, max_iter=200)
    return {"W": W}
