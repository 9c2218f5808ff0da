"""Autocorrelogram against pixel-by-pixel loops in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from skimage.color import rgb2hsv

from tagloom.features import Descriptor
from tagloom.features.classic.correlogram import CorrelogramDescriptor, autocorrelogram, quantize_hsv
from tagloom.images import Rendition

HUE_EDGES = (22, 45, 70, 155, 186, 278, 330)
DISTANCES = (1, 3, 5, 7)


def literal_hsv(rgb):
    """Hue in degrees, saturation and value of one pixel, as fractions."""
    red, green, blue = (Fraction(int(v), 255) for v in rgb)
    largest, smallest = max(red, green, blue), min(red, green, blue)
    chroma = largest - smallest
    if chroma == 0:
        return Fraction(0), Fraction(0), largest
    if largest == red:
        hue = (green - blue) / chroma % 6
    elif largest == green:
        hue = (blue - red) / chroma + 2
    else:
        hue = (red - green) / chroma + 4
    return 60 * hue, chroma / largest, largest


def literal_color(hue, saturation, value):
    """The table of `quantize_hsv`, read line by line."""
    if value < Fraction(2, 10):
        return 0
    if saturation < Fraction(2, 10):
        return 7 if value >= Fraction(8, 10) else 1 + (10 * value - 2) // 1
    step = 0 if hue > 330 or hue <= 22 else sum(hue > edge for edge in HUE_EDGES)
    return 8 + 4 * step + 2 * (saturation > Fraction(65, 100)) + (value > Fraction(7, 10))


def colors_on_edges():
    """Colours exactly on the edges of hue, saturation and value, and what is one level to their sides."""
    colors = [(largest, smallest, smallest) for largest in range(40, 256) for smallest in (0, largest * 4 // 5)]
    colors += [(largest, largest * 7 // 20, largest * 7 // 20) for largest in range(60, 256, 20)]
    for edge in HUE_EDGES:
        for chroma in range(1, 241):
            if edge % 60 * chroma % 60 == 0:
                rising = edge % 60 * chroma // 60
                low, up, down, high = 15, 15 + rising, 15 + chroma - rising, 15 + chroma
                sextants = [(high, up, low), (down, high, low), (low, high, up)]
                sextants += [(low, down, high), (up, low, high), (high, low, down)]
                colors.append(sextants[edge // 60])
    steps = np.concatenate([np.zeros((1, 3), int), np.eye(3, dtype=int), -np.eye(3, dtype=int)])
    return np.clip(np.array(colors)[:, None] + steps, 0, 255).reshape(-1, 3)


def test_colours_against_fractions():
    pixels = np.concatenate([colors_on_edges(), np.random.default_rng(0).integers(0, 256, (4000, 3))]).astype(np.uint8)
    hsv = [literal_hsv(rgb) for rgb in pixels]
    hues, saturations, values = (set(one) for one in zip(*hsv, strict=True))
    assert hues >= set(HUE_EDGES)
    assert saturations >= {Fraction(2, 10), Fraction(65, 100)}
    assert values >= {Fraction(tenth, 10) for tenth in (2, 4, 6, 8)}
    expected = [literal_color(*one) for one in hsv]
    assert set(expected) == set(range(36))
    np.testing.assert_array_equal(quantize_hsv(pixels[None]), [expected])


def test_colours_against_scikit_image():
    """Every fifth level of each channel, except what is on an edge up to rounding."""
    levels = np.arange(0, 256, 5, dtype=np.uint8)
    pixels = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(levels.size, -1, 3)
    hue, saturation, value = np.moveaxis(rgb2hsv(pixels), -1, 0)
    hue *= 360
    colors = 8 + 4 * (np.searchsorted(HUE_EDGES, hue) % 7) + 2 * (saturation > 0.65) + (value > 0.7)
    colors = np.where(saturation < 0.2, np.minimum(7, np.floor(10 * value + 1e-9) - 1), colors)
    colors = np.where(value < 0.2 - 1e-9, 0, colors)
    clear = (np.abs(hue[..., None] - HUE_EDGES) > 1e-6).all(axis=-1)
    clear &= (np.abs(saturation[..., None] - (0.2, 0.65)) > 1e-9).all(axis=-1)
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(quantize_hsv(pixels)[clear], colors[clear])


@pytest.mark.parametrize(
    ("rgb", "color"),
    [
        ((0, 0, 0), 0),
        ((50, 0, 0), 0),
        ((51, 51, 51), 1),
        ((128, 128, 128), 4),
        ((204, 204, 204), 7),
        ((255, 255, 255), 7),
        ((255, 0, 0), 11),
        ((255, 0, 1), 11),
        ((255, 255, 0), 19),
        ((0, 100, 0), 22),
        ((0, 0, 255), 31),
        ((255, 0, 255), 35),
    ],
)
def test_known_colours(rgb, color):
    assert quantize_hsv(np.full((2, 3, 3), rgb, dtype=np.uint8)).tolist() == [[color] * 3] * 2


def literal_autocorrelogram(colors):
    height, width = colors.shape
    alike, inside = np.zeros((36, 4)), np.zeros((36, 4))
    for y, x in np.ndindex(height, width):
        for column, distance in enumerate(DISTANCES):
            for down in range(-distance, distance + 1):
                for across in range(-distance, distance + 1):
                    on_ring = max(abs(down), abs(across)) == distance
                    if on_ring and 0 <= y + down < height and 0 <= x + across < width:
                        inside[colors[y, x], column] += 1
                        alike[colors[y, x], column] += colors[y, x] == colors[y + down, x + across]
    return np.divide(alike, inside, out=np.zeros((36, 4)), where=inside > 0).ravel()


@pytest.mark.parametrize("shape", [(1, 1), (1, 20), (20, 1), (2, 2), (7, 9), (8, 8), (14, 15), (15, 16), (17, 13)])
def test_against_a_loop(shape):
    generator = np.random.default_rng(1)
    for colors in (generator.integers(0, 36, shape, np.uint8), generator.choice(np.uint8([0, 9, 35]), shape)):
        np.testing.assert_allclose(autocorrelogram(colors), literal_autocorrelogram(colors), rtol=0, atol=1e-15)


def test_constant_picture():
    """Each neighbour of a grey pixel is grey; colours that are not there have 0."""
    row = CorrelogramDescriptor().describe(np.full((10, 12, 3), 128, dtype=np.uint8)).reshape(36, 4)
    np.testing.assert_array_equal(row[4], 1)
    assert row.sum() == 4


def test_chessboard():
    """By hand: at an odd distance, every second pixel of the ring has the colour of the middle."""
    colors = np.indices((60, 60)).sum(axis=0).astype(np.uint8) % 2
    rows = autocorrelogram(colors).reshape(36, 4)
    np.testing.assert_allclose(rows[:2], 0.5, atol=0.02)
    stripes = np.indices((60, 60))[1].astype(np.uint8) % 2
    # Two of the 8 neighbours at distance 1 are in the same stripe; of 24 at distance 3, 2 * 3 in the rows above and
    # below (and none in the columns three to the side).
    np.testing.assert_allclose(autocorrelogram(stripes).reshape(36, 4)[0, :2], [2 / 8, 6 / 24], atol=0.03)


@pytest.mark.parametrize("shape", [(1, 256), (256, 1), (8, 256), (30, 41)])
def test_turned_and_mirrored_pictures_are_the_same(shape, smooth_pictures):
    (picture,) = smooth_pictures(1, 256)
    pixels = picture[: shape[0], : shape[1]]
    pixels.flags.writeable = False
    row = CorrelogramDescriptor().describe(pixels)
    assert np.isfinite(row).all()
    assert 0 <= row.min() <= row.max() <= 1
    for other in (pixels[::-1], pixels[:, ::-1], pixels[::-1, ::-1], pixels.transpose(1, 0, 2)):
        np.testing.assert_array_equal(CorrelogramDescriptor().describe(other), row)


def test_order_of_the_columns():
    """Black with one white pixel per 3 × 3 cell: white meets 8 of 24 at distance 3, none at the others."""
    pixels = np.zeros((90, 90, 3), dtype=np.uint8)
    pixels[1::3, 1::3] = 255
    row = CorrelogramDescriptor().describe(pixels)
    assert row[4 * 7 + 0] == row[4 * 7 + 2] == row[4 * 7 + 3] == 0
    assert row[4 * 7 + 1] == pytest.approx(8 / 24, abs=0.01)
    assert (row[[0, 1, 2, 3]] > 0.8).all()


def test_contract(make_photo):
    descriptor = CorrelogramDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"correlogram": 144}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    rows = descriptor.compute([make_photo(fit_256=np.zeros((1, 1, 3), dtype=np.uint8))] * 2)
    assert rows.shape == (2, 144)
    assert rows.dtype == np.float32
    assert not rows.any()  # one pixel has no neighbours
    assert descriptor.compute([]).shape == (0, 144)
    assert CorrelogramDescriptor(size=128).key != descriptor.key
