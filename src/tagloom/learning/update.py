"""Learning from a few more decisions at once: features, graph and model stay, only changed tags are solved again."""

import logging
import threading
import time
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.extraction import FeatureRows, load_rows
from tagloom.catalog.results import Result
from tagloom.core.annotator import fit_thresholds
from tagloom.core.labels import UNKNOWN, known_patterns, labeled_rows
from tagloom.core.threads import limit_libraries
from tagloom.exceptions import StoreBusyError, StoreError
from tagloom.features.scaling import GroupScaler
from tagloom.graph import NeighborGraph
from tagloom.learning.judgements import Solver, calibrate_new, use_looks
from tagloom.learning.kept_graph import KeptGraph
from tagloom.learning.labels import Looks, TrainingLabels, read_labels
from tagloom.learning.methods import SMOOTHED_RIDGE, SMOOTHING
from tagloom.learning.probabilities import (
    Calibration,
    calibration_method,
    correct_named,
    probability_threshold,
    representative,
    too_few,
)
from tagloom.learning.probability_map import OwnNumbers, ScoreScale, UpdatedNumbers, log_odds, refresh_scale
from tagloom.learning.ridge import RidgeLearner, choose_strength, learn_ridge
from tagloom.learning.stored_model import (
    OWN_PHOTOS,
    OWN_VALUES,
    FeaturesUsed,
    NewModel,
    restore,
    save_model,
    scaler_parts,
    whole_parts,
)
from tagloom.learning.suggest import PROBABILITY, SCORE
from tagloom.settings import Settings
from tagloom.store.models import Model, StoredSuggestions
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator

__all__ = ["UPDATE", "Start", "UpdateResult", "Updater", "start_from", "update"]


