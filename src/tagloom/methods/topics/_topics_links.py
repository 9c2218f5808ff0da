"""Where the graph of a topic model comes from, and how new photos are linked to it."""

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, knn_graph, nearest_neighbors
from tagloom.graph.shared_words import shared_words_graph

__all__ = ["GivenLinks", "Links", "NearestLinks", "NoLinks", "SharedLinks"]

#: Entries of visual words that may be filled in to search neighbours.
MOST_ENTRIES = 250_000_000


class Links(Protocol):
    """A graph over the training photos, and links from new ones."""

    graph: NeighborGraph | None
    report: dict[str, int]

    def of_new(self, visual: Any) -> Any:
        """Return a sparse matrix of shape (m, n): weights of the links of new photos to training photos."""


class NoLinks:
    """No graph at all."""

    def __init__(self, n_photos: int) -> None:
        self.graph: NeighborGraph | None = None
        self.report: dict[str, int] = {}
        self._n_photos = n_photos

    def of_new(self, visual: Any) -> Any:
        """Return no links."""
        return sparse.csr_array((visual.shape[0], self._n_photos))


class GivenLinks:
    """A graph that was given: nothing is known of new photos' neighbours."""

    def __init__(self, given: Any, n_photos: int) -> None:
        graph = given if isinstance(given, NeighborGraph) else NeighborGraph.from_weights(given, diagonal="drop")
        if graph.n_nodes != n_photos:
            raise InvalidInputError(
                f"graph must have one node for each row of X: expected {n_photos}, got {graph.n_nodes}. Build it from "
                f"the same photos in the same order, or take graph='shared_words'"
            )
        self.graph: NeighborGraph | None = graph
        self.report = {"isolated": graph.isolated.size}
        self._n_photos = n_photos

    def of_new(self, visual: Any) -> Any:
        """Return no links."""
        return sparse.csr_array((visual.shape[0], self._n_photos))


class SharedLinks:
    """Photos that share words, Eq. (3)."""

    def __init__(self, visual: Any, **rule: Any) -> None:
        self._shared = shared_words_graph(visual, **rule)
        self.graph: NeighborGraph | None = self._shared.graph
        self.report = {
            "isolated": self._shared.graph.isolated.size,
            "common_words": self._shared.common_words.size,
            "capped_photos": self._shared.n_capped,
            "dropped_links": self._shared.n_dropped,
        }

    def of_new(self, visual: Any) -> Any:
        """Return links by shared visual words."""
        return self._shared.links(visual)


class NearestLinks:
    """Nearest photos by the cosine of their visual words."""

    def __init__(self, visual: Any, n_neighbors: int, weighting: Any) -> None:
        self._points = _filled(visual)
        self._n_neighbors, self._weighting = int(n_neighbors), weighting
        graph = knn_graph(self._points, self._n_neighbors, metric="cosine", weights=weighting)
        self.graph: NeighborGraph | None = graph
        self.report = {"isolated": graph.isolated.size}
        self._bandwidth = graph.bandwidth or 1.0

    def of_new(self, visual: Any) -> Any:
        """Return links to the nearest training photos, weighted as those are among themselves."""
        queries, n = _filled(visual), len(self._points)
        count = min(self._n_neighbors, n)
        distances, indices = nearest_neighbors(queries, self._points, count, metric="cosine")
        if self._weighting == "binary":
            weights = np.ones_like(distances)
        elif self._weighting == "heat":
            weights = np.exp(-0.5 * np.square(distances / self._bandwidth))
        else:
            weights = np.maximum(1.0 - distances, 0.0)
        # A photo without words has no direction: its distances mean nothing.
        weights[~queries.any(axis=1)] = 0.0
        pointers = np.arange(0, indices.size + 1, count)
        links = sparse.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(len(queries), n))
        links.eliminate_zeros()
        return links


def _filled(visual: Any) -> Any:
    if visual.shape[0] * visual.shape[1] > MOST_ENTRIES:
        raise InvalidInputError(
            f"visual words of shape {visual.shape} are too large to be filled in for graph='knn'; take "
            f"graph='shared_words', or build a graph and give it"
        )
    return visual.toarray()
