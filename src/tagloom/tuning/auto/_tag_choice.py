"""A choice tag by tag, where the labels can tell: a tag may want other features than the rest of the collection."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats
from tagloom.tuning.auto.combine import Combination
from tagloom.tuning.auto.model import Member
from tagloom.tuning.auto.search import Trial
from tagloom.tuning.auto.stacking import score_spread

__all__ = ["choose_per_tag"]


#: Known photos with a tag, and without, from which on the tag has a say of its own.
ENOUGH_EXAMPLES = 20
#: A candidate joins where its gain in a tag's average precision is above so many standard errors: dozens are compared.
CAUTION = 2.5
#: Times that photos are drawn anew for that.
N_RESAMPLES = 200
#: Share of the combination that it then is, for that tag.
SHARE = 0.5
#: Candidates that join for some tag: each costs a kernel of all photos.
MOST_ADDED = 3


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
            one[wish.tag] *= 1.0 - SHARE
        added = SHARE * spread / trials[wish.place].spread
        factors[wish.place][wish.tag] += added
        deviations[:, wish.tag] *= 1.0 - SHARE
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
        tried = (1.0 - SHARE) * own + SHARE * trial.deviations[known, tag] / trial.spread
        gain = float((_average_precisions(tried, has, once) - now)[0])
        if gain > best.gain:
            best, mixed = _Wish(int(tag), place, gain), tried
    if best.place < 0:
        return None
    counts = np.random.default_rng(0).multinomial(len(has), np.full(len(has), 1.0 / len(has)), size=N_RESAMPLES)
    error = float((_average_precisions(mixed, has, counts) - _average_precisions(own, has, counts)).std())
    return best if best.gain > CAUTION * error else None


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
