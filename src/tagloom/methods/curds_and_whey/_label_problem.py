"""The rows and tags that canonical analysis looks at: features and labels centred, and how well labels are told."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats
from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.curds_and_whey.problem import least_squares_fit
from tagloom.methods.shared.out_of_fold import known_means
from tagloom.solvers.cca import sparse_cca

__all__ = ["LabelProblem", "choose_rows", "tag_means"]


#: Photos with all tags known are used alone where they are this share of the labelled ones and so many per tag.
COMPLETE_SHARE, COMPLETE_PER_TAG = 0.5, 2
#: Correlations of two tags below so many standard errors are no edge of the fusion.
STANDARD_ERRORS = 2.0
#: A structured pair is done when a step raises its objective by no more than this share.
PAIR_TOLERANCE = 1e-6
#: Relative duality gap of its fused steps: a distance of 3e-5.
PROX_TOLERANCE = 1e-9
#: A column whose standard deviation is this share of its largest entry is constant but for rounding.
CONSTANT = 1e-7


def choose_rows(Y: LabelMatrix) -> NDArray[np.intp]:
    """Return the rows with all tags known where they are many, else all labelled ones."""
    known = Y != UNKNOWN
    # A tag that nobody has looked at makes no row incomplete.
    known = known[:, known.any(axis=0)]
    labelled, complete = known.any(axis=1), known.all(axis=1) & (known.shape[1] > 0)
    enough = complete.sum() >= max(COMPLETE_SHARE * labelled.sum(), COMPLETE_PER_TAG * known.shape[1])
    return np.flatnonzero(complete if enough else labelled)


def tag_means(Y: LabelMatrix) -> Floats:
    """Return the mean of each tag coded ±1 over its known entries, 0 where there are none."""
    known = (Y != UNKNOWN).sum(axis=0)
    means: Floats = np.where(known > 0, 2.0 * (Y == 1).sum(axis=0) / np.maximum(known, 1) - 1.0, 0.0)
    return means


class LabelProblem:
    """Centred labels ±1 of some rows and tags, their covariance, and features of unit variance.

    Unknown entries are zero, the mean of their tag.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Labels.
    groups : FeatureGroups or None
        Groups of the columns.
    ridge : float
        Share of the mean variance of the tags that is added to each.
    """

    def __init__(self, X: NDArray[Any], Y: LabelMatrix, groups: FeatureGroups | None, ridge: float) -> None:
        self.X, self.Y, self.groups, self._ridge = X, Y, groups, ridge
        self.labels = self.centre(np.where(Y == 1, 1.0, -1.0))
        self.covariance: Floats = self.labels.T @ self.labels / len(Y)
        # A fold may leave tags without any variance; 1 is as good as any then.
        self.covariance.flat[:: Y.shape[1] + 1] += ridge * (float(np.square(self.labels).mean()) or 1.0)
        centred = X - X.mean(axis=0, dtype=np.float64)
        spread = np.sqrt(np.square(centred).mean(axis=0))
        varies = spread > CONSTANT * np.maximum(np.abs(X).max(axis=0), np.finfo(np.float32).tiny)
        self.n_features = int(varies.sum())
        self.features: Floats = np.divide(centred, spread, out=np.zeros_like(centred), where=varies)

    def centre(self, values: Floats) -> Floats:
        """Return values of the rows less the mean of the known ones of each tag, zero where unknown."""
        known = self.Y != UNKNOWN
        means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.where(known, values - means, 0.0)

    def part(self, rows: NDArray[np.intp]) -> "LabelProblem":
        """Return the problem of some rows."""
        return LabelProblem(self.X[rows], self.Y[rows], self.groups, self._ridge)

    def fit_training(self) -> tuple[Floats, int]:
        """Return the least-squares fit of the labels and the rank of the features."""
        return least_squares_fit(self.features, self.labels)

    def fit_ridge(self, X_new: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return what ridge regression says of each row without its labels, and of new rows, as centred labels ±1."""
        model = RegularizedLeastSquares().fit(self.X, self.Y)
        known = self.Y != UNKNOWN
        residuals = np.where(known, self.Y - model.loo_scores_, 0.0)
        share = 1.0 - 1.0 / np.maximum(known.sum(axis=0), 1)
        # Without the intercept of the left-out model, which moves against the label that was left out.
        left_out = np.where(np.isfinite(residuals), self.labels - 2.0 * share * residuals, 0.0)
        new = model.decision_function(X_new) - known_means(model.transduction_, self.Y) if len(X_new) else X_new[:, :0]
        return left_out, 2.0 * new

    def predicted(self, fitted: Floats) -> Floats:
        """Return ``YᵀŶ/n`` made symmetric."""
        crossed = self.labels.T @ fitted / len(self.labels)
        return 0.5 * (crossed + crossed.T)

    def structured_pairs(
        self, *, feature_sparsity: float, group_sparsity: float, tag_sparsity: float, tag_fusion: float
    ) -> Floats:
        """Return the directions of tags (c, k) of structured sparse pairs, the penalties as shares.

        A share of 1 leaves nothing of the leading singular pair: of its largest entry or group, of its largest tag.
        """
        cross = self.features.T @ self.labels / len(self.labels)
        first = sparse_cca(cross, n_pairs=1)
        if first.u.shape[1] == 0:
            return first.v
        along_u, along_v = np.abs(cross @ first.v[:, 0]), np.abs(cross.T @ first.u[:, 0])
        sizes = np.ones(len(cross), dtype=np.intp) if self.groups is None else np.asarray(self.groups.sizes)
        means = np.add.reduceat(np.square(along_u), np.cumsum(sizes) - sizes) / sizes
        relations = self._relations()
        return sparse_cca(
            cross,
            groups=self.groups,
            feature_sparsity=feature_sparsity * float(along_u.max()),
            group_sparsity=group_sparsity * float(np.sqrt(means.max())),
            tag_sparsity=tag_sparsity * float(along_v.max()),
            tag_fusion=tag_fusion * float(along_v.max()) / max(float(np.abs(relations).sum(axis=0).max()), 1.0),
            tag_correlations=relations,
            tol=PAIR_TOLERANCE,
            prox_tol=PROX_TOLERANCE,
        ).v

    def _relations(self) -> Floats:
        """Return correlations of the tags, those that chance explains set to zero."""
        lengths = np.maximum(np.sqrt(np.square(self.labels).sum(axis=0)), np.finfo(np.float64).tiny)
        relations: Floats = (self.labels / lengths).T @ (self.labels / lengths)
        relations[np.abs(relations) < STANDARD_ERRORS / np.sqrt(len(self.labels))] = 0.0
        return relations
