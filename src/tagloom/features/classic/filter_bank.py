"""Oriented band-pass filters applied in the Fourier domain: what the texture and scene descriptors have in common.

A picture is continued by mirroring until it fills a canvas, transformed once, and multiplied by each filter's transfer
function. A filter that passes a narrow band only needs the part of the spectrum around its centre: the inverse
transform of a part one ``step``-th as long gives the response on every ``step``-th pixel at one ``step²``-th of the
cost. Moving that part to the origin changes the response's phase, not its magnitude.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["FilterBand", "gray_levels", "magnitudes", "make_band", "mirrored_spectrum"]

TransferFunction = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class FilterBand:
    """Filters of one scale, ready for spectra of one canvas size; arrays are read-only.

    Attributes
    ----------
    step : int
        Distance of the pixels on which responses are computed.
    rows, columns : intp arrays of shape (n_filters, canvas height or width / step)
        Which bins of the spectrum each filter reads.
    transfers : complex64 array of shape (n_filters, canvas height / step, canvas width / step)
        Factors of those bins, including the scale of the inverse transform.
    """

    step: int
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    transfers: NDArray[np.complex64]


def gray_levels(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return luma (0.299 R + 0.587 G + 0.114 B) in whole levels, 0 to 255.

    Whole numbers keep constant pictures constant: no rounding is left that a normalisation could blow up.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    """
    gray: NDArray[np.uint8] = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return gray


def mirrored_spectrum(
    picture: NDArray[np.float32], canvas: tuple[int, int]
) -> tuple[NDArray[np.complex64], tuple[int, int]]:
    """Return the Fourier transform of a picture mirrored up to the size of a canvas, and the picture's place on it.

    The picture lies in the middle; the mirror repeats the outermost pixel (… b a a b …), as often as needed.

    Parameters
    ----------
    picture : float32 array of shape (height, width)
        Not larger than the canvas. Half of its range is taken off first, so that a constant picture is exactly zero;
        filters that do not pass constants see no difference.
    canvas : pair of int
        Height and width of the canvas.

    Returns
    -------
    spectrum : complex64 array of the canvas' shape
        Both halves of the spectrum.
    origin : pair of int
        Row and column of the picture's first pixel on the canvas.
    """
    top, left = ((full - own) // 2 for full, own in zip(canvas, picture.shape, strict=True))
    bottom, right = canvas[0] - picture.shape[0] - top, canvas[1] - picture.shape[1] - left
    centred = picture - (picture.min() + picture.max()) / 2
    filled = cv2.copyMakeBorder(centred, top, bottom, left, right, cv2.BORDER_REFLECT)
    # Complex to complex is the transform that OpenCV does best, even for real pictures.
    spectrum = filled.astype(np.complex64)
    _transform(spectrum, spectrum, 0)
    return spectrum, (top, left)


def make_band(
    transfer_functions: Sequence[TransferFunction],
    centres: Sequence[tuple[float, float]],
    *,
    canvas: tuple[int, int],
    step: int,
) -> FilterBand:
    """Sample transfer functions around their centres.

    Sample ``k`` of a response lies at canvas pixel ``step * k + (step - 1) / 2``, the middle of ``step`` pixels.
    Frequencies further than ``0.5 / step`` from the centre are cut off.

    Parameters
    ----------
    transfer_functions : sequence of callables
        Gain at frequencies ``(down, right)`` in cycles per pixel.
    centres : sequence of pairs of float
        ``(down, right)`` frequency in the middle of each filter's band. Not used where ``step`` is 1.
    canvas : pair of int
        Height and width, multiples of ``2 * step``.
    step : int
        Distance of the pixels on which responses are computed.
    """
    shape = (canvas[0] // step, canvas[1] // step)
    rows, columns = (np.empty((len(centres), side), dtype=np.intp) for side in shape)
    transfers = np.empty((len(centres), *shape), dtype=np.complex64)
    for number, (transfer, centre) in enumerate(zip(transfer_functions, centres, strict=True)):
        middle = (round(centre[0] * canvas[0]), round(centre[1] * canvas[1])) if step > 1 else (0, 0)
        rows[number], columns[number] = (_around(first, side) for first, side in zip(middle, shape, strict=True))
        down, right = rows[number][:, None] / canvas[0], columns[number][None, :] / canvas[1]
        # The samples' offset is a phase of the transfer function; the inverse transform is left unscaled.
        phase = np.exp(1j * np.pi * (step - 1) * down) * np.exp(1j * np.pi * (step - 1) * right)
        transfers[number] = transfer(down, right) * phase / (canvas[0] * canvas[1])
    band = FilterBand(step, rows % canvas[0], columns % canvas[1], transfers)
    for array in (band.rows, band.columns, band.transfers):
        array.setflags(write=False)
    return band


def _around(middle: int, n: int) -> NDArray[np.intp]:
    """Return ``n`` bins around a middle one in the order of a Fourier transform: from the middle up, then below."""
    return middle + (np.arange(n) + n // 2) % n - n // 2


def magnitudes(
    spectrum: NDArray[np.complex64], band: FilterBand, rows: slice = slice(None), columns: slice = slice(None)
) -> NDArray[np.float32]:
    """Return the magnitudes of the filters' complex responses.

    Parameters
    ----------
    spectrum : complex64 array
        See `mirrored_spectrum`.
    band : FilterBand
        Made for the spectrum's canvas.
    rows, columns : slice, default=all
        Which samples are asked for.

    Returns
    -------
    float32 array of shape (n_filters, rows, columns)
        One picture per filter.
    """
    n_filters, *shape = band.transfers.shape
    # Memory is taken once: fresh pages for every filter would cost more than the transforms.
    passed, response = np.empty((2, *shape), dtype=np.complex64)
    found = np.empty((n_filters, *response[rows, columns].shape), dtype=np.float32)
    for number in range(n_filters):
        part = spectrum if band.step == 1 else spectrum.take(band.rows[number], 0).take(band.columns[number], 1)
        np.multiply(part, band.transfers[number], out=passed)
        _transform(passed, response, cv2.DFT_INVERSE)
        np.abs(response[rows, columns], out=found[number])
    return found


def _transform(source: NDArray[np.complex64], target: NDArray[np.complex64], flags: int) -> None:
    """Write the unscaled two-dimensional Fourier transform of the source into the target."""
    pairs = (*source.shape, 2)
    cv2.dft(source.view(np.float32).reshape(pairs), target.view(np.float32).reshape(pairs), flags)
