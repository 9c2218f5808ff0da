"""Neighbour graphs: exact search beside scikit-learn, approximate builders beside each other.

Run from the root of the checkout::

    python benchmarks/speed/graph.py                      # exact: tagloom, scikit-learn, faiss
    python benchmarks/speed/graph.py --part approximate   # tagloom, faiss IVF and HNSW, pynndescent where installed
    python benchmarks/speed/graph.py --out result.json

CPU time (``time.process_time``) on a forced number of threads, median of interleaved repeats after a warm-up. Every
line states how far the neighbours agree. ``--corel FOLDER`` adds Corel-16k visual words (the folder that holds
Corel16k001.npz …).
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

K = 15


def clustered(n: int, d: int, *, rank: int = 40, n_clusters: int = 300) -> Any:
    """Return float32 rows around random centres in a subspace, plus noise in all directions."""
    import numpy as np

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_clusters, rank))
    hidden = centres[rng.integers(n_clusters, size=n)] + 0.7 * rng.normal(size=(n, rank))
    X = hidden @ rng.normal(size=(rank, d)) / np.sqrt(rank) + 0.3 * rng.normal(size=(n, d))
    return X.astype(np.float32)


def histograms(n: int, d: int) -> Any:
    """Return float32 histograms of sum 1."""
    import numpy as np

    return np.random.default_rng(0).dirichlet(np.full(d, 0.2), size=n).astype(np.float32)


def corel_words(folder: Path, n: int) -> Any:
    """Return distinct rows of visual words, scaled to length 1."""
    import numpy as np

    parts = [np.load(folder / f"Corel16k00{i}.npz")["X"] for i in (1, 3)]
    X = np.unique(np.concatenate(parts), axis=0).astype(np.float32)
    X = X[np.random.default_rng(0).permutation(len(X))][:n]
    return np.ascontiguousarray(X / np.sqrt(X.sum(axis=1, keepdims=True).clip(1)))


def interleave(candidates: dict[str, Callable[[], Any]], repeats: int) -> dict[str, tuple[float, Any]]:
    """Return {name: (median CPU seconds, last result)}, candidates taking turns after one warm-up each."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    results = {name: call() for name, call in candidates.items()}
    for _ in range(repeats):
        for name, call in candidates.items():
            start = time.process_time()
            results[name] = call()
            times[name].append(time.process_time() - start)
    return {name: (statistics.median(times[name]), results[name]) for name in candidates}


def equal_sets(A: Any, B: Any) -> float:
    """Return the share of rows with the same set of neighbours."""
    import numpy as np

    return float((np.sort(A, axis=1) == np.sort(B, axis=1)).all(axis=1).mean())


def drop_self(indices: Any) -> Any:
    """Return indices without each row's own (or without the last where it is not there)."""
    import numpy as np

    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    return indices[~own].reshape(len(indices), -1)


def exact_part(
    threads: int, repeats: int, sizes: list[tuple[int, int]], metrics: list[str]
) -> Iterator[dict[str, Any]]:
    """Exact neighbours of every row, itself left out."""
    import faiss
    from sklearn.neighbors import NearestNeighbors

    from tagloom.graph.exact import exact_neighbors
    from tagloom.graph.spaces import make_space

    def ours(X: Any, metric: str, *, need_keys: bool) -> Any:
        space = make_space(metric, X, X)
        return exact_neighbors(space, K, n_threads=threads, self_search=True, need_keys=need_keys)[1]

    def scikit(X: Any, metric: str) -> Any:
        search = NearestNeighbors(n_neighbors=K, algorithm="brute", metric=metric, n_jobs=threads).fit(X)
        return search.kneighbors(return_distance=False)

    for n, d in sizes:
        for metric in metrics:
            theirs = "manhattan" if metric == "l1" else metric
            rows = min(n, 3000) if metric == "l1" else n
            X = histograms(rows, d) if metric == "l1" else clustered(rows, d)
            candidates: dict[str, Callable[[], Any]] = {
                "tagloom": lambda X=X, metric=metric: ours(X, metric, need_keys=False),
                "tagloom with distances": lambda X=X, metric=metric: ours(X, metric, need_keys=True),
                "scikit-learn brute": lambda X=X, theirs=theirs: scikit(X, theirs),
            }
            if metric == "euclidean":
                candidates["faiss flat"] = lambda X=X: drop_self(faiss.knn(X, X, K + 1)[1])
            timed = interleave(candidates, repeats)
            for name, (seconds, indices) in timed.items():
                same = equal_sets(indices, timed["tagloom"][1])
                yield {"metric": metric, "n": rows, "d": d, "name": name, "cpu_s": seconds, "equal_sets": same}


