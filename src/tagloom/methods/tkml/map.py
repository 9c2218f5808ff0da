"""TKML's kernel map for fixed atoms and classifier: Eq. (8), solved in the space of labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import svd

from tagloom.core.typing import Floats
from tagloom.methods.tkml._tkml_systems import coupled_cg
from tagloom.methods.tkml.problem import KernelMap, Problem
from tagloom.solvers import block_cg

__all__ = ["LabelSpace", "diffuse", "solve_labels"]


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


def solve_labels(problem: Problem, space: LabelSpace) -> tuple[KernelMap, Floats, int]:
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


def _coupled(problem: Problem, space: LabelSpace, rhs: Floats) -> tuple[Floats, int]:
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

    def __init__(self, problem: Problem, space: LabelSpace) -> None:
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
    problem: Problem, space: LabelSpace, scores: Floats, *, max_sweeps: int, tol: float
) -> tuple[KernelMap, Floats, int]:
    """Return the kernel map after the paper's own sweeps of Eq. (8), which stop short of the fixed point.

    Parameters
    ----------
    problem : Problem
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
