"""EM of the Laplacian topic model on Corel16k001, an iteration at a time, beside the loop over photos as printed.

A run is one iteration: log-joint, E-step, objective, M-step, from where ten iterations of the mixture lead. The loop
over photos smooths five steps by Eq. (10) and has no objective. Scaling: the CPU time of an iteration with twice the
topics, and of the mixture (no graph, whose links grow with the square of the photos) with half the photos.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.datasets import data_folder
from benchmarks.errors import DataMissingError
from benchmarks.literal.topics import maximise, neighbors_of, posteriors, smooth
from benchmarks.speed.harness import Local, case, compare, missing_case, out_parser, record
from tagloom.graph.shared_words import SharedWordsGraph, shared_words_graph
from tagloom.methods.topics.model import (
    Averaging,
    ExactSteps,
    NoGraph,
    Posterior,
    TopicParameters,
    WordCounts,
    random_start,
    run_em,
)

SIZES = {"full": (13_766, 100), "quick": (600, 20)}
LABELLED = 0.25
#: Iterations before the one that is timed.
BEFORE = 10
PRIOR = 0.05
SMOOTHNESS = 2.11
REPEATS = 5


def problem(n: int) -> tuple[Any, NDArray[np.int8]]:
    """Return visual words and labels of the first photos in a random order; a quarter of them labelled."""
    with np.load(data_folder("corel16k") / "Corel16k001.npz", allow_pickle=False) as stored:
        order = np.random.default_rng(0).permutation(len(stored["X"]))[:n]
        X, Y = stored["X"][order].astype(np.float32), stored["Y"][order].astype(np.int8)
    Y[int(LABELLED * n) :] = -1
    return sparse.csr_array(X), Y


class Iteration:
    """One EM iteration on fixed photos."""

    def __init__(self, X: Any, Y: NDArray[np.int8], n_topics: int) -> None:
        self.words, self.n_topics, self.dtype = WordCounts(X, Y), n_topics, X.dtype
        self.found: SharedWordsGraph = shared_words_graph(X)
        start = random_start(self.words, n_topics, np.random.default_rng(0))
        led = run_em(self.words, start, NoGraph(), pseudo_count=PRIOR, max_iter=BEFORE, tol=-1.0)
        self.parameters = led.parameters
        self.now = Posterior(led.p, np.log(np.maximum(led.p, np.finfo(self.dtype).tiny)))
        self.then = Posterior.empty(led.p.shape, self.dtype)

    def contender(self, name: str, kind: str) -> Local:
        """Return the iteration with one kind of E-step."""
        smoothing: Any = NoGraph()
        if kind == "exact":
            smoothing = ExactSteps(self.found.graph, SMOOTHNESS, self.n_topics, self.dtype, n_steps=3)
        elif kind == "steps":
            smoothing = Averaging(self.found.graph, SMOOTHNESS, self.n_topics, self.dtype, step=0.1, n_steps=5)

        def once() -> float:
            joint, constant = self.words.log_joint(self.parameters)
            value = smoothing.improve(joint, self.now, self.then) + constant + self.parameters.log_density(PRIOR)
            self.words.maximise(self.then.p, PRIOR)
            return value

        return Local(name, once, role="ours")


def literal_iteration(F: Any, W: Any, neighbors: Any, start: TopicParameters) -> float:
    """Do one iteration photo by photo."""
    p = posteriors(F, W, (start.prior, start.visual_words, start.tag_words))
    for _ in range(5):
        p = smooth(p, neighbors, 0.1)
    maximise(F, W, p, PRIOR)
    return float("nan")


def cpu_of(entries: list[dict[str, Any]], name: str) -> float:
    return next(float(entry["cpu"]) for entry in entries if entry["name"] == name)


def main_case(n: int, n_topics: int, threads: int) -> dict[str, Any]:
    """Time the three E-steps beside the loop, and scaling in topics and photos."""
    X, Y = problem(n)
    work = Iteration(X, Y, n_topics)
    half = Iteration(X[: n // 2], Y[: n // 2], n_topics)
    twice = Iteration(X, Y, 2 * n_topics)
    F, W = X.toarray().astype(np.float64), (Y == 1).astype(np.float64)
    neighbors = neighbors_of(work.found.graph.weights)
    contenders = [
        work.contender("tagloom, exact", "exact"),
        work.contender("tagloom, five steps of Eq. (10)", "steps"),
        work.contender("tagloom, no graph (the mixture)", "none"),
        twice.contender("tagloom, exact, twice the topics", "exact"),
        half.contender("tagloom, no graph, half the photos", "none"),
        Local(
            "photo by photo, five steps of Eq. (10)",
            lambda: literal_iteration(F, W, neighbors, work.parameters),
            role="literal",
            runs=1,
        ),
    ]
    entries = compare(contenders, accuracy=lambda value: {"objective": value}, repeats=REPEATS, threads=threads)
    literal = cpu_of(entries, "photo by photo, five steps of Eq. (10)")
    exact = cpu_of(entries, "tagloom, exact")
    ratios = {
        "CPU of the loop over photos to that of the exact E-step": literal / exact,
        "CPU with twice the topics": cpu_of(entries, "tagloom, exact, twice the topics") / exact,
        "CPU of the mixture with all photos to that with half of them": cpu_of(
            entries, "tagloom, no graph (the mixture)"
        )
        / cpu_of(entries, "tagloom, no graph, half the photos"),
    }
    title = f"One EM iteration: {n} photos, {X.nnz} words, {Y.shape[1]} tags, {n_topics} topics"
    parameters = {
        "n": n,
        "words": int(X.nnz),
        "topics": n_topics,
        "edges": work.found.graph.n_edges,
        "dtype": str(X.dtype),
    }
    return case(title, parameters, entries, ratios=ratios)


def graph_case(n: int, threads: int) -> dict[str, Any]:
    """Time the shared-word graph."""
    X, _ = problem(n)
    contenders = [Local("tagloom", lambda: shared_words_graph(X).graph.n_edges, role="ours")]
    entries = compare(contenders, accuracy=lambda edges: {"edges": edges}, repeats=REPEATS, threads=threads)
    return case(f"Graph of shared words: {n} photos", {"n": n, "threshold": 3}, entries)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("topics").parse_args(argv)
    n, n_topics = SIZES["quick" if arguments.quick else "full"]
    try:
        cases = [main_case(n, n_topics, arguments.threads), graph_case(n, arguments.threads)]
    except DataMissingError as error:
        cases = [missing_case("Corel16k001", str(error))]
    record("topics", "The Laplacian topic model", cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
