"""Inner products."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tagloom.kernels.pairs import check_pair

__all__ = ["linear_kernel"]


def linear_kernel(
    A: ArrayLike, B: ArrayLike | None = None, *, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Return ``K[i, j] = A[i]·B[j]`` of all pairs of rows.

    Parameters
    ----------
    A : array of shape (n, d)
        Finite numbers.
    B : array of shape (m, d), optional
        Other rows; default: A itself, at half the cost and exactly symmetric.
    dtype : {float64, float32}, default=float64
        In which the products are computed and returned.

    Examples
    --------
    >>> linear_kernel([[1.0, 2.0], [0.0, 3.0]])
    array([[5., 6.],
           [6., 9.]])
    """
    left, right = check_pair(A, B, dtype)
    # A product of an array with its own transpose is the one numpy hands to a symmetric routine.
    return left @ left.T if right is None else left @ right.T
