"""Edges: in which directions brightness changes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.classic.luma import LUMA_UNIT, count_bytes, scaled_luma
from tagloom.features.descriptor import PictureDescriptor

__all__ = [
    "EdgeBlockDescriptor",
    "EdgeDescriptor",
    "direction_bins",
    "edge_angles",
    "edge_block_histogram",
    "edge_histogram",
]


_N_DIRECTIONS = 72
_THRESHOLD = 100.0


def edge_angles(
    luma: NDArray[np.float32], *, threshold: float = _THRESHOLD
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Find the edge pixels and the angle of the gradient there.

    The gradient is that of the 3 × 3 Sobel masks with the border repeated; a pixel is an edge where it is at least
    ``threshold`` grey levels long.

    Parameters
    ----------
    luma : float32 array of shape (height, width)
        See `scaled_luma`.
    threshold : float, default=100
        Length of the Sobel gradient from which a pixel is an edge; a straight step of 25 levels gives 100.

    Returns
    -------
    where : array of shape (n_edges,)
        Positions of the edge pixels in ``luma.ravel()``, ascending.
    angles : float32 array of shape (n_edges,)
        In radians from -π to π, rows pointing down: 0 is brighter to the right, π / 2 brighter below.
    """
    gx, gy = (
        cv2.Sobel(luma, cv2.CV_32F, along_x, 1 - along_x, ksize=3, borderType=cv2.BORDER_REPLICATE).ravel()
        for along_x in (1, 0)
    )
    squared_length = gx * gx
    squared_length += gy * gy
    where = np.flatnonzero(squared_length >= np.float32(threshold * LUMA_UNIT) ** 2)
    return where, np.arctan2(gy.take(where), gx.take(where))


def direction_bins(angles: NDArray[np.float32], n_directions: int, *, aside: float = 0.0) -> NDArray[np.uint8]:
    """Round angles to the nearest of ``n_directions`` directions: bin k is centred on ``k + aside`` steps.

    Parameters
    ----------
    angles : float32 array of shape (n,)
        From -π to π.
    n_directions : int
        Even, so that -π and π are in the same bin, and at most 126.
    aside : float, default=0
        Less than half a step.
    """
    steps = angles * np.float32(n_directions / (2 * np.pi)) - np.float32(aside)
    bins = np.rint(steps, out=steps).astype(np.int8)
    bins += (bins < 0).view(np.int8) * np.int8(n_directions)
    return bins.view(np.uint8)


def edge_histogram(pixels: NDArray[np.uint8], *, threshold: float = _THRESHOLD) -> NDArray[np.float64]:
    """Return how the edge pixels spread over 72 directions, and the share of pixels that are no edge.

    Luma (0.299 R + 0.587 G + 0.114 B, in 0–255) is differentiated by the 3 × 3 Sobel masks with the border
    repeated. A pixel is an edge where the gradient is at least ``threshold`` long. Its direction is the gradient's
    angle, rows pointing down, rounded to the next multiple of 5°: bin 0 is brighter to the right, bin 18 brighter
    below. Bins are centred on the multiples so that the many exactly upright and level edges do not lie on a bin's
    border. Directions are divided by the number of edge pixels (all zero where there is none), the 73rd number is
    the share of the other pixels.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    threshold : float, default=100
        Length of the Sobel gradient from which a pixel is an edge; a straight step of 25 levels gives 100.
    """
    _, angles = edge_angles(scaled_luma(pixels), threshold=threshold)
    counts = count_bytes(direction_bins(angles, _N_DIRECTIONS))[:_N_DIRECTIONS].astype(np.float64)
    n_pixels = pixels.shape[0] * pixels.shape[1]
    return np.append(counts / max(1, angles.size), 1.0 - angles.size / n_pixels)


