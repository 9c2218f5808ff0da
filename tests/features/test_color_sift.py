"""The channels of colour SIFT against pixel loops and scikit-image, and what leaves them alone."""

import math
import threading

import numpy as np
import pytest
from scipy import ndimage
from skimage.color import rgb2hsv

from tagloom.exceptions import InvalidInputError
from tagloom.features.words.sift import SIFT_FORMS, DenseSift, dense_sift, sift_gradients
from tagloom.features.words.vocabulary import LocalDescriptor


def picture(shape, seed=0, low=0, high=256):
    noise = np.random.default_rng(seed).standard_normal((*shape, 3))
    smooth = ndimage.gaussian_filter(noise, (1.5, 1.5, 0))
    smooth = (smooth - smooth.min()) / np.ptp(smooth)
    return (low + smooth * (high - 1 - low)).round().astype(np.uint8)


def literal_channels(r, g, b, form):
    r, g, b = float(r), float(g), float(b)
    total = r + g + b
    o1, o2, o3 = (r - g) / math.sqrt(2), (r + g - 2 * b) / math.sqrt(6), total / math.sqrt(3)
    return {
        "sift": [0.299 * r + 0.587 * g + 0.114 * b],
        "rgbsift": [r, g, b],
        "rgsift": [255 * (r + 5) / (total + 15), 255 * (g + 5) / (total + 15)],
        "opponentsift": [o1, o2, o3],
        "csift": [255 * o1 / (o3 + 5 * math.sqrt(3)), 255 * o2 / (o3 + 5 * math.sqrt(3)), o3],
    }[form]


