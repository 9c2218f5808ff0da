"""Wavelet texture against PyWavelets, and pictures whose bands are known."""

import numpy as np
import pytest
import pywt

from tagloom.features import Descriptor
from tagloom.features.classic.wavelet import WaveletDescriptor, wavelet_texture
from tagloom.images import Rendition

N_PYRAMID = 24


def children(band):
    """LL, LH, HL, HH, halved: the filters of PyWavelets double the picture's brightness, ours keep it."""
    low, details = pywt.dwt2(band, "db2", mode="symmetric")
    return [child / 2 for child in (low, *details)]


def literal_texture(pixels):
    luma = pixels.astype(float) @ [0.299, 0.587, 0.114]
    pyramid = pywt.wavedec2(luma, "db2", mode="symmetric", level=4)
    bands = [band / 2.0**level for level in range(1, 5) for band in pyramid[-level]]
    first = children(luma)
    second = [children(band) for band in first[:3]]
    third = [children(band) for four in second for band in four[:3]]
    bands += [band for four in (first, *second, *third) for band in four]
    return np.array([[np.abs(band).mean(), np.abs(band).std()] for band in bands]).ravel()


@pytest.mark.filterwarnings("ignore:Level value of:UserWarning")
@pytest.mark.parametrize(
    "shape", [(48, 64), (33, 47), (16, 16), (1, 1), (1, 2), (2, 3), (1, 40), (40, 1), (5, 3), (8, 256)]
)
def test_against_pywavelets(shape):
    pixels = np.random.default_rng(2).integers(0, 256, (*shape, 3), dtype=np.uint8)
    numbers = wavelet_texture(pixels)
    assert numbers.shape == (128,)
    np.testing.assert_allclose(numbers, literal_texture(pixels), rtol=1e-5, atol=2e-4)


@pytest.mark.filterwarnings("ignore:Level value of:UserWarning")
def test_against_pywavelets_on_a_smooth_picture(smooth_pictures):
    pixels = smooth_pictures(1, 90)[0, :61]
    np.testing.assert_allclose(wavelet_texture(pixels), literal_texture(pixels), rtol=1e-5, atol=2e-4)


@pytest.mark.parametrize("level", [0, 100, 255])
@pytest.mark.parametrize("shape", [(1, 1), (17, 40)])
def test_a_constant_picture_is_its_own_low_pass_and_nothing_else(shape, level):
    numbers = wavelet_texture(np.full((*shape, 3), level, dtype=np.uint8))
    expected = np.zeros(128)
    # LL of the first level, LL of LL, LL of LL of LL: the first band of each level of the tree.
    expected[[N_PYRAMID, N_PYRAMID + 8, N_PYRAMID + 8 + 24]] = level
    np.testing.assert_allclose(numbers, expected, atol=1e-3)


def test_pyramid_bands_are_in_the_tree_too(smooth_pictures):
    numbers = wavelet_texture(smooth_pictures(1, 50)[0])
    for level, start in enumerate([0, 8, 8 + 24]):
        first = N_PYRAMID + start + 2
        np.testing.assert_array_equal(numbers[6 * level : 6 * level + 6], numbers[first : first + 6])


def test_a_gradient_of_brightness_has_no_texture_inside():
    ramp = np.repeat(np.arange(0, 250, 2, dtype=np.uint8)[None, :, None], 3, axis=2).repeat(125, axis=0)
    lh, hl, hh = wavelet_texture(ramp)[:6:2]
    # Across, only the border is seen; down, nothing changes.
    assert hl < 0.05
    assert max(lh, hh) < 1e-4


def test_stripes_are_in_the_band_of_their_orientation():
    upright = np.zeros((64, 64, 3), dtype=np.uint8)
    upright[:, ::2] = 255
    lh, hl, hh = wavelet_texture(upright)[:6:2]
    assert hl > 50
    assert max(lh, hh) < 1e-3
    turned = wavelet_texture(np.ascontiguousarray(upright.transpose(1, 0, 2)))
    np.testing.assert_allclose(turned[:6:2], [hl, lh, hh], atol=1e-3)


def test_transposing_swaps_the_orientations(smooth_pictures):
    pixels = smooth_pictures(1, 60)[0, :45]
    numbers = wavelet_texture(pixels).reshape(64, 2)
    turned = wavelet_texture(np.ascontiguousarray(pixels.transpose(1, 0, 2))).reshape(64, 2)
    swap = np.array([0, 2, 1, 3])
    pyramid = [3 * level + band for level in range(4) for band in (1, 0, 2)]
    first = 12 + swap
    second = [16 + 4 * parent + child for parent in swap[:3] for child in swap]
    third = [28 + 4 * (3 * a + b) + child for a in swap[:3] for b in swap[:3] for child in swap]
    np.testing.assert_allclose(turned, numbers[[*pyramid, *first, *second, *third]], rtol=1e-4, atol=1e-3)


def test_brightness_moves_the_low_pass_only(smooth_pictures):
    pixels = smooth_pictures(1, 40)[0] // 2
    difference = wavelet_texture(pixels + np.uint8(100)) - wavelet_texture(pixels)
    expected = np.zeros(128)
    expected[[N_PYRAMID, N_PYRAMID + 8, N_PYRAMID + 8 + 24]] = 100
    np.testing.assert_allclose(difference, expected, atol=2e-3)


def test_contract(make_photo):
    descriptor = WaveletDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"wavelet": 128}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    rows = descriptor.compute([make_photo(fit_256=np.zeros((3, 1, 3), dtype=np.uint8))])
    assert rows.shape == (1, 128)
    assert rows.dtype == np.float32
    assert WaveletDescriptor(size=128).key != descriptor.key