class EdgeDescriptor(PictureDescriptor):
    """Directions of edges: group ``edges``, 73 columns (see `edge_histogram`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    threshold : float, default=100
        Length of the Sobel gradient from which a pixel is an edge.
    """

    name = "edges"
    version = 2
    groups: ClassVar[Mapping[str, int]] = {"edges": _N_DIRECTIONS + 1}

    def __init__(self, *, size: int = 256, threshold: float = _THRESHOLD) -> None:
        super().__init__(size=size)
        self.threshold = threshold

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The picture's size and the threshold."""
        return {**super().parameters, "threshold": float(self.threshold)}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 73 numbers of one photo."""
        return edge_histogram(pixels, threshold=self.threshold)


# Edges by place: in which directions brightness changes in five regions of the photo.

_N_CELLS = 4
_N_BLOCK_DIRECTIONS = 14
# First cell row and column of each region of two by two cells.
_REGIONS = ((0, 0), (0, 2), (2, 0), (2, 2), (1, 1))
# 14 directions centred on 0° would have 90° and 270° on a border between two; an eighth of a step aside, all
# multiples of 45°, the directions of exactly upright, level and diagonal edges, are well inside a bin.
_ASIDE = 1 / 8
_BLOCK_THRESHOLD = 50.0


def edge_block_histogram(pixels: NDArray[np.uint8], *, threshold: float = _BLOCK_THRESHOLD) -> NDArray[np.float64]:
    """Return for five regions which share of the pixels is an edge in each of 14 directions, and no edge: 75 numbers.

    The regions are the upper left, upper right, lower left and lower right quarter of the picture, and its centre,
    half as wide and half as high, which overlaps them. Pixel row r of h is in the upper half where ``4 r // h`` is 0 or
    1 and in the centre where it is 1 or 2, columns alike; a side shorter than four pixels is stretched by repeating
    pixels first, so that no region is empty. Edges and their angles are those of `edge_angles`.
    With a step of 360° / 14, bin k holds the angles from (k - 3/8) steps to (k + 5/8) steps: bin 0 is brighter to the
    right, 3 brighter below, 7 brighter to the left and 10 brighter above. A region's numbers are divided by its number
    of pixels and sum to one. The order is region, direction, with the share of pixels that are no edge as the 15th
    number of each region.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    threshold : float, default=50
        Length of the Sobel gradient from which a pixel is an edge; a straight step of 12.5 levels gives 50.

    Notes
    -----
    MSRA-MM 2.0 [1]_ comes with an edge histogram of 75 numbers, whose definition is not available. This one has as many
    numbers and the same purpose, but its definition is our own: numbers of the two cannot be compared.

    References
    ----------
    .. [1] H. Li, M. Wang and X.-S. Hua, "MSRA-MM 2.0: a large-scale web multimedia dataset", ICDM Workshops 2009.
    """
    for axis in (0, 1):
        if pixels.shape[axis] < _N_CELLS:
            pixels = np.repeat(pixels, -(-_N_CELLS // pixels.shape[axis]), axis=axis)
    height, width = pixels.shape[:2]
    # Bytes: 16 cells times 14 directions are 224 codes, and a map of the cells in bytes costs next to nothing.
    cell_rows, cell_columns = ((np.arange(size) * _N_CELLS // size).astype(np.uint8) for size in (height, width))
    first_codes = _N_BLOCK_DIRECTIONS * (_N_CELLS * cell_rows[:, None] + cell_columns)
    where, angles = edge_angles(scaled_luma(pixels), threshold=threshold)
    codes = direction_bins(angles, _N_BLOCK_DIRECTIONS, aside=_ASIDE)
    codes += first_codes.ravel().take(where)
    edges = count_bytes(codes)[: _N_CELLS**2 * _N_BLOCK_DIRECTIONS].reshape(_N_CELLS, _N_CELLS, _N_BLOCK_DIRECTIONS)
    n_pixels = np.outer(np.bincount(cell_rows), np.bincount(cell_columns))
    counts = np.concatenate([edges, (n_pixels - edges.sum(axis=2))[..., None]], axis=2)
    regions = np.array([counts[row : row + 2, column : column + 2].sum(axis=(0, 1)) for row, column in _REGIONS])
    shares: NDArray[np.float64] = regions / regions.sum(axis=1, keepdims=True)
    return shares.ravel()


class EdgeBlockDescriptor(PictureDescriptor):
    """Directions of edges in five regions: group ``edge_blocks``, 75 columns (see `edge_block_histogram`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    threshold : float, default=50
        Length of the Sobel gradient from which a pixel is an edge.
    """

    name = "edge_blocks"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"edge_blocks": len(_REGIONS) * (_N_BLOCK_DIRECTIONS + 1)}

    def __init__(self, *, size: int = 256, threshold: float = _BLOCK_THRESHOLD) -> None:
        super().__init__(size=size)
        self.threshold = threshold

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The picture's size and the threshold."""
        return {**super().parameters, "threshold": float(self.threshold)}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 75 numbers of one photo."""
        return edge_block_histogram(pixels, threshold=self.threshold)
