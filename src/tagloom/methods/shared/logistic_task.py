"""What the sparse logistic baselines share: which rows and tags take part, scaling, constant tags, constant columns."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import UNKNOWN, Floats, LabelMatrix, labeled_rows
from tagloom.solvers.groups import ColumnGroupL2
from tagloom.solvers.logistic import GroupLogistic

__all__ = ["LogisticTask", "name_tags", "warn_unless_converged"]


#: Spread of a column, relative to its largest entry, below which it is constant but for rounding.
CONSTANT = {4: 1e-6, 8: 1e-12}


class LogisticTask:
    """The labelled rows with centred columns, and the tags that have both a positive and a negative on them.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Labels with -1 for unknown.
    penalty : ColumnGroupL2
        Groups and weights.
    standardize : bool
        Whether columns are divided by their standard deviation.

    Attributes
    ----------
    tags : ndarray of int
        The tags that take part: those with a positive and a negative and with any feature that varies.
    problem : GroupLogistic or None
        On these tags; None where there are none.
    largest : ndarray
        For each of these tags the smallest strength at which no group is used.
    base : ndarray of shape (c,)
        The constant score of a tag without features: ``log((positives + ½) / (negatives + ½))`` where it has no
        positive or no negative, else the log-odds.
    """

    def __init__(self, X: NDArray[Any], Y: LabelMatrix, penalty: ColumnGroupL2, *, standardize: bool) -> None:
        rows = labeled_rows(Y)
        self.labels = Y[rows]
        features = X[rows].astype(np.float64)
        largest_entry = np.abs(features).max(axis=0, initial=0.0)
        self.mean: Floats = features.mean(axis=0) if len(features) else np.zeros(X.shape[1])
        features -= self.mean
        spread = np.sqrt(np.mean(np.square(features), axis=0)) if len(features) else np.zeros(X.shape[1])
        constant = spread <= CONSTANT.get(X.dtype.itemsize, 1e-12) * largest_entry
        features[:, constant] = 0.0
        self.scale: Floats = np.where(constant, 1.0, spread) if standardize else np.ones(X.shape[1])
        features /= self.scale
        positive, negative = (self.labels == 1).sum(axis=0), (self.labels == 0).sum(axis=0)
        both = (positive > 0) & (negative > 0)
        half = np.where(both, 0.0, 0.5)
        self.base: Floats = np.log((positive + half) / (negative + half))
        self.constant_tags = np.flatnonzero(~both)
        self.n_known = (self.labels != UNKNOWN).sum(axis=0)
        self._build(features, np.flatnonzero(both), penalty)

    def _build(self, features: Floats, tags: NDArray[np.intp], penalty: ColumnGroupL2) -> None:
        self.problem: GroupLogistic | None = None
        self.tags, self.largest = tags, np.zeros(tags.size)
        if tags.size == 0:
            return
        problem = GroupLogistic(features, self.labels[:, tags], penalty)
        largest = problem.largest_strengths()
        useful = largest > 1e-12 * np.abs(features).max(initial=0.0)
        if useful.all():
            self.problem, self.largest = problem, largest
        elif useful.any():
            self.tags, self.largest = tags[useful], largest[useful]
            self.problem = GroupLogistic(features, self.labels[:, self.tags], penalty)
        else:
            self.tags, self.largest = tags[:0], largest[:0]

    def embed(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Return coefficients and intercepts of all tags for the features as they were given."""
        W = np.zeros((len(self.mean), self.labels.shape[1]))
        W[:, self.tags] = coef / self.scale[:, None]
        b = self.base.copy()
        b[self.tags] = intercept
        return W, b - self.mean @ W

    def warn_constant_tags(self, method: str) -> None:
        """Name the tags that cannot be learnt."""
        if self.constant_tags.size:
            warnings.warn(
                f"{method}: {name_tags(self.constant_tags)} without a known positive or without a known negative; "
                f"every photo gets the same score there. Label at least one photo of either kind",
                stacklevel=5,
            )


def name_tags(tags: NDArray[np.intp]) -> str:
    """Return "tag 3 is" or "tags 3, 5, … are", at most twenty of them."""
    shown = ", ".join(str(tag) for tag in tags[:20]) + (f" and {tags.size - 20} more" if tags.size > 20 else "")
    return f"tag {shown} is" if tags.size == 1 else f"tags {shown} are"


def warn_unless_converged(method: str, optimality: float, tol: float, max_iter: int) -> None:
    """Warn if a solution was left above the tolerance."""
    if optimality > tol:
        warnings.warn(
            f"{method} was left at an optimality of {optimality:.2g} after at most {max_iter} Newton steps, above "
            f"tol={tol:g}. Raise max_iter or tol, or scale the features",
            ConvergenceWarning,
            stacklevel=5,
        )
