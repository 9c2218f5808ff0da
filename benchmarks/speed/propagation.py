"""Harmonic propagation for all tags, beside the dense algorithm as printed and scikit-learn's LabelSpreading.

Everyone starts from the features and builds the neighbour graph; scikit-learn's estimator takes one tag at a time and
builds it again for each, so a few tags stand for all. It computes other scores: what can be compared is how well the
tags of unlabelled photos are found.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.semi_supervised import LabelSpreading

from benchmarks.literal.harmonic import harmonic_propagation
from benchmarks.speed.harness import Local, case, compare, out_parser, record
from tagloom.graph import knn_graph
from tagloom.methods import HarmonicPropagation

K = 15
TAGS = 81
LABELLED = 0.1
# Photos, feature columns, and the tags that scikit-learn is run on.
SIZES = {"full": [(10_000, 64, 9)], "quick": [(1000, 64, 2)]}
Floats = NDArray[np.float64]
Labels = NDArray[np.int8]


def problem(n: int, d: int) -> tuple[NDArray[np.float32], Labels, Labels]:
    """Return features around 100 centres, tags that follow the centres on a share of the rows, and all tags."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((100, d))
    centre = rng.integers(100, size=n)
    X = (centres[centre] + 0.8 * rng.standard_normal((n, d))).astype(np.float32)
    chance = np.clip(0.9 * (rng.random((100, TAGS)) < 0.06), 0.01, 1.0)
    truth = (rng.random((n, TAGS)) < chance[centre]).astype(np.int8)
    Y = truth.copy()
    Y[rng.random(n) > LABELLED] = -1
    return X, Y, truth


def ours(X: NDArray[np.float32], Y: Labels, threads: int) -> Floats:
    return HarmonicPropagation(K, n_threads=threads).fit(X, Y).transduction_


def literal(X: NDArray[np.float32], Y: Labels, threads: int) -> Floats:
    return harmonic_propagation(knn_graph(X, K, n_threads=threads).weights.toarray(), Y)


def scikit_learn(X: NDArray[np.float32], Y: Labels, threads: int) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [LabelSpreading(kernel="knn", n_neighbors=K, n_jobs=threads).fit(X, y) for y in Y.T]
    return np.column_stack([model.label_distributions_[:, 1] for model in models])


def propagation_case(n: int, d: int, n_slow: int, threads: int) -> dict[str, Any]:
    X, Y, truth = problem(n, d)
    unknown = Y[:, 0] == -1
    dense = Local("dense, as printed", partial(literal, X, Y, threads), role="literal", runs=1)
    contenders = [
        Local("tagloom", partial(ours, X, Y, threads), role="ours"),
        dense,
        Local(
            "scikit-learn LabelSpreading, tag by tag",
            partial(scikit_learn, X, Y[:, :n_slow], threads),
            role="peer",
            share=(n_slow, TAGS),
        ),
    ]

    def accuracy(F: Floats) -> dict[str, float]:
        # Photos far from every example all have scores of 0: what rounding leaves of them must not rank them.
        scores = F[unknown, :n_slow].round(6)
        precision = average_precision_score(truth[unknown, :n_slow], scores, average="macro")
        stated = {f"average precision of {n_slow} tags, unlabelled photos": precision}
        if F.shape == Y.shape:
            stated["max. difference from the dense solution"] = np.abs(F - dense.result()).max()
        return stated

    entries = compare(contenders, accuracy=accuracy, threads=threads)
    parameters = {"n": n, "d": d, "tags": TAGS, "k": K, "labelled": LABELLED}
    return case(f"{n} photos, {d} columns, {TAGS} tags, k = {K}, graph included", parameters, entries)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("propagation").parse_args(argv)
    threads = arguments.threads
    cases = [propagation_case(*size, threads) for size in SIZES["quick" if arguments.quick else "full"]]
    record("propagation", "Harmonic propagation", cases, arguments.out, threads=threads, packages=["faiss-cpu"])


if __name__ == "__main__":
    main()
