"""Baselines: the plain methods that every other one has to beat."""

from tagloom.methods.baselines.fisher_score import FisherScore
from tagloom.methods.baselines.fsnm import FSNM
from tagloom.methods.baselines.gllr import GLLR
from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.baselines.neighbor_transfer import NeighborTransfer
from tagloom.methods.baselines.propagation import HarmonicPropagation, LocalGlobalConsistency
from tagloom.methods.baselines.sbmlr import SBMLR

__all__ = [
    "FSNM",
    "GLLR",
    "SBMLR",
    "FisherScore",
    "HarmonicPropagation",
    "LocalGlobalConsistency",
    "NeighborTransfer",
    "RegularizedLeastSquares",
]
