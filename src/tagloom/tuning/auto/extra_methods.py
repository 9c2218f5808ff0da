"""Other methods that `AutoAnnotator` may take in: how each is made, and what it sees of the photos."""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.typing import Floats, Indices
from tagloom.exceptions import TagloomError
from tagloom.features.words.word_counts import word_counts
from tagloom.methods.shared.out_of_fold import stable_folds
from tagloom.metrics import average_precision
from tagloom.tuning.auto.model import StackModel
from tagloom.tuning.auto.search import GRAPH, LeaderboardRow
from tagloom.tuning.auto.stacking import gain_stands_out, rankable_tags, stack_scores
from tagloom.tuning.auto.views import PhotoViews, View, smoothed_priors

__all__ = [
    "FEW_COLUMNS",
    "GUESTS",
    "Columns",
    "Field",
    "FittedGuest",
    "Guest",
    "GuestFeatures",
    "Outcome",
    "Words",
    "race",
]


#: Leading principal components of each feature group: what most methods cost grows with the columns.
COLUMNS_PER_GROUP = 32
#: The same where methods are compared on few photos.
FEW_COLUMNS = 12
#: Photos that components are found on at most.
COMPONENT_ROWS = 2000
#: Methods end their iterations here; rankings hardly change any more.
TOLERANCE = 1e-3


class GuestFeatures(ABC):
    """What a guest sees; made from training photos, applied to any."""

    groups: FeatureGroups

    @abstractmethod
    def of(self, X: NDArray[Any], plain: NDArray[Any]) -> Any:
        """Return features of photos.

        Parameters
        ----------
        X : array of shape (n, d)
            As extracted.
        plain : array of shape (n, d')
            The same in coordinates of `PhotoViews`.
        """


class Columns(GuestFeatures):
    """Leading principal components of each group of a view, weighted as in the view.

    Parameters
    ----------
    views : PhotoViews
        Scaled groups.
    view : View
        Which groups, with what weights.
    count : int, optional
        Components of each group.
    """

    def __init__(self, views: PhotoViews, view: View, count: int = COLUMNS_PER_GROUP) -> None:
        names = [name for name in views.groups if view.weights.get(name, 0.0) > 0.0]
        step = -(-views.n_photos // COMPONENT_ROWS)
        self._parts: list[tuple[slice, Floats]] = []
        for name in names:
            columns = views.groups[name]
            basis = _components(np.asarray(views.plain[::step, columns], dtype=np.float64), count)
            self._parts.append((columns, basis * np.sqrt(view.weights[name])))
        self.groups = FeatureGroups(names, [basis.shape[1] for _, basis in self._parts])

    def of(self, X: NDArray[Any], plain: NDArray[Any]) -> Any:  # noqa: ARG002
        """Return components (n, k)."""
        # In the precision of the features: a wider basis would copy them.
        parts = [plain[:, columns] @ basis.astype(plain.dtype) for columns, basis in self._parts]
        return np.hstack(parts).astype(np.float64, copy=False)


class Words(GuestFeatures):
    """Counts of visual words.

    Parameters
    ----------
    groups : FeatureGroups
        Of the features as extracted, some of them words.
    """

    def __init__(self, groups: FeatureGroups) -> None:
        self.groups = groups

    def of(self, X: NDArray[Any], plain: NDArray[Any]) -> Any:  # noqa: ARG002
        """Return counts (n, words), sparse."""
        return word_counts(X, self.groups)


def _components(rows: Floats, count: int) -> Floats:
    """Return the leading principal directions (d, k) of centred rows."""
    count = min(count, *rows.shape)
    wide = rows.shape[1] > rows.shape[0]
    square = rows @ rows.T if wide else rows.T @ rows
    values, vectors = linalg.eigh(square, subset_by_index=[len(square) - count, len(square) - 1], check_finite=False)
    if not wide:
        return np.asarray(vectors[:, ::-1])
    lengths = np.sqrt(np.maximum(values, 0.0))
    kept = lengths > 1e-6 * max(lengths.max(initial=0.0), 1e-12)
    return np.asarray((rows.T @ (vectors[:, kept] / lengths[kept]))[:, ::-1])


@dataclass(frozen=True)
class Guest:
    """A method.

    Attributes
    ----------
    name : str
        As in ``also`` and in what is told.
    make : function
        From feature groups, neighbours of a graph and labelled photos to the annotator.
    reads_words : bool
        Whether it sees counts of visual words rather than columns.
    """

    name: str
    make: Callable[[FeatureGroups, int, int], Annotator]
    reads_words: bool = False


@dataclass(frozen=True, eq=False)
class FittedGuest:
    """A guest that takes part: its scores are brought to the centre and spread of the combination's, tag by tag.

    Attributes
    ----------
    name : str
        The method.
    annotator : Annotator
        Fitted with all labels.
    features : GuestFeatures
        What it sees.
    centres, sizes : ndarray of shape (c,)
        Deviations of a photo are ``(score - centre) * size``; 0 for tags that it has no say in.
    """

    name: str
    annotator: Annotator
    features: GuestFeatures
    centres: Floats
    sizes: Floats

    def deviations(self, X: NDArray[Any], plain: NDArray[Any]) -> Floats:
        """Return what it adds to the deviations (q, c) of new photos."""
        scores = self.annotator.decision_function(self.features.of(X, plain))
        return np.asarray((scores - self.centres) * self.sizes)


def _maker(
    name: str, *, groups: bool = False, neighbors: bool = False, **options: Any
) -> Callable[[FeatureGroups, int, int], Annotator]:
    """Return what makes an annotator of `tagloom.methods`; it is imported when it is made."""

    def make(of: FeatureGroups, n_neighbors: int, n_labelled: int) -> Annotator:
        import tagloom.methods

        settings = dict(options)
        if neighbors:
            settings["n_neighbors"] = n_neighbors
        if name == "TagProp":
            settings["n_neighbors"] = max(1, min(100, n_labelled // 2))
        found: Annotator = getattr(tagloom.methods, name)(*([of] if groups else []), **settings)
        return found

    return make


#: By name; the five methods of the papers first.
GUESTS = {
    guest.name: guest
    for guest in (
        Guest("sfss", _maker("SFSS", neighbors=True, n_folds=3, tol=TOLERANCE)),
        Guest("nova", _maker("NOVA", groups=True, standardize="groups", n_splits=3, tol=TOLERANCE)),
        Guest("lpssvm", _maker("LPSSVM", neighbors=True)),
        Guest("tkml", _maker("TKML", weighted=True, random_state=0)),
        Guest("topics", _maker("LaplacianTopicModel", neighbors=True, graph="knn", n_init=1, random_state=0), True),
        Guest("laprls", _maker("LapRLS", neighbors=True)),
        Guest("harmonic", _maker("HarmonicPropagation", neighbors=True)),
        Guest("consistency", _maker("LocalGlobalConsistency", neighbors=True)),
        Guest("tagprop", _maker("TagProp", groups=True, metric="euclidean")),
        Guest("gllr", _maker("GLLR", groups=True, tol=TOLERANCE)),
        Guest("svm", _maker("KernelSVM")),
    )
}


# The heats of the race behind `AutoAnnotator`: methods on few photos and tags, beside the combination.

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


# The race of other methods against the combination of `AutoAnnotator`: on few photos and tags first, then on all.

MOST_FINALISTS = 2
#: Of the final: how often the combination is there to begin with, and what a gain has to stand out by.
START_COUNT, RACE_CAUTION = 4.0, 3.0


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
    stack = stack_scores(parts, labels, start=[START_COUNT] + [0.0] * len(finals), caution=RACE_CAUTION)
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
