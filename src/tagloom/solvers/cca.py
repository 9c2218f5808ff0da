"""Structured sparse canonical correlation analysis: few features, whole groups of them, tags that go together."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import FeatureGroups, Floats
from tagloom.exceptions import InvalidInputError

__all__ = ["SignedFusion", "SparseCanonicalPairs", "SparseGroupNorm", "sparse_cca"]


# Numbers that belong together are drawn together: a fused penalty on a graph whose edges have signs.

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


# A matrix whose largest singular value is this share of the first one is what deflation left of nothing.
NOTHING_LEFT = 1e-12


@dataclass(frozen=True)
class SparseCanonicalPairs:
    """Result of `sparse_cca`: k pairs of directions.

    Attributes
    ----------
    u : ndarray of shape (d, k)
        Directions of the features, each of norm 1; what the penalty drops is exactly zero.
    v : ndarray of shape (c, k)
        Directions of the tags, each of norm 1.
    values : ndarray of shape (k,)
        The objective ``uᵀKv - P1(u) - P2(v)`` of each pair on its deflated K, positive.
    covariances : ndarray of shape (k,)
        ``uᵀKv`` on the deflated K.
    histories : tuple of ndarray
        For each pair the objective after each half step; it never decreases.
    n_iter : ndarray of shape (k,)
        Full steps of each pair.
    gap : float
        Largest relative duality gap of the fused steps; see `SignedFusion`.
    converged : bool
        Whether every pair settled within ``max_iter`` steps, each fused step with a gap within its tolerance.
    """

    u: Floats
    v: Floats
    values: Floats
    covariances: Floats
    histories: tuple[Floats, ...] = field(repr=False)
    n_iter: NDArray[np.intp] = field(repr=False)
    gap: float
    converged: bool


class SparseGroupNorm:
    """The penalty ``sparsity·‖u‖₁ + group_sparsity·Σ_g √d_g ‖u_g‖``.

    Parameters
    ----------
    sizes : array of int
        Columns of each group, in order.
    sparsity, group_sparsity : float, default=0.0
        Not negative.
    """

    def __init__(self, sizes: ArrayLike, *, sparsity: float = 0.0, group_sparsity: float = 0.0) -> None:
        for name, value in {"sparsity": sparsity, "group_sparsity": group_sparsity}.items():
            if not (np.isfinite(value) and value >= 0):
                raise InvalidInputError(f"{name} must be finite and not negative, got {value!r}")
        self.sparsity, self.group_sparsity = float(sparsity), float(group_sparsity)
        self._sizes = np.asarray(sizes, dtype=np.intp)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._roots: Floats = np.sqrt(self._sizes)

    def norms(self, u: Floats) -> Floats:
        """Return the norm of each group."""
        norms: Floats = np.sqrt(np.add.reduceat(np.square(u), self._starts))
        return norms

    def value(self, u: Floats) -> float:
        """Return the penalty of u."""
        grouped = float(self._roots @ self.norms(u)) if self.group_sparsity else 0.0
        return self.sparsity * float(np.abs(u).sum()) + self.group_sparsity * grouped

    def prox(self, z: Floats) -> Floats:
        """Return ``argmin_u ½‖u - z‖² + penalty(u)``: soft thresholding, then each group shortened."""
        shrunk: Floats = np.sign(z) * np.maximum(np.abs(z) - self.sparsity, 0.0)
        if self.group_sparsity == 0:
            return shrunk
        norms = self.norms(shrunk)
        shorter = norms - self.group_sparsity * self._roots
        factor = np.divide(shorter, norms, out=np.zeros_like(norms), where=shorter > 0)
        return shrunk * np.repeat(factor, self._sizes)


def sparse_cca(
    cross: ArrayLike,
    *,
    n_pairs: int | None = None,
    groups: FeatureGroups | None = None,
    feature_sparsity: float = 0.0,
    group_sparsity: float = 0.0,
    tag_sparsity: float = 0.0,
    tag_fusion: float = 0.0,
    tag_correlations: ArrayLike | None = None,
    tol: float = 1e-9,
    prox_tol: float = 1e-12,
    max_iter: int = 1000,
) -> SparseCanonicalPairs:
    """Find pairs of directions, of features and of tags, with a large covariance and a small penalty.

    Parameters
    ----------
    cross : array of shape (d, c)
        ``K = XᵀY`` of centred X and Y.
    n_pairs : int or None, default=None
        Most pairs. None: the smaller of d and c.
    groups : FeatureGroups or None, default=None
        Groups of features for ``group_sparsity``. None: every feature is a group of its own.
    feature_sparsity, group_sparsity : float, default=0.0
        θ and τ of ``P1(u) = θ‖u‖₁ + τ Σ_g √d_g ‖u_g‖``, in the units of K.
    tag_sparsity, tag_fusion : float, default=0.0
        Weights of ``P2(v) = tag_sparsity·‖v‖₁ + tag_fusion·Σ_{i<j} |r_ij| |v_i - sign(r_ij) v_j|``.
    tag_correlations : array of shape (c, c) or None, default=None
        r; needed for ``tag_fusion``. A zero is no edge.
    tol : float, default=1e-9
        A pair is done when a full step raises its objective by no more than this share.
    prox_tol : float, default=1e-12
        Largest relative duality gap of a fused step; see `SignedFusion`.
    max_iter : int, default=1000
        Most full steps of a pair.

    Returns
    -------
    SparseCanonicalPairs
        Fewer pairs than asked for where a prox is zero or K is used up.

    Warns
    -----
    ConvergenceWarning
        If a pair does not settle or a fused step misses its certificate.

    Notes
    -----
    Each pair maximises ``uᵀKv - P1(u) - P2(v)`` over ``‖u‖, ‖v‖ ≤ 1`` in turns. Both penalties are positively
    homogeneous, so each half step is exact: ``u = prox_P1(Kv)/‖·‖``, ``v = prox_P2(Kᵀu)/‖·‖``, and its value is the
    norm of the prox less the other penalty. A pair starts at the leading singular pair; then
    ``K ← K - (uᵀKv)uvᵀ``. The problem is not concave in both: what is found is a point that no half step improves.
    Without penalties these are the singular pairs of K.

    References
    ----------
    X. Chen, H. Liu, J. Carbonell, "Structured sparse canonical correlation analysis", AISTATS 2012.
    """
    remaining = _check_cross(cross).copy()
    d, c = remaining.shape
    if groups is not None and groups.n_columns != d:
        raise InvalidInputError(f"groups have {groups.n_columns} columns, K has {d} rows; they must agree")
    if tag_fusion > 0 and (tag_correlations is None or np.shape(tag_correlations) != (c, c)):
        came = None if tag_correlations is None else np.shape(tag_correlations)
        raise InvalidInputError(f"tag_fusion needs tag_correlations of shape {(c, c)}, got {came}")
    sizes = np.ones(d, dtype=np.intp) if groups is None else groups.sizes
    of_features = SparseGroupNorm(sizes, sparsity=feature_sparsity, group_sparsity=group_sparsity)
    of_tags = SignedFusion(tag_correlations, sparsity=tag_sparsity, fusion=tag_fusion, tol=prox_tol)
    first_scale, pairs = 0.0, []
    for _ in range(min(d, c) if n_pairs is None else min(n_pairs, d, c)):
        scale, start = _leading_direction(remaining)
        first_scale = max(first_scale, scale)
        if scale <= NOTHING_LEFT * first_scale:
            break
        pair = _Pair(remaining, of_features, of_tags, start)
        if not pair.climb(tol, max_iter):
            break
        pairs.append(pair)
        remaining -= pair.covariance * np.outer(pair.u, pair.v)
    return _collect(pairs, (d, c))


class _Pair:
    """One pair of directions on its way up."""

    def __init__(self, cross: Floats, of_features: SparseGroupNorm, of_tags: SignedFusion, start: Floats) -> None:
        self._cross, self._of_features, self._of_tags = cross, of_features, of_tags
        self.u, self.v = np.zeros(cross.shape[0]), start
        self._penalty_u, self._penalty_v = 0.0, of_tags.value(start)
        self._multipliers: Floats | None = None
        self.history: list[float] = []
        self.n_iter, self.gap, self.covariance, self.converged = 0, 0.0, 0.0, False

    def climb(self, tol: float, max_iter: int) -> bool:
        """Take half steps until they raise the objective no more; False where a prox is zero or nothing is gained."""
        while not self.converged and self.n_iter < max_iter:
            before = self.history[-1] if self.history else -np.inf
            if not (self._step_u() and self._step_v()):
                return False
            self.n_iter += 1
            self.converged = self.history[-1] - before <= tol * abs(self.history[-1])
        self.converged = self.converged and self.gap <= self._of_tags.tol
        self.covariance = float(self.u @ self._cross @ self.v)
        return self.history[-1] > 0

    def _step_u(self) -> bool:
        along = self._cross @ self.v
        moved = self._of_features.prox(along)
        if not moved.any():
            return False
        u = moved / np.linalg.norm(moved)
        penalty = self._of_features.value(u)
        value = float(u @ along) - penalty - self._penalty_v
        if self._accept(value):
            self.u, self._penalty_u = u, penalty
        return True

    def _step_v(self) -> bool:
        along = self._cross.T @ self.u
        moved = self._of_tags.prox(along, self._multipliers)
        self._multipliers, self.gap = moved.multipliers, max(self.gap, moved.gap)
        norm = float(np.linalg.norm(moved.point))
        # Within the distance that the certificate leaves open from zero, the exact prox may be zero.
        if norm == 0 or norm <= np.sqrt(moved.gap) * float(np.linalg.norm(along)):
            return False
        v = moved.point / norm
        penalty = self._of_tags.value(v)
        value = float(along @ v) - self._penalty_u - penalty
        if self._accept(value):
            self.v, self._penalty_v = v, penalty
        return True

    def _accept(self, value: float) -> bool:
        """Note the better of two values: an iterative prox and rounding may lose a little, which is not taken."""
        better = not self.history or value >= self.history[-1]
        self.history.append(value if better else self.history[-1])
        return better


def _leading_direction(cross: Floats) -> tuple[float, Floats]:
    """Return the largest singular value and the right singular vector, from the smaller Gram matrix."""
    d, c = cross.shape
    small = min(d, c)
    gram = cross.T @ cross if c <= d else cross @ cross.T
    value, vector = linalg.eigh(gram, subset_by_index=[small - 1, small - 1])
    scale = float(np.sqrt(max(value[0], 0.0)))
    direction = vector[:, 0] if c <= d or scale == 0 else cross.T @ vector[:, 0]
    return scale, direction / max(float(np.linalg.norm(direction)), np.finfo(np.float64).tiny)


def _collect(pairs: list[_Pair], shape: tuple[int, int]) -> SparseCanonicalPairs:
    result = SparseCanonicalPairs(
        u=np.array([pair.u for pair in pairs]).reshape(-1, shape[0]).T,
        v=np.array([pair.v for pair in pairs]).reshape(-1, shape[1]).T,
        values=np.array([pair.history[-1] for pair in pairs]),
        covariances=np.array([pair.covariance for pair in pairs]),
        histories=tuple(np.array(pair.history) for pair in pairs),
        n_iter=np.array([pair.n_iter for pair in pairs], dtype=np.intp),
        gap=max((pair.gap for pair in pairs), default=0.0),
        converged=all(pair.converged for pair in pairs),
    )
    if not result.converged:
        warnings.warn(
            f"sparse_cca: {sum(not pair.converged for pair in pairs)} of {len(pairs)} pairs did not settle (largest "
            f"duality gap {result.gap:.1e}); raise max_iter or tol, or lower tag_fusion",
            ConvergenceWarning,
            stacklevel=3,
        )
    return result


def _check_cross(cross: Any) -> Floats:
    array = np.asarray(cross, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInputError(f"cross must be a matrix of shape (features, tags), got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidInputError("cross must hold finite numbers; found NaN or infinity")
    return array
