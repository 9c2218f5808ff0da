"""Where colours keep together: the autocorrelogram of 36 HSV colours."""

from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.descriptor import PictureDescriptor

__all__ = ["CorrelogramDescriptor", "autocorrelogram", "quantize_hsv"]

_N_COLORS = 36
_DISTANCES = (1, 3, 5, 7)
_MARGIN = max(_DISTANCES)

# Two hues of byte colours, or a hue and an edge, that are not equal are at least 60 / (255 * 30) = 0.008 degrees
# apart. Edges moved up by less than half of that keep a hue that is exactly an edge below it whatever its rounding.
_HUE_EDGES = tuple(edge + 0.003 for edge in (22, 45, 70, 155, 186, 278))
_LAST_HUE_EDGE = 330 + 0.003

# Value and saturation need no division: with M and m the largest and smallest of R, G and B, each condition is a
# comparison of M or m with a table of M.
_LARGEST = np.arange(256)
_BLACK_BELOW = 51  # V < 0.2
_GREY = np.where(_LARGEST < _BLACK_BELOW, 0, np.minimum(10 * _LARGEST // 255 - 1, 7)).astype(np.uint8)
_GREY_ABOVE = (4 * _LARGEST // 5).astype(np.uint8)  # S < 0.2 where m is above
_VIVID_BELOW = (-(-7 * _LARGEST // 20)).astype(np.uint8)  # S > 0.65 where m is below
_FIRST_COLOR = np.where(10 * _LARGEST > 7 * 255, 9, 8).astype(np.uint8)  # 8 + (V > 0.7)


def quantize_hsv(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give each pixel one of 36 colours: black, six greys, white, and 7 hues × 2 saturations × 2 values.

    With V = max / 255, S = (max - min) / max and the hue H of the HSV hexagon in degrees, exact for every byte
    colour:

    ======= ============================= =========================================
    Colour  Where                         Meaning
    ======= ============================= =========================================
    0       V < 0.2                       black
    1 to 6  S < 0.2, 0.2 ≤ V < 0.8        grey, ``1 + floor(10 V - 2)``
    7       S < 0.2, V ≥ 0.8              white
    8 to 35 S ≥ 0.2, V ≥ 0.2              ``8 + 4 hue + 2 (S > 0.65) + (V > 0.7)``
    ======= ============================= =========================================

    The hues are 0 red (330, 22], 1 orange (22, 45], 2 yellow (45, 70], 3 green (70, 155], 4 cyan (155, 186],
    5 blue (186, 278] and 6 purple (278, 330].

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.

    Returns
    -------
    uint8 array of shape (height, width)
        Colours in 0 to 35.

    Notes
    -----
    The classes are those of [1]_, which leave S = 0.2 and V = 0.2 without a class; here they are colours, not
    greys or black.

    References
    ----------
    .. [1] L. Zhang, F. Lin, B. Zhang. A CBIR method based on color-spatial feature. IEEE TENCON 1999, 166-169.
    """
    hue = cv2.extractChannel(cv2.cvtColor(pixels.astype(np.float32), cv2.COLOR_RGB2HSV), 0)
    red, green, blue = cv2.split(pixels)
    largest, smallest = cv2.max(cv2.max(red, green), blue), cv2.min(cv2.min(red, green), blue)
    colors = np.zeros(hue.shape, dtype=np.uint8)
    for edge in _HUE_EDGES:
        colors += (hue > edge).view(np.uint8)
    colors *= (hue <= _LAST_HUE_EDGE).view(np.uint8)  # the reds above the last edge are hue 0 too
    colors <<= 1
    colors += (smallest < cv2.LUT(largest, _VIVID_BELOW)).view(np.uint8)
    colors <<= 1
    colors += cv2.LUT(largest, _FIRST_COLOR)
    colorless = (smallest > cv2.LUT(largest, _GREY_ABOVE)) | (largest < _BLACK_BELOW)
    return np.where(colorless, cv2.LUT(largest, _GREY), colors)


def autocorrelogram(colors: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return how likely a pixel near one of a colour has that colour, for 36 colours × 4 distances: 144 numbers.

    For colour c and distance d in 1, 3, 5, 7: of all pairs of a pixel of colour c and a pixel of the picture at
    distance d of it, the share whose second pixel has colour c too; 0 where there is no such pair. The distance is
    the larger one of the distances in rows and columns, so that the neighbours are the ring of 8 d pixels around a
    pixel, or what of it lies in the picture. The order is colour-major: column ``4 * colour + (d - 1) / 2``.

    Parameters
    ----------
    colors : uint8 array of shape (height, width)
        Colours in 0 to 35, see `quantize_hsv`.

    Notes
    -----
    Deviation from [1]_: there the count is divided by 8 d times the number of pixels of the colour, which makes
    probabilities smaller near the border; here neighbours outside the picture are not counted.

    References
    ----------
    .. [1] J. Huang, S. R. Kumar, M. Mitra, W.-J. Zhu, R. Zabih. Image indexing using color correlograms. IEEE
       Conference on Computer Vision and Pattern Recognition 1997, 762-768.
    """
    return (_alike(colors) / np.maximum(_inside(colors), 1)).ravel()


def _alike(colors: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count the neighbours of the same colour, shape (36, 4).

    The picture is laid out as one line with a margin of a colour of its own to the right and below, so that a
    neighbour is the pixel a fixed number of places further on, and one outside the picture is never alike. Each
    pair is met once, from its earlier pixel, and counts for both.
    """
    height, width = colors.shape
    step = width + _MARGIN
    padded = np.full((height + _MARGIN + 1, step), _N_COLORS, dtype=np.uint8)
    padded[:height, :width] = colors
    line = padded.ravel()
    here = line[: height * step]
    equal = np.empty(here.shape, dtype=np.bool_)
    counts = np.empty((_N_COLORS, len(_DISTANCES)), dtype=np.int64)
    for column, distance in enumerate(_DISTANCES):
        alike = np.zeros(here.shape, dtype=np.uint8)  # at most 4 * 7 of them
        for down, across in _half_ring(distance):
            first = down * step + across
            np.equal(here, line[first : first + here.size], out=equal)
            alike += equal.view(np.uint8)
        table = np.bincount(here * np.uint16(32) + alike, minlength=32 * (_N_COLORS + 1))
        counts[:, column] = 2 * (table.reshape(-1, 32)[:_N_COLORS] @ np.arange(32))
    return counts


def _half_ring(distance: int) -> list[tuple[int, int]]:
    """Return the neighbours (rows down, columns across) of the ring that come later in the picture."""
    below = [(distance, across) for across in range(-distance, distance + 1)]
    beside = [(down, across) for down in range(1, distance) for across in (-distance, distance)]
    return [(0, distance), *beside, *below]


def _inside(colors: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count the neighbours that lie in the picture, shape (36, 4).

    Their number is the same for all pixels further than the margin from the border: it is enough to count the
    pixels of each colour in 15 × 15 places, the middle being one of them.
    """
    places, reaches = zip(*(_places(size) for size in colors.shape), strict=True)
    n_places = 2 * _MARGIN + 1
    index = colors * np.uint16(n_places**2) + (places[0] * n_places)[:, None] + places[1]
    table = np.bincount(index.ravel(), minlength=_N_COLORS * n_places**2).reshape(_N_COLORS, n_places, n_places)
    boxes = ((table @ reaches[1].T) * reaches[0].T).sum(axis=1)  # neighbours at most 0 … 7 away, the pixel included
    return np.stack([boxes[:, distance] - boxes[:, distance - 1] for distance in _DISTANCES], axis=1)


def _places(size: int) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return the place of each position along a side, and how many positions are at most 0 … 7 from each place."""
    position, distance = np.arange(size), np.arange(_MARGIN + 1)[:, None]
    place = np.minimum(position, _MARGIN) + np.maximum(position - (size - _MARGIN - 1), 0)
    reaches = np.zeros((_MARGIN + 1, 2 * _MARGIN + 1), dtype=np.int64)
    reaches[:, place] = np.minimum(position + distance, size - 1) - np.maximum(position - distance, 0) + 1
    return place.astype(np.uint16), reaches


class CorrelogramDescriptor(PictureDescriptor):
    """Where colours keep together: group ``correlogram``, 144 columns (`quantize_hsv`, then `autocorrelogram`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    """

    name = "correlogram"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"correlogram": _N_COLORS * len(_DISTANCES)}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 144 numbers of one photo."""
        return autocorrelogram(quantize_hsv(pixels))
