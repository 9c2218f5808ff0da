"""The neighbour graph of all photos, kept with the model that was trained on it."""

import hashlib
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.exceptions import StoreError
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.store.project import ProjectStore

__all__ = ["KeptGraph", "features_key", "graph_of_model", "graph_of_photos"]

logger = logging.getLogger(__name__)

GRAPH_KEY, HOLDS_GRAPH = "graph_key", "holds_graph"
_ROWS_AT_ONCE = 65536


class KeptGraph:
    """The graph of scaled features: that of an earlier model where nothing has changed, or a new one.

    Parameters
    ----------
    store : ProjectStore
        The project.
    X : ndarray of shape (n, d)
        Scaled features.
    n_neighbors : int
        Neighbours of each photo.
    given : NeighborGraph, optional
        The graph, where the caller has it already.
    n_threads : int, optional
        Threads.

    Attributes
    ----------
    graph : NeighborGraph
        Neighbours by Euclidean distance, all weights 1.
    key : str
        Checksum of the features and the number of neighbours.
    is_reused : bool
        Whether a model held it.
    """

    def __init__(
        self,
        store: ProjectStore,
        X: NDArray[Any],
        n_neighbors: int,
        *,
        given: NeighborGraph | None = None,
        n_threads: int | None = None,
    ) -> None:
        k = max(1, min(n_neighbors, len(X) - 1))
        self.key = features_key(X, k)
        found = None if given is not None else _find(store, self.key, len(X))
        self.is_reused = found is not None
        self.graph = given or found or knn_graph(X, k, n_threads=n_threads)

    @property
    def settings(self) -> dict[str, Any]:
        """What is registered of it with a model."""
        return {GRAPH_KEY: self.key, HOLDS_GRAPH: not self.is_reused}

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the model file holds of it: nothing where an earlier model's does."""
        if self.is_reused:
            return {}
        weights = self.graph.weights
        return {"graph/indices": weights.indices.astype(np.int32), "graph/starts": weights.indptr.astype(np.int64)}


def features_key(X: NDArray[Any], n_neighbors: int) -> str:
    """Return a checksum of features and a number of neighbours: what is equal has the same graph."""
    digest = hashlib.blake2b(f"{X.shape} {X.dtype.str} {n_neighbors}".encode(), digest_size=16)
    for start in range(0, len(X), _ROWS_AT_ONCE):
        digest.update(np.ascontiguousarray(X[start : start + _ROWS_AT_ONCE]).data)
    return digest.hexdigest()


def graph_of_model(store: ProjectStore, photo_ids: NDArray[np.int64]) -> NeighborGraph | None:
    """Return the graph that the active model was trained on, over other rows; no features are read.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids : ndarray of int64
        The rows wanted; a photo that the model has not seen has no neighbours.

    Returns
    -------
    NeighborGraph or None
        None where the model has no graph, or where it is not known which photos its rows are.
    """
    model, stored = store.models.active(), store.suggestions.load()
    if model is None or stored is None or GRAPH_KEY not in model.settings:
        return None
    n = int(model.settings.get("n_photos", 0))
    # Stored together, so that the rows are the same; photos that were scored later come after them.
    if model.run is None or stored.run != model.run or len(stored.photo_ids) < n:
        return None
    found = _find(store, model.settings[GRAPH_KEY], n)
    return None if found is None else graph_of_photos(found, stored.photo_ids[:n], photo_ids)


def graph_of_photos(graph: NeighborGraph, graph_ids: NDArray[np.int64], photo_ids: NDArray[np.int64]) -> NeighborGraph:
    """Return a graph over other rows: photos that it does not have are without neighbours.

    Parameters
    ----------
    graph : NeighborGraph
        A graph.
    graph_ids : ndarray of int64
        The photos of its rows, each once.
    photo_ids : ndarray of int64
        The rows wanted, each once.
    """
    _, wanted, there = np.intersect1d(photo_ids, graph_ids, assume_unique=True, return_indices=True)
    ones, shape = np.ones(len(wanted)), (len(photo_ids), len(graph_ids))
    chosen = sparse.csr_array((ones, (wanted, there)), shape=shape)
    weights = sparse.csr_array(chosen @ graph.weights @ chosen.T)
    weights.sort_indices()
    return NeighborGraph(weights)


def _find(store: ProjectStore, key: str, n: int) -> NeighborGraph | None:
    for model in store.models.all():
        if model.settings.get(GRAPH_KEY) != key or not model.settings.get(HOLDS_GRAPH):
            continue
        try:
            arrays = store.models.load(model.id)[0]
        except (StoreError, OSError) as error:  # it can be made again
            logger.warning("the graph of model %d cannot be read: %s", model.id, error)
            continue
        indices, starts = arrays["graph/indices"], arrays["graph/starts"]
        weights = sparse.csr_array((np.ones(len(indices)), indices, starts.astype(indices.dtype)), shape=(n, n))
        return NeighborGraph(weights)
    return None
