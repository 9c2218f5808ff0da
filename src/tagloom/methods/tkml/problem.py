"""What TKML minimises: targets, weights of the known labels, the graph, and the objective."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, check_graph, knn_graph, nearest_neighbors
from tagloom.graph.spaces import Metric
from tagloom.kernels import DENSE_ROWS

__all__ = [
    "EdgeWeights",
    "KernelMap",
    "Neighborhood",
    "TkmlProblem",
    "check_dense",
    "label_weights",
    "learn_dictionary",
]


# The neighbour system of TKML: similarities as weights, for training photos and for new ones.

EdgeWeights = Literal["heat", "binary", "similarity"]

_PAIRS = 1 << 22  # numbers of two blocks of rows that are compared at a time


@dataclass(frozen=True)
class Neighborhood:
    """How photos are linked.

    Parameters
    ----------
    n_neighbors : int
        k.
    metric : str
        See `tagloom.graph.nearest_neighbors`.
    weights : {"heat", "binary", "similarity"}
        ``exp(-distance²/(2·bandwidth²))``, 1, or ``1 - distance`` ("cosine" and "intersection").
    bandwidth : float or None
        None: the median distance to a neighbour.
    n_threads : int or None
        Threads of the search.
    """

    n_neighbors: int
    metric: Metric
    weights: EdgeWeights
    bandwidth: float | None = None
    n_threads: int | None = None

    def check(self) -> None:
        """Raise unless weights and metric go together."""
        if self.weights == "similarity" and self.metric not in ("cosine", "intersection"):
            raise InvalidInputError(
                f"weights='similarity' is 1 - distance and needs metric 'cosine' or 'intersection', "
                f"got {self.metric!r}; use weights='heat'"
            )

    def graph(self, X: NDArray[Any], given: Any = None) -> NeighborGraph:
        """Link the training photos, or check the graph that was given."""
        if given is not None:
            return check_graph(given, len(X))
        heat = self.weights == "heat"
        graph = knn_graph(
            X,
            self.n_neighbors,
            metric=self.metric,
            weights="heat" if heat else "binary",
            bandwidth=self.bandwidth if heat else None,
            n_threads=self.n_threads,
        )
        return self._by_similarity(graph, X) if self.weights == "similarity" else graph

    def links(self, queries: NDArray[Any], points: NDArray[Any], bandwidth: float | None) -> Any:
        """Return the weights of new photos (n) to the training photos (m), CSR.

        Parameters
        ----------
        queries, points : arrays of shape (n, d) and (m, d)
            New photos and training photos.
        bandwidth : float or None
            Of the graph; None: of each photo, its last neighbour.
        """
        count = min(self.n_neighbors, len(points))
        distances, indices = nearest_neighbors(queries, points, count, metric=self.metric, n_threads=self.n_threads)
        if self.weights == "binary":
            values = np.ones(distances.shape)
        elif self.weights == "similarity":
            values = np.maximum(1.0 - distances, 0.0)
        else:
            width = distances[:, -1:] if bandwidth is None else np.full((len(distances), 1), bandwidth)
            values = np.exp(-0.5 * np.square(distances / np.where(width > 0, width, 1.0)))
        pointers = np.arange(0, indices.size + 1, count)
        return sparse.csr_array((values.ravel(), indices.ravel(), pointers), shape=(len(queries), len(points)))

    def _by_similarity(self, graph: NeighborGraph, X: NDArray[Any]) -> NeighborGraph:
        row, column = sparse.coo_array(graph.weights).coords
        values = np.empty(len(row))
        size = max(1, _PAIRS // max(X.shape[1], 1))
        for start in range(0, len(row), size):
            part = slice(start, start + size)
            values[part] = self._similarity(X[row[part]].astype(np.float64), X[column[part]].astype(np.float64))
        weights = sparse.csr_array((np.maximum(values, 0.0), (row, column)), shape=graph.weights.shape)
        weights.eliminate_zeros()
        weights.sort_indices()
        return NeighborGraph(weights, graph.recall)

    def _similarity(self, left: Floats, right: Floats) -> Floats:
        if self.metric == "intersection":
            return np.asarray(np.minimum(left, right).sum(axis=1))
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        products = np.einsum("ij,ij->i", left, right)
        return np.divide(products, lengths, out=np.ones_like(products), where=lengths > 0)


def label_weights(Y: LabelMatrix, *, weighted: bool, balance: float = 1.0) -> Floats:
    """Return Ω: 0 where a label is unknown; else 1, or, weighted, what gives yes and no of a tag the same sum.

    Parameters
    ----------
    Y : label matrix of shape (m, c)
        Labels.
    weighted : bool
        Whether classes are balanced. A tag known with a single class keeps weights of 1.
    balance : float
        Power of the balanced weights: 1 balances, 0 gives weights of 1.
    """
    known = Y != UNKNOWN
    if not weighted:
        return known.astype(np.float64)
    total = known.sum(axis=0)
    n_yes = (Y == 1).sum(axis=0)
    both = (n_yes > 0) & (n_yes < total)
    yes = np.where(both, total / (2.0 * np.maximum(n_yes, 1)), 1.0) ** balance
    no = np.where(both, total / (2.0 * np.maximum(total - n_yes, 1)), 1.0) ** balance
    weights: Floats = np.where(Y == 1, yes, np.where(known, no, 0.0))
    return weights


@dataclass(frozen=True)
class KernelMap:
    """Φ, photos as rows, as coordinates in a basis of few columns: ``Φᵀ = coordinates @ basisᵀ``.

    After its first step Φ lies in the span of the atoms and of W, so that (m, d + c) numbers tell all of it.

    Attributes
    ----------
    coordinates : array or CSR of shape (m, q)
        Coordinates of the photos. CSR: the start, in which every photo has one atom.
    basis : array of shape (p, q) or None
        Orthonormal columns; None: the identity.
    """

    coordinates: Any
    basis: Floats | None = None

    @property
    def n_atoms(self) -> int:
        """Return p."""
        return int(self.coordinates.shape[1]) if self.basis is None else len(self.basis)

    @property
    def sparse(self) -> bool:
        """Return whether every photo has a single atom."""
        return not isinstance(self.coordinates, np.ndarray)

    def squared_norm(self) -> float:
        """Return ‖Φ‖²."""
        values = self.coordinates.data if self.sparse else self.coordinates
        return float(np.vdot(values, values))

    def reduced(self, rows: Floats) -> Floats:
        """Return coordinates in the basis of (p, k) columns."""
        return rows if self.basis is None else self.basis.T @ rows

    def scores(self, classifier: Floats) -> Floats:
        """Return ``ΦᵀW`` of shape (m, c)."""
        found: Floats = self.coordinates @ self.reduced(classifier)
        return found

    def explicit(self) -> Floats:
        """Return Φ itself, (p, m)."""
        if self.basis is not None:
            return self.basis @ self.coordinates.T
        return np.array(self.coordinates.toarray().T if self.sparse else self.coordinates.T)


@dataclass(frozen=True)
class TkmlProblem:
    """Eq. (5) with its data.

    Attributes
    ----------
    X : array of shape (m, d)
        Features, float64.
    targets : array of shape (m, c)
        1 and -1, 0 where unknown.
    weights : array of shape (m, c)
        Ω.
    laplacian : CSR of shape (m, m)
        L.
    smoothness, fidelity, rank_penalty : float
        γ_s, γ_c and μ.
    tol : float
        Relative residual of linear systems.
    """

    X: Floats
    targets: Floats
    weights: Floats
    laplacian: Any
    smoothness: float
    fidelity: float
    rank_penalty: float
    tol: float = 1e-8

    @property
    def common(self) -> bool:
        """Return whether all tags have the same weights: then one matrix serves them all."""
        return bool((self.weights == self.weights[:, :1]).all())

    def pull(self, scores: Floats) -> Floats:
        """Return ``γ_s L T + γ_c Ω∘T``."""
        found: Floats = self.smoothness * (self.laplacian @ scores)
        found += self.fidelity * (self.weights * scores)
        return found

    def label_pull(self) -> Floats:
        """Return ``γ_c Ω∘Y``."""
        return self.fidelity * (self.weights * self.targets)

    def objective(self, kernel_map: KernelMap, classifier: Floats, scores: Floats, misfit: float) -> float:
        """Return Eq. (5), given the scores ``ΦᵀW`` and the misfit ``‖X - BΦ‖²``."""
        rough = float(np.vdot(scores, self.laplacian @ scores))
        wrong = float((self.weights * np.square(self.targets - scores)).sum())
        return 0.5 * (
            self.rank_penalty * kernel_map.squared_norm()
            + float(np.vdot(classifier, classifier))
            + self.smoothness * rough
            + self.fidelity * (misfit + wrong)
        )


def check_dense(n: int, what: str) -> None:
    """Raise where a kernel of all pairs would be too large."""
    if n > DENSE_ROWS:
        raise InvalidInputError(
            f"{what} of {n} photos would need {8e-9 * n * n:.1f} GB; the limit is {DENSE_ROWS} photos. Ask for fewer"
        )


# TKML's dictionary: Eq. (7), atoms of unit norm, by sweeps that are exact for one atom at a time.

#: Atoms whose correlations are brought up to date by one product.
BLOCK = 64


@dataclass(frozen=True)
class Dictionary:
    """Atoms and how well they do.

    Attributes
    ----------
    atoms : array of shape (p, d)
        Bᵀ, rows of norm 1.
    multipliers : array of shape (p,)
        λ of the unit norms.
    misfit : float
        ``‖X - BΦ‖²``.
    stationarity : float
        ``‖XΦᵀ - B(ΦΦᵀ + Λ)‖ / ‖XΦᵀ‖``: how far the atoms are from ``B = XΦᵀ(ΦΦᵀ + Λ)⁻¹``.
    n_sweeps : int
        Sweeps.
    """

    atoms: Floats
    multipliers: Floats
    misfit: float
    stationarity: float
    n_sweeps: int


def learn_dictionary(X: Floats, kernel_map: KernelMap, atoms: Floats, *, max_sweeps: int, tol: float) -> Dictionary:
    """Improve unit-norm atoms for a fixed kernel map.

    Parameters
    ----------
    X : array of shape (m, d)
        Features.
    kernel_map : KernelMap
        Φ.
    atoms : array of shape (p, d)
        Start, rows of norm 1.
    max_sweeps : int
        Most sweeps over all atoms.
    tol : float
        Done when the stationarity is at most this.

    Notes
    -----
    With all other atoms fixed, the best ``b_i`` is ``u/‖u‖``, ``u = (XΦᵀ)_i - Σ_{j≠i} b_j(ΦΦᵀ)_ji``. Where atoms stay
    what they are, ``u = (λ_i + (ΦΦᵀ)_ii) b_i``: the stationary point of the Lagrangian. An atom with u = 0, such as one
    that no photo uses, stays as it was.
    """
    if kernel_map.sparse:
        return _of_single_atoms(X, kernel_map, atoms)
    state = _Sweeper(X, kernel_map, atoms)
    n_sweeps, stationarity = 0, np.inf
    while n_sweeps < max_sweeps and stationarity > tol:
        state.sweep()
        stationarity = state.settle()
        n_sweeps += 1
    return Dictionary(state.atoms, state.multipliers, state.misfit(), stationarity, n_sweeps)


def _of_single_atoms(X: Floats, kernel_map: KernelMap, atoms: Floats) -> Dictionary:
    """Where every photo has one atom, atoms do not meet, and each is the direction of the sum of its photos."""
    sums = np.asarray(kernel_map.coordinates.T @ X)
    lengths = np.linalg.norm(sums, axis=1)
    counts = np.asarray(kernel_map.coordinates.power(2).sum(axis=0)).ravel()
    found = np.where(lengths[:, None] > 0, sums / np.where(lengths > 0, lengths, 1.0)[:, None], atoms)
    misfit = float(np.vdot(X, X) - 2.0 * lengths.sum() + counts.sum())
    return Dictionary(found, lengths - counts, max(misfit, 0.0), 0.0, 1)


class _Sweeper:
    """Atoms, and the correlations ``(X - BΦ)Φᵀ`` of what they leave over, in the coordinates of the kernel map."""

    def __init__(self, X: Floats, kernel_map: KernelMap, atoms: Floats) -> None:
        Z = kernel_map.coordinates
        self.atoms = atoms.copy()
        self._map = kernel_map
        self._total = float(np.vdot(X, X))
        self._features: Floats = Z.T @ X  # XΦᵀ
        self._gram: Floats = Z.T @ Z  # ΦΦᵀ
        self.multipliers: Floats = np.zeros(len(atoms))
        self._refresh()

    def _refresh(self) -> None:
        self._reduced = self._map.reduced(self.atoms)
        self._left: Floats = self._features - self._gram @ self._reduced

    def sweep(self) -> None:
        """Go once over all atoms, in order."""
        basis = self._map.basis
        for start in range(0, len(self.atoms), BLOCK):
            part = slice(start, min(start + BLOCK, len(self.atoms)))
            if basis is None:
                correlations, spread = self._left[part].copy(), self._gram[part]
                gram = spread[:, part]
            else:
                correlations, spread = basis[part] @ self._left, basis[part] @ self._gram
                gram = spread @ basis[part].T
            before = self.atoms[part].copy()
            _pass(self.atoms[part], correlations, gram)
            self._left -= spread.T @ (self.atoms[part] - before)

    def settle(self) -> float:
        """Set the multipliers, recompute what accumulated rounding, and return the stationarity."""
        self._refresh()
        basis = self._map.basis
        left = self._left if basis is None else basis @ self._left
        self.multipliers = np.einsum("ij,ij->i", self.atoms, left)
        size = np.linalg.norm(self._features)
        return float(np.linalg.norm(left - self.multipliers[:, None] * self.atoms) / size) if size > 0 else 0.0

    def misfit(self) -> float:
        return max(self._total - float(np.vdot(self._features + self._left, self._reduced)), 0.0)


def _pass(atoms: Floats, correlations: Floats, gram: Floats) -> None:
    """Renew the atoms of a block one after the other; all three arrays belong to the block."""
    for index in range(len(atoms)):
        wanted = correlations[index] + gram[index, index] * atoms[index]
        length = np.sqrt(wanted @ wanted)
        if length > 0:
            wanted /= length
            correlations -= np.outer(gram[index], wanted - atoms[index])
            atoms[index] = wanted
