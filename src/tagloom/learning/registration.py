"""What the database knows of a model without its file being opened: the features it takes, and how it was trained."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom._version import __version__
from tagloom.catalog import FeatureRows, Result, restored
from tagloom.core import FeatureGroups
from tagloom.store import Model


@dataclass(frozen=True, slots=True, eq=False)
class FeaturesUsed:
    """Which features a model takes.

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
        """Return which features these rows are."""
        return cls(rows.ids, rows.keys, rows.groups)

    def described(self) -> dict[str, Any]:
        """Return what is registered with a model."""
        pairs = zip(self.groups.names, self.groups.sizes, strict=True)
        return {"keys": self.keys, "groups": [[name, size] for name, size in pairs]}

    def fits(self, model: Model) -> bool:
        """Tell whether a model takes these features."""
        return bool(model.features == self.described())


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration(Result):
    """How a model was trained.

    Parameters
    ----------
    method : str
        The learner's name.
    n_photos, n_decisions : int
        What it was trained on.
    n_neighbors : int
        Of the graph.
    descriptors : tuple of str
        The features.
    features_key : str
        Checksum of the scaled features; empty where none were scaled.
    choice : dict
        Parameters that it chose: a number, or one for each tag.
    topics : tuple of dict
        What a topic model knows of its topics.
    graph_key : str
        Checksum of the graph that goes with it; empty: none.
    holds_graph : bool
        Whether its file holds that graph.
    tagloom : str
        The version that made it.
    """

    method: str
    n_photos: int
    n_decisions: int
    n_neighbors: int
    descriptors: tuple[str, ...]
    features_key: str = ""
    choice: dict[str, Any] = field(default_factory=dict)
    topics: tuple[dict[str, Any], ...] = ()
    graph_key: str = ""
    holds_graph: bool = False
    tagloom: str = __version__


def registration_of(model: Model) -> Registration | None:
    """Return how a model was trained, None where what is registered is not what tagloom writes."""
    try:
        found: Registration = restored(Registration, model.settings)
    except ValueError:
        return None
    return found
