"""Fisher score: select the features that tell a tag's photos from the others, then regularised least squares."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import COUNT, Floats, LabelMatrix, OneOf, labeled_rows
from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.shared import (
    SelectingAnnotator,
    best_first,
    dense,
    fold_precision,
    label_folds,
    linear_scores,
    top_features,
)

__all__ = ["FisherScore", "fisher_scores"]


#: Numbers of features that "auto" compares: this many, geometric from the smallest to all.
GRID_SIZE = 8
SMALLEST = 8


def fisher_scores(X: Any, Y: LabelMatrix) -> Floats:
    """Return the Fisher score of each feature over all tags.

    ``Σ_t Σ_k n_tk (μ_tk - μ_t)² / Σ_t Σ_k n_tk σ²_tk``: for each tag t the rows known for it are two classes k, with
    n_tk rows, mean μ_tk and variance σ²_tk; μ_t is their common mean. Between-class scatter of all tags over
    within-class scatter of all tags.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Entries -1 are left out, each for its tag.

    Returns
    -------
    ndarray of shape (d,)
        0 for a feature that is constant on the labelled rows. Finite: the within-class share of the scatter is
        taken to be at least the rounding unit.
    """
    rows = labeled_rows(Y)
    X, Y = X[rows].astype(np.float64), Y[rows]
    varies = _varies(X)
    if not sparse.issparse(X):
        X = X - X.mean(axis=0)  # keeps the squares small: they are subtracted below
    positive, negative = (Y == 1).astype(np.float64), (Y == 0).astype(np.float64)
    squares = np.asarray((X.multiply(X) if sparse.issparse(X) else X * X).T @ (positive + negative))
    sums = [np.asarray(X.T @ members) for members in (positive, negative)]  # (d, c) each
    counts = [members.sum(axis=0) for members in (positive, negative)]
    pooled = (sums[0] + sums[1]) ** 2 / np.maximum(counts[0] + counts[1], 1.0)
    classes = sum(part**2 / np.maximum(count, 1.0) for part, count in zip(sums, counts, strict=True))
    between = np.maximum(classes - pooled, 0.0).sum(axis=1)
    total = np.maximum(squares - pooled, 0.0).sum(axis=1)
    within = np.maximum(total - between, np.finfo(np.float64).eps * total)
    scores = np.divide(between, within, out=np.zeros_like(within), where=varies & (within > 0.0))
    return np.asarray(scores)


class FisherScore(SelectingAnnotator):
    """Feature selection by Fisher score, then ridge.

    Parameters
    ----------
    n_features : "auto" or int, default="auto"
        How many features to keep; a number above d keeps all. "auto" takes the best of eight numbers, geometric from
        8 to d, by the mean average precision on held-out labelled rows (`LabeledKFold`); among equals the fewest.
    regularization : "loo" or float, default="loo"
        λ of the least squares, see `RegularizedLeastSquares`.
    n_splits : int, default=5
        Folds of "auto".
    random_state : int, Generator or None, default=0
        For the folds.

    Attributes
    ----------
    feature_scores_ : ndarray of shape (d,)
        See `fisher_scores`.
    selected_features_ : ndarray of int
        The features in use, ascending; among equal scores the first columns.
    coef_ : ndarray of shape (d, c)
        W, zero rows for features that are not in use.
    intercept_ : ndarray of shape (c,)
        b.
    transduction_ : ndarray of shape (n, c)
        ``XW + b``.
    thresholds_ : ndarray of shape (c,)
        From leave-one-out scores of the least squares.
    regularization_ : float
        λ as used.
    n_features_ : int
        How many features are in use.
    candidates_ : ndarray of int or None
        The numbers "auto" compared.
    precision_ : ndarray of shape (candidates,) or None
        Their mean average precision over folds and tags; None where nothing could be compared (then all features are
        kept).

    Notes
    -----
    The score is that of Duda, Hart and Stork, "Pattern Classification", per tag a problem of two classes. Over tags
    numerators and denominators are summed before they are divided, as traces of the scatter matrices of multi-label
    discriminant analysis are (Wang, Ding and Huang, ECCV 2010); Nie et al., "Trace ratio criterion for feature
    selection" (AAAI 2008), discuss the score of single features against that of a set. For one tag it is the F
    statistic of the analysis of variance over n - 2; for classes of equal size that exclude each other the order of the
    features is that of the F statistic of all classes.

    Paper 000 compares SFSS with this method: Fisher score selects, regularised least squares learns. Features are
    judged one by one, so copies of a good feature are all kept.
    """

    _accepts_sparse = True

    _parameter_constraints = SelectingAnnotator._parameter_constraints | {"n_features": [OneOf("auto"), COUNT]}

    def __init__(
        self,
        n_features: int | Literal["auto"] = "auto",
        *,
        regularization: float | Literal["loo"] = "loo",
        n_splits: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.n_features = n_features
        self.regularization = regularization
        self.n_splits = n_splits
        self.random_state = random_state

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        self.feature_scores_ = fisher_scores(X, Y)
        self.candidates_: NDArray[np.intp] | None = None
        self.precision_: Floats | None = None
        if self.n_features == "auto":
            self.n_features_ = self._choose(X, Y)
        else:
            self.n_features_ = min(int(self.n_features), X.shape[1])
        self._learn(X, Y, top_features(self.feature_scores_, self.n_features_))

    def _choose(self, X: Any, Y: LabelMatrix) -> int:
        """Compare numbers of features; scores and their order are found once for each fold."""
        n_columns = X.shape[1]
        grid = np.geomspace(min(SMALLEST, n_columns), n_columns, GRID_SIZE)
        self.candidates_ = np.unique(np.rint(grid).astype(np.intp))
        if len(self.candidates_) == 1:
            return n_columns
        figures = []
        for train, held_out in label_folds(Y, self.n_splits, self.random_state):
            order = top_features(fisher_scores(X[train], Y[train]), n_columns)
            learned, judged = dense(X[train][:, order]), dense(X[held_out][:, order])
            scores = [self._score(learned[:, :k], Y[train], judged[:, :k]) for k in self.candidates_]
            figures.append(np.array([fold_precision(Y[held_out], each) for each in scores]))
        best, self.precision_ = best_first(figures)
        return n_columns if best is None else int(self.candidates_[best])

    def _score(self, learned: NDArray[Any], Y: LabelMatrix, judged: NDArray[Any]) -> Floats:
        model = RegularizedLeastSquares(self.regularization)
        model.fit(learned, Y)
        return linear_scores(judged, model.coef_, model.intercept_)


def _varies(X: Any) -> NDArray[np.bool_]:
    """Return which columns are not constant."""
    if sparse.issparse(X):
        return np.asarray(X.max(axis=0).toarray() != X.min(axis=0).toarray()).ravel()
    return np.asarray(X.max(axis=0) != X.min(axis=0))
