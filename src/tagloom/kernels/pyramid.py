"""Spatial pyramid matching: histogram intersections at several resolutions, finer ones counting more."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.kernels.intersection import intersection_kernel

__all__ = ["level_weights", "pyramid_match_kernel"]


def pyramid_match_kernel(
    A: ArrayLike,
    B: ArrayLike | None = None,
    *,
    levels: Sequence[tuple[int, int]],
    n_words: int,
    weights: str | Sequence[float] = "lazebnik",
    n_threads: int | None = 1,
) -> NDArray[np.float64]:
    """Return the spatial pyramid match of all pairs of pictures.

    Parameters
    ----------
    A : array of shape (n, d)
        Pyramid histograms, columns in the order level, cell row, cell column, word (the order of
        `tagloom.features.words.words.WordsDescriptor`); d is ``n_words`` times the number of cells.
    B : array of shape (m, d), optional
        Other pictures; default: A itself.
    levels : sequence of (rows, columns)
        Cells of each level, the coarsest first.
    n_words : int
        Size of the vocabulary.
    weights : {"lazebnik", "equal"} or sequence of float, default="lazebnik"
        Weight of each level; see `level_weights`.
    n_threads : int or None, default=1
        Threads; None is the number of cores. The result does not depend on it.

    Returns
    -------
    ndarray of float64, shape (n, m)
        With "lazebnik" or "equal" weights, and histograms of which each level sums to one, the diagonal is one.

    Notes
    -----
    The levels' intersections ``I_l`` are combined as ``K = sum of w_l I_l``. With the weights of [1]_,
    ``w_0 = 1 / 2^L`` and ``w_l = 1 / 2^(L - l + 1)``, which is their Eq. (3); since ``w min(a, b) = min(w a, w b)``,
    K is one intersection of weighted histograms.

    References
    ----------
    .. [1] S. Lazebnik, C. Schmid, J. Ponce, "Beyond bags of features: spatial pyramid matching for recognizing natural
       scene categories", CVPR 2006.

    Examples
    --------
    >>> A = [[0.5, 0.5, 0.5, 0.0, 0.0, 0.5], [0.5, 0.5, 0.0, 0.5, 0.5, 0.0]]
    >>> pyramid_match_kernel(A, levels=[(1, 1), (1, 2)], n_words=2)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    per_level = level_weights(len(levels), weights)
    sizes = [n_words * rows * columns for rows, columns in levels]
    if min(sizes) < 1:
        raise InvalidInputError(f"levels and n_words must be positive, got levels={levels!r}, n_words={n_words!r}")
    column_weights = np.repeat(per_level, sizes)

    def weighted(values: ArrayLike) -> NDArray[np.floating]:
        histograms = np.asarray(values)
        if histograms.ndim != 2 or histograms.shape[1] != len(column_weights):
            raise InvalidInputError(
                f"{n_words} words in levels {list(levels)} make {len(column_weights)} columns, got an array of shape "
                f"{histograms.shape}"
            )
        dtype = np.float32 if histograms.dtype == np.float32 else np.float64
        product: NDArray[np.floating] = np.multiply(histograms, column_weights.astype(dtype), dtype=dtype)
        return product

    return intersection_kernel(weighted(A), None if B is None else weighted(B), n_threads=n_threads)


def level_weights(n_levels: int, weights: str | Sequence[float] = "lazebnik") -> NDArray[np.float64]:
    """Return the weight of each level of a pyramid.

    Parameters
    ----------
    n_levels : int
        Number of levels, L + 1.
    weights : {"lazebnik", "equal"} or sequence of float, default="lazebnik"
        "lazebnik": 1 / 2^L for level 0 and 1 / 2^(L - l + 1) for level l. "equal": 1 / (L + 1) each. Numbers are taken
        as they are, finite and not negative.

    Examples
    --------
    >>> level_weights(3)
    array([0.25, 0.25, 0.5 ])
    """
    if n_levels < 1:
        raise InvalidInputError(f"a pyramid needs at least one level, got {n_levels}")
    if isinstance(weights, str):
        if weights == "lazebnik":
            last = n_levels - 1
            return np.array([2.0 ** -(last - max(0, level - 1)) for level in range(n_levels)])
        if weights == "equal":
            return np.full(n_levels, 1.0 / n_levels)
        raise InvalidInputError(f"weights must be 'lazebnik', 'equal' or one number per level, got {weights!r}")
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_levels,) or not np.isfinite(given).all() or (given < 0).any():
        raise InvalidInputError(f"weights must be {n_levels} finite numbers that are not negative, got {weights!r}")
    return given
