"""Views, combinations and plain values as arrays and a description that JSON can hold, and back.

Coordinates and scales follow from the features by the code that made them. What is dear or chosen is stored: the graph,
the members with their coefficients, the scores of all photos, and the map to probabilities.
"""

import math
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import UNKNOWN, FeatureGroups, scratch
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph
from tagloom.tuning.auto.model import Member, StackModel
from tagloom.tuning.auto.priors import GivenMember
from tagloom.tuning.auto.refine import TagMixing
from tagloom.tuning.auto.search import Candidate, LeaderboardRow
from tagloom.tuning.auto.views import PhotoViews, Reduction, View
from tagloom.tuning.calibration import CalibrationMap, LevelScale, TagSigmoids, TagSteps
from tagloom.tuning.constants import SAME_COORDINATES

__all__ = [
    "Arrays",
    "NotPlainError",
    "add_rows",
    "changed_rows",
    "pack",
    "parts_of_model",
    "parts_of_views",
    "restored_model",
    "restored_views",
    "unpack",
]

Arrays = dict[str, NDArray[Any]]
#: What JSON can hold.
Plain = Any

#: What is stored by its fields, whichever those are.
KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(CalibrationMap, TagSigmoids, TagSteps, LevelScale, FeatureGroups),
        *(Member, Candidate, View, Reduction, TagMixing, LeaderboardRow, GivenMember),
    )
}


class NotPlainError(TypeError):
    """A value is neither a number, nor text, nor an array, nor made of these."""


def parts_of_views(views: PhotoViews) -> dict[str, Any]:
    """Return what cannot be made again of the features."""
    weights = views.graph.weights
    return {
        "groups": views.given_groups,
        "smoothing": views.smoothing,
        "n_neighbors": views.n_neighbors,
        "recall": views.graph.recall,
        "bandwidth": views.graph.bandwidth,
        "reductions": views.reductions,
        "indices": weights.indices.astype(np.int32),
        "starts": weights.indptr.astype(np.int64),
        "weights": None if (weights.data == 1.0).all() else weights.data,
        "marks": views.marks,
    }


def restored_views(
    X: NDArray[Any],
    parts: dict[str, Any],
    n_threads: int | None,
    coordinates: tuple[NDArray[Any], NDArray[Any]] | None = None,
) -> PhotoViews:
    """Return views of the same features, from `parts_of_views`, and perhaps from coordinates that were kept."""
    indices, starts = parts["indices"], parts["starts"]
    data = np.ones(len(indices)) if parts["weights"] is None else parts["weights"]
    weights = sparse.csr_array((data, indices, starts.astype(indices.dtype)), shape=(len(X), len(X)))
    weights.check_format(full_check=True)  # a file may hold anything
    views = PhotoViews(
        X,
        parts["groups"],
        n_neighbors=parts["n_neighbors"],
        smoothing=parts["smoothing"],
        n_threads=n_threads,
        link=lambda _: NeighborGraph(weights, parts["recall"], parts["bandwidth"]),
        reductions=parts["reductions"],
        coordinates=coordinates,
    )
    differs = ~(np.abs(views.marks - parts["marks"]).max(axis=0) <= SAME_COORDINATES)
    if differs.any():
        raise InvalidInputError(
            f"expected the features that the model was trained on, in the same order, got others for {differs.sum()} "
            f"of {len(X)} photos; give those, or train again"
        )
    return views


def parts_of_model(model: StackModel) -> dict[str, Any]:
    """Return the members and what was solved for."""
    return {
        "members": model.members,
        "weightings": [View(view.name, dict(view.weights)) for view in model.weightings],
        "rows": (model.rows.astype(np.int32), model.compared.astype(np.int32)),
        "coefficients": model.coefficients,
        "left_out": model.left_out,
        "deviations": np.asarray(model.deviations),
        "targets": changed_rows(model.labels, np.full_like(model.labels, UNKNOWN)),
    }


def restored_model(views: PhotoViews, parts: dict[str, Any]) -> StackModel:
    """Return the combination, from `parts_of_model`."""
    model = StackModel(views, parts["weightings"], parts["members"])
    rows, compared = (one.astype(np.intp) for one in parts["rows"])
    if not np.isin(np.concatenate([rows, compared]), np.arange(views.n_photos)).all():
        raise ValueError("it has learnt from photos that it does not have")
    deviations = scratch(parts["deviations"].shape, views.dtype)
    deviations[:] = parts["deviations"]
    labels = add_rows(np.full(deviations.shape, UNKNOWN, dtype=parts["targets"]["values"].dtype), parts["targets"])
    model.restore(labels, (rows, compared), parts["coefficients"], deviations, parts["left_out"])
    return model


def changed_rows(values: NDArray[Any], base: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the rows in which an array is not another one, and which these are."""
    rows = np.flatnonzero((values != base).any(axis=1))
    return {"rows": rows.astype(np.int32), "values": values[rows]}


def add_rows(base: NDArray[Any], changed: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Return what `changed_rows` was given, from the other array."""
    values = changed["values"]
    found = base.astype(np.promote_types(base.dtype, values.dtype))
    found[changed["rows"]] = values
    return found


def pack(value: Any, name: str, arrays: Arrays) -> Plain:
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
        items = [pack(one, f"{name}/{place}", arrays) for place, one in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"mapping": [[pack(key, name, {}), pack(one, f"{name}/{key}", arrays)] for key, one in value.items()]}
    kind = type(value).__name__
    if KINDS.get(kind) is not type(value):
        raise NotPlainError(f"{name} is of the type {kind}")
    of_groups = ("names", "sizes", "embeddings")
    names = of_groups if isinstance(value, FeatureGroups) else [one.name for one in fields(value)]
    parts = {one: pack(getattr(value, one), f"{name}/{one}", arrays) for one in names}
    return {"kind": kind, "fields": parts}


def unpack(plain: Plain, arrays: Arrays) -> Any:
    """Return what `pack` was given."""
    if isinstance(plain, list):
        return [unpack(one, arrays) for one in plain]
    if not isinstance(plain, dict):
        return plain
    if "number" in plain:
        return float(plain["number"])
    if "array" in plain:
        return arrays[plain["array"]]
    if "tuple" in plain:
        return tuple(unpack(one, arrays) for one in plain["tuple"])
    if "mapping" in plain:
        return {unpack(key, arrays): unpack(one, arrays) for key, one in plain["mapping"]}
    return KINDS[plain["kind"]](**{name: unpack(one, arrays) for name, one in plain["fields"].items()})
