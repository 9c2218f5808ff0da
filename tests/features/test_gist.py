"""GIST, against the published definition written out with loops and numpy's transform."""

import cmath
import math

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage.transform import downscale_local_mean

from tagloom.features.classic.gist import GistDescriptor, equalize_contrast, gist, gist_transfer, square_luma
from tagloom.features.descriptor import Descriptor
from tagloom.images import Rendition

FREQUENCIES = [0.3 / 1.85**scale for scale in range(4)]
DIRECTIONS = (0, 3, 6)
# A Gaussian blur of this width halves cosines of 4 cycles per 128 pixels: exp(-2 (π σ / 32)²) = 1/2.
BLUR = 32 * math.sqrt(math.log(2) / 2) / math.pi


def as_rgb(gray):
    return np.stack([np.asarray(gray).astype(np.uint8)] * 3, axis=-1)


def picture(shape, seed=0):
    """Return blocks of several sizes, differently rough in different places."""
    generator = np.random.default_rng(seed)
    total = np.full(shape, 120.0)
    for block, spread in ((24, 50), (7, 25), (1, 12)):
        values = generator.normal(0, spread, (shape[0] // block + 1, shape[1] // block + 1))
        total += values.repeat(block, 0).repeat(block, 1)[: shape[0], : shape[1]]
    total *= np.linspace(0.4, 1.2, shape[1])
    return np.clip(total, 0, 255).astype(np.uint8)


def literal_gain(down, right, frequency, angle):
    length = math.hypot(down, right)
    if length == 0:
        return 0.0
    turned = math.atan2(down, right) - angle
    if turned < -math.pi:
        turned += 2 * math.pi
    return math.exp(-10 * 0.35 * (length / frequency - 1) ** 2 - 2 * math.pi * turned**2)


def literal_contrast(luma):
    logarithm = np.log(luma + 1.0)
    detail = logarithm - gaussian_filter(logarithm, BLUR, mode="reflect", truncate=6)
    return detail / (0.2 + np.sqrt(gaussian_filter(detail**2, BLUR, mode="reflect", truncate=6)))


def literal_gist(luma):
    """Return responses at all pixels in three directions, averaged in cells, for a picture of 128 × 128 pixels."""
    filled = np.pad(literal_contrast(luma), 32, mode="symmetric")
    spectrum = np.fft.fft2(filled)
    frequencies = np.fft.fftfreq(192)
    out = np.empty((4, 3, 4, 4))
    for scale in range(4):
        for number, direction in enumerate(DIRECTIONS):
            gains = [
                [literal_gain(down, right, FREQUENCIES[scale], direction * math.pi / 8) for right in frequencies]
                for down in frequencies
            ]
            response = np.abs(np.fft.ifft2(spectrum * gains))[32:160, 32:160]
            for row in range(4):
                for column in range(4):
                    cell = response[32 * row : 32 * row + 32, 32 * column : 32 * column + 32]
                    out[scale, number, row, column] = cell.mean()
    return out


def test_against_the_definition():
    luma = picture((128, 128))
    found, expected = gist(as_rgb(luma)).reshape(4, 8, 4, 4)[:, DIRECTIONS], literal_gist(luma)
    np.testing.assert_allclose(found[0], expected[0], rtol=2e-3)
    # The other scales are sampled.
    for scale in (1, 2, 3):
        mean = expected[scale].mean()
        np.testing.assert_allclose(found[scale], expected[scale], atol=0.02 * mean)
        assert np.abs(found[scale] - expected[scale]).mean() < 0.004 * mean


def test_contrast_against_scipy():
    luma = picture((128, 128)).astype(np.float32)
    np.testing.assert_allclose(equalize_contrast(luma), literal_contrast(luma.astype(float)), atol=2e-3)


@pytest.mark.parametrize("angle", [0.0, 0.4, 3.0])
def test_gain_of_one_filter(angle):
    generator = np.random.default_rng(5)
    for down, right in generator.uniform(-0.5, 0.5, (50, 2)):
        turned = abs(cmath.phase(complex(right, down) * cmath.exp(-1j * angle)))
        expected = math.exp(-3.5 * (math.hypot(down, right) / 0.1 - 1) ** 2 - 2 * math.pi * turned**2)
        found = gist_transfer(np.array([down]), np.array([right]), frequency=0.1, angle=angle)
        assert found[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert gist_transfer(np.zeros(1), np.zeros(1), frequency=0.1, angle=angle)[0] == 0


def test_square_of_a_larger_picture_averages_areas():
    luma = picture((256, 384))
    np.testing.assert_allclose(square_luma(as_rgb(luma)), downscale_local_mean(luma, (2, 3)), atol=1 / 256)


@pytest.mark.parametrize("shape", [(1, 1), (1, 77), (77, 1), (16, 16), (8, 256), (300, 20)])
def test_square_of_any_picture(shape):
    found = square_luma(as_rgb(picture(shape)))
    assert found.shape == (128, 128)
    assert found.min() >= 0
    assert found.max() <= 255
    if shape[0] == 1:
        np.testing.assert_array_equal(found, np.broadcast_to(found[:1], found.shape))


def test_a_short_side_is_stretched_linearly():
    found = square_luma(as_rgb([[0, 200]]))
    expected = np.interp((np.arange(128) + 0.5) / 64 - 0.5, [0, 1], [0, 200])
    np.testing.assert_allclose(found[60], expected, atol=1 / 256)


@pytest.mark.parametrize(("scale", "direction"), [(0, 3), (1, 0), (2, 4), (3, 6)])
def test_a_wave_in_one_corner(scale, direction):
    """The largest number is at the wave's scale and direction, and in its cell."""
    angle = direction * np.pi / 8
    rows, columns = np.indices((128, 128))
    wave = np.cos(2 * np.pi * FREQUENCIES[scale] * (columns * np.cos(angle) + rows * np.sin(angle)))
    wave[(rows >= 64) | (columns < 64)] = 0
    found = gist(as_rgb(np.rint(128 + 60 * wave))).reshape(4, 8, 4, 4)
    place = np.unravel_index(found.argmax(), found.shape)
    assert place[:2] == (scale, direction)
    assert place[2] < 2
    assert place[3] >= 2


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (171, 256), (300, 7), (128, 128)])
@pytest.mark.parametrize("color", [(0, 0, 0), (77, 200, 13), (255, 255, 255)])
def test_constant_pictures_give_exactly_zero(shape, color):
    np.testing.assert_array_equal(gist(np.full((*shape, 3), color, dtype=np.uint8)), 0)


def test_turning_and_mirroring_permute_directions_and_cells():
    pixels = as_rgb(picture((256, 256)))
    straight = gist(pixels).reshape(4, 8, 4, 4)
    atol = 1e-3 * straight.mean()
    mirrored = gist(np.ascontiguousarray(pixels[:, ::-1])).reshape(4, 8, 4, 4)
    np.testing.assert_allclose(mirrored, straight[:, -np.arange(8) % 8, :, ::-1], atol=atol)
    half_turn = gist(np.ascontiguousarray(pixels[::-1, ::-1])).reshape(4, 8, 4, 4)
    np.testing.assert_allclose(half_turn, straight[:, :, ::-1, ::-1], atol=atol)
    quarter_turn = gist(np.ascontiguousarray(np.rot90(pixels))).reshape(4, 8, 4, 4)
    np.testing.assert_allclose(quarter_turn, np.rot90(np.roll(straight, 4, axis=1), axes=(2, 3)), atol=atol)


def test_contrast_hardly_matters():
    """Evening out the contrast is what the prefilter is for."""
    gray = picture((128, 128))
    strong = gist(as_rgb(gray))
    weak = gist(as_rgb(gray // 2 + 20))
    assert np.corrcoef(strong, weak)[0, 1] > 0.95
    assert weak.mean() == pytest.approx(strong.mean(), rel=0.5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3), (8, 256), (256, 8)])
def test_odd_shapes_give_finite_numbers(shape):
    found = gist(np.random.default_rng(3).integers(0, 256, (*shape, 3), dtype=np.uint8))
    assert found.shape == (512,)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_contract(make_photo):
    descriptor = GistDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"gist": 512}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    pixels = as_rgb(picture((40, 30)))
    rows = descriptor.compute([make_photo(fit_256=pixels)] * 2)
    assert rows.shape == (2, 512)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[1], gist(pixels).astype(np.float32))
    assert GistDescriptor(size=128).key != descriptor.key
