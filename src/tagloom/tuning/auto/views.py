"""What every candidate of the search shares: scaled feature groups, one neighbour graph, features smoothed over it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd

from tagloom.core import UNKNOWN, FeatureGroups, Floats, LabelMatrix, Reals, scratch
from tagloom.exceptions import InvalidInputError
from tagloom.features import GroupScaler
from tagloom.features.scaling import may_be_missing
from tagloom.graph import NeighborGraph, knn_graph, nearest_neighbors
from tagloom.tuning.constants import (
    ADDED_ROWS,
    BALANCED_SHARES,
    BLOCK_DISTANCES,
    DOUBLE_ENTRIES,
    EXACT_COLUMNS,
    FEWEST_COMPONENTS,
    FEWEST_SMOOTHED,
    KEPT_VARIANCE,
    LEADING_SHARES,
    MAPPED_ROWS,
    MOST_COMPONENTS,
    MOST_SINGLE_GROUPS,
    PRIOR_COUNT,
    SAMPLED_PHOTOS,
    SCORE_STEPS,
    SMOOTHED_BYTES,
    SMOOTHED_COLUMNS,
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
    "row_blocks",
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
    heard = [name for name in names if may_be_missing(name)]
    if heard and len(heard) < len(names):
        # What is only heard drowns in what is seen: once it weighs as much as all of that, once it is alone.
        joint = joint_weights([name for name in names if name not in heard], shares)
        views.append(
            View(
                "sight and sound",
                {name: weight / 2.0 for name, weight in {**joint, **joint_weights(heard)}.items()},
            )
        )
        views.append(View("sound", joint_weights(heard)))
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
        Reduced features, and the same smoothed over the neighbours.
    links : sparse array of shape (q, n)
        Normalised weights of the nearest training photos.
    """

    plain: Reals
    smooth: Reals
    links: Any


@dataclass(frozen=True)
class Reduction:
    """What brings a group's rows to their coordinates: ``(row - centre) basis``.

    Attributes
    ----------
    centre : ndarray of shape (d,)
        Mean row.
    basis : ndarray of shape (d, k) or (1, 1)
        Leading principal axes, or a factor alone where all columns are kept.
    """

    centre: Floats
    basis: Floats

    @classmethod
    def of(cls, rows: Reals, weight: float, *, may_be_missing: bool = False) -> "Reduction":
        """Return that of some rows, after which the mean squared distance of two of them is a weight.

        Parameters
        ----------
        rows : array of shape (n, d)
            One group's rows, mapped.
        weight : float
            The group's weight.
        may_be_missing : bool, default=False
            Whether rows of zeros lack the group, and do not count.
        """
        if may_be_missing:
            present = rows.any(axis=1)
            rows = rows[present] if present.any() else rows
        centre = rows.mean(axis=0, dtype=np.float64)
        centred = rows - centre
        variances = np.square(centred).sum(axis=0) / len(rows)
        basis = np.ones((1, 1))
        if rows.shape[1] > FEWEST_COMPONENTS:
            variances, basis = _principal_axes(centred)
        spread = 2.0 * float(variances.sum())
        # Of photos that are equal in a group nothing is left but rounding.
        return cls(centre, basis * np.sqrt(weight / (spread if spread > 1e-6 else 1.0)))

    @property
    def n_components(self) -> int:
        """Columns of the coordinates."""
        return len(self.centre) if self.basis.size == 1 else self.basis.shape[1]

    def apply(self, rows: Reals) -> Reals:
        """Return the coordinates of rows."""
        centred = rows - self.centre.astype(rows.dtype)
        basis = self.basis.astype(rows.dtype)
        return np.asarray(centred * basis if basis.size == 1 else centred @ basis)


