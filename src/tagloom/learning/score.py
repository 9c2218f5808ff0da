"""Suggestions for photos that came after training, by the stored model as it is."""

import contextlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import FeatureRows, Result, load_rows
from tagloom.core import limit_libraries, rows_of
from tagloom.exceptions import PhotosError, StoreError
from tagloom.learning.predictions import Predictions
from tagloom.learning.registration import FeaturesUsed
from tagloom.learning.stored_model import StoredModel, load_model
from tagloom.settings import Settings
from tagloom.store import ProjectStore

__all__ = ["ScoreResult", "score_new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreResult(Result):
    """What scoring did.

    Parameters
    ----------
    model : int
        The active model.
    n_scored : int
        Photos that have predictions now and had none.
    why_not : str
        Why none could be scored, and what to do; empty where nothing stood in the way.
    """

    model: int
    n_scored: int
    why_not: str = ""


def score_new(store: ProjectStore, settings: Settings) -> ScoreResult:
    """Predict for photos that have features and no suggestions yet; nothing is learnt.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken. No photo is opened.
    settings : Settings
        ``descriptors`` names the features.

    Returns
    -------
    ScoreResult
        A model trained on other features cannot score these: ``why_not`` says so.

    Raises
    ------
    StoreError
        If nothing was trained yet.

    Notes
    -----
    Linear models, and those of the default method, score new photos themselves: the former without smoothing over the
    graph, which the next training or update does. Beside other models a ridge is fitted to the same labels, and new
    photos get what an update would give them. So do tags that an update has solved since training.
    """
    with store.lock():
        active, stored = store.models.active(), store.suggestions.load()
        if active is None or stored is None:
            raise StoreError("there is no model yet; train one first: tagloom train")
        new = np.setdiff1d(store.photos.table().ids, stored.photo_ids)
        if not len(new):
            return ScoreResult(model=active.id, n_scored=0)
        model = load_model(store, active, n_threads=settings.n_threads)
        rows = _rows(store, settings, new)
        if rows is None:
            return ScoreResult(model=active.id, n_scored=0)
        if not FeaturesUsed.of(rows).fits(active):
            why = "the model was trained on other features; run: tagloom train"
            return ScoreResult(model=active.id, n_scored=0, why_not=why)
        found = _predict(store, settings, model, Predictions.of(stored), rows)
        if found is None:
            why = f"a model of {model.header.method} on so few labels scores no new photos; run: tagloom train"
            return ScoreResult(model=active.id, n_scored=0, why_not=why)
        values, tag_ids = found
        # A tag that an update has added gets its smallest prediction.
        at, least = rows_of(tag_ids, stored.tag_ids), stored.scores.min(axis=0)
        further = np.where(at >= 0, values[:, at], least).astype(stored.scores.dtype)
        store.suggestions.save(
            np.concatenate([stored.photo_ids, rows.ids]),
            stored.tag_ids,
            np.concatenate([stored.scores, further]),
            thresholds=stored.thresholds,
            run=stored.run,
            info=stored.info,
        )
    return ScoreResult(model=active.id, n_scored=len(rows.ids))


def _rows(store: ProjectStore, settings: Settings, photo_ids: NDArray[np.int64]) -> FeatureRows | None:
    with store.cache() as cache, contextlib.suppress(PhotosError):
        return load_rows(store, cache, settings, photo_ids=photo_ids, compute=False)
    return None


def _predict(
    store: ProjectStore, settings: Settings, model: StoredModel, current: Predictions, rows: FeatureRows
) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
    """Return predictions for new photos and their tags, None where there are none."""
    with limit_libraries(settings.n_threads):
        own = model.score(rows, lambda photo_ids: _rows(store, settings, photo_ids))
    later = set() if own is None else model.solved_since(current)
    if own is not None and not later:
        return own, model.header.tags
    beside = _predict_beside(store, settings, rows.ids)
    if beside is None or beside.kind != model.header.kind:
        return None if own is None else (own, model.header.tags)
    if own is None:
        return beside.values, beside.tag_ids
    kept, taken = (~np.isin(model.header.tags, list(later)), np.isin(beside.tag_ids, list(later)))
    values = np.concatenate([own[:, kept], beside.values[:, taken]], axis=1)
    return values, np.concatenate([model.header.tags[kept], beside.tag_ids[taken]])


def _predict_beside(store: ProjectStore, settings: Settings, photo_ids: NDArray[np.int64]) -> Predictions | None:
    """Return what an update gives photos that the model has not seen, None where it knows some of them not."""
    from tagloom.learning.update import Updater

    with Updater(store, settings) as updater:
        updater.update()
        found, has = updater.predictions.aligned(photo_ids)
    return found if has.all() else None
