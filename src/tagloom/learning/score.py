"""Suggestions for photos that came after training, by the stored model as it is."""

import contextlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.extraction import FeatureRows, load_rows
from tagloom.catalog.results import Result
from tagloom.core.labels import UNKNOWN
from tagloom.core.threads import limit_libraries
from tagloom.exceptions import PhotosError, StoreError
from tagloom.learning.probabilities import Calibration, correct_named
from tagloom.learning.probability_map import UpdatedNumbers
from tagloom.learning.stored_model import (
    OWN_PHOTOS,
    FeaturesUsed,
    is_whole,
    load_scaler,
    numbers_of_new,
    restore,
    solved_since,
)
from tagloom.learning.suggest import PROBABILITY
from tagloom.settings import Settings
from tagloom.store.models import StoredSuggestions
from tagloom.store.project import ProjectStore

__all__ = ["ScoreResult", "score_new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreResult(Result):
    """What scoring did.

    Parameters
    ----------
    model : int
        The active model.
    n_scored : int
        Photos that have numbers now and had none.
    why_not : str
        Why none could be scored, and what to do; empty where nothing stood in the way.
    """

    model: int
    n_scored: int
    why_not: str = ""


def score_new(store: ProjectStore, settings: Settings) -> ScoreResult:
    """Give numbers to photos that have features and no suggestions yet; nothing is learnt.

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
    New photos get the model's linear scores, and their probabilities by the map that was learnt for photos never seen.
    They are not smoothed over the graph: the next training or update does that. A model of the default method that is
    stored whole scores them itself, attached to its graph. Other models are not stored whole; beside them a ridge is
    fitted to the same labels, and new photos get what an update would give them. So it is for tags that an update has
    solved since training, whatever the model.
    """
    with store.lock():
        model, stored = store.models.active(), store.suggestions.load()
        if model is None or stored is None:
            raise StoreError("there is no model yet; train one first: tagloom train")
        new = np.setdiff1d(store.photos.table().ids, stored.photo_ids)
        if not len(new):
            return ScoreResult(model=model.id, n_scored=0)
        arrays, info = store.models.load(model.id)
        with store.cache() as cache:
            try:
                rows = load_rows(store, cache, settings, photo_ids=new, compute=False)
            except PhotosError:
                return ScoreResult(model=model.id, n_scored=0)
        if not FeaturesUsed.of(rows).fits(model):
            why = "the model was trained on other features; run: tagloom train"
            return ScoreResult(model=model.id, n_scored=0, why_not=why)
        if info.get("is_linear"):
            _save(store, stored, rows.ids, _values(rows, arrays, info), info["tag_ids"])
            return ScoreResult(model=model.id, n_scored=len(rows.ids))
        found = _values_of_others(store, settings, stored, rows, arrays, info)
        if found is None:
            method = model.settings.get("method", "")
            why = f"a model of {method} on so few labels scores no new photos; run: tagloom train"
            return ScoreResult(model=model.id, n_scored=0, why_not=why)
        _save(store, stored, rows.ids, *found)
    return ScoreResult(model=model.id, n_scored=len(rows.ids))


def _values_of_others(
    store: ProjectStore,
    settings: Settings,
    stored: StoredSuggestions,
    rows: FeatureRows,
    arrays: dict[str, NDArray[Any]],
    info: dict[str, Any],
) -> tuple[NDArray[np.float32], list[int]] | None:
    """Return numbers of new photos and their tags where the model is not linear, None where there are none."""
    tag_ids: list[int] = info["tag_ids"]
    own = _own_values(store, settings, rows, arrays, info)
    later = set() if own is None else solved_since(arrays, info, stored)
    beside = _values_beside(store, settings, rows.ids) if own is None or later else None
    if beside is None or beside.kind != info["kind"]:
        return None if own is None else (own, tag_ids)
    if own is None:
        return beside.values, beside.tag_ids.tolist()
    kept = [place for place, tag in enumerate(tag_ids) if tag not in later]
    taken = [place for place, tag in enumerate(beside.tag_ids.tolist()) if tag in later]
    values = np.concatenate([own[:, kept], beside.values[:, taken]], axis=1)
    return values, [tag_ids[place] for place in kept] + beside.tag_ids[taken].tolist()


def _own_values(
    store: ProjectStore,
    settings: Settings,
    rows: FeatureRows,
    arrays: dict[str, NDArray[Any]],
    info: dict[str, Any],
) -> NDArray[np.float32] | None:
    """Return what a model that is stored whole says of new photos; None where it is not, or has lost its own."""
    if not is_whole(info):
        return None
    with store.cache() as cache, contextlib.suppress(PhotosError):
        trained = load_rows(store, cache, settings, photo_ids=arrays[OWN_PHOTOS], compute=False)
        with limit_libraries(settings.n_threads):
            annotator = restore(arrays, info, trained, n_threads=settings.n_threads)
            return None if annotator is None else numbers_of_new(annotator, rows.X, arrays, info)
    return None


def _values_beside(store: ProjectStore, settings: Settings, photo_ids: NDArray[np.int64]) -> UpdatedNumbers | None:
    """Return numbers of photos that a model which is not linear has not seen, None where there are none.

    They are what an update gives such photos: those of a ridge, with the mean and spread of the model's.
    """
    from tagloom.learning.update import Updater

    with Updater(store, settings) as updater:
        updater.update()
        found = updater.numbers
    places = np.searchsorted(found.photo_ids, photo_ids)
    if not np.array_equal(found.photo_ids[np.minimum(places, len(found.photo_ids) - 1)], photo_ids):
        return None
    return replace(found, photo_ids=photo_ids, values=found.values[places])


def _values(rows: FeatureRows, arrays: dict[str, NDArray[Any]], info: dict[str, Any]) -> NDArray[np.float32]:
    X = load_scaler(arrays, info).transform(rows.X)
    scores = (X @ arrays["coef"] + arrays["intercept"]).astype(np.float32)
    if info["kind"] != PROBABILITY:
        return scores
    calibration = Calibration.load(arrays, info["completeness"])
    values = calibration.new.probabilities(scores, calibration.scale)
    named = np.isin(info["tag_ids"], info.get("forgettable", info["silence_is_no"]))
    nothing_said = np.full(values.shape, UNKNOWN, dtype=np.int8)
    correct_named(values, nothing_said, named, np.zeros(len(values), dtype=bool), calibration.completeness)
    return values


def _save(
    store: ProjectStore,
    stored: StoredSuggestions,
    photo_ids: NDArray[np.int64],
    values: NDArray[np.float32],
    tag_ids: list[int],
) -> None:
    """Store the suggestions with further photos; a tag that an update added gets its smallest number for them."""
    further = np.tile(stored.scores.min(axis=0), (len(photo_ids), 1))
    places = {tag: column for column, tag in enumerate(tag_ids)}
    for column, tag in enumerate(stored.tag_ids.tolist()):
        if tag in places:
            further[:, column] = values[:, places[tag]]
    store.suggestions.save(
        np.concatenate([stored.photo_ids, photo_ids]),
        stored.tag_ids,
        np.concatenate([stored.scores, further]),
        thresholds=stored.thresholds,
        run=stored.run,
        info=stored.info,
    )
