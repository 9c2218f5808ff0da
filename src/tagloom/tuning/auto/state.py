"""A fitted `AutoAnnotator` as arrays and a plain description, and back: no pickle, and no copy of the features.

Coordinates and scales follow from the features by the code that made them. What is dear or chosen is kept: the graph,
the members with their coefficients, the scores of all photos, and the map to probabilities.
"""

import math
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.model import Member, StackModel
from tagloom.tuning.auto.refine import TagMixing
from tagloom.tuning.auto.search import Candidate, LeaderboardRow
from tagloom.tuning.auto.views import PhotoViews, View
from tagloom.tuning.calibration.level_scale import LevelScale
from tagloom.tuning.calibration.maps import CalibrationMap, TagSigmoids, TagSteps

__all__ = ["auto_state", "restore_auto"]

Arrays = dict[str, NDArray[Any]]
#: What JSON can hold.
Plain = Any

#: One more whenever the same numbers would mean another model, such as with another graph kernel.
FORMAT = 1
PREFIX = "auto/"
#: Parameters that matter to a fit alone and may be anything, or that are kept in a way of their own.
NOT_KEPT = {"groups", "n_threads", "progress", "random_state"}
#: Attributes that are made again, or kept in a way of their own. All others are kept as they are.
MADE_AGAIN = {
    *("_views", "_model", "_labels", "_targets", "_deviations", "_scores", "_left_out"),
    *("transduction_", "probabilities_", "_shared", "n_features_in_"),
}
#: What is kept by its fields, whichever those are.
KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(CalibrationMap, TagSigmoids, TagSteps, LevelScale),
        *(Member, Candidate, View, TagMixing, LeaderboardRow),
    )
}
#: Marks of coordinates made again may differ by rounding; the mean squared distance of photos is 1 in every group.
SAME_COORDINATES = 1e-3


class _NotPlainError(TypeError):
    """A value is neither a number, nor text, nor an array, nor made of these."""


def auto_state(annotator: AutoAnnotator) -> tuple[Arrays, dict[str, Plain]] | None:
    """Return what has to be kept of a fitted annotator.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted.

    Returns
    -------
    tuple of dict, or None
        Arrays, whose names all begin with ``auto/``, and a description that JSON can hold. None where a value is
        neither a number, nor text, nor an array.

    Notes
    -----
    Scores of the photos are kept as exact as coordinates are: in float64 with few photos, in float32 with many.
    Coefficients are always in float64: they are large and of both signs, and what they sum to is small.
    """
    check_is_fitted(annotator)
    parameters = annotator.get_params(deep=False)
    kept = {name: value for name, value in parameters.items() if name not in NOT_KEPT}
    rest = {name: value for name, value in vars(annotator).items() if name not in MADE_AGAIN and name not in parameters}
    views, model, dtype = annotator._views, annotator._model, annotator._views.plain.dtype
    arrays: Arrays = {PREFIX + "deviations": annotator._deviations.astype(dtype)}
    arrays |= _rows_of(annotator._labels, np.full_like(annotator._labels, UNKNOWN), "labels")
    arrays |= _rows_of(annotator._targets, annotator._labels, "targets")
    arrays |= _rows_of(annotator._left_out, annotator._scores, "left_out", dtype)
    try:
        info = {
            "format": FORMAT,
            "shape": [views.n_photos, views.given_groups.n_columns],
            "groups": None if annotator.groups is None else _pairs(annotator.groups),
            "parameters": _pack(kept, PREFIX + "parameters", arrays),
            "views": _pack(_parts_of_views(views), PREFIX + "views", arrays),
            "model": _pack(_parts_of_model(model, dtype), PREFIX + "model", arrays),
            "rest": _pack(rest, PREFIX + "rest", arrays),
        }
    except _NotPlainError:
        return None
    return arrays, info


def restore_auto(
    X: NDArray[Any], arrays: Arrays, info: dict[str, Plain], *, n_threads: int | None = None
) -> AutoAnnotator:
    """Return an annotator that behaves as the one that `auto_state` was asked about.

    Parameters
    ----------
    X : array of shape (n, d)
        The features that it was fitted on, in the same order.
    arrays, info
        What `auto_state` gave; there may be other arrays.
    n_threads : int, optional
        For neighbours of new photos.

    Raises
    ------
    InvalidInputError
        If these are not the features that it was fitted on, or if another version kept it in a way not known here.
    """
    if info.get("format") != FORMAT:
        raise InvalidInputError(
            f"expected a model kept in the format {FORMAT}, got {info.get('format')!r}; train it again"
        )
    if list(np.shape(X)) != info["shape"]:
        raise InvalidInputError(
            f"expected the features that the model was trained on, of shape {tuple(info['shape'])} (photos, columns), "
            f"got {np.shape(X)}; give those, or train again"
        )
    try:
        return _restored(X, arrays, info, n_threads)
    except (KeyError, TypeError, IndexError) as error:
        raise InvalidInputError(
            f"expected a model as this version keeps it, got one that lacks something ({error}); train it again"
        ) from error


