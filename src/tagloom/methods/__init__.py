"""Annotators: one file per paper, baselines in a room of their own. Nothing here reads a file.

Names load when they are first asked for.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.methods.baselines.fisher_score import FisherScore
    from tagloom.methods.baselines.fsnm import FSNM
    from tagloom.methods.baselines.gllr import GLLR
    from tagloom.methods.baselines.jec import JEC
    from tagloom.methods.baselines.laprls import LapRLS
    from tagloom.methods.baselines.lapsvm import LapSVM
    from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
    from tagloom.methods.baselines.lpp import LPP, LPPSVM
    from tagloom.methods.baselines.m3l import M3L
    from tagloom.methods.baselines.mkl import MultipleKernelSVM
    from tagloom.methods.baselines.neighbor_transfer import NeighborTransfer
    from tagloom.methods.baselines.plsa_words import PLSAWords
    from tagloom.methods.baselines.propagation import HarmonicPropagation, LocalGlobalConsistency
    from tagloom.methods.baselines.sbmlr import SBMLR
    from tagloom.methods.baselines.svm import KernelSVM
    from tagloom.methods.baselines.tagprop import TagProp
    from tagloom.methods.baselines.topic_mixture import TopicMixture
    from tagloom.methods.baselines.tsvm import TransductiveSVM
    from tagloom.methods.boosted import BoostedAnnotator
    from tagloom.methods.checks import check_annotator
    from tagloom.methods.curds_and_whey import CurdsAndWhey
    from tagloom.methods.lpssvm import LPSSVM
    from tagloom.methods.nova import NOVA
    from tagloom.methods.sfss import SFSS
    from tagloom.methods.tkml import TKML
    from tagloom.methods.topics import LaplacianTopicModel

_HOMES = {
    "FSNM": "tagloom.methods.baselines.fsnm",
    "GLLR": "tagloom.methods.baselines.gllr",
    "JEC": "tagloom.methods.baselines.jec",
    "LPP": "tagloom.methods.baselines.lpp",
    "LPPSVM": "tagloom.methods.baselines.lpp",
    "LPSSVM": "tagloom.methods.lpssvm",
    "M3L": "tagloom.methods.baselines.m3l",
    "NOVA": "tagloom.methods.nova",
    "SBMLR": "tagloom.methods.baselines.sbmlr",
    "SFSS": "tagloom.methods.sfss",
    "TKML": "tagloom.methods.tkml",
    "BoostedAnnotator": "tagloom.methods.boosted",
    "CurdsAndWhey": "tagloom.methods.curds_and_whey",
    "FisherScore": "tagloom.methods.baselines.fisher_score",
    "HarmonicPropagation": "tagloom.methods.baselines.propagation",
    "KernelSVM": "tagloom.methods.baselines.svm",
    "LapRLS": "tagloom.methods.baselines.laprls",
    "LapSVM": "tagloom.methods.baselines.lapsvm",
    "LaplacianTopicModel": "tagloom.methods.topics",
    "LocalGlobalConsistency": "tagloom.methods.baselines.propagation",
    "MultipleKernelSVM": "tagloom.methods.baselines.mkl",
    "NeighborTransfer": "tagloom.methods.baselines.neighbor_transfer",
    "PLSAWords": "tagloom.methods.baselines.plsa_words",
    "RegularizedLeastSquares": "tagloom.methods.baselines.least_squares",
    "TagProp": "tagloom.methods.baselines.tagprop",
    "TopicMixture": "tagloom.methods.baselines.topic_mixture",
    "TransductiveSVM": "tagloom.methods.baselines.tsvm",
    "check_annotator": "tagloom.methods.checks",
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
    "BoostedAnnotator",
    "CurdsAndWhey",
    "FisherScore",
    "HarmonicPropagation",
    "KernelSVM",
    "LapRLS",
    "LapSVM",
    "LaplacianTopicModel",
    "LocalGlobalConsistency",
    "MultipleKernelSVM",
    "NeighborTransfer",
    "PLSAWords",
    "RegularizedLeastSquares",
    "TagProp",
    "TopicMixture",
    "TransductiveSVM",
    "check_annotator",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
