"""TKML's kernel map for fixed atoms and classifier: Eq. (8), solved in the space of labels."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular, svd
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import Floats, Indices
from tagloom.exceptions import InvalidInputError
from tagloom.methods.tkml.problem import KernelMap, TkmlProblem
from tagloom.solvers import block_cg

__all__ = ["LabelSpace", "diffuse", "learn_classifier", "solve_labels"]


# Conjugate gradients where the matrix differs from column to column, or where columns are coupled.


def column_cg(
    apply: Callable[[Floats, Indices], Floats], rhs: Floats, *, tol: float, max_iter: int = 1000
) -> tuple[Floats, int]:
    """Solve one symmetric positive definite system for each column.

    Parameters
    ----------
    apply : function
        Of a block (n, w) and the numbers of its columns: the product of each with its own matrix.
    rhs : array of shape (n, c)
        Right-hand sides.
    tol : float
        A column is done when its residual is at most this share of its right-hand side.
    max_iter : int
        Most iterations.

    Returns
    -------
    x : array of shape (n, c)
        Solutions.
    n_iter : int
        Iterations of the slowest column.
    """
    x = np.zeros_like(rhs)
    norms = np.linalg.norm(rhs, axis=0)
    columns = np.flatnonzero(norms > 0)
    found, residual = x[:, columns], rhs[:, columns]
    direction, square = residual, np.square(norms[columns])
    n_iter = 0
    while columns.size and n_iter < max_iter:
        product = apply(direction, columns)
        step = square / np.einsum("ij,ij->j", direction, product)
        found = found + step * direction
        residual = residual - step * product
        fresh = np.einsum("ij,ij->j", residual, residual)
        direction = residual + (fresh / square) * direction
        square = fresh
        n_iter += 1
        done = np.sqrt(square) <= tol * norms[columns]
        if done.any():
            x[:, columns[done]] = found[:, done]
            left = ~done
            columns, square = columns[left], square[left]
            found, residual, direction = found[:, left], residual[:, left], direction[:, left]
    x[:, columns] = found
    if columns.size:
        _warn(float((np.sqrt(square) / norms[columns]).max()), tol, max_iter)
    return x, n_iter


def coupled_cg(
    apply: Callable[[Floats], Floats],
    rhs: Floats,
    *,
    precondition: Callable[[Floats], Floats],
    tol: float,
    max_iter: int = 2000,
) -> tuple[Floats, int]:
    """Solve one symmetric positive definite system whose unknown is a matrix.

    Parameters
    ----------
    apply : function
        The matrix times an array of the shape of ``rhs``.
    rhs : array of shape (m, k)
        Right-hand side.
    precondition : function
        An approximate inverse, symmetric positive definite.
    tol : float
        Done when the residual is at most this share of the right-hand side, both in the norm of the preconditioner.
    max_iter : int
        Most iterations.

    Returns
    -------
    x : array of shape (m, k)
        Solution.
    n_iter : int
        Iterations.
    """
    x = np.zeros_like(rhs)
    residual = rhs.copy()
    nearer = precondition(residual)
    square = start = float(np.vdot(residual, nearer))
    direction, n_iter = nearer, 0
    while square > tol * tol * start and n_iter < max_iter:
        product = apply(direction)
        step = square / float(np.vdot(direction, product))
        x += step * direction
        residual -= step * product
        nearer = precondition(residual)
        fresh = float(np.vdot(residual, nearer))
        direction = nearer + (fresh / square) * direction
        square = fresh
        n_iter += 1
    if square > tol * tol * start:
        _warn(float(np.sqrt(square / start)), tol, max_iter)
    return x, n_iter


def _warn(residual: float, tol: float, max_iter: int) -> None:
    warnings.warn(
        f"TKML: a linear system ended at the relative residual {residual:.2g} after {max_iter} iterations, above "
        f"solver_tol={tol:g}. Raise solver_tol or rank_penalty",
        ConvergenceWarning,
        stacklevel=3,
    )


# TKML's classifier: Eq. (6) for all tags, in the coordinates of the kernel map.


def learn_classifier(problem: TkmlProblem, kernel_map: KernelMap) -> Floats:
    """Return W of shape (p, c) that is best for this kernel map.

    Parameters
    ----------
    problem : TkmlProblem
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


def _system(problem: TkmlProblem, Z: Floats, weights: Floats) -> Floats:
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


def _of_single_atoms(problem: TkmlProblem, kernel_map: KernelMap) -> Floats:
    """Where every photo has one atom, the matrix is sparse and the weights only change its diagonal."""
    Z = kernel_map.coordinates
    links = problem.smoothness * (Z.T @ problem.laplacian @ Z)
    shifts = 1.0 + problem.fidelity * (Z.T @ problem.weights)
    return np.asarray(block_cg(links.tocsr(), Z.T @ problem.label_pull(), shifts=shifts, tol=problem.tol).x)


