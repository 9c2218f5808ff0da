"""Learning from a few more decisions at once: features, graph and model stay, only changed tags are solved again."""

import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.project_features import load_rows
from tagloom.catalog.results import Result
from tagloom.core.annotator import fit_thresholds
from tagloom.core.labels import labeled_rows
from tagloom.core.threads import limit_libraries
from tagloom.exceptions import StoreBusyError, StoreError
from tagloom.features.scaling import GroupScaler
from tagloom.graph import NeighborGraph
from tagloom.learning.auto_updates import take_up
from tagloom.learning.blended_numbers import log_odds
from tagloom.learning.judgements import Solver, calibrate_new, use_looks
from tagloom.learning.labels import TrainingLabels, read_labels
from tagloom.learning.looks import Looks
from tagloom.learning.probabilities import probability_threshold, too_few
from tagloom.learning.ridge_learning import RidgeLearner, choose_strength, learn_ridge
from tagloom.learning.stored_graph import KeptGraph
from tagloom.learning.stored_model import FeaturesUsed, NewModel, save_model, scaler_parts
from tagloom.learning.suggest import PROBABILITY, SCORE
from tagloom.learning.update_start import Start, start_from
from tagloom.learning.updated_numbers import UpdatedNumbers
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore

__all__ = ["UPDATE", "UpdateResult", "Updater", "update"]

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
    which on that would take longer than a person waits; see `tagloom.learning.auto_updates`.

    Other models cannot be updated tag by tag: for their changed tags a smoothed ridge on the same features is solved,
    brought to the mean and spread of the model's numbers (log-odds of probabilities), and the two are mixed: see
    `tagloom.learning.blended_numbers`. A model of scores gives way to a smoothed ridge once probabilities can be told.

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
