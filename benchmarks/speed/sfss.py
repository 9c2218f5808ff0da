"""SFSS beside the dense algorithm as printed; cost also counted in Gram matrices XᵀX of the same features.

The graph is given. Every fit runs in a process of its own, so that its peak memory is known. Accuracy is computed here,
from W alone, with F by conjugate gradients.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.speed.harness import Local, Worker, case, compare, out_parser, record, wall_ratio
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.methods.sfss import SFSS
from tagloom.solvers import L21, block_cg

D, TAGS, K, LABELLED, TOL = 500, 81, 15, 0.1, 1e-4
FACTORS, CENTRES = 40, 200
SHARES = (0.1, 0.01)
Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]


def problem(n: int, d: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return skewed, correlated, non-negative features around centres, and tags that follow the centres."""
    rng = np.random.default_rng(0)
    centres, centre = rng.standard_normal((CENTRES, FACTORS)), rng.integers(CENTRES, size=n)
    mix = rng.standard_normal((FACTORS, d), dtype=np.float32) / np.float32(np.sqrt(FACTORS))
    scale = rng.lognormal(0, 0.5, d).astype(np.float32)
    X = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 8192):
        part = centre[start : start + 8192]
        latent = (centres[part] + 0.7 * rng.standard_normal((part.size, FACTORS))).astype(np.float32)
        rows = latent @ mix + np.float32(0.5) * rng.standard_normal((part.size, d), dtype=np.float32)
        X[start : start + 8192] = np.maximum(rows, 0) * scale
    chance = np.clip(0.9 * (rng.random((CENTRES, TAGS)) < 0.06), 0.01, 1.0)
    Y = np.full((n, TAGS), -1, dtype=np.int8)
    rows = rng.permutation(n)[: int(LABELLED * n)]
    Y[rows] = rng.random((rows.size, TAGS)) < chance[centre[rows]]
    return X, Y


def state(W: Floats, X: NDArray[np.float32], Y: NDArray[np.int8], graph: NeighborGraph, gamma: float) -> Floats:
    """Return optimality (residual / γ) and objective of W, from F by conjugate gradients (μ = pull = 1)."""
    n = len(X)
    mean = X.mean(axis=0, dtype=np.float64)
    regression = np.asarray(X @ W) - mean @ W
    regression -= regression.mean(axis=0)
    L = graph.laplacian()
    F = np.where(Y == -1, 0, Y).astype(np.float64)
    system = sparse.csr_array(L + 2.0 * sparse.eye_array(n))
    centring = (np.ones((n, 1)), [-1.0 / n])
    F = block_cg(system, regression, x0=F, column_mask=Y == -1, low_rank=centring, tol=1e-9, dtype="float32").x
    residual = F - F.mean(axis=0) - regression
    gradient = -2.0 * (X.T @ residual - np.outer(mean, residual.sum(axis=0)))
    penalty = L21(gamma)
    distance = penalty.subdifferential_distance(W, gradient).max()
    value = np.vdot(F, L @ F) + np.square(F[Y == -1]).sum() + np.square(residual).sum() + penalty.value(W)
    return np.array([distance / gamma, value])


def gram(X: NDArray[np.float32]) -> NDArray[np.float32]:
    return X.T @ X


