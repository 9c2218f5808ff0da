"""Label canonical coordinates, their weights, and the shrinkage that both make."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, optimize

from tagloom.core import UNKNOWN, FeatureGroups, Floats, LabelMatrix
from tagloom.methods.baselines import RegularizedLeastSquares
from tagloom.methods.shared import known_means
from tagloom.solvers import sparse_cca

__all__ = [
    "LabelProblem",
    "asymptotic_weights",
    "canonical_coordinates",
    "choose_rows",
    "gcv_weights",
    "least_squares_fit",
    "paired_correlations",
    "shrinkage_matrix",
    "slope_weights",
    "tag_means",
]


# Columns of a pivoted triangle below this share of the first one are combinations of the others.
RANK_TOLERANCE = 1e-10
# Weight of a column without scores, as a share of the largest.
TINY = 1e-9
# A direction of tags of which no more than this share is new is covered by those before it.
NEW_SHARE = 0.1


def asymptotic_weights(correlations: ArrayLike, ratio: float) -> Floats:
    """Return ``ρ²/(ρ² + r(1 - ρ²))``, Eq. (6).

    Parameters
    ----------
    correlations : array
        ρ, canonical correlations.
    ratio : float
        r = p/n.
    """
    squares = np.square(np.asarray(correlations, dtype=np.float64))
    return _quotient(squares, squares + ratio * (1.0 - squares))


def gcv_weights(correlations: ArrayLike, ratio: float) -> Floats:
    """Return ``[(1-r)(ρ²-r) / ((1-r)²ρ² + r²(1-ρ²))]₊``, the weight by generalised cross-validation.

    It is the slope of the labels on the least-squares scores without the own row, ``(ŷ - ry)/(1 - r)``.

    Parameters
    ----------
    correlations : array
        ρ, canonical correlations on the rows of the fit.
    ratio : float
        r = p/n, below 1.
    """
    squares = np.square(np.asarray(correlations, dtype=np.float64))
    upper = (1.0 - ratio) * (squares - ratio)
    return np.maximum(_quotient(upper, (1.0 - ratio) ** 2 * squares + ratio**2 * (1.0 - squares)), 0.0)


def slope_weights(labels: Floats, scores: Floats) -> tuple[Floats, float]:
    """Return for each column the slope of labels on held-out scores, and one slope for all; within 0 and 1.

    What `gcv_weights` estimates from one fit, measured. The slopes fall from column to column: those that do not by
    themselves take their common slope.

    Parameters
    ----------
    labels, scores : array of shape (n, k)
        Held-out canonical coordinates of labels and of scores, the most predictable first.
    """
    lengths, products = np.square(scores).sum(axis=0), (labels * scores).sum(axis=0)
    if not lengths.any():
        return np.ones(len(lengths)), 1.0
    common = float(products.sum() / lengths.sum())
    slopes = np.divide(products, lengths, out=np.full(len(lengths), common), where=lengths > 0)
    weights = np.maximum(lengths, TINY * lengths.max())
    falling: Floats = optimize.isotonic_regression(slopes, weights=weights, increasing=False).x
    return np.clip(falling, 0.0, 1.0), float(np.clip(common, 0.0, 1.0))


def paired_correlations(first: Floats, second: Floats) -> Floats:
    """Return the correlation of each column of one centred matrix with that of another, 0 where one is constant."""
    lengths = np.sqrt(np.square(first).sum(axis=0) * np.square(second).sum(axis=0))
    return np.clip(_quotient((first * second).sum(axis=0), lengths), -1.0, 1.0)


def least_squares_fit(X: Floats, labels: Floats) -> tuple[Floats, int]:
    """Return the projection of centred labels on the columns of a centred X, and its rank."""
    columns = X[:, np.abs(X).max(axis=0, initial=0.0) > 0]
    if columns.shape[1] == 0:
        return np.zeros_like(labels), 0
    basis, triangle, _ = linalg.qr(columns, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    rank = int((sizes > RANK_TOLERANCE * sizes[0]).sum())
    return basis[:, :rank] @ (basis[:, :rank].T @ labels), rank


def canonical_coordinates(predicted: Floats, covariance: Floats, found: Floats | None = None) -> Floats:
    """Return c uncorrelated directions of tags, one per column, each of variance 1, the best predicted first.

    Without ``found`` these are the label canonical coordinates of canonical correlation analysis: they maximise the
    predicted part of the variance, each uncorrelated with those before. With ``found`` they are what each of these adds
    to those before it, and the canonical coordinates of what is left.

    Parameters
    ----------
    predicted : array of shape (c, c)
        ``YᵀŶ/n``, made symmetric; for least squares it is ``YᵀX(XᵀX)⁻¹XᵀY/n``.
    covariance : array of shape (c, c)
        ``YᵀY/n`` plus a ridge, positive definite.
    found : array of shape (c, k), optional
        Directions to begin with.
    """
    basis = np.eye(len(covariance))
    directions = np.zeros((len(covariance), 0))
    if found is not None and found.shape[1]:
        directions = _uncorrelated(found, covariance)
        basis = linalg.null_space((covariance @ directions).T)
    if basis.shape[1]:
        inside = linalg.eigh(basis.T @ predicted @ basis, basis.T @ covariance @ basis)[1]
        directions = np.hstack([directions, basis @ inside[:, ::-1]])
    shares = np.einsum("ik,ij,jk->k", directions, predicted, directions)
    return directions[:, np.argsort(-shares, kind="stable")]


def _uncorrelated(found: Floats, covariance: Floats) -> Floats:
    """Return what each direction adds to those before it, each of variance 1, without those that add little."""
    root = linalg.cholesky(covariance)
    basis = np.zeros((len(covariance), 0))
    for direction in (root @ found).T:
        new = direction - basis @ (basis.T @ direction)
        if np.linalg.norm(new) > NEW_SHARE * np.linalg.norm(direction):
            new -= basis @ (basis.T @ new)
            basis = np.column_stack([basis, new / np.linalg.norm(new)])
    return linalg.solve_triangular(root, basis)


def shrinkage_matrix(coordinates: Floats, weights: Floats, covariance: Floats) -> Floats:
    """Return ``I - T(I - S)T⁻¹ = TST⁻¹``: each coordinate of the scores shortened by its weight.

    With ``V = Tᵀ`` it is ``VᵀSV⁻ᵀ``. All weights 1 give exactly the identity.

    Parameters
    ----------
    coordinates : array of shape (c, c)
        T, whose columns are uncorrelated and of variance 1, so that ``T⁻¹ = Tᵀ·covariance``.
    weights : array of shape (c,)
        Diagonal of S.
    covariance : array of shape (c, c)
        That of the tags, ridge included.
    """
    return np.eye(len(covariance)) - (coordinates * (1.0 - weights)) @ (coordinates.T @ covariance)


def _quotient(upper: Any, lower: Any) -> Floats:
    upper, lower = np.atleast_1d(upper), np.atleast_1d(lower)
    return np.divide(upper, lower, out=np.zeros(np.shape(upper)), where=lower > 0)


# The rows and tags that canonical analysis looks at: features and labels centred, and how well labels are told.

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
