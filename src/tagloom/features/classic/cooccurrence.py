"""Co-occurrence texture: which grey levels lie next to each other."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tagloom.features.classic.luma import LUMA_UNIT, count_bytes, scaled_luma
from tagloom.features.descriptor import PictureDescriptor

__all__ = ["CooccurrenceDescriptor", "cooccurrence_matrices", "cooccurrence_texture"]

_N_LEVELS = 16
_N_DIRECTIONS = 4
_N_STATISTICS = 4
_LEVELS = np.arange(_N_LEVELS, dtype=np.float64)
_SQUARED_STEPS = (_LEVELS[:, None] - _LEVELS) ** 2
# What each cell adds to contrast, homogeneity, mean, mean square and mean product: five sums in one product.
_CELL_WEIGHTS = np.stack(
    [
        _SQUARED_STEPS,
        1.0 / (1.0 + _SQUARED_STEPS),
        np.broadcast_to(_LEVELS, _SQUARED_STEPS.shape),
        np.broadcast_to(_LEVELS**2, _SQUARED_STEPS.shape),
        np.outer(_LEVELS, _LEVELS),
    ],
    axis=-1,
).reshape(_N_LEVELS**2, -1)


def cooccurrence_matrices(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return for four directions which share of the neighbouring pairs of pixels has which two grey levels.

    Luma (0.299 R + 0.587 G + 0.114 B, in 0–255) is cut into 16 grey levels of 16: ``floor(luma / 16)``. Neighbours are
    one step apart at 0° (left and right), 45° (lower left and upper right), 90° (below and above) and 135° (lower right
    and upper left). A pair counts both ways round, so that the matrices are symmetric; each sums to one. A side of one
    pixel is doubled first, so that there are pairs in all directions.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.

    Returns
    -------
    float64 array of shape (4, 16, 16)
        Direction, level of the one pixel, level of the other.
    """
    for axis in (0, 1):
        if pixels.shape[axis] == 1:
            pixels = np.repeat(pixels, 2, axis=axis)
    luma = scaled_luma(pixels)
    # Luma is a whole number and division rounds correctly, so that no picture falls on the wrong side of a level.
    luma /= np.float32(LUMA_UNIT * 256 // _N_LEVELS)
    # Two levels make one byte.
    low = luma.astype(np.uint8)
    high = low * np.uint8(_N_LEVELS)
    pairs = (
        high[:, :-1] | low[:, 1:],
        high[1:, :-1] | low[:-1, 1:],
        high[:-1] | low[1:],
        high[:-1, :-1] | low[1:, 1:],
    )
    counts = np.stack([count_bytes(codes) for codes in pairs]).astype(np.float64)
    counts = counts.reshape(_N_DIRECTIONS, _N_LEVELS, _N_LEVELS)
    symmetric = counts + counts.transpose(0, 2, 1)
    return symmetric / symmetric.sum(axis=(1, 2), keepdims=True)


def cooccurrence_texture(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return contrast, homogeneity, entropy and correlation of neighbouring grey levels in four directions: 16 numbers.

    With p(i, j) the `cooccurrence_matrices`, contrast is Σ (i - j)² p, homogeneity Σ p / (1 + (i - j)²), entropy
    -Σ p ln p, and correlation the one of i and j under p. Where one level fills all pairs of a direction, correlation
    is one: a pixel says all about its neighbour. The order is direction-major: contrast, homogeneity, entropy and
    correlation at 0°, then at 45°, 90° and 135°.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.

    Notes
    -----
    These are f2, f5, f9 and f3 of [1]_, one for each thing the matrix shows: how far off the diagonal it lies, how much
    of it is near the diagonal, how widely it spreads, and how its two sides go together. f1, the angular second moment,
    is left out: like entropy it says how even the matrix is, but its largest cell alone decides it. Unlike in [1]_ grey
    levels are equally wide and not equally frequent, so that a dull picture stays one.

    References
    ----------
    .. [1] R. M. Haralick, K. Shanmugam and I. Dinstein, "Textural features for image classification", IEEE Transactions
       on Systems, Man, and Cybernetics 3 (6), 1973.
    """
    shares = cooccurrence_matrices(pixels).reshape(_N_DIRECTIONS, -1)
    contrast, homogeneity, mean, square, product = (shares @ _CELL_WEIGHTS).T
    # Empty cells add nothing to the entropy; a share of one in the logarithm does the same.
    entropy = -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=1)
    variance = square - mean * mean
    single_level = shares.max(axis=1) == 1.0
    correlation = np.where(single_level, 1.0, (product - mean * mean) / np.where(single_level, 1.0, variance))
    return np.stack([contrast, homogeneity, entropy, correlation], axis=1).ravel()


class CooccurrenceDescriptor(PictureDescriptor):
    """Texture by neighbouring grey levels: group ``cooccurrence``, 16 columns (see `cooccurrence_texture`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    """

    name = "cooccurrence"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"cooccurrence": _N_DIRECTIONS * _N_STATISTICS}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 16 numbers of one photo."""
        return cooccurrence_texture(pixels)
