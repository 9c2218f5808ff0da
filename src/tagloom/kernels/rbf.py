"""The Gaussian kernel."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tagloom.kernels.pairs import ROWS, check_gamma, check_pair, row_blocks

__all__ = ["rbf_kernel"]


def rbf_kernel(
    A: ArrayLike, B: ArrayLike | None = None, *, gamma: float, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Return ``K[i, j] = exp(-gamma ‖A[i] - B[j]‖²)`` of all pairs of rows.

    Parameters
    ----------
    A : array of shape (n, d)
        Finite numbers.
    B : array of shape (m, d), optional
        Other rows; default: A itself, at half the cost, exactly symmetric with a diagonal of exactly 1.
    gamma : float
        θ of the LPSSVM paper; see `tagloom.kernels.default_gamma`.
    dtype : {float64, float32}, default=float64
        In which distances are computed and returned.

    Notes
    -----
    Squared distances are ``‖a‖² + ‖b‖² - 2a·b`` of rows less their mean: an error of about d times the rounding unit,
    relative to the largest squared norm that is left.

    Examples
    --------
    >>> rbf_kernel([[0.0], [1.0]], gamma=np.log(2.0))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    left, right = check_pair(A, B, dtype)
    gamma = check_gamma(gamma)
    centre = _mean(left if right is None else right)
    left = left - centre
    right = left if right is None else right - centre
    kernel: NDArray[np.floating[Any]] = left @ right.T
    norms, others = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right)
    for rows in row_blocks(len(left), ROWS):
        block = kernel[rows]
        block *= 2.0
        block -= norms[rows, None]
        block -= others
        np.minimum(block, 0.0, out=block)
        block *= gamma
        np.exp(block, out=block)
    if B is None:
        np.fill_diagonal(kernel, 1.0)
        _mirror(kernel)
    return kernel


def _mean(values: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    if not len(values):
        return np.zeros(values.shape[1], dtype=values.dtype)
    return values.mean(axis=0, dtype=np.float64).astype(values.dtype)


def _mirror(kernel: NDArray[np.floating[Any]]) -> None:
    """Copy the upper triangle to the lower one: norms subtracted in the other order differ in the last digit."""
    for rows in row_blocks(len(kernel), ROWS):
        block = kernel[rows, rows]
        upper = np.triu(block)
        kernel[rows, rows] = upper + np.triu(block, 1).T
        kernel[rows.stop :, rows] = kernel[rows, rows.stop :].T