def _of_own_weights(problem: TkmlProblem, Z: Floats) -> Floats:
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


_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LabelSpace:
    """What B and W leave of the p-dimensional problem.

    With ``M = μI + γ_c BᵀB`` the best map is ``Φ = M⁻¹(γ_c BᵀX + W N)``: N has one row for each tag. From the singular
    values s of B, ``M^(-1/2)`` is known on its row space and is ``μ^(-1/2)`` elsewhere, and the singular values of
    ``M^(-1/2)W = left · diag(roots) · right`` give ``S = WᵀM⁻¹W`` without an inverse and without squaring. Unknowns
    are ``z = roots · right · N``: all scores are ``T = T0 + z · roots · right`` and Φ needs no division by small
    numbers.

    Attributes
    ----------
    basis : array of shape (p, q)
        Orthonormal: the row space of B, then what W adds to it.
    scales : array of shape (q,)
        ``M^(-1/2)`` in this basis.
    projector : array of shape (d, r)
        From features to coordinates of ``M⁻¹ γ_c Bᵀx``, in the first r columns of the basis.
    linear : array of shape (d, c)
        From features to T0.
    left, roots, right : arrays of shape (q, k), (k,), (k, c)
        As above.
    directions, singular_values : arrays of shape (d, r), (r,)
        Of B.
    """

    basis: Floats
    scales: Floats
    projector: Floats
    linear: Floats
    left: Floats
    roots: Floats
    right: Floats
    directions: Floats
    singular_values: Floats

    @classmethod
    def of(cls, atoms: Floats, classifier: Floats, *, fidelity: float, rank_penalty: float) -> "LabelSpace":
        """Reduce atoms (p, d) and a classifier (p, c)."""
        V, s, directions = _thin_svd(atoms)
        inside = V.T @ classifier
        outside = classifier - V @ inside
        outside -= V @ (V.T @ outside)  # once more: what is left of V would be divided by μ
        Q, r, mixing = _thin_svd(outside, largest=float(np.linalg.norm(classifier)))
        scales = 1.0 / np.sqrt(np.concatenate([rank_penalty + fidelity * s * s, np.full(len(r), rank_penalty)]))
        left, roots, right = _thin_svd(scales[:, None] * np.concatenate([inside, r[:, None] * mixing]))
        projector = directions.T * (fidelity * s / (rank_penalty + fidelity * s * s))
        basis = np.concatenate([V, Q], axis=1)
        return cls(basis, scales, projector, projector @ inside, left, roots, right, directions.T, s)

    def coordinates(self, X: Floats, z: Floats) -> Floats:
        """Return coordinates of the map in the basis, (n, q)."""
        found: Floats = (z @ self.left.T) * self.scales
        found[:, : self.projector.shape[1]] += X @ self.projector
        return found

    def scores(self, base: Floats, z: Floats) -> Floats:
        """Return T of shape (n, c) from T0 and z."""
        found: Floats = base + (z * self.roots) @ self.right
        return found

    def relax(self, base: Floats, gathered: Floats, held: Floats) -> Floats:
        """Return z of photos whose neighbours are fixed: one step of Eq. (8).

        Parameters
        ----------
        base : array of shape (n, c)
            T0.
        gathered : array of shape (n, c)
            ``γ_c Ω∘Y + γ_s A T`` of the neighbours' scores.
        held : array of shape (n,)
            ``γ_s D + γ_c Ω``.
        """
        difference = (gathered - held[:, None] * base) @ self.right.T
        found: Floats = difference * self.roots / (1.0 + np.square(self.roots) * held[:, None])
        return found

    def misfit(self, X: Floats, coordinates: Floats) -> float:
        """Return ``‖X - BΦ‖²``."""
        r = len(self.singular_values)
        along = X @ self.directions
        outside = max(float(np.vdot(X, X) - np.vdot(along, along)), 0.0)
        along -= coordinates[:, :r] * self.singular_values
        return outside + float(np.vdot(along, along))


def solve_labels(problem: TkmlProblem, space: LabelSpace) -> tuple[KernelMap, Floats, int]:
    """Return the best kernel map for these atoms and this classifier, its scores, and the iterations it took.

    With one Ω for all tags, ``N + S N E = γ_c Y Ω - T0 E`` falls apart in the eigenvectors of S into sparse systems
    ``(I + σ_j E) z_j``, solved together. With an Ω for each tag they are coupled: ``z + Fᵀ𝓔(F z)``, F the roots times
    the right vectors and 𝓔 the pull of graph and labels, is one symmetric positive definite system.
    """
    base = problem.X @ space.linear
    rhs = ((problem.label_pull() - problem.pull(base)) @ space.right.T) * space.roots
    if not len(space.roots):
        z, n_iter = rhs, 0
    elif problem.common:
        E = problem.smoothness * problem.laplacian + _diagonal(problem.fidelity * problem.weights[:, 0])
        result = block_cg(E, rhs, scales=np.square(space.roots), shifts=np.ones(len(space.roots)), tol=problem.tol)
        z, n_iter = np.asarray(result.x, dtype=np.float64), int(result.n_iter.max())
    else:
        z, n_iter = _coupled(problem, space, rhs)
    return KernelMap(space.coordinates(problem.X, z), space.basis), space.scores(base, z), n_iter


