"""Tags of the nearest labelled photos."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import COMMON, NOT_NEGATIVE, UNKNOWN, Annotator, Floats, LabelMatrix, OneOf, labeled_rows
from tagloom.exceptions import InvalidInputError

if TYPE_CHECKING:
    from tagloom.graph.spaces import Metric

__all__ = ["NeighborTransfer"]


WEIGHTS = ("uniform", "rank", "heat")


class NeighborTransfer(Annotator):
    """Transfer of tags from the k nearest labelled photos.

    Parameters
    ----------
    n_neighbors : int, default=15
        k; all labelled photos where there are fewer.
    weights : {"rank", "uniform", "heat"}, default="rank"
        Weight of a neighbour. "uniform": 1. "rank": falls linearly from 1 for the nearest to 1/k for the last.
        "heat": ``exp(-(distance/radius)²)``, radius the distance of the last neighbour (not for
        "inner_product", which is no distance).
    shrinkage : float, default=1.0
        Weight of the tag's frequency among its known photos, in units of a nearest neighbour.
    metric : str, default="euclidean"
        Distance; see `tagloom.graph.nearest_neighbors`.

    Attributes
    ----------
    prior_ : ndarray of shape (c,)
        Frequency of each tag among its known photos; 0 for a tag known nowhere.
    transduction_ : ndarray of shape (n, c)
        Scores of the training photos; a labelled photo is not its own neighbour.

    Notes
    -----
    ``score_ij = (Σ_k w_ik [y_kj = 1] + shrinkage·prior_j) / (Σ_k w_ik [y_kj known] + shrinkage)`` over the
    neighbours k of photo i: a neighbour that is unknown for a tag says nothing of it. Where nothing is left to divide
    by, the score is the prior. Scores lie in [0, 1].
    """

    _parameter_constraints = COMMON | {
        "weights": [OneOf(*WEIGHTS)],
        "shrinkage": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        weights: Literal["rank", "uniform", "heat"] = "rank",
        shrinkage: float = 1.0,
        metric: "Metric" = "euclidean",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.shrinkage = shrinkage
        self.metric = metric

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        if self.weights == "heat" and self.metric == "inner_product":
            raise InvalidInputError("weights 'heat' needs a distance, and metric 'inner_product' is none; use 'rank'")
        rows = np.flatnonzero(labeled_rows(Y))
        # A copy, so that the model does not change when the caller reuses the array.
        self._points = X[rows].copy()
        self._has_tag = (Y[rows] == 1).astype(np.float64)
        self._is_known = (Y[rows] != UNKNOWN).astype(np.float64)
        self.prior_: Floats = self._has_tag.sum(axis=0) / np.maximum(self._is_known.sum(axis=0), 1.0)
        self.transduction_ = np.empty(Y.shape)
        others = np.flatnonzero(~labeled_rows(Y))
        self.transduction_[others] = self._decision_function(X[others])
        self.transduction_[rows] = self._scores(*self._neighbors_without_self())

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        return self._scores(*self.neighbors(X, self.n_neighbors))

    def neighbors(self, X: NDArray[Any], n_neighbors: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return distances of photos to the nearest labelled ones, and the places of these."""
        # Imported where it is used, so that naming the class does not load the neighbour library.
        from tagloom.graph import nearest_neighbors

        count = min(n_neighbors, len(self._points))
        if len(X) == 0:
            return np.empty((0, count)), np.empty((0, count), dtype=np.intp)
        return nearest_neighbors(X.astype(self._points.dtype, copy=False), self._points, count, metric=self.metric)

    def _neighbors_without_self(self) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the neighbours of the labelled photos, each photo taken out of its own list."""
        distances, indices = self.neighbors(self._points, self.n_neighbors + 1)
        is_self = indices == np.arange(len(indices))[:, None]
        # Among many duplicates a photo may be missing from its own list: then the last neighbour goes instead.
        is_self[~is_self.any(axis=1), -1] = True
        shape = (len(indices), indices.shape[1] - 1)
        return distances[~is_self].reshape(shape), indices[~is_self].reshape(shape)

    def _scores(self, distances: NDArray[Any], indices: NDArray[np.intp]) -> Floats:
        n, count = indices.shape
        pointers = np.arange(0, n * count + 1, count) if count else np.zeros(n + 1, dtype=np.intp)
        weights = sparse.csr_array(
            (self.weights_of(distances).ravel(), indices.ravel(), pointers), shape=(n, len(self._points))
        )
        found = weights @ self._has_tag + self.shrinkage * self.prior_
        total = weights @ self._is_known + self.shrinkage
        scores = np.broadcast_to(self.prior_, found.shape).copy()
        np.divide(found, total, out=scores, where=total > 0.0)
        return scores

    def weights_of(self, distances: NDArray[Any]) -> Floats:
        """Return what neighbours at these distances count."""
        n, count = distances.shape
        if self.weights == "uniform" or count == 0:
            return np.ones((n, count))
        if self.weights == "rank":
            return np.broadcast_to(1.0 - np.arange(count) / count, (n, count))
        radius = distances[:, -1:].astype(np.float64)
        shares = np.divide(distances, radius, out=np.zeros((n, count)), where=radius > 0.0)
        return np.exp(-np.square(shares))
