"""Oriented gradients: in which directions brightness changes, in parts of the picture that halve level by level."""

import functools
from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.classic.filter_bank import gray_levels
from tagloom.features.descriptor import PictureDescriptor

__all__ = ["GradientDescriptor", "gradient_pyramid"]

_N_DIRECTIONS = 8
_N_LEVELS = 4
_N_CELLS = 2 ** (_N_LEVELS - 1)
# Differences of two grey levels lie in -255 … 255.
_LARGEST = 255
_N_DIFFERENCES = 2 * _LARGEST + 1


def gradient_pyramid(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return how the gradients spread over 8 directions in 1 + 4 + 16 + 64 cells: 680 numbers that sum to one.

    Luma in whole levels is differentiated by central differences (next minus previous pixel) with the border
    repeated. Directions are angles over 360°, rows pointing down, with bins centred on the multiples of 45°: bin 0
    is brighter to the right, bin 2 brighter below. A pixel gives its gradient's length to the two bins around its
    direction, in proportion to how near it is to each. Pixel row r of h is in cell row ``floor(2**level r / h)`` of
    a level, columns alike; cells without pixels (sides below 8) are zero. The order is level (the whole picture first),
    cell row, cell column, direction.

    Everything is divided by the sum over all levels, so that each level sums to 1/4; levels have no other weights. A
    picture without gradients gives zeros.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.

    Notes
    -----
    The pyramid of [1]_. Deviations: all pixels take part where the paper keeps those on Canny edges, since the
    gradient's length already fades out flat parts; central differences in place of Sobel's; 8 directions over 360°
    where the paper has 20 over 180° or 40 over 360°.

    References
    ----------
    .. [1] A. Bosch, A. Zisserman and X. Munoz, "Representing shape with a spatial pyramid kernel", ACM International
       Conference on Image and Video Retrieval, 2007.
    """
    gray = gray_levels(pixels)
    finest = _cell_histograms(gray).reshape(_N_CELLS, _N_CELLS, _N_DIRECTIONS)
    levels = [finest]
    for _ in range(_N_LEVELS - 1):
        half = len(levels[0]) // 2
        levels.insert(0, levels[0].reshape(half, 2, half, 2, _N_DIRECTIONS).sum(axis=(1, 3)))
    numbers = np.concatenate([level.ravel() for level in levels])
    total = numbers.sum()
    return numbers / total if total > 0 else numbers


def _cell_histograms(gray: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the lengths of gradients summed by direction in each of the finest cells."""
    across, down = (
        cv2.Sobel(gray, cv2.CV_16S, *order, ksize=1, borderType=cv2.BORDER_REPLICATE) for order in ((1, 0), (0, 1))
    )
    pairs = _N_DIFFERENCES * down.astype(np.intp)
    pairs += across
    pairs += _LARGEST * (_N_DIFFERENCES + 1)
    rows, columns = (np.arange(side) * _N_CELLS // side for side in gray.shape)
    cells = (rows[:, None] * _N_CELLS + columns) * _N_DIRECTIONS
    sums = np.zeros(_N_CELLS**2 * _N_DIRECTIONS)
    for directions, lengths in _shares():
        sums += np.bincount((cells + directions.take(pairs)).ravel(), lengths.take(pairs).ravel(), sums.size)
    return sums


@functools.cache
def _shares() -> tuple[tuple[NDArray[np.uint8], NDArray[np.float32]], ...]:
    """Return the two bins around every pair of differences (down-major), each with its share of the length.

    There are so few pairs that looking them up costs less than an arc tangent and a square root for each pixel.
    """
    differences = np.arange(-_LARGEST, _LARGEST + 1.0)
    down, across = differences[:, None], differences[None, :]
    position = np.arctan2(down, across) % (2 * np.pi) * (_N_DIRECTIONS / (2 * np.pi))
    length = np.hypot(down, across)
    lower = np.floor(position)
    to_upper = length * (position - lower)
    shares = []
    for directions, lengths in ((lower, length - to_upper), (lower + 1, to_upper)):
        tables = (directions % _N_DIRECTIONS).astype(np.uint8).ravel(), lengths.astype(np.float32).ravel()
        for table in tables:
            table.setflags(write=False)
        shares.append(tables)
    return tuple(shares)


class GradientDescriptor(PictureDescriptor):
    """Directions of gradients by place: group ``gradients``, 680 columns (see `gradient_pyramid`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    """

    name = "gradients"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"gradients": _N_DIRECTIONS * sum(4**level for level in range(_N_LEVELS))}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 680 numbers of one photo."""
        return gradient_pyramid(pixels)
