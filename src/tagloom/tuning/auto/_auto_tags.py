"""Other tags for a fitted `AutoAnnotator`: nothing is known of new ones before an update learns from their labels."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core.labels import UNKNOWN
from tagloom.core.typing import Indices
from tagloom.exceptions import InvalidInputError
from tagloom.tuning.auto._soft_labels import soft_priors
from tagloom.tuning.auto.model import Member, StackModel
from tagloom.tuning.auto.refine import Refinement
from tagloom.tuning.calibration._isotonic import TagSteps
from tagloom.tuning.calibration.maps import CalibrationMap

if TYPE_CHECKING:
    from tagloom.tuning.auto.annotator import AutoAnnotator

__all__ = ["set_tags"]


def set_tags(annotator: "AutoAnnotator", columns: ArrayLike) -> None:
    """Reorder, drop and add tags; the annotator is changed.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted; no other method was taken in.
    columns : array of int, shape (c,)
        For each tag its column of before; -1 for one of which no label is known.

    Notes
    -----
    A new tag has the members of the combination, each with the mean of its factors; it listens to no other tag, and
    its probabilities follow the pooled map. What is said of other tags stays.
    """
    at = np.asarray(columns, dtype=np.intp)
    if np.array_equal(at, np.arange(annotator.n_tags_)):
        return
    if annotator._refinement.outcome is not None:
        raise InvalidInputError("expected a combination without other methods, got one; fit again with all tags")
    if not len(at) or (at >= annotator.n_tags_).any():
        raise InvalidInputError(f"expected columns below {annotator.n_tags_}, at least one, got {at.tolist()}")
    dropped = np.setdiff1d(np.arange(annotator.n_tags_), at)
    if (annotator._labels[:, dropped] != UNKNOWN).any():
        annotator._n_calibrated = 0  # the pooled map has learnt from them: the next update makes it anew
    labels = _taken(annotator._labels, at, UNKNOWN)
    annotator.n_tags_ = len(at)
    annotator._targets = _taken(annotator._targets, at, UNKNOWN)
    annotator._priors = soft_priors(annotator._targets)
    annotator._deviations = _taken(annotator._deviations, at, 0.0)
    for name in ("_scores", "_left_out"):
        values = _taken(getattr(annotator, name), at, 0.0)
        values[:, at < 0] = annotator._priors[at < 0]
        setattr(annotator, name, values)
    if hasattr(annotator, "_calibrated_counts"):
        annotator._calibrated_counts = _taken(annotator._calibrated_counts, at, 0)
    _set_tags_of_model(annotator._model, at)
    annotator._refinement = _refinement(annotator._refinement, at)
    annotator.map_ = _map(annotator.map_, at)
    learnt = annotator._labels_to_learn(labels)
    annotator._scale = annotator._scale_of(learnt, annotator._scale.rates)
    annotator._finish(labels, learnt)


def _taken(values: NDArray[Any], at: Indices, fill: float) -> NDArray[Any]:
    """Return the columns of tags along the last axis, a number for those that are new."""
    found = values[..., np.maximum(at, 0)]
    found[..., at < 0] = fill
    return found


def _set_tags_of_model(model: StackModel, at: Indices) -> None:
    model.members = [
        Member(one.candidate, _taken(one.factor, at, float(one.factor.mean())))
        if isinstance(one.factor, np.ndarray)
        else one
        for one in model.members
    ]
    coefficients = [_taken(one, at, 0.0) for one in model.coefficients]
    smoothed = {strength: _taken(scores, at, 0.0) for strength, scores in model.smoothed.items()}
    model.restore(model.rows, coefficients, smoothed)


def _refinement(before: Refinement, at: Indices) -> Refinement:
    if before.mixing is None:
        return before
    matrix = _taken(_taken(before.mixing.matrix, at, 0.0).T, at, 0.0).T
    matrix[at < 0, at < 0] = 1.0
    return replace(before, mixing=replace(before.mixing, matrix=matrix))


def _map(before: CalibrationMap, at: Indices) -> CalibrationMap:
    tags, knots = before.tags, before.steps.knots
    return replace(
        before,
        tags=replace(
            tags,
            offsets=_taken(tags.offsets, at, 0.0),
            slopes=_taken(tags.slopes, at, 0.0),
            centres=_taken(tags.centres, at, 0.0),
            offset_variances=_taken(tags.offset_variances, at, tags.offset_spread**2),
            slope_variances=_taken(tags.slope_variances, at, tags.slope_spread**2),
        ),
        steps=TagSteps({place: knots[column] for place, column in enumerate(at.tolist()) if column in knots}),
    )
