"""Colour descriptors against pixel-by-pixel loops and published LAB values."""

import math

import numpy as np
import pytest
from skimage.color import rgb2lab

from tagloom.features import ColorDescriptor, Descriptor
from tagloom.features.classic.color import block_moments, lab_histogram, srgb_to_lab
from tagloom.images import Rendition


@pytest.mark.parametrize(
    ("rgb", "lab"),
    [
        ((255, 255, 255), (100, 0, 0)),
        ((0, 0, 0), (0, 0, 0)),
        ((119, 119, 119), (50.034, 0, 0)),
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 255, 0), (87.73, -86.18, 83.18)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
        ((255, 255, 0), (97.14, -21.55, 94.48)),
    ],
)
def test_known_colours(rgb, lab):
    np.testing.assert_allclose(srgb_to_lab(np.array(rgb, dtype=np.uint8)), lab, atol=0.02)


def literal_lab(rgb):
    """The formulas of IEC 61966-2-1 and CIE 1976 for one pixel."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in map(int, rgb))]
    matrix = [(0.412453, 0.357580, 0.180423), (0.212671, 0.715160, 0.072169), (0.019334, 0.119193, 0.950227)]
    f = []
    for row in matrix:
        t = sum(m * v for m, v in zip(row, linear, strict=True)) / sum(row)
        f.append(t ** (1 / 3) if t > (6 / 29) ** 3 else t / 3 * (29 / 6) ** 2 + 4 / 29)
    return [116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])]


def test_conversion_against_the_formulas():
    pixels = np.random.default_rng(0).integers(0, 256, (3000, 3), dtype=np.uint8)
    pixels[:3] = [[0, 1, 2], [10, 9, 11], [3, 3, 3]]
    np.testing.assert_allclose(srgb_to_lab(pixels), [literal_lab(rgb) for rgb in pixels], rtol=0, atol=2e-4)


def test_conversion_against_scikit_image():
    """Every fifth level of each channel; scikit-image rounds the white point to five digits, hence 0.01."""
    levels = np.arange(0, 256, 5, dtype=np.uint8)
    pixels = np.stack(np.meshgrid(levels, levels, levels), axis=-1)
    np.testing.assert_allclose(srgb_to_lab(pixels), rgb2lab(pixels), rtol=0, atol=0.01)


@pytest.mark.parametrize("n_pixels", [1, 2, 7, 63, 64, 65, 8191, 8193, 20_000])
def test_equal_colours_have_equal_numbers(n_pixels):
    """Neither vector registers nor chunks show: the last pixels are like the first."""
    color = np.array([200, 30, 61], dtype=np.uint8)
    lab = srgb_to_lab(np.tile(color, (n_pixels, 1)))
    np.testing.assert_array_equal(lab, np.tile(srgb_to_lab(color), (n_pixels, 1)))


def test_views_and_read_only_pixels():
    pixels = np.random.default_rng(3).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    pixels.flags.writeable = False
    descriptor = ColorDescriptor()
    for view in (pixels, pixels[::-1, ::2], pixels.transpose(1, 0, 2), pixels[..., ::-1]):
        np.testing.assert_array_equal(descriptor.describe(view), descriptor.describe(np.array(view, order="C")))


def literal_histogram(lab):
    counts = np.zeros((4, 4, 4))
    for row in lab:
        for lightness, a, b in row:
            counts[
                sum(lightness >= edge for edge in (25, 50, 75)),
                sum(a >= edge for edge in (-10, 5, 20)),
                sum(b >= edge for edge in (-10, 5, 20)),
            ] += 1
    return (counts / counts.sum()).ravel()


def literal_moments(lab):
    height, width = len(lab), len(lab[0])
    while height < 5:
        lab = [row for row in lab for _ in range(math.ceil(5 / height))]
        height = len(lab)
    while width < 5:
        lab = [[pixel for pixel in row for _ in range(math.ceil(5 / width))] for row in lab]
        width = len(lab[0])
    out = []
    for i in range(5):
        for j in range(5):
            inside = [
                lab[r][c] for r in range(height) for c in range(width) if (5 * r // height, 5 * c // width) == (i, j)
            ]
            for channel in range(3):
                values = [pixel[channel] for pixel in inside]
                mean = sum(values) / len(values)
                second = sum((v - mean) ** 2 for v in values) / len(values)
                third = sum((v - mean) ** 3 for v in values) / len(values)
                out += [mean, math.sqrt(second), math.copysign(abs(third) ** (1 / 3), third)]
    return out


@pytest.mark.parametrize("shape", [(13, 17), (5, 5), (1, 1), (1, 9), (3, 4), (24, 2), (6, 11)])
def test_against_loops(shape):
    pixels = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    lab = srgb_to_lab(pixels)
    np.testing.assert_allclose(lab_histogram(lab), literal_histogram(lab), atol=1e-15)
    # Two or three pixels in a block make third moments of rounding size, whose cube root is not small.
    np.testing.assert_allclose(block_moments(lab), literal_moments(lab.tolist()), atol=2e-4)


@pytest.mark.parametrize("seed", range(3))
def test_single_precision_against_double(smooth_pictures, seed):
    """The whole descriptor against the loops on the exact values: what single precision costs."""
    (pixels,) = smooth_pictures(1, 35, seed)
    exact = [[literal_lab(rgb) for rgb in row] for row in pixels]
    row = ColorDescriptor().describe(pixels)
    np.testing.assert_allclose(row[:64], literal_histogram(exact), rtol=0, atol=1e-12)
    difference = np.abs(row[64:] - literal_moments(exact)).reshape(-1, 3)
    assert difference[:, :2].max() < 1e-4  # mean, standard deviation
    assert difference[:, 2].max() < 0.01  # skewness


def test_skewness_of_two_colours_in_equal_parts():
    """The worst case of the cube root: the third moment is 0, and an error of 1e-4 may become cbrt(3 s² 1e-4)."""
    pixels = np.empty((20, 20, 3), dtype=np.uint8)
    pixels[::2], pixels[1::2] = (200, 30, 60), (20, 220, 90)
    moments = ColorDescriptor().describe(pixels)[64:].reshape(25, 3, 3)
    spread, skewness = moments[..., 1], moments[..., 2]
    assert spread.min() > 10
    assert (np.abs(skewness) <= np.cbrt(3e-4 * spread**2)).all()


def test_every_grey_is_in_the_grey_boxes():
    """All greys have a = b = 0 up to rounding; no rounding may move one to another box."""
    for level in range(256):
        lab = srgb_to_lab(np.full((4, 4, 3), level, dtype=np.uint8))
        assert np.abs(lab[..., 1:]).max() < 1e-4
        histogram = lab_histogram(lab)
        assert histogram.max() == 1
        assert np.unravel_index(histogram.argmax(), (4, 4, 4))[1:] == (1, 1)


def test_values_on_an_edge_belong_to_the_upper_bin():
    lab = np.array([[[25, -10, 20], [75, 5, 4.999], [50, 20, -10.001]]], dtype=np.float32)
    (boxes,) = np.nonzero(lab_histogram(lab))
    np.testing.assert_array_equal(boxes, [16 + 4 + 3, 32 + 12, 48 + 8 + 1])


def test_mirrored_and_turned_pictures():
    """Mirroring permutes the blocks where five divides the sides, and leaves the histogram alone."""
    pixels = np.random.default_rng(4).integers(0, 256, (25, 40, 3), dtype=np.uint8)
    row = ColorDescriptor().describe(pixels)
    blocks = row[64:].reshape(5, 5, 9)
    turns = ((pixels[:, ::-1], blocks[:, ::-1]), (pixels[::-1, ::-1], blocks[::-1, ::-1]))
    for turned, expected in (*turns, (pixels.transpose(1, 0, 2), blocks.transpose(1, 0, 2))):
        other = ColorDescriptor().describe(turned)
        np.testing.assert_array_equal(other[:64], row[:64])
        np.testing.assert_allclose(other[64:].reshape(5, 5, 9), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (1, 256), (256, 1), (8, 256), (2, 3)])
def test_odd_shapes_are_finite(shape):
    for pixels in (np.zeros((*shape, 3), np.uint8), np.random.default_rng(5).integers(0, 256, (*shape, 3), np.uint8)):
        row = ColorDescriptor().describe(pixels)
        assert np.isfinite(row).all()
        assert row[:64].sum() == pytest.approx(1, abs=1e-12)


def test_constant_picture():
    lab = srgb_to_lab(np.full((20, 30, 3), (200, 30, 60), dtype=np.uint8))
    moments = block_moments(lab).reshape(25, 3, 3)
    np.testing.assert_allclose(moments[..., 0], np.tile(lab[0, 0], (25, 1)), atol=1e-12)
    np.testing.assert_allclose(moments[..., 1:], 0, atol=1e-9)


def test_order_of_the_columns(make_photo):
    pixels = np.zeros((10, 10, 3), dtype=np.uint8)
    pixels[:2, 8:] = 255  # white in block row 0, block column 4
    row = ColorDescriptor().compute([make_photo(fit_256=pixels)])[0]
    moments = row[64:].reshape(5, 5, 3, 3)
    np.testing.assert_allclose(moments[0, 4], [[100, 0, 0], [0, 0, 0], [0, 0, 0]], atol=1e-4)
    assert np.abs(moments[..., 0, 0]).sum() == pytest.approx(100, abs=1e-4)
    np.testing.assert_allclose(row[:64].sum(), 1, atol=1e-6)
    np.testing.assert_allclose(row[[0 * 16 + 5, 3 * 16 + 5]], [0.96, 0.04], atol=1e-6)


def test_contract(make_photo):
    descriptor = ColorDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"color": 64, "moments": 225}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    rows = descriptor.compute([make_photo(fit_256=np.zeros((1, 1, 3), dtype=np.uint8))] * 2)
    assert rows.shape == (2, 289)
    assert rows.dtype == np.float32
    assert descriptor.compute([]).shape == (0, 289)
    assert ColorDescriptor(size=128).key != descriptor.key