class PhotoViews:
    """Features of all photos, brought to one scale and reduced once, with one graph.

    Parameters
    ----------
    X : array of shape (n, d)
        Features as extracted; a memory map is read a few rows at a time.
    groups : FeatureGroups or None
        The column ranges.
    n_neighbors : int
        Of the graph.
    smoothing : float
        Strength of feature smoothing.
    n_threads : int or None
        For the graph.
    link : callable, optional
        Makes the graph of the coordinates, or has it already. Default: `knn_graph`.
    reductions : mapping of str to Reduction, optional
        Of each group, where they were learnt before.
    coordinates : tuple of ndarray of shape (n, k), optional
        Those of before, and the same smoothed; X is then looked at for new photos alone. Default: they are computed.

    Attributes
    ----------
    plain, smooth : ndarray of shape (n, k)
        Coordinates, and the same smoothed over the graph; large ones are memory maps.
    groups : FeatureGroups
        Their columns.
    links : sparse array of shape (n, n)
        Normalised weights of the graph.

    Notes
    -----
    Each group is scaled as by `GroupScaler`, centred, and brought to its principal axes: as many as keep 92 % of the
    variance, at least 64 and at most 512. Coordinates are those of the joint view: the mean squared distance of two
    photos is in each group its weight there. Axes and scales come from 20,000 photos at most. The graph is that of the
    joint view. Where no group comes from a network, scaling rows to length one may lose what matters: then each group
    is there a second time, its columns standardised and its rows left as long as they are.

    Smoothed features are eight steps of ``Q ← (Z + sSQ)/(1 + s)`` towards ``(I + sL)⁻¹Z``, S the normalised weights and
    L = I - S; scores take two. A new photo gets one step from its nearest training photos: what it would have as one of
    them.
    """

    def __init__(
        self,
        X: Reals,
        groups: FeatureGroups | None,
        *,
        n_neighbors: int,
        smoothing: float,
        n_threads: int | None,
        link: Callable[[Reals], NeighborGraph] | None = None,
        reductions: Mapping[str, Reduction] | None = None,
        coordinates: tuple[Reals, Reals] | None = None,
    ) -> None:
        self.given_groups = FeatureGroups(["features"], [X.shape[1]]) if groups is None else groups
        self.smoothing = smoothing
        self.n_neighbors = n_neighbors
        self.n_threads = n_threads
        names = self.given_groups if self.has_network else _doubled(self.given_groups)
        self._weights = joint_weights(names.names, shares_of(names.embeddings))
        self._dtype: Any = np.float64 if X.size <= DOUBLE_ENTRIES else np.float32
        self._sample = np.unique(np.linspace(0, len(X) - 1, min(len(X), SAMPLED_PHOTOS)).astype(np.intp))
        self._scaling = _Scaling(self.given_groups, X, self._sample)
        self._mean_distances: dict[tuple[str, bool], float] = {}
        self.reductions = reductions or self._reduce(names, X)
        sizes = [self.reductions[name].n_components for name in names]
        self.groups = FeatureGroups(list(names), sizes, names.embeddings)
        shape = len(X), self.groups.n_columns
        if coordinates is None:
            self.plain = scratch(shape, self._dtype)
            for block in row_blocks(len(X), MAPPED_ROWS):
                self.plain[block] = self._coordinates(X[block])
        else:
            self.plain, self.smooth = coordinates
            if any(one.shape != shape or one.dtype != self._dtype for one in coordinates):
                raise InvalidInputError(f"expected coordinates of shape {shape}; train again")
        make = link or (lambda points: knn_graph(points, n_neighbors, n_threads=n_threads))
        self.graph: NeighborGraph = make(self.plain)
        self._inverse_roots = _inverse_roots(self.graph.degrees)
        self.links = _normalized_links(self.graph.weights, self._inverse_roots, self._dtype)
        if coordinates is None:
            self.smooth = self._smooth_features()

    @property
    def has_network(self) -> bool:
        """Whether a group comes from a network."""
        return any(name in shares_of(self.given_groups.embeddings) for name in self.given_groups)

    @property
    def n_photos(self) -> int:
        """Number of training photos."""
        return len(self.plain)

    @cached_property
    def marks(self) -> NDArray[np.float32]:
        """Two numbers for each photo, which tell its coordinates from others whatever rounding does."""
        mixing = np.cos(np.arange(self.groups.n_columns)).astype(self.plain.dtype)
        return np.stack([self.plain @ mixing, self.smooth @ mixing]).astype(np.float32)

    @property
    def dtype(self) -> Any:
        """Type of coordinates and scores."""
        return self._dtype

    def coordinates(self, smoothed: bool) -> Reals:
        """Return the coordinates of the training photos, smoothed or not."""
        return self.smooth if smoothed else self.plain

    def attach(self, X: Reals) -> NewPhotos:
        """Return coordinates of new photos."""
        plain = self._coordinates(X)
        count = min(self.n_neighbors, self.n_photos)
        _, indices = nearest_neighbors(plain, self.plain, count, n_threads=self.n_threads)
        pointers = np.arange(0, indices.size + 1, count)
        binary = sparse.csr_array((np.ones(indices.size), indices.ravel(), pointers), shape=(len(X), self.n_photos))
        links = self._normalized(binary, np.full(len(X), 1.0 / np.sqrt(count)))
        smooth = (plain + self.smoothing * (links @ self.smooth)) / (1.0 + self.smoothing)
        return NewPhotos(plain, smooth.astype(self._dtype), links)

    def mean_distance(self, view: View, smoothed: bool) -> float:
        """Return the mean squared distance of two photos in a view, 1 where all are equal."""
        known = self._mean_distances.get((view.name, smoothed))
        if known is not None:
            return known
        points, total = self.coordinates(smoothed)[self._sample], 0.0
        for name, factor in self.factors(view).items():
            columns = points[:, self.groups[name]]
            centre = columns.mean(axis=0, dtype=np.float64)
            length = float(np.einsum("ij,ij->", columns, columns, dtype=np.float64)) / len(columns)
            total += 2.0 * factor * max(length - float(centre @ centre), 0.0)
        found = self._mean_distances[view.name, smoothed] = total if total > np.finfo(np.float32).eps else 1.0
        return found

    def factors(self, view: View) -> dict[str, float]:
        """Return by group what squared distances of coordinates count in a view; the joint one has 1 throughout."""
        return {name: view.weights.get(name, 0.0) / self._weights[name] for name in self.groups}

    def distances(self, points: Reals, anchors: Reals, views: Sequence[View]) -> list[Reals]:
        """Return squared distances (q, m) of rows of coordinates to others, for each view; each group is used once."""
        return self.to_anchors(anchors, views)(points)

    def to_anchors(self, anchors: Reals, views: Sequence[View]) -> Callable[[Reals], list[Reals]]:
        """Return what gives `distances` of a block of rows, in arrays that the next block takes.

        What does not depend on the rows is done once, and fresh memory costs as much as the products.
        """
        factors = np.array([list(self.factors(view).values()) for view in views])
        kinds, kind_of = np.unique(factors.round(12), axis=1, return_inverse=True)
        parts = []
        for kind, wanted in enumerate(kinds.T):
            if wanted.any():
                columns = np.flatnonzero(np.isin(self.groups.labels, np.flatnonzero(kind_of.ravel() == kind)))
                # Mostly columns in a row, which need not be copied.
                is_run = columns[-1] - columns[0] == len(columns) - 1
                at = slice(int(columns[0]), int(columns[-1]) + 1) if is_run else columns
                ends = anchors[:, at]
                parts.append((wanted, at, (-2.0 * ends).T, np.einsum("ij,ij->i", ends, ends)))

        held = np.empty((2 + len(views), 0, len(anchors)), anchors.dtype)

        def distances(points: Reals) -> list[Reals]:
            nonlocal held
            if held.shape[1] < len(points):
                held = np.empty((2 + len(views), len(points), len(anchors)), anchors.dtype)
            (squares, scaled), found = held[:2, : len(points)], held[2:, : len(points)]
            is_new = np.ones(len(views), dtype=bool)
            for wanted, at, ends, lengths in parts:
                rows = points[:, at]
                np.matmul(rows, ends, out=squares)
                squares += np.einsum("ij,ij->i", rows, rows)[:, None]
                squares += lengths
                np.maximum(squares, 0.0, out=squares)
                for place in np.flatnonzero(wanted):
                    target = found[place] if is_new[place] else scaled
                    np.multiply(squares, anchors.dtype.type(wanted[place]), out=target)
                    if target is scaled:
                        found[place] += scaled
                    is_new[place] = False
            found[is_new] = 0.0
            return list(found)

        return distances

    def reach(self, rows: NDArray[np.intp], strength: float) -> Any:
        """Return what all photos give to the smoothed scores of some, a sparse array (m, n)."""
        own = sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), self.n_photos))
        return self.spread(own, strength, SCORE_STEPS)

    def spread(self, weights: Any, strength: float, steps: int) -> Any:
        """Return what photos give to weighted sums (m, n) of scores that take so many steps of smoothing."""
        total, share = 0.0 * weights, strength / (1.0 + strength)
        for _ in range(steps):
            total = total + (1.0 - share) * weights
            weights = share * (weights @ self.links)
        found = sparse.csr_array(total + weights)
        found.eliminate_zeros()
        return found.astype(self._dtype)

    def smooth_scores(self, scores: Reals, strength: float, links: Any = None) -> None:
        """Smooth scores k (n, c) of all photos in place: steps ``f ← (k + sSf)/(1 + s)``, some tags at a time.

        Other links than those of all photos may be given.
        """
        links = self.links if links is None else links
        share = self._dtype(strength / (1.0 + strength))
        for columns in self._smoothed_together(scores.shape):
            scores[:, columns] = _smoothed(scores[:, columns], links, share, SCORE_STEPS)

    def blocks(self, n: int, n_anchors: int) -> Iterator[slice]:
        """Yield row ranges so small that a few blocks of distances are no matter."""
        return row_blocks(n, max(64, BLOCK_DISTANCES // max(n_anchors, 1)))

    def _reduce(self, names: FeatureGroups, X: Reals) -> dict[str, Reduction]:
        sample = _rows_of(X, self._sample)
        return {
            name: Reduction.of(self._mapped(name, sample), self._weights[name], may_be_missing=_is_optional(name))
            for name in names
        }

    def _coordinates(self, X: Reals) -> Reals:
        parts = []
        for name, reduction in self.reductions.items():
            mapped = self._mapped(name, X)
            part = reduction.apply(mapped)
            # Photos that lack a group are in its middle: it says nothing of them.
            parts.append(part * mapped.any(axis=1, keepdims=True) if _is_optional(name) else part)
        return np.hstack(parts).astype(self._dtype, copy=False)

    def _mapped(self, name: str, X: Reals) -> Reals:
        """Return a group's rows on a scale of their own."""
        if name in self.given_groups:
            return np.asarray(self._scaling.scaler.scale_group(name, X[:, self.given_groups[name]]), dtype=self._dtype)
        columns = self.given_groups[name.removesuffix(STANDARDIZED)]
        means, deviations = self._scaling.moments
        found = np.asarray((X[:, columns] - means[columns]) / deviations[columns], dtype=self._dtype)
        return found * X[:, columns].any(axis=1, keepdims=True) if _is_optional(name) else found

    def _normalized(self, weights: Any, roots: Reals) -> Any:
        scaled = sparse.diags_array(roots) @ weights @ sparse.diags_array(self._inverse_roots)
        return sparse.csr_array(scaled).astype(self._dtype)

    def _smoothed_together(self, shape: tuple[int, ...]) -> Iterator[slice]:
        """Yield columns that are smoothed at a time: as many as stay in the cache, of many photos fewer."""
        n, count = shape
        most = SMOOTHED_BYTES // (max(n, 1) * np.dtype(self._dtype).itemsize)
        return row_blocks(count, int(np.clip(most, FEWEST_SMOOTHED, SMOOTHED_COLUMNS)))

    def _smooth_features(self) -> Reals:
        result = scratch(self.plain.shape, self._dtype)
        share = self._dtype(self.smoothing / (1.0 + self.smoothing))
        for columns in self._smoothed_together(self.plain.shape):
            result[:, columns] = _smoothed(self.plain[:, columns], self.links, share, SMOOTHING_STEPS)
        return result


class _Scaling:
    """What brings columns to one scale, learnt from some photos once it is asked for."""

    def __init__(self, groups: FeatureGroups, X: Reals, rows: NDArray[np.intp]) -> None:
        self._groups, self._source = groups, (X, rows)

    @cached_property
    def _learnt(self) -> tuple[GroupScaler, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        sample = _rows_of(*self._source)
        del self._source  # features are not kept
        return GroupScaler(self._groups).fit(sample), _column_moments(sample)

    @property
    def scaler(self) -> GroupScaler:
        """Scales groups."""
        return self._learnt[0]

    @property
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of each column."""
        return self._learnt[1]


def _rows_of(X: Reals, rows: NDArray[np.intp]) -> Reals:
    return X if len(rows) == len(X) and isinstance(X, np.ndarray) else np.asarray(X[rows])


def _smoothed(given: Reals, links: Any, share: Any, steps: int) -> Reals:
    """Return ``f ← share · links f + (1 - share) · given`` after some steps; each step reads ``given`` again."""
    found = np.ascontiguousarray(given)
    for _ in range(steps):
        found = links @ found
        found *= share
        for rows in row_blocks(len(given), ADDED_ROWS):
            found[rows] += (1 - share) * given[rows]
    return found


def row_blocks(n: int, step: int) -> Iterator[slice]:
    """Yield row ranges of a size."""
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _principal_axes(centred: Reals) -> tuple[Floats, Floats]:
    """Return variances along the leading principal axes, and these axes as columns."""
    n, d = centred.shape
    if d <= EXACT_COLUMNS:
        variances, axes = linalg.eigh(np.asarray(centred.T @ centred, dtype=np.float64) / n, check_finite=False)
        variances, axes = np.maximum(variances[::-1], 0.0), axes[:, ::-1]
        total = float(variances.sum())
    else:
        _, values, rows = randomized_svd(centred, MOST_COMPONENTS, random_state=0)
        variances, axes = np.square(values, dtype=np.float64) / n, rows.T
        total = float(np.square(centred, dtype=np.float64).sum()) / n
    enough = 1 + int(np.searchsorted(np.cumsum(variances), KEPT_VARIANCE * total))
    count = min(max(enough, FEWEST_COMPONENTS), MOST_COMPONENTS, len(variances))
    return variances[:count], axes[:, :count]


def _is_optional(name: str) -> bool:
    return may_be_missing(name.removesuffix(STANDARDIZED))


def _doubled(groups: FeatureGroups) -> FeatureGroups:
    return FeatureGroups([*groups.names, *(name + STANDARDIZED for name in groups)], groups.sizes * 2)


def _column_moments(X: Reals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and standard deviations of columns; 1 for columns that are constant but for rounding."""
    means, deviations = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    constant = deviations <= 10 * np.finfo(X.dtype).eps * np.abs(means)
    return means, np.where(constant | (deviations == 0.0), 1.0, deviations)


def _normalized_links(weights: Any, roots: Reals, dtype: Any) -> Any:
    """Return the weights of links times a root at both ends, on the structure of the graph itself."""
    data = scratch(weights.data.shape, dtype)
    for rows in row_blocks(weights.shape[0], MAPPED_ROWS):
        starts = weights.indptr[rows.start : rows.stop + 1]
        some = slice(int(starts[0]), int(starts[-1]))
        ends = roots[weights.indices[some]]
        data[some] = weights.data[some] * ends * np.repeat(roots[rows], np.diff(starts))
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def _inverse_roots(degrees: Reals) -> Reals:
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
