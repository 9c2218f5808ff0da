"""The verb behind ``tagloom suggest``: the tags that the active model would give to photos, best first."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.catalog import PhotoName, Result, find_photo_ids, restored
from tagloom.core import UNKNOWN, LabelMatrix, rows_of, take_rows
from tagloom.exceptions import DamagedStoreError, InvalidInputError, StoreError
from tagloom.learning.constants import RANKED_ROWS
from tagloom.store import ProjectStore, StoredSuggestions, as_stored

__all__ = [
    "PROBABILITY",
    "SCORE",
    "TOPICS",
    "OpenSuggestions",
    "Suggestion",
    "check_threshold",
    "open_suggestions",
    "suggest_each",
    "suggestions_kind",
    "top_suggestions",
]


def top_suggestions(
    Y: LabelMatrix, scores: NDArray[Any], n_keywords: int, least: float = -np.inf
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rank undecided tags.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        Only entries -1 are suggested.
    scores : array of shape (n, c)
        Higher is better; equal scores rank in column order.
    n_keywords : int
        How many per photo at most; 0 means all.
    least : float
        What has a smaller score is no suggestion.

    Returns
    -------
    columns : ndarray of shape (n, k)
        Tags by falling score.
    counts : ndarray of shape (n,)
        How many of them are suggestions; the rest of the row is to be ignored.
    """
    unknown = (Y == UNKNOWN) & (scores >= least)
    k = Y.shape[1] if n_keywords == 0 else min(n_keywords, Y.shape[1])
    order = np.argsort(np.where(unknown, -scores, np.inf), axis=1, kind="stable")[:, :k]
    return order, np.minimum(unknown.sum(axis=1), k)


SCORE, PROBABILITY = "score", "probability"
THRESHOLD = "threshold"
TOPICS = "topics"  # the setting of a model that holds what it knows of topics


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionInfo(Result):
    """What is noted of stored suggestions.

    Parameters
    ----------
    kind : {"probability", "score"}
        What they are.
    model : int
        Where they come from.
    method : str
        How it was trained.
    column_digests : dict of str to str
        For each tag what an update learnt it from.
    strength, n_labeled : float or None, int
        The penalty of the ridge that an update mixed in, and the labelled photos that chose it.
    """

    kind: str
    model: int
    method: str = ""
    column_digests: dict[str, str] = field(default_factory=dict)
    strength: float | None = None
    n_labeled: int = 0


def suggestion_info(stored: StoredSuggestions) -> SuggestionInfo:
    """Return what is noted of suggestions; raise DamagedStoreError where that is not what tagloom writes."""
    try:
        info: SuggestionInfo = restored(SuggestionInfo, stored.info)
        if info.kind not in (SCORE, PROBABILITY):
            raise ValueError(f"expected the kind {SCORE} or {PROBABILITY}, got {info.kind!r}")
    except ValueError as error:
        raise DamagedStoreError(f"the suggestions are damaged ({error}); make them again: tagloom train") from error
    return info


@dataclass(frozen=True, slots=True)
class Suggestion(Result):
    """One tag suggested for one photo.

    Parameters
    ----------
    photo_id : int
        The photo.
    photo : bytes
        Its path below the folder of photos.
    tag : str
        The tag's text.
    value : float
        The model's number for it.
    kind : {"score", "probability"}
        What the number is. Scores of different tags cannot be compared by their size.
    rank : int
        1 for the photo's best.
    is_above : bool
        Whether the number is above the threshold. A score that is not calibrated is above none but one that was asked
        for.
    """

    photo_id: int
    photo: bytes
    tag: str
    value: float
    kind: str
    rank: int
    is_above: bool


