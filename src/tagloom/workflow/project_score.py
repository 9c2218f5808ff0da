"""Suggestions for photos that came after training, by the stored model as it is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import PhotosError, StoreError
from tagloom.store.models import StoredSuggestions
from tagloom.store.project import ProjectStore
from tagloom.workflow.calibrated_learning import Calibration
from tagloom.workflow.project_features import FeatureRows, load_rows
from tagloom.workflow.project_results import Result
from tagloom.workflow.project_suggest import PROBABILITY
from tagloom.workflow.settings import Settings
from tagloom.workflow.trained_model import FeaturesUsed, load_scaler

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
        A model that is not linear is not stored whole, and one trained on other features cannot score these:
        ``why_not`` says so.

    Raises
    ------
    StoreError
        If nothing was trained yet.

    Notes
    -----
    New photos get the model's linear scores, and their probabilities by the map that was learnt for photos never seen.
    They are not smoothed over the graph: the next training or update does that.
    """
    with store.lock():
        model, stored = store.models.active(), store.suggestions.load()
        if model is None or stored is None:
            raise StoreError("there is no model yet; train one first: tagloom train")
        new = np.setdiff1d(store.photos.table().ids, stored.photo_ids)
        if not len(new):
            return ScoreResult(model=model.id, n_scored=0)
        arrays, info = store.models.load(model.id)
        if not info.get("is_linear"):
            method = model.settings.get("method", "")
            return ScoreResult(
                model=model.id, n_scored=0, why_not=f"a model of {method} scores no new photos; run: tagloom train"
            )
        with store.cache() as cache:
            try:
                rows = load_rows(store, cache, settings, photo_ids=new, compute=False)
            except PhotosError:
                return ScoreResult(model=model.id, n_scored=0)
        if not FeaturesUsed.of(rows).fits(model):
            why = "the model was trained on other features; run: tagloom train"
            return ScoreResult(model=model.id, n_scored=0, why_not=why)
        _save(store, stored, rows.ids, _values(rows, arrays, info), info["tag_ids"])
    return ScoreResult(model=model.id, n_scored=len(rows.ids))


def _values(rows: FeatureRows, arrays: dict[str, NDArray[Any]], info: dict[str, Any]) -> NDArray[np.float32]:
    X = load_scaler(arrays, info).transform(rows.X)
    scores = (X @ arrays["coef"] + arrays["intercept"]).astype(np.float32)
    if info["kind"] != PROBABILITY:
        return scores
    calibration = Calibration.load(arrays, info["completeness"])
    values = calibration.new.probabilities(scores, calibration.scale)
    named = np.isin(info["tag_ids"], info.get("forgettable", info["silence_is_no"]))
    values[:, named] = np.minimum(values[:, named] / calibration.completeness, 1.0)
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
