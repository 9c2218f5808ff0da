"""Exact SVMs of all words of Corel-5K on one kernel: beside scikit-learn's SVC, word by word on the same kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from benchmarks.datasets import load_dataset
from benchmarks.errors import DataMissingError
from benchmarks.papers.tkml.pairs import pairs_of
from benchmarks.speed.harness import Local, case, compare, missing_case, out_parser, record
from tagloom.methods.baselines.svm import KernelSVM
from tagloom.metrics import mean_average_precision

C, TOLERANCE = 3.0, 1e-3
WORDS = {"full": 260, "quick": 10}


def problem(n_words: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int8], NDArray[np.int8]]:
    """Return the kernel of the training photos, that of the others with them, and both parts' words."""
    data = load_dataset("benchmarks.papers.tkml.photos:corel5k", features="color_sift", n_columns=64)
    K = np.asarray(pairs_of(data.X).kernel("intersection"), dtype=np.float64)
    test = np.asarray(data.test_rows)
    Y = data.Y[:, (data.Y[~test] == 1).any(axis=0)][:, :n_words]
    return np.ascontiguousarray(K[np.ix_(~test, ~test)]), K[np.ix_(test, ~test)], Y[~test], Y[test]


def scikit_learn(K: NDArray[np.float64], K_test: NDArray[np.float64], Y: NDArray[np.int8]) -> NDArray[np.float64]:
    machines = (SVC(C=C, kernel="precomputed", tol=TOLERANCE, cache_size=500).fit(K, y) for y in Y.T)
    return np.column_stack([machine.decision_function(K_test) for machine in machines])


def tagloom(K: NDArray[np.float64], K_test: NDArray[np.float64], Y: NDArray[np.int8]) -> Any:
    return KernelSVM("precomputed", C=C, tol=TOLERANCE).fit(K, Y).decision_function(K_test)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("svm").parse_args(argv)
    title = "Exact SVMs of all words on one kernel"
    try:
        K, K_test, Y, Y_test = problem(WORDS["quick" if arguments.quick else "full"])
    except DataMissingError as error:
        record("svm", title, [missing_case("Corel-5K", str(error))], arguments.out, threads=arguments.threads)
        return
    contenders = [
        Local("tagloom KernelSVM", lambda: tagloom(K, K_test, Y), role="ours", runs=3),
        Local("scikit-learn SVC, word by word", lambda: scikit_learn(K, K_test, Y), role="peer", runs=3),
    ]
    entries = compare(
        contenders, accuracy=lambda S: {"MAP": float(mean_average_precision(Y_test, S))}, threads=arguments.threads
    )
    size = {"photos": len(K), "words": Y.shape[1]}
    cases = [case(f"{len(K)} photos, {Y.shape[1]} words", size, entries)]
    record("svm", title, cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