def approximate_part(threads: int, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Approximate neighbours: CPU seconds and recall on 500 rows (ties count as found)."""
    import numpy as np

    from tagloom.graph import nearest_neighbors

    for label, X in data.items():
        sample = np.random.default_rng(1).choice(len(X), min(500, len(X)), replace=False)
        true, _ = nearest_neighbors(X[sample], X, K + 1)
        for name, call in builders(X, threads):
            start = time.process_time()
            indices = call()
            seconds = time.process_time() - start
            gaps = X[sample][:, None].astype(np.float64) - X[indices[sample]]
            found = np.sqrt((gaps**2).sum(axis=2)) <= true[:, -1:] * (1 + 1e-9)
            others = (indices[sample] != sample[:, None]) & (indices[sample] >= 0)
            recall = np.minimum((found & others).sum(axis=1), K).mean() / K
            yield {"data": label, "n": len(X), "d": X.shape[1], "name": name, "cpu_s": seconds, "recall": float(recall)}


def builders(X: Any, threads: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name and call of each builder; calls return K or K + 1 indices per row."""
    import faiss

    from tagloom.graph.approximate import approximate_neighbors
    from tagloom.graph.exact import exact_neighbors
    from tagloom.graph.spaces import make_space

    space = make_space("euclidean", X, X)
    yield (
        "tagloom exact",
        lambda: exact_neighbors(space, K, n_threads=threads, self_search=True, need_keys=False)[1],
    )
    yield "tagloom approximate", lambda: approximate_neighbors(space, K, faiss=faiss, n_threads=threads)[1]
    for links, effort in ((16, 40), (16, 80)):
        yield f"faiss HNSW {links} links, effort {effort}", lambda m=links, e=effort: hnsw(X, m, e)
    for probes in (4, 16):
        yield f"faiss IVF {probes} probes", lambda probes=probes: ivf(X, probes)
    try:
        import pynndescent
    except ImportError:
        return
    pynndescent.NNDescent(X[:2000], n_neighbors=K + 1, random_state=0, n_jobs=threads)  # compile
    for n_neighbors in (K + 1, 2 * K):
        yield (
            f"pynndescent {n_neighbors} neighbours",
            lambda k=n_neighbors: pynndescent.NNDescent(
                X, n_neighbors=k, random_state=0, n_jobs=threads
            ).neighbor_graph[0][:, : K + 1],
        )


def hnsw(X: Any, links: int, effort: int) -> Any:
    """Build and search a faiss HNSW index."""
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], links)
    index.hnsw.efConstruction = index.hnsw.efSearch = effort
    index.add(X)
    return index.search(X, K + 1)[1]


def ivf(X: Any, probes: int) -> Any:
    """Build and search a faiss inverted-list index with √n lists."""
    import faiss

    n_lists = max(1, int(len(X) ** 0.5))
    quantizer = faiss.IndexFlatL2(X.shape[1])
    index = faiss.IndexIVFFlat(quantizer, X.shape[1], n_lists)
    index.cp.niter, index.nprobe = 10, probes
    index.train(X[: 40 * n_lists])
    index.add(X)
    return index.search(X, K + 1)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["exact", "approximate"], default="exact")
    metrics = ["euclidean", "cosine", "l1"]
    parser.add_argument("--metrics", nargs="+", choices=metrics, default=metrics, help="of the exact part")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sizes", nargs="+", default=None, metavar="NxD", help="for instance 5000x1280 20000x64")
    parser.add_argument("--corel", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    if "numpy" in sys.modules:
        raise RuntimeError("numpy was imported before the number of threads was set")
    default = ["5000x64", "5000x1280"] if options.part == "exact" else ["20000x64", "20000x1280"]
    sizes = [(int(n), int(d)) for n, d in (size.split("x") for size in options.sizes or default)]
    if options.part == "exact":
        rows = exact_part(options.threads, options.repeats, sizes, options.metrics)
    else:
        data = {f"clustered {n}x{d}": clustered(n, d) for n, d in sizes}
        if options.corel is not None:
            data["Corel-16k words"] = corel_words(options.corel, 20000)
        rows = approximate_part(options.threads, data)
    found = []
    for row in rows:
        found.append(row)
        parts = (f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items())
        print("  ".join(parts), flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps({"threads": options.threads, "k": K, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