def _restored(X: NDArray[Any], arrays: Arrays, info: dict[str, Plain], n_threads: int | None) -> AutoAnnotator:
    groups = None if info["groups"] is None else _groups(info["groups"])
    annotator = AutoAnnotator(groups, n_threads=n_threads, **_unpack(info["parameters"], arrays))
    X = annotator._check_X(X, reset=True)
    for name, value in _unpack(info["rest"], arrays).items():
        setattr(annotator, name, value)
    views = _restored_views(X, _unpack(info["views"], arrays), n_threads)
    annotator._views = views
    annotator._model = _restored_model(views, _unpack(info["model"], arrays))
    annotator._deviations = arrays[PREFIX + "deviations"].astype(np.float64)
    annotator._scores = annotator._mix(annotator._deviations) + annotator._priors
    unknown = np.full(annotator._scores.shape, UNKNOWN, dtype=np.int8)
    Y = _with_rows(unknown, arrays, "labels")
    annotator._targets = _with_rows(Y, arrays, "targets")
    annotator._left_out = _with_rows(annotator._scores, arrays, "left_out")
    annotator._finish(Y, annotator._labels_to_learn(Y))
    return annotator


def _parts_of_views(views: PhotoViews) -> dict[str, Any]:
    weights = views.graph.weights
    return {
        "groups": _pairs(views.given_groups),
        "smoothing": views.smoothing,
        "n_neighbors": views.n_neighbors,
        "recall": views.graph.recall,
        "bandwidth": views.graph.bandwidth,
        "indices": weights.indices.astype(np.int32),
        "starts": weights.indptr.astype(np.int64),
        "weights": None if (weights.data == 1.0).all() else weights.data,
        "marks": _marks(views),
    }


def _restored_views(X: NDArray[Any], parts: dict[str, Any], n_threads: int | None) -> PhotoViews:
    indices, starts = parts["indices"], parts["starts"]
    data = np.ones(len(indices)) if parts["weights"] is None else parts["weights"]
    weights = sparse.csr_array((data, indices, starts.astype(indices.dtype)), shape=(len(X), len(X)))
    views = PhotoViews(
        X,
        _groups(parts["groups"]),
        n_neighbors=parts["n_neighbors"],
        smoothing=parts["smoothing"],
        n_threads=n_threads,
        graph=NeighborGraph(weights, parts["recall"], parts["bandwidth"]),
    )
    differs = np.abs(_marks(views) - parts["marks"]).max(axis=0) > SAME_COORDINATES
    if differs.any():
        raise InvalidInputError(
            f"expected the features that the model was trained on, in the same order, got others for {differs.sum()} "
            f"of {len(X)} photos; give those, or train again"
        )
    return views


def _marks(views: PhotoViews) -> NDArray[np.float32]:
    """Return two numbers for each photo, which tell its coordinates from others whatever rounding does."""
    mixing = np.cos(np.arange(views.groups.n_columns)).astype(views.plain.dtype)
    return np.stack([views.plain @ mixing, views.smooth @ mixing]).astype(np.float32)


def _parts_of_model(model: StackModel, dtype: DTypeLike) -> dict[str, Any]:
    return {
        "members": model.members,
        "weightings": [View(view.name, dict(view.weights)) for view in model.weightings],
        "rows": model.rows.astype(np.int32),
        "coefficients": model.coefficients,
        "smoothed": {strength: scores.astype(dtype) for strength, scores in model.smoothed.items()},
    }


def _restored_model(views: PhotoViews, parts: dict[str, Any]) -> StackModel:
    model = StackModel(views, parts["weightings"], parts["members"])
    model.restore(
        parts["rows"].astype(np.intp),
        parts["coefficients"],
        {strength: scores.astype(np.float64) for strength, scores in parts["smoothed"].items()},
    )
    return model


def _rows_of(values: NDArray[Any], base: NDArray[Any], name: str, dtype: DTypeLike | None = None) -> Arrays:
    """Return the rows in which an array is not another one, and which these are."""
    rows = np.flatnonzero((values != base).any(axis=1))
    found = values[rows].astype(values.dtype if dtype is None else dtype)
    return {f"{PREFIX}{name}/rows": rows.astype(np.int32), PREFIX + name: found}


def _with_rows(base: NDArray[Any], arrays: Arrays, name: str) -> NDArray[Any]:
    rows, values = arrays[f"{PREFIX}{name}/rows"], arrays[PREFIX + name]
    found = base.astype(np.promote_types(base.dtype, values.dtype))
    found[rows] = values
    return found


def _pairs(groups: FeatureGroups) -> list[list[Any]]:
    return [[name, size] for name, size in zip(groups.names, groups.sizes, strict=True)]


def _groups(pairs: list[list[Any]]) -> FeatureGroups:
    return FeatureGroups([name for name, _ in pairs], [size for _, size in pairs])


def _pack(value: Any, name: str, arrays: Arrays) -> Plain:
    """Return a value as JSON can hold it; arrays go to ``arrays`` under a name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple):
        items = [_pack(one, f"{name}/{place}", arrays) for place, one in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"mapping": [[_pack(key, name, {}), _pack(one, f"{name}/{key}", arrays)] for key, one in value.items()]}
    kind = type(value).__name__
    if KINDS.get(kind) is not type(value):
        raise _NotPlainError(f"{name} is of the type {kind}")
    parts = {one.name: _pack(getattr(value, one.name), f"{name}/{one.name}", arrays) for one in fields(value)}
    return {"kind": kind, "fields": parts}


def _unpack(plain: Plain, arrays: Arrays) -> Any:
    """Return what `_pack` was given."""
    if isinstance(plain, list):
        return [_unpack(one, arrays) for one in plain]
    if not isinstance(plain, dict):
        return plain
    if "number" in plain:
        return float(plain["number"])
    if "array" in plain:
        return arrays[plain["array"]]
    if "tuple" in plain:
        return tuple(_unpack(one, arrays) for one in plain["tuple"])
    if "mapping" in plain:
        return {_unpack(key, arrays): _unpack(one, arrays) for key, one in plain["mapping"]}
    return KINDS[plain["kind"]](**{name: _unpack(one, arrays) for name, one in plain["fields"].items()})
