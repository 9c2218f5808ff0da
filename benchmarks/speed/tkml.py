"""Transductive kernel maps: label space against the printed iteration, Corel5K in full, and 50,000 photos.

All fits take five rounds. Residual: that of the fixed point of Eq. (8), relative to its right-hand side, for the
atoms and the classifier that each ended with.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import load_dataset
from benchmarks.errors import BenchmarkError
from benchmarks.literal import tkml as literal
from benchmarks.speed.harness import Local, Worker, case, compare, missing_case, out_parser, record
from tagloom.core.seeds import check_generator
from tagloom.graph import knn_graph
from tagloom.methods.baselines.jec import JEC
from tagloom.methods.baselines.tagprop import TagProp
from tagloom.methods.tkml import TKML
from tagloom.metrics import mean_average_precision

Floats = NDArray[np.float64]
#: Photos, columns, labelled photos, tags.
SIZES = {"full": (700, 100, 350, 20), "quick": (60, 10, 20, 3)}
LARGE = {"full": (50_000, 1280, 5000, 260), "quick": (300, 20, 40, 5)}
CLUSTERS = 50
RANK_PENALTY = 1e-3
ROUNDS = 5
REPEATS = 3


def problem(n: int, d: int, labelled: int, c: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return clusters with tags that hold for 6 % of the clusters each."""
    generator = np.random.default_rng(0)
    cluster = generator.integers(CLUSTERS, size=n)
    X = generator.standard_normal((CLUSTERS, d))[cluster] + generator.standard_normal((n, d))
    Y = (generator.random((CLUSTERS, c)) < 0.06)[cluster].astype(np.int8)
    Y[labelled:] = -1
    return X.astype(np.float32), Y


def literal_case(n: int, d: int, labelled: int, c: int, threads: int) -> dict[str, Any]:
    """Time the printed iteration and ours from the same start."""
    X, Y = problem(n, d, labelled, c)
    graph = knn_graph(X, 6, weights="heat")
    A, p = graph.weights.toarray(), max(labelled, d) + 1
    targets, known = np.where(Y == -1, 0.0, 2.0 * Y - 1.0).T, (Y != -1).astype(float).T
    features = X.T.astype(float)
    model = TKML(graph=graph, rank_penalty=RANK_PENALTY, tol=0.0, max_iter=ROUNDS, random_state=0)
    generator = check_generator(0)
    Phi = model._start(p, n, generator).explicit()
    B = generator.standard_normal((p, d))
    B = (B / np.linalg.norm(B, axis=1, keepdims=True)).T

    def printed() -> tuple[Floats, Floats, Floats]:
        return literal.tkml(features, targets, known, A, Phi, B, mu=RANK_PENALTY, max_iter=ROUNDS, limit="diffusion")

    def ours() -> tuple[Floats, Floats, Floats]:
        found = model.fit(X, Y)
        return found.dictionary_, found.kernel_map_, found.classifier_

    def accuracy(found: tuple[Floats, Floats, Floats]) -> dict[str, float]:
        atoms, mapped, W = found
        scores = W.T @ mapped
        pulled = scores @ (np.diag(A.sum(axis=1)) - A) + known * scores
        rhs = atoms.T @ features + W @ (known * targets)
        residual = atoms.T @ (atoms @ mapped) + RANK_PENALTY * mapped + W @ pulled - rhs
        value = literal.objective(features, targets, known, A, atoms, mapped, W, 1.0, 1.0, RANK_PENALTY)
        return {"residual": float(np.linalg.norm(residual) / np.linalg.norm(rhs)), "objective": value}

    contenders = [
        Local("tagloom", ours, role="ours"),
        Local("Eq. (6)–(8) as printed", printed, role="literal", runs=1),
    ]
    entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    parameters = {"n": n, "d": d, "labelled": labelled, "tags": c, "atoms": p, "rank_penalty": RANK_PENALTY}
    return case(f"{n} photos, {labelled} labelled, {c} tags, {p} atoms", parameters, entries)


def process_case(
    title: str, X: NDArray[Any], Y: NDArray[np.int8], threads: int, truth: NDArray[np.int8] | None, *, repeats: int
) -> dict[str, Any]:
    """Time TKML and wTKML in processes of their own; accuracy where the truth of the unlabelled photos is given."""
    hidden = (Y == -1).all(axis=1)

    def accuracy(found: dict[str, Any]) -> dict[str, float]:
        rise = float(np.diff(found["objective"]).max())
        score = {} if truth is None else {"mAP": mean_average_precision(truth[hidden], found["scores"][hidden])}
        return {"largest rise of the objective": max(rise, 0.0)} | score

    with tempfile.TemporaryDirectory() as name:
        make = partial(Worker, inputs={"X": X, "Y": Y}, folder=Path(name), role="ours", threads=threads)
        workers = [make("TKML", "peers/tkml_process.py:tkml"), make("wTKML", "peers/tkml_process.py:wtkml")]
        for worker in workers:
            worker.runs = repeats
        entries = compare(workers, accuracy=accuracy, repeats=repeats, threads=threads)
        for worker in workers:
            worker.close()
    parameters = {"n": len(X), "d": X.shape[1], "labelled": int((~hidden).sum()), "tags": Y.shape[1]}
    return case(title, parameters, entries)


def neighbor_case(X: NDArray[Any], Y: NDArray[np.int8], truth: NDArray[np.int8], threads: int) -> dict[str, Any]:
    """Time JEC and TagProp, whose neighbour search and gradients have no loop over photos."""
    hidden = (Y == -1).all(axis=1)
    models: dict[str, Any] = {
        "JEC": JEC(metric="euclidean"),
        "TagProp by rank": TagProp(weights="rank", metric="euclidean"),
        "TagProp by distance": TagProp(metric="euclidean"),
    }
    contenders = [Local(name, partial(model.fit, X, Y), role="ours", runs=1) for name, model in models.items()]

    def accuracy(model: Any) -> dict[str, float]:
        return {"mAP": mean_average_precision(truth[hidden], model.transduction_[hidden])}

    entries = compare(contenders, accuracy=accuracy, repeats=1, threads=threads)
    return case("Corel5K, neighbours", {"n": len(X), "d": X.shape[1], "tags": Y.shape[1]}, entries)


def corel_cases(threads: int) -> list[dict[str, Any]]:
    try:
        data = load_dataset("corel5k")
    except BenchmarkError as error:
        return [missing_case("Corel5K", str(error))]
    Y = data.Y.copy()
    Y[data.test_rows] = -1
    return [
        process_case("Corel5K in full", data.X, Y, threads, data.Y, repeats=1),
        neighbor_case(data.X, Y, data.Y, threads),
    ]


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("tkml").parse_args(argv)
    size = "quick" if arguments.quick else "full"
    cases = [literal_case(*SIZES[size], arguments.threads)]
    if not arguments.quick:
        cases += corel_cases(arguments.threads)
    n = LARGE[size][0]
    large = problem(*LARGE[size])
    cases.append(process_case(f"{n} photos", *large, arguments.threads, None, repeats=1))
    record(
        "tkml", "Transductive kernel maps", cases, arguments.out, threads=arguments.threads, packages=["scikit-learn"]
    )


if __name__ == "__main__":
    main()
