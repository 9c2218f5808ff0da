"""Wavelet texture: how much brightness varies at each scale and orientation."""

from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.classic.luma import LUMA_UNIT, scaled_luma
from tagloom.features.descriptor import PictureDescriptor

__all__ = ["WaveletDescriptor", "wavelet_texture"]

_N_COLUMNS = 128
# Daubechies' low-pass filter with four taps and sum one; the high-pass filter is its quadrature mirror.
_ROOT = np.sqrt(3.0)
_LOW = np.array([1 - _ROOT, 3 - _ROOT, 3 + _ROOT, 1 + _ROOT], dtype=np.float32) / np.float32(8)
_HIGH = _LOW[::-1] * np.array([-1, 1, -1, 1], dtype=np.float32)
_FILTERS = (_LOW, _HIGH)
_LL, _LH, _HL, _HH = range(4)


def wavelet_texture(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return mean and standard deviation of the absolute coefficients of 64 wavelet bands: 128 numbers.

    Luma (0.299 R + 0.587 G + 0.114 B, in 0–255) is split by Daubechies' filters with four taps into four bands of half
    the size: LL, LH (low-pass across, high-pass down: level edges), HL (high-pass across: upright edges) and HH. The
    picture is continued beyond its border as in a mirror, the border pixel repeated and as often as needed, so that
    there is no smallest size; n pixels become ``(n + 3) // 2`` coefficients. The low-pass filter sums to one, so that
    all numbers are in grey levels and LL is a smaller picture.

    The order, each band's mean followed by its standard deviation:

    - 24 numbers of the pyramid: LL is split again and again, four times in all; from the finest level to the coarsest
      LH, HL and HH.
    - 104 numbers of the tree: LL, LH and HL, but not HH, are split again, three times in all. The 4 bands of the first
      level; the 12 of the second, children of LL, of LH, of HL; the 36 of the third, children of the second level's
      bands that are not HH, in their order. Always LL, LH, HL, HH.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.

    Notes
    -----
    Pyramid (24) and tree (104) are joined as in NUS-WIDE [1]_, after the texture features of [2]_. Filter, border and
    scale are our choice: four taps make the shortest filter of Daubechies that does not see an even gradient of
    brightness as texture, the mirror adds no edge where opposite sides of a photo would meet, and grey levels make the
    levels comparable. LH, HL and HH of the first three levels of the pyramid are in the tree too: these nine bands, 18
    numbers, come twice.

    References
    ----------
    .. [1] T.-S. Chua, J. Tang, R. Hong, H. Li, Z. Luo and Y. Zheng, "NUS-WIDE: a real-world web image database from
       National University of Singapore", CIVR 2009.
    .. [2] B. S. Manjunath and W. Y. Ma, "Texture features for browsing and retrieval of image data", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 18 (8), 1996.
    """
    first = _split(scaled_luma(pixels)[None])
    second = _split(first[:, :_HH])
    third = _split(second[:, :_HH])
    # The first row of a level are the children of LL.
    fourth = _split(third[:1, :_LH])
    tree = [_statistics(level) for level in (first, second, third)]
    pyramid = [level[0, _LH:] for level in (*tree, _statistics(fourth))]
    return np.concatenate([numbers.ravel() for numbers in (*pyramid, *tree)])


def _split(bands: NDArray[np.float32]) -> NDArray[np.float32]:
    """Split bands of shape (..., height, width) into (n, 4, ...): LL, LH, HL, HH of each."""
    height, width = bands.shape[-2:]
    down = _filter_rows(bands.reshape(-1, height, width))
    across = _filter_columns(down)
    return across.reshape(len(down), 4, *across.shape[-2:])


def _filter_rows(bands: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (n, 2, (height + 3) // 2, width): low-pass and high-pass down the rows."""
    even, odd = (bands.take(index, axis=-2, mode="clip") for index in _mirrored(bands.shape[-2]))
    return _combine((odd[:, 1:], even[:, 1:], odd[:, :-1], even[:, :-1]))


def _filter_columns(bands: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (n, 2, 2, height, (width + 3) // 2): low-pass and high-pass across, then what they were down."""
    even, odd = (bands.take(index, axis=-1, mode="clip") for index in _mirrored(bands.shape[-1]))
    return _combine((odd[..., 1:], even[..., 1:], odd[..., :-1], even[..., :-1]))


def _combine(taps: tuple[NDArray[np.float32], ...]) -> NDArray[np.float32]:
    """Weigh the four taps by both filters; the filter becomes the second axis."""
    result = np.empty((len(taps[0]), 2, *taps[0].shape[1:]), dtype=np.float32)
    term = np.empty(taps[0].shape, dtype=np.float32)
    for position, weights in enumerate(_FILTERS):
        total = result[:, position]
        np.multiply(taps[0], weights[0], out=total)
        for tap, weight in zip(taps[1:], weights[1:], strict=True):
            np.multiply(tap, weight, out=term)
            total += term
    return result


@lru_cache(maxsize=256)
def _mirrored(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which of ``size`` pixels are at the even and at the odd places from -2 on, beyond the border mirrored."""
    places = np.arange(-2, 2 * ((size + 3) // 2)) % (2 * size)
    places = np.minimum(places, 2 * size - 1 - places)
    places.flags.writeable = False
    return places[0::2], places[1::2]


def _statistics(bands: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return mean and standard deviation of the absolute values of bands of shape (n, 4, height, width): (n, 4, 2)."""
    flat = bands.reshape(-1, *bands.shape[-2:])
    # The norms are summed in double precision without a copy of the band.
    means = np.array([cv2.norm(band, cv2.NORM_L1) for band in flat]) / flat[0].size
    squares = np.array([cv2.norm(band, cv2.NORM_L2SQR) for band in flat]) / flat[0].size
    deviations = np.sqrt(np.maximum(squares - means * means, 0.0))
    return np.stack([means, deviations], axis=-1).reshape(*bands.shape[:2], 2) / LUMA_UNIT


class WaveletDescriptor(PictureDescriptor):
    """Texture by scale and orientation: group ``wavelet``, 128 columns (see `wavelet_texture`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    """

    name = "wavelet"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"wavelet": _N_COLUMNS}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 128 numbers of one photo."""
        return wavelet_texture(pixels)
