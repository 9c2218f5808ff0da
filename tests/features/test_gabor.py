"""Gabor texture, against convolutions with scikit-image's kernels and with kernels written out."""

import functools

import numpy as np
import pytest
from scipy.signal import convolve2d, fftconvolve
from skimage.filters import gabor_kernel

from tagloom.features.classic.filter_bank import gray_levels, magnitudes, make_band, mirrored_spectrum
from tagloom.features.classic.gabor import GaborDescriptor, gabor_texture, gabor_transfer
from tagloom.features.descriptor import Descriptor
from tagloom.images import Rendition

FREQUENCIES = (0.4, 0.2, 0.1, 0.05)
# Widths over centre frequency, from the definition: half-peak ellipses of octaves and of 30° touch.
ALONG = 1 / (3 * np.sqrt(2 * np.log(2)))
# The ray at 15° touches an ellipse with semi-axes 1/3 and b around (1, 0) where sin² = sin² / 9 + b² cos².
ACROSS = np.tan(np.pi / 12) * np.sqrt(1 - 1 / 9) / np.sqrt(2 * np.log(2))


def as_rgb(gray):
    return np.stack([np.asarray(gray).astype(np.uint8)] * 3, axis=-1)


def picture(shape, seed=0):
    """Return structures of several sizes with noise."""
    generator = np.random.default_rng(seed)
    rows, columns = np.indices(shape)
    waves = sum(
        12 * np.cos(2 * np.pi * (generator.uniform(-0.3, 0.3) * rows + generator.uniform(0, 0.3) * columns))
        for _ in range(6)
    )
    blocks = generator.uniform(60, 190, (shape[0] // 9 + 1, shape[1] // 9 + 1)).repeat(9, 0).repeat(9, 1)
    return np.clip(blocks[: shape[0], : shape[1]] + waves + generator.normal(0, 8, shape), 0, 255).astype(np.uint8)


def widths(frequency):
    """Return the kernel's standard deviations in pixels, along and across."""
    return 1 / (2 * np.pi * ALONG * frequency), 1 / (2 * np.pi * ACROSS * frequency)


def kernel(frequency, angle):
    """Return scikit-image's kernel, made zero in sum by a part of its own envelope."""
    sigma_x, sigma_y = widths(frequency)
    wave = gabor_kernel(frequency, theta=angle, sigma_x=sigma_x, sigma_y=sigma_y, n_stds=5)
    envelope = np.abs(wave)
    return wave - envelope * (wave.sum() / envelope.sum())


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_half_peak_contours_touch(frequency):
    half = {"frequency": frequency, "angle": 0.0}
    zero = np.zeros(1)
    for distance in (frequency * 2 / 3, frequency * 4 / 3):
        if distance < 0.3:  # beyond, copies of the spectrum add to the gain
            assert gabor_transfer(zero, zero + distance, **half)[0] == pytest.approx(0.5, abs=0.005)
    ray = np.linspace(0, 2 * frequency, 2001)
    border = np.pi / 12
    gains = gabor_transfer(ray * np.sin(border), ray * np.cos(border), **half)
    assert gains.max() == pytest.approx(0.5, abs=0.005)
    assert gabor_transfer(zero, zero, **half)[0] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("angle", [0.0, np.pi / 6, 2 * np.pi / 3])
def test_finest_scale_against_convolution_at_every_pixel(angle):
    gray = picture((23, 30))
    canvas = (64, 64)
    transfer = functools.partial(gabor_transfer, frequency=0.4, angle=angle)
    spectrum, (top, left) = mirrored_spectrum(gray.astype(np.float32), canvas)
    band = make_band([transfer], [(0.0, 0.0)], canvas=canvas, step=1)
    found = magnitudes(spectrum, band, slice(top, top + 23), slice(left, left + 30))[0]
    weights = kernel(0.4, angle)
    rows, columns = weights.shape[0] // 2, weights.shape[1] // 2
    padded = np.pad(gray.astype(np.float64), [(rows, rows), (columns, columns)], mode="symmetric")
    np.testing.assert_allclose(found, np.abs(convolve2d(padded, weights, mode="valid")), atol=2e-3)


@pytest.mark.parametrize(("frequency", "step"), [(0.2, 2), (0.1, 4), (0.05, 8)])
def test_coarser_scales_against_sums_over_the_kernel(frequency, step):
    """Samples lie between pixels, where the kernel written out can be evaluated too; corner, border and middle."""
    gray, angle = picture((60, 48)), np.pi / 6
    canvas = (160, 160)
    transfer = functools.partial(gabor_transfer, frequency=frequency, angle=angle)
    spectrum, (top, left) = mirrored_spectrum(gray.astype(np.float32), canvas)
    centre = (frequency * np.sin(angle), frequency * np.cos(angle))
    found = magnitudes(spectrum, make_band([transfer], [centre], canvas=canvas, step=step))[0]
    border = 80
    padded = np.pad(gray.astype(np.float64), border, mode="symmetric")
    sigma_x, sigma_y = widths(frequency)
    rows, columns = np.indices(padded.shape) - border
    for row, column in [(0, 0), (0, 24), (59, 47), (30, 24), (33, 0)]:
        i, j = (row + top) // step, (column + left) // step
        y = i * step + (step - 1) / 2 - top - rows
        x = j * step + (step - 1) / 2 - left - columns
        along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        envelope = np.exp(-((along / sigma_x) ** 2 + (across / sigma_y) ** 2) / 2) / (2 * np.pi * sigma_x * sigma_y)
        wave = envelope * np.exp(2j * np.pi * frequency * along)
        weights = wave - envelope * (wave.sum() / envelope.sum())
        assert found[i, j] == pytest.approx(abs((weights * padded).sum()), abs=0.03)


@pytest.mark.parametrize("shape", [(96, 128), (75, 101)])
def test_moments_against_convolution_with_all_pixels(shape):
    gray = picture(shape, seed=1)
    padded = np.pad(gray.astype(np.float64), 100, mode="symmetric")
    expected = []
    for frequency in FREQUENCIES:
        for direction in range(6):
            response = np.abs(fftconvolve(padded, kernel(frequency, direction * np.pi / 6), mode="same"))
            inside = response[100:-100, 100:-100]
            expected.append([inside.mean(), inside.std()])
    found = gabor_texture(as_rgb(gray)).reshape(24, 2)
    np.testing.assert_allclose(found[:6], expected[:6], rtol=1e-4)
    np.testing.assert_allclose(found[6:], expected[6:], rtol=0.02)


@pytest.mark.parametrize(("scale", "direction"), [(0, 1), (1, 0), (1, 4), (2, 3), (3, 2)])
def test_a_wave_is_found_at_its_scale_and_direction(scale, direction):
    angle = direction * np.pi / 6
    rows, columns = np.indices((192, 192))
    phase = 2 * np.pi * FREQUENCIES[scale] * (columns * np.cos(angle) + rows * np.sin(angle))
    means = gabor_texture(as_rgb(np.rint(128 + 80 * np.cos(phase)))).reshape(4, 6, 2)[..., 0]
    assert np.unravel_index(means.argmax(), means.shape) == (scale, direction)
    # Half the amplitude, less near the border where mirroring turns slanting waves.
    assert means.max() == pytest.approx(40, rel=0.12)


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (200, 1), (171, 256), (8, 256)])
@pytest.mark.parametrize("color", [(0, 0, 0), (77, 200, 13), (255, 255, 255)])
def test_constant_pictures_give_exactly_zero(shape, color):
    np.testing.assert_array_equal(gabor_texture(np.full((*shape, 3), color, dtype=np.uint8)), 0)


