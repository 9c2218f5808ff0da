"""The heats of the race behind `AutoAnnotator`: methods on few photos and tags, beside the combination."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.typing import Floats, Indices
from tagloom.exceptions import TagloomError
from tagloom.methods.shared.out_of_fold import stable_folds
from tagloom.metrics import average_precision
from tagloom.tuning.auto._left_out_scores import smoothed_priors
from tagloom.tuning.auto.extra_methods import FEW_COLUMNS, Columns, Guest, GuestFeatures, Words
from tagloom.tuning.auto.model import StackModel
from tagloom.tuning.auto.search import GRAPH
from tagloom.tuning.auto.stacking import gain_stands_out
from tagloom.tuning.auto.views import PhotoViews, View

__all__ = [
    "HEAT_EXAMPLES",
    "LEAST_TAGS",
    "MOST_PHOTOS",
    "Field",
    "Heat",
    "attempt",
    "matched",
    "matching",
    "spaced",
]


#: Labelled and other photos, tags, and photos with each tag and without it that there have to be.
HEAT_LABELED, HEAT_OTHERS, HEAT_TAGS, HEAT_EXAMPLES = 160, 160, 8, 6
#: Tags below which nothing is compared.
LEAST_TAGS = 3
#: A method goes on if it, or its mean with the combination, is ahead by so many standard errors over tags.
HEAT_CAUTION = 2.0
#: After one of the halves a method that is behind by more than this share, alone and together, is let go.
CLEARLY_BEHIND = 0.03
#: Photos that a method learns from at most; it scores the others as new ones.
MOST_PHOTOS = 5000
#: Exponent with which time is taken to grow with photos times tags; the first fit to all photos tells better.
GROWTH = 0.75
#: What methods are known to end with on data that do not suit them.
FAILURES = (TagloomError, ValueError, FloatingPointError, np.linalg.LinAlgError)


@dataclass(frozen=True, eq=False)
class Field:
    """Where the race is held.

    Attributes
    ----------
    X : array of shape (n, d)
        Features as extracted.
    views : PhotoViews
        The same, scaled.
    model : StackModel
        The combination; fitted again to few photos in the heats.
    labels : label matrix of shape (n, c)
        All labels.
    rows : array of int
        The labelled photos that candidates were compared on.
    folds : array of shape (m,)
        A fold for each of them.
    left_out, everywhere : ndarray
        Deviations of the combination: (m, c) without each photo's own label, and (n, c) of all photos.
    """

    X: NDArray[Any]
    views: PhotoViews
    model: StackModel
    labels: LabelMatrix
    rows: Indices
    folds: Indices
    left_out: Floats
    everywhere: Floats

    @cached_property
    def order(self) -> Floats:
        """A number for each photo by which to order photos as if at random, whatever order they come in."""
        direction = np.random.default_rng(1).normal(size=(self.X.shape[1],))
        return np.asarray(self.X @ direction.astype(self.X.dtype), dtype=np.float64)

    @cached_property
    def columns(self) -> Columns:
        """What most methods see."""
        return Columns(self.views, self.leading_view)

    def features(self, guest: Guest) -> GuestFeatures:
        """Return what a method sees."""
        return Words(self.views.given_groups) if guest.reads_words else self.columns

    @property
    def leading_view(self) -> View:
        """The weighting of feature groups that has most of the combination."""
        totals = {view.name: 0.0 for view in self.model.weightings}
        for member in self.model.members:
            if member.candidate.view != GRAPH:
                totals[member.candidate.view] += float(np.mean(member.factor))
        best = max(totals, key=lambda name: totals[name])
        return next(view for view in self.model.weightings if view.name == best)


def attempt(name: str, reasons: dict[str, str], work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what work gives; None, with the reason noted, where a method cannot do it."""
    try:
        with warnings.catch_warnings():
            # A part of the labels lacks what a person would be warned of.
            warnings.simplefilter("ignore")
            return work(*arguments)
    except FAILURES as error:
        reasons[name] = f"cannot be fitted to these photos: {error}"
        return None


