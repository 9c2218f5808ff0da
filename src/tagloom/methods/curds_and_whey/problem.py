"""Label canonical coordinates, their weights, and the shrinkage that both make."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from tagloom.core.typing import Floats

__all__ = [
    "asymptotic_weights",
    "canonical_coordinates",
    "gcv_weights",
    "least_squares_fit",
    "paired_correlations",
    "shrinkage_matrix",
    "slope_weights",
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
