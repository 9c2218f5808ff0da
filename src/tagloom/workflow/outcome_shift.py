"""Probabilities lowered by what came of them: decisions that a person made after the number had been shown.

Probabilities are made on labels that are there, and reviewing changes what is left: the photos that a model is surest
of are decided first, and those that remain are not like them. What a person says about the photos at hand is the only
unbiased word on the numbers at hand, so it corrects them at once, without waiting for a new training.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

__all__ = ["OutcomeShift"]

Floats = NDArray[np.float64]

#: Outcomes below which nothing is corrected, and those that are kept of each tag.
FEWEST, LATEST = 20, 100
#: Spread, before anything is seen, of the shift of all log-odds, of their factor around 1, and of a tag's own shift.
SHIFT, FACTOR, OWN = 1.0, 0.5, 1.5
LOWEST_FACTOR = 0.1
LEAST_PROBABILITY = 1e-6
N_STEPS = 25


class OutcomeShift:
    """Learns from outcomes how log-odds are to be lowered: ``a + b · log-odds`` for all tags, and a shift for each.

    It only ever lowers. A person says yes to what is right more often than no to what is wrong, so that outcomes may
    look too good, but never too bad.
    """

    def __init__(self) -> None:
        self._outcomes: dict[int, list[tuple[float, float]]] = {}

    def clear(self) -> None:
        """Forget all outcomes: the numbers are made in another way now."""
        self._outcomes.clear()

    def record(self, tags: Iterable[int], probabilities: Iterable[float], outcomes: Iterable[int]) -> None:
        """Take down what came of probabilities.

        Parameters
        ----------
        tags, probabilities, outcomes : iterables of one length
            Ids of tags, the probability before any correction, and 1 or 0.
        """
        for tag, probability, outcome in zip(tags, probabilities, outcomes, strict=True):
            kept = self._outcomes.setdefault(int(tag), [])
            kept.append((float(probability), float(outcome)))
            del kept[:-LATEST]

    def correct(self, values: NDArray[np.float32], tag_ids: Iterable[int]) -> NDArray[np.float32]:
        """Return probabilities of tags, lowered where outcomes say so; the order of photos stays the same.

        Parameters
        ----------
        values : ndarray of float32, shape (n, c)
            Probabilities; NaN stays.
        tag_ids : iterable of int
            The columns.
        """
        everything = [pair for kept in self._outcomes.values() for pair in kept]
        if len(everything) < FEWEST:
            return values
        shift, factor = _line(*_columns(everything))
        corrected = np.empty_like(values)
        for column, tag in enumerate(tag_ids):
            own = self._own_shift(int(tag), shift, factor)
            given = values[:, column]
            lowered = expit(shift + own + factor * _odds(given.astype(np.float64)))
            corrected[:, column] = np.fmin(given, lowered)
        return corrected

    def _own_shift(self, tag: int, shift: float, factor: float) -> float:
        """Return a tag's shift beyond that of all tags, drawn towards zero."""
        if not self._outcomes.get(tag):
            return 0.0
        odds, outcomes = _columns(self._outcomes[tag])
        own = 0.0
        for _ in range(N_STEPS):
            expected = expit(shift + own + factor * odds)
            slope = float((expected - outcomes).sum()) + own / OWN**2
            own -= slope / (float((expected * (1.0 - expected)).sum()) + 1.0 / OWN**2)
        return own


def _line(odds: Floats, outcomes: Floats) -> tuple[float, float]:
    """Return shift and factor of log-odds that fit outcomes best, drawn towards 0 and 1."""
    design = np.column_stack([np.ones_like(odds), odds])
    prior, centre = np.diag([1.0 / SHIFT**2, 1.0 / FACTOR**2]), np.array([0.0, 1.0])
    line = centre.copy()
    for _ in range(N_STEPS):
        expected = expit(design @ line)
        slope = design.T @ (expected - outcomes) + prior @ (line - centre)
        bend = (design * (expected * (1.0 - expected))[:, None]).T @ design + prior
        line = line - np.linalg.solve(bend, slope)
        line[1] = max(line[1], LOWEST_FACTOR)
    return float(line[0]), float(line[1])


def _columns(pairs: list[tuple[float, float]]) -> tuple[Floats, Floats]:
    probabilities, outcomes = np.asarray(pairs).T
    return _odds(probabilities), outcomes


def _odds(probabilities: Floats) -> Floats:
    odds: Floats = logit(np.clip(probabilities, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY))
    return odds
