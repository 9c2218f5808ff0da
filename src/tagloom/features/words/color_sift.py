"""SIFT in colour: the same patches described in several channels, and the grid of them as a local descriptor."""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.features.words.sift import (
    MIN_CONTRAST,
    N_NUMBERS,
    border_margins,
    check_grid,
    plane_gradients,
    repeat_border,
    sift_of_gradients,
)
from tagloom.images import Rendition

__all__ = ["SIFT_FORMS", "DenseSift", "sift_gradients"]

Gradients = tuple[NDArray[np.float32], NDArray[np.float32]]

# Near black, bytes say little about colour; this many levels more in each channel lets such pixels tend to grey.
_DARK = 5.0
_LEVELS = 255.0


def sift_gradients(pixels: NDArray[np.uint8], form: str = "sift") -> list[Gradients]:
    """Return the gradients of each channel of a form of SIFT, on the scale of bytes.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    form : {"sift", "rgbsift", "rgsift", "hsvsift", "csift", "opponentsift"}, default="sift"
        The channels, see Notes.

    Returns
    -------
    list of pairs of float32 arrays of shape (height, width)
        Half the difference of the right and left, and of the lower and upper neighbours.

    Notes
    -----
    The channels of [1]_, computed from the bytes as they are (gamma-encoded):

    ============== ======== ===============================================================================
    form           channels in this order
    ============== ======== ===============================================================================
    sift           1        luma 0.299 R + 0.587 G + 0.114 B
    rgbsift        3        R, G, B
    rgsift         2        255 r, 255 g with r = R' / (R' + G' + B'), g = G' / (R' + G' + B')
    hsvsift        3        hue, 255 S, V with V = max(R, G, B), S = (max - min) / max(R', G', B')
    csift          3        255 O1 / O3', 255 O2 / O3', O3
    opponentsift   3        O1 = (R - G) / √2, O2 = (R + G - 2 B) / √6, O3 = (R + G + B) / √3
    ============== ======== ===============================================================================

    A prime means five levels more in each of R, G and B: black divides nothing by zero, and the colour of nearly black
    pixels, which is rounding, counts for little. Hue is an angle: its gradient is that along the circle, times the
    saturation, so that it neither jumps at red nor depends on the arbitrary hue of greys. With n the unit vector along
    (2 R - G - B, √3 (G - B)) and u = 255 / 2 · S n, it is the part of the gradient of u that is orthogonal to n.

    References
    ----------
    .. [1] K. E. A. van de Sande, T. Gevers, C. G. M. Snoek, "Evaluating color descriptors for object and scene
       recognition", IEEE TPAMI 32 (2010).
    """
    check_form(form)
    return _CHANNELS[form](pixels)


def _luma(pixels: NDArray[np.uint8]) -> list[Gradients]:
    weights = np.array([[0.299, 0.587, 0.114]], dtype=np.float32)
    return [plane_gradients(cv2.transform(pixels.astype(np.float32), weights))]


def _rgb(pixels: NDArray[np.uint8]) -> list[Gradients]:
    return [plane_gradients(plane) for plane in cv2.split(pixels.astype(np.float32))]


def _chromaticities(pixels: NDArray[np.uint8]) -> list[Gradients]:
    red, green, blue = cv2.split(pixels.astype(np.float32) + np.float32(_DARK))
    scale = _LEVELS / (red + green + blue)
    return [plane_gradients(red * scale), plane_gradients(green * scale)]


def _hue_saturation_value(pixels: NDArray[np.uint8]) -> list[Gradients]:
    red, green, blue = cv2.split(pixels.astype(np.float32))
    value = np.maximum(np.maximum(red, green), blue)
    saturation = (value - np.minimum(np.minimum(red, green), blue)) / (value + np.float32(_DARK))
    along, beside = 2 * red - green - blue, np.float32(np.sqrt(3)) * (green - blue)
    # not cv2.magnitude, whose last digit depends on where in memory the result lies
    length = np.sqrt(along * along + beside * beside)
    length[length == 0] = 1  # greys: both parts are 0, and stay so
    along /= length
    beside /= length
    half = saturation * np.float32(_LEVELS / 2)
    first, second = plane_gradients(half * along), plane_gradients(half * beside)
    hue = (along * second[0] - beside * first[0], along * second[1] - beside * first[1])
    return [hue, plane_gradients(saturation * np.float32(_LEVELS)), plane_gradients(value)]


