"""CPU time of harmonic propagation for many tags, beside scikit-learn's LabelSpreading tag by tag.

Run: ``python benchmarks/speed/propagation.py --out propagation.json``. Both build the neighbour graph from the same
features; scikit-learn's estimator takes one tag at a time and builds it again for each. ``--reference-tags`` says how
many tags scikit-learn is really run on (0: all); where fewer than all, its total is that mean times the number of tags,
and the report says so. The harmonic scores are compared with a dense solve of the same equations.
"""

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelSpreading
from threadpoolctl import threadpool_limits

from tagloom.graph import knn_graph
from tagloom.methods import HarmonicPropagation, LocalGlobalConsistency


def make_photos(n: int, d: int, c: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 features around 100 centres and tags that follow the centres, on a share of the rows."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((100, d))
    centre = rng.integers(100, size=n)
    X = (centres[centre] + 0.8 * rng.standard_normal((n, d))).astype(np.float32)
    chance = np.clip(0.9 * (rng.random((100, c)) < 0.06), 0.01, 1.0)
    Y = (rng.random((n, c)) < chance[centre]).astype(np.int8)
    Y[rng.random(n) > share] = -1
    return X, Y


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def dense_error(X: np.ndarray, Y: np.ndarray, scores: np.ndarray, n_neighbors: int) -> float:
    """Return the largest difference from a dense Cholesky solve of L_uu F_u = W_ul Y_l (rows known as a whole)."""
    graph = knn_graph(X, n_neighbors)
    known = np.flatnonzero(Y[:, 0] != -1)
    unknown = np.flatnonzero(Y[:, 0] == -1)
    system = graph.laplacian("unnormalized")[unknown][:, unknown].toarray()
    right = graph.weights[unknown][:, known] @ Y[known].astype(np.float64)
    exact = cho_solve(cho_factor(system, overwrite_a=True), right)
    return float(np.abs(scores[unknown] - exact).max())


def spread(X: np.ndarray, y: np.ndarray, n_neighbors: int) -> LabelSpreading:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LabelSpreading(kernel="knn", n_neighbors=n_neighbors).fit(X, y)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    X, Y = make_photos(arguments.n, arguments.d, arguments.tags, arguments.labelled, arguments.seed)
    k, c = arguments.neighbors, arguments.tags
    threads = arguments.threads
    fits = [timed(lambda: HarmonicPropagation(k, n_threads=threads).fit(X, Y)) for _ in range(arguments.repeats)]
    harmonic, ours = min(fits, key=lambda fit: fit[1]["cpu_s"])
    graph, graph_time = timed(lambda: knn_graph(X, k, n_threads=threads))
    consistency, consistency_time = timed(lambda: LocalGlobalConsistency(k, graph=graph, n_threads=threads).fit(X, Y))
    n_reference = c if arguments.reference_tags == 0 else min(c, arguments.reference_tags)
    reference = [timed(lambda j=j: spread(X, Y[:, j], k))[1] for j in range(n_reference)]
    cpu_tag = float(np.mean([row["cpu_s"] for row in reference]))
    report = {
        "harmonic": ours | {"n_iter": harmonic.n_iter_},
        "graph_alone": graph_time,
        "consistency_without_graph": consistency_time | {"n_iter": consistency.n_iter_},
        "label_spreading": {
            "tags_run": n_reference,
            "extrapolated": n_reference < c,
            "cpu_s_per_tag": cpu_tag,
            "cpu_s_all_tags": cpu_tag * c,
        },
        "cpu_ratio": cpu_tag * c / ours["cpu_s"],
    }
    if arguments.n <= arguments.dense_up_to:
        report["max_difference_from_dense_solve"] = dense_error(X, Y, harmonic.transduction_, k)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--d", type=int, default=64)
    parser.add_argument("--tags", type=int, default=81)
    parser.add_argument("--neighbors", type=int, default=15)
    parser.add_argument("--labelled", type=float, default=0.1, help="share of photos with labels")
    parser.add_argument("--reference-tags", type=int, default=3)
    parser.add_argument("--dense-up-to", type=int, default=10_000, help="largest n with a dense solve for comparison")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="threads of tagloom and of the numerical libraries")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    report: dict[str, Any] = {
        "benchmark": "propagation",
        "settings": {key: value for key, value in vars(arguments).items() if key != "out"},
        "machine": {"cores": os.cpu_count(), "processor": platform.processor(), "python": platform.python_version()},
        "versions": {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__},
    }
    with threadpool_limits(arguments.threads):
        report["results"] = run(arguments)
    text = json.dumps(report, indent=2)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
