"""tagloom's own annotators in the comparison, and what their probabilities are worth."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchmarkError
from benchmarks.quality.problem import Floats, Problem
from tagloom.core.labels import UNKNOWN
from tagloom.exceptions import NothingToScoreError
from tagloom.learning.constants import SMOOTHING
from tagloom.metrics import brier_skill, calibration_error

#: The budget of the product, in seconds.
BUDGET = 300.0
PRECISION = 0.95


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an annotator says of the photos it has seen, and of the new ones.

    Parameters
    ----------
    seen, new : array
        Scores of the rows of ``draw.seen`` and ``draw.new``.
    probabilities : array or None
        Of the photos seen.
    raw : array or None
        Their scores where these are meant as shares already, cut to 0 and 1.
    limits : array or None
        Thresholds of the probabilities for the wanted precision.
    told : dict
        What it chose, for the record.
    """

    seen: Floats
    new: Floats
    probabilities: Floats | None = None
    raw: Floats | None = None
    limits: Floats | None = None
    told: dict[str, Any] | None = None


def labels_of(problem: Problem) -> NDArray[np.int8]:
    """Return the label matrix of the photos seen, -1 where a photo is unlabelled."""
    seen = problem.draw.seen
    Y = np.full((len(seen), problem.truth.shape[1]), UNKNOWN, dtype=np.int8)
    Y[np.searchsorted(seen, problem.draw.labeled)] = problem.Y
    return Y


def smoothed_ridge(problem: Problem, Y: NDArray[np.int8] | None = None) -> Outcome:
    """Fit the simple method: ridge on the joined features, smoothed over the graph, calibrated."""
    from tagloom.methods import RegularizedLeastSquares
    from tagloom.tuning import CalibratedAnnotator

    seen, new = problem.draw.seen, problem.draw.new
    base = RegularizedLeastSquares(smoothing=SMOOTHING)
    model = CalibratedAnnotator(base, random_state=problem.seed)
    model.fit(problem.X[seen], labels_of(problem) if Y is None else Y)
    return Outcome(
        np.asarray(model.annotator_.transduction_),
        np.asarray(model.annotator_.decision_function(problem.X[new])),
        model.probabilities_,
        np.clip(model.annotator_.transduction_, 0.0, 1.0),
        model.thresholds_for(PRECISION),
    )


def auto(problem: Problem, Y: NDArray[np.int8] | None = None, **options: Any) -> Outcome:
    """Fit `tagloom.tuning.AutoAnnotator` to the features as extracted."""
    try:
        from tagloom.tuning.auto.annotator import AutoAnnotator
    except ImportError as error:
        raise BenchmarkError(f"tagloom.tuning.AutoAnnotator is not there yet: {error}") from error
    seen, new = problem.draw.seen, problem.draw.new
    model = AutoAnnotator(problem.groups, budget_seconds=BUDGET, random_state=problem.seed, **options)
    model.fit(problem.raw[seen], labels_of(problem) if Y is None else Y)
    probabilities = np.asarray(model.probabilities_)
    if hasattr(model, "thresholds_for"):
        limits = model.thresholds_for(PRECISION)
    else:
        unlabeled = np.searchsorted(seen, problem.draw.unlabeled)
        limits = limits_for(probabilities[unlabeled])
    told = getattr(model, "choice_", None)
    raw = getattr(model, "scores_", None)
    return Outcome(
        np.asarray(model.transduction_),
        np.asarray(model.decision_function(problem.raw[new])),
        probabilities,
        None if raw is None else np.clip(raw, 0.0, 1.0),
        limits,
        # For the record only: what JSON does not know becomes text.
        told=json.loads(json.dumps(told, default=str)) if isinstance(told, dict) else None,
    )


def limits_for(probabilities: Floats) -> Floats:
    """Return one threshold for all tags: entries above it have the wanted precision if the probabilities are right.

    The rule of `CalibratedAnnotator.thresholds_for`, for annotators without one: the most probable entries, as many as
    have the wanted mean. No label is looked at.
    """
    ranked = np.sort(probabilities, axis=None)[::-1]
    good = np.flatnonzero(np.cumsum(ranked) >= PRECISION * np.arange(1, len(ranked) + 1))
    limit = np.nextafter(ranked[good[-1]], 0.0) if len(good) else np.inf
    return np.full(probabilities.shape[1], limit)


def probability_figures(problem: Problem, outcome: Outcome) -> dict[str, float]:
    """Return calibration error, Brier skill and what is accepted at the wanted precision, on unlabelled photos."""
    if outcome.probabilities is None:
        return {}
    rows = np.searchsorted(problem.draw.seen, problem.draw.unlabeled)
    truth = problem.truth[problem.draw.unlabeled]
    prior = np.mean(problem.Y == 1, axis=0)
    found = {f"calibrated/{key}": value for key, value in _errors(truth, outcome.probabilities[rows], prior).items()}
    if outcome.raw is not None:
        found |= {f"scores/{key}": value for key, value in _errors(truth, outcome.raw[rows], prior).items()}
    if outcome.limits is not None:
        found |= accepted_figures(truth, outcome.probabilities[rows], outcome.limits)
    return found


def _errors(truth: NDArray[np.int8], probabilities: Floats, prior: Floats) -> dict[str, float]:
    found = {"brier_skill": brier_skill(truth, probabilities, prior)}
    for entries in ("best", "likely"):
        try:
            found[f"{entries}_error"] = calibration_error(truth, probabilities, n_bins=15, entries=entries)
        except NothingToScoreError:
            # No entry is likely: there is nothing that could be wrong.
            continue
    return found


def accepted_figures(truth: NDArray[np.int8], probabilities: Floats, limits: Floats) -> dict[str, float]:
    """Return how many entries are accepted, how many of them rightly, and how many hindsight would accept.

    Parameters
    ----------
    truth : int8 array of shape (n, c)
        Labels.
    probabilities : array of shape (n, c)
        Of the tags.
    limits : array of shape (c,)
        Entries above are accepted.
    """
    known = truth != UNKNOWN
    accepted = known & (probabilities > limits)
    ranked = np.sort(probabilities[known])[::-1]
    order = np.argsort(-probabilities[known], kind="stable")
    right = np.cumsum(truth[known][order] == 1)
    counts = np.arange(1, len(order) + 1)
    # A threshold takes all entries of one probability or none.
    is_end = np.append(ranked[1:] != ranked[:-1], True)
    good = is_end & (right >= PRECISION * counts)
    return {
        "accepted/count": float(accepted.sum()),
        "accepted/right": float((truth[accepted] == 1).sum()),
        "accepted/oracle": float(counts[good][-1]) if good.any() else 0.0,
    }
