"""The default method's model as a project stores it: whole, so that it can say more than its numbers."""

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tagloom.catalog.project_features import FeatureRows
from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN
from tagloom.exceptions import InvalidInputError
from tagloom.learning.blended_numbers import log_odds
from tagloom.learning.probabilities import correct_named
from tagloom.learning.stored_model import OWN_PHOTOS, OWN_VALUES
from tagloom.learning.suggest import PROBABILITY
from tagloom.store.models import StoredSuggestions
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.state import auto_state, restore_auto

__all__ = ["is_whole", "numbers_of_new", "restore", "solved_since", "trained_features", "whole_parts"]

logger = logging.getLogger(__name__)

STATE = "state"


def whole_parts(annotator: Annotator) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return arrays and description of a fitted annotator; of one that cannot be stored whole nothing."""
    found = auto_state(annotator) if isinstance(annotator, AutoAnnotator) else None
    return ({}, {}) if found is None else (found[0], {STATE: found[1]})


def is_whole(info: dict[str, Any]) -> bool:
    """Tell whether a model's file holds all of an `AutoAnnotator`."""
    return STATE in info


def trained_features(arrays: dict[str, NDArray[Any]], rows: FeatureRows) -> NDArray[np.float32] | None:
    """Return the features of the photos that a model was trained on, in its order; None where some are not there."""
    wanted = arrays[OWN_PHOTOS]
    if np.array_equal(rows.ids, wanted):
        return rows.X
    places = np.minimum(np.searchsorted(rows.ids, wanted), max(len(rows.ids) - 1, 0))
    return rows.X[places] if len(rows.ids) and np.array_equal(rows.ids[places], wanted) else None


def restore(
    arrays: dict[str, NDArray[Any]], info: dict[str, Any], rows: FeatureRows, *, n_threads: int | None
) -> AutoAnnotator | None:
    """Return the annotator of a model file.

    Parameters
    ----------
    arrays, info : dict
        What the file holds.
    rows : FeatureRows
        Features, those of all photos that the model was trained on among them.
    n_threads : int or None
        Threads.

    Returns
    -------
    AutoAnnotator or None
        None where the file does not hold it, or where the photos or features of its training are no longer there.
    """
    if not is_whole(info):
        return None
    X = trained_features(arrays, rows)
    if X is None:
        return None
    try:
        return restore_auto(X, arrays, info[STATE], n_threads=n_threads)
    except InvalidInputError as error:  # it can be trained again, and there are other ways until then
        logger.warning("the stored model cannot be used whole: %s", error)
        return None


def numbers_of_new(
    annotator: AutoAnnotator, X: NDArray[np.float32], arrays: dict[str, NDArray[Any]], info: dict[str, Any]
) -> NDArray[np.float32]:
    """Return numbers (n, c) of photos that an annotator has not seen, of the kind that its model has.

    Parameters
    ----------
    annotator : AutoAnnotator
        See `restore`.
    X : ndarray of float32, shape (n, d)
        Their features.
    arrays, info : dict
        What the model's file holds.

    Notes
    -----
    Where training changed the probabilities of a tag by what was said of its suggestions photo by photo, a new photo
    has what the training gave to photos with the same log-odds of which nothing was said.
    """
    if info["kind"] != PROBABILITY:
        return np.asarray(annotator.decision_function(X), dtype=np.float32)
    told = annotator.predict_proba(X)
    values, tag_ids = told.astype(np.float32), np.asarray(info["tag_ids"])
    nobody, nothing = np.zeros(len(X), dtype=bool), np.full(values.shape, UNKNOWN, dtype=np.int8)
    correct_named(values, nothing, np.isin(tag_ids, info["forgettable"]), nobody, info["completeness"])
    for tag in np.flatnonzero(np.isin(tag_ids, info["reviewed"])):
        is_open = annotator._labels[:, tag] == UNKNOWN
        if is_open.any():
            before, after = annotator.probabilities_[is_open, tag], arrays[OWN_VALUES][is_open, tag]
            order = np.argsort(before, kind="stable")
            found = np.interp(log_odds(told[:, tag]), log_odds(before[order]), log_odds(after[order]))
            values[:, tag] = expit(found)
    return values


def solved_since(arrays: dict[str, NDArray[Any]], info: dict[str, Any], stored: StoredSuggestions) -> set[int]:
    """Return the tags whose numbers are no longer those of the training, but an update's.

    Parameters
    ----------
    arrays, info : dict
        What the model's file holds.
    stored : StoredSuggestions
        The numbers of now.
    """
    _, now, then = np.intersect1d(stored.photo_ids, arrays[OWN_PHOTOS], return_indices=True)
    known, columns, places = np.intersect1d(info["tag_ids"], stored.tag_ids, return_indices=True)
    same = (stored.scores[np.ix_(now, places)] == arrays[OWN_VALUES][np.ix_(then, columns)]).all(axis=0)
    return set(stored.tag_ids.tolist()) - set(known[same].tolist())
