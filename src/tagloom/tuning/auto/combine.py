"""Which candidates `AutoAnnotator` combines, and with what weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagloom.core.labels import LabelMatrix
from tagloom.core.typing import Floats
from tagloom.tuning.auto._stack_start import start_counts
from tagloom.tuning.auto.model import Member
from tagloom.tuning.auto.search import CAUTION, LeaderboardRow, Trial
from tagloom.tuning.auto.stacking import stack_scores
from tagloom.tuning.auto.views import View

__all__ = ["Combination", "combine"]


#: Candidates that enter the choice besides those that it begins with.
MOST_CANDIDATES = 10


@dataclass(frozen=True, eq=False)
class Combination:
    """What `combine` found.

    Attributes
    ----------
    members : list of Member
        Candidates with their factors, some of them 0.
    deviations : ndarray of shape (m, c)
        Of the combination, each labelled photo without its own label.
    leaderboard : list of LeaderboardRow
        Candidates, the best first.
    choice : dict
        Members with their weights, and figures of the combination; plain numbers and words.
    """

    members: list[Member]
    deviations: Floats
    leaderboard: list[LeaderboardRow]
    choice: dict[str, Any]


def combine(trials: list[Trial], labels: LabelMatrix, weightings: list[View]) -> Combination:
    """Weigh the candidates.

    Parameters
    ----------
    trials : list of Trial
        What the search found.
    labels : label matrix of shape (m, c)
        Of the photos that candidates were compared on.
    weightings : list of View
        Those that were tried.
    """
    start = start_counts(trials, weightings, labels)
    figures = np.nan_to_num(np.array([trial.figure for trial in trials]), nan=-1.0)
    best = np.argsort(-figures, kind="stable")[:MOST_CANDIDATES]
    entered = np.union1d(best, np.flatnonzero(start))
    scaled = [trials[place].deviations / trials[place].spread for place in entered]
    stack = stack_scores(scaled, labels, start=start[entered].tolist(), caution=CAUTION)
    weights = np.zeros(len(trials))
    weights[entered] = stack.weights
    size = float(sum(weights[place] * trials[place].spread for place in entered))
    factors = [weight * size / trial.spread for weight, trial in zip(weights, trials, strict=True)]
    members = [Member(trial.candidate, factor) for trial, factor in zip(trials, factors, strict=True)]
    total = sum(factor * trial.deviations for trial, factor in zip(trials, factors, strict=True) if factor > 0)
    order = np.lexsort((-weights, -figures))
    choice = {
        "members": [
            trials[place].candidate.as_dict() | {"weight": float(weights[place])}
            for place in order
            if weights[place] > 0
        ],
        "map": None if np.isnan(stack.score) else stack.score,
        "map_of_start": None if np.isnan(stack.start_score) else stack.start_score,
    }
    board = [
        LeaderboardRow.of(trials[place].candidate.name, trials[place].precisions, float(weights[place]))
        for place in order
    ]
    return Combination(members, np.asarray(total), board, choice)
