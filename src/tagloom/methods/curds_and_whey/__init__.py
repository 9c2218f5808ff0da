"""Curds and whey: scores of all tags shrunk together, along the directions in which tags can be told from features."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from tagloom.core import (
    COMMON,
    NOT_NEGATIVE,
    FeatureGroups,
    Floats,
    OneOf,
    check_groups,
    check_labels,
    check_parameters,
)
from tagloom.exceptions import InvalidInputError
from tagloom.methods.curds_and_whey.problem import (
    LabelProblem,
    asymptotic_weights,
    canonical_coordinates,
    choose_rows,
    gcv_weights,
    paired_correlations,
    shrinkage_matrix,
    slope_weights,
    tag_means,
)
from tagloom.methods.shared import stable_folds

__all__ = ["CurdsAndWhey", "asymptotic_weights", "gcv_weights"]


#: Least ridge, so that tags which determine each other leave no singular matrix.
SMALLEST_RIDGE = 1e-10
#: "auto" holds photos out where features and tags together are this share of the photos, or more.
MANY_COLUMNS = 0.5


class CurdsAndWhey(BaseEstimator):
    """Multi-label boosting: ``Ỹ = ȳ + (Ŷ - ȳ) VᵀS V⁻ᵀ``, the rows of V the label canonical coordinates.

    A combination of tags that the features tell well keeps its score; one that they hardly tell is drawn to its mean.
    Each tag so borrows from the tags it goes with.

    Parameters
    ----------
    canonical : {"plain", "structured"}, default="plain"
        Coordinates from canonical correlation analysis, or from its structured sparse relative
        (`tagloom.solvers.cca`, called S²C&W): sparse in features and feature groups, fused over tags.
    weights : {"gcv", "asymptotic"}, default="gcv"
        S by generalised cross-validation or by Eq. (6); see Notes for held-out correlations.
    correlations : {"auto", "training", "held_out"}, default="auto"
        Where ρ is measured. "auto" holds photos out where ``scores`` are given or where features and tags together
        are half as many as the photos, or more.
    ridge : float, default=1.0
        Added to the variance of each tag, as a share of their mean variance, so that tags that determine each other
        keep all pairs. 0: the coordinates of unregularised canonical analysis (1e-10 is added all the same).
    feature_sparsity, group_sparsity : float, default=0.1
        θ and τ of the structured pairs, as shares of the smallest that leaves nothing of the leading singular pair.
    tag_sparsity : float, default=0.0
        The same for the l1 norm on the tags' side.
    tag_fusion : float, default=0.1
        Weight of the fusion, as a share of that pair's largest tag entry over the largest sum of a tag's |r|.
    n_splits : int, default=5
        Folds of held-out correlations.
    random_state : int, Generator or None, default=0
        For dealing the folds.

    Attributes
    ----------
    shrinkage_ : ndarray of shape (c, c)
        ``VᵀS V⁻ᵀ``, the identity in the rows and columns of tags that do not vary.
    coordinates_ : ndarray of shape (k, c)
        V, one row for each tag that varies, the best predicted first.
    correlations_ : ndarray of shape (k,)
        ρ of each coordinate.
    weights_ : ndarray of shape (k,)
        Diagonal of S, within 0 and 1.
    tag_means_ : ndarray of shape (c,)
        ȳ: mean of each tag coded ±1 over its known entries, 0 where there are none.
    held_out_ : bool
        Whether ρ was measured on held-out scores.
    n_rows_ : int
        Photos the coordinates were found on.

    Notes
    -----
    Labels are coded ±1 and centred. Rows without a label are left out. If some rows are known for one tag and unknown
    for another, only the complete rows are used where they are at least half of the labelled ones and two per tag;
    otherwise unknown entries take the mean of their tag (in held-out scores too), which pulls correlations towards
    zero and so errs on the side of less exchange between tags.

    Coordinates v solve ``YᵀŶv = ρ²(YᵀY)v``. On training rows Ŷ is the least-squares fit, ρ by Eq. (7) the canonical
    correlation, and r = p/n with p the rank of X. If p ≥ n - 1 every ρ is 1 and nothing shrinks. Well before that the
    largest ρ² of tags drawn at random is ``(√(r(1-q)) + √(q(1-r)))²`` with q = c/n: 0.71 for r = 0.4 and q = 0.1, and 1
    from p + c = n on. Hence "auto", and held-out ρ: for each fold the coordinates are found on the other photos, with Ŷ
    the leave-one-out scores of ridge regression, and compared on the fold with the scores given (or those of ridge
    regression). The i-th coordinates of all folds together make ρ and the weight of the i-th coordinate of all photos.
    "gcv" then is the slope of Yv on Ŷv within 0 and 1 and falling with i. That is what the formula of generalised
    cross-validation estimates from one fit of least squares; measured, it holds for any model. "asymptotic" puts the
    held-out ρ into Eq. (6). If the weights do not bring the held-out scores nearer to the labels than one weight for
    all, by more than a standard error over the photos, that one weight is used: no tag listens to another.

    Deviations: the printed ``B = V⁻¹SV`` belongs to photos as columns; with rows as photos it is ``VᵀSV⁻ᵀ``, computed
    as ``I - Vᵀ(I - S)V⁻ᵀ``, so that S = I changes nothing. Structured pairs see columns of X of unit variance. Their
    tag directions overlap, up to a singular V: each is replaced by what it adds to those before it (left out below a
    tenth), plain canonical coordinates of what remains complete V, and ρ is the correlation of Yv with its fit
    rather than with the sparse Xu.

    References
    ----------
    L. Breiman, J. Friedman, "Predicting multivariate responses in multiple linear regression", JRSS B 59, 1997.
    F. Wu, Y. Han, Q. Tian, Y. Zhuang, "Multi-label boosting for image annotation by structural grouping sparsity", ACM
    Multimedia 2010.
    F. Wu, Y. Yuan, Y. Rui and others, "Annotating web images using NOVA: non-convex group sparsity", Algorithm 2.
    """

    _parameter_constraints = COMMON | {
        "canonical": [OneOf("plain", "structured")],
        "weights": [OneOf("gcv", "asymptotic")],
        "correlations": [OneOf("auto", "training", "held_out")],
        "ridge": [NOT_NEGATIVE],
        "feature_sparsity": [NOT_NEGATIVE],
        "group_sparsity": [NOT_NEGATIVE],
        "tag_sparsity": [NOT_NEGATIVE],
        "tag_fusion": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        *,
        canonical: Literal["plain", "structured"] = "plain",
        weights: Literal["gcv", "asymptotic"] = "gcv",
        correlations: Literal["auto", "training", "held_out"] = "auto",
        ridge: float = 1.0,
        feature_sparsity: float = 0.1,
        group_sparsity: float = 0.1,
        tag_sparsity: float = 0.0,
        tag_fusion: float = 0.1,
        n_splits: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.canonical = canonical
        self.weights = weights
        self.correlations = correlations
        self.ridge = ridge
        self.feature_sparsity = feature_sparsity
        self.group_sparsity = group_sparsity
        self.tag_sparsity = tag_sparsity
        self.tag_fusion = tag_fusion
        self.n_splits = n_splits
        self.random_state = random_state

    def fit(self, X: Any, Y: Any, groups: FeatureGroups | None = None, scores: Any = None) -> "CurdsAndWhey":
        """Find the coordinates and their weights.

        Parameters
        ----------
        X : array of shape (n, d)
            Features, those that the model uses.
        Y : label matrix of shape (n, c)
            Labels; see Notes for unknown entries.
        groups : FeatureGroups or None, default=None
            Groups of the columns of X for structured pairs. None: every column is its own.
        scores : array of shape (n, c) or None, default=None
            Held-out scores of the model to be boosted, coded as the labels ±1: each labelled photo by a model fitted
            without its labels. Rows without a label are not looked at.

        Returns
        -------
        self
        """
        check_parameters(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        Y = check_labels(Y, n_rows=X.shape[0])
        check_groups(groups)
        if groups is not None:
            groups.check(X)
        rows = choose_rows(Y)
        given = None if scores is None else _check_scores(scores, Y.shape, rows)
        n_tags = Y.shape[1]
        self.tag_means_ = tag_means(Y)
        self.n_rows_ = len(rows)
        self.shrinkage_ = np.eye(n_tags)
        self.coordinates_, self.correlations_, self.weights_ = np.zeros((0, n_tags)), np.zeros(0), np.zeros(0)
        tags = np.flatnonzero((Y[rows] == 1).any(axis=0) & (Y[rows] == 0).any(axis=0))
        self.held_out_ = self._holds_out(X.shape[1] + len(tags), len(rows), given)
        if len(tags):
            problem = LabelProblem(X[rows], Y[np.ix_(rows, tags)], groups, max(float(self.ridge), SMALLEST_RIDGE))
            if self.held_out_:
                coordinates = self._solve_held_out(problem, None if given is None else given[np.ix_(rows, tags)])
            else:
                coordinates = self._solve_training(problem)
            self.coordinates_ = np.zeros((len(tags), n_tags))
            self.coordinates_[:, tags] = coordinates.T
            found = shrinkage_matrix(coordinates, self.weights_, problem.covariance)
            self.shrinkage_[np.ix_(tags, tags)] = found
        return self

    def transform(self, scores: Any) -> Floats:
        """Return ``ȳ + (scores - ȳ) VᵀS V⁻ᵀ``.

        Parameters
        ----------
        scores : array of shape (m, c)
            Scores of any photos, coded as the labels ±1.
        """
        check_is_fitted(self)
        scores = check_array(scores, dtype=np.float64)
        if scores.shape[1] != len(self.tag_means_):
            raise InvalidInputError(f"expected scores of {len(self.tag_means_)} tags, got {scores.shape[1]}")
        return self.shrink(scores, self.tag_means_)

    def shrink(self, scores: Floats, means: Floats) -> Floats:
        """Return scores in any units shrunk towards the means they have in these units."""
        # The identity is taken out, so that a tag that does not vary comes back to the last bit.
        return scores + (scores - means) @ (self.shrinkage_ - np.eye(len(means)))

    def _holds_out(self, n_columns: int, n_rows: int, scores: Floats | None) -> bool:
        if self.correlations == "auto":
            return scores is not None or n_columns >= MANY_COLUMNS * n_rows
        return self.correlations == "held_out"

    def _solve_training(self, problem: LabelProblem) -> Floats:
        """Return the coordinates by the least-squares fit; set their correlations and weights."""
        fitted, rank = problem.fit_training()
        coordinates = canonical_coordinates(problem.predicted(fitted), problem.covariance, self._structured(problem))
        self.correlations_ = paired_correlations(problem.labels @ coordinates, fitted @ coordinates)  # Eq. (7)
        weigh = gcv_weights if self.weights == "gcv" else asymptotic_weights
        self.weights_ = weigh(self.correlations_, rank / len(problem.labels))
        return coordinates

    def _solve_held_out(self, problem: LabelProblem, scores: Floats | None) -> Floats:
        """Return the coordinates of all rows; set what coordinates found without a row are worth on it, by rank."""
        labels, fitted, folds = np.zeros_like(problem.labels), np.zeros_like(problem.labels), []
        held_out = np.zeros_like(labels) if scores is None else problem.centre(scores)
        for fold in stable_folds(problem.X, problem.Y, n_splits=self.n_splits, random_state=self.random_state):
            rest = problem.part(np.delete(np.arange(len(labels)), fold))
            coordinates, predicted = self._coordinates(rest, problem.X[fold])
            if scores is None:
                held_out[fold] = predicted
            labels[fold], fitted[fold] = problem.labels[fold] @ coordinates, held_out[fold] @ coordinates
            folds.append((fold, coordinates, rest.covariance))
        self.correlations_ = paired_correlations(labels, fitted)
        ratio = problem.n_features / len(labels)
        self.weights_, common = slope_weights(labels, fitted)
        if self.weights == "asymptotic":
            self.weights_ = asymptotic_weights(np.maximum(self.correlations_, 0.0), ratio)  # Eq. (6)
        shrunk = np.zeros_like(labels)
        for fold, coordinates, covariance in folds:
            shrunk[fold] = held_out[fold] @ shrinkage_matrix(coordinates, self.weights_, covariance)
        if not _is_better(problem.labels, shrunk, common * held_out):
            self.weights_ = np.full_like(self.weights_, common)
        return self._coordinates(problem, problem.X[:0])[0]

    def _coordinates(self, problem: LabelProblem, X_new: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return the coordinates by ridge regression, and what it says of new rows."""
        left_out, new = problem.fit_ridge(X_new)
        predicted = problem.predicted(left_out)
        return canonical_coordinates(predicted, problem.covariance, self._structured(problem)), new

    def _structured(self, problem: LabelProblem) -> Floats | None:
        """Return the directions of the tags in structured sparse pairs, None for plain coordinates."""
        if self.canonical == "plain":
            return None
        return problem.structured_pairs(
            feature_sparsity=float(self.feature_sparsity),
            group_sparsity=float(self.group_sparsity),
            tag_sparsity=float(self.tag_sparsity),
            tag_fusion=float(self.tag_fusion),
        )


def _check_scores(scores: Any, shape: tuple[int, ...], rows: NDArray[np.intp]) -> Floats:
    array = np.asarray(scores, dtype=np.float64)
    if array.shape != shape:
        raise InvalidInputError(f"scores must have the shape of Y, {shape}, got {array.shape}")
    if not np.isfinite(array[rows]).all():
        raise InvalidInputError("scores of labelled rows must be finite; score each by a model that has not seen it")
    return array


def _is_better(labels: Floats, scores: Floats, others: Floats) -> bool:
    """Return whether scores are nearer to the labels than others, by more than one standard error over the rows."""
    gain = np.square(labels - others).sum(axis=1) - np.square(labels - scores).sum(axis=1)
    return bool(gain.sum() > np.sqrt(len(gain)) * gain.std())
