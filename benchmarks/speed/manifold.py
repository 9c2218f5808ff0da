"""Methods on the manifold of all photos, for all tags: LapRLS, LapSVM and LPSSVM, exact and with landmarks.

The literal LapSVM takes Newton steps in n + 1 unknowns, tag by tag, on a share of the tags; kernel and Laplacian are
given to it. KKT: largest entry of ``γ_A α + γ_I L K α - Jᵀ y(1 - yf)₊``, relative to the largest ``(1 - yf)₊``.
The literal LPSSVM solves a dense generalised eigenproblem in each iteration, tag by tag, its slips mended. LPSSVM is
not convex; "rule for new photos" is the largest difference of its scores from those of the training photos.
"""

import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from benchmarks.literal.lapsvm import lapsvm
from benchmarks.literal.lpssvm import lpssvm_corrected
from benchmarks.speed.harness import Local, Worker, case, compare, out_parser, record
from tagloom.graph import knn_graph
from tagloom.kernels.matrix import kernel_matrix
from tagloom.methods.baselines.laprls import LapRLS
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.lpssvm import LPSSVM

Floats = NDArray[np.float64]
#: Photos, columns, labelled photos, tags.
SIZES = {"full": (2000, 200, 200, 81), "quick": (200, 20, 40, 6)}
LARGE = {"full": (20_000, 200, 2000, 81, 1000), "quick": (400, 20, 60, 6, 50)}
#: Tags that the literal algorithm is timed on.
LITERAL_TAGS = 2
CLUSTERS = 40
REPEATS = 3


def problem(n: int, d: int, labelled: int, c: int) -> tuple[Floats, NDArray[np.int8]]:
    """Return clusters with tags that hold for 8 % of the clusters each, 2 % of the labels wrong."""
    generator = np.random.default_rng(0)
    cluster = generator.integers(CLUSTERS, size=n)
    X = generator.standard_normal((CLUSTERS, d))[cluster] + generator.standard_normal((n, d))
    Y = (generator.random((CLUSTERS, c)) < 0.08)[cluster].astype(np.int8)
    Y ^= (generator.random((n, c)) < 0.02).astype(np.int8)
    Y[labelled:] = -1
    return X, Y


