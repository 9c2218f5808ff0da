"""Simple models that stand in for an annotator where its own scores cannot be taken apart."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.core import UNKNOWN, FeatureGroups, Floats
from tagloom.methods.baselines.least_squares import GRID
from tagloom.methods.shared import RidgePath, linear_scores
from tagloom.tuning.constants import SURROGATE_PHOTOS, SURROGATE_ROWS

__all__ = ["PatternRidges", "RidgeStandIn", "even_factors", "labels_shown", "local_line"]


class PatternRidges:
    """Ridge regressions of the tags that are known on the same photos, from one decomposition.

    Parameters
    ----------
    X : array of shape (m, d)
        Features of these photos, multiplied by the factors of their columns.
    labels : array of shape (m, c)
        Their labels of the tags, 0 and 1.
    """

    def __init__(self, X: NDArray[Any], labels: NDArray[np.int8]) -> None:
        self._path = RidgePath(X, labels)
        spread = float(X.var(axis=0, dtype=np.float64).sum())
        grid = GRID * (spread if spread > 0.0 else 1.0)
        errors = np.array([self._errors(float(one)) for one in grid])
        # As `RegularizedLeastSquares` chooses for a tag alone: the largest penalty among equals.
        best = len(grid) - 1 - np.argmin(errors[::-1], axis=0)
        self._strengths: Floats = grid[best]

    def line(self, place: int) -> tuple[Floats, float]:
        """Return slopes (d,) and intercept of the tag at a place."""
        coef, intercept = self._path.coefficients(float(self._strengths[place]))
        return coef[:, place], float(intercept[place])

    def weights(self, place: int, features: Floats) -> Floats:
        """Return what each label weighs in the score of a photo: ``1/m + U √s/(s + λ) Vᵀ(z - x̄)``."""
        path, strength = self._path, float(self._strengths[place])
        shares = np.sqrt(path.eigenvalues) / (path.eigenvalues + strength)
        return 1.0 / path.n_rows + path.rows @ (shares * ((features - path.x_mean) @ path.columns))

    def _errors(self, strength: float) -> Floats:
        """Return the mean squared leave-one-out error of each tag; 0 where a single photo leaves nothing to compare."""
        residuals = self._path.leave_one_out_residuals(strength)
        found: Floats = np.square(residuals).mean(axis=0) if len(residuals) > 1 else np.zeros(residuals.shape[1])
        return found


class RidgeStandIn:
    """Ridge regression of one tag, brought to the scale of an annotator's scores.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    shared : PatternRidges
        The regressions of the tags that are known where this one is.
    place : int
        The tag's place among those.
    labels : array of shape (n,)
        The tag's labels.
    scores : array of shape (n,)
        The annotator's scores of the tag.
    factors : array of shape (d,)
        Of the columns; see `even_factors`.
    """

    def __init__(
        self,
        X: NDArray[Any],
        shared: PatternRidges,
        place: int,
        labels: NDArray[np.int8],
        scores: Floats,
        factors: Floats,
    ) -> None:
        self._X, self._shared, self._place, self._factors = X, shared, place, factors
        coef, intercept = shared.line(place)
        fitted = linear_scores(X, (coef * factors)[:, None], np.array([intercept]))[:, 0]
        # A score that is just the photo's label says nothing of the annotator's scale.
        usable = ~labels_shown(scores, labels)
        compared = usable if usable.sum() >= 2 else np.ones(len(scores), dtype=bool)
        mine, theirs = fitted[compared], scores[compared]
        centred = mine - mine.mean()
        length = float(centred @ centred)
        # A slope below 0 would turn every reason into its opposite: then nothing is explained.
        self.slope = max(0.0, float(centred @ (theirs - theirs.mean())) / length) if length > 0 else 0.0
        self.offset = float(theirs.mean() - self.slope * mine.mean())

    def of(self, row: int) -> tuple[Floats, float]:
        """Return the weights of the photos on which the tag is known, in their order, and the offset."""
        return self.slope * self._shared.weights(self._place, self._X[row] * self._factors), self.offset


class LocalLine(NamedTuple):
    """Slopes (d,) that agree with scores around a photo, and mean features (d,) and score of the photos there."""

    coef: Floats
    mean: Floats
    level: float


def even_factors(X: NDArray[Any], groups: FeatureGroups | None) -> Floats:
    """Return factors of the columns (d,) that give each group the same variance, whatever unit it comes in.

    Without them distances and lines would know the group with the largest numbers alone.

    Parameters
    ----------
    X : array of shape (n, d)
        Features; of many photos a sample is looked at.
    groups : FeatureGroups or None
        Its columns; None leaves them as they are.
    """
    factors = np.ones(X.shape[1])
    if groups is None:
        return factors
    rows = X[:: -(-len(X) // SURROGATE_ROWS)]
    for name in groups:
        spread = float(rows[:, groups[name]].var(axis=0, dtype=np.float64).sum())
        factors[groups[name]] = 1.0 / np.sqrt(spread) if spread > 0.0 else 1.0
    return factors


def local_line(X: NDArray[Any], scores: Floats, row: int, hidden: NDArray[np.bool_], factors: Floats) -> LocalLine:
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
    factors : array of shape (d,)
        Of the columns; see `even_factors`.
    """
    distances = _squared_distances(X, X[row], factors)
    usable = np.flatnonzero(~hidden)
    if len(usable) < 2:
        usable = np.arange(len(X))
    nearest = usable[np.argsort(distances[usable], kind="stable")[:SURROGATE_PHOTOS]]
    near = X[nearest] * factors
    path = RidgePath(near, scores[nearest, None])
    spread = float(near.var(axis=0).sum())
    grid = GRID * (spread if spread > 0 else 1.0)
    errors = [float(np.square(path.leave_one_out_residuals(float(one))).mean()) for one in grid]
    best = grid[int(np.nanargmin(errors))] if not np.isnan(errors).all() else grid[-1]
    coef = path.coefficients(float(best))[0][:, 0]
    return LocalLine(coef * factors, path.x_mean / factors, float(path.y_mean[0]))


def _squared_distances(X: NDArray[Any], point: NDArray[Any], factors: Floats) -> NDArray[Any]:
    """Return squared distances (n,) of rows to a point, columns multiplied by factors, without a copy of all rows."""
    factors = factors.astype(np.result_type(X, np.float32), copy=False)
    blocks = (X[start : start + SURROGATE_ROWS] for start in range(0, len(X), SURROGATE_ROWS))
    return np.concatenate([np.square((block - point) * factors).sum(axis=1) for block in blocks])


def labels_shown(scores: Floats, labels: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which scores are just the photo's own label."""
    shown: NDArray[np.bool_] = (labels != UNKNOWN) & (scores == labels)
    return shown
