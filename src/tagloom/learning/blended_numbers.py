"""Numbers of a model that cannot be solved tag by tag, mixed with those of a ridge that knows the latest labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tagloom.learning.labels import TrainingLabels
from tagloom.learning.probability_map import ProbabilityMap
from tagloom.learning.suggest import PROBABILITY
from tagloom.learning.updated_numbers import UpdatedNumbers
from tagloom.tuning.calibration._held_out import scale_of
from tagloom.tuning.calibration._isotonic import TagSteps
from tagloom.tuning.calibration.maps import PRIOR_MEANS

__all__ = ["Mixture", "OwnNumbers", "log_odds"]

#: Probabilities are kept this far from 0 and 1 before their log-odds are taken.
LEAST_PROBABILITY = 1e-6
#: Share of a model that knew all photos with a tag that are known now, as measured on Corel5K training photos.
MOST_OF_MODEL = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Numbers of tags as a sum, ``weight · before + (1 - weight) · (level + slope · score)``: log-odds or scores.

    Parameters
    ----------
    before : ndarray of shape (n, k)
        The model's.
    weight : ndarray of shape (n, k)
        How much they count.
    level, slope : ndarray of shape (k,)
        What brings a ridge's scores to their mean and spread.
    """

    before: NDArray[np.float64]
    weight: NDArray[np.float64]
    level: NDArray[np.float64]
    slope: NDArray[np.float64]

    def of(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the sums for a ridge's scores."""
        return np.asarray(self.weight * self.before + (1.0 - self.weight) * (self.level + self.slope * scores))


@dataclass(frozen=True, slots=True, eq=False)
class OwnNumbers:
    """What a model said when it was trained.

    Parameters
    ----------
    numbers : UpdatedNumbers
        Of all photos and the model's tags. Decided photos have what is said without their labels.
    has : ndarray of bool, shape (n,)
        Photos that were there then; the others have no numbers.
    n_yes : dict of int to int
        For each tag how many photos had it then.
    """

    numbers: UpdatedNumbers
    has: NDArray[np.bool_]
    n_yes: dict[int, int]

    def is_new(self, tag_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which tags the model did not know."""
        return np.asarray(self.numbers.columns_of(tag_ids) < 0)

    def blended(
        self, scores: NDArray[np.float32], labels: TrainingLabels, changed: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """Return numbers of changed tags: the model's, and a ridge's brought to their mean and spread.

        Parameters
        ----------
        scores : ndarray of float32, shape (n, k)
            A ridge's, of the changed tags.
        labels : TrainingLabels
            What they were learnt from.
        changed : ndarray of int, shape (k,)
            Their columns in the labels.

        Notes
        -----
        With s the share of the photos with a tag that the model knew, its numbers (log-odds of probabilities) weigh
        ``0.7 s²`` and the ridge's the rest. Tags and photos that it did not know have the ridge's alone. Probabilities
        of such tags are what scores usually say; `tagloom.learning.judgements.calibrate_new` asks their labels.
        """
        is_probability = self.numbers.kind == PROBABILITY
        values = scores.copy()
        if is_probability:
            zeros = np.zeros(len(changed))
            scale = scale_of(scores, labels.Y[:, changed])
            values = ProbabilityMap(PRIOR_MEANS, zeros, zeros, zeros, TagSteps({})).probabilities(scores, scale)
        old = np.flatnonzero(~self.is_new(labels.tag_ids[changed]))
        if len(old) and self.has.any():
            mixed = self.mixture(scores[:, old], labels, changed[old]).of(scores[:, old])
            values[:, old] = expit(mixed) if is_probability else mixed
        return values

    def mixture(self, scores: NDArray[np.float32], labels: TrainingLabels, columns: NDArray[np.intp]) -> Mixture:
        """Return how the numbers of tags that the model knew are made of its own and a ridge's.

        Parameters
        ----------
        scores : ndarray of float32, shape (n, k)
            The ridge's.
        labels : TrainingLabels
            What they were learnt from.
        columns : ndarray of int, shape (k,)
            Columns of the tags in the labels.
        """
        before = self.numbers.values[:, self.numbers.columns_of(labels.tag_ids[columns])].astype(np.float64)
        before = log_odds(before) if self.numbers.kind == PROBABILITY else before
        Y = labels.Y[:, columns]
        scale, of_model = scale_of(scores, Y), scale_of(before[self.has], Y[self.has])
        slope = of_model.spread / scale.spread
        weight = np.where(self.has[:, None], self._shares(labels, columns), 0.0)
        return Mixture(before, weight, of_model.centre - slope * scale.centre, slope)

    def _shares(self, labels: TrainingLabels, columns: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how much the model's numbers weigh, for each tag."""
        now = (labels.Y[:, columns] == 1).sum(axis=0)
        # A model file that does not say is taken to have known two thirds.
        then = np.array([self.n_yes.get(tag, 2 * n / 3) for tag, n in zip(labels.tag_ids[columns], now, strict=True)])
        known = np.minimum(then, now) / np.maximum(np.maximum(then, now), 1)
        known[(then == 0) & (now == 0)] = 1.0
        return np.asarray(MOST_OF_MODEL * np.square(known))


def log_odds(values: NDArray[Any]) -> NDArray[Any]:
    """Return the log-odds of probabilities, finite."""
    return np.asarray(logit(np.clip(values, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)))