def sfss_case(n: int, d: int, share: float, *, literal: bool, repeats: int, threads: int) -> dict[str, Any]:
    X, Y = problem(n, d)
    graph = knn_graph(X, K)
    W = graph.weights
    common = {"X": X, "Y": Y, "data": W.data, "indices": W.indices, "indptr": W.indptr, "tol": np.array(TOL)}
    gamma = share * SFSS(graph=graph, tol=TOL).largest_sparsity(X, Y)
    common |= {"gamma": np.array(gamma), "threads": np.array(threads)}
    tight = SFSS(sparsity=gamma, graph=graph, tol=1e-6).fit(X, Y) if literal else None
    reference = None if tight is None else state(tight.coef_, X, Y, graph, gamma)[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make = partial(Worker, inputs=common, folder=folder, threads=threads)
        workers = [make("tagloom", "peers/sfss_process.py:fit", role="ours")]
        if literal:
            workers.append(make("tagloom, path of 20 γ", "peers/sfss_process.py:path", role="ours"))
            workers.append(make("dense, as printed", "peers/sfss_process.py:literal", role="literal"))
            workers[-1].runs = 1
        contenders = [*workers, Local("Gram matrix XᵀX", partial(gram, X), role="ours")]

        def accuracy(result: Any) -> dict[str, float]:
            if not isinstance(result, dict):
                return {}
            if "W" not in result:
                return {"residual / γ": float(result["optimality"])}
            optimality, value = state(result["W"], X, Y, graph, gamma)
            found = {"features": np.count_nonzero(result["W"].any(axis=1)), "residual / γ": optimality}
            return found if reference is None else found | {"relative objective": value / reference - 1.0}

        entries = compare(contenders, accuracy=accuracy, repeats=repeats, threads=threads)
        for worker in workers:
            worker.close()
    cpu = {entry["name"]: entry["cpu"] for entry in entries}
    ratios = {"one fit in Gram matrices": cpu["tagloom"] / cpu["Gram matrix XᵀX"]}
    if literal:
        ratios["one literal fit to a path of 20 γ"] = cpu["dense, as printed"] / cpu["tagloom, path of 20 γ"]
    parameters = {"n": n, "d": d, "tags": TAGS, "k": K, "labelled": LABELLED, "gamma": gamma, "share of γ_max": share}
    return case(f"{n} photos, {d} columns, {TAGS} tags, γ = {share} γ_max", parameters, entries, ratios=ratios)


def threads_case(n: int, d: int, share: float) -> dict[str, Any]:
    X, Y = problem(n, d)
    graph = knn_graph(X, K)
    gamma = share * SFSS(graph=graph, tol=TOL).largest_sparsity(X, Y)
    W = graph.weights
    common = {"X": X, "Y": Y, "data": W.data, "indices": W.indices, "indptr": W.indptr, "tol": np.array(TOL)}
    common["gamma"] = np.array(gamma)
    with tempfile.TemporaryDirectory() as name:
        contenders = [
            Worker(
                label,
                "peers/sfss_process.py:fit",
                common | {"threads": np.array(threads)},
                Path(name),
                role="ours",
                threads=threads,
            )
            for label, threads in (("one thread", 1), ("two threads", 2))
        ]
        entries = compare(contenders, repeats=7)
        for worker in contenders:
            worker.close()
    ratios = {"one thread to two (wall)": wall_ratio(entries, "one thread", "two threads")}
    return case(f"{n} photos, {d} columns: threads", {"n": n, "d": d}, entries, ratios=ratios)


def auto_case(n: int, d: int, tags: int, *, repeats: int, threads: int) -> dict[str, Any]:
    """Time ``sparsity="auto"`` at the default tolerance beside the one fit at the γ that it chooses."""
    X, Y = problem(n, d)
    Y = Y[:, :tags]
    graph = knn_graph(X, K)
    gamma = SFSS(graph=graph, n_threads=threads).fit(X, Y).sparsity_

    def fit(sparsity: Any) -> SFSS:
        return SFSS(sparsity=sparsity, graph=graph, n_threads=threads).fit(X, Y)

    def accuracy(model: SFSS) -> dict[str, float]:
        optimality, value = state(model.coef_, X, Y, graph, gamma)
        return {"γ": model.sparsity_, "residual / γ": optimality, "objective": value}

    contenders = [
        Local('sparsity="auto"', partial(fit, "auto"), role="ours"),
        Local("the γ given", partial(fit, gamma), role="ours"),
    ]
    entries = compare(contenders, accuracy=accuracy, repeats=repeats, threads=threads)
    ratios = {"auto to one fit (CPU)": entries[0]["cpu"] / entries[1]["cpu"]}
    parameters = {"n": n, "d": d, "tags": tags, "k": K, "labelled": LABELLED, "gamma": gamma}
    return case(f"{n} photos, {d} columns, {tags} tags: automatic γ", parameters, entries, ratios=ratios)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("sfss").parse_args(argv)
    threads = arguments.threads
    if arguments.quick:
        cases = [sfss_case(600, 40, SHARES[0], literal=True, repeats=1, threads=threads), threads_case(600, 40, 0.1)]
        cases.append(auto_case(600, 40, 10, repeats=1, threads=threads))
    else:
        cases = [sfss_case(10_000, D, share, literal=True, repeats=5, threads=threads) for share in SHARES]
        cases += [sfss_case(n, D, SHARES[0], literal=False, repeats=2, threads=threads) for n in (50_000, 200_000)]
        cases.append(threads_case(50_000, D, SHARES[0]))
        cases.append(auto_case(20_000, 128, TAGS, repeats=2, threads=threads))
    record("sfss", "SFSS", cases, arguments.out, threads=threads)


if __name__ == "__main__":
    main()
