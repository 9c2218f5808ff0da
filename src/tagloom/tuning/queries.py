"""What to label next: which unlabelled photos would teach the most."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tagloom.core import Floats, Indices, LabelMatrix, Singles, check_generator, check_labels, labeled_rows
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.graph.rows import check_features
from tagloom.tuning.constants import (
    BLOCK_ENTRIES,
    BLOCK_ROWS,
    CANDIDATES_PER_PHOTO,
    FARTHEST,
    N_CANDIDATES,
    N_TARGETS,
    SHARED_WITH_NEIGHBOR,
    SHORT_LIST,
    SHORT_LIST_PER_PHOTO,
    TOGETHER,
)

__all__ = ["QueryStrategy", "rank_photos"]


# Photos that stand for all photos: greedy medoids around what is labelled already.


def representatives(
    X: NDArray[Any], known: NDArray[np.bool_], rows: Indices, n: int, generator: np.random.Generator
) -> Indices:
    """Return rows: each time the photo that brings all photos nearest to a labelled one.

    Parameters
    ----------
    X : array of shape (n_photos, d)
        Features, finite.
    known : bool array of shape (n_photos,)
        Photos that are labelled.
    rows : int array
        Candidates in random order: the first of equals is taken.
    n : int
        How many, at most as many as there are candidates.
    generator : Generator
        Draws the sample of very many photos.

    Notes
    -----
    Distance is ``‖x/‖x‖ - z/‖z‖‖`` with x and z from the mean of all photos. The gain of a photo, the sum over photos
    of how much nearer the nearest labelled one gets, only falls while others are taken, so an old gain is a bound: the
    photo with the largest is taken as soon as its gain is a fresh one, which is the greedy choice without a look at the
    rest.

    Memory: the directions of `N_TARGETS` photos, and their distances to a block of rows. Time for many photos grows
    with the candidates of the short list and the labelled photos, each compared with the targets once.
    """
    directions = _Directions(X)
    targets = np.arange(len(X))
    if len(X) > N_TARGETS:
        targets = np.sort(generator.choice(len(X), N_TARGETS, replace=False))
    to_targets = _Distances(directions, targets)
    nearest = to_targets.smallest(np.flatnonzero(known))
    short = rows[: max(N_CANDIDATES, CANDIDATES_PER_PHOTO * n)]
    gains = np.concatenate([to_targets.gains(block, nearest) for block in _blocks(short)])
    taken = np.empty(n, dtype=np.intp)
    for step in range(n):
        place = _best(to_targets, short, nearest, gains)
        taken[step] = short[place]
        gains[place] = -np.inf
        nearest = np.minimum(nearest, to_targets.of(short[place : place + 1])[0])
    return taken


def _best(to_targets: "_Distances", short: Indices, nearest: Singles, gains: NDArray[np.float64]) -> int:
    """Return the place of the largest gain, bringing up to date as few of them as that needs."""
    fresh = np.zeros(len(short), dtype=bool)
    while not fresh[place := int(np.argmax(gains))]:
        stale = np.flatnonzero(~fresh & np.isfinite(gains))
        if len(stale) > TOGETHER:
            stale = stale[np.argpartition(-gains[stale], TOGETHER)[:TOGETHER]]
        # Among equals the partition need not hold the first of them, the one that decides.
        stale = np.union1d(stale, place)
        gains[stale] = to_targets.gains(short[stale], nearest)
        fresh[stale] = True
    return place


def _blocks(rows: Indices) -> list[Indices]:
    return [rows[start : start + BLOCK_ROWS] for start in range(0, len(rows), BLOCK_ROWS)]


class _Directions:
    """Rows from the mean, of length 1; a photo at the mean has no direction and stays 0."""

    def __init__(self, X: NDArray[Any]) -> None:
        self._X = X
        self._mean = X.mean(axis=0, dtype=np.float64)

    def __call__(self, rows: Indices) -> Singles:
        moved = self._X[rows] - self._mean
        largest = np.abs(moved).max(axis=1, keepdims=True)
        # First to a common size, so that squares neither overflow nor vanish.
        np.divide(moved, largest, out=moved, where=largest > 0.0)
        lengths = np.sqrt(np.square(moved).sum(axis=1, keepdims=True))
        np.divide(moved, lengths, out=moved, where=lengths > 0.0)
        return moved.astype(np.float32)


class _Distances:
    """Distances of rows to the targets, made when they are asked for."""

    def __init__(self, directions: _Directions, targets: Indices) -> None:
        self._directions = directions
        self._targets = np.concatenate([directions(block) for block in _blocks(targets)])
        self._squares = np.square(self._targets).sum(axis=1)

    def of(self, rows: Indices) -> Singles:
        """Return distances of shape (rows, targets)."""
        own = self._directions(rows)
        found = own @ self._targets.T
        found *= -2.0
        found += self._squares
        found += np.square(own).sum(axis=1)[:, None]
        np.maximum(found, 0.0, out=found)
        return np.sqrt(found, out=found)

    def smallest(self, rows: Indices) -> Singles:
        """Return how far each target is from the nearest of some rows."""
        nearest = np.full(len(self._targets), FARTHEST, dtype=np.float32)
        for block in _blocks(rows):
            np.minimum(nearest, self.of(block).min(axis=0), out=nearest)
        return nearest

    def gains(self, rows: Indices, nearest: Singles) -> NDArray[np.float64]:
        """Return for each row how much nearer the targets get to a labelled photo, summed."""
        nearer = nearest - self.of(rows)
        np.maximum(nearer, 0.0, out=nearer)
        return np.asarray(nearer.sum(axis=1), dtype=np.float64)


QueryStrategy = Literal["representative", "random", "uncertainty", "change", "cover", "rare", "mixed"]


def rank_photos(
    probabilities: ArrayLike,
    Y: ArrayLike,
    photos: Any = None,
    n: int = 20,
    *,
    strategy: QueryStrategy = "representative",
    candidates: ArrayLike | None = None,
    random_state: Any = None,
) -> NDArray[np.intp]:
    """Rank unlabelled photos by how useful their labels would be.

    Parameters
    ----------
    probabilities : array of shape (n_photos, c)
        Probability of each tag on each photo, as from `CalibratedAnnotator`.
    Y : label matrix of shape (n_photos, c)
        What is known.
    photos : NeighborGraph, sparse matrix or array of shape (n_photos, d), optional
        "representative" needs the features, scaled as for learning. "cover" and "mixed" need the neighbour graph, its
        weights, or the features to build it from. The others look at none of them.
    n : int, default=20
        How many photos; fewer where fewer are left.
    strategy : str, default="representative"
        One of "representative", "random", "uncertainty", "change", "cover", "rare", "mixed"; see Notes.
    candidates : bool array of shape (n_photos,), optional
        Photos that may be asked for. Default: those without a known entry.
    random_state : int, Generator or None, default=None
        For "random", to decide between photos of equal use, and for the samples of very many photos.

    Returns
    -------
    ndarray of int
        Rows, without repetition.

    Notes
    -----
    With p the probability of a tag and k its known positives:

    - "representative": the photo that brings all photos, labelled or not, nearest to a labelled one, summed over
      photos (greedy medoids). Distance is that of directions from the mean photo. Of more than 4,096 photos a sample of
      4,096 is to be represented, and 4,096 candidates (20 per photo asked for, if that is more) are looked at. It does
      not look at probabilities.
    - "random": any photo is as good as another; what the others are compared with.
    - "uncertainty": the sum over tags of the entropy of p.
    - "change": the sum over tags of ``p(1 - p)/(k + 1)``, the expected move of a mean over the tag's examples when a
      label of variance p(1 - p) joins them: doubt about rare tags counts more.
    - "cover": photos whose neighbours know no labelled photo. A label tells half of the nearest neighbours (in
      proportion to the weight of the edge) and all of the photo itself; greedily the photo is taken that adds the most,
      so that photos of one batch lie apart.
    - "rare": the expected number of new positives, each worth ``1/(k + 1)``; k grows by p with each photo taken, so
      that a batch looks for several tags.
    - "mixed": the cover of "cover", each photo weighted with its "change": photos are taken that tell of many
      doubtful photos of which nothing is known.

    A step of a greedy strategy looks at the neighbourhood of the photo taken ("cover", "mixed") or at a short list
    ("rare"), so that a batch costs little more than one pass over the probabilities.
    """
    Y = check_labels(Y)
    values = _check_probabilities(probabilities, Y.shape)
    if strategy not in get_args(QueryStrategy):
        raise InvalidInputError(f"strategy must be one of {', '.join(get_args(QueryStrategy))}, got {strategy!r}")
    if not isinstance(n, int | np.integer) or n < 1:
        raise InvalidInputError(f"n must be a positive integer, got {n!r}")
    rows = np.flatnonzero(_check_candidates(candidates, Y))
    # In random order, the first of equals is any of them.
    generator = check_generator(random_state)
    rows = generator.permutation(rows)
    n = min(int(n), len(rows))
    if strategy == "random" or n == 0:
        return rows[:n]
    if strategy == "representative":
        return representatives(_features(photos, len(Y)), labeled_rows(Y), rows, n, generator)
    if strategy == "rare":
        return rows[_hunt(values, Y, rows, n)]
    if strategy in ("cover", "mixed"):
        use = np.ones(len(Y)) if strategy == "cover" else _row_sums(values, _change, _rarity(Y))
        return _cover(_neighbor_weights(photos, len(Y), strategy), labeled_rows(Y), use, rows, n)
    figure, weights = (_entropy, np.ones(Y.shape[1])) if strategy == "uncertainty" else (_change, _rarity(Y))
    return rows[_largest(_row_sums(values, figure, weights)[rows], n)]


def _check_probabilities(probabilities: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    values = np.asarray(probabilities)
    if values.shape != shape:
        raise InvalidInputError(f"expected probabilities of the shape of Y, {shape} (photos, tags), got {values.shape}")
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    # NaN compares false, so that it is refused as well.
    if values.size and not (values.min() >= 0.0 and values.max() <= 1.0):
        raise InvalidInputError("expected probabilities within 0 and 1; wrap the annotator in CalibratedAnnotator")
    return values


def _check_candidates(candidates: ArrayLike | None, Y: LabelMatrix) -> NDArray[np.bool_]:
    if candidates is None:
        return ~labeled_rows(Y)
    chosen = np.asarray(candidates)
    if chosen.shape != (len(Y),) or chosen.dtype != np.bool_:
        raise InvalidInputError(f"candidates must be {len(Y)} booleans (photos), got {chosen.dtype}{chosen.shape}")
    return chosen


def _features(photos: Any, n_photos: int) -> NDArray[Any]:
    if photos is None or isinstance(photos, NeighborGraph) or sparse.issparse(photos):
        given = "None" if photos is None else "a graph"
        raise InvalidInputError(
            f"strategy 'representative' needs the features: give them as photos, got {given}; "
            "strategy='random' needs nothing, strategy='cover' takes a graph"
        )
    features = check_features(photos, "photos")
    if len(features) != n_photos:
        raise InvalidInputError(f"expected features of {n_photos} photos (rows of Y), got {len(features)}")
    return features


def _neighbor_weights(photos: Any, n_photos: int, strategy: str) -> Any:
    """Return what each photo's label tells of its neighbours, CSR, itself left out."""
    if photos is None:
        raise InvalidInputError(f"strategy {strategy!r} needs the neighbour graph or the features: give them as photos")
    if isinstance(photos, NeighborGraph):
        graph = photos
    elif sparse.issparse(photos):
        graph = NeighborGraph.from_weights(photos, diagonal="drop")
    else:
        graph = knn_graph(photos)
    if graph.n_nodes != n_photos:
        raise InvalidInputError(f"expected a graph or features of {n_photos} photos (rows of Y), got {graph.n_nodes}")
    W = graph.weights
    largest = W.data.max() if W.nnz else 1.0
    return sparse.csr_array((SHARED_WITH_NEIGHBOR / largest * W.data, W.indices, W.indptr), shape=W.shape)


