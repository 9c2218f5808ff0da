"""Joint l2,1 norms for all tags: splitting beside the printed algorithm, reweighted group lassos and skfeature's RFS.

All minimise ``‖Y - XW‖₂,₁ + γ‖W‖₂,₁`` with Y = ±1 and without intercept, which is what RFS can do.
"""

import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.literal.fsnm import joint_l21, objective, reweighted_group_lasso
from benchmarks.speed.harness import Local, Worker, case, compare, out_parser, record
from tagloom.methods.baselines.fsnm import JointNorms

Floats = NDArray[np.float64]

#: n, d, number of tags, and γ as a share of the one that leaves no feature.
SIZES = {
    "full": [(500, 500, 20, 0.3), (500, 500, 20, 0.03), (2000, 500, 20, 0.3)],
    "quick": [(60, 40, 5, 0.3)],
}
PEER = "skfeature-chappers"
#: Rows beyond which RFS, which inverts matrices of order n + d in each step, is left out.
PEER_ROWS = 500


def problem(n: int, d: int, c: int) -> tuple[Floats, Floats]:
    """Return features and one of c classes for each row as ±1; a tenth of the features, at least five, matter."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n, d))
    useful = max(5, d // 10)
    scores = X[:, :useful] @ generator.standard_normal((useful, c)) + generator.standard_normal((n, c))
    return X, np.where(np.arange(c) == scores.argmax(axis=1)[:, None], 1.0, -1.0)


def split(X: Floats, Y: Floats, gamma: float, tol: float) -> Floats:
    return JointNorms(X, Y, np.ones(Y.shape, dtype=bool), fit_intercept=False).solve(gamma, tol=tol, max_iter=5000).coef


def printed(X: Floats, Y: Floats, gamma: float) -> Floats:
    return joint_l21(X, Y, gamma, tol=1e-6)[0]


def reweighted(X: Floats, Y: Floats, gamma: float) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reweighted_group_lasso(X, Y, gamma, tol=1e-6)[0]


def one_case(n: int, d: int, c: int, share: float, folder: Path, threads: int) -> dict[str, Any]:
    X, Y = problem(n, d, c)
    exact = JointNorms(X, Y, np.ones(Y.shape, dtype=bool), fit_intercept=False)
    gamma = share * exact.largest_strength
    best = exact.solve(gamma, tol=1e-8, max_iter=20_000).bound
    inputs = {"X": X, "y": Y.argmax(axis=1), "gamma": np.array(gamma)}
    peer: Worker | Local = (
        Worker(
            "skfeature RFS", "peers/skfeature_chappers.py:joint_l21", inputs, folder, environment=PEER, threads=threads
        )
        if n <= PEER_ROWS
        else Local("skfeature RFS", list, role="peer", skipped="minutes: it inverts matrices of order n + d")
    )
    peer.runs = 1
    contenders = [
        Local("tagloom, gap 1e-6", partial(split, X, Y, gamma, 1e-6), role="ours"),
        Local("tagloom, gap 1e-3", partial(split, X, Y, gamma, 1e-3), role="ours"),
        Local("reweighted group lassos", partial(reweighted, X, Y, gamma), role="ours", runs=1),
        Local("as printed", partial(printed, X, Y, gamma), role="literal", runs=1),
        peer,
    ]

    def accuracy(found: Any) -> dict[str, float]:
        W = found["W"] if isinstance(found, dict) else found
        zero = float((~W.any(axis=1)).sum())
        return {"objective over the bound": objective(X, Y, W, gamma) / best - 1, "zero rows": zero}

    try:
        entries = compare(contenders, accuracy=accuracy, threads=threads)
    finally:
        if isinstance(peer, Worker):
            peer.close()
    label = f"{n} rows, {d} features, {c} tags, γ = {share} γ_max"
    return case(label, {"n": n, "d": d, "c": c, "share": share}, entries)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("fsnm").parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        cases = [
            one_case(*size, Path(folder), arguments.threads) for size in SIZES["quick" if arguments.quick else "full"]
        ]
    record("fsnm", "FSNM: joint l2,1 norms", cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
