"""The neighbour graph itself: a symmetric weight matrix and its Laplacians."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.exceptions import InvalidInputError

__all__ = ["NeighborGraph", "check_graph"]

LaplacianKind = Literal["unnormalized", "symmetric", "random_walk"]


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """An undirected graph over photos with non-negative weights.

    Made by `knn_graph`, or from a matrix of one's own by `from_weights`; the constructor itself checks nothing.

    Parameters
    ----------
    weights : sparse array of shape (n, n)
        CSR, float64, exactly symmetric, sorted indices, positive entries, nothing on the diagonal.
    recall : float, optional
        Share of true neighbours found, estimated on a sample, where the neighbours are approximate; None where exact.
    bandwidth : float, optional
        The bandwidth of heat weights where there is a single one.

    Examples
    --------
    >>> graph = NeighborGraph.from_weights(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> graph.laplacian("symmetric").toarray()
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    weights: Any
    recall: float | None = None
    bandwidth: float | None = None

    @classmethod
    def from_weights(
        cls, weights: Any, *, diagonal: Literal["error", "drop"] = "error", tolerance: float = 1e-10
    ) -> "NeighborGraph":
        """Check a weight matrix and make a graph of it.

        Parameters
        ----------
        weights : sparse or dense array of shape (n, n)
            Finite, non-negative, symmetric. It is copied.
        diagonal : {"error", "drop"}, default="error"
            What to do with self loops. They have no effect on the unnormalised Laplacian, but they do on degrees.
        tolerance : float, default=1e-10
            Entries (i, j) and (j, i) may differ by this share of the largest weight; they are averaged.

        Raises
        ------
        InvalidInputError
            Says which rule is broken and where.
        """
        W = _as_csr(weights)
        if diagonal not in ("error", "drop"):
            raise InvalidInputError(f'diagonal must be "error" or "drop", got {diagonal!r}')
        loops = np.flatnonzero(W.diagonal())
        if loops.size and diagonal == "error":
            raise InvalidInputError(
                f"weights must have a zero diagonal, got {W.diagonal()[loops[0]]:g} at node {loops[0]} ({loops.size} "
                f'self loops in all); pass diagonal="drop" to leave them out'
            )
        if loops.size:
            W = sparse.csr_array(W - sparse.diags_array(W.diagonal()))
        gap = abs(W - W.T)
        if gap.nnz and gap.max() > tolerance * W.max():
            row, column = np.unravel_index(int(gap.argmax()), W.shape)
            raise InvalidInputError(
                f"weights must be symmetric, got {W[row, column]:g} at ({row}, {column}) and {W[column, row]:g} at "
                f"({column}, {row}); use (W + W.T) / 2 or W.maximum(W.T)"
            )
        W = sparse.csr_array((W + W.T) * 0.5)
        W.eliminate_zeros()
        W.sort_indices()
        return cls(W)

    @property
    def n_nodes(self) -> int:
        """Number of photos."""
        return int(self.weights.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.weights.nnz) // 2

    @property
    def degrees(self) -> NDArray[np.float64]:
        """Sum of the weights of each node, float64; 0 for an isolated node."""
        return np.asarray(self.weights.sum(axis=1, dtype=np.float64)).ravel()

    @property
    def isolated(self) -> NDArray[np.intp]:
        """Nodes without an edge."""
        return np.flatnonzero(np.diff(self.weights.indptr) == 0)

    def laplacian(self, kind: LaplacianKind = "unnormalized") -> Any:
        """Return a Laplacian of the graph.

        Parameters
        ----------
        kind : {"unnormalized", "symmetric", "random_walk"}
            With weights G and degrees D: L = D - G; D^(-1/2) L D^(-1/2); D^(-1) L.

        Returns
        -------
        sparse array of shape (n, n)
            CSR, float64, sorted indices. Rows and columns of isolated nodes are zero in every kind (1/0 is read as
            0), so that each isolated node adds one to the null space. The diagonal is stored for all nodes, zeros
            included.
        """
        if kind not in get_args(LaplacianKind):
            raise InvalidInputError(f"kind must be one of {', '.join(get_args(LaplacianKind))}, got {kind!r}")
        W, degrees = self.weights, self.degrees
        rows = np.repeat(np.arange(self.n_nodes), np.diff(W.indptr))
        if kind == "unnormalized":
            diagonal, data = degrees, -W.data
        elif kind == "symmetric":
            roots = np.sqrt(degrees)
            diagonal, data = (degrees > 0).astype(np.float64), -W.data / (roots[rows] * roots[W.indices])
        else:
            diagonal, data = (degrees > 0).astype(np.float64), -W.data / degrees[rows]
        nodes = np.arange(self.n_nodes)
        everything = (np.concatenate([data, diagonal]), (np.r_[rows, nodes], np.r_[W.indices, nodes]))
        L = sparse.csr_array(sparse.coo_array(everything, shape=W.shape))
        L.sort_indices()
        return L


def check_graph(given: Any, n_nodes: int) -> NeighborGraph:
    """Return a valid graph from what a user passed.

    Parameters
    ----------
    given : NeighborGraph or symmetric sparse matrix of shape (n, n)
        Self loops of a matrix are dropped.
    n_nodes : int
        Photos that it has to have.
    """
    graph = given if isinstance(given, NeighborGraph) else NeighborGraph.from_weights(given, diagonal="drop")
    if graph.n_nodes != n_nodes:
        raise InvalidInputError(
            f"graph must have one node for each row of X: expected {n_nodes}, got {graph.n_nodes}. Build it from the "
            f"same photos in the same order, or leave graph=None"
        )
    return graph


def _as_csr(weights: Any) -> Any:
    """Return a float64 CSR copy of a square, finite, non-negative matrix."""
    if not sparse.issparse(weights):
        weights = np.asarray(weights)
        if weights.ndim != 2 or weights.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"weights must be a matrix of numbers, got shape {weights.shape}, dtype {weights.dtype}"
            )
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or weights.shape[0] == 0:
        raise InvalidInputError(f"weights must be square with at least one node, got shape {weights.shape}")
    if weights.dtype.kind not in "biuf":
        raise InvalidInputError(f"weights must be real numbers, got dtype {weights.dtype}")
    W = sparse.csr_array(weights, dtype=np.float64, copy=True)
    W.sum_duplicates()
    wrong = np.flatnonzero(~(np.isfinite(W.data) & (W.data >= 0)))
    if wrong.size:
        row = int(np.searchsorted(W.indptr, wrong[0], side="right")) - 1
        raise InvalidInputError(
            f"weights must be finite and not negative, got {W.data[wrong[0]]} at ({row}, {W.indices[wrong[0]]}), "
            f"{wrong.size} such entries in all"
        )
    return W
