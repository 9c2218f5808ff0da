"""Gabor texture: how strongly the picture waves, at which scales and in which directions."""

import functools
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tagloom.features.classic.filter_bank import FilterBand, gray_levels, magnitudes, make_band, mirrored_spectrum
from tagloom.features.descriptor import PictureDescriptor

__all__ = ["GaborDescriptor", "gabor_texture", "gabor_transfer"]

_FREQUENCIES = (0.4, 0.2, 0.1, 0.05)
_N_ORIENTATIONS = 6
_HIGHEST, _RATIO = _FREQUENCIES[0], 2.0

# Standard deviations of the highest filter's Gaussian in the frequency plane, along and across its direction: the
# half-peak ellipses touch those of the next lower frequency, and the ray midway to the next direction.
_HALF_PEAK = np.sqrt(2 * np.log(2))
_ALONG = _HIGHEST * (_RATIO - 1) / (_RATIO + 1) / _HALF_PEAK
_ACROSS = np.tan(np.pi / (2 * _N_ORIENTATIONS)) * np.sqrt((_HIGHEST / _HALF_PEAK) ** 2 - _ALONG**2)

# Canvases are multiples of this, so that few of them are ever met, and all steps divide them.
_CANVAS_UNIT = 32
# Mirrored pixels on each side, for the highest frequency alone and for the others: 4.3 and at least 3.2 standard
# deviations of the kernels.
_FINE_BORDER, _COARSE_BORDER = 8, 48


