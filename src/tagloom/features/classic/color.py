"""Colour: a histogram and block moments, both in CIE LAB."""

from collections.abc import Mapping
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.descriptor import PictureDescriptor

__all__ = ["ColorDescriptor", "block_moments", "lab_histogram", "srgb_to_lab"]

# IEC 61966-2-1: bytes to linear light, a table because there are only 256 of them.
_ENCODED = np.arange(256) / 255.0
_LINEAR = np.where(_ENCODED <= 0.04045, _ENCODED / 12.92, ((_ENCODED + 0.055) / 1.055) ** 2.4).astype(np.float32)
_RGB_TO_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
# Dividing by the row sums makes the matrix's own white (D65) the reference, so that greys have a = b = 0.
_RGB_TO_RELATIVE_XYZ = _RGB_TO_XYZ / _RGB_TO_XYZ.sum(axis=1, keepdims=True)
_DELTA = 6.0 / 29.0
_FROM_CURVE = np.array([[0.0, 116.0, 0.0], [500.0, -500.0, 0.0], [0.0, 200.0, -200.0]])
# The curve comes raised by delta / 3 (see `_chunk_to_lab`); the last column takes that off again, and the 16 of L.
_TO_LAB = np.column_stack([_FROM_CURVE, [-16.0, 0.0, 0.0] - _FROM_CURVE.sum(axis=1) * _DELTA / 3])
# Pixels at a time: what lies between the steps stays in the processor's cache and is not asked of the system anew.
_CHUNK = 8192
_EXCESS = 64

# Greys lie at a = b = 0: an edge there would scatter them by rounding, so the edges of a and b keep clear of it.
_EDGES = ((25.0, 50.0, 75.0), (-10.0, 5.0, 20.0), (-10.0, 5.0, 20.0))
_N_BOXES = 64
_N_BLOCKS = 5


