"""What every competitor is given: one draw's features, labels and the kernels that they share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset
from benchmarks.quality.sets import Draw, Rows
from tagloom.core.folds import LabeledKFold
from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import NothingToScoreError
from tagloom.features import GroupScaler
from tagloom.metrics import mean_average_precision

Floats = NDArray[np.float64]
Point = dict[str, Any]
N_FOLDS = 5
#: With more known entries than this, points are compared on the first two folds only, to bound the time.
MANY_ENTRIES, FEW_FOLDS = 60_000, 2
#: Columns of `Problem.components`.
N_COMPONENTS = 256


class Problem:
    """One draw as competitors see it.

    Parameters
    ----------
    data : Dataset
        The collection.
    draw : Draw
        Which rows are seen, labelled, new.
    seed : int
        For the folds; the same for every competitor.
    groups : tuple of str, optional
        Only these feature groups.

    Notes
    -----
    Features are scaled by `GroupScaler` with its default weights, learnt from the photos seen, without labels.
    """

    def __init__(self, data: Dataset, draw: Draw, seed: int, groups: tuple[str, ...] = ()) -> None:
        assert data.groups is not None
        raw, self.groups = data.X, data.groups
        if groups:
            self.groups, columns = data.groups.select(groups)
            raw = data.X[:, columns]
        self.raw, self.draw, self.seed = raw, draw, seed
        self.truth = data.Y
        self.X: NDArray[np.float32] = GroupScaler(self.groups).fit(raw[draw.seen]).transform(raw)
        self.Y: NDArray[np.int8] = data.Y[draw.labeled]

    @cached_property
    def gram(self) -> Floats:
        """Inner products of all rows with the labelled ones, shape (n, l)."""
        columns = self.X.astype(np.float64)
        return columns @ columns[self.draw.labeled].T

    @cached_property
    def squares(self) -> Floats:
        """Squared distances of all rows to the labelled ones, shape (n, l)."""
        norms = np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        return np.maximum(norms[:, None] + norms[self.draw.labeled] - 2.0 * self.gram, 0.0)

    @cached_property
    def components(self) -> Floats:
        """Leading principal components of the photos seen, for all rows; all of them where there are few columns."""
        from sklearn.decomposition import PCA

        count = min(N_COMPONENTS, *self.X[self.draw.seen].shape)
        found = PCA(count, svd_solver="randomized", random_state=0, iterated_power=2).fit(self.X[self.draw.seen])
        return np.asarray(found.transform(self.X), dtype=np.float64)

    @cached_property
    def folds(self) -> list[tuple[Rows, Rows]]:
        """Places among the labelled photos: to learn from, and held out."""
        places = np.arange(len(self.Y))
        splitter = LabeledKFold(N_FOLDS, random_state=self.seed)
        return [(np.setdiff1d(places, held_out), held_out) for _, held_out in splitter.split(self.Y, self.Y)]

    @cached_property
    def scored_tags(self) -> Rows:
        """Tags on which points can be compared: a fold holds one out and another is left, or nearly so."""
        several = np.flatnonzero(np.count_nonzero(self.Y == 1, axis=0) >= 2)
        return several if len(several) else np.arange(self.Y.shape[1])


class Competitor(Protocol):
    """A way to tag photos, with points to choose from; with ``n_folds`` it looks at fewer folds than the others."""

    def points(self, problem: Problem) -> list[Point]:
        """Return what may be chosen."""

    def scores(
        self, problem: Problem, train: Rows, Y: NDArray[np.int8], targets: Rows, points: Sequence[Point]
    ) -> list[Floats]:
        """Return for each point the scores of some rows, learnt from labelled photos.

        Parameters
        ----------
        problem : Problem
            The draw.
        train : int array
            Places among the labelled photos.
        Y : int8 array of shape (len(train), c)
            Their labels.
        targets : int array
            Rows to score.
        points : sequence of dict
            At which points.
        """


@dataclass(frozen=True)
class Chosen:
    """The point that did best inside the labelled part, and its score there (None: there was nothing to choose)."""

    point: Point
    inside: float | None


def choose(competitor: Competitor, problem: Problem) -> Chosen:
    """Choose among the points by the mean over folds of MAP inside the labelled part."""
    points = competitor.points(problem)
    if len(points) == 1:
        return Chosen(points[0], None)
    tags = problem.scored_tags
    totals, n_scored = np.zeros(len(points)), 0
    n_folds = FEW_FOLDS if problem.Y.size > MANY_ENTRIES else N_FOLDS
    for train, held_out in problem.folds[: min(n_folds, getattr(competitor, "n_folds", N_FOLDS))]:
        truth = problem.Y[np.ix_(held_out, tags)]
        targets = problem.draw.labeled[held_out]
        found = competitor.scores(problem, train, problem.Y[np.ix_(train, tags)], targets, points)
        try:
            totals += [mean_average_precision(truth, scores) for scores in found]
        except NothingToScoreError:
            continue
        n_scored += 1
    if not n_scored:
        return Chosen(points[len(points) // 2], None)
    best = int(np.argmax(totals))
    return Chosen(points[best], float(totals[best] / n_scored))


def final_scores(competitor: Competitor, problem: Problem, point: Point, targets: Rows) -> Floats:
    """Return scores of rows by the point, learnt from all labelled photos."""
    everyone = np.arange(len(problem.Y))
    return competitor.scores(problem, everyone, problem.Y, targets, [point])[0]


def with_constants(
    Y: NDArray[np.int8], n_targets: int, n_points: int, fit: Callable[[Floats], list[Floats]]
) -> list[Floats]:
    """Return scores of all tags, where ``fit`` gives those of the tags that have a yes and a no.

    Parameters
    ----------
    Y : int8 array of shape (l, c)
        Labels, all known.
    n_targets, n_points : int
        Rows to score, and points.
    fit : function
        From signs (l, k) to a list of scores (n_targets, k), one for each point.
    """
    frequency = np.mean(Y == 1, axis=0)
    varied = np.flatnonzero((frequency > 0) & (frequency < 1))
    scores = [np.zeros((n_targets, Y.shape[1])) for _ in range(n_points)]
    if len(varied):
        for whole, part in zip(scores, fit(np.where(Y[:, varied] == 1, 1.0, -1.0)), strict=True):
            whole[:, varied] = part
    return scores


def of_groups(problem: Problem) -> FeatureGroups | None:
    """Return the groups where there are several."""
    return problem.groups if len(problem.groups.names) > 1 else None
