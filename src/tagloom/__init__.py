"""Tag a few photos, and tagloom tags the rest.

Public names load lazily, so that ``import tagloom`` and ``tagloom --help`` stay light.
"""

from typing import TYPE_CHECKING

from tagloom._version import __version__
from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.core.annotator import Annotator
    from tagloom.core.folds import LabeledKFold, label_budget
    from tagloom.core.groups import FeatureGroups
    from tagloom.core.vocabulary import TagVocabulary
    from tagloom.methods import (
        FSNM,
        GLLR,
        SBMLR,
        SFSS,
        FisherScore,
        HarmonicPropagation,
        LocalGlobalConsistency,
        NeighborTransfer,
        RegularizedLeastSquares,
    )

_HOMES = {
    "SFSS": "tagloom.methods",
    "SBMLR": "tagloom.methods",
    "GLLR": "tagloom.methods",
    "FisherScore": "tagloom.methods",
    "FSNM": "tagloom.methods",
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

__all__ = [
    "FSNM",
    "GLLR",
    "SBMLR",
    "SFSS",
    "Annotator",
    "FeatureGroups",
    "FisherScore",
    "HarmonicPropagation",
    "LabeledKFold",
    "LocalGlobalConsistency",
    "NeighborTransfer",
    "RegularizedLeastSquares",
    "TagVocabulary",
    "__version__",
    "label_budget",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
