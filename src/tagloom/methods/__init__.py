"""Annotators: one file per paper, baselines in a room of their own. Nothing here reads a file."""

from tagloom.methods.baselines import (
    HarmonicPropagation,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)
from tagloom.methods.checks import check_annotator

__all__ = [
    "HarmonicPropagation",
    "LocalGlobalConsistency",
    "NeighborTransfer",
    "RegularizedLeastSquares",
    "check_annotator",
]
