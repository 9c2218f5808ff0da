"""What a model predicts for photos and tags at one moment: probabilities, or scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from tagloom.core import rows_of
from tagloom.learning.constants import LEAST_PROBABILITY
from tagloom.learning.suggest import SCORE, suggestion_info
from tagloom.store import StoredSuggestions


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predictions for photos and tags; they never change in place, so any thread may read them.

    Parameters
    ----------
    photo_ids, tag_ids : ndarray of int64
        Rows and columns.
    values : ndarray of float32, shape (n, c)
        Probabilities or scores.
    thresholds : ndarray of float64, shape (c,)
        A tag is suggested above its threshold.
    kind : {"probability", "score"}
        Which.
    """

    photo_ids: NDArray[np.int64]
    tag_ids: NDArray[np.int64]
    values: NDArray[np.float32]
    thresholds: NDArray[np.float64]
    kind: str

    @classmethod
    def none(cls, photo_ids: NDArray[np.int64]) -> "Predictions":
        """Return predictions for no tag."""
        no_tags, values = np.empty(0, dtype=np.int64), np.empty((len(photo_ids), 0), dtype=np.float32)
        return cls(photo_ids, no_tags, values, np.empty(0), SCORE)

    @classmethod
    def of(cls, stored: StoredSuggestions) -> "Predictions":
        """Return stored suggestions."""
        thresholds = np.full(len(stored.tag_ids), np.inf) if stored.thresholds is None else stored.thresholds
        return cls(stored.photo_ids, stored.tag_ids, stored.scores, thresholds, suggestion_info(stored).kind)

    def aligned(self, photo_ids: NDArray[np.int64]) -> "tuple[Predictions, NDArray[np.bool_]]":
        """Return the predictions for other photos, and which have some; one that has none gets each tag's smallest."""
        at = rows_of(self.photo_ids, photo_ids)
        has = at >= 0
        values = np.empty((len(photo_ids), len(self.tag_ids)), dtype=np.float32)
        values[has] = self.values[at[has]]
        values[~has] = self.values.min(axis=0) if len(self.values) else 0.0
        return Predictions(photo_ids, self.tag_ids, values, self.thresholds, self.kind), has

    def replaced(
        self,
        tag_ids: NDArray[np.int64],
        changed: NDArray[np.intp],
        values: NDArray[np.float32],
        thresholds: NDArray[np.float64],
    ) -> "Predictions":
        """Return predictions for other tags: new ones where they have changed, those of before elsewhere.

        Parameters
        ----------
        tag_ids : ndarray of int64
            The tags; those that have not changed are among the tags of before.
        changed : ndarray of int
            Which of them have.
        values, thresholds : ndarray
            Their predictions.
        """
        kept = np.setdiff1d(np.arange(len(tag_ids)), changed)
        before = self.columns_of(tag_ids[kept])
        everything = np.empty((len(self.photo_ids), len(tag_ids)), dtype=np.float32)
        all_thresholds = np.empty(len(tag_ids))
        everything[:, kept], all_thresholds[kept] = self.values[:, before], self.thresholds[before]
        everything[:, changed], all_thresholds[changed] = values, thresholds
        return Predictions(self.photo_ids, tag_ids, everything, all_thresholds, self.kind)

    def columns_of(self, tag_ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the columns of tags, -1 for one that has none."""
        return rows_of(self.tag_ids, tag_ids)


def log_odds(values: NDArray[Any]) -> NDArray[Any]:
    """Return the log-odds of probabilities, finite."""
    return np.asarray(logit(np.clip(values, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)))
