"""Filtering in the Fourier domain, against sums written out."""

import numpy as np
import pytest

from tagloom.features.classic.filter_bank import gray_levels, magnitudes, make_band, mirrored_spectrum

GENERATOR = np.random.default_rng(0)


def test_gray_levels():
    pixels = GENERATOR.integers(0, 256, (40, 50, 3), dtype=np.uint8)
    gray = gray_levels(pixels)
    assert gray.dtype == np.uint8
    np.testing.assert_allclose(gray, pixels @ [0.299, 0.587, 0.114], atol=0.51)
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    np.testing.assert_array_equal(gray_levels(np.stack([levels] * 3, axis=-1)), levels)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (7, 2), (20, 31), (32, 64)])
def test_mirrored_spectrum(shape):
    picture = GENERATOR.uniform(0, 255, shape).astype(np.float32)
    spectrum, (top, left) = mirrored_spectrum(picture, (32, 64))
    centred = picture - (picture.min() + picture.max()) / 2
    filled = np.pad(centred, [(top, 32 - shape[0] - top), (left, 64 - shape[1] - left)], mode="symmetric")
    assert abs((32 - shape[0]) - 2 * top) <= 1
    assert abs((64 - shape[1]) - 2 * left) <= 1
    np.testing.assert_allclose(spectrum, np.fft.fft2(filled), atol=1e-2)


def test_constant_pictures_have_no_spectrum():
    spectrum, _ = mirrored_spectrum(np.full((13, 21), 76.3, dtype=np.float32), (32, 32))
    np.testing.assert_array_equal(spectrum, 0)


def disc(down, right, middle):
    """Pass frequencies near the middle, and nothing further off than 0.1."""
    distance = np.hypot(down - middle[0], right - middle[1])
    return np.maximum(0, 1 - distance / 0.1)


def literal_response(spectrum, transfer, row, column):
    """Evaluate the filtered picture between pixels: one wave per frequency, added up."""
    down, right = np.fft.fftfreq(spectrum.shape[0])[:, None], np.fft.fftfreq(spectrum.shape[1])[None, :]
    waves = np.exp(2j * np.pi * (down * row + right * column))
    return (spectrum * transfer(down, right) * waves).sum() / spectrum.size


@pytest.mark.parametrize("step", [1, 2, 4])
def test_part_of_the_spectrum_gives_exact_samples_of_a_narrow_band(step):
    """The band of width 0.2 fits into the part of width 1 / step, so that nothing is cut off."""
    spectrum = np.fft.fft2(GENERATOR.normal(size=(32, 48))).astype(np.complex64)
    middles = [(0.3, 0.1), (-0.05, 0.35)]
    transfers = [lambda down, right, m=middle: disc(down, right, m) for middle in middles]
    band = make_band(transfers, middles, canvas=(32, 48), step=step)
    found = magnitudes(spectrum, band)
    assert found.shape == (2, 32 // step, 48 // step)
    for number, transfer in enumerate(transfers):
        for i, j in [(0, 0), (3, 5), (7, 11)]:
            place = (step * i + (step - 1) / 2, step * j + (step - 1) / 2)
            expected = abs(literal_response(spectrum, transfer, *place))
            assert found[number, i, j] == pytest.approx(expected, abs=1e-5)
    window = magnitudes(spectrum, band, slice(1, 4), slice(2, 3))
    np.testing.assert_array_equal(window, found[:, 1:4, 2:3])


def test_bands_are_read_only():
    band = make_band([lambda down, right: down + right], [(0.1, 0.1)], canvas=(32, 32), step=2)
    for array in (band.rows, band.columns, band.transfers):
        assert not array.flags.writeable
