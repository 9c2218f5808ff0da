"""Colour: a histogram and block moments, both in CIE LAB."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.features.descriptor import PixelDescriptor
from tagloom.images import Rendition

__all__ = ["ColorDescriptor", "block_moments", "lab_histogram", "srgb_to_lab"]

# IEC 61966-2-1: bytes to linear light, exact because there are only 256 of them.
_ENCODED = np.arange(256) / 255.0
_LINEAR = np.where(_ENCODED <= 0.04045, _ENCODED / 12.92, ((_ENCODED + 0.055) / 1.055) ** 2.4)
_RGB_TO_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
# Dividing by the row sums makes the matrix's own white (D65) the reference, so that greys have a = b = 0.
_RGB_TO_RELATIVE_XYZ = _RGB_TO_XYZ / _RGB_TO_XYZ.sum(axis=1, keepdims=True)
_DELTA = 6.0 / 29.0

# Greys lie at a = b = 0: an edge there would scatter them by rounding, so the edges of a and b keep clear of it.
_LIGHTNESS_EDGES = np.array([25.0, 50.0, 75.0])
_CHROMA_EDGES = np.array([-10.0, 5.0, 20.0])
_N_BINS = 4
_N_BLOCKS = 5


def srgb_to_lab(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Convert sRGB bytes to CIE LAB under D65.

    Parameters
    ----------
    pixels : uint8 array of shape (..., 3)
        RGB.

    Returns
    -------
    float64 array of shape (..., 3)
        L in [0, 100]; a and b near 0 for greys.
    """
    xyz = _LINEAR[pixels] @ _RGB_TO_RELATIVE_XYZ.T
    f = np.where(xyz > _DELTA**3, np.cbrt(xyz), xyz / (3 * _DELTA**2) + 4.0 / 29.0)
    lab = np.empty_like(f)
    lab[..., 0] = 116.0 * f[..., 1] - 16.0
    lab[..., 1] = 500.0 * (f[..., 0] - f[..., 1])
    lab[..., 2] = 200.0 * (f[..., 1] - f[..., 2])
    return lab


def lab_histogram(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of pixels in each of 4 × 4 × 4 LAB boxes; the 64 numbers sum to one.

    L is cut at 25, 50 and 75; a and b are cut at -10, 5 and 20, where photos have most of their pixels (equal bins
    over the whole range would leave nearly all pixels in eight boxes). A value on an edge belongs to the upper bin.
    The order is L-major: column ``16 * bin(L) + 4 * bin(a) + bin(b)``.

    Parameters
    ----------
    lab : array of shape (height, width, 3)
        See `srgb_to_lab`.
    """
    flat = lab.reshape(-1, 3)
    box = np.searchsorted(_LIGHTNESS_EDGES, flat[:, 0], side="right")
    for channel in (1, 2):
        box = box * _N_BINS + np.searchsorted(_CHROMA_EDGES, flat[:, channel], side="right")
    counts: NDArray[np.int64] = np.bincount(box, minlength=_N_BINS**3)
    return counts / len(flat)


def block_moments(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean, standard deviation and skewness of L, a and b in each of 5 × 5 blocks: 225 numbers.

    Pixel row r of h is in block row ``floor(5 r / h)``, columns alike; a side shorter than five pixels is stretched
    by repeating pixels first, so that no block is empty. Skewness is the signed cube root of the third central
    moment, which has the unit of the channel. The order is block row, block column, channel, moment.

    Parameters
    ----------
    lab : array of shape (height, width, 3)
        See `srgb_to_lab`.
    """
    for axis in (0, 1):
        lab = np.repeat(lab, -(-_N_BLOCKS // lab.shape[axis]), axis=axis)
    height, width = lab.shape[:2]
    first_rows, first_columns = _block_starts(height), _block_starts(width)
    sizes = np.outer(np.diff(first_rows, append=height), np.diff(first_columns, append=width))[..., None]

    def block_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        by_rows = np.add.reduceat(values, first_rows, axis=0)
        return np.add.reduceat(by_rows, first_columns, axis=1) / sizes

    means = block_mean(lab)
    rows, columns = np.arange(height) * _N_BLOCKS // height, np.arange(width) * _N_BLOCKS // width
    deviations = lab - means[rows[:, None], columns]
    squares = deviations * deviations
    moments = (means, np.sqrt(block_mean(squares)), np.cbrt(block_mean(squares * deviations)))
    return np.stack(moments, axis=-1).ravel()


def _block_starts(size: int) -> NDArray[np.int64]:
    """Return the first pixel of each block: the smallest r with floor(5 r / size) = block."""
    return -(-np.arange(_N_BLOCKS, dtype=np.int64) * size // _N_BLOCKS)


class ColorDescriptor(PixelDescriptor):
    """Where which colours are: groups ``color`` (64 columns, `lab_histogram`) and ``moments`` (225, `block_moments`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture the colours are taken from; smaller photos are not enlarged.
    """

    name = "color"
    version = 1

    def __init__(self, *, size: int = 256) -> None:
        self.size = size

    @property
    def outputs(self) -> Mapping[str, int]:
        """Two groups: ``color`` and ``moments``."""
        return {"color": _N_BINS**3, "moments": _N_BLOCKS**2 * 9}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The whole photo, longer side at most ``size``."""
        return (Rendition(f"fit-{self.size}", "fit", self.size),)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The picture's size."""
        return {"size": self.size}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 289 numbers of one photo."""
        lab = srgb_to_lab(pixels)
        return np.concatenate([lab_histogram(lab), block_moments(lab)])
