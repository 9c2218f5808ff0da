"""A Newton step for a quadratic with the l2,1 penalty, on the rows that are not zero."""

from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy.linalg import lapack

from tagloom.core.typing import Reals
from tagloom.solvers.cg._blocks import one_thread_each
from tagloom.solvers.groups.datafits import QuadraticGram
from tagloom.solvers.groups.penalties import L21

__all__ = ["newton_candidate", "suits_newton"]


# A step costs the cube of the rows, a pass over them the square times the columns: the most rows for which it pays.
FEWEST_ROWS, ROWS_PER_COLUMN = 200, 16
# Rows below which a factorisation is quicker in one thread than in several.
SMALL = 1000
# Lengths of the step that are compared.
LENGTHS = 0.5 ** np.arange(0, 9)


def suits_newton(datafit: Any, penalty: Any) -> bool:
    """Return whether the step is known for these parts and cheap at their size."""
    if not (isinstance(datafit, QuadraticGram) and isinstance(penalty, L21) and penalty.strength > 0):
        return False
    rows, columns = datafit.shape
    return penalty.weights is None and 0 < rows <= max(FEWEST_ROWS, ROWS_PER_COLUMN * columns)


def newton_candidate(datafit: QuadraticGram, penalty: L21, W: Reals) -> Reals | None:
    """Return W after a step on its non-zero rows that lowers the objective, or None if there is none.

    The Hessian is ``scale·A ⊗ I`` plus ``t_i(I - u_iu_iᵀ)`` for row i, with ``t_i = γ/‖w_i‖`` and u_i its direction.
    What couples the columns has rank one for each row, so the step needs two factorisations in the number of rows only:
    with ``M = scale·A + diag(t)`` and ``s_i = t_i u_iᵀΔ_i``, ``MΔ = -g + diag(s)U`` and
    ``(diag(1/t) - M⁻¹∘UUᵀ)s = diag(U(-M⁻¹g)ᵀ)``.
    """
    used = np.flatnonzero(W.any(axis=1))
    if used.size == 0:
        return None
    whole = used.size == len(W)
    part = W if whole else W[used]
    A = datafit.A if whole else datafit.A[np.ix_(used, used)]
    norms = np.sqrt(np.einsum("ij,ij->i", part, part))
    directions = part / norms[:, None]
    product = A @ part
    B = datafit.B if whole else datafit.B[used]
    gradient = datafit.scale * (product - B) + penalty.strength * directions
    with one_thread_each() if used.size < SMALL else nullcontext():
        step = _solve(datafit.scale * A, penalty.strength / norms, directions, gradient)
    if step is None or not np.isfinite(step).all():
        return None
    slope = datafit.scale * float(np.vdot(product - B, step))
    bend = 0.5 * datafit.scale * float(np.vdot(step, A @ step))
    length = _best_length(part, step, norms, slope, bend, penalty.strength)
    if length == 0:
        return None
    candidate = np.zeros_like(W)
    candidate[used] = part + length * step
    return candidate


def _solve(H: Reals, t: Reals, directions: Reals, gradient: Reals) -> Reals | None:
    """Return the Newton step, or None where a factorisation fails."""
    H[np.diag_indices_from(H)] += t
    factor, failed = lapack.dpotrf(H.T, lower=1, overwrite_a=1)
    if failed:
        return None
    free, _ = lapack.dpotrs(factor, -gradient, lower=1)
    # The entries of the inverse themselves stand in the second system.
    lower, failed = lapack.dpotri(factor, lower=1)
    if failed:
        return None
    coupling = np.multiply(lower, directions @ -directions.T, order="F")
    coupling[np.diag_indices_from(coupling)] += 1.0 / t
    second, failed = lapack.dpotrf(coupling, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    s, _ = lapack.dpotrs(second, np.einsum("ij,ij->i", directions, free), lower=1)
    bound, _ = lapack.dpotrs(factor, s[:, None] * directions, lower=1)
    result: Reals = free + bound
    return result


def _best_length(W: Reals, step: Reals, norms: Reals, slope: float, bend: float, strength: float) -> float:
    """Return the length of the step with the lowest objective, 0 if none lowers it."""
    along, size = np.einsum("ij,ij->i", W, step), np.einsum("ij,ij->i", step, step)
    squares = norms**2 + 2.0 * np.outer(LENGTHS, along) + np.outer(LENGTHS**2, size)
    change = np.sqrt(np.maximum(squares, 0.0)) - norms
    values = LENGTHS * slope + LENGTHS**2 * bend + strength * change.sum(axis=1)
    best = int(np.argmin(values))
    # Where the change is rounding the caller compares the optimality.
    return float(LENGTHS[best]) if values[best] < 0 else 0.0
