"""Baselines: the plain methods that every other one has to beat."""

from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.baselines.neighbor_transfer import NeighborTransfer
from tagloom.methods.baselines.propagation import HarmonicPropagation, LocalGlobalConsistency

__all__ = ["HarmonicPropagation", "LocalGlobalConsistency", "NeighborTransfer", "RegularizedLeastSquares"]
