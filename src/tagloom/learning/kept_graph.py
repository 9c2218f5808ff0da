"""The neighbour graph of all photos, kept with the model that was trained on it."""

import hashlib
import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import rows_of
from tagloom.exceptions import StoreError
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.learning.constants import GRAPH_ROWS
from tagloom.learning.registration import Registration, registration_of
from tagloom.store import ProjectStore

__all__ = ["graph_of_model"]

logger = logging.getLogger(__name__)

INDICES, STARTS = "graph/indices", "graph/starts"


@dataclass(frozen=True, slots=True, eq=False)
class GraphPart:
    """A graph as it is stored with a model.

    Parameters
    ----------
    key : str
        See `KeptGraph`.
    n_neighbors : int
        How many were asked for.
    arrays : dict of str to ndarray
        Its arrays; empty where the file of an earlier model holds them.
    """

    key: str
    n_neighbors: int
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, registered: Registration, arrays: dict[str, NDArray[Any]]) -> "GraphPart | None":
        """Return the graph of a stored model, None where it has none; raise KeyError where its arrays are missing."""
        held = {name: arrays[name] for name in (INDICES, STARTS) if registered.holds_graph}
        return cls(registered.graph_key, registered.n_neighbors, held) if registered.graph_key else None


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
        self._n_neighbors = n_neighbors
        k = max(1, min(n_neighbors, len(X) - 1))
        self.key = features_key(X, k)
        found = None if given is not None else _find(store, self.key, len(X))
        self.is_reused = found is not None
        self.graph = given or found or knn_graph(X, k, n_threads=n_threads)

    @property
    def part(self) -> "GraphPart":
        """What is stored of it with a model; no arrays where an earlier model's file holds them."""
        weights = self.graph.weights
        arrays = {INDICES: weights.indices.astype(np.int32), STARTS: weights.indptr.astype(np.int64)}
        return GraphPart(self.key, self._n_neighbors, {} if self.is_reused else arrays)


def features_key(X: NDArray[Any], n_neighbors: int) -> str:
    """Return a checksum of features and a number of neighbours: what is equal has the same graph."""
    digest = hashlib.blake2b(f"{X.shape} {X.dtype.str} {n_neighbors}".encode(), digest_size=16)
    for start in range(0, len(X), GRAPH_ROWS):
        digest.update(np.ascontiguousarray(X[start : start + GRAPH_ROWS]).data)
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
    registered = None if model is None else registration_of(model)
    if model is None or stored is None or registered is None or not registered.graph_key:
        return None
    n = registered.n_photos
    # Stored together, so that the rows are the same; photos that were scored later come after them.
    if model.run is None or stored.run != model.run or len(stored.photo_ids) < n:
        return None
    found = _find(store, registered.graph_key, n)
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
    at = rows_of(graph_ids, photo_ids)
    (known,) = np.nonzero(at >= 0)
    chosen = sparse.csr_array((np.ones(len(known)), (known, at[known])), shape=(len(photo_ids), len(graph_ids)))
    weights = sparse.csr_array(chosen @ graph.weights @ chosen.T)
    weights.sort_indices()
    return NeighborGraph(weights)


def _find(store: ProjectStore, key: str, n: int) -> NeighborGraph | None:
    for model in store.models.all():
        registered = registration_of(model)
        if registered is None or registered.graph_key != key or not registered.holds_graph:
            continue
        try:
            arrays = store.models.load(model.id)[0]
            indices, starts = arrays[INDICES], arrays[STARTS]
            weights = sparse.csr_array((np.ones(len(indices)), indices, starts.astype(indices.dtype)), shape=(n, n))
            weights.check_format(full_check=True)  # the file may hold anything
            return NeighborGraph(weights)
        except (StoreError, OSError, KeyError, ValueError) as error:  # it can be made again
            logger.warning("the graph of model %d cannot be read: %s", model.id, error)
    return None
