"""Edges: in which directions brightness changes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.classic.luma import LUMA_UNIT, count_bytes, scaled_luma
from tagloom.features.descriptor import PictureDescriptor

__all__ = ["EdgeDescriptor", "direction_bins", "edge_angles", "edge_histogram"]

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
