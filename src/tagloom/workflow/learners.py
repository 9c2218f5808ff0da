"""The learners that a person can name, and the settings they get."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import SettingsError
from tagloom.features import GroupScaler
from tagloom.methods import (
    HarmonicPropagation,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)

__all__ = ["LEARNERS", "Learner", "get_learner", "prepare"]


@dataclass(frozen=True, slots=True)
class Learner:
    """A named way to learn: one line for a person, and how to make the annotator."""

    name: str
    summary: str
    make: Callable[[int], Annotator]


LEARNERS = {
    learner.name: learner
    for learner in (
        Learner(
            "smoothed-ridge",
            "regularised least squares, its scores smoothed over the neighbour graph of all photos",
            lambda n_neighbors: RegularizedLeastSquares(smoothing=1.0, n_neighbors=n_neighbors),
        ),
        Learner(
            "ridge",
            "regularised least squares on the labelled photos alone",
            lambda n_neighbors: RegularizedLeastSquares(),  # noqa: ARG005
        ),
        Learner(
            "harmonic",
            "harmonic propagation of the labels over the neighbour graph",
            lambda n_neighbors: HarmonicPropagation(n_neighbors=n_neighbors),
        ),
        Learner(
            "consistency",
            "local-global consistency over the neighbour graph",
            lambda n_neighbors: LocalGlobalConsistency(n_neighbors=n_neighbors),
        ),
        Learner(
            "neighbors",
            "the tags of the nearest labelled photos",
            lambda n_neighbors: NeighborTransfer(n_neighbors=n_neighbors),
        ),
    )
}


def get_learner(name: str) -> Learner:
    """Return the learner of this name.

    Raises
    ------
    SettingsError
        If there is none; lists what there is.
    """
    if name == "default":
        name = next(iter(LEARNERS))
    try:
        return LEARNERS[name]
    except KeyError:
        raise SettingsError(f"no method {name!r}; choose one of {', '.join(LEARNERS)}") from None


def prepare(X: NDArray[np.float32], groups: FeatureGroups) -> NDArray[Any]:
    """Return features scaled for learning: each group in its own way, weighted, side by side; no label is used."""
    return GroupScaler(groups).fit_transform(X)
