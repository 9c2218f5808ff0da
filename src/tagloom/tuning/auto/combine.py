"""Which candidates `AutoAnnotator` combines, and with what weights."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.tuning.auto.model import Member
from tagloom.tuning.auto.search import LeaderboardRow, Trial, has_network, start_views
from tagloom.tuning.auto.stacking import gain_stands_out, score_spread, stack_scores
from tagloom.tuning.auto.views import View
from tagloom.tuning.constants import (
    COUNT_WITHOUT_NETWORK,
    ENOUGH_EXAMPLES,
    EVEN_POSITIVES,
    MOST_ADDED,
    MOST_CANDIDATES,
    N_RESAMPLES,
    OWN_CHOICE_CAUTION,
    OWN_CHOICE_SHARE,
    SETTING_CAUTION,
    START_COUNT,
)

__all__ = ["choose_per_tag", "combine"]


# What the combination behind `AutoAnnotator` begins with.


def start_counts(trials: list[Trial], weightings: list[View], labels: LabelMatrix) -> NDArray[np.float64]:
    """Return how often each candidate is in the combination to begin with.

    Of the kernels of a view the one of the usual width begins, unless the gain of another stands out.
    """
    per_tag = float((labels == 1).sum()) / labels.shape[1]
    plain_share = per_tag / (per_tag + EVEN_POSITIVES)
    counts = np.zeros(len(trials))
    for (smoothed, names), share in zip(start_views(weightings), (1.0 - plain_share, plain_share), strict=True):
        chosen = [_preferred(trials, name, smoothed) for name in names]
        for place in [place for place in chosen if place is not None]:
            counts[place] += share / len(chosen)
    if not counts.any():
        counts[0] = 1.0
    return (START_COUNT if has_network(weightings) else COUNT_WITHOUT_NETWORK) * counts / counts.sum()


def _preferred(trials: list[Trial], view: str, smoothed: bool) -> int | None:
    """Return the place of a view's kernel: the first, which has the usual width, unless a better one stands out."""
    places = [
        place
        for place, trial in enumerate(trials)
        if (trial.candidate.view, trial.candidate.smoothed) == (view, smoothed)
    ]
    if not places:
        return None
    usual, best = places[0], max(places, key=lambda place: np.nan_to_num(trials[place].figure, nan=-1.0))
    return best if gain_stands_out(trials[best].precisions - trials[usual].precisions, SETTING_CAUTION) else usual


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
    stack = stack_scores(scaled, labels, start=start[entered].tolist(), caution=SETTING_CAUTION)
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


# A choice tag by tag, where the labels can tell: a tag may want other features than the rest of the collection.


@dataclass(frozen=True)
class _Wish:
    tag: int
    place: int
    gain: float


def choose_per_tag(trials: list[Trial], combination: Combination, labels: LabelMatrix) -> Combination:
    """Return the combination, half of it given to one candidate for tags whose own photos say so.

    Parameters
    ----------
    trials : list of Trial
        What the search found; in the order of the combination's members.
    combination : Combination
        That of all tags.
    labels : label matrix of shape (m, c)
        Of the photos that candidates were compared on.

    Notes
    -----
    The standard error of a tag's gain in average precision comes from drawing the photos anew, 200 times. Few tags have
    enough photos for a gain that stands out; the others keep what is good for all.
    """
    spread = score_spread(combination.deviations, labels)
    wishes = [wish for tag in _tags(labels) if (wish := _best(tag, trials, combination, spread, labels)) is not None]
    wishes = _affordable(wishes, combination)
    if not wishes:
        return replace(combination, choice=combination.choice | {"single_tags": []})
    deviations = combination.deviations.copy()
    factors = [np.full(labels.shape[1], member.factor, dtype=np.float64) for member in combination.members]
    for wish in wishes:
        for one in factors:
            one[wish.tag] *= 1.0 - OWN_CHOICE_SHARE
        added = OWN_CHOICE_SHARE * spread / trials[wish.place].spread
        factors[wish.place][wish.tag] += added
        deviations[:, wish.tag] *= 1.0 - OWN_CHOICE_SHARE
        deviations[:, wish.tag] += added * trials[wish.place].deviations[:, wish.tag]
    members = [
        Member(member.candidate, one if len(np.unique(one)) > 1 else member.factor)
        for member, one in zip(combination.members, factors, strict=True)
    ]
    told: list[dict[str, Any]] = [
        {"tag": wish.tag, "candidate": trials[wish.place].candidate.name, "gain": wish.gain} for wish in wishes
    ]
    return replace(
        combination, members=members, deviations=deviations, choice=combination.choice | {"single_tags": told}
    )


def _tags(labels: LabelMatrix) -> NDArray[np.intp]:
    enough = ((labels == 1).sum(axis=0) >= ENOUGH_EXAMPLES) & ((labels == 0).sum(axis=0) >= ENOUGH_EXAMPLES)
    return np.flatnonzero(enough)


def _best(tag: int, trials: list[Trial], combination: Combination, spread: float, labels: LabelMatrix) -> _Wish | None:
    known = labels[:, tag] != UNKNOWN
    has = labels[known, tag] == 1
    own = combination.deviations[known, tag] / spread
    once = np.ones((1, len(has)))
    now = _average_precisions(own, has, once)
    best, mixed = _Wish(int(tag), -1, 0.0), own
    for place, trial in enumerate(trials):
        tried = (1.0 - OWN_CHOICE_SHARE) * own + OWN_CHOICE_SHARE * trial.deviations[known, tag] / trial.spread
        gain = float((_average_precisions(tried, has, once) - now)[0])
        if gain > best.gain:
            best, mixed = _Wish(int(tag), place, gain), tried
    if best.place < 0:
        return None
    counts = np.random.default_rng(0).multinomial(len(has), np.full(len(has), 1.0 / len(has)), size=N_RESAMPLES)
    error = float((_average_precisions(mixed, has, counts) - _average_precisions(own, has, counts)).std())
    return best if best.gain > OWN_CHOICE_CAUTION * error else None


def _average_precisions(scores: Floats, has: NDArray[np.bool_], counts: NDArray[Any]) -> Floats:
    """Return the average precision (b,) of a tag with each photo there so many times (b, m)."""
    order = np.argsort(-scores, kind="stable")
    ranked, right = counts[:, order], counts[:, order] * has[order]
    shares = np.cumsum(right, axis=1) / np.maximum(np.cumsum(ranked, axis=1), 1.0)
    return np.asarray((shares * right).sum(axis=1) / np.maximum(right.sum(axis=1), 1.0))


def _affordable(wishes: list[_Wish], combination: Combination) -> list[_Wish]:
    """Return the wishes for members, and for the few further candidates that bring most."""
    members = {place for place, member in enumerate(combination.members) if np.any(member.factor > 0.0)}
    totals: dict[int, float] = {}
    for wish in wishes:
        if wish.place not in members:
            totals[wish.place] = totals.get(wish.place, 0.0) + wish.gain
    allowed = members | set(sorted(totals, key=lambda place: -totals[place])[:MOST_ADDED])
    return [wish for wish in wishes if wish.place in allowed]
