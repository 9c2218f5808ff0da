"""Neighbours → weights → a symmetric graph."""

import numbers
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tagloom.core import NO_PROGRESS, Progress, scratch
from tagloom.exceptions import InvalidInputError
from tagloom.graph.exact import exact_neighbors
from tagloom.graph.join import joined_neighbors, sampled_recall
from tagloom.graph.neighbors import check_n_neighbors, finite_distances
from tagloom.graph.rows import Rows, check_features
from tagloom.graph.runtime import check_threads, row_blocks
from tagloom.graph.spaces import Metric, Space, make_space
from tagloom.graph.structure import NeighborGraph

__all__ = ["knn_graph"]

Bandwidth = float | Literal["median", "mean", "self_tuning"]

#: n²d up to which all pairs are compared: about five seconds of one core by products (a join of 20,000 x 512: 1.3 s),
#: half a minute otherwise.
EXACT_WORK: dict[str, float] = {"chi2": 3e10, "l1": 5e10, "intersection": 5e10}
_EXACT_WORK_BY_PRODUCTS = 2e11


def knn_graph(
    X: ArrayLike,
    n_neighbors: int = 15,
    *,
    metric: Metric = "euclidean",
    weights: Literal["binary", "heat", "dot"] = "binary",
    bandwidth: Bandwidth | None = None,
    symmetrize: Literal["union", "mutual"] = "union",
    method: Literal["auto", "exact", "approximate"] = "auto",
    normalize: bool = False,
    n_threads: int | None = None,
    random_state: Any = 0,
    progress: Progress = NO_PROGRESS,
) -> NeighborGraph:
    """Build the graph that links each photo to its nearest neighbours.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Features, dense, finite, float32 or float64.
    n_neighbors : int, default=15
        Neighbours per photo before symmetrising; cut to n - 1 where it is larger. A single photo gives a graph
        without edges.
    metric : {"euclidean", "cosine", "inner_product", "l1", "intersection", "chi2"}, default="euclidean"
        See `nearest_neighbors`.
    weights : {"binary", "heat", "dot"}, default="binary"
        1; exp(-δ² / (2σ²)) with δ the distance of the metric (not for "inner_product"); the inner product of the
        two rows, first divided by their norms under "cosine" and by their sums under "intersection" or
        ``normalize``. Weights that are not positive (the inner product of opposite rows, a heat weight that
        underflows) are no edges.
    bandwidth : float or {"median", "mean", "self_tuning"}, optional
        σ of heat weights. "median" (the default) and "mean" are taken over all distances to neighbours, leaving
        out zeros where the result would be zero. "self_tuning" gives weights exp(-δ² / (σ_i σ_j)), with σ_i the
        distance of photo i to its last neighbour, and the median where that is zero.
    symmetrize : {"union", "mutual"}, default="union"
        An edge where either photo is among the neighbours of the other, or only where both are.
    method : {"auto", "exact", "approximate"}, default="auto"
        "approximate" joins the lists of k-means (docs/reference/graphs.md); "inner_product" has none, and is always
        exact. "auto" is exact as long as n² d stays below 2·10¹¹ (5·10¹⁰ for "l1" and "intersection", 3·10¹⁰ for
        "chi2"), for instance 19,700 photos with 512 columns.
    normalize : bool, default=False
        Divide every row by its sum first ("l1", "intersection" and "chi2" only).
    n_threads : int, optional
        Threads; by default the cores this process may use, or ``OMP_NUM_THREADS`` where lower.
    random_state : int, Generator or None, default=0
        Draws the sample on which the recall of the approximate method is estimated. The neighbours do not depend
        on it.
    progress : Progress
        Is told how many photos are done.

    Returns
    -------
    NeighborGraph
        Its ``recall`` is None where neighbours are exact, otherwise the share of true neighbours found for a sample.

    Raises
    ------
    InvalidInputError
        For input or parameters that do not fit.

    Notes
    -----
    No photo is its own neighbour. It is left out by its index, never by a distance of zero: duplicates stay
    neighbours. Equal distances go to the smaller index, so of very many equal photos each is linked to the first
    ``n_neighbors``. Under "cosine", and for normalised histograms, a row of zeros has neither direction nor mass;
    it is linked to other rows of zeros only.

    References
    ----------
    L. Zelnik-Manor, P. Perona: Self-tuning spectral clustering, NIPS 2004.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1)
    >>> graph.weights.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    _check_choice("weights", weights, ("binary", "heat", "dot"))
    _check_choice("symmetrize", symmetrize, ("union", "mutual"))
    _check_choice("method", method, ("auto", "exact", "approximate"))
    _check_bandwidth(bandwidth, weights, metric)
    threads, k = check_threads(n_threads), check_n_neighbors(n_neighbors)
    features = check_features(X)
    n, d = features.shape
    space = make_space(metric, features, features, normalize=normalize)
    k = min(k, n - 1)
    if k == 0:
        return NeighborGraph(sparse.csr_array((n, n)))
    small = n * n * d <= EXACT_WORK.get(metric, _EXACT_WORK_BY_PRODUCTS)
    need_keys, recall = weights == "heat", None
    if method == "exact" or (method == "auto" and small) or space.embedding == "none":
        keys, indices = exact_neighbors(
            space, k, n_threads=threads, self_search=True, need_keys=need_keys, progress=progress
        )
    else:
        keys, indices = joined_neighbors(space, k, n_threads=threads, need_keys=need_keys, progress=progress)
        recall = sampled_recall(space, indices, n_threads=threads, random_state=random_state)
    values, sigma = _edge_weights(space, keys, indices, weights, bandwidth)
    del keys
    return NeighborGraph(_symmetric(space.points, values, indices, symmetrize), recall, sigma)


def _edge_weights(
    space: Space, keys: NDArray[np.float64], indices: NDArray[np.intp], weights: str, bandwidth: Bandwidth | None
) -> tuple[NDArray[Any], float | None]:
    """Return the weight of each link, and the bandwidth where there is a single one."""
    if weights == "binary":
        return np.ones(keys.shape, dtype=np.int8), None  # a small number until the links are put together
    if weights == "heat":
        return _heat(finite_distances(space.distances(keys)), indices, bandwidth)
    products = np.empty(indices.size)
    rows, columns = np.repeat(np.arange(len(indices)), indices.shape[1]), indices.ravel()
    for part in row_blocks(indices.size, max(1, (1 << 20) // space.points.width)):
        left, right = space.points.take(rows[part]), space.points.take(columns[part])
        products[part] = np.einsum("ij,ij->i", left, right)
    divisor = space.points.divisor
    scale = divisor * divisor if isinstance(divisor, float) else 1.0
    with np.errstate(over="ignore"):
        products *= scale
    return np.maximum(finite_distances(products), 0.0).reshape(indices.shape), None


def _heat(
    distances: NDArray[np.float64], indices: NDArray[np.intp], bandwidth: Bandwidth | None
) -> tuple[NDArray[np.float64], float | None]:
    """Return Gaussian weights of distances and the bandwidth used (None where each photo has its own)."""
    if isinstance(bandwidth, numbers.Real):
        sigma = float(bandwidth)
    else:
        typical = np.mean if bandwidth == "mean" else np.median
        sigma = float(typical(distances))
        if sigma == 0.0:
            positive = distances[distances > 0]
            sigma = float(typical(positive)) if positive.size else 1.0
    if bandwidth == "self_tuning":
        local = np.where(distances[:, -1] > 0, distances[:, -1], sigma)
        return np.exp(-(distances / local[:, None]) * (distances / local[indices])), None
    return np.exp(-0.5 * np.square(distances / sigma)), sigma


def _symmetric(points: Rows, values: NDArray[Any], indices: NDArray[np.intp], symmetrize: str) -> Any:
    """Return the symmetric CSR matrix of directed links."""
    n = len(indices)
    if points.empty is not None:
        values = np.where(points.empty[:, None] == points.empty[indices], values, values.dtype.type(0))
    directed = sparse.csr_array((values.ravel(), indices.ravel(), np.arange(n + 1) * indices.shape[1]), shape=(n, n))
    directed.sort_indices()
    reverse = sparse.csr_array(directed.T)
    W = directed.maximum(reverse) if symmetrize == "union" else directed.minimum(reverse)
    W = sparse.csr_array(W)
    W.eliminate_zeros()
    W.sort_indices()
    if W.data.dtype != np.float64:
        data = scratch(W.data.shape, np.float64)
        data[...] = W.data
        W.data = data
    return W


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless a parameter is one of the words it may be."""
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def _check_bandwidth(bandwidth: Any, weights: str, metric: str) -> None:
    """Raise unless the bandwidth fits the weights."""
    if weights == "heat" and metric == "inner_product":
        raise InvalidInputError("heat weights need a distance, and 'inner_product' is none; use weights='dot'")
    if bandwidth is None or (isinstance(bandwidth, str) and bandwidth in ("median", "mean", "self_tuning")):
        valid = True
    else:
        valid = isinstance(bandwidth, numbers.Real) and 0.0 < float(bandwidth) < np.inf
    if not valid:
        raise InvalidInputError(
            f"bandwidth must be a positive number, 'median', 'mean' or 'self_tuning', got {bandwidth!r}"
        )
    if bandwidth is not None and weights != "heat":
        raise InvalidInputError(f"bandwidth belongs to weights='heat', got weights={weights!r}")