def _coupled(problem: TkmlProblem, space: LabelSpace, rhs: Floats) -> tuple[Floats, int]:
    factor = space.roots[:, None] * space.right  # (k, c)

    def apply(z: Floats) -> Floats:
        product: Floats = z + problem.pull(z @ factor) @ factor.T
        return product

    return coupled_cg(apply, rhs, precondition=_Photowise(problem, space), tol=problem.tol)


class _Photowise:
    """An approximate inverse of ``I + Fᵀ diag(e_i) F`` for each photo i, e its degree and its weights of the tags.

    With ``e = ē_i ρ`` and ``h² = 1 + σ ē_i`` the matrix is ``h (1/h² + √β R diag(ρ) Rᵀ √β) h``, ``β = 1 - 1/h²``. The
    bracket turned by turning ρ is exact for large σ, where tags do not meet, and for small σ, where it is the identity.
    """

    def __init__(self, problem: TkmlProblem, space: LabelSpace) -> None:
        held = problem.smoothness * problem.laplacian.diagonal()[:, None] + problem.fidelity * problem.weights
        mean = held.mean(axis=1)
        self._right = space.right
        # A tag that nothing holds would get an infinite step.
        self._easing = 1.0 / np.maximum(held / np.where(mean > 0, mean, 1.0)[:, None], 1e-3)
        pulled = np.square(space.roots) * mean[:, None]
        self._plain = 1.0 / np.square(1.0 + pulled)
        self._shared = np.sqrt(pulled) / (1.0 + pulled)

    def __call__(self, residual: Floats) -> Floats:
        """Return the approximate solution of shape (m, k)."""
        by_tag = ((self._shared * residual) @ self._right) * self._easing
        found: Floats = self._plain * residual
        found += self._shared * (by_tag @ self._right.T)
        return found


def diffuse(
    problem: TkmlProblem, space: LabelSpace, scores: Floats, *, max_sweeps: int, tol: float
) -> tuple[KernelMap, Floats, int]:
    """Return the kernel map after the paper's own sweeps of Eq. (8), which stop short of the fixed point.

    Parameters
    ----------
    problem : TkmlProblem
        With one Ω for all tags.
    space : LabelSpace
        Of atoms and classifier.
    scores : array of shape (m, c)
        ``WᵀΨ⁽⁰⁾``.
    max_sweeps : int
        Most sweeps.
    tol : float
        ε: done when ``‖Ψ⁽ᵏ⁾ - Ψ⁽ᵏ⁻¹⁾‖`` is at most this.
    """
    base = problem.X @ space.linear
    degrees = problem.laplacian.diagonal()
    held = problem.smoothness * degrees + problem.fidelity * problem.weights[:, 0]
    adjacency = _diagonal(degrees) - problem.laplacian
    spread = (space.left * np.square(space.scales)[:, None]).T @ space.left
    labels = problem.label_pull()
    z, n_sweeps, change = None, 0, np.inf
    while n_sweeps < max_sweeps and change > tol:
        fresh = space.relax(base, labels + problem.smoothness * (adjacency @ scores), held)
        if z is not None:
            gap = fresh - z
            change = float(np.sqrt(max(float(np.vdot(gap @ spread, gap)), 0.0)))
        z, scores = fresh, space.scores(base, fresh)
        n_sweeps += 1
    z = np.zeros((len(base), len(space.roots))) if z is None else z
    return KernelMap(space.coordinates(problem.X, z), space.basis), scores, n_sweeps


def _diagonal(values: Floats) -> Any:
    return sparse.diags_array(values).tocsr()


def _thin_svd(A: Floats, largest: float | None = None) -> tuple[Floats, Floats, Floats]:
    """Return the singular triplets above rounding, relative to the largest singular value or a given size."""
    if 0 in A.shape:
        return np.zeros((A.shape[0], 0)), np.zeros(0), np.zeros((0, A.shape[1]))
    U, s, Vt = svd(A, full_matrices=False, check_finite=False)
    kept = s > _EPS * max(A.shape) * (float(s[0]) if largest is None else largest)
    return U[:, kept], s[kept], Vt[kept]
