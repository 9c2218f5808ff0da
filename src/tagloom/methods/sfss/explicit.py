"""The reduced quadratic of SFSS with its matrices in full: for reweighting, for γ = 0 and for the ablation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from tagloom.core import UNKNOWN, Floats, LabelMatrix, Reals, known_patterns
from tagloom.graph import NeighborGraph
from tagloom.methods.sfss.features import CentredFeatures
from tagloom.methods.sfss.problem import ScoreSystem
from tagloom.solvers import block_cg

__all__ = ["ExplicitQuadratic", "direct_intercept", "direct_quadratic", "joint_quadratic", "least_norm", "reweighted"]


# Residual of the linear systems behind the matrix.
TOLERANCE = 1e-12
# Directions below this share of the largest eigenvalue are rounding.
RANK_TOLERANCE = 1e-12


class ExplicitQuadratic:
    """``constant + tr(WᵀAW) - 2tr(BᵀW)``, with one A for all tags that are known on the same photos.

    It is a datafit for `tagloom.solvers.solve_penalized`.
    """

    def __init__(self, matrices: list[Floats], tags: list[NDArray[np.intp]], B: Floats, constant: float = 0.0) -> None:
        self.matrices, self.tags, self.B, self.constant = matrices, tags, B, constant
        self.shape: tuple[int, int] = (B.shape[0], B.shape[1])

    def product(self, W: Reals, left: Any = slice(None), right: Any = slice(None)) -> Floats:
        """Return ``A[left, right] W``, each tag with its own A."""
        result = np.empty((self.matrices[0][left].shape[0], W.shape[1]))
        for A, tags in zip(self.matrices, self.tags, strict=True):
            result[:, tags] = A[left][:, right] @ W[:, tags]
        return result

    def value(self, W: Reals) -> float:
        """Return the function at W."""
        return self.constant + float(np.vdot(W, self.product(W) - 2.0 * self.B))

    def gradient(self, W: Reals, rows: slice | None = None) -> Floats:
        """Return the gradient at W, or some of its rows."""
        part = slice(None) if rows is None else rows
        return 2.0 * (self.product(W, left=part) - self.B[part])

    def full_gradient(self, W: Reals, rows: NDArray[np.intp]) -> Floats:
        """Return the whole gradient at the matrix that is W on ``rows`` and zero elsewhere."""
        return 2.0 * (self.product(W, right=rows) - self.B)

    def lipschitz(self, rows: slice) -> float:
        """Return a Lipschitz constant of the gradient's rows as a function of these rows of W."""
        if rows.stop == rows.start:
            return 0.0
        return 2.0 * max(float(np.linalg.eigvalsh(A[rows, rows])[-1]) for A in self.matrices)

    def curvature(self, rows: slice, change: Reals) -> Floats:
        """Return what a change of these rows of W adds to these rows of the gradient."""
        return 2.0 * self.product(change, left=rows, right=rows)

    def restrict(self, rows: NDArray[np.intp]) -> "ExplicitQuadratic":
        """Return the function of these rows, the others being zero."""
        matrices = [A[np.ix_(rows, rows)] for A in self.matrices]
        return ExplicitQuadratic(matrices, self.tags, self.B[rows], self.constant)


def joint_quadratic(
    features: CentredFeatures, system: ScoreSystem, Y: LabelMatrix, B: Floats, constant: float
) -> ExplicitQuadratic:
    """Return Eq. (14), ``A = μX̃ᵀX̃ - μ²X̃_uᵀP_uuX̃_u`` by one linear system per feature and set of known photos."""
    known, pattern_of = known_patterns(Y)
    gram = features.gram()
    everything = np.arange(features.shape[1])
    matrices, tags = [], []
    for pattern in range(known.shape[1]):
        free = np.flatnonzero(~known[system.unknown_rows, pattern])
        X_u = features.columns(everything, system.unknown_rows[free]).astype(np.float64)
        K = sparse.csr_array(system.K[free][:, free])
        matrices.append(system.mu * gram - system.mu**2 * _drawn(K, X_u, system.mu / len(Y)))
        tags.append(np.flatnonzero(pattern_of == pattern))
    return ExplicitQuadratic(matrices, tags, B, constant)