# What an update starts from: the active model and its numbers, or nothing.

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Start:
    """A model as far as updates need it.

    Parameters
    ----------
    numbers : UpdatedNumbers
        What it says of all photos.
    model : int or None
        Its id.
    method : str
        The learner's name.
    is_blended : bool
        Whether changed tags are a mean of its numbers and those of a ridge: it cannot be solved tag by tag.
    strength : float or None
        The penalty of a ridge, be it the model or what stands in for it; None: yet to be chosen.
    smoothing : float
        How much a ridge's scores are smoothed.
    n_labeled : int
        Labelled photos that penalty and probabilities were chosen on.
    calibration : Calibration or None
        How its scores become probabilities.
    columns : UpdatedNumbers
        Whose tags the calibration's columns are.
    own : OwnNumbers or None
        What a blended model said when it was trained.
    digests : dict of int to str
        For each tag what it was learnt from.
    coef : dict of int to tuple
        For each tag the coefficients of a ridge.
    scales : dict of int to tuple
        For each tag solved since, the scale of its scores.
    """

    numbers: UpdatedNumbers
    model: int | None = None
    method: str = SMOOTHED_RIDGE
    is_blended: bool = False
    strength: float | None = None
    smoothing: float = SMOOTHING
    n_labeled: int = 0
    calibration: Calibration | None = None
    columns: UpdatedNumbers
    own: OwnNumbers | None = None
    digests: dict[int, str] = field(default_factory=dict)
    coef: dict[int, tuple[NDArray[np.float64], float]] = field(default_factory=dict)
    scales: dict[int, tuple[float, ...]] = field(default_factory=dict)

    @property
    def whole_model(self) -> int | None:
        """Its id if it has numbers of all photos and is no ridge: it may be one that learns by itself."""
        return self.model if self.is_blended and self.own is not None and self.own.has.all() else None

    def refitted(self, strength: float, calibration: Calibration | None, labels: TrainingLabels) -> "Start":
        """Return the start of further updates after a fit of everything."""
        columns = replace(self.columns, tag_ids=labels.tag_ids)
        method = SMOOTHED_RIDGE if self.is_blended else self.method
        return replace(
            self,
            method=method,
            is_blended=False,
            strength=strength,
            calibration=calibration,
            columns=columns,
            scales={},
        )

    def described(self, n_labeled: int) -> dict[str, Any]:
        """Return what a model's description holds of it."""
        return {"strength": self.strength, "smoothing": self.smoothing, "n_labeled_at_fit": n_labeled}

    def numbers_of(
        self, scores: NDArray[np.float32], labels: TrainingLabels, changed: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """Return numbers of changed tags, given a ridge's scores.

        Parameters
        ----------
        scores : ndarray of float32, shape (n, k)
            Of the changed tags.
        labels : TrainingLabels
            What they were learnt from.
        changed : ndarray of int, shape (k,)
            Their columns in the labels.
        """
        if self.own is not None and self.is_blended:
            return self.own.blended(scores, labels, changed)
        if self.calibration is not None:
            return self._probabilities(scores, labels, changed, self.calibration)
        return scores

    def calibration_of(self, labels: TrainingLabels) -> Calibration | None:
        """Return the calibration with its columns in the order of the labels' tags, as it is now."""
        if self.calibration is None:
            return None
        at = self.columns.columns_of(labels.tag_ids)
        before, found = self.calibration.scale, self.calibration
        stored = np.stack([before.centre, before.spread, before.prior, before.evidence, before.n_reference])
        own = np.concatenate([stored, [[0.0], [1.0], [0.0], [0.0], [0.0]]], axis=1)[:, at]
        for column, tag in enumerate(labels.tag_ids.tolist()):
            if tag in self.scales:
                own[:, column] = self.scales[tag]
        centre, spread, prior, evidence, n_reference = own
        scale = ScoreScale(centre, spread, prior, evidence, n_reference.astype(np.int64))
        return Calibration(found.trained.take(at), found.new.take(at), scale, found.completeness)

    def _probabilities(
        self,
        scores: NDArray[np.float32],
        labels: TrainingLabels,
        changed: NDArray[np.intp],
        calibration: Calibration,
    ) -> NDArray[np.float32]:
        at = self.columns.columns_of(labels.tag_ids[changed])
        Y = labels.Y[:, changed]
        sample = np.where(labels.listed[:, None] | ~labels.reviewed[changed], Y, UNKNOWN)
        scale = refresh_scale(scores, Y, calibration.scale, at, labels.n_labeled, sample)
        parts = (scale.centre, scale.spread, scale.prior, scale.evidence, scale.n_reference)
        columns = np.stack(parts).T.tolist()
        self.scales.update(zip(labels.tag_ids[changed].tolist(), map(tuple, columns), strict=True))
        values = calibration.trained.take(at).probabilities(scores, scale)
        forgettable = labels.forgettable[changed]
        correct_named(values, labels.said[:, changed], forgettable, labels.listed, calibration.completeness)
        return values


def start_from(store: ProjectStore, features: FeaturesUsed) -> Start:
    """Return what there is to start from.

    Parameters
    ----------
    store : ProjectStore
        The project.
    features : FeaturesUsed
        Photos and features. A model that takes others is no start.
    """
    nothing = UpdatedNumbers(
        features.photo_ids,
        np.empty(0, dtype=np.int64),
        np.empty((len(features.photo_ids), 0), dtype=np.float32),
        np.empty(0),
        SCORE,
    )
    model = store.models.active()
    new = Start(numbers=nothing, columns=nothing, model=None if model is None else model.id)
    if model is None or not features.fits(model):
        return new
    try:
        arrays, info = store.models.load(model.id)
        stored = store.suggestions.load()
    except StoreError as error:  # both can be made again
        logger.warning("model %d cannot be read, starting anew: %s", model.id, error)
        return new
    if stored is None or stored.info.get("model") != model.id or "column_digests" not in info:
        return new
    return _of_model(model, arrays, info, stored, features.photo_ids)


def _of_model(
    model: Model,
    arrays: dict[str, NDArray[Any]],
    info: dict[str, Any],
    stored: StoredSuggestions,
    photo_ids: NDArray[np.int64],
) -> Start:
    numbers, has = _aligned(stored, photo_ids)
    is_ridge = info.get("strength") is not None
    completeness = info.get("completeness")
    tag_ids = info["tag_ids"]
    digests = dict(zip(tag_ids, info["column_digests"], strict=True)) | {
        int(tag): digest for tag, digest in stored.info.get("column_digests", {}).items()
    }
    coef = (
        {tag: (arrays["coef"][:, at], float(arrays["intercept"][at])) for at, tag in enumerate(tag_ids)}
        if is_ridge
        else {}
    )
    return Start(
        numbers=numbers,
        model=model.id,
        method=str(model.settings.get("method", SMOOTHED_RIDGE)),
        is_blended=not is_ridge,
        strength=(info if is_ridge else stored.info).get("strength"),
        smoothing=float(info.get("smoothing", SMOOTHING)),
        n_labeled=int((info if is_ridge else stored.info).get("n_labeled_at_fit", 0)),
        calibration=Calibration.load(arrays, completeness) if is_ridge and completeness is not None else None,
        columns=replace(numbers, tag_ids=np.asarray(tag_ids, dtype=np.int64)),
        own=None if is_ridge else _own_numbers(arrays, info, stored, photo_ids),
        # Photos that have come since have no numbers yet: every tag is solved.
        digests=digests if has.all() else {},
        coef=coef,
    )


def _own_numbers(
    arrays: dict[str, NDArray[Any]], info: dict[str, Any], stored: StoredSuggestions, photo_ids: NDArray[np.int64]
) -> OwnNumbers:
    """Return what a model said when it was trained; files of old models have what is suggested now."""
    tag_ids = np.asarray(info["tag_ids"], dtype=np.int64)
    if OWN_VALUES in arrays:
        stored = replace(
            stored, photo_ids=arrays[OWN_PHOTOS], tag_ids=tag_ids, scores=arrays[OWN_VALUES], thresholds=None
        )
    numbers, has = _aligned(stored, photo_ids)
    return OwnNumbers(numbers, has, dict(zip(tag_ids.tolist(), info.get("n_yes", []), strict=False)))


def _aligned(stored: StoredSuggestions, photo_ids: NDArray[np.int64]) -> tuple[UpdatedNumbers, NDArray[np.bool_]]:
    """Return stored numbers for these photos, and which have some; one that has none gets the smallest of each tag."""
    order = np.argsort(stored.photo_ids)
    at = np.minimum(np.searchsorted(stored.photo_ids, photo_ids, sorter=order), max(len(order) - 1, 0))
    has = stored.photo_ids[order[at]] == photo_ids if len(order) else np.zeros(len(photo_ids), dtype=bool)
    values = np.empty((len(photo_ids), len(stored.tag_ids)), dtype=np.float32)
    values[has] = stored.scores[order[at[has]]]
    values[~has] = stored.scores.min(axis=0) if len(stored.scores) else 0.0
    limits = np.full(len(stored.tag_ids), np.inf) if stored.thresholds is None else stored.thresholds
    return UpdatedNumbers(photo_ids, stored.tag_ids, values, limits, str(stored.info["kind"])), has


# Updates of the default method by the method itself: its stored model is taken up and learns from what was decided.

#: Names of arrays in a model's file.
GRAPH_ARRAYS, COEFFICIENTS, LABELED = "graph/", "auto/model/coefficients/", "auto/labels/rows"
#: Of what is registered with a model, what is said anew when it is stored.
REGISTERED_ANEW = ("method", "tagloom", "n_decisions", "n_photos")
#: Memory that kernels may take, and multiplications of an update, above which a ridge stands in: a person waits.
MOST_BYTES, MOST_WORK = 800_000_000, 4e10


class AutoUpdates:
    """An annotator that follows the decisions.

    Parameters
    ----------
    annotator : AutoAnnotator
        As it was trained; it is changed.
    tag_ids : ndarray of int64
        Its columns.
    arrays, info, settings : dict
        What is stored of it besides.
    """

    def __init__(
        self,
        annotator: AutoAnnotator,
        tag_ids: NDArray[np.int64],
        arrays: dict[str, NDArray[Any]],
        info: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        self._annotator = annotator
        self._tag_ids = tag_ids
        self._completeness = float(info.get("completeness") or 1.0)
        self._arrays, self._info, self._settings = arrays, info, settings
        annotator.model_.keep_kernels()

    def is_quick(self, labels: TrainingLabels) -> bool:
        """Tell whether an update with these labels takes about a second, and memory that is to spare.

        Parameters
        ----------
        labels : TrainingLabels
            What would be learnt from.
        """
        rows = labeled_rows(labels.Y)
        patterns, _ = known_patterns(labels.Y[rows])
        return is_quick(labels.Y.shape, patterns.sum(axis=0), int(rows.sum()), len(self._annotator.model_.members))

    def learn(self, labels: TrainingLabels, wanted: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Learn from all labels.

        Parameters
        ----------
        labels : TrainingLabels
            Of the photos that the annotator was trained on.
        wanted : ndarray of int
            Columns that are asked for in any case.

        Returns
        -------
        changed : ndarray of int
            Those, and all others whose probabilities are no longer those of before.
        values : ndarray of float32, shape (n, k)
            Their probabilities.
        """
        annotator = self._annotator
        places = {tag: column for column, tag in enumerate(self._tag_ids.tolist())}
        at = np.asarray([places.get(tag, -1) for tag in labels.tag_ids.tolist()], dtype=np.intp)
        before = annotator.probabilities_
        annotator.set_tags(at)
        self._tag_ids = labels.tag_ids
        annotator.set_params(calibration=calibration_method(labels))
        annotator.update(labels.Y, representative(labels))
        old = np.flatnonzero(at >= 0)
        differs = (annotator.probabilities_[:, old] != before[:, at[old]]).any(axis=0)
        changed = np.union1d(wanted, old[differs])
        return changed, self._numbers(labels, changed)

    def _numbers(self, labels: TrainingLabels, columns: NDArray[np.intp]) -> NDArray[np.float32]:
        annotator = self._annotator
        values = annotator.probabilities_[:, columns].astype(np.float32)
        forgettable = labels.forgettable[columns]
        correct_named(values, labels.said[:, columns], forgettable, labels.listed, self._completeness)
        # Log-odds of decided photos are what is said without their labels: nothing is to be fitted again for that.
        scores = annotator.transduction_.astype(np.float32)
        use_looks(
            values,
            scores[:, columns],
            labels,
            columns,
            lambda tags, _: scores[:, tags],
            is_held_out=True,
            trusted=~annotator.seen_,
        )
        return values

    def parts(self) -> dict[str, Any]:
        """Return arrays, info and settings of a model that has learnt since; see `NewModel`."""
        state, described = whole_parts(self._annotator)
        return {"arrays": self._arrays | state, "info": self._info | described, "settings": self._settings}


def is_quick(shape: tuple[int, ...], known: NDArray[Any], n_labeled: int, n_members: int) -> bool:
    """Tell whether an update takes about a second, and memory that is to spare.

    Parameters
    ----------
    shape : tuple of int
        Photos and tags.
    known : array of int
        Photos that tags are known on, once for all tags that are known on the same ones.
    n_labeled : int
        Labelled photos.
    n_members : int
        Members of the combination.
    """
    n, c = shape
    entries = float(n) * n_labeled
    solved = float((np.asarray(known, dtype=np.float64) ** 3).sum())
    # Scores of all tags, and at times left-out scores of all labelled photos.
    work = n_members * (entries * (c + n_labeled) + solved)
    return 4.0 * entries * n_members <= MOST_BYTES and work <= MOST_WORK


def take_up(store: ProjectStore, rows: FeatureRows, *, model: int | None, n_threads: int | None) -> AutoUpdates | None:
    """Return what updates a stored model of the default method.

    Parameters
    ----------
    store : ProjectStore
        Where it is.
    rows : FeatureRows
        The features of now.
    model : int or None
        The model that updates start from.
    n_threads : int or None
        Threads.

    Returns
    -------
    AutoUpdates or None
        None where the model is another one, is not stored whole, tells no probabilities, or knows other photos; and
        where there is too much of it for quick updates.
    """
    active = store.models.active()
    if active is None or active.id != model:
        return None
    arrays, info = store.models.load(active.id)
    if info.get("kind") != PROBABILITY or not np.array_equal(arrays.get(OWN_PHOTOS, np.empty(0)), rows.ids):
        return None
    n_members = sum(name.startswith(COEFFICIENTS) for name in arrays)
    n_labeled = len(arrays.get(LABELED, ()))
    if not is_quick((len(rows.ids), len(info["tag_ids"])), np.array([n_labeled]), n_labeled, n_members):
        return None
    annotator = restore(arrays, info, rows, n_threads=n_threads)
    if annotator is None:
        return None
    # The graph, what was chosen: all that does not follow from the labels.
    carried = {name: value for name, value in arrays.items() if name.startswith(GRAPH_ARRAYS)}
    described = {name: info[name] for name in ("class", "is_linear", "choice", "left_out", "completeness")}
    settings = {name: value for name, value in active.settings.items() if name not in REGISTERED_ANEW}
    return AutoUpdates(annotator, np.asarray(info["tag_ids"], dtype=np.int64), carried, described, settings)


UPDATE = "update"
#: Up to this many labelled photos the penalty and the probabilities are chosen anew whenever there are twice as many.
SETTLED_PHOTOS = 500
#: Share of the known entries that chooses the penalty of a ridge.
ENOUGH_ENTRIES = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateResult(Result):
    """What an update did.

    Parameters
    ----------
    tag_ids : tuple of int
        Tags whose numbers are others now. Those that no decision is left of have none.
    seconds : float
        Wall time.
    kind : {"probability", "score"}
        What the numbers are.
    model : int or None
        The model that the suggestions were stored with; None before they are.
    """

    tag_ids: tuple[int, ...]
    seconds: float
    kind: str
    model: int | None = None


class Updater:
    """The numbers of all photos and tags, kept up with what a person decides.

    Features are read once, and the graph is that of the model, or built. `update` looks which tags are learnt from
    other labels than before, and solves those. If there is no model yet, the first `update` makes one.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken while features are read. No photo is.
    settings : Settings
        Features, neighbours, threads, ``precision``.
    graph : NeighborGraph, optional
        Neighbours of the photos in the order of their ids, where the caller has them. Default: the graph of a stored
        model if photos and features are the same, or a new one.

    Attributes
    ----------
    photo_ids, tag_ids : ndarray of int64
        Rows and columns.
    values : ndarray of float32, shape (n, c)
        The numbers.
    thresholds : ndarray of float64, shape (c,)
        A tag is suggested above its threshold.
    kind : {"probability", "score"}
        What the numbers are.
    numbers : UpdatedNumbers
        All of these, of one moment. Any thread may read it while another one updates.

    Notes
    -----
    A model of ridge or smoothed ridge keeps its penalty and its map to probabilities; what `update` gives is what a
    fit from scratch with that penalty gives. Numbers of decided pairs are then the fit's own; those that training
    stored are held out.

    A model of the default method, stored whole and trained on the same photos, learns by itself, up to a size from
    which on that would take longer than a person waits; see `tagloom.learning.update`.

    Other models cannot be updated tag by tag: for their changed tags a smoothed ridge on the same features is solved,
    brought to the mean and spread of the model's numbers (log-odds of probabilities), and the two are mixed: see
    `tagloom.learning.probability_map`. A model of scores gives way to a smoothed ridge once probabilities can be told.

    Probabilities of tags whose suggestions a person has judged follow what was said one by one: see
    `tagloom.learning.judgements`.
    """

    def __init__(self, store: ProjectStore, settings: Settings, *, graph: NeighborGraph | None = None) -> None:
        self._store = store
        self._given = graph
        self._settings = settings
        self._mutex = threading.Lock()
        with store.lock(), store.cache() as cache:
            rows = load_rows(store, cache, settings, compute=False)
        self._features = FeaturesUsed.of(rows)
        self._scaler = GroupScaler(rows.groups).fit(rows.X)
        self._X = self._scaler.transform(rows.X)
        self._start: Start = start_from(store, self._features)
        #: The default method updates itself as long as that is quick.
        self._auto = take_up(store, rows, model=self._start.whole_model, n_threads=settings.n_threads)
        del rows  # half of the memory
        self._graph: KeptGraph | None = None
        self._learner: RidgeLearner | None = None
        self._n_fitted = self._start.n_labeled
        self._labels: TrainingLabels | None = None
        self._digests = dict(self._start.digests)
        self._coef = dict(self._start.coef)
        self._model = self._start.model
        self._is_saved = True
        self._looks = Looks()
        self.numbers: UpdatedNumbers = self._start.numbers

    @property
    def photo_ids(self) -> NDArray[np.int64]:
        """The rows."""
        return self.numbers.photo_ids

    @property
    def tag_ids(self) -> NDArray[np.int64]:
        """The columns."""
        return self.numbers.tag_ids

    @property
    def values(self) -> NDArray[np.float32]:
        """The numbers."""
        return self.numbers.values

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The thresholds."""
        return self.numbers.thresholds

    @property
    def kind(self) -> str:
        """What the numbers are."""
        return self.numbers.kind

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def update(self) -> UpdateResult:
        """Learn from what was decided since the last time.

        Raises
        ------
        InvalidInputError
            If nothing was decided yet.
        """
        begin = time.perf_counter()
        with self._mutex, limit_libraries(self._settings.n_threads):
            labels = read_labels(self._store, self.photo_ids, self._looks)
            dropped = np.setdiff1d(self.tag_ids, labels.tag_ids)
            changed = self._changed(labels)
            if len(changed) or not np.array_equal(labels.tag_ids, self.tag_ids):
                if self._is_due(labels):
                    changed = np.arange(len(labels.tags))
                    self._fit(labels)
                else:
                    changed = self._solve(labels, changed)
                self._digests = dict(zip(labels.tag_ids.tolist(), labels.column_digests, strict=True))
                self._is_saved = False
            self._labels = labels
        tag_ids = (*labels.tag_ids[changed].tolist(), *dropped.tolist())
        return UpdateResult(tag_ids=tag_ids, seconds=time.perf_counter() - begin, kind=self.kind)

    def save(self) -> int | None:
        """Store the numbers durably.

        Returns
        -------
        int or None
            The model they belong to: a new one where ridge or the default method itself was updated, or else the one
            there was. None if nothing has changed, if another model was trained meanwhile (its suggestions stay), or if
            a training is at work.
        """
        try:
            with self._mutex, self._store.lock():
                return self._save()
        except StoreBusyError:
            return None

    def _save(self) -> int | None:
        active = self._store.models.active()
        taken_over = (None if active is None else active.id) != self._model
        if self._is_saved or self._labels is None or taken_over:
            return None
        numbers = self.numbers
        if self._auto is None and self._start.is_blended:
            info: dict[str, Any] = {"kind": numbers.kind, "model": self._model, "method": self._start.method}
            info["column_digests"] = {str(tag): digest for tag, digest in self._digests.items()}
            if self._learner is not None:  # its penalty takes seconds to choose
                info |= {"strength": self._learner.strength, "n_labeled_at_fit": self._n_fitted}
            self._store.suggestions.save(
                numbers.photo_ids, numbers.tag_ids, numbers.values, thresholds=numbers.thresholds, info=info
            )
        else:
            self._model = save_model(self._store, self._new_model(numbers, self._labels), verb=UPDATE)
        self._is_saved = True
        return self._model

    def close(self) -> None:
        """Let go of features and graph; what was not saved is lost, and can be made again."""
        with self._mutex:
            self._learner = self._graph = self._auto = None
            self._X = np.empty((0, 0), dtype=np.float32)

    def _changed(self, labels: TrainingLabels) -> NDArray[np.intp]:
        known = [self._digests.get(tag) for tag in labels.tag_ids.tolist()]
        return np.flatnonzero([old != new for old, new in zip(known, labels.column_digests, strict=True)])

    def _is_due(self, labels: TrainingLabels) -> bool:
        """Tell whether the penalty and the map to probabilities are to be chosen anew, which concerns all tags."""
        if self._start.is_blended:
            return self.kind == SCORE and not too_few(labels)
        if self._start.strength is None or (self._start.calibration is None and not too_few(labels)):
            return True
        return self._is_outgrown(labels)

    def _is_outgrown(self, labels: TrainingLabels) -> bool:
        return self._n_fitted < SETTLED_PHOTOS and labels.n_labeled >= 2 * self._n_fitted

    def _learner_for(self, labels: TrainingLabels) -> RidgeLearner:
        if not self._X.size:
            raise StoreError("the updater is closed; open another one")
        if self._learner is None:
            strength = self._start.strength
            if strength is None or (self._start.is_blended and self._is_outgrown(labels)):
                strength = choose_strength(self._X, labels.Y, share=ENOUGH_ENTRIES)
                self._n_fitted = labels.n_labeled
            n_threads = self._settings.n_threads
            if self._start.smoothing > 0.0:
                n_neighbors, given = self._settings.n_neighbors, self._given
                self._graph = KeptGraph(self._store, self._X, n_neighbors, given=given, n_threads=n_threads)
            graph = None if self._graph is None else self._graph.graph
            self._learner = RidgeLearner(self._X, strength, graph, self._start.smoothing, n_threads)
        return self._learner

    def _fit(self, labels: TrainingLabels) -> None:
        learner = self._learner_for(labels)
        learner.set_strength(choose_strength(self._X, labels.Y, share=ENOUGH_ENTRIES))
        found = learn_ridge(learner, labels, precision=self._settings.precision)
        self._start = self._start.refitted(learner.strength, found.calibration, labels)
        self._n_fitted = labels.n_labeled
        self._keep_coefficients(labels.tag_ids, found.annotator.coef_, found.annotator.intercept_)
        self.numbers = UpdatedNumbers(self.photo_ids, labels.tag_ids, found.values, found.thresholds, found.kind)

    def _solve(self, labels: TrainingLabels, changed: NDArray[np.intp]) -> NDArray[np.intp]:
        """Solve changed tags; return those whose numbers are others now."""
        if self._auto is not None and not self._auto.is_quick(labels):
            self._auto = None
        if self._auto is not None:
            changed, values = self._auto.learn(labels, changed)
        else:
            values = self._solve_ridge(labels, changed)
        limits = self._thresholds_of(values, labels, changed)
        self.numbers = self.numbers.replaced(labels.tag_ids, changed, values, limits)
        # The threshold of probabilities is one for all tags, and stays while others stay as they are.
        if self.kind == PROBABILITY and (len(changed) == len(labels.tag_ids) or not self._has_limit()):
            self.numbers = self._with_threshold(self.numbers, labels)
            if self._has_limit():
                changed = np.arange(len(labels.tag_ids))
        return changed

    def _has_limit(self) -> bool:
        return bool(np.isfinite(self.thresholds).any())

    def _solve_ridge(self, labels: TrainingLabels, changed: NDArray[np.intp]) -> NDArray[np.float32]:
        learner = self._learner_for(labels)
        found = learner.solve(labels.Y, changed)
        values = self._start.numbers_of(found.scores, labels, changed)
        if self.kind == PROBABILITY:
            scores, without = found.scores, learner.without(labels.Y)
            if self._start.own is not None and self._start.is_blended:
                scores = log_odds(values)
                new = np.flatnonzero(self._start.own.is_new(labels.tag_ids[changed]))
                if len(new):
                    own = values[:, new]
                    calibrate_new(own, found.scores[:, new], labels, changed[new], without)
                    values[:, new] = own
                without = self._blended_without(without, labels)
            use_looks(values, scores, labels, changed, without)
        self._keep_coefficients(labels.tag_ids[changed], found.coef, found.intercept)
        return values

    def _blended_without(self, solve: Solver, labels: TrainingLabels) -> Solver:
        """Return what gives log-odds of a blend whose ridge was learnt without some entries, as the model was."""
        return lambda tags, hidden: log_odds(self._start.numbers_of(solve(tags, hidden), labels, tags))

    def _thresholds_of(
        self, values: NDArray[np.float32], labels: TrainingLabels, changed: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return thresholds of changed tags; that of probabilities is one for all."""
        if self.kind == PROBABILITY:
            finite = self.thresholds[np.isfinite(self.thresholds)]
            return np.full(len(changed), finite[0] if len(finite) else np.inf)
        rows = np.flatnonzero(labeled_rows(labels.Y))
        return fit_thresholds(values[rows], labels.Y[np.ix_(rows, changed)])

    def _keep_coefficients(self, tag_ids: NDArray[np.int64], coef: Any, intercept: Any) -> None:
        for column, tag in enumerate(tag_ids.tolist()):
            self._coef[tag] = (coef[:, column], float(intercept[column]))

    def _with_threshold(self, numbers: UpdatedNumbers, labels: TrainingLabels) -> UpdatedNumbers:
        if numbers.kind != PROBABILITY:
            return numbers
        limit = probability_threshold(numbers.values, labels, self._settings.precision)
        return numbers.with_thresholds(np.full(len(numbers.tag_ids), limit))

    def _new_model(self, numbers: UpdatedNumbers, labels: TrainingLabels) -> NewModel:
        parts = self._ridge_parts(labels) if self._auto is None else self._auto.parts()
        return NewModel(
            method=self._start.method,
            values=numbers.values,
            kind=numbers.kind,
            thresholds=numbers.thresholds,
            labels=labels,
            features=self._features,
            **parts,
        )

    def _ridge_parts(self, labels: TrainingLabels) -> dict[str, Any]:
        arrays, choices = scaler_parts(self._scaler)
        columns = [self._coef[tag] for tag in labels.tag_ids.tolist()]
        arrays |= {
            "coef": np.stack([coef for coef, _ in columns], axis=1),
            "intercept": np.asarray([intercept for _, intercept in columns]),
        }
        return {
            "calibration": self._start.calibration_of(labels),
            "graph": self._graph,
            "arrays": arrays,
            "info": {"class": "RegularizedLeastSquares", "is_linear": True, "scaler": choices}
            | self._start.described(self._n_fitted),
            "settings": {"n_neighbors": self._settings.n_neighbors, "descriptors": list(self._settings.descriptors)},
        }


def update(store: ProjectStore, settings: Settings) -> UpdateResult:
    """Learn from the decisions since the last training or update, and store the suggestions.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken.
    settings : Settings
        See `Updater`.
    """
    begin = time.perf_counter()
    with store.lock(), Updater(store, settings) as updater:
        found = updater.update()
        model = updater.save()
    seconds = time.perf_counter() - begin
    return UpdateResult(tag_ids=found.tag_ids, seconds=seconds, kind=found.kind, model=model)
