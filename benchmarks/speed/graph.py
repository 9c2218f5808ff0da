"""Neighbour graphs: exact search beside scikit-learn and faiss, approximate beside faiss and pynndescent."""

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from benchmarks.datasets import data_folder
from benchmarks.errors import DataMissingError
from benchmarks.speed.harness import Contender, Local, Worker, case, compare, missing_case, out_parser, record
from tagloom.graph import nearest_neighbors
from tagloom.graph.exact import exact_neighbors
from tagloom.graph.join import joined_neighbors
from tagloom.graph.spaces import make_space

K = 15
EXACT = {
    "full": [("euclidean", 5000, 1280), ("euclidean", 5000, 64), ("cosine", 5000, 64), ("l1", 3000, 64)],
    "quick": [("euclidean", 1000, 64), ("cosine", 1000, 64), ("l1", 500, 64)],
}
APPROXIMATE = {"full": [(20_000, 64), (4000, 1280)], "quick": [(2000, 32)]}
COREL_ROWS = {"full": 3000, "quick": 2000}
PROBES = (4, 16)
BUILT = (K + 1, 2 * K)
Indices = NDArray[np.intp]
Features = NDArray[np.float32]


def clustered(n: int, d: int, *, rank: int = 40, n_clusters: int = 300) -> Features:
    """Return rows around random centres in a subspace, plus noise in all directions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_clusters, rank))
    hidden = centres[rng.integers(n_clusters, size=n)] + 0.7 * rng.normal(size=(n, rank))
    X = hidden @ rng.normal(size=(rank, d)) / np.sqrt(rank) + 0.3 * rng.normal(size=(n, d))
    return X.astype(np.float32)


def histograms(n: int, d: int) -> Features:
    return np.random.default_rng(0).dirichlet(np.full(d, 0.2), size=n).astype(np.float32)


def corel_words(n: int) -> Features:
    """Return distinct rows of Corel-16k visual words, scaled to length 1: no clusters, the hard case."""
    folder = data_folder("corel16k")
    X = np.unique(np.concatenate([np.load(folder / f"Corel16k00{i}.npz")["X"] for i in (1, 3)]), axis=0)
    X = X[np.random.default_rng(0).permutation(len(X))][:n].astype(np.float32)
    return np.ascontiguousarray(X / np.sqrt(X.sum(axis=1, keepdims=True).clip(1)))


def exact(X: Features, metric: str, threads: int, *, need_keys: bool) -> Indices:
    space = make_space(metric, X, X)
    return exact_neighbors(space, K, n_threads=threads, self_search=True, need_keys=need_keys)[1]


def scikit_learn(X: Features, metric: str, threads: int) -> Indices:
    search = NearestNeighbors(n_neighbors=K, algorithm="brute", metric=metric, n_jobs=threads).fit(X)
    return search.kneighbors(return_distance=False)


def faiss_flat(X: Features) -> Indices:
    indices = faiss.knn(X, X, K + 1)[1]
    own = indices == np.arange(len(X))[:, None]
    own[~own.any(axis=1), -1] = True  # a row that did not find itself loses its last neighbour
    return indices[~own].reshape(len(X), -1)


def faiss_ivf(X: Features, probes: int) -> Indices:
    """Build and search inverted lists, √n of them; a row finds itself too."""
    n_lists = int(len(X) ** 0.5)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_lists)
    index.cp.niter, index.nprobe = 10, probes
    index.train(X[: 40 * n_lists])
    index.add(X)
    return index.search(X, K + 1)[1]


def joined(X: Features, threads: int) -> Indices:
    return joined_neighbors(make_space("euclidean", X, X), K, n_threads=threads, need_keys=False)[1]


def hnsw(X: Features) -> Indices:
    """Build and search a navigable small world index: 16 links, effort 40 to build and 80 to search."""
    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = 40, 80
    index.add(X)
    return index.search(X, K + 1)[1]


def exact_case(metric: str, n: int, d: int, threads: int) -> dict[str, Any]:
    X = histograms(n, d) if metric == "l1" else clustered(n, d)
    theirs = Local(
        "scikit-learn brute",
        partial(scikit_learn, X, "manhattan" if metric == "l1" else metric, threads),
        role="peer",
    )
    contenders = [
        Local("tagloom", partial(exact, X, metric, threads, need_keys=False), role="ours"),
        Local("tagloom, with distances", partial(exact, X, metric, threads, need_keys=True), role="ours"),
        theirs,
    ]
    if metric == "euclidean":
        contenders.append(Local("faiss flat", partial(faiss_flat, X), role="peer"))

    def same_sets(indices: Indices) -> dict[str, float]:
        same = (np.sort(indices, axis=1) == np.sort(theirs.result(), axis=1)).all(axis=1)
        return {"rows with scikit-learn's neighbours": same.mean()}

    entries = compare(contenders, accuracy=same_sets, threads=threads)
    return case(f"Exact, {metric}, {n} × {d}", {"metric": metric, "n": n, "d": d, "k": K}, entries)


def recall_of(X: Features) -> Callable[[Any], dict[str, float]]:
    """Return a function that gives the recall on 500 rows; ties count as found."""
    sample = np.random.default_rng(1).choice(len(X), min(500, len(X)), replace=False)
    last = nearest_neighbors(X[sample], X, K + 1)[0][:, -1:]

    def recall(found: Any) -> dict[str, float]:
        indices = (found["indices"] if isinstance(found, dict) else found)[sample]
        gaps = X[sample][:, None].astype(np.float64) - X[indices]
        near = np.sqrt((gaps**2).sum(axis=2)) <= last * (1 + 1e-9)
        others = (indices != sample[:, None]) & (indices >= 0)
        return {"recall": np.minimum((near & others).sum(axis=1), K).mean() / K}

    return recall


def descents(problems: dict[str, Features], threads: int, folder: Path) -> dict[str, list[Worker]]:
    """Return the contenders of each problem that run pynndescent, all in one process: it compiles for half a minute."""
    found: dict[str, list[Worker]] = {label: [] for label in problems}
    first: Worker | None = None
    for label, X in problems.items():
        for n_built in BUILT:
            numbers = {"n_built": n_built, "n_neighbors": K + 1, "threads": threads}
            inputs = {"X": X} | {name: np.array(value) for name, value in numbers.items()}
            name = f"pynndescent, {n_built} neighbours"
            if first is None:
                target = "peers/pynndescent.py:neighbors"
                worker = first = Worker(name, target, inputs, folder, environment="pynndescent", threads=threads)
            else:
                worker = first.sibling(name, inputs)
            found[label].append(worker)
    return found


def approximate_case(label: str, X: Features, peers: Sequence[Contender], threads: int) -> dict[str, Any]:
    contenders = [
        Local("tagloom approximate", partial(joined, X, threads), role="ours"),
        Local("tagloom exact", partial(exact, X, "euclidean", threads, need_keys=False), role="ours"),
        Local("faiss HNSW", partial(hnsw, X), role="peer"),
        *(Local(f"faiss IVF, {probes} probes", partial(faiss_ivf, X, probes), role="peer") for probes in PROBES),
        *peers,
    ]
    entries = compare(contenders, accuracy=recall_of(X), threads=threads)
    return case(f"Approximate, {label}", {"data": label, "n": len(X), "d": X.shape[1], "k": K}, entries)


def approximate_cases(size: str, threads: int) -> list[dict[str, Any]]:
    problems = {f"clustered, {n} × {d}": clustered(n, d) for n, d in APPROXIMATE[size]}
    missing = []
    try:
        X = corel_words(COREL_ROWS[size])
        problems[f"Corel-16k visual words, {X.shape[0]} × {X.shape[1]}"] = X
    except DataMissingError as error:
        missing.append(missing_case("Approximate, Corel-16k visual words", str(error)))
    if size == "quick":
        late = Local(
            "pynndescent", list, role="peer", skipped="it compiles for half a minute, too long for a quick run"
        )
        return [approximate_case(label, X, [late], threads) for label, X in problems.items()] + missing
    with tempfile.TemporaryDirectory() as folder:
        peers = descents(problems, threads, Path(folder))
        with next(iter(peers.values()))[0]:
            return [approximate_case(label, X, peers[label], threads) for label, X in problems.items()] + missing


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("graph").parse_args(argv)
    size, threads = "quick" if arguments.quick else "full", arguments.threads
    cases = [exact_case(metric, n, d, threads) for metric, n, d in EXACT[size]]
    cases += approximate_cases(size, threads)
    title = f"Neighbour graphs, k = {K}"
    record("graph", title, cases, arguments.out, threads=threads, packages=["faiss-cpu"])


if __name__ == "__main__":
    main()