def srgb_to_lab(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Convert sRGB bytes to CIE LAB under D65.

    Single precision: of all colours, none is further than 2e-4 from the exact value in L, a or b (OpenCV's own
    conversion interpolates its curves, is off by as much as 0.4 and gives greys an a or b of as much as 0.1).

    Parameters
    ----------
    pixels : uint8 array of shape (..., 3)
        RGB, at least one pixel.

    Returns
    -------
    float32 array of shape (..., 3)
        L in [0, 100]; a and b within 1e-4 of 0 for greys.
    """
    flat = pixels.reshape(1, -1, 3)
    lab = np.empty(flat.shape, dtype=np.float32)
    for start in range(0, flat.shape[1], _CHUNK):
        part = flat[:, start : start + _CHUNK]
        lab[:, start : start + _CHUNK] = _chunk_to_lab(part)[:, : part.shape[1]]
    return lab.reshape(pixels.shape)


def _chunk_to_lab(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Convert one row of pixels, and `_EXCESS` black ones after them."""
    # OpenCV takes the last few pixels one by one, and rounds them otherwise than those before: with others at the
    # end, equal colours have equal numbers wherever they are.
    longer = cv2.copyMakeBorder(pixels, 0, 0, 0, _EXCESS, cv2.BORDER_CONSTANT)
    xyz = cv2.transform(cv2.LUT(longer, _LINEAR), _RGB_TO_RELATIVE_XYZ).reshape(1, -1)
    # CIE's curve is the cube root above delta³ and its tangent at delta³ below. In one formula, without a branch:
    # cbrt(max(xyz, delta³)) + (min(xyz, delta³) - delta³) / (3 delta²), of which `_TO_LAB` subtracts the constant.
    root = cv2.pow(cv2.max(xyz, _DELTA**3), 1.0 / 3.0)
    curve = cv2.scaleAdd(cv2.min(xyz, _DELTA**3), 1.0 / (3.0 * _DELTA**2), root)
    lab: NDArray[np.float32] = cv2.transform(curve.reshape(1, -1, 3), _TO_LAB)
    return lab


def lab_histogram(lab: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the share of pixels in each of 4 × 4 × 4 LAB boxes; the 64 numbers sum to one.

    L is cut at 25, 50 and 75; a and b are cut at -10, 5 and 20, where photos have most of their pixels (equal bins
    over the whole range would leave nearly all pixels in eight boxes). A value on an edge belongs to the upper bin.
    The order is L-major: column ``16 * bin(L) + 4 * bin(a) + bin(b)``.

    Parameters
    ----------
    lab : array of shape (height, width, 3)
        See `srgb_to_lab`.
    """
    box = np.zeros(lab.shape[:2], dtype=np.uint8)
    above = np.empty(lab.shape[:2], dtype=np.bool_)
    for channel, edges in enumerate(_EDGES):
        box <<= 2
        plane = cv2.extractChannel(lab, channel)
        for edge in edges:
            np.greater_equal(plane, edge, out=above)
            box += above.view(np.uint8)
    counts: NDArray[np.float32] = cv2.calcHist([box], [0], None, [_N_BOXES], [0, _N_BOXES])
    return counts.ravel() / np.float64(box.size)


def block_moments(lab: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return mean, standard deviation and skewness of L, a and b in each of 5 × 5 blocks: 225 numbers.

    Pixel row r of h is in block row ``floor(5 r / h)``, columns alike; a side shorter than five pixels is stretched
    by repeating pixels first, so that no block is empty. Skewness is the signed cube root of the third central
    moment, which has the unit of the channel. The order is block row, block column, channel, moment.

    Parameters
    ----------
    lab : array of shape (height, width, 3)
        See `srgb_to_lab`.

    Notes
    -----
    The moments are those of `lab` in double precision. A cube root magnifies what is near zero: where values carry
    an error e (1e-4 after `srgb_to_lab`) and spread by s, skewness is off by at most about ``cbrt(3 s² e)``, reached
    only where the third moment vanishes, as with two colours in equal parts.
    """
    for axis in (0, 1):
        if lab.shape[axis] < _N_BLOCKS:
            lab = np.repeat(lab, -(-_N_BLOCKS // lab.shape[axis]), axis=axis)
    height, width = lab.shape[:2]
    rows, columns = _block_starts(height), _block_starts(width)
    widths = np.diff(columns, append=width)
    moments = np.empty((_N_BLOCKS, 3, _N_BLOCKS, 3))
    for row, (top, bottom) in enumerate(zip(rows, [*rows[1:], height], strict=True)):
        # One row of blocks at a time: its values stay in the processor's cache through the three sums.
        values = lab[top:bottom].reshape(bottom - top, -1).astype(np.float64)
        sizes = ((bottom - top) * widths)[:, None]
        moments[row, 0] = _column_sums(values, columns) / sizes
        values -= np.repeat(moments[row, 0], widths, axis=0).ravel()
        powers = values * values
        moments[row, 1] = _column_sums(powers, columns) / sizes
        powers *= values
        moments[row, 2] = _column_sums(powers, columns) / sizes
    np.sqrt(moments[:, 1], out=moments[:, 1])
    np.cbrt(moments[:, 2], out=moments[:, 2])
    return moments.transpose(0, 2, 3, 1).ravel()


def _block_starts(size: int) -> NDArray[np.int64]:
    """Return the first pixel of each block: the smallest r with floor(5 r / size) = block."""
    return -(-np.arange(_N_BLOCKS, dtype=np.int64) * size // _N_BLOCKS)


def _column_sums(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums over all rows and each range of columns, per channel: shape (blocks, 3)."""
    by_column = cv2.reduce(values, 0, cv2.REDUCE_SUM)
    return np.add.reduceat(by_column.reshape(-1, 3), starts, axis=0)


class ColorDescriptor(PictureDescriptor):
    """Where which colours are: groups ``color`` (64 columns, `lab_histogram`) and ``moments`` (225, `block_moments`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture the colours are taken from; smaller photos are not enlarged.
    """

    name = "color"
    version = 2
    groups: ClassVar[Mapping[str, int]] = {"color": _N_BOXES, "moments": _N_BLOCKS**2 * 9}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 289 numbers of one photo."""
        lab = srgb_to_lab(pixels)
        return np.concatenate([lab_histogram(lab), block_moments(lab)])