@pytest.mark.parametrize("shape", [(96, 128), (50, 64)])
def test_turning_and_mirroring_permute_directions(shape):
    pixels = as_rgb(picture(shape))
    straight = gabor_texture(pixels).reshape(4, 6, 2)
    mirrored = gabor_texture(np.ascontiguousarray(pixels[:, ::-1])).reshape(4, 6, 2)
    np.testing.assert_allclose(mirrored, straight[:, -np.arange(6) % 6], rtol=1e-3)
    half_turn = gabor_texture(np.ascontiguousarray(pixels[::-1, ::-1])).reshape(4, 6, 2)
    np.testing.assert_allclose(half_turn, straight, rtol=1e-3)
    quarter_turn = gabor_texture(np.ascontiguousarray(np.rot90(pixels))).reshape(4, 6, 2)
    np.testing.assert_allclose(quarter_turn, np.roll(straight, 3, axis=1), rtol=1e-3)


def test_brightness_shifts_change_nothing_and_contrast_scales():
    gray = picture((60, 90)) // 4
    base = gabor_texture(as_rgb(gray))
    np.testing.assert_allclose(gabor_texture(as_rgb(gray + 90)), base, rtol=1e-4)
    np.testing.assert_allclose(gabor_texture(as_rgb(gray * 3)), 3 * base, rtol=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3), (8, 256), (256, 8), (1, 256)])
def test_odd_shapes_give_finite_numbers(shape):
    pixels = np.random.default_rng(3).integers(0, 256, (*shape, 3), dtype=np.uint8)
    found = gabor_texture(pixels)
    assert found.shape == (48,)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert pixels.size == 3 or found.max() > 0


def test_colour_counts_by_its_luma_only():
    pixels = np.random.default_rng(4).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    np.testing.assert_array_equal(gabor_texture(pixels), gabor_texture(as_rgb(gray_levels(pixels))))


def test_contract(make_photo):
    descriptor = GaborDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"gabor": 48}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    pixels = as_rgb(picture((40, 30)))
    rows = descriptor.compute([make_photo(fit_256=pixels)] * 2)
    assert rows.shape == (2, 48)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[1], gabor_texture(pixels).astype(np.float32))
    assert GaborDescriptor(size=128).key != descriptor.key
