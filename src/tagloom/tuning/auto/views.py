"""What every candidate of the search shares: scaled feature groups, one neighbour graph, features smoothed over it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats, Reals
from tagloom.features.scaling import GroupScaler
from tagloom.graph import NeighborGraph, knn_graph, nearest_neighbors
from tagloom.tuning.constants import (
    BALANCED_SHARES,
    DOUBLE_ENTRIES,
    LEADING_SHARES,
    MOST_SINGLE_GROUPS,
    PRIOR_COUNT,
    SMOOTHED_ROWS,
    SMOOTHING_STEPS,
    WORTHS,
)

__all__ = [
    "NewPhotos",
    "PhotoViews",
    "View",
    "default_views",
    "left_out_deviations",
    "prior_shifts",
    "smoothed_priors",
    "targets_of",
]


# What kernel ridge regression, its scores perhaps smoothed over the graph, says of photos left out one by one.


def smoothed_priors(Y: NDArray[Any]) -> Floats:
    """Return for each tag how often labels, or shares of a yes, let it expect, one half added to both counts."""
    known = Y != UNKNOWN
    total = np.where(known, Y, 0).sum(axis=0, dtype=np.float64)
    return np.asarray((total + PRIOR_COUNT) / (known.sum(axis=0) + 2.0 * PRIOR_COUNT))


def targets_of(Y: LabelMatrix, priors: Floats) -> Floats:
    """Return the deviations of labels from the priors, 0 where unknown."""
    return np.where(Y != UNKNOWN, Y - priors, 0.0)


def prior_shifts(targets: NDArray[Any], counts: Any) -> Floats:
    """Return by how much the prior of a tag falls where a photo's label is left out, shape (m, c).

    Parameters
    ----------
    targets : array of shape (m, c)
        Labels less their `smoothed_priors`.
    counts : array of shape (c,) or int
        Known labels of each tag.

    Notes
    -----
    A prior that has seen the label that is left out tells it: every other target is less by ``t/n`` where it is a yes,
    more where it is a no, so that an annotator which knows nothing ranks all yeses last. The stronger the penalty, the
    worse candidates would look for it.
    """
    return np.asarray(targets / np.maximum(np.asarray(counts) - 1.0 + 2.0 * PRIOR_COUNT, 1.0), dtype=np.float64)


def left_out_deviations(
    K: NDArray[Any],
    influences: Sequence[NDArray[Any]],
    targets: Floats,
    penalties: Sequence[float],
    *,
    shifts: Floats | None = None,
) -> Iterator[tuple[int, int, Floats]]:
    """Yield ``(influence, penalty, deviations)`` for every pair, deviations (m, c) of each photo without its own label.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel of the labelled photos, with which coefficients are solved for.
    influences : sequence of arrays of shape (m, m)
        What coefficients bring to the scores of the labelled photos: K itself, or K smoothed over the graph.
    targets : array of shape (m, c)
        Labels less their priors.
    penalties : sequence of float
        Ridge penalties λ > 0.
    shifts : array of shape (m, c), optional
        How much less the prior is without each label, see `prior_shifts`: deviations are then from that prior. Default:
        the prior stays.

    Notes
    -----
    With ``G = (K + λI)⁻¹`` and ``α = GT`` the coefficients without photo i are ``α - G e_i α_i / G_ii``, so its score
    is ``(Bα)_i - (BG)_ii α_i / G_ii``. One eigendecomposition of K serves all penalties and influences; no inverse is
    formed. A prior that is less by s makes all other targets larger by s: the same for targets of 1, times s, is
    added.
    """
    eigenvalues, vectors = linalg.eigh(np.asarray(K, dtype=np.float64), check_finite=False)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    if shifts is not None:
        targets = np.column_stack([targets, np.ones(len(targets))])
    projected = vectors.T @ targets
    squares = np.square(vectors)
    for place, influence in enumerate(influences):
        spread = np.asarray(influence, dtype=np.float64) @ vectors
        mixed = spread * vectors
        for step, penalty in enumerate(penalties):
            gains = 1.0 / (eigenvalues + penalty)
            weighted = gains[:, None] * projected
            own = (mixed @ gains) / (squares @ gains)
            found = spread @ weighted - own[:, None] * (vectors @ weighted)
            yield place, step, found if shifts is None else found[:, :-1] + shifts * found[:, -1:]


#: Without an embedding each group is there twice: as a direction, and with standardised columns under this name.
STANDARDIZED = " standardised"


@dataclass(frozen=True)
class View:
    """A named weighting of feature groups; the weights sum to one."""

    name: str
    weights: Mapping[str, float]


def joint_weights(names: Sequence[str], shares: Mapping[str, float] = LEADING_SHARES) -> dict[str, float]:
    """Return the weight of each group: the given shares, and of what they leave a part by `WORTHS` (1 for others)."""
    worths = {name: WORTHS.get(name.removesuffix(STANDARDIZED), 1.0) for name in names if name not in shares}
    rest = (1.0 - sum(shares.values())) / max(sum(worths.values()), 1e-12)
    weights = {name: shares[name] if name in shares else rest * worths[name] for name in names}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def shares_of(embeddings: Sequence[str], shares: Mapping[str, float] = LEADING_SHARES) -> Mapping[str, float]:
    """Return shares with that of ``deep`` divided between the embeddings, whatever they are called."""
    if not embeddings:
        return shares
    others = {name: share for name, share in shares.items() if name != "deep"}
    return others | dict.fromkeys(embeddings, shares["deep"] / len(embeddings))


def default_views(names: Sequence[str], embeddings: Sequence[str] = ("deep",)) -> list[View]:
    """Return the weightings that are tried for groups of these names, the joint one first."""
    embeddings = [name for name in embeddings if name in names]
    shares = shares_of(embeddings)
    views = [View("joint", joint_weights(names, shares))]
    network = [name for name in names if name in shares]
    others = [name for name in names if name not in shares]
    if not network:
        return views + _views_without_network(others)
    if others:
        views.append(View("balanced", joint_weights(names, shares_of(embeddings, BALANCED_SHARES))))
    if len(names) > len(embeddings) > 0:
        views.append(View("deep", dict.fromkeys(embeddings, 1.0 / len(embeddings))))
    if len(network) > len(embeddings) > 0 and others:
        views.append(View("deep and semantic", joint_weights(network, shares)))
    if others:
        views.append(View("without the network", joint_weights(others)))
    return views


def _views_without_network(names: Sequence[str]) -> list[View]:
    standardized = [name for name in names if name.endswith(STANDARDIZED)]
    directions = [name for name in names if name not in standardized]
    views = []
    if standardized:
        views = [View("directions", joint_weights(directions)), View("standardised", joint_weights(standardized))]
    if 1 < len(directions) <= MOST_SINGLE_GROUPS:
        both = {name: [one for one in (name, name + STANDARDIZED) if one in names] for name in directions}
        views += [View(name, joint_weights(members)) for name, members in both.items()]
    return views


@dataclass(frozen=True, eq=False)
class NewPhotos:
    """Coordinates of photos never seen, and how they hang on the graph.

    Attributes
    ----------
    plain, smooth : ndarray of shape (q, d)
        Scaled features, and the same smoothed over the neighbours.
    links : sparse array of shape (q, n)
        Normalised weights of the nearest training photos.
    """

    plain: Reals
    smooth: Reals
    links: Any


class PhotoViews:
    """Features of all photos, brought to one scale once, with one graph.

    Parameters
    ----------
    X : array of shape (n, d)
        Features as extracted.
    groups : FeatureGroups or None
        The column ranges.
    n_neighbors : int
        Of the graph.
    smoothing : float
        Strength of feature smoothing.
    n_threads : int or None
        For the graph.
    graph : NeighborGraph or None, default=None
        That of the same photos, where it was built before.

    Notes
    -----
    Each group is scaled as by `GroupScaler`, centred, and divided so that the mean squared distance of two photos is
    one; a view's squared distance is the weighted sum of its groups'. The graph is that of the joint view. Where no
    group comes from a network, scaling rows to length one may lose what matters: then each group is there a second
    time, its columns standardised and its rows left as long as they are.

    Smoothed features are eight steps of ``Q ← (Z + sSQ)/(1 + s)`` towards ``(I + sL)⁻¹Z``, S the normalised weights and
    L = I - S. A new photo gets one step from its nearest training photos: what it would have as one of them.
    """

    def __init__(
        self,
        X: Reals,
        groups: FeatureGroups | None,
        *,
        n_neighbors: int,
        smoothing: float,
        n_threads: int | None,
        graph: NeighborGraph | None = None,
    ) -> None:
        self.given_groups = FeatureGroups(["features"], [X.shape[1]]) if groups is None else groups
        self.groups = self.given_groups if self.has_network else _doubled(self.given_groups)
        self.smoothing = smoothing
        self.n_neighbors = n_neighbors
        self.n_threads = n_threads
        self._scaler = GroupScaler(self.given_groups).fit(X)
        self._moments = _column_moments(X)
        self._dtype: Any = np.float64 if X.size <= DOUBLE_ENTRIES else np.float32
        self._centres: dict[str, NDArray[np.float64]] = {}
        self._lengths: dict[str, float] = {}
        self.plain = self._learn_scale(X)
        weights = joint_weights(self.groups.names, shares_of(self.groups.embeddings))
        self._roots: Reals = np.sqrt([weights[name] for name in self.groups])[self.groups.labels].astype(self._dtype)
        if graph is None:
            graph = knn_graph(self.plain * self._roots, n_neighbors, n_threads=n_threads)
        self.graph: NeighborGraph = graph
        self._inverse_roots = _inverse_roots(self.graph.degrees)
        self.links = self._normalized(self.graph.weights, self._inverse_roots)
        self.smooth = self._smooth_features()

    @property
    def has_network(self) -> bool:
        """Whether a group comes from a network."""
        return any(name in shares_of(self.given_groups.embeddings) for name in self.given_groups)

    @property
    def n_photos(self) -> int:
        """Number of training photos."""
        return len(self.plain)

    def coordinates(self, smoothed: bool) -> Reals:
        """Return the coordinates of the training photos, smoothed or not."""
        return self.smooth if smoothed else self.plain

    def laplacian(self) -> Any:
        """Return I - S; a photo without neighbours has a row of the identity and stays as it is up to a factor."""
        return sparse.csr_array(sparse.eye_array(self.n_photos) - self.links.astype(np.float64))

    def attach(self, X: Reals) -> NewPhotos:
        """Return coordinates of new photos."""
        plain = np.empty((len(X), self.groups.n_columns), dtype=self._dtype)
        for name in self.groups:
            plain[:, self.groups[name]] = (self._mapped(name, X) - self._centres[name]) / self._lengths[name]
        count = min(self.n_neighbors, self.n_photos)
        # Weighted features of the training photos are made again: kept, they would be a third copy.
        points = self.plain * self._roots
        _, indices = nearest_neighbors(plain * self._roots, points, count, n_threads=self.n_threads)
        pointers = np.arange(0, indices.size + 1, count)
        ones = np.ones(indices.size)
        binary = sparse.csr_array((ones, indices.ravel(), pointers), shape=(len(X), self.n_photos))
        links = self._normalized(binary, np.full(len(X), 1.0 / np.sqrt(count)))
        smooth = (plain + self.smoothing * (links @ self.smooth)) / (1.0 + self.smoothing)
        return NewPhotos(plain, smooth.astype(self._dtype), links)

    def mean_distance(self, view: View, smoothed: bool) -> float:
        """Return the mean squared distance of two photos in a view, 1 where all are equal."""
        total = 0.0
        for name, weight in view.weights.items():
            columns = self.coordinates(smoothed)[:, self.groups[name]]
            centre = columns.mean(axis=0, dtype=np.float64)
            length = float(np.einsum("ij,ij->", columns, columns, dtype=np.float64)) / len(columns)
            total += 2.0 * weight * max(length - float(centre @ centre), 0.0)
        return total if total > np.finfo(np.float32).eps else 1.0

    def distances(self, points: Reals, anchors: Reals, views: Sequence[View]) -> list[Reals]:
        """Return squared distances (q, m) of rows of coordinates to others, for each view; each group is used once."""
        found = [np.zeros((len(points), len(anchors)), dtype=self._dtype) for _ in views]
        for name in self.groups:
            wanted = [(place, view.weights[name]) for place, view in enumerate(views) if view.weights.get(name)]
            if not wanted:
                continue
            columns = self.groups[name]
            of_group = _squared_distances(points[:, columns], anchors[:, columns])
            for place, weight in wanted:
                found[place] += self._dtype(weight) * of_group
        return found

    def blocks(self, n: int, n_anchors: int) -> Iterator[slice]:
        """Yield row ranges so small that a few blocks of distances are no matter."""
        step = max(64, 4_000_000 // max(n_anchors, 1))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def _learn_scale(self, X: Reals) -> Reals:
        scaled = np.empty((len(X), self.groups.n_columns), dtype=self._dtype)
        for name in self.groups:
            rows = self._mapped(name, X)
            self._centres[name] = rows.mean(axis=0, dtype=np.float64)
            lengths = float(np.square(rows, dtype=np.float64).sum()) / len(rows)
            spread = 2.0 * (lengths - float(self._centres[name] @ self._centres[name]))
            # Of photos that are equal in a group nothing is left but rounding.
            self._lengths[name] = float(np.sqrt(spread)) if spread > 1e-6 else 1.0
            scaled[:, self.groups[name]] = (rows - self._centres[name]) / self._lengths[name]
        return scaled

    def _mapped(self, name: str, X: Reals) -> Reals:
        """Return a group's rows on a scale of their own."""
        if name in self.given_groups:
            return np.asarray(self._scaler.scale_group(name, X[:, self.given_groups[name]]), dtype=self._dtype)
        columns = self.given_groups[name.removesuffix(STANDARDIZED)]
        means, deviations = self._moments
        return np.asarray((X[:, columns] - means[columns]) / deviations[columns], dtype=self._dtype)

    def _normalized(self, weights: Any, roots: Reals) -> Any:
        scaled = sparse.diags_array(roots) @ weights @ sparse.diags_array(self._inverse_roots)
        return sparse.csr_array(scaled).astype(self._dtype)

    def _smooth_features(self) -> Reals:
        result = self.plain
        share = self._dtype(self.smoothing / (1.0 + self.smoothing))
        for _ in range(SMOOTHING_STEPS):
            spread = self.links @ result
            spread *= share
            for start in range(0, len(spread), SMOOTHED_ROWS):
                block = slice(start, start + SMOOTHED_ROWS)
                spread[block] += (1 - share) * self.plain[block]
            result = spread
        return result


def _doubled(groups: FeatureGroups) -> FeatureGroups:
    return FeatureGroups([*groups.names, *(name + STANDARDIZED for name in groups)], groups.sizes * 2)


def _column_moments(X: Reals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and standard deviations of columns; 1 for columns that are constant but for rounding."""
    means, deviations = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    constant = deviations <= 10 * np.finfo(X.dtype).eps * np.abs(means)
    return means, np.where(constant | (deviations == 0.0), 1.0, deviations)


def _inverse_roots(degrees: Reals) -> Reals:
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)


def _squared_distances(A: Reals, B: Reals) -> Reals:
    products = A @ B.T
    products *= -2.0
    products += np.einsum("ij,ij->i", A, A)[:, None]
    products += np.einsum("ij,ij->i", B, B)
    return np.maximum(products, 0.0, out=products)