def _opponents(pixels: NDArray[np.uint8]) -> list[Gradients]:
    return [plane_gradients(plane) for plane in _opponent_planes(pixels)]


def _invariants(pixels: NDArray[np.uint8]) -> list[Gradients]:
    first, second, third = _opponent_planes(pixels)
    scale = _LEVELS / (third + np.float32(_DARK * np.sqrt(3)))
    return [plane_gradients(first * scale), plane_gradients(second * scale), plane_gradients(third)]


def _opponent_planes(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], ...]:
    directions = np.array([[1, -1, 0], [1, 1, -2], [1, 1, 1]]) / np.sqrt([[2], [6], [3]])
    return tuple(cv2.split(cv2.transform(pixels.astype(np.float32), directions.astype(np.float32))))


_CHANNELS: dict[str, Callable[[NDArray[np.uint8]], list[Gradients]]] = {
    "sift": _luma,
    "rgbsift": _rgb,
    "rgsift": _chromaticities,
    "hsvsift": _hue_saturation_value,
    "csift": _invariants,
    "opponentsift": _opponents,
}

SIFT_FORMS = {"sift": 1, "rgbsift": 3, "rgsift": 2, "hsvsift": 3, "csift": 3, "opponentsift": 3}
"""The forms of SIFT and their number of channels."""


class DenseSift:
    """The patches of a grid described by a form of SIFT: a `tagloom.features.words.vocabulary.LocalDescriptor`.

    Parameters
    ----------
    form : {"sift", "rgbsift", "rgsift", "hsvsift", "csift", "opponentsift"}, default="sift"
        The channels (see `sift_gradients`); each gives 128 numbers, scaled on their own (see
        `tagloom.features.words.sift.dense_sift`).
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    step : int, default=8
        Pixels from one patch to the next.
    patch : int, default=16
        Side of a patch, a multiple of four pixels.
    min_contrast : float, default=1
        Patches of less contrast in a channel get zeros for it.
    """

    version = 1

    def __init__(
        self,
        form: str = "sift",
        *,
        size: int = 256,
        step: int = 8,
        patch: int = 16,
        min_contrast: float = MIN_CONTRAST,
    ) -> None:
        check_form(form)
        check_grid(step, patch)
        self.form = form
        self.size = size
        self.step = step
        self.patch = patch
        self.min_contrast = min_contrast

    @property
    def key(self) -> str:
        """Form, version and parameters in one text."""
        grid = f"size={self.size},step={self.step},patch={self.patch},min_contrast={float(self.min_contrast):g}"
        return f"{self.form}-v{self.version}({grid})"

    @property
    def rendition(self) -> Rendition:
        """The whole photo, longer side at most ``size``."""
        return Rendition(f"fit-{self.size}", "fit", self.size)

    @property
    def n_columns(self) -> int:
        """Length of a descriptor."""
        return N_NUMBERS * SIFT_FORMS[self.form]

    def local_features(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the centres (m, 2) of the patches, row and column, and their descriptors (m, 128 × channels).

        Parameters
        ----------
        pixels : uint8 array of shape (height, width, 3)
            RGB; a side shorter than a patch is made as long by repeating the border.
        """
        gradients = sift_gradients(repeat_border(pixels, self.patch), self.form)
        positions, descriptors = sift_of_gradients(
            gradients, step=self.step, patch=self.patch, min_contrast=self.min_contrast
        )
        positions -= border_margins(pixels.shape, self.patch)
        return positions, descriptors

    def __repr__(self) -> str:
        return f"DenseSift({self.key})"


def check_form(form: str) -> None:
    """Refuse a form of SIFT that is not known."""
    if form not in SIFT_FORMS:
        raise InvalidInputError(f"the form of SIFT must be one of {', '.join(SIFT_FORMS)}, got {form!r}")
