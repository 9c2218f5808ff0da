"""What to label next: each strategy of `tagloom.tuning.rank_photos` from the same start, against random."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.problem import Floats, Problem
from benchmarks.quality.sets import QualitySet, Rows
from benchmarks.results import seed_of
from tagloom.core.labels import UNKNOWN
from tagloom.learning.constants import SMOOTHING
from tagloom.metrics import mean_average_precision

N_SEEDS = 20
STRATEGIES = ("random", "uncertainty", "change", "cover", "rare", "mixed", "representative")
#: Photos at most, a third of them kept for scoring; photos to start with and per step at least; steps.
N_PHOTOS, LEAST_BATCH, N_STEPS = 2400, 20, 8
#: Strategies that look at probabilities.
WITH_PROBABILITIES = ("uncertainty", "change", "rare", "mixed")
#: Strategies that look at features; the others are given the neighbour graph.
WITH_FEATURES = ("representative",)
N_FOLDS = 3


def fractions(item: QualitySet) -> tuple[float, ...]:
    """Return one, which plays no part, where the set has photos enough for all steps."""
    n_pool = min(item.n_seen, N_PHOTOS) * 2 // 3
    return item.fractions[:1] if batch_size(n_pool) * (N_STEPS + 1) <= n_pool else ()


def batch_size(n_pool: int) -> int:
    """Return how many photos are labelled at the start and in each step: 2 % of those that may be asked for."""
    return max(LEAST_BATCH, round(0.02 * n_pool))


def figures(problem: Problem, strategy: str, draw: int) -> dict[str, float]:
    """Return MAP on the photos kept for scoring, by number of labels."""
    photos, scored = _photos(problem, draw)
    X, truth = problem.components[photos], problem.truth[photos]
    seen = X if strategy in WITH_FEATURES else _graph(problem.seed, draw, X.tobytes(), X.shape)
    generator = np.random.default_rng(seed_of("active", problem.seed, draw))
    pool = np.flatnonzero(~scored)
    size = batch_size(len(pool))
    labeled = generator.permutation(pool)[:size]
    found = {}
    for step in range(N_STEPS + 1):
        Y = np.full(truth.shape, UNKNOWN, dtype=np.int8)
        Y[labeled] = truth[labeled]
        scores, probabilities = _learn(X, Y, strategy in WITH_PROBABILITIES and step < N_STEPS)
        found[f"map/{len(labeled):04d}"] = mean_average_precision(truth[scored], scores[scored])
        if step < N_STEPS:
            asked = _ask(probabilities, Y, seen, size, strategy, scored, seed_of("ask", problem.seed, draw, step))
            labeled = np.append(labeled, asked)
    return found


def _photos(problem: Problem, draw: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the rows of a seed, and which of them are kept for scoring."""
    generator = np.random.default_rng(seed_of("photos", problem.seed, draw))
    photos = generator.permutation(problem.draw.seen)[:N_PHOTOS]
    scored = np.arange(len(photos)) < len(photos) // 3
    return photos, scored


@lru_cache(maxsize=1)
def _graph(seed: int, draw: int, rows: bytes, shape: tuple[int, int]) -> Any:  # noqa: ARG001
    """Return the neighbour graph of a seed, once for all strategies."""
    from tagloom.graph import knn_graph

    return knn_graph(np.frombuffer(rows).reshape(shape), 15, n_threads=1)


def _learn(X: Floats, Y: NDArray[np.int8], with_probabilities: bool) -> tuple[Floats, Floats]:
    from tagloom.methods import RegularizedLeastSquares
    from tagloom.tuning import CalibratedAnnotator

    base = RegularizedLeastSquares(smoothing=SMOOTHING)
    if not with_probabilities:
        model = base.fit(X, Y)
        return np.asarray(model.transduction_), np.full(Y.shape, 0.5)
    calibrated = CalibratedAnnotator(base, folds=N_FOLDS, random_state=0).fit(X, Y)
    return np.asarray(calibrated.annotator_.transduction_), np.asarray(calibrated.probabilities_)


def _ask(
    probabilities: Floats,
    Y: NDArray[np.int8],
    photos: Any,
    size: int,
    strategy: Any,
    scored: NDArray[np.bool_],
    seed: int,
) -> Rows:
    from tagloom.tuning import rank_photos

    candidates = ~scored & (Y == UNKNOWN).all(axis=1)
    return rank_photos(probabilities, Y, photos, size, strategy=strategy, candidates=candidates, random_state=seed)
