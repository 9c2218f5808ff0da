"""Learning from a few more decisions at once: features, graph and model stay, only changed tags are solved again."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import FeatureRows, Result, load_rows
from tagloom.core import fit_thresholds, labeled_rows, limit_libraries, scratch
from tagloom.exceptions import InvalidInputError, StoreBusyError, StoreError
from tagloom.graph import NeighborGraph
from tagloom.learning.labels import Judgements, TrainingLabels, read_labels
from tagloom.learning.predictions import Predictions
from tagloom.learning.probabilities import probability_threshold
from tagloom.learning.registration import FeaturesUsed
from tagloom.learning.ridge import RidgePhotos
from tagloom.learning.stored_model import FirstPredictions, RidgeModel, StoredModel, load_model, save_model
from tagloom.learning.suggest import PROBABILITY, SuggestionInfo, suggestion_info
from tagloom.settings import Settings
from tagloom.store import ProjectStore

__all__ = ["UpdateResult", "Updater", "update"]

logger = logging.getLogger(__name__)

UPDATE = "update"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateResult(Result):
    """What an update did.

    Parameters
    ----------
    tag_ids : tuple of int
        Tags whose predictions have changed; those without a decision have none any more.
    seconds : float
        Wall time.
    kind : {"probability", "score"}
        What the predictions are.
    model : int or None
        The model that the suggestions were stored with; None before they are.
    """

    tag_ids: tuple[int, ...]
    seconds: float
    kind: str
    model: int | None = None


class Updater:
    """The predictions for all photos and tags, kept up with what a person decides.

    Features are read once. `update` looks which tags have other labels than those they were learnt from, and lets the
    model learn them again. If there is no model yet, the first `update` makes one.

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
    predictions : Predictions
        Those of one moment. Any thread may read them while another one updates.
    model : StoredModel or None
        What learns; None before the first update where there was no model.
    photos : RidgePhotos or None
        Features and graph; None once it is closed.
    first_look : callable or None
        Gets the tags, and the seconds that took, once ``predictions`` has them for those photos that are likeliest to
        have them, and before it has them for all: `update` goes on then.

    Notes
    -----
    A model of the default method keeps what was chosen, so `update` gives what a training with the same choices gives.
    So does a ridge, which keeps its penalty and its map to probabilities. Other models are mixed with a smoothed ridge
    on the same features; see `tagloom.learning.stored_model`. Probabilities of tags whose suggestions a person has
    judged follow the judgements: see `tagloom.learning.judgements`.
    """

    def __init__(self, store: ProjectStore, settings: Settings, *, graph: NeighborGraph | None = None) -> None:
        self._store, self._settings = store, settings
        self._mutex = threading.Lock()
        with store.lock(), store.cache() as cache:
            rows = load_rows(store, cache, settings, compute=False, later=True)
        self._features = FeaturesUsed.of(rows)
        self.photos: RidgePhotos | None = RidgePhotos(store, rows, settings, graph=graph)
        self._digests: dict[int, str] = {}
        self._judgements = Judgements()
        self._labels: TrainingLabels | None = None
        self._is_saved = True
        self.first_look: Callable[[NDArray[np.int64], float], None] | None = None
        active = store.models.active()
        self._model_id = None if active is None else active.id
        self.predictions = Predictions.none(rows.ids)
        self.model = self._resume(rows)

    def _resume(self, rows: FeatureRows) -> StoredModel | None:
        """Return the active model, ready for updates; None where it takes other features or cannot be read."""
        active = self._store.models.active()
        if active is None or not self._features.fits(active):
            return None
        try:
            model = load_model(self._store, active, n_threads=self._settings.n_threads)
            stored = self._store.suggestions.load()
            info = None if stored is None else suggestion_info(stored)
            if stored is None or info is None or info.model != active.id:
                return None
            predictions, has = Predictions.of(stored).aligned(rows.ids)
            model.resume(predictions, has, info, rows)
        except (StoreError, InvalidInputError) as error:  # it can be made again
            logger.warning("model %d cannot be read, starting without it: %s", active.id, error)
            return None
        self.predictions = predictions
        if has.all():  # photos that have come since have no predictions yet: every tag is solved
            self._digests = model.header.digests | {int(tag): one for tag, one in info.column_digests.items()}
        return model

    @property
    def photo_ids(self) -> NDArray[np.int64]:
        """The rows."""
        return self.predictions.photo_ids

    @property
    def tag_ids(self) -> NDArray[np.int64]:
        """The columns."""
        return self.predictions.tag_ids

    @property
    def values(self) -> NDArray[np.float32]:
        """Probabilities or scores, shape (n, c)."""
        return self.predictions.values

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """A tag is suggested above its threshold."""
        return self.predictions.thresholds

    @property
    def kind(self) -> str:
        """Whether these are probabilities or scores."""
        return self.predictions.kind

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
            labels = read_labels(self._store, self.photo_ids, self._judgements, in_training=False)
            dropped = np.setdiff1d(self.tag_ids, labels.tag_ids)
            changed = self._changed(labels)
            if len(changed) or not np.array_equal(labels.tag_ids, self.tag_ids):
                changed = self._learn(labels, changed, begin)
                self._digests = dict(zip(labels.tag_ids.tolist(), labels.column_digests, strict=True))
                self._is_saved = False
            self._labels = labels
        tag_ids = (*labels.tag_ids[changed].tolist(), *dropped.tolist())
        return UpdateResult(tag_ids=tag_ids, seconds=time.perf_counter() - begin, kind=self.kind)

    def save(self) -> int | None:
        """Store the predictions durably.

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
        active, labels, model, photos = self._store.models.active(), self._labels, self.model, self.photos
        is_other = (None if active is None else active.id) != self._model_id
        if self._is_saved or labels is None or model is None or photos is None or is_other:
            return None
        predictions = self.predictions
        new = model.updated(labels, predictions, photos)
        if new is None:
            strength, n_labeled = model.stand_in
            info = SuggestionInfo(
                kind=predictions.kind,
                model=self._model_id or 0,
                method=model.header.method,
                column_digests={str(tag): digest for tag, digest in self._digests.items()},
                strength=strength,
                n_labeled=n_labeled,
            )
            self._store.suggestions.save(
                predictions.photo_ids,
                predictions.tag_ids,
                predictions.values,
                thresholds=predictions.thresholds,
                info=info.as_dict(),
            )
        else:
            self._model_id = save_model(
                self._store, new, predictions, labels, self._features, self._settings, verb=UPDATE
            )
            if photos.graph is not None:
                photos.graph.is_reused = True  # this model holds it from now on
        self._is_saved = True
        return self._model_id

    def close(self) -> None:
        """Let go of features and graph; what was not saved is lost, and can be made again."""
        with self._mutex:
            self.photos = self.model = None

    def _changed(self, labels: TrainingLabels) -> NDArray[np.intp]:
        known = [self._digests.get(tag) for tag in labels.tag_ids.tolist()]
        return np.flatnonzero([old != new for old, new in zip(known, labels.column_digests, strict=True)])

    def _look(self, labels: TrainingLabels, begin: float) -> FirstPredictions | None:
        """Return what shows predictions of some photos before there are those of all."""
        tell = self.first_look
        if tell is None or not np.array_equal(labels.tag_ids, self.tag_ids):
            return None

        def show(tags: NDArray[np.intp], rows: NDArray[np.intp], values: NDArray[np.float32]) -> None:
            everything = scratch(self.values.shape, self.values.dtype)
            everything[:] = self.values
            everything[np.ix_(rows, tags)] = values
            self.predictions = replace(self.predictions, values=everything)
            tell(self.tag_ids[tags], time.perf_counter() - begin)

        return show

    def _learn(self, labels: TrainingLabels, changed: NDArray[np.intp], begin: float) -> NDArray[np.intp]:
        """Learn changed tags; return those whose predictions have changed."""
        model, photos, precision = self.model, self.photos, self._settings.precision
        if photos is None:
            raise StoreError("the updater is closed; open another one")
        if model is None or model.is_due(labels):
            fit = RidgeModel.fit if model is None else model.refit
            self.model, learned = fit(labels, photos, precision=precision)
            self.predictions = learned.predictions(labels)
            return np.arange(len(labels.tags))
        model.first_look = self._look(labels, begin)
        changed, values = model.update(labels, changed, photos)
        thresholds = self._thresholds_of(values, labels, changed)
        self.predictions = self.predictions.replaced(labels.tag_ids, changed, values, thresholds)
        # The threshold of probabilities is one for all tags, and stays while others stay as they are.
        if self.kind == PROBABILITY and (len(changed) == len(labels.tag_ids) or not self._has_threshold()):
            threshold = probability_threshold(self.values, labels, precision)
            self.predictions = replace(self.predictions, thresholds=np.full(len(self.tag_ids), threshold))
            if self._has_threshold():
                changed = np.arange(len(labels.tag_ids))
        return changed

    def _has_threshold(self) -> bool:
        return bool(np.isfinite(self.thresholds).any())

    def _thresholds_of(
        self, values: NDArray[np.float32], labels: TrainingLabels, changed: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return thresholds of changed tags; that of probabilities is one for all."""
        if self.kind == PROBABILITY:
            finite = self.thresholds[np.isfinite(self.thresholds)]
            return np.full(len(changed), finite[0] if len(finite) else np.inf)
        rows = np.flatnonzero(labeled_rows(labels.Y))
        return fit_thresholds(values[rows], labels.Y[np.ix_(rows, changed)])


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
