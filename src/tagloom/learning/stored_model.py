"""A model on disk: arrays and a description, and taking the place of the one before together with its suggestions."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom._version import __version__
from tagloom.catalog.project_features import FeatureRows
from tagloom.core.groups import FeatureGroups
from tagloom.features.scaling import GroupScaler
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.probabilities import Calibration
from tagloom.learning.stored_graph import KeptGraph
from tagloom.store.models import Model
from tagloom.store.project import ProjectStore

__all__ = ["OWN_PHOTOS", "OWN_VALUES", "FeaturesUsed", "NewModel", "load_scaler", "save_model", "scaler_parts"]

#: What a model says of its photos, in the file of one that is not linear.
OWN_PHOTOS, OWN_VALUES = "own_photo_ids", "own_values"


@dataclass(frozen=True, slots=True, eq=False)
class FeaturesUsed:
    """Which features a model takes: photos, the descriptors' keys, and the groups.

    Parameters
    ----------
    photo_ids : ndarray of int64
        The photos it was trained on.
    keys : dict of str to str
        For each descriptor the key of its cached rows.
    groups : FeatureGroups
        Names and sizes.
    """

    photo_ids: NDArray[np.int64]
    keys: dict[str, str]
    groups: FeatureGroups

    @classmethod
    def of(cls, rows: FeatureRows) -> "FeaturesUsed":
        """Take over what feature rows say of themselves."""
        return cls(rows.ids, rows.keys, rows.groups)

    def described(self) -> dict[str, Any]:
        """Return what is registered with a model."""
        return {"keys": self.keys, "groups": [[name, size] for name, size in self._pairs()]}

    def fits(self, model: Model) -> bool:
        """Tell whether a model takes these features."""
        return bool(model.features == self.described())

    def _pairs(self) -> "zip[tuple[str, int]]":
        return zip(self.groups.names, self.groups.sizes, strict=True)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NewModel:
    """All that is stored of a training or an update.

    Parameters
    ----------
    method : str
        The learner's name.
    values : ndarray of float32, shape (n, c)
        The suggestions' numbers.
    kind : {"probability", "score"}
        What they are.
    thresholds : ndarray of shape (c,)
        A tag is suggested above its threshold.
    labels : TrainingLabels
        What was learnt from.
    features : FeaturesUsed
        What from.
    calibration : Calibration or None
        How scores became probabilities.
    graph : KeptGraph or None
        The neighbour graph.
    arrays, info, settings : dict
        What else the model file holds, its description, and what is registered.
    """

    method: str
    values: NDArray[np.float32]
    kind: str
    thresholds: NDArray[np.float64]
    labels: TrainingLabels
    features: FeaturesUsed
    calibration: Calibration | None = None
    graph: KeptGraph | None = None
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def save_model(store: ProjectStore, new: NewModel, *, verb: str) -> int:
    """Store a model; then, in one transaction, its suggestions, and let it take the place of the one before.

    Parameters
    ----------
    store : ProjectStore
        The project.
    new : NewModel
        The model.
    verb : str
        What made it, for the list of runs.

    Returns
    -------
    int
        Its id.
    """
    labels, described = new.labels, new.features.described()
    settings = {"method": new.method, "tagloom": __version__} | new.settings
    run = store.runs.start(verb, settings)
    arrays = dict(new.arrays) | {"thresholds": new.thresholds}
    arrays |= {} if new.calibration is None else new.calibration.arrays()
    arrays |= {} if new.graph is None else new.graph.arrays
    if not new.info.get("is_linear"):
        # Updates of a model that cannot be solved tag by tag start from its own numbers, and replace those suggested.
        arrays |= {OWN_PHOTOS: new.features.photo_ids, OWN_VALUES: new.values}
    info = new.info | {
        "kind": new.kind,
        "tags": labels.tags,
        "tag_ids": labels.tag_ids.tolist(),
        "groups": described["groups"],
        "column_digests": labels.column_digests,
        "silence_is_no": labels.tag_ids[labels.named].tolist(),
        "n_yes": (labels.Y == 1).sum(axis=0).tolist(),
        "forgettable": labels.tag_ids[labels.forgettable].tolist(),
        "reviewed": labels.tag_ids[labels.reviewed].tolist(),
        "completeness": new.info.get("completeness") if new.calibration is None else new.calibration.completeness,
    }
    registered = settings | {"n_decisions": labels.n_decisions, "n_photos": len(new.features.photo_ids)}
    model = store.models.save(
        arrays,
        info,
        features=described,
        labels_digest=labels.digest,
        settings=registered | ({} if new.graph is None else new.graph.settings),
        run=run,
        activate=False,
    )
    with store.transaction():
        store.suggestions.save(
            new.features.photo_ids,
            labels.tag_ids,
            new.values,
            thresholds=new.thresholds,
            run=run,
            info={"kind": new.kind, "model": model, "method": new.method},
        )
        store.models.activate(model)
        store.runs.end(run, {"model": model})
    if new.graph is not None:
        new.graph.is_reused = True  # from now on this model holds it
    return model


def scaler_parts(scaler: GroupScaler) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return arrays and description of a fitted scaler."""
    arrays = {f"means/{name}": values for name, values in scaler.means_.items()}
    arrays |= {f"scales/{name}": values for name, values in scaler.scales_.items()}
    return arrays, scaler.choices_


def load_scaler(arrays: dict[str, NDArray[Any]], info: dict[str, Any]) -> GroupScaler:
    """Return the scaler of a stored model."""
    names, sizes = zip(*info["groups"], strict=True)
    groups = FeatureGroups(list(names), list(sizes))
    scaler = GroupScaler(groups)
    scaler._groups = groups
    scaler.n_features_in_ = sum(sizes)
    scaler.choices_ = info["scaler"]
    scaler.means_ = {name: arrays[f"means/{name}"] for name in names if f"means/{name}" in arrays}
    scaler.scales_ = {name: arrays[f"scales/{name}"] for name in scaler.means_}
    return scaler
