"""Annotators: one file per paper, baselines in a room of their own. Nothing here reads a file."""

from tagloom.methods.baselines import (
    FSNM,
    GLLR,
    SBMLR,
    FisherScore,
    HarmonicPropagation,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)
from tagloom.methods.checks import check_annotator
from tagloom.methods.sfss import SFSS

__all__ = [
    "FSNM",
    "GLLR",
    "SBMLR",
    "SFSS",
    "FisherScore",
    "HarmonicPropagation",
    "LocalGlobalConsistency",
    "NeighborTransfer",
    "RegularizedLeastSquares",
    "check_annotator",
]
