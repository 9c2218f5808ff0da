"""Methods on the manifold of all photos, for all tags: LapRLS, LapSVM and LPSSVM, exact and with landmarks.

The literal LapSVM takes Newton steps in n + 1 unknowns, tag by tag, on a share of the tags; kernel and Laplacian are
given to it. KKT: largest entry of ``γ_A α + γ_I L K α - Jᵀ y(1 - yf)₊``, relative to the largest ``(1 - yf)₊``.
LAMDA-SSL's LapSVM has the hinge unsquared; it is given the graph, and kernel and weights are the same. MAP: over the
unlabelled photos and the few tags that it is timed on, against labels without errors.
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
from benchmarks.speed.harness import Accuracy, Local, Worker, case, compare, out_parser, record
from tagloom.graph import knn_graph
from tagloom.kernels.matrix import default_gamma, kernel_matrix
from tagloom.methods.baselines.laprls import LapRLS
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.lpssvm import LPSSVM
from tagloom.metrics import mean_average_precision

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]
#: Photos, columns, labelled photos, tags.
SIZES = {"full": (2000, 200, 200, 81), "quick": (200, 20, 40, 6)}
LARGE = {"full": (20_000, 200, 2000, 81, 1000), "quick": (400, 20, 60, 6, 50)}
#: Tags that the literal LPSSVM is timed on, and the literal LapSVM and the peer.
LITERAL_TAGS = 2
PEER_TAGS = 3
EIGH = "one symmetric eigendecomposition"
PEER = "LAMDA-SSL LapSVM, tag by tag"
CLUSTERS = 40
REPEATS = 3


def problem(n: int, d: int, labelled: int, c: int) -> tuple[Floats, Labels, Labels]:
    """Return clusters, tags that hold for 8 % of the clusters each, 2 % of the labels wrong, and the true tags."""
    generator = np.random.default_rng(0)
    cluster = generator.integers(CLUSTERS, size=n)
    X = generator.standard_normal((CLUSTERS, d))[cluster] + generator.standard_normal((n, d))
    truth = (generator.random((CLUSTERS, c)) < 0.08)[cluster].astype(np.int8)
    Y = truth ^ (generator.random((n, c)) < 0.02).astype(np.int8)
    Y[labelled:] = -1
    return X, Y, truth


def fitted(model: Any, X: Floats, Y: Labels) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that the labelled photos never show
        return model.fit(X, Y)


def signs_of(Y: Labels) -> Floats:
    return np.where(Y == -1, 0.0, 2.0 * Y - 1.0)


def learnt_tags(Y: Labels) -> NDArray[np.intp]:
    return np.flatnonzero((Y == 1).any(axis=0) & (Y == 0).any(axis=0))


def peer_inputs(X: Floats, W: Floats, signs: Floats) -> dict[str, NDArray[Any]]:
    """Return what the peer needs for the labelled first rows; its loss is a mean over them, its graph counts 1/n²."""
    ours, labelled = LapSVM(), len(signs)
    return {
        "X": X,
        "W": W,
        "signs": signs,
        "gamma": np.array(default_gamma("rbf", X)),
        "ambient_weight": np.array(ours.ambient_weight / labelled),
        "graph_weight": np.array(ours.graph_weight * len(X) ** 2 / labelled),
    }


def exact_accuracy(X: Floats, K: Floats, L: Any, signs: Floats, truth: Labels, part: NDArray[np.intp]) -> Accuracy:
    """Return a function that states KKT and, for some tags, MAP of a model, of (α, b), or of the peer's arrays."""
    unlabelled = (signs == 0).all(axis=1)
    y = signs[:, part]

    def quality(scores: Floats) -> dict[str, float]:
        return {"MAP": mean_average_precision(truth[np.ix_(unlabelled, part)], scores[unlabelled])}

    def accuracy(found: Any) -> dict[str, float]:
        if isinstance(found, LapRLS | LapSVM):
            return {"KKT": found.optimality_} | quality(found.decision_function(X)[:, part])
        if isinstance(found, dict):
            return quality(K @ found["alpha"] + found["b"])
        alpha, b = found
        if alpha.shape != y.shape:
            return {}  # the eigendecomposition
        smooth = K @ alpha
        pulls = y * np.maximum(1.0 - y * (smooth + b), 0.0)
        residual = LapSVM().ambient_weight * alpha + LapSVM().graph_weight * (L @ smooth) - pulls
        return {"KKT": float(np.abs(residual).max() / np.abs(pulls).max())} | quality(smooth + b)

    return accuracy