def _rarity(Y: LabelMatrix) -> Floats:
    return np.asarray(1.0 / (1.0 + np.count_nonzero(Y == 1, axis=0)), dtype=np.float64)


def _entropy(p: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = p * np.log(p) + (1.0 - p) * np.log1p(-p)
    return -np.nan_to_num(found, copy=False, nan=0.0)


def _change(p: Floats) -> Floats:
    return p * (1.0 - p)


def _row_sums(values: NDArray[Any], figure: Callable[[Floats], Floats], weights: Floats) -> Floats:
    """Return for each photo the weighted sum over tags of a figure of the probability."""
    sums = np.empty(len(values))
    step = max(1, BLOCK_ENTRIES // values.shape[1])
    for start in range(0, len(values), step):
        sums[start : start + step] = figure(values[start : start + step]) @ weights
    return sums


def _largest(figures: Floats, n: int) -> NDArray[np.intp]:
    """Return the places of the n largest, the largest first; among equals those that come first."""
    return np.argsort(-figures, kind="stable")[:n]


def _hunt(values: NDArray[Any], Y: LabelMatrix, rows: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return places in rows: each time the photo with the largest sum over tags of p/(k + 1)."""
    found = np.count_nonzero(Y == 1, axis=0).astype(np.float64)
    size = max(SHORT_LIST, SHORT_LIST_PER_PHOTO * n)
    short = _largest(_row_sums(values, lambda p: p, 1.0 / (1.0 + found))[rows], size)
    listed = values[rows[short]].astype(np.float64)
    free = np.ones(len(short), dtype=bool)
    taken = np.empty(n, dtype=np.intp)
    for step in range(n):
        gains = np.where(free, listed @ (1.0 / (1.0 + found)), -np.inf)
        place = int(np.argmax(gains))
        taken[step], free[place] = short[place], False
        found += listed[place]
    return taken


def _cover(A: Any, known: NDArray[np.bool_], use: Floats, rows: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return rows: each time the photo that adds most to what is told of all photos, weighted by their use.

    What is not told of photo l after photos S are labelled is the product over S of (1 - A_il), the photo itself with
    A = 1: the value is submodular, so that greedy choice is within 1 - 1/e of the best batch.
    """
    untold = np.exp(sparse.csr_array((np.log1p(-A.data), A.indices, A.indptr), shape=A.shape) @ known.astype(float))
    untold = np.where(known, 0.0, untold) * use
    gains = A @ untold + untold
    blocked = np.ones(len(use), dtype=bool)
    blocked[rows] = False
    gains[blocked] = -np.inf
    taken = np.empty(n, dtype=np.intp)
    for step in range(n):
        photo = int(rows[np.argmax(gains[rows])])
        taken[step] = photo
        near, told = A.indices[A.indptr[photo] : A.indptr[photo + 1]], A.data[A.indptr[photo] : A.indptr[photo + 1]]
        changed = np.append(near, photo)
        lost = np.append(untold[near] * told, untold[photo])
        untold[changed] -= lost
        gains[changed] -= lost
        # The graph is symmetric: rows of A are its columns.
        around = A[changed]
        np.subtract.at(gains, around.indices, around.data * np.repeat(lost, np.diff(around.indptr)))
        gains[photo] = -np.inf
    return taken
