"""What was said and what the model thinks of every photo and tag, as arrays that follow the store.

Rows are tags and columns photos, so that all that is asked about one tag lies side by side and a new tag is a new row.
One byte for what was said and four for the model's number of each pair: 100,000 photos and 200 tags need 120 MB.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import DecisionChanges, PhotoIndex
from tagloom.core import Bools, Ids, Singles, scratch
from tagloom.exceptions import InvalidInputError
from tagloom.tuning.wrong_labels import find_wrong_labels

__all__ = ["ReviewState", "UnknownTagError"]

HALF = 0.5


class UnknownTagError(InvalidInputError):
    """No tag of the project has this id."""


class ReviewState:
    """Labels and numbers of photos and tags.

    Parameters
    ----------
    photos : PhotoIndex
        The photos.

    Attributes
    ----------
    version : int
        How many decisions of the log are taken in.
    batch : int
        The latest batch that is taken in.
    kind : {"probability", "score"}
        What the numbers are.
    threshold : float or None
        The limit of all tags that a person has set; None: those of the model.
    lock : RLock
        Held by whoever reads or changes the arrays.
    """

    def __init__(self, photos: PhotoIndex) -> None:
        self.photos = photos
        self.version = 0
        self.batch = 0
        self.kind = "score"
        self.threshold: float | None = None
        self.lock = threading.RLock()
        self.tag_ids: list[int] = []
        self._place: dict[int, int] = {}
        self._said = np.empty((0, len(photos)), dtype=np.int8)
        self._values: Singles = np.empty((0, len(photos)), dtype=np.float32)
        self._limits = np.empty(0, dtype=np.float64)
        self._live = np.empty(0, dtype=bool)
        self._closure: Ids = np.empty((0, 2), dtype=np.int64)
        self._proposed: list[tuple[int, int]] = []
        self._derived: dict[Any, Any] = {}

    def set_tags(self, tag_ids: Sequence[int], closure: Ids) -> None:
        """Say which tags there are and which imply which; one that has become another is only set aside."""
        with self.lock:
            new = [tag for tag in tag_ids if tag not in self._place]
            for tag in new:
                self._place[tag] = len(self.tag_ids)
                self.tag_ids.append(tag)
            if new:
                self._said = _longer(self._said, len(new), -1)
                self._values = _longer(self._values, len(new), np.nan)
                self._limits = np.concatenate([self._limits, np.full(len(new), np.inf)])
            self._live = np.isin(self.tag_ids, np.asarray(tag_ids, dtype=np.int64))
            self._closure = closure[[int(child) in self._place and int(top) in self._place for child, top in closure]]
            self._derived.clear()

    def take_in(self, changes: DecisionChanges) -> None:
        """Enter decisions; those about photos that are gone, or about tags not yet told of, are left out."""
        with self.lock:
            found, columns = self.photos.known(changes.photo_ids)
            rows = self._rows_of(changes.tag_ids[found])
            known = rows >= 0
            self._said[rows[known], columns[known]] = changes.states[found][known]
            self.version, self.batch = changes.version, changes.batch
            self._derived.clear()

    def set_values(
        self, photo_ids: Ids, tag_ids: Ids, values: NDArray[Any], limits: NDArray[Any], *, kind: str
    ) -> None:
        """Enter a model's numbers and limits; ``values`` has a row for each photo and a column for each tag."""
        with self.lock:
            found, columns = self.photos.known(photo_ids)
            rows = self._rows_of(tag_ids)
            for column, row in enumerate(rows.tolist()):
                if row >= 0:
                    self._values[row, columns] = values[found, column]
                    self._limits[row] = limits[column]
            self.kind = kind
            self._derived.clear()

    def set_threshold(self, threshold: float | None) -> None:
        """Set the limit of all tags, None: those of the model."""
        with self.lock:
            self.threshold = threshold
            self._derived.clear()

    def set_proposals(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Say which pairs of photo and tag are proposed by programs; they are suggested whatever the model says."""
        with self.lock:
            self._proposed = list(pairs)
            self._derived.clear()

    def clear_values(self, tags: Iterable[int] | None = None) -> None:
        """Forget the numbers of some tags, by default of all."""
        with self.lock:
            self._values[slice(None) if tags is None else self.places(list(tags))] = np.nan
            self._derived.clear()

    def place(self, tag: int) -> int:
        """Return the row of a tag."""
        row = self._place.get(tag)
        if row is None:
            raise UnknownTagError(f"no tag has the id {tag}; load the page again")
        return row

    def knows(self, tag_ids: Ids) -> bool:
        """Tell whether all of these tags are known."""
        return all(tag in self._place for tag in np.unique(tag_ids).tolist())

    def places(self, tags: Sequence[int]) -> list[int]:
        """Return the rows of those of these tags that are known."""
        return [self._place[tag] for tag in tags if tag in self._place]

    @property
    def said(self) -> NDArray[np.int8]:
        """What was said: 1 yes, 0 no, -1 nothing; read it under the lock."""
        return self._said

    @property
    def labels(self) -> NDArray[np.int8]:
        """What was said and what follows from it."""
        return self._once("labels", self._implied)

    @property
    def values(self) -> Singles:
        """The model's numbers, NaN where there is none."""
        return self._values

    @property
    def live(self) -> Bools:
        """Which tags are in use; one that has become another is not."""
        return self._live

    @property
    def limits(self) -> NDArray[np.float64]:
        """A tag is suggested above its limit."""
        return self._limits if self.threshold is None else np.full_like(self._limits, self.threshold)

    def suggested(self, rows: Any = slice(None), columns: Any = slice(None)) -> Bools:
        """Return which pairs are suggested: undecided, and above the threshold or proposed by a program."""
        found = self._above(rows, columns)
        proposed = self.proposed
        if proposed is None:
            return found
        is_open = self.labels[rows][..., columns] == -1
        live = self._live[rows]
        return found | (proposed[rows][..., columns] & is_open & (live[:, None] if np.ndim(live) else live))

    @property
    def proposals(self) -> list[tuple[int, int]]:
        """Pairs of photo and tag that programs propose."""
        return self._proposed

    @property
    def proposed(self) -> Bools | None:
        """Which pairs programs propose; None where there are none."""
        return self._once("proposed", self._proposals) if self._proposed else None

    def _proposals(self) -> Bools:
        found = np.zeros(self._said.shape, dtype=bool)
        photos, tags = np.asarray(self._proposed, dtype=np.int64).T
        known, columns = self.photos.known(photos)
        rows = self._rows_of(tags[known])
        found[rows[rows >= 0], columns[rows >= 0]] = True
        return found

    def _above(self, rows: Any, columns: Any = slice(None)) -> Bools:
        """Return which pairs the model suggests: they are undecided, and their number is above the limit."""
        values = self._values[rows][..., columns]
        limits = self.limits[rows]
        with np.errstate(invalid="ignore"):
            above = values > (limits[:, None] if np.ndim(limits) else limits)
        live = self._live[rows]
        found: Bools = above & (self.labels[rows][..., columns] == -1) & (live[:, None] if np.ndim(live) else live)
        return found

    def label_doubt(self, row: int | None = None) -> Singles:
        """Return of each photo how clearly the model disagrees with a label, of one tag or of any; 0: with none.

        It is 1 / (1 + the number of labels as surprising that the model expects); see `tagloom.tuning.wrong_labels`.
        Scores say nothing of that.
        """
        found = np.zeros(len(self.photos), dtype=np.float32)
        if self.kind == "probability":
            wrong = self._once("wrong", lambda: find_wrong_labels(self._values.T, self.labels.T))
            chosen = self._live[wrong.columns] if row is None else (wrong.columns == row) & self._live[row]
            np.maximum.at(found, wrong.rows[chosen], (1 / (1 + wrong.chances[chosen])).astype(np.float32))
        return found

    @property
    def reviewed(self) -> Bools:
        """Return the photos of which something was said."""
        return self._once("reviewed", lambda: (self._said != -1).any(axis=0))

    @property
    def n_yes(self) -> Ids:
        """Return for each tag how many photos have it, by implications too."""
        return self._once("n_yes", lambda: np.count_nonzero(self.labels == 1, axis=1))

    @property
    def n_no(self) -> Ids:
        """Return for each tag how many photos have it not, by implications too."""
        return self._once("n_no", lambda: np.count_nonzero(self.labels == 0, axis=1))

    @property
    def n_suggested(self) -> Ids:
        """Return for each tag how many photos it is suggested for."""
        return self._once("n_suggested", lambda: np.count_nonzero(self.suggested(), axis=1))

    def expected(self, n_steps: int) -> tuple[Ids, NDArray[np.float64]]:
        """Return how many undecided pairs lie above each of so many even steps between 0 and 1, and their sums.

        The lock is held for one tag at a time: nobody who decides waits for the counting.
        """
        counts, sums = np.zeros(n_steps + 1, dtype=np.int64), np.zeros(n_steps + 1)
        for row in np.flatnonzero(self._live):
            with self.lock:
                values = self._values[row][self.labels[row] == -1]
            values = values[~np.isnan(values)]
            bins = np.clip(np.ceil(values * np.float32(n_steps + 1)) - 1, 0, n_steps).astype(np.int64)
            counts += np.bincount(bins, minlength=n_steps + 1)
            sums += np.bincount(bins, weights=values, minlength=n_steps + 1)
        return np.cumsum(counts[::-1])[::-1][1:], np.cumsum(sums[::-1])[::-1][1:]

    def expected_now(self) -> tuple[int, float]:
        """Return how many pairs are suggested, and the sum of their numbers."""
        n, total = 0, 0.0
        for row in np.flatnonzero(self._live):
            with self.lock:
                found = self._values[row][self._above(row)]
            n, total = n + len(found), total + float(found.sum(dtype=np.float64))
        return n, total

    @property
    def best(self) -> Singles:
        """Return of each photo the largest number among tags of which nothing is said; NaN where there is none."""
        return self._once("best", self._best)

    @property
    def doubt(self) -> Singles:
        """Return how unsure the model is of each photo, summed over the tags of which nothing is said."""
        return self._once("doubt", self._doubt)

    @property
    def expected_missing(self) -> float | None:
        """Return how many keywords photos still lack, by probabilities; None without them."""
        return self._once("missing", self._missing)

    def tag_doubt(self, row: int) -> Singles:
        """Return how unsure the model is of one tag on each photo; NaN where there is no number."""
        values, limit = self._values[row], self.limits[row]
        middle = HALF if self.kind == "probability" or not np.isfinite(limit) else limit
        found: Singles = -np.abs(values - np.float32(middle))
        return found

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        with self.lock:
            if name not in self._derived:
                self._derived[name] = make()
            return self._derived[name]

    def _rows_of(self, tag_ids: Ids) -> Ids:
        distinct, inverse = np.unique(tag_ids, return_inverse=True)
        rows = np.asarray([self._place.get(int(tag), -1) for tag in distinct], dtype=np.int64)
        return rows[inverse] if len(distinct) else np.empty(0, dtype=np.int64)

    def _implied(self) -> NDArray[np.int8]:
        """Return the labels by the rule of the store: yes upwards first, then no downwards."""
        if not len(self._closure):
            return self._said
        labels = self._said.copy()
        pairs = [(self._place[int(child)], self._place[int(top)]) for child, top in self._closure]
        for child, top in pairs:
            labels[top][(self._said[child] == 1) & (self._said[top] == -1)] = 1
        for child, top in pairs:
            labels[child][(self._said[top] == 0) & (labels[child] == -1)] = 0
        return labels

    def _best(self) -> Singles:
        best = np.full(len(self.photos), np.nan, dtype=np.float32)
        for row in np.flatnonzero(self._live):  # a row at a time: no second array of all pairs
            np.fmax(best, np.where(self.labels[row] == -1, self._values[row], np.nan), out=best)
        return best

    def _doubt(self) -> Singles:
        total = np.zeros(len(self.photos), dtype=np.float32)
        for row in np.flatnonzero(self._live).tolist():
            values = self._values[row]
            figure = values * (1 - values) if self.kind == "probability" else np.exp(-np.abs(self.tag_doubt(row)))
            total += np.where((self.labels[row] == -1) & ~np.isnan(values), figure, 0)
        return total

    def _missing(self) -> float | None:
        if self.kind != "probability":
            return None
        total = 0.0
        for row in np.flatnonzero(self._live):
            total += float(np.nansum(self._values[row], where=self.labels[row] == -1, dtype=np.float64))
        return total


def _longer(array: NDArray[Any], n_rows: int, value: float) -> NDArray[Any]:
    """Return an array with further rows; a large one is a memory map."""
    found = scratch((len(array) + n_rows, array.shape[1]), array.dtype)
    found[: len(array)], found[len(array) :] = array, value
    return found
