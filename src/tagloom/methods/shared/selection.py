"""Select features, then learn by regularised least squares: what selectors that are annotators share."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_selection import SelectorMixin

from tagloom.core import (
    COMMON,
    COUNT,
    POSITIVE,
    UNKNOWN,
    Annotator,
    Floats,
    LabeledKFold,
    LabelMatrix,
    OneOf,
    labeled_rows,
)
from tagloom.methods.baselines import RegularizedLeastSquares
from tagloom.methods.shared.ridge_path import linear_scores
from tagloom.metrics import average_precision

__all__ = ["SelectingAnnotator", "best_first", "fold_precision", "label_folds", "top_features"]


#: Mean average precisions that differ by less are equal.
SAME_PRECISION = 1e-9


class SelectingAnnotator(SelectorMixin, Annotator):
    """An annotator that uses few of the features, and a scikit-learn feature selector.

    A subclass sets ``feature_scores_`` and calls ``_learn`` with the features to use.

    Attributes
    ----------
    feature_scores_ : ndarray of shape (d,)
        How much each feature matters.
    selected_features_ : ndarray of int
        The features in use, ascending.
    coef_ : ndarray of shape (d, c)
        Zero rows for features that are not in use.
    intercept_ : ndarray of shape (c,)
        Added to every score.
    """

    _parameter_constraints = COMMON | {
        "regularization": [OneOf("loo"), POSITIVE],
        "n_features": [COUNT, None],
    }

    feature_scores_: Floats
    selected_features_: NDArray[np.intp]
    coef_: Floats
    intercept_: Floats
    regularization: float | Literal["loo"]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_features_] = True
        return mask

    def _decision_function(self, X: Any) -> Floats:
        if sparse.issparse(X):
            return np.asarray(X @ self.coef_ + self.intercept_)
        return linear_scores(X, self.coef_, self.intercept_)

    def _learn(self, X: Any, Y: LabelMatrix, features: NDArray[np.intp]) -> None:
        """Set coefficients, thresholds and ``transduction_`` from least squares on some features."""
        self.selected_features_ = np.sort(features)
        self.coef_ = np.zeros((X.shape[1], Y.shape[1]))
        rows = labeled_rows(Y)
        if len(features):
            model = RegularizedLeastSquares(self.regularization)
            model.fit(dense(X[rows][:, self.selected_features_]), Y[rows])
            self.coef_[self.selected_features_] = model.coef_
            self.intercept_, self.thresholds_ = model.intercept_, model.thresholds_
            self.regularization_ = model.regularization_
        else:
            self.intercept_ = tag_shares(Y)
        self.transduction_ = self._decision_function(X)


def dense(X: Any) -> NDArray[Any]:
    """Return a sparse matrix as an array, an array as it is."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def tag_shares(Y: LabelMatrix) -> Floats:
    """Return the share of positives among each tag's known entries, 0 where there are none."""
    known = (Y != UNKNOWN).sum(axis=0)
    return np.asarray((Y == 1).sum(axis=0) / np.maximum(known, 1), dtype=np.float64)


def top_features(scores: Floats, n_features: int) -> NDArray[np.intp]:
    """Return the features with the largest scores; among equals the first."""
    return np.argsort(-scores, kind="stable")[:n_features]


def label_folds(
    Y: LabelMatrix, n_splits: int, random_state: Any
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield training and held-out labelled rows; nothing where fewer than two rows are labelled.

    Unlabelled rows are left out: what is compared here learns from labelled rows alone.
    """
    labelled = labeled_rows(Y)
    if labelled.sum() < 2:
        return
    for train, held_out in LabeledKFold(n_splits, random_state=random_state).split(None, Y):
        yield train[labelled[train]], held_out


def fold_precision(Y: LabelMatrix, scores: Floats) -> Floats:
    """Return the average precision of each tag, NaN for a tag that lacks a positive or a negative to tell apart."""
    both = ((Y == 1).any(axis=0)) & ((Y == 0).any(axis=0))
    return np.where(both, average_precision(Y, scores), np.nan)


def best_first(precisions: list[Floats]) -> tuple[int | None, Floats | None]:
    """Return the first best of several candidates, and the mean average precision of each.

    Parameters
    ----------
    precisions : list of arrays of shape (candidates, c)
        One for each fold, NaN where a tag says nothing.

    Returns
    -------
    best : int or None
        None where no fold says anything.
    means : ndarray of shape (candidates,) or None
        Over folds and tags.
    """
    figures = np.concatenate(precisions, axis=1) if precisions else np.empty((0, 0))
    figures = figures[:, ~np.isnan(figures).any(axis=0)]
    if not figures.size:
        return None, None
    means: Floats = figures.mean(axis=1)
    return int(np.argmax(means >= means.max() - SAME_PRECISION)), means
