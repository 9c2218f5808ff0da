"""Positive-only labels: half of the true tags of labelled photos are hidden, and an absent tag is a no or unknown.

A photo that has lost all its tags is like one that nobody has labelled, where absence means unknown. Where it means no,
it is either left out too ("no") or counts as a photo without any tag ("listed").
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import ours
from benchmarks.quality.ours import Outcome, labels_of
from benchmarks.quality.problem import Problem
from benchmarks.quality.sets import QualitySet
from benchmarks.results import seed_of
from tagloom.core.labels import UNKNOWN
from tagloom.metrics import brier_skill, calibration_error, mean_average_precision

HIDDEN = 0.5
#: Method and what an absent tag means.
METHODS = ("smoothed_ridge-no", "smoothed_ridge-unknown", "auto-no", "auto-listed", "auto-unknown")


def fractions(item: QualitySet) -> tuple[float, ...]:
    """Return 10 %, or the largest where that is too few photos."""
    return (0.1,) if 0.1 in item.fractions else item.fractions[-1:]


def named_labels(problem: Problem, draw: int) -> NDArray[np.int8]:
    """Return labels of the photos seen: 1 where a true tag is still named, -1 elsewhere."""
    Y = labels_of(problem)
    generator = np.random.default_rng(seed_of("positive", problem.seed, draw))
    kept = generator.random(Y.shape) >= HIDDEN
    return np.where((Y == 1) & kept, 1, UNKNOWN).astype(np.int8)


def listed_labels(problem: Problem, draw: int) -> NDArray[np.int8]:
    """Return labels of the photos seen: every labelled photo is listed, with what is still named as its only tags."""
    Y = labels_of(problem)
    return np.where(Y == UNKNOWN, UNKNOWN, named_labels(problem, draw) == 1).astype(np.int8)


def figures(problem: Problem, method: str, draw: int) -> dict[str, float]:
    """Return MAP and what the probabilities are worth, on unlabelled photos against the whole truth."""
    name, _, meaning = method.partition("-")
    Y = listed_labels(problem, draw) if meaning == "listed" else named_labels(problem, draw)
    outcome = _auto(problem, Y, meaning) if name == "auto" else _ridge(problem, Y, meaning)
    rows = np.searchsorted(problem.draw.seen, problem.draw.unlabeled)
    truth = problem.truth[problem.draw.unlabeled]
    found = {
        "unlabeled/map": mean_average_precision(truth, outcome.seen[rows]),
        "new/map": mean_average_precision(problem.truth[problem.draw.new], outcome.new),
    }
    if outcome.probabilities is not None:
        found["best_error"] = calibration_error(truth, outcome.probabilities[rows], n_bins=15, entries="best")
        found["brier_skill"] = brier_skill(truth, outcome.probabilities[rows], np.mean(problem.Y == 1, axis=0))
    return found


def _ridge(problem: Problem, Y: NDArray[np.int8], meaning: str) -> Outcome:
    from tagloom.learning.constants import SMOOTHING
    from tagloom.methods import RegularizedLeastSquares
    from tagloom.tuning import PositiveUnlabeledAnnotator, weak_negatives

    if meaning == "no":
        return ours.smoothed_ridge(problem, weak_negatives(Y))
    seen, new = problem.draw.seen, problem.draw.new
    base = RegularizedLeastSquares(smoothing=SMOOTHING)
    # Regressions rank worse when their noes are left out (docs/explanation/probabilities.md):
    # only probabilities are corrected.
    model = PositiveUnlabeledAnnotator(base, refit=False, random_state=problem.seed).fit(problem.X[seen], Y)
    scores = np.asarray(model.decision_function(problem.X[new]))
    return Outcome(np.asarray(model.transduction_), scores, np.asarray(model.probabilities_))


def _auto(problem: Problem, Y: NDArray[np.int8], meaning: str) -> Outcome:
    from tagloom.tuning import weak_negatives

    if meaning == "listed":
        return ours.auto(problem, Y)
    if meaning == "no":
        return ours.auto(problem, weak_negatives(Y))
    return ours.auto(problem, Y, absent_means="unknown")
