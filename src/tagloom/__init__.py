"""Tag a few photos, and tagloom tags the rest.

Public names load lazily, so that ``import tagloom`` and ``tagloom --help`` stay light.
"""

from importlib import import_module
from typing import Any

from tagloom._version import __version__

_HOMES = {
    "Annotator": "tagloom.core.annotator",
    "FeatureGroups": "tagloom.core.groups",
    "HarmonicPropagation": "tagloom.methods",
    "LabeledKFold": "tagloom.core.folds",
    "LocalGlobalConsistency": "tagloom.methods",
    "NeighborTransfer": "tagloom.methods",
    "RegularizedLeastSquares": "tagloom.methods",
    "TagVocabulary": "tagloom.core.vocabulary",
    "label_budget": "tagloom.core.folds",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tagloom' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return list(__all__)
