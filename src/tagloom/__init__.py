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
    from tagloom.core.keywords import Keyword
    from tagloom.core.vocabulary import TagVocabulary
    from tagloom.methods import (
        FSNM,
        GLLR,
        JEC,
        LPP,
        LPPSVM,
        LPSSVM,
        M3L,
        NOVA,
        SBMLR,
        SFSS,
        TKML,
        BoostedAnnotator,
        CurdsAndWhey,
        FisherScore,
        HarmonicPropagation,
        KernelSVM,
        LaplacianTopicModel,
        LapRLS,
        LapSVM,
        LocalGlobalConsistency,
        MultipleKernelSVM,
        NeighborTransfer,
        PLSAWords,
        RegularizedLeastSquares,
        TagProp,
        TopicMixture,
        TransductiveSVM,
    )
    from tagloom.project.project import Project
    from tagloom.tuning.auto.annotator import AutoAnnotator

_HOMES = {
    "FSNM": "tagloom.methods",
    "GLLR": "tagloom.methods",
    "JEC": "tagloom.methods",
    "LPP": "tagloom.methods",
    "LPPSVM": "tagloom.methods",
    "LPSSVM": "tagloom.methods",
    "M3L": "tagloom.methods",
    "NOVA": "tagloom.methods",
    "SBMLR": "tagloom.methods",
    "SFSS": "tagloom.methods",
    "TKML": "tagloom.methods",
    "Annotator": "tagloom.core.annotator",
    "AutoAnnotator": "tagloom.tuning.auto.annotator",
    "BoostedAnnotator": "tagloom.methods",
    "CurdsAndWhey": "tagloom.methods",
    "FeatureGroups": "tagloom.core.groups",
    "FisherScore": "tagloom.methods",
    "HarmonicPropagation": "tagloom.methods",
    "KernelSVM": "tagloom.methods",
    "Keyword": "tagloom.core.keywords",
    "LabeledKFold": "tagloom.core.folds",
    "LapRLS": "tagloom.methods",
    "LapSVM": "tagloom.methods",
    "LaplacianTopicModel": "tagloom.methods",
    "LocalGlobalConsistency": "tagloom.methods",
    "MultipleKernelSVM": "tagloom.methods",
    "NeighborTransfer": "tagloom.methods",
    "PLSAWords": "tagloom.methods",
    "Project": "tagloom.project.project",
    "RegularizedLeastSquares": "tagloom.methods",
    "TagProp": "tagloom.methods",
    "TagVocabulary": "tagloom.core.vocabulary",
    "TopicMixture": "tagloom.methods",
    "TransductiveSVM": "tagloom.methods",
    "label_budget": "tagloom.core.folds",
}

__all__ = [
    "FSNM",
    "GLLR",
    "JEC",
    "LPP",
    "LPPSVM",
    "LPSSVM",
    "M3L",
    "NOVA",
    "SBMLR",
    "SFSS",
    "TKML",
    "Annotator",
    "AutoAnnotator",
    "BoostedAnnotator",
    "CurdsAndWhey",
    "FeatureGroups",
    "FisherScore",
    "HarmonicPropagation",
    "KernelSVM",
    "Keyword",
    "LabeledKFold",
    "LapRLS",
    "LapSVM",
    "LaplacianTopicModel",
    "LocalGlobalConsistency",
    "MultipleKernelSVM",
    "NeighborTransfer",
    "PLSAWords",
    "Project",
    "RegularizedLeastSquares",
    "TagProp",
    "TagVocabulary",
    "TopicMixture",
    "TransductiveSVM",
    "__version__",
    "label_budget",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
