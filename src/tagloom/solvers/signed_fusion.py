"""Numbers that belong together are drawn together: a fused penalty on a graph whose edges have signs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse

from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError

__all__ = ["FusedPoint", "SignedFusion"]


# Iterations between two looks at the duality gap and at the balance of the two residuals.
PERIOD = 10
# Over-relaxation of the alternating directions; 1 is none.
RELAXATION = 1.7
# How far apart the two residuals may be before the step is changed, and by what factor it is.
IMBALANCE, CHANGE = 5.0, 2.0


@dataclass(frozen=True)
class FusedPoint:
    """What `SignedFusion.prox` found.

    Attributes
    ----------
    point : ndarray of shape (c,)
        The minimiser; entries that the l1 part makes zero are exactly zero.
    gap : float
        Duality gap of the fused part as a share of ``½‖z‖²``. The distance from the exact minimiser is at most
        ``√gap · ‖z‖``.
    multipliers : ndarray
        One per edge, within plus and minus its weight: the proof of the gap, and a start for a point nearby.
    n_iter : int
        Iterations of the alternating directions.
    converged : bool
        Whether ``gap`` is at most ``tol``.
    """

    point: Floats
    gap: float
    multipliers: Floats
    n_iter: int
    converged: bool


class SignedFusion:
    """The penalty ``sparsity·‖v‖₁ + fusion·Σ_{i<j} |r_ij| |v_i - sign(r_ij) v_j|``.

    Two entries with a positive r are drawn to one value, two with a negative r to opposite values.

    Parameters
    ----------
    correlations : array of shape (c, c) or None
        r, symmetric; the diagonal is not looked at. A zero is no edge. None: no fusion.
    sparsity : float, default=0.0
        Weight of the l1 norm, not negative.
    fusion : float, default=1.0
        Weight of the fused part, not negative.
    tol : float, default=1e-12
        Largest duality gap of a prox, as a share of ``½‖z‖²``.
    max_iter : int, default=20000
        Most iterations of a prox.

    Notes
    -----
    The prox of the sum is the prox of the fused part followed by soft thresholding: that is an odd and monotone map,
    so it keeps the signs of ``v_i - v_j`` and of ``v_i + v_j`` or makes them zero, and what was a subgradient of the
    fused part stays one. The fused part is solved by the alternating direction method of multipliers with
    ``a = Dv``, D having one row per edge; its linear system has c unknowns and is diagonal in the eigenvectors of DᵀD,
    whatever the step. The scaled multipliers stay feasible for the dual ``max ½‖z‖² - ½‖z - Dᵀλ‖², |λ_e| ≤ w_e``, so
    ``v = z - Dᵀλ`` has the gap ``Σ w_e|Dv|_e - λᵀDv``.
    """

    def __init__(
        self,
        correlations: ArrayLike | None,
        *,
        sparsity: float = 0.0,
        fusion: float = 1.0,
        tol: float = 1e-12,
        max_iter: int = 20_000,
    ) -> None:
        for name, value in {"sparsity": sparsity, "fusion": fusion, "tol": tol}.items():
            if not (np.isfinite(value) and value >= 0):
                raise InvalidInputError(f"{name} must be finite and not negative, got {value!r}")
        self.sparsity, self.tol, self.max_iter = float(sparsity), float(tol), int(max_iter)
        relations = np.zeros((0, 0)) if correlations is None or fusion == 0 else _check_relations(correlations)
        first, second = np.nonzero(np.triu(relations, 1))
        values = relations[first, second]
        self._weights: Floats = fusion * np.abs(values)
        rows = np.arange(len(values))
        ends = (np.r_[rows, rows], np.r_[first, second])
        entries = np.r_[np.ones(len(values)), -np.sign(values)]
        self._edges = sparse.csr_array((entries, ends), (len(rows), len(relations)))
        self._columns = sparse.csr_array(self._edges.T)
        laplacian = (self._columns @ self._edges).toarray()
        eigen = linalg.eigh(laplacian) if rows.size else (np.ones(1), np.eye(1))
        self._eigenvalues: Floats = eigen[0]
        self._vectors: Floats = eigen[1]

    @property
    def n_edges(self) -> int:
        """Number of pairs that are drawn together."""
        return len(self._weights)

    def value(self, v: Floats) -> float:
        """Return the penalty of v."""
        fused = float(self._weights @ np.abs(self._edges @ v)) if self.n_edges else 0.0
        return self.sparsity * float(np.abs(v).sum()) + fused

    def prox(self, z: Floats, multipliers: Floats | None = None) -> FusedPoint:
        """Return ``argmin_v ½‖v - z‖² + penalty(v)`` with its certificate.

        Parameters
        ----------
        z : array of shape (c,)
            Where to start from.
        multipliers : array, optional
            Those of a point nearby. Default: zero.
        """
        point, gap, n_iter = z, 0.0, 0
        found = np.zeros(self.n_edges)
        if self.n_edges and z.any():
            point, found, gap, n_iter = self._fuse(z, found if multipliers is None else multipliers)
        shrunk = np.sign(point) * np.maximum(np.abs(point) - self.sparsity, 0.0)
        return FusedPoint(shrunk, gap, found, n_iter, gap <= self.tol)

    def _fuse(self, z: Floats, multipliers: Floats) -> tuple[Floats, Floats, float, int]:
        """Return the prox of the fused part, its multipliers, the relative gap and the number of iterations."""
        step = 1.0 / float(self._eigenvalues[self._eigenvalues > 1e-9].mean())
        scaled = np.clip(multipliers, -self._weights, self._weights) / step
        half = 0.5 * float(z @ z)
        point, gap = self._certify(z, step * scaled)
        split = self._edges @ point
        n_iter = 0
        while gap > self.tol * half and n_iter < self.max_iter:
            for _ in range(PERIOD):
                right = self._vectors.T @ (z + step * (self._columns @ (split - scaled)))
                differences = self._edges @ (self._vectors @ (right / (1.0 + step * self._eigenvalues)))
                before = split
                moved = RELAXATION * differences + (1.0 - RELAXATION) * split + scaled
                limit = self._weights / step
                scaled = np.clip(moved, -limit, limit)
                split = moved - scaled
            n_iter += PERIOD
            point, gap = self._certify(z, step * scaled)
            primal = float(np.linalg.norm(differences - split))
            dual = step * float(np.linalg.norm(self._columns @ (split - before)))
            factor = CHANGE if primal > IMBALANCE * dual else 1.0 / CHANGE if dual > IMBALANCE * primal else 1.0
            step, scaled = step * factor, scaled / factor
        return point, step * scaled, gap / half, n_iter

    def _certify(self, z: Floats, multipliers: Floats) -> tuple[Floats, float]:
        point: Floats = z - self._columns @ multipliers
        differences = self._edges @ point
        return point, max(float(self._weights @ np.abs(differences) - multipliers @ differences), 0.0)


def _check_relations(correlations: ArrayLike) -> Floats:
    relations = np.asarray(correlations, dtype=np.float64)
    if relations.ndim != 2 or relations.shape[0] != relations.shape[1] or not np.isfinite(relations).all():
        raise InvalidInputError(f"correlations must be a finite square matrix, got shape {relations.shape}")
    if not np.allclose(relations, relations.T, atol=1e-8):
        raise InvalidInputError("correlations must be symmetric; give (R + R.T) / 2")
    return relations
