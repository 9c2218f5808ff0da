"""Luma in whole numbers, and counting bytes: what several descriptors start and end with."""

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["LUMA_UNIT", "count_bytes", "scaled_luma"]

LUMA_UNIT = 1000
"""What one grey level is in `scaled_luma`."""

_WEIGHTS = np.array([[299, 587, 114]], dtype=np.float32)


def scaled_luma(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return luma in thousandths of a grey level: 299 R + 587 G + 114 B, from 0 to 255 000.

    These are whole numbers below 2²⁴, which float32 holds exactly. So are their sums in a Sobel mask: greys, steps and
    straight edges come out the same on every machine, and nothing that is equal differs by rounding.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    """
    luma: NDArray[np.float32] = cv2.transform(pixels.astype(np.float32), _WEIGHTS)
    return luma


def count_bytes(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return how often each of the 256 bytes occurs; exact below 2²⁴ occurrences, and faster than NumPy's count.

    Parameters
    ----------
    codes : uint8 array of any shape of one or two axes
        May be empty.
    """
    if codes.size == 0:
        return np.zeros(256, dtype=np.float32)
    counts: NDArray[np.float32] = cv2.calcHist([codes], [0], None, [256], [0, 256])
    return counts.ravel()
