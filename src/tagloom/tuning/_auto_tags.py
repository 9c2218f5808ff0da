"""More tags for a fitted `AutoAnnotator`: nothing is known of them before an update learns from their labels."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN
from tagloom.exceptions import InvalidInputError
from tagloom.tuning._calibration_map import CalibrationMap
from tagloom.tuning._refinement import Refinement
from tagloom.tuning._soft_labels import soft_priors
from tagloom.tuning._stack_model import Member, StackModel

if TYPE_CHECKING:
    from tagloom.tuning.auto import AutoAnnotator

__all__ = ["add_tags"]


def add_tags(annotator: "AutoAnnotator", n_more: int) -> None:
    """Add columns for tags of which no label is known; the annotator is changed.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted; no other method was taken in.
    n_more : int
        How many.

    Notes
    -----
    A new tag has the members of the combination, each with the mean of its factors; it listens to no other tag, and
    its probabilities follow the pooled map. What is said of other tags stays.
    """
    if annotator._refinement.outcome is not None:
        raise InvalidInputError("expected a combination without other methods, got one; fit again with all tags")
    if n_more < 1:
        return
    labels = _wider(annotator._labels, n_more, UNKNOWN)
    annotator.n_tags_ += n_more
    annotator._targets = _wider(annotator._targets, n_more, UNKNOWN)
    annotator._priors = soft_priors(annotator._targets)
    for name in ("_deviations", "_scores", "_left_out"):
        setattr(annotator, name, _wider(getattr(annotator, name), n_more, 0.0))
    annotator._scores[:, -n_more:] = annotator._left_out[:, -n_more:] = annotator._priors[-n_more:]
    _widen_model(annotator._model, n_more)
    annotator._refinement = _wider_refinement(annotator._refinement, n_more)
    annotator.map_ = _wider_map(annotator.map_, n_more)
    learnt = annotator._labels_to_learn(labels)
    annotator._scale = annotator._scale_of(learnt, annotator._scale.rates)
    annotator._finish(labels, learnt)


def _wider(values: NDArray[Any], n_more: int, fill: float) -> NDArray[Any]:
    return np.concatenate([values, np.full((len(values), n_more), fill, dtype=values.dtype)], axis=1)


def _widen_model(model: StackModel, n_more: int) -> None:
    model.members = [
        Member(one.candidate, np.append(one.factor, np.full(n_more, one.factor.mean())))
        if isinstance(one.factor, np.ndarray)
        else one
        for one in model.members
    ]
    coefficients = [_wider(one, n_more, 0.0) for one in model.coefficients]
    smoothed = {strength: _wider(scores, n_more, 0.0) for strength, scores in model.smoothed.items()}
    model.restore(model.rows, coefficients, smoothed)


def _wider_refinement(refinement: Refinement, n_more: int) -> Refinement:
    if refinement.mixing is None:
        return refinement
    before = refinement.mixing.matrix
    matrix = np.eye(len(before) + n_more)
    matrix[: len(before), : len(before)] = before
    return replace(refinement, mixing=replace(refinement.mixing, matrix=matrix))


def _wider_map(before: CalibrationMap, n_more: int) -> CalibrationMap:
    tags = before.tags

    def wider(values: NDArray[np.float64], fill: float) -> NDArray[np.float64]:
        return np.append(values, np.full(n_more, fill))

    return replace(
        before,
        tags=replace(
            tags,
            offsets=wider(tags.offsets, 0.0),
            slopes=wider(tags.slopes, 0.0),
            centres=wider(tags.centres, 0.0),
            offset_variances=wider(tags.offset_variances, tags.offset_spread**2),
            slope_variances=wider(tags.slope_variances, tags.slope_spread**2),
        ),
    )
