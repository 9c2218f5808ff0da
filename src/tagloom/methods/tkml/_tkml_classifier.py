"""TKML's classifier: Eq. (6) for all tags, in the coordinates of the kernel map."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.methods.tkml._tkml_systems import column_cg
from tagloom.methods.tkml.problem import KernelMap, Problem
from tagloom.solvers import block_cg

__all__ = ["learn_classifier"]


def learn_classifier(problem: Problem, kernel_map: KernelMap) -> Floats:
    """Return W of shape (p, c) that is best for this kernel map.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    kernel_map : KernelMap
        Φ.

    Notes
    -----
    ``w_j = γ_c (I + Φ(γ_c Ω_j + γ_s L)Φᵀ)⁻¹ Φ Ω_j Y_j`` lies in the span of Φ, so that the system has the size of its
    basis and not of the dictionary. With one Ω for all tags it is one factorisation. Otherwise that with the median
    weights preconditions: in its coordinates the matrix of a tag is ``I + γ_c Z̃ᵀ(Ω_j - Ω̄)Z̃``.
    """
    if kernel_map.sparse:
        return _of_single_atoms(problem, kernel_map)
    Z = kernel_map.coordinates
    if problem.common:
        system = _system(problem, Z, problem.weights[:, 0])
        found = cho_solve((_factor(system, lower=False), False), Z.T @ problem.label_pull())
    else:
        found = _of_own_weights(problem, Z)
    return found if kernel_map.basis is None else kernel_map.basis @ found


def _system(problem: Problem, Z: Floats, weights: Floats) -> Floats:
    """Return ``I + Zᵀ(γ_c Ω + γ_s L)Z``."""
    pulled = problem.smoothness * (problem.laplacian @ Z)
    pulled += (problem.fidelity * weights)[:, None] * Z
    system: Floats = Z.T @ pulled
    system.flat[:: len(system) + 1] += 1.0
    return system


def _factor(system: Floats, *, lower: bool) -> Floats:
    """Return the triangle of a system's Cholesky factor."""
    try:
        factor, _ = cho_factor(system, lower=lower, overwrite_a=True)
    except (LinAlgError, ValueError):
        # The 1 on the diagonal is what makes it positive definite: beside numbers above 1/ε it is rounded away.
        raise InvalidInputError(
            "TKML cannot solve for its classifier: the features are so large that its penalty is lost in rounding. "
            "Divide each column by its standard deviation"
        ) from None
    return np.asarray(factor)


def _of_single_atoms(problem: Problem, kernel_map: KernelMap) -> Floats:
    """Where every photo has one atom, the matrix is sparse and the weights only change its diagonal."""
    Z = kernel_map.coordinates
    links = problem.smoothness * (Z.T @ problem.laplacian @ Z)
    shifts = 1.0 + problem.fidelity * (Z.T @ problem.weights)
    return np.asarray(block_cg(links.tocsr(), Z.T @ problem.label_pull(), shifts=shifts, tol=problem.tol).x)


def _of_own_weights(problem: Problem, Z: Floats) -> Floats:
    labelled = problem.weights.any(axis=1)
    middle = np.median(problem.weights, axis=1)
    lower = _factor(_system(problem, Z, middle), lower=True)
    whitened = solve_triangular(lower, Z[labelled].T, lower=True)  # (q, labelled)
    excess = problem.fidelity * (problem.weights - middle[:, None])[labelled]

    def apply(block: Floats, columns: NDArray[np.intp]) -> Floats:
        product: Floats = block + whitened @ (excess[:, columns] * (whitened.T @ block))
        return product

    rhs = whitened @ problem.label_pull()[labelled]
    found, _ = column_cg(apply, rhs, tol=problem.tol)
    return np.asarray(solve_triangular(lower, found, lower=True, trans=1))