def _drawn(K: Any, X: Floats, weight: float) -> Floats:
    """Return ``Xᵀ(K - weight·11ᵀ)⁻¹X``."""
    solved = block_cg(K, np.hstack([X, np.ones((len(X), 1))]), tol=TOLERANCE, max_iter=100_000).x
    z, along = solved[:, -1], X.T @ solved[:, -1]
    drawn = X.T @ solved[:, :-1] + weight / (1.0 - weight * z.sum()) * np.outer(along, along)
    return np.asarray(0.5 * (drawn + drawn.T))


def direct_quadratic(
    features: CentredFeatures, graph: NeighborGraph, Y: LabelMatrix, regression_weight: float
) -> ExplicitQuadratic:
    """Return the smooth part of Eq. (3), without F: ``tr(WᵀXᵀLXW) + μ‖X_lW + 1bᵀ - Y_l‖²``, b eliminated."""
    known, pattern_of = known_patterns(Y)
    everything = np.arange(features.shape[1])
    X = features.columns(everything).astype(np.float64)
    smooth = X.T @ (graph.laplacian() @ X)
    B, constant = np.zeros((features.shape[1], Y.shape[1])), 0.0
    matrices, groups = [], []
    for pattern in range(known.shape[1]):
        rows, tags = np.flatnonzero(known[:, pattern]), np.flatnonzero(pattern_of == pattern)
        X_l, Y_l = X[rows], Y[np.ix_(rows, tags)].astype(np.float64)
        X_l -= X_l.mean(axis=0) if rows.size else 0.0
        Y_l -= Y_l.mean(axis=0) if rows.size else 0.0
        matrices.append(smooth + regression_weight * (X_l.T @ X_l))
        B[:, tags] = regression_weight * (X_l.T @ Y_l)
        constant += regression_weight * float(np.vdot(Y_l, Y_l))
        groups.append(tags)
    return ExplicitQuadratic(matrices, groups, B, constant)


def direct_intercept(mean: Floats, regression: Floats, W: Floats, Y: LabelMatrix) -> Floats:
    """Return b of Eq. (3): the mean over the known photos of what the features leave; 0 for a tag known nowhere."""
    known = Y != UNKNOWN
    left = np.where(known, Y - regression, 0.0).sum(axis=0)
    intercept: Floats = np.divide(left, known.sum(axis=0), out=np.zeros(Y.shape[1]), where=known.any(axis=0))
    return intercept - mean @ W


def least_norm(quadratic: ExplicitQuadratic) -> Floats:
    """Return the minimiser without penalty that has the least norm."""
    W = np.zeros(quadratic.shape)
    for A, tags in zip(quadratic.matrices, quadratic.tags, strict=True):
        eigenvalues, vectors = linalg.eigh(A)
        kept = eigenvalues > RANK_TOLERANCE * max(float(eigenvalues[-1]), np.finfo(np.float64).tiny)
        basis = vectors[:, kept]
        W[:, tags] = basis @ ((basis.T @ quadratic.B[:, tags]) / eigenvalues[kept, None])
    return W


def reweighted(
    quadratic: ExplicitQuadratic, strength: float, *, tol: float, max_iter: int
) -> tuple[Floats, list[float]]:
    """Minimise with the penalty by the paper's Algorithm 1; return W and the objective after each iteration.

    ``W = (DA + γI)⁻¹DB`` with ``D = 2 diag‖w_i‖`` is solved in its symmetric form. The start is the ridge solution, not
    a random one; rows shrink but do not become zero.
    """
    W = _weighted_solve(quadratic, np.ones(quadratic.shape[0]), strength)
    objective: list[float] = []
    for _ in range(max_iter):
        norms = np.linalg.norm(W, axis=1)
        objective.append(quadratic.value(W) + strength * float(norms.sum()))
        if len(objective) > 1 and objective[-2] - objective[-1] <= tol * abs(objective[-1]):
            break
        W = _weighted_solve(quadratic, 2.0 * norms, strength)  # Eq. (16)
    return W, objective


def _weighted_solve(quadratic: ExplicitQuadratic, D: Floats, strength: float) -> Floats:
    roots = np.sqrt(D)
    W = np.empty(quadratic.shape)
    for A, tags in zip(quadratic.matrices, quadratic.tags, strict=True):
        system = roots[:, None] * A * roots
        system[np.diag_indices_from(system)] += strength
        solved = linalg.solve(system, roots[:, None] * quadratic.B[:, tags], assume_a="pos")
        W[:, tags] = roots[:, None] * solved
    return W
