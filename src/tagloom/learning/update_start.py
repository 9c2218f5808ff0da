"""What an update starts from: the active model and its numbers, or nothing."""

import logging
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN
from tagloom.exceptions import StoreError
from tagloom.learning.blended_numbers import OwnNumbers
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.methods import SMOOTHED_RIDGE, SMOOTHING
from tagloom.learning.probabilities import Calibration, correct_named
from tagloom.learning.probability_map import ScoreScale, refresh_scale
from tagloom.learning.stored_model import OWN_PHOTOS, OWN_VALUES, FeaturesUsed
from tagloom.learning.suggest import SCORE
from tagloom.learning.updated_numbers import UpdatedNumbers
from tagloom.store.models import Model, StoredSuggestions
from tagloom.store.project import ProjectStore

__all__ = ["Start", "start_from"]

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
