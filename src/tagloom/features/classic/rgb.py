"""Colour as it is stored: the RGB histogram."""

from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.descriptor import PictureDescriptor

__all__ = ["RgbDescriptor", "rgb_histogram"]

# Blue is cut coarsest: it weighs least in what is seen (7 % of luminance, against 21 % for red and 72 % for green).
_N_BINS = (8, 8, 4)


def rgb_histogram(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the share of pixels in each of 8 × 8 × 4 boxes of RGB; the 256 numbers sum to one.

    Bins of a channel are equally wide: 32 levels of red and green, 64 of blue. The order is red-major: column
    ``32 * (R // 32) + 4 * (G // 32) + B // 64``.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB, at least one pixel.

    References
    ----------
    M. J. Swain, D. H. Ballard. Color indexing. International Journal of Computer Vision 7 (1991), 11-32. There the
    axes are opponent colours; here they are the channels.
    """
    counts: NDArray[np.float32] = cv2.calcHist([pixels], [0, 1, 2], None, list(_N_BINS), [0, 256] * 3)
    return counts.ravel() / np.float64(pixels.size // 3)


class RgbDescriptor(PictureDescriptor):
    """Histogram of RGB: group ``rgb``, 256 columns (see `rgb_histogram`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    """

    name = "rgb"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"rgb": int(np.prod(_N_BINS))}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 256 numbers of one photo."""
        return rgb_histogram(pixels)