@dataclass(frozen=True, slots=True, eq=False)
class OpenSuggestions:
    """The model's predictions for photos and tags, and which pairs are undecided.

    Parameters
    ----------
    photo_ids, tag_ids : ndarray of int64
        Rows and columns; tags that were merged since are one.
    tags : list of str
        The columns' texts.
    values : ndarray of float, shape (n, c)
        The predictions.
    open : ndarray of bool, shape (n, c)
        Whether nobody has said anything, and nothing follows from what was said.
    thresholds : ndarray of float, shape (c,)
        A tag is suggested above its threshold; scores that are not calibrated only above a threshold that was set.
    trained_thresholds : ndarray of float, shape (c,)
        Those that training chose; for probabilities the others are the same where no threshold was set.
    kind : {"score", "probability"}
        What they are.
    model : int
        Where they come from.
    """

    photo_ids: NDArray[np.int64]
    tag_ids: NDArray[np.int64]
    tags: list[str]
    values: NDArray[Any]
    open: NDArray[np.bool_]
    thresholds: NDArray[np.float64]
    trained_thresholds: NDArray[np.float64]
    kind: str
    model: int

    @property
    def calibrated(self) -> bool:
        """Whether the predictions are probabilities."""
        return self.kind == PROBABILITY

    @property
    def above(self) -> NDArray[np.bool_]:
        """Which open entries are above the thresholds."""
        return self.open & (self.values > self.thresholds)

    def values_of(self, photo_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the numbers of some photos, each named once; NaN where there are none."""
        return take_rows(self.values, rows_of(self.photo_ids, photo_ids), np.nan)


def suggest_each(
    store: ProjectStore,
    photos: PhotoName | Sequence[PhotoName] | None = None,
    *,
    n: int = 5,
    threshold: float | None = None,
    above_only: bool = False,
    base: Any = None,
) -> Iterator[Suggestion]:
    """Return suggestions for photos one by one, best first for each; what was decided is not suggested.

    All tags of many photos are too many to hold. Errors are raised at once, not with the first suggestion.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photos : one or several of int, str, bytes or path, optional
        Default: all that are present or out of reach.
    n : int, default=5
        How many for each photo at most; 0 means all.
    threshold : float, optional
        Default: the project's, else those that training chose for each tag.
    above_only : bool, default=False
        Whether to leave out what is not above the threshold.
    base : path, optional
        A folder that relative paths may start from.

    Raises
    ------
    StoreError
        If nothing was trained yet.
    """
    if n < 0:
        raise InvalidInputError(f"n must be at least 0, got {n}")
    ids = None if photos is None else find_photo_ids(store, photos, base=base)
    found = open_suggestions(store, ids, threshold=threshold)
    if found is None:
        raise StoreError("there are no suggestions yet; train first: tagloom train")
    return _ranked(store, found, n, above_only)


def check_threshold(value: float, kind: str | None) -> float:
    """Return a threshold, and raise InvalidInputError for one that no number of a model can be compared with.

    Parameters
    ----------
    value : float
        The threshold.
    kind : {"score", "probability"} or None
        What the model predicts; None where there is no model.
    """
    number = float(value)
    if not math.isfinite(number):
        raise InvalidInputError(f"the threshold must be a finite number, got {value}")
    if kind == PROBABILITY and not 0.0 <= number <= 1.0:
        raise InvalidInputError(
            f"the threshold must lie between 0 and 1, because this model suggests with probabilities, got {value}"
        )
    return number


def suggestions_kind(store: ProjectStore) -> str | None:
    """Return whether the latest predictions are of the kind "probability" or "score"; None where there are none.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    stored = store.suggestions.load()
    return None if stored is None else suggestion_info(stored).kind


def open_suggestions(
    store: ProjectStore,
    photo_ids: ArrayLike | None = None,
    *,
    threshold: float | None = None,
    uncalibrated: bool = False,
) -> OpenSuggestions | None:
    """Return the latest predictions for photos that are present or out of reach, or None if there are none.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids : array-like of int, optional
        Only these photos.
    threshold : float, optional
        See `suggest_each`.
    uncalibrated : bool, default=False
        Whether scores that are not calibrated are suggested above the thresholds that training chose, too.

    Raises
    ------
    InvalidInputError
        If the threshold is not finite, or beyond what probabilities can be.
    """
    stored = store.suggestions.load()
    info = None if stored is None else suggestion_info(stored)
    if threshold is not None:
        check_threshold(threshold, None if info is None else info.kind)
    if stored is None or info is None:
        return None
    rows = np.flatnonzero(np.isin(stored.photo_ids, store.photos.there(photo_ids)))
    ids, values = stored.photo_ids[rows], stored.scores[rows]
    thresholds = np.full(len(stored.tag_ids), np.inf) if stored.thresholds is None else stored.thresholds
    tag_ids, values, trained = _merge_columns(store, stored.tag_ids, values, thresholds)
    chosen = store.settings.get(THRESHOLD) if threshold is None else threshold
    if chosen is not None:
        with as_stored("the threshold"):
            thresholds = np.full(len(tag_ids), float(chosen))
    else:
        thresholds = trained if uncalibrated or info.kind == PROBABILITY else np.full(len(tag_ids), np.inf)
    Y = store.decisions.labels(ids, tag_ids)[2]
    return OpenSuggestions(
        ids, tag_ids, store.tags.texts(tag_ids), values, Y == UNKNOWN, thresholds, trained, info.kind, info.model
    )


def _merge_columns(
    store: ProjectStore, tag_ids: NDArray[np.int64], values: NDArray[Any], thresholds: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float64]]:
    """Join the columns of tags that have become one since: the larger number counts, and the lower threshold."""
    live = store.tags.find(store.tags.texts(tag_ids))
    distinct, first, where = np.unique(live, return_index=True, return_inverse=True)
    if len(distinct) == len(live):
        return live, values, thresholds
    joined, lowest = values[:, first].copy(), thresholds[first].copy()
    for column, target in enumerate(where):
        np.maximum(joined[:, target], values[:, column], out=joined[:, target])
        lowest[target] = min(lowest[target], thresholds[column])
    return distinct, joined, lowest


def _ranked(store: ProjectStore, found: OpenSuggestions, n: int, above_only: bool) -> Iterator[Suggestion]:
    table = store.photos.table(found.photo_ids)
    names = dict(zip(table.ids.tolist(), table.paths, strict=True))
    k = len(found.tags) if n == 0 else min(n, len(found.tags))
    for start in range(0, len(found.photo_ids), RANKED_ROWS):
        block = slice(start, start + RANKED_ROWS)
        values, is_open = found.values[block], found.open[block]
        above = is_open & (values > found.thresholds)
        wanted = above if above_only else is_open
        order = np.argsort(np.where(wanted, -values, np.inf), axis=1, kind="stable")[:, :k]
        counts = np.minimum(wanted.sum(axis=1), k)
        for row, photo in enumerate(found.photo_ids[block].tolist()):
            for rank, column in enumerate(order[row, : counts[row]].tolist(), start=1):
                value, is_above = float(values[row, column]), bool(above[row, column])
                yield Suggestion(photo, names[photo], found.tags[column], value, found.kind, rank, is_above)
