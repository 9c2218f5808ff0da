"""Edges: in which directions brightness changes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.features.descriptor import PixelDescriptor
from tagloom.images import Rendition

__all__ = ["EdgeDescriptor", "edge_histogram"]

_N_DIRECTIONS = 72
_LUMA = np.array([0.299, 0.587, 0.114])
_THRESHOLD = 100.0


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
    luma = np.pad(pixels @ _LUMA, 1, mode="edge")
    across = luma[:, 2:] - luma[:, :-2]
    down = luma[2:] - luma[:-2]
    gx = across[:-2] + 2 * across[1:-1] + across[2:]
    gy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    edges = gx * gx + gy * gy >= threshold * threshold
    step = 2 * np.pi / _N_DIRECTIONS
    directions = np.rint(np.arctan2(gy[edges], gx[edges]) / step).astype(np.int64) % _N_DIRECTIONS
    counts: NDArray[np.int64] = np.bincount(directions, minlength=_N_DIRECTIONS)
    return np.append(counts / max(1, directions.size), 1.0 - directions.size / edges.size)


class EdgeDescriptor(PixelDescriptor):
    """Directions of edges: group ``edges``, 73 columns (see `edge_histogram`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    threshold : float, default=100
        Length of the Sobel gradient from which a pixel is an edge.
    """

    name = "edges"
    version = 1

    def __init__(self, *, size: int = 256, threshold: float = _THRESHOLD) -> None:
        self.size = size
        self.threshold = threshold

    @property
    def outputs(self) -> Mapping[str, int]:
        """One group: ``edges``."""
        return {"edges": _N_DIRECTIONS + 1}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The whole photo, longer side at most ``size``."""
        return (Rendition(f"fit-{self.size}", "fit", self.size),)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The picture's size and the threshold."""
        return {"size": self.size, "threshold": float(self.threshold)}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 73 numbers of one photo."""
        return edge_histogram(pixels, threshold=self.threshold)
