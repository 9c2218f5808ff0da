"""Solvers shared by the methods: linear systems with many right-hand sides, and penalised problems in parts.

`block_cg` solves sparse positive definite systems for all columns at once. `solve_penalized` minimises a `Datafit` plus
a `Penalty`; a new penalty or datafit is one small class.
"""

from tagloom.exceptions import NotPositiveDefiniteError
from tagloom.solvers.conjugate import BlockCGResult, block_cg
from tagloom.solvers.datafits import Datafit, QuadraticGram
from tagloom.solvers.penalized import PenalizedResult, solve_penalized
from tagloom.solvers.penalties import L21, Penalty

__all__ = [
    "L21",
    "BlockCGResult",
    "Datafit",
    "NotPositiveDefiniteError",
    "PenalizedResult",
    "Penalty",
    "QuadraticGram",
    "block_cg",
    "solve_penalized",
]