def gabor_transfer(
    down: NDArray[np.float64], right: NDArray[np.float64], *, frequency: float, angle: float
) -> NDArray[np.float64]:
    """Return the gain of one Gabor filter at the given frequencies.

    The filter is the sampled kernel ``exp(-(x'²/σ² + y'²/τ²) / 2) / (2π σ τ) * (exp(2πi f x') - c)`` with ``x'`` along
    ``angle`` and ``y'`` across it, where ``c`` makes the kernel's sum zero. Sampling repeats the spectrum with period
    one, which matters to the highest frequency only. The gain at the centre frequency is 1 (± 0.2 %), so that a
    wave of amplitude A there has a response of magnitude A / 2.

    Parameters
    ----------
    down, right : float64 arrays
        Frequencies in cycles per pixel; they are broadcast.
    frequency : float
        Centre frequency f, in cycles per pixel.
    angle : float
        Direction in which the wave runs, in radians from right towards down.
    """
    along_width, across_width = _ALONG * frequency / _HIGHEST, _ACROSS * frequency / _HIGHEST
    cosine, sine = np.cos(angle), np.sin(angle)

    def gaussian(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        along = (u * cosine + v * sine) / along_width
        across = (v * cosine - u * sine) / across_width
        return np.exp(-(along * along + across * across) / 2)

    # Copies of the spectrum that reach into the band |u|, |v| < 0.5.
    reach = 0.5 + 5 * along_width
    columns, rows = (
        [centre + period for period in (-1, 0, 1) if abs(centre + period) < reach]
        for centre in (frequency * cosine, frequency * sine)
    )

    def wave(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        return functools.reduce(np.add, (gaussian(u - column, v - row) for column in columns for row in rows))

    zero = np.zeros(1)
    return wave(right, down) - wave(zero, zero) * gaussian(right, down)


def gabor_texture(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return mean and standard deviation of the magnitude of 24 Gabor responses: 48 numbers, in grey levels.

    Centre frequencies are 0.4, 0.2, 0.1 and 0.05 cycles per pixel; directions are 0°, 30°, …, 150°, the way the wave
    runs, from right towards down. The order is scale, direction, moment: column ``12 * scale + 2 * direction`` is the
    mean, the next one the standard deviation; scale 0 is the finest.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.

    Notes
    -----
    The half-peak contours of neighbouring filters touch in the frequency plane [1]_, which gives the widths: 0.283 of
    the centre frequency along the direction, 0.215 across.

    Deviations: kernels have zero sum, so that constants give exactly zero; their gain is the same at all scales, which
    only scales columns. Beyond its border the picture is continued by mirroring, 8 pixels or more on each side for
    0.4 and 48 or more for the rest. Responses are read in the middle of every 1 × 1, 2 × 2, 4 × 4 and 8 × 8
    pixels at the four scales, each weighted by how many of those pixels are in the picture; a filter's gain is cut off
    4.4 standard deviations from its centre. On photos this moves no column by more than about 0.5 % from
    moments over all pixels.

    References
    ----------
    .. [1] B. S. Manjunath and W. Y. Ma, "Texture features for browsing and retrieval of image data", IEEE
       Transactions on Pattern Analysis and Machine Intelligence 18 (8), 1996.
    """
    picture = gray_levels(pixels).astype(np.float32)
    moments = []
    for border, bands in ((_FINE_BORDER, _fine_bands), (_COARSE_BORDER, _coarse_bands)):
        height, width = (-(-(side + 2 * border) // _CANVAS_UNIT) * _CANVAS_UNIT for side in picture.shape)
        spectrum, origin = mirrored_spectrum(picture, (height, width))
        moments += [_moments(spectrum, band, origin, picture.shape) for band in bands(height, width)]
    return np.concatenate(moments)


def _moments(
    spectrum: NDArray[np.complex64], band: FilterBand, origin: tuple[int, int], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return mean and standard deviation of each filter's magnitude over the picture, filter by filter."""
    rows, row_weights = _samples(origin[0], shape[0], band.step)
    columns, column_weights = _samples(origin[1], shape[1], band.step)
    found = magnitudes(spectrum, band, rows, columns)
    means = (found @ column_weights) @ row_weights
    found -= means[:, None, None]
    variances = (np.square(found, out=found) @ column_weights) @ row_weights
    return np.stack([means, np.sqrt(variances)], axis=1).ravel().astype(np.float64)


def _samples(start: int, length: int, step: int) -> tuple[slice, NDArray[np.float32]]:
    """Return which samples stand for pixels ``start`` to ``start + length``, and for what share of them each does."""
    first, stop = start // step, -(-(start + length) // step)
    edges = np.clip(np.arange(first, stop + 1) * step, start, start + length)
    return slice(first, stop), (np.diff(edges) / length).astype(np.float32)


# The nine canvases of a longer side of 256 with an aspect ratio up to 2 : 1 fit, about 5 MB each.
@functools.lru_cache(maxsize=16)
def _fine_bands(height: int, width: int) -> tuple[FilterBand, ...]:
    return (_band(_FREQUENCIES[0], (height, width)),)


@functools.lru_cache(maxsize=16)
def _coarse_bands(height: int, width: int) -> tuple[FilterBand, ...]:
    return tuple(_band(frequency, (height, width)) for frequency in _FREQUENCIES[1:])


def _band(frequency: float, canvas: tuple[int, int]) -> FilterBand:
    angles = np.arange(_N_ORIENTATIONS) * np.pi / _N_ORIENTATIONS
    return make_band(
        [functools.partial(gabor_transfer, frequency=frequency, angle=angle) for angle in angles],
        [(frequency * np.sin(angle), frequency * np.cos(angle)) for angle in angles],
        canvas=canvas,
        step=round(_HIGHEST / frequency),
    )


class GaborDescriptor(PictureDescriptor):
    """Texture: group ``gabor``, 48 columns (see `gabor_texture`).

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged. Filters are kept for the last 16 picture sizes
        (in steps of 32 pixels), about 5 MB each at 256 and four times that at twice the size.
    """

    name = "gabor"
    version = 1
    groups: ClassVar[Mapping[str, int]] = {"gabor": len(_FREQUENCIES) * _N_ORIENTATIONS * 2}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the 48 numbers of one photo."""
        return gabor_texture(pixels)
