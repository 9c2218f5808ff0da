"""Perceptual hash: 64 bits that stay nearly the same when a photo is saved again, resized or brightened a little."""

import functools
from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.descriptor import PictureDescriptor

__all__ = ["PerceptualHashDescriptor", "perceptual_hash"]

_SIDE = 32
_N_FREQUENCIES = 8


def perceptual_hash(pixels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return 64 bits, one for each of 8 × 8 low frequencies of the luma.

    Luma (0.299 R + 0.587 G + 0.114 B) is brought to 32 × 32 pixels by averaging over areas, whatever the shape of the
    picture, and transformed by the orthonormal two-dimensional cosine transform (DCT-II). The coefficients with both
    frequencies from 1 to 8 half-waves, rounded to two decimals, are compared with their median: bit
    ``8 * (down - 1) + (across - 1)`` is set where the coefficient is above. So the mean brightness and everything that
    varies in one direction only play no part, and half of the bits are set. A picture in which all 64 are equal, such
    as a constant one, has no bit set.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.

    Notes
    -----
    Size, transform, block and median are those of [1]_; its smoothing before the reduction is left out, as the
    reduction is an average itself.

    References
    ----------
    .. [1] C. Zauner, "Implementation and benchmarking of perceptual image hash functions", master's thesis, Upper
       Austria University of Applied Sciences, Hagenberg, 2010, section 3.2.1.
    """
    luma = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    small = cv2.resize(luma, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).astype(np.float64)
    waves = _waves()
    # Two decimals are far below a grey level, and above the rounding of the averages, which must not set bits.
    coefficients = np.round(waves @ small @ waves.T, 2).ravel()
    bits: NDArray[np.bool_] = coefficients > np.median(coefficients)
    return bits


@functools.lru_cache(maxsize=1)
def _waves() -> NDArray[np.float64]:
    """Return the rows of the cosine transform for 1 to 8 half-waves."""
    places = (2 * np.arange(_SIDE) + 1) * np.pi / (2 * _SIDE)
    waves: NDArray[np.float64] = np.sqrt(2 / _SIDE) * np.cos(np.outer(np.arange(1, _N_FREQUENCIES + 1), places))
    waves.flags.writeable = False
    return waves


class PerceptualHashDescriptor(PictureDescriptor):
    """A fingerprint of the picture: group ``phash``, 64 columns of 0 and 1 (see `perceptual_hash`).

    It is for `tagloom.features.near_duplicates` rather than for learning.

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture that is reduced; smaller photos are not enlarged.
    """

    name = "phash"
    of_clips = "whole"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"phash": _N_FREQUENCIES**2}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 64 bits of one photo as numbers."""
        return perceptual_hash(pixels).astype(np.float64)
