"""Photos that stand for all photos: greedy medoids around what is labelled already."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Indices, Singles

__all__ = ["representatives"]


#: Photos to be represented at most; of more, a sample.
N_TARGETS = 4096
#: Candidates looked at, at least, and per photo asked for; of more, those that come first.
SHORT_LIST, SHORT_LIST_PER_PHOTO = 4096, 20
#: Rows compared with the targets at once.
BLOCK_ROWS = 1024
#: Gains brought up to date at once: one product costs little more for a few rows than for one.
TOGETHER = 16
#: Distance of opposite directions: how far a photo is from a labelled one where none is labelled.
FARTHEST = 2.0


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
    short = rows[: max(SHORT_LIST, SHORT_LIST_PER_PHOTO * n)]
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
