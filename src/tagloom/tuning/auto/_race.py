"""The race of other methods against the combination of `AutoAnnotator`: on few photos and tags first, then on all."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.typing import Floats
from tagloom.metrics import average_precision
from tagloom.tuning.auto._heats import (
    HEAT_EXAMPLES,
    LEAST_TAGS,
    MOST_PHOTOS,
    Field,
    Heat,
    attempt,
    matched,
    matching,
    spaced,
)
from tagloom.tuning.auto.extra_methods import GUESTS, FittedGuest, Guest
from tagloom.tuning.auto.search import LeaderboardRow
from tagloom.tuning.auto.stacking import rankable_tags, stack_scores

__all__ = ["Outcome", "race"]


MOST_FINALISTS = 2
#: Of the final: how often the combination is there to begin with, and what a gain has to stand out by.
START_COUNT, CAUTION = 4.0, 3.0


@dataclass(eq=False)
class Outcome:
    """What the race found.

    Attributes
    ----------
    shares : ndarray of shape (c,)
        What is kept of the combination's deviations.
    left_out, everywhere : ndarray or None
        What guests add to them; None where no guest takes part.
    guests : list of FittedGuest
        Those that take part.
    board : list of LeaderboardRow
        Methods of the final.
    reasons : dict of str to str
        Methods that do not take part, and why.
    """

    shares: Floats
    left_out: Floats | None = None
    everywhere: Floats | None = None
    guests: list[FittedGuest] = field(default_factory=list)
    board: list[LeaderboardRow] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Final:
    """A method after the final: left-out deviations (m, c), precisions, and how to fit it with all labels."""

    guest: Guest
    deviations: Floats
    precisions: Floats


def race(
    entered: Sequence[str],
    on: Field,
    *,
    seconds_left: Callable[[], float],
    progress: Progress = NO_PROGRESS,
) -> Outcome:
    """Let methods run against the combination, and take in those that make it better.

    Parameters
    ----------
    entered : sequence of str
        Names in `GUESTS`.
    on : Field
        Photos, labels, and the combination.
    seconds_left : callable
        Time that is left for it.
    progress : Progress, optional
        Told how far it is.

    Notes
    -----
    The heats are run on 320 photos and eight tags at most, the labels halved: each half is scored by models that know
    the other. Of all methods those that are ahead there, at most two, are fitted to all photos, with a fold of the
    labelled ones hidden at a time, if the time they took says that there is enough of it. Their scores are brought to
    the spread of the combination's for each tag, and enter it by `stack_scores`.
    """
    outcome = Outcome(np.ones(on.labels.shape[1]))
    progress.start("racing other methods", len(entered))
    try:
        finalists = _run_heats(entered, on, outcome.reasons, seconds_left, progress)
        finals = [
            found
            for guest, seconds in finalists
            if (found := _run_final(guest, on, seconds, outcome.reasons, seconds_left)) is not None
        ]
        if finals:
            _take_in(finals, on, outcome)
    except KeyboardInterrupt:
        outcome = Outcome(np.ones(on.labels.shape[1]), reasons=outcome.reasons | {"further methods": "interrupted"})
    finally:
        progress.finish()
    return outcome


def _run_heats(
    entered: Sequence[str],
    on: Field,
    reasons: dict[str, str],
    seconds_left: Callable[[], float],
    progress: Progress,
) -> list[tuple[Guest, float]]:
    """Return the finalists, the best first, with the seconds that a fit to all photos may take."""
    heat = Heat.of(on)
    if heat is None:
        why = f"too few labels to compare methods: {LEAST_TAGS} tags need {HEAT_EXAMPLES} photos with and without each"
        reasons |= dict.fromkeys(entered, why)
        return []
    ahead: list[tuple[float, Guest, float]] = []
    for name in entered:
        guest = GUESTS[name]
        progress.advance()
        if seconds_left() <= 0.0:
            reasons[name] = "the time was over"
        elif (found := attempt(name, reasons, heat.run, guest)) is not None:
            gain, told, seconds = found
            if gain is None:
                reasons[name] = told
            else:
                ahead.append((gain, guest, seconds))
                reasons[name] = f"{told}; others were better"
    ahead.sort(key=lambda one: -one[0])
    return [(guest, seconds) for _, guest, seconds in ahead[:MOST_FINALISTS]]


def _run_final(
    guest: Guest, on: Field, seconds: float, reasons: dict[str, str], seconds_left: Callable[[], float]
) -> _Final | None:
    """Return what a method says of each fold by models without it; None where there is no time for that."""
    n_folds = len(np.unique(on.folds))
    seen = on.features(guest).of(on.X, on.views.plain)
    found = np.zeros(on.left_out.shape)
    for step, fold in enumerate(np.unique(on.folds)):
        # One more fit is to follow, with all labels.
        if seconds * (n_folds - step + 1) > seconds_left():
            reasons[guest.name] = f"no time: a fit would take about {seconds:.0f} s, and {n_folds + 1} are needed"
            return None
        hidden = on.labels.copy()
        hidden[on.rows[on.folds == fold]] = UNKNOWN
        began = time.perf_counter()
        fitted = attempt(guest.name, reasons, _fit, guest, on, seen, hidden)
        if fitted is None:
            return None
        seconds = time.perf_counter() - began
        inside = on.folds == fold
        found[inside] = matched(fitted[1], on.everywhere)[on.rows[inside]]
    tags = rankable_tags(on.labels[on.rows])
    return _Final(guest, found, average_precision(on.labels[np.ix_(on.rows, np.flatnonzero(tags))], found[:, tags]))


def _take_in(finals: list[_Final], on: Field, outcome: Outcome) -> None:
    """Weigh the combination and the methods of the final, and fit those that take part to all labels."""
    parts = [on.left_out, *(final.deviations for final in finals)]
    labels = on.labels[on.rows]
    stack = stack_scores(parts, labels, start=[START_COUNT] + [0.0] * len(finals), caution=CAUTION)
    # Of a tag that nobody has shown a method can say nothing.
    has_say = (on.labels == 1).any(axis=0)
    outcome.left_out, outcome.everywhere = np.zeros(on.left_out.shape), np.zeros(on.everywhere.shape)
    for final, weight in zip(finals, stack.weights[1:].tolist(), strict=True):
        name = final.guest.name
        fitted = None
        if weight > 0.0:
            features = on.features(final.guest)
            seen = features.of(on.X, on.views.plain)
            fitted = attempt(name, outcome.reasons, _fit, final.guest, on, seen, on.labels)
        else:
            outcome.reasons[name] = f"{final.precisions.mean():.3f} alone, adds nothing to {stack.score:.3f}"
        outcome.board.append(LeaderboardRow.of(name, final.precisions, weight if fitted is not None else 0.0))
        if fitted is None:
            continue
        annotator, scores = fitted
        centres, sizes = matching(scores, on.everywhere)
        sizes = np.where(has_say, weight * sizes, 0.0)
        outcome.left_out += np.where(has_say, weight * final.deviations, 0.0)
        outcome.everywhere += (scores - centres) * sizes
        outcome.shares = outcome.shares - np.where(has_say, weight, 0.0)
        outcome.guests.append(FittedGuest(name, annotator, features, centres, sizes))
        outcome.reasons.pop(name, None)
    if not outcome.guests:
        outcome.left_out = outcome.everywhere = None


def _fit(guest: Guest, on: Field, seen: Any, labels: LabelMatrix) -> tuple[Annotator, Floats]:
    """Return a method fitted to some labels, and its scores of all photos."""
    features = on.features(guest)
    n_labelled = int(labeled_rows(labels).sum())
    annotator = guest.make(features.groups, on.views.n_neighbors, n_labelled)
    n = len(on.X)
    if n <= MOST_PHOTOS:
        fitted = annotator.fit(seen, labels)
        return fitted, np.asarray(fitted.transduction_, dtype=np.float64)
    labeled = np.flatnonzero(labeled_rows(on.labels))
    others = np.flatnonzero(~labeled_rows(on.labels))
    others = spaced(others[np.argsort(on.order[others], kind="stable")], max(MOST_PHOTOS - len(labeled), 0))
    photos = np.union1d(labeled, others)
    fitted = annotator.fit(seen[photos], labels[photos])
    scores = np.empty(labels.shape)
    scores[photos] = fitted.transduction_
    rest = np.setdiff1d(np.arange(n), photos)
    scores[rest] = fitted.decision_function(seen[rest])
    return fitted, scores