@pytest.mark.parametrize("form", ["sift", "rgbsift", "rgsift", "csift", "opponentsift"])
def test_planes_against_a_loop(form):
    pixels = picture((21, 26))
    channels = np.array([[literal_channels(*pixel, form) for pixel in row] for row in pixels])
    gradients = sift_gradients(pixels, form)
    assert len(gradients) == channels.shape[2] == SIFT_FORMS[form]
    for (across, down), plane in zip(gradients, np.moveaxis(channels, 2, 0), strict=True):
        padded = np.pad(plane, 1, mode="edge")
        np.testing.assert_allclose(across, (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2, atol=2e-4)
        np.testing.assert_allclose(down, (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2, atol=2e-4)
    expected = dense_sift(channels)[1]
    np.testing.assert_allclose(DenseSift(form).local_features(pixels)[1], expected, atol=1e-3)


def test_saturation_and_value_of_scikit_image():
    pixels = picture((20, 24), seed=1, low=90)
    hsv = rgb2hsv(pixels)
    value = 255 * hsv[..., 2]
    planes = (255 * hsv[..., 1] * value / (value + 5), value)
    for (across, down), plane in zip(sift_gradients(pixels, "hsvsift")[1:], planes, strict=True):
        np.testing.assert_allclose(down, np.gradient(np.pad(plane, 1, mode="edge"), axis=0)[1:-1, 1:-1], atol=2e-3)
        np.testing.assert_allclose(across, np.gradient(np.pad(plane, 1, mode="edge"), axis=1)[1:-1, 1:-1], atol=2e-3)


def test_hue_gradient_against_a_loop():
    pixels = picture((9, 11), seed=2)

    def colour_vector(r, g, b):
        r, g, b = float(r), float(g), float(b)
        angle = math.atan2(math.sqrt(3) * (g - b), 2 * r - g - b)
        saturation = (max(r, g, b) - min(r, g, b)) / (max(r, g, b) + 5)
        return angle, 127.5 * saturation * math.cos(angle), 127.5 * saturation * math.sin(angle)

    vectors = np.array(
        [[colour_vector(*pixel) for pixel in row] for row in np.pad(pixels, ((1, 1), (1, 1), (0, 0)), "edge")]
    )
    across, down = sift_gradients(pixels, "hsvsift")[0]
    for row in range(9):
        for column in range(11):
            angle = vectors[row + 1, column + 1, 0]
            for found, change in (
                (across, vectors[row + 1, column + 2] - vectors[row + 1, column]),
                (down, vectors[row + 2, column + 1] - vectors[row, column + 1]),
            ):
                expected = (math.cos(angle) * change[2] - math.sin(angle) * change[1]) / 2
                assert found[row, column] == pytest.approx(expected, abs=1e-3)


def test_hue_is_a_circle():
    # Around red: the hue of scikit-image jumps from 1 to 0 there, the gradient does not.
    angles = np.linspace(-0.3, 0.3, 40)
    offsets = np.stack([np.cos(angles), np.cos(angles - 2 * np.pi / 3), np.cos(angles + 2 * np.pi / 3)], axis=-1)
    pixels = np.tile((128 + 100 * offsets).round().astype(np.uint8), (20, 1, 1))
    hue = rgb2hsv(pixels)[10, :, 0]
    assert np.abs(np.diff(hue)).max() > 0.9
    across, down = sift_gradients(pixels, "hsvsift")[0]
    assert not down.any()
    inner = across[10, 1:-1]
    assert (inner > 0).all()
    assert inner.max() < 4 * inner.mean()


def test_greys_have_no_colour():
    grey = np.repeat(picture((30, 33), seed=4)[..., :1], 3, axis=2)
    for form, coloured in (("rgsift", [0, 1]), ("hsvsift", [0, 1]), ("csift", [0, 1]), ("opponentsift", [0, 1])):
        numbers = DenseSift(form).local_features(grey)[1].reshape(-1, SIFT_FORMS[form], 128)
        assert not numbers[:, coloured].any(), form
        if SIFT_FORMS[form] == 3:
            np.testing.assert_allclose(numbers[:, 2], DenseSift("sift").local_features(grey)[1], atol=1e-3)


def test_chromatic_channels_do_not_see_a_shadow():
    # Half the light, evenly or fading: no change of chromaticity but for the five added levels.
    pixels = picture((48, 48), seed=5, low=120) // 2 * 2
    shadow = pixels // 2
    fading = np.linspace(1, 0.5, 48)[None, :, None]
    graded = (pixels * fading).round().astype(np.uint8)
    for form in ("rgsift", "csift"):
        local = DenseSift(form)
        lit = local.local_features(pixels)[1][:, :256]
        for dark in (shadow, graded):
            cosine = (lit * local.local_features(dark)[1][:, :256]).sum(axis=1) / 2
            assert cosine.mean() > 0.97, form


def test_black_is_harmless():
    pixels = np.zeros((20, 20, 3), dtype=np.uint8)
    pixels[10:, 10:] = (255, 0, 0)
    for form, n_channels in SIFT_FORMS.items():
        descriptors = DenseSift(form).local_features(pixels)[1]
        assert descriptors.shape[1] == DenseSift(form).n_columns == 128 * n_channels
        assert np.isfinite(descriptors).all()
        assert descriptors.any()


@pytest.mark.parametrize("form", SIFT_FORMS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (8, 256), (256, 8), (20, 17)])
def test_odd_shapes_and_constant_pictures(form, shape):
    local = DenseSift(form)
    for colour in ((0, 0, 0), (255, 255, 255), (200, 3, 77)):
        positions, descriptors = local.local_features(np.tile(np.uint8(colour), (*shape, 1)))
        assert len(positions) == len(descriptors) >= 1
        assert not descriptors.any()
    noise = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    positions, descriptors = local.local_features(noise)
    assert np.isfinite(descriptors).all()
    assert (positions <= shape).all()


def test_the_same_in_many_threads():
    pixels = [picture((40 + n, 50), seed=n) for n in range(8)]
    local = DenseSift("hsvsift")
    expected = [local.local_features(one)[1] for one in pixels]
    found = [None] * 8

    def work(n):
        for _ in range(5):
            found[n] = local.local_features(pixels[n])[1]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_key_names_everything_the_numbers_depend_on():
    local = DenseSift("csift")
    assert isinstance(local, LocalDescriptor)
    assert (local.rendition.name, local.rendition.kind, local.rendition.size) == ("fit-256", "fit", 256)
    others = [
        DenseSift("sift"),
        DenseSift("csift", size=128),
        DenseSift("csift", step=4),
        DenseSift("csift", patch=32),
        DenseSift("csift", min_contrast=0.5),
    ]
    assert len({local.key, *(other.key for other in others)}) == 6
    assert DenseSift("csift").key == local.key
    assert local.key in repr(local)


def test_unknown_forms_and_grids():
    with pytest.raises(InvalidInputError, match="one of sift, rgbsift"):
        DenseSift("surf")
    with pytest.raises(InvalidInputError, match="one of sift, rgbsift"):
        sift_gradients(np.zeros((4, 4, 3), dtype=np.uint8), "surf")
    with pytest.raises(InvalidInputError, match="multiple of 4"):
        DenseSift("sift", patch=10)