def fitted(model: Any, X: Floats, Y: NDArray[np.int8]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that the labelled photos never show
        return model.fit(X, Y)


def exact_case(n: int, d: int, labelled: int, c: int, threads: int) -> dict[str, Any]:
    X, Y = problem(n, d, labelled, c)
    K, L = kernel_matrix("rbf", X), knn_graph(X, 15).laplacian()
    learnt = np.flatnonzero((Y == 1).any(axis=0) & (Y == 0).any(axis=0))
    part = learnt[:LITERAL_TAGS]
    signs = np.where(Y == -1, 0.0, 2.0 * Y - 1.0)
    weights = LapSVM().ambient_weight, LapSVM().graph_weight
    dense = L.toarray()

    def literal() -> dict[str, Floats]:
        found = [lapsvm(K, dense, signs[:, tag], *weights) for tag in part]
        return {"alpha": np.array([alpha for alpha, _ in found]).T, "b": np.array([b for _, b in found])}

    def accuracy(found: Any) -> dict[str, float]:
        if isinstance(found, LapRLS | LapSVM):
            return {"KKT": found.optimality_}
        if not isinstance(found, dict):
            return {}
        smooth, y = K @ found["alpha"], signs[:, part]
        pulls = y * np.maximum(1.0 - y * (smooth + found["b"]), 0.0)
        residual = weights[0] * found["alpha"] + weights[1] * (L @ smooth) - pulls
        return {"KKT": float(np.abs(residual).max() / np.abs(pulls).max())}

    contenders = [
        Local("tagloom LapRLS", lambda: fitted(LapRLS(), X, Y), role="ours"),
        Local("tagloom LapSVM", lambda: fitted(LapSVM(), X, Y), role="ours"),
        Local("LapSVM as printed, tag by tag", literal, role="literal", runs=1, share=(len(part), len(learnt))),
        Local("one symmetric eigendecomposition", partial(eigh, K), role="ours"),
    ]
    entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    parameters = {"n": n, "d": d, "labelled": labelled, "tags": c}
    cpu = {entry["name"]: entry["cpu"] for entry in entries}
    ratios = {
        "LapSVM of all tags in eigendecompositions": cpu["tagloom LapSVM"] / cpu["one symmetric eigendecomposition"]
    }
    return case(f"{n} photos, {labelled} labelled, {c} tags", parameters, entries, ratios=ratios)


def subspace_case(n: int, d: int, labelled: int, c: int, threads: int) -> dict[str, Any]:
    X, Y = problem(n, d, labelled, c)
    K = kernel_matrix("rbf", X)
    W = K * (knn_graph(X, LPSSVM().n_neighbors).weights.toarray() > 0)
    learnt = np.flatnonzero((Y == 1).any(axis=0) & (Y == 0).any(axis=0))
    part = learnt[:LITERAL_TAGS]
    signs = np.where(Y == -1, 0.0, 2.0 * Y - 1.0)

    def literal() -> list[Floats]:
        return [lpssvm_corrected(K, W, signs[:, tag]) for tag in part]

    def accuracy(found: Any) -> dict[str, float]:
        if not isinstance(found, LPSSVM):
            return {}
        return {"rule for new photos": float(np.abs(found.decision_function(X) - found.transduction_).max())}

    contenders = [
        Local("tagloom LPSSVM", lambda: fitted(LPSSVM(), X, Y), role="ours"),
        Local("LPSSVM, dense, tag by tag", literal, role="literal", runs=1, share=(len(part), len(learnt))),
        Local("one symmetric eigendecomposition", partial(eigh, K), role="ours"),
    ]
    entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    cpu = {entry["name"]: entry["cpu"] for entry in entries}
    ratio = cpu["tagloom LPSSVM"] / cpu["one symmetric eigendecomposition"]
    parameters = {"n": n, "d": d, "labelled": labelled, "tags": c}
    title = f"LPSSVM: {n} photos, {labelled} labelled, {c} tags"
    return case(title, parameters, entries, ratios={"LPSSVM of all tags in eigendecompositions": ratio})


def landmark_case(n: int, d: int, labelled: int, c: int, landmarks: int, threads: int) -> dict[str, Any]:
    X, Y = problem(n, d, labelled, c)
    inputs = {"X": X, "Y": Y, "landmarks": np.array(landmarks)}
    with tempfile.TemporaryDirectory() as name:
        make = partial(Worker, inputs=inputs, folder=Path(name), role="ours", threads=threads)
        workers = [
            make("tagloom LapRLS", "peers/manifold_process.py:laprls"),
            make("tagloom LapSVM", "peers/manifold_process.py:lapsvm"),
            make("tagloom LPSSVM", "peers/manifold_process.py:lpssvm"),
        ]
        entries = compare(workers, accuracy=_landmark_accuracy, repeats=REPEATS, threads=threads)
        for worker in workers:
            worker.close()
    parameters = {"n": n, "d": d, "labelled": labelled, "tags": c, "landmarks": landmarks}
    return case(f"{n} photos, {labelled} labelled, {c} tags, {landmarks} landmarks", parameters, entries)


def _landmark_accuracy(found: dict[str, Any]) -> dict[str, float]:
    if "optimality" in found:
        return {"KKT": float(found["optimality"])}
    return {"rule for new photos": float(found["difference"])}


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("manifold").parse_args(argv)
    size = "quick" if arguments.quick else "full"
    cases = [
        exact_case(*SIZES[size], arguments.threads),
        subspace_case(*SIZES[size], arguments.threads),
        landmark_case(*LARGE[size], arguments.threads),
    ]
    title = "Methods on the manifold of all photos"
    record("manifold", title, cases, arguments.out, threads=arguments.threads, packages=["scikit-learn"])


if __name__ == "__main__":
    main()
