"""Joint equal contribution: the words of the nearest photos by the mean of several distances."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import Annotator, FeatureGroups, Floats, LabelMatrix, labeled_rows
from tagloom.methods.shared import GroupDistances, MetricSpec

__all__ = ["JEC"]


class JEC(Annotator):
    """Transfer of tags from the nearest labelled photos, with equal weight for all feature groups.

    Parameters
    ----------
    groups : FeatureGroups or None, default=None
        Groups that have a distance of their own. None: all columns are one group.
    n_neighbors : int, default=5
        K, the nearest photo included; all labelled photos where there are fewer.
    metric : str or mapping, default="l1"
        "euclidean", "cosine", "l1", "intersection" or "chi2": one for all groups, or ``{group: metric}``.

    Attributes
    ----------
    scales_ : ndarray of shape (groups,)
        Largest distance of two labelled photos in each group.
    frequencies_ : ndarray of shape (c,)
        Labelled photos with each tag.
    transduction_ : ndarray of shape (n, c)
        Scores of the training photos; a labelled photo is not its own neighbour.

    Notes
    -----
    Distances are divided by their largest value and averaged. The tags of the nearest photo come first, by their
    frequency among the labelled photos: score ``1 + frequency/(1 + largest frequency)``. Then come those of the other
    neighbours, by ``s = co-occurrence with the tags of the nearest photo × number of these neighbours that have it``:
    score ``s/(1 + s)``. Other tags score 0. A tag that is unknown on a photo counts as one it has not.

    Deviations: the reference transfers a fixed number of words; scores rank all of them, in the same order. It does not
    say how the two factors of the second step are joined (here their product), nor what happens where the nearest
    photo has no words (here the second factor alone).

    References
    ----------
    A. Makadia, V. Pavlovic, S. Kumar: A new baseline for image annotation, ECCV 2008.
    """

    def __init__(self, groups: FeatureGroups | None = None, *, n_neighbors: int = 5, metric: MetricSpec = "l1") -> None:
        self.groups = groups
        self.n_neighbors = n_neighbors
        self.metric = metric

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        labelled = labeled_rows(Y)
        self._distances = GroupDistances(X[labelled], self.groups, self.metric)
        self.scales_ = self._distances.scales
        self._has_tag = sparse.csr_array((Y[labelled] == 1).astype(np.float64))
        self.frequencies_: Floats = np.asarray(self._has_tag.sum(axis=0)).ravel()
        self._together = (self._has_tag.T @ self._has_tag).toarray()
        np.fill_diagonal(self._together, 0.0)
        self.transduction_: Floats = np.empty(Y.shape)
        self.transduction_[~labelled] = self._decision_function(X[~labelled])
        count = min(int(self.n_neighbors), int(labelled.sum()) - 1)
        self.transduction_[labelled] = self._scores(self._distances.nearest(X[labelled], count, own=True)[0])

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        count = min(int(self.n_neighbors), self._has_tag.shape[0])
        return self._scores(self._distances.nearest(X, count)[0])

    def _scores(self, indices: NDArray[np.intp]) -> Floats:
        n, count = indices.shape
        if count == 0:
            return np.zeros((n, self.n_tags_))
        nearest = self._has_tag[indices[:, 0]].toarray()
        pointers = np.arange(n + 1) * (count - 1)
        others = sparse.csr_array(
            (np.ones(n * (count - 1)), indices[:, 1:].ravel(), pointers), shape=(n, self._has_tag.shape[0])
        )
        local = (others @ self._has_tag).toarray()
        shared = np.where(nearest.any(axis=1, keepdims=True), nearest @ self._together, 1.0)
        second = shared * local
        first = 1.0 + self.frequencies_ / (1.0 + self.frequencies_.max())
        return np.where(nearest > 0, first, second / (1.0 + second))
