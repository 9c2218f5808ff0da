"""Several distances between photos, one for each group of features, on one scale."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tagloom.core import FeatureGroups, Floats, check_groups
from tagloom.exceptions import InvalidInputError
from tagloom.graph.spaces import Metric
from tagloom.kernels import intersection_kernel
from tagloom.kernels.pairwise import chi2_distances

__all__ = ["GroupDistances", "MetricSpec"]

MetricSpec = Metric | Mapping[str, Metric]

_METRICS = tuple(name for name in get_args(Metric) if name != "inner_product")
#: Distances held at a time.
_ENTRIES = 1 << 24
#: Photos whose largest distance gives the scale; more are sampled at equal spacing.
_SAMPLE = 2000
#: Squared distances below this share of the squared norms are rounding.
_ROUNDING = 1e-12


def check_metrics(groups: FeatureGroups | None, metric: Any) -> tuple[str, ...]:
    """Return the metric of each group.

    Parameters
    ----------
    groups : FeatureGroups or None
        None: all columns are one group.
    metric : str or mapping
        One for all groups, or ``{group: metric}`` with all groups named.
    """
    check_groups(groups)
    names = ("all",) if groups is None else groups.names
    if isinstance(metric, Mapping):
        if set(metric) != set(names):
            raise InvalidInputError(f"metric must name every group, {sorted(names)}, got {sorted(metric)}")
        chosen = tuple(metric[name] for name in names)
    else:
        chosen = (metric,) * len(names)
    wrong = [name for name in chosen if name not in _METRICS]
    if wrong:
        raise InvalidInputError(f"metric must be one of {_METRICS}, or a mapping from groups to them, got {wrong[0]!r}")
    return chosen


class GroupDistances:
    """Distances of photos to labelled ones, each group's divided by its largest among the labelled.

    Parameters
    ----------
    points : array of shape (l, d)
        Labelled photos; copied.
    groups : FeatureGroups or None
        None: all columns are one group.
    metric : str or mapping
        "euclidean", "cosine", "l1", "intersection" or "chi2" (see `tagloom.graph.nearest_neighbors`; histograms are
        divided by their sum for "intersection"), for all groups or ``{group: metric}``.

    Attributes
    ----------
    scales : ndarray of shape (g,)
        Largest distance of two labelled photos (of 2,000 at equal spacing where there are more), 1 where that is 0.
    """

    def __init__(self, points: NDArray[Any], groups: FeatureGroups | None, metric: Any) -> None:
        metrics = check_metrics(groups, metric)
        if groups is not None:
            groups.check(points)
        self._columns = [slice(None)] if groups is None else [groups[name] for name in groups]
        self._metrics = metrics
        self._points = points.copy()
        picked = np.unique(np.linspace(0, len(points) - 1, min(len(points), _SAMPLE)).round().astype(np.intp))
        largest = np.array([distances.max() for distances in self._raw(points[picked], points[picked])])
        self.scales: Floats = np.where(largest > 0, largest, 1.0)

    def _raw(self, A: NDArray[Any], B: NDArray[Any]) -> Iterator[Floats]:
        for columns, metric in zip(self._columns, self._metrics, strict=True):
            yield _pairwise(metric, A[:, columns].astype(np.float64), B[:, columns].astype(np.float64))

    def nearest(self, X: NDArray[Any], count: int, *, own: bool = False) -> tuple[NDArray[np.intp], Floats]:
        """Return the nearest labelled photos by the mean of the scaled distances, equal ones by index.

        Parameters
        ----------
        X : array of shape (n, d)
            Photos.
        count : int
            How many, at most the labelled photos (less one with ``own``).
        own : bool
            X are the labelled photos themselves: none is its own neighbour.

        Returns
        -------
        indices : array of shape (n, count)
            Rows of the labelled photos.
        distances : array of shape (n, count, g)
            The scaled distances of each group.
        """
        n_points = len(self._points)
        indices = np.empty((len(X), count), dtype=np.intp)
        distances = np.empty((len(X), count, len(self.scales)))
        size = max(1, _ENTRIES // max(1, n_points * (len(self.scales) + 1)))
        for start in range(0, len(X), size):
            rows = slice(start, min(start + size, len(X)))
            found = np.stack(list(self._raw(X[rows], self._points)), axis=2) / self.scales
            joint = found.mean(axis=2)
            if own:
                joint[np.arange(len(joint)), np.arange(rows.start, rows.stop)] = np.inf
            indices[rows] = np.argsort(joint, axis=1, kind="stable")[:, :count]
            distances[rows] = np.take_along_axis(found, indices[rows][:, :, None], axis=1)
        return indices, distances


def _pairwise(metric: str, A: Floats, B: Floats) -> Floats:
    """Return the distances of all pairs of rows."""
    if metric == "l1":
        return np.asarray(cdist(A, B, "cityblock"))
    if metric == "chi2":
        return np.asarray(chi2_distances(A, B), dtype=np.float64)
    if metric == "intersection":
        return 1.0 - intersection_kernel(_divided(A, A.sum(axis=1)), _divided(B, B.sum(axis=1)))
    if metric == "cosine":
        left, right = _divided(A, np.linalg.norm(A, axis=1)), _divided(B, np.linalg.norm(B, axis=1))
        return np.maximum(1.0 - left @ right.T, 0.0)
    sizes = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)
    squares = sizes - 2.0 * (A @ B.T)
    # Equal photos are at distance zero, whatever else is in the block.
    return np.sqrt(np.where(squares > _ROUNDING * sizes, squares, 0.0))


def _divided(rows: Floats, by: Floats) -> Floats:
    return np.divide(rows, by[:, None], out=np.zeros_like(rows), where=by[:, None] != 0)
