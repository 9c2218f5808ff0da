"""RGB histogram against a pixel-by-pixel loop."""

import numpy as np
import pytest

from tagloom.features import Descriptor
from tagloom.features.classic.rgb import RgbDescriptor, rgb_histogram
from tagloom.images import Rendition


def literal_histogram(pixels):
    counts = [0] * 256
    for row in pixels.tolist():
        for red, green, blue in row:
            counts[32 * (red // 32) + 4 * (green // 32) + blue // 64] += 1
    return [count / (pixels.shape[0] * pixels.shape[1]) for count in counts]


@pytest.mark.parametrize("shape", [(1, 1), (1, 256), (256, 1), (8, 256), (37, 53)])
def test_against_a_loop(shape):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    pixels.flags.writeable = False
    np.testing.assert_allclose(rgb_histogram(pixels), literal_histogram(pixels), rtol=0, atol=1e-15)
    view = pixels[::-1, :, ::-1]
    np.testing.assert_allclose(rgb_histogram(view), literal_histogram(view), rtol=0, atol=1e-15)


def test_every_level_of_every_channel():
    """The edges of the bins are exact."""
    for channel in range(3):
        for level in range(256):
            pixels = np.zeros((1, 1, 3), dtype=np.uint8)
            pixels[..., channel] = level
            assert rgb_histogram(pixels)[[32, 4, 1][channel] * (level // [32, 32, 64][channel])] == 1


def test_pixels_may_change_places():
    pixels = np.random.default_rng(1).integers(0, 256, (12, 10, 3), dtype=np.uint8)
    shuffled = np.random.default_rng(2).permutation(pixels.reshape(-1, 3)).reshape(6, 20, 3)
    np.testing.assert_array_equal(rgb_histogram(shuffled), rgb_histogram(pixels))
    np.testing.assert_array_equal(rgb_histogram(pixels.repeat(2, axis=0)), rgb_histogram(pixels))


def test_contract(make_photo):
    descriptor = RgbDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"rgb": 256}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    rows = descriptor.compute([make_photo(fit_256=np.full((3, 4, 3), (255, 128, 63), dtype=np.uint8))])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(np.nonzero(rows)[1], [7 * 32 + 4 * 4 + 0])
    assert rows.sum() == 1
    assert descriptor.compute([]).shape == (0, 256)
    assert RgbDescriptor(size=128).key != descriptor.key
