"""The exponential χ² kernel of histograms."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.kernels.pairs import ROWS, check_gamma, check_pair, row_blocks

__all__ = ["chi2_distances", "chi2_kernel"]


def chi2_kernel(
    A: ArrayLike, B: ArrayLike | None = None, *, gamma: float, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Return ``K[i, j] = exp(-gamma Σ (a - b)² / (a + b))`` of all pairs of rows.

    Parameters
    ----------
    A : array of shape (n, d)
        Histograms: finite, not negative. A column that is zero in both rows adds nothing.
    B : array of shape (m, d), optional
        Other histograms; default: A itself, at half the cost, exactly symmetric with a diagonal of exactly 1.
    gamma : float
        See `tagloom.kernels.default_gamma`.
    dtype : {float64, float32}, default=float64
        Of the result; sums are computed in float64.

    Examples
    --------
    >>> chi2_kernel([[1.0, 0.0], [0.0, 1.0]], gamma=np.log(2.0))
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """
    kernel = chi2_distances(A, B, dtype=dtype)
    kernel *= -check_gamma(gamma)
    np.exp(kernel, out=kernel)
    return kernel


def chi2_distances(
    A: ArrayLike, B: ArrayLike | None = None, *, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Return ``Σ (a - b)² / (a + b)`` of all pairs of rows; see `chi2_kernel`."""
    # scikit-learn's compiled sum; loaded here, so that importing this package stays cheap.
    from sklearn.metrics.pairwise import additive_chi2_kernel

    left, right = check_pair(A, B, np.float64)
    for name, values in (("A", left), ("B", right)):
        if values is not None and values.size and values.min() < 0:
            raise InvalidInputError(f"{name} must hold histograms: the χ² kernel is not defined for negative numbers")
    # The compiled sum takes no read-only arrays.
    left = left if left.flags.writeable else left.copy()
    right = right if right is None or right.flags.writeable else right.copy()
    others = left if right is None else right
    distances = np.zeros((len(left), len(others)), dtype=dtype)
    if not (left.size and others.size):
        return distances
    for rows in row_blocks(len(left), ROWS):
        first = rows.start if right is None else 0
        distances[rows, first:] = -additive_chi2_kernel(left[rows], others[first:])
        if right is None:
            distances[rows.stop :, rows] = distances[rows, rows.stop :].T
    return distances
