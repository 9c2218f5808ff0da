"""Simple models that stand in for an annotator where its own scores cannot be taken apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.methods.baselines.least_squares import GRID, RegularizedLeastSquares
from tagloom.methods.baselines.ridge_path import RidgePath
from tagloom.tuning._label_weights import RidgeWeights

__all__ = ["LocalLine", "RidgeStandIn", "labels_shown", "local_line"]

Floats = NDArray[np.float64]

#: Photos around the one in question that the local line is fitted to.
NEARBY = 256


class RidgeStandIn:
    """Ridge regression of one tag, brought to the scale of an annotator's scores.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Labels; the tag is known on two photos at least.
    tag : int
        The tag.
    scores : array of shape (n,)
        The annotator's scores of the tag.
    """

    def __init__(self, X: NDArray[Any], Y: LabelMatrix, tag: int, scores: Floats) -> None:
        column = Y[:, [tag]]
        fitted = RegularizedLeastSquares().fit(X, column)
        self._weights = RidgeWeights(fitted, X, column)
        # A score that is just the photo's label says nothing of the annotator's scale.
        usable = ~labels_shown(scores, column[:, 0])
        compared = usable if usable.sum() >= 2 else np.ones(len(scores), dtype=bool)
        mine, theirs = fitted.transduction_[compared, 0], scores[compared]
        centred = mine - mine.mean()
        length = float(centred @ centred)
        # A slope below 0 would turn every reason into its opposite: then nothing is explained.
        self.slope = max(0.0, float(centred @ (theirs - theirs.mean())) / length) if length > 0 else 0.0
        self.offset = float(theirs.mean() - self.slope * mine.mean())

    def of(self, row: int) -> tuple[Floats, float]:
        """Return the weights of the photos on which the tag is known, in their order, and the offset."""
        weights, offset = self._weights.of(row, 0)
        return self.slope * weights, self.offset + self.slope * offset


class LocalLine:
    """A linear function of the features that agrees with an annotator's scores around a photo.

    Parameters
    ----------
    coef : array of shape (d,)
        Its slopes.
    mean : array of shape (d,)
        Mean features of the photos around.
    level : float
        Mean score of the photos around.
    """

    def __init__(self, coef: Floats, mean: Floats, level: float) -> None:
        self.coef, self.mean, self.level = coef, mean, level


def local_line(X: NDArray[Any], scores: Floats, row: int, hidden: NDArray[np.bool_]) -> LocalLine:
    """Fit a line to the scores of the photos nearest to one, its penalty chosen by leave-one-out.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    scores : array of shape (n,)
        The annotator's scores.
    row : int
        The photo.
    hidden : array of bool, shape (n,)
        Photos that are left out: those whose score is their label and not what features say.
    """
    distances = np.square(X - X[row]).sum(axis=1)
    usable = np.flatnonzero(~hidden)
    if len(usable) < 2:
        usable = np.arange(len(X))
    nearest = usable[np.argsort(distances[usable], kind="stable")[:NEARBY]]
    path = RidgePath(X[nearest], scores[nearest, None])
    spread = float(X[nearest].var(axis=0, dtype=np.float64).sum())
    grid = GRID * (spread if spread > 0 else 1.0)
    errors = [float(np.square(path.leave_one_out_residuals(float(one))).mean()) for one in grid]
    best = grid[int(np.nanargmin(errors))] if not np.isnan(errors).all() else grid[-1]
    coef = path.coefficients(float(best))[0][:, 0]
    return LocalLine(coef, path.x_mean, float(path.y_mean[0]))


def labels_shown(scores: Floats, labels: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which scores are just the photo's own label."""
    shown: NDArray[np.bool_] = (labels != UNKNOWN) & (scores == labels)
    return shown