class Heat:
    """Few photos and tags, and what the combination does on them."""

    def __init__(self, on: Field, photos: Indices, tags: Indices, labeled: Indices) -> None:
        self._on, self._photos = on, photos
        self._labels = np.full((len(photos), len(tags)), UNKNOWN, dtype=np.int8)
        places = np.searchsorted(photos, labeled)
        self._labels[places] = on.labels[np.ix_(labeled, tags)]
        views = on.views
        given = views.given_groups
        self._X = on.X[photos]
        self._views = PhotoViews(
            self._X, given, n_neighbors=views.n_neighbors, smoothing=views.smoothing, n_threads=views.n_threads
        )
        self._columns = Columns(self._views, on.leading_view, FEW_COLUMNS)
        self._halves = list(stable_folds(self._X, self._labels, n_splits=2, random_state=0))
        model = StackModel(self._views, on.model.weightings, on.model.members)
        self._reference = [self._fit_combination(model, held_out, tags) for held_out in self._halves]

    @classmethod
    def of(cls, on: Field) -> "Heat | None":
        """Return the heat; None where there are too few labels for one."""
        order = on.order
        labeled = spaced(on.rows[np.argsort(order[on.rows], kind="stable")], HEAT_LABELED)
        known = on.labels[labeled]
        counts = np.minimum((known == 1).sum(axis=0), (known == 0).sum(axis=0))
        tags = np.flatnonzero(counts >= HEAT_EXAMPLES)
        if len(tags) < LEAST_TAGS:
            return None
        tags = np.sort(spaced(tags[np.argsort(counts[tags], kind="stable")], HEAT_TAGS))
        labeled = np.sort(labeled[labeled_rows(on.labels[np.ix_(labeled, tags)])])
        others = np.flatnonzero(~labeled_rows(on.labels))
        others = spaced(others[np.argsort(order[others], kind="stable")], HEAT_OTHERS)
        return cls(on, np.union1d(labeled, others), tags, labeled)

    def run(self, guest: Guest) -> tuple[float | None, str, float]:
        """Return the gain over the combination (None where it does not go on), a sentence, and the seconds to expect.

        The seconds are those of a fit to all photos and tags.
        """
        features: GuestFeatures = Words(self._views.given_groups) if guest.reads_words else self._columns
        seen = features.of(self._X, self._views.plain)
        if seen is None:
            return None, "no feature group is made of visual words", 0.0
        began = time.perf_counter()
        found: list[Floats] = []
        for held_out in self._halves:
            hidden = self._hidden(held_out)
            n_labelled = int(labeled_rows(hidden).sum())
            annotator = guest.make(features.groups, self._on.views.n_neighbors, n_labelled).fit(seen, hidden)
            found.append(np.asarray(annotator.transduction_, dtype=np.float64))
            own = self._figures(self._reference[: len(found)])
            alone = self._figures(found)
            mixed = self._figures(
                [one + matched(other, one) for one, other in zip(self._reference, found, strict=False)]
            )
            if max(alone.mean(), mixed.mean()) < (1.0 - CLEARLY_BEHIND) * own.mean():
                break
        seconds = (time.perf_counter() - began) / len(found)
        size = min(len(self._on.X), MOST_PHOTOS) * self._on.labels.shape[1] / self._labels.size
        gains = max((alone, mixed), key=lambda one: float(one.mean())) - own
        gain = float(gains.mean()) if gain_stands_out(gains, HEAT_CAUTION) else None
        told = f"{alone.mean():.3f} on few photos, {mixed.mean():.3f} together with the combination's {own.mean():.3f}"
        return gain, told, seconds * max(size, 1.0) ** GROWTH

    def _fit_combination(self, model: StackModel, held_out: Indices, tags: Indices) -> Floats:
        hidden = self._hidden(held_out)
        return model.fit(hidden, np.flatnonzero(labeled_rows(hidden)), smoothed_priors(hidden), tags)

    def _hidden(self, held_out: Indices) -> LabelMatrix:
        hidden = self._labels.copy()
        hidden[held_out] = UNKNOWN
        return hidden

    def _figures(self, scores: Sequence[Floats]) -> Floats:
        """Return the average precision of each tag, the mean over halves in which it can be ranked."""
        found = np.full((len(scores), self._labels.shape[1]), np.nan)
        for place, (held_out, of_half) in enumerate(zip(self._halves, scores, strict=False)):
            truth = self._labels[held_out]
            tags = (truth == 1).any(axis=0) & (truth == 0).any(axis=0)
            found[place, tags] = average_precision(truth[:, tags], of_half[np.ix_(held_out, np.flatnonzero(tags))])
        return np.asarray(np.nanmean(found, axis=0))


def matching(scores: Floats, to: Floats) -> tuple[Floats, Floats]:
    """Return centres and factors that bring each tag's scores to the spread that others have; 0 where they are flat."""
    centres, spreads = scores.mean(axis=0), scores.std(axis=0)
    flat = spreads <= 1e-9 * (1.0 + np.abs(centres))
    return centres, np.where(flat, 0.0, to.std(axis=0) / np.where(flat, 1.0, spreads))


def matched(scores: Floats, to: Floats) -> Floats:
    """Return scores of the spread that others have, around 0, tag by tag."""
    centres, sizes = matching(scores, to)
    return np.asarray((scores - centres) * sizes)


def spaced(rows: Indices, count: int) -> Indices:
    """Return so many of the rows at most, evenly spaced."""
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.intp)] if count else rows[:0]
