"""Solvers shared by the methods: linear systems with many right-hand sides, and penalised problems in parts.

`block_cg` solves sparse positive definite systems for all columns at once. `solve_penalized` minimises a `Datafit` plus
a `Penalty`; a new penalty or datafit is one small class. `GroupColumns` does the same for many tags on one Gram matrix,
each with groups and a strength of its own, the penalty a `Radial` function of a group's length.
"""

from tagloom.exceptions import NotPositiveDefiniteError
from tagloom.solvers.cca import SparseCanonicalPairs, sparse_cca
from tagloom.solvers.cg import BlockCGResult, block_cg
from tagloom.solvers.groups import (
    L21,
    MCP,
    SCAD,
    Datafit,
    GroupColumns,
    GroupColumnsResult,
    Norm,
    Penalty,
    QuadraticGram,
    Radial,
)
from tagloom.solvers.penalized import PenalizedResult, solve_penalized
from tagloom.solvers.secular import RankOneSpectra, rank_one_spectra

__all__ = [
    "L21",
    "MCP",
    "SCAD",
    "BlockCGResult",
    "Datafit",
    "GroupColumns",
    "GroupColumnsResult",
    "Norm",
    "NotPositiveDefiniteError",
    "PenalizedResult",
    "Penalty",
    "QuadraticGram",
    "Radial",
    "RankOneSpectra",
    "SparseCanonicalPairs",
    "block_cg",
    "rank_one_spectra",
    "solve_penalized",
    "sparse_cca",
]
