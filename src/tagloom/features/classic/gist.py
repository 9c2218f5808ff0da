"""GIST: the layout of a scene, as the strength of waves of each scale and direction in each part of the picture."""

import functools
from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.features.classic.filter_bank import FilterBand, gray_levels, magnitudes, make_band, mirrored_spectrum
from tagloom.features.descriptor import PictureDescriptor

__all__ = ["GistDescriptor", "equalize_contrast", "gist", "gist_transfer", "square_luma"]

_SIDE = 128
_BORDER = 32
_N_CELLS = 4
_N_ORIENTATIONS = 8
_FREQUENCIES = tuple(0.3 / 1.85**scale for scale in range(4))
# Larger steps would leave too few samples in a cell: 5 % off at a step of 8.
_STEPS = (1, 2, 2, 4)

# exp(-radial (f / centre - 1)²) exp(-angular angle²): the usual bandwidths of the published descriptor.
_RADIAL = 3.5
_ANGULAR = 2 * np.pi * _N_ORIENTATIONS**2 / 64

# The blur that halves waves of 4 cycles per picture.
_HALVED_CYCLES = 4
_BLUR = _SIDE * np.sqrt(np.log(2) / 2) / (np.pi * _HALVED_CYCLES)
_LEAST_CONTRAST = 0.2


def square_luma(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return luma in 0–255, brought to 128 × 128 pixels whatever the picture's shape.

    A side is shortened by averaging areas, a side that is too short is then stretched linearly.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    """
    # 1/256 levels in whole numbers: averaging keeps its precision, and constant pictures stay constant.
    luma = gray_levels(pixels).astype(np.uint16) * 256
    height, width = luma.shape
    luma = cv2.resize(luma, (min(width, _SIDE), min(height, _SIDE)), interpolation=cv2.INTER_AREA)
    luma = cv2.resize(luma, (_SIDE, _SIDE), interpolation=cv2.INTER_LINEAR)
    return luma.astype(np.float32) / 256


def equalize_contrast(luma: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take the local mean off the logarithm of luma and divide by the local contrast.

    With ``y = log(1 + luma)`` and a Gaussian blur B: ``z = y - B y``, and the result is ``z / (0.2 + sqrt(B z²))``.
    The blur halves waves of 4 cycles per picture (σ = 6.0 pixels of 128) and mirrors at the border. A constant
    picture becomes exactly zero.

    Parameters
    ----------
    luma : float32 array of shape (128, 128)
        See `square_luma`.
    """
    logarithm: NDArray[np.float32] = np.log1p(luma)
    logarithm -= (logarithm.min() + logarithm.max()) / 2
    detail = logarithm - _blur(logarithm)
    contrast: NDArray[np.float32] = np.sqrt(_blur(detail * detail))
    contrast += _LEAST_CONTRAST
    return detail / contrast


def _blur(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    reach = 2 * int(np.ceil(4 * _BLUR)) + 1
    blurred: NDArray[np.float32] = cv2.GaussianBlur(picture, (reach, reach), _BLUR, borderType=cv2.BORDER_REFLECT)
    return blurred


def gist_transfer(
    down: NDArray[np.float64], right: NDArray[np.float64], *, frequency: float, angle: float
) -> NDArray[np.float64]:
    """Return the gain ``exp(-3.5 (f / frequency - 1)²) exp(-2π t²)`` of one filter; none for constants.

    ``f`` is the length of the frequency and ``t`` its angle with the filter's direction, in (-π, π].

    Parameters
    ----------
    down, right : float64 arrays
        Frequencies in cycles per pixel; they are broadcast.
    frequency : float
        Frequency of the largest gain, in cycles per pixel.
    angle : float
        Direction in which the wave runs, in radians from right towards down.
    """
    length = np.hypot(down, right)
    turned = np.angle((right + 1j * down) * np.exp(-1j * angle))
    gain = np.exp(-_RADIAL * (length / frequency - 1) ** 2 - _ANGULAR * turned**2)
    return np.where(length > 0, gain, 0.0)


def gist(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the mean magnitude of 32 oriented filters in each of 4 × 4 cells: 512 numbers.

    Luma is brought to a square of 128 × 128 pixels (`square_luma`), its contrast evened out (`equalize_contrast`),
    mirrored by 32 pixels on each side against wrap-around, and filtered (`gist_transfer`) at frequencies 0.3,
    0.162, 0.088 and 0.047 cycles per pixel in directions 0°, 22.5°, …, 157.5°, the way the wave runs, from right
    towards down. The order is scale, direction, cell row, cell column: column
    ``128 * scale + 16 * direction + 4 * row + column``; scale 0 is the finest.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.

    Notes
    -----
    The descriptor of [1]_ with the bandwidths in common use. Deviations: a square of 128 pixels where 256 is usual,
    which costs a quarter; the whole picture is squeezed into the square where others cut out its middle; blurs
    mirror at the border; filters pass no constants. Responses are read in the middle of every 1 × 1, 2 × 2,
    2 × 2 and 4 × 4 pixels at the four scales, and a filter's gain is cut off where it is small: on photos this
    moves no number by more than about 1 % of its scale's mean from averages over all pixels.

    References
    ----------
    .. [1] A. Oliva and A. Torralba, "Modeling the shape of the scene: a holistic representation of the spatial
       envelope", International Journal of Computer Vision 42 (3), 2001.
    """
    spectrum, _ = mirrored_spectrum(equalize_contrast(square_luma(pixels)), (_SIDE + 2 * _BORDER,) * 2)
    means = []
    for band in _bands():
        inside = slice(_BORDER // band.step, (_BORDER + _SIDE) // band.step)
        cell = _SIDE // band.step // _N_CELLS
        found = magnitudes(spectrum, band, inside, inside)
        # One axis after the other is four times as fast as both at once.
        sums = found.reshape(_N_ORIENTATIONS, _N_CELLS, cell, _N_CELLS, cell).sum(axis=2).sum(axis=3)
        means.append(sums / cell**2)
    return np.stack(means).ravel().astype(np.float64)


@functools.cache
def _bands() -> tuple[FilterBand, ...]:
    angles = np.arange(_N_ORIENTATIONS) * np.pi / _N_ORIENTATIONS
    return tuple(
        make_band(
            [functools.partial(gist_transfer, frequency=frequency, angle=angle) for angle in angles],
            [(frequency * np.sin(angle), frequency * np.cos(angle)) for angle in angles],
            canvas=(_SIDE + 2 * _BORDER,) * 2,
            step=step,
        )
        for frequency, step in zip(_FREQUENCIES, _STEPS, strict=True)
    )


class GistDescriptor(PictureDescriptor):
    """Layout of the scene: group ``gist``, 512 columns (see `gist`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture that is brought to the square; smaller photos are not enlarged.
    """

    name = "gist"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"gist": len(_FREQUENCIES) * _N_ORIENTATIONS * _N_CELLS**2}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 512 numbers of one photo."""
        return gist(pixels)