def exact_case(n: int, d: int, labelled: int, c: int, threads: int) -> dict[str, Any]:
    X, Y, truth = problem(n, d, labelled, c)
    K, graph = kernel_matrix("rbf", X), knn_graph(X, LapSVM().n_neighbors)
    learnt, signs, L = learnt_tags(Y), signs_of(Y), graph.laplacian()
    part = learnt[:PEER_TAGS]
    share = (len(part), len(learnt))
    dense, weights = L.toarray(), (LapSVM().ambient_weight, LapSVM().graph_weight)
    inputs = peer_inputs(X, graph.weights.toarray(), signs[:labelled, part])
    target = "peers/lamda_ssl.py:lapsvm"

    def literal() -> tuple[Floats, Floats]:
        found = [lapsvm(K, dense, signs[:, tag], *weights) for tag in part]
        return np.array([alpha for alpha, _ in found]).T, np.array([b for _, b in found])

    with (
        tempfile.TemporaryDirectory() as folder,
        Worker(PEER, target, inputs, Path(folder), environment="lamda-ssl", threads=threads) as peer,
    ):
        peer.share = share
        contenders: list[Any] = [
            Local("tagloom LapRLS", lambda: fitted(LapRLS(), X, Y), role="ours"),
            Local("tagloom LapSVM", lambda: fitted(LapSVM(), X, Y), role="ours"),
            Local("LapSVM as printed, tag by tag", literal, role="literal", runs=1, share=share),
            peer,
            Local(EIGH, partial(eigh, K), role="ours"),
        ]
        accuracy = exact_accuracy(X, K, L, signs, truth, part)
        entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    parameters = {"n": n, "d": d, "labelled": labelled, "tags": c}
    return case(f"{n} photos, {labelled} labelled, {c} tags", parameters, entries, ratios=exact_ratios(entries))


def exact_ratios(entries: list[dict[str, Any]]) -> dict[str, float]:
    """Return LapSVM beside the eigendecomposition and, where it ran, the peer beside LapSVM, in CPU time."""
    cpu = {entry["name"]: entry["cpu"] for entry in entries if "cpu" in entry}
    ours = cpu["tagloom LapSVM"]
    found = {"LapSVM of all tags in eigendecompositions": ours / cpu[EIGH]}
    return found | ({"LAMDA-SSL's LapSVM in tagloom's": cpu[PEER] / ours} if PEER in cpu else {})


def subspace_case(n: int, d: int, labelled: int, c: int, threads: int) -> dict[str, Any]:
    X, Y, _ = problem(n, d, labelled, c)
    K = kernel_matrix("rbf", X)
    W = K * (knn_graph(X, LPSSVM().n_neighbors).weights.toarray() > 0)
    learnt, signs = learnt_tags(Y), signs_of(Y)
    part = learnt[:LITERAL_TAGS]

    def literal() -> list[Floats]:
        return [lpssvm_corrected(K, W, signs[:, tag]) for tag in part]

    def accuracy(found: Any) -> dict[str, float]:
        if not isinstance(found, LPSSVM):
            return {}
        return {"rule for new photos": float(np.abs(found.decision_function(X) - found.transduction_).max())}

    contenders = [
        Local("tagloom LPSSVM", lambda: fitted(LPSSVM(), X, Y), role="ours"),
        Local("LPSSVM, dense, tag by tag", literal, role="literal", runs=1, share=(len(part), len(learnt))),
        Local(EIGH, partial(eigh, K), role="ours"),
    ]
    entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    cpu = {entry["name"]: entry["cpu"] for entry in entries}
    ratio = cpu["tagloom LPSSVM"] / cpu[EIGH]
    parameters = {"n": n, "d": d, "labelled": labelled, "tags": c}
    title = f"LPSSVM: {n} photos, {labelled} labelled, {c} tags"
    return case(title, parameters, entries, ratios={"LPSSVM of all tags in eigendecompositions": ratio})


def landmark_case(n: int, d: int, labelled: int, c: int, landmarks: int, threads: int) -> dict[str, Any]:
    X, Y, _ = problem(n, d, labelled, c)
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
