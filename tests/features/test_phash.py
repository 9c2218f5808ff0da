"""Perceptual hashes against a cosine transform of scipy on averages of scikit-image, and on photos saved again."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.fft import dctn
from skimage.measure import block_reduce

from tagloom.features import Descriptor
from tagloom.features.classic.phash import PerceptualHashDescriptor, perceptual_hash
from tagloom.images import Rendition


def literal_hash(pixels):
    """The definition on pictures whose sides are multiples of 32, where averaging over areas is averaging of blocks."""
    luma = np.rint(pixels @ np.array([0.299, 0.587, 0.114]))
    small = block_reduce(luma, (pixels.shape[0] // 32, pixels.shape[1] // 32), np.mean)
    coefficients = dctn(small, norm="ortho")[1:9, 1:9]
    middle = np.sort(coefficients.ravel())[31:33].mean()
    return np.array([value > middle for value in coefficients.ravel()])


@pytest.mark.parametrize("shape", [(32, 32), (64, 96), (256, 192)])
def test_against_scipy(shape):
    for seed in range(5):
        pixels = np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)
        # OpenCV adds luma up in fixed point, so that a level may differ by one: at most a pair of bits flips.
        assert (perceptual_hash(pixels) != literal_hash(pixels)).sum() <= 2


def test_against_scipy_exactly_on_grey():
    for seed in range(10):
        grey = np.random.default_rng(seed).integers(0, 256, (64, 64, 1), dtype=np.uint8).repeat(3, axis=2)
        np.testing.assert_array_equal(perceptual_hash(grey), literal_hash(grey))


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (3, 5), (256, 8), (8, 256), (100, 77)])
def test_constant_pictures_have_no_bit(shape):
    for level in (0, 1, 127, 200, 255):
        assert not perceptual_hash(np.full((*shape, 3), level, dtype=np.uint8)).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (3, 5), (256, 8), (8, 256), (100, 77)])
def test_any_shape_gives_64_bits(shape):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    bits = perceptual_hash(pixels)
    assert bits.shape == (64,)
    assert bits.dtype == bool
    assert bits.sum() <= 32


def test_a_level_or_upright_gradient_has_no_bit():
    ramp = np.linspace(0, 255, 64).astype(np.uint8)
    for grey in (np.tile(ramp, (64, 1)), np.tile(ramp[:, None], (1, 64))):
        assert not perceptual_hash(grey[..., None].repeat(3, axis=2)).any()


def test_the_order_of_the_bits():
    rows, columns = np.mgrid[:32, :32] * 2 + 1
    wave = np.cos(np.pi * 3 * rows / 64) * np.cos(np.pi * 5 * columns / 64)
    bits = perceptual_hash(np.rint(128 + 100 * wave).astype(np.uint8)[..., None].repeat(3, axis=2))
    # The rounding to whole levels spreads over the other bits, whose median is near zero.
    assert bits[8 * 2 + 4]
    negative = perceptual_hash(np.rint(128 - 100 * wave).astype(np.uint8)[..., None].repeat(3, axis=2))
    assert not negative[8 * 2 + 4]


def test_a_negative_picture_has_the_opposite_bits():
    pixels = np.random.default_rng(4).integers(0, 256, (64, 64, 1), dtype=np.uint8).repeat(3, axis=2)
    np.testing.assert_array_equal(perceptual_hash(255 - pixels), ~perceptual_hash(pixels))


def test_a_turned_picture_has_the_transposed_bits():
    pixels = np.random.default_rng(5).integers(0, 256, (64, 64, 1), dtype=np.uint8).repeat(3, axis=2)
    bits = perceptual_hash(pixels).reshape(8, 8)
    np.testing.assert_array_equal(perceptual_hash(pixels.transpose(1, 0, 2)).reshape(8, 8), bits.T)


def _fit(image):
    factor = min(1, 256 / max(image.size))
    size = [max(1, round(side * factor)) for side in image.size]
    return np.asarray(image.resize(size, Image.Resampling.BICUBIC))


def _recompressed(image):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=30)
    return Image.open(buffer).convert("RGB")


CHANGES = {
    "quality 30": _recompressed,
    "half size": lambda image: image.resize((image.width // 2, image.height // 2), Image.Resampling.BICUBIC),
    "brighter": lambda image: image.point(lambda value: min(255, round(1.1 * value))),
    "darker": lambda image: image.point(lambda value: round(0.9 * value)),
}


@pytest.fixture(scope="module")
def photos(shared_data):
    paths = sorted((shared_data / "coco_free" / "images").glob("*.jpg"))[:40]
    return [Image.open(path).convert("RGB") for path in paths]


@pytest.mark.medium
@pytest.mark.parametrize("change", CHANGES)
def test_changed_photos_differ_by_a_few_bits(photos, change):
    differences = [
        (perceptual_hash(_fit(CHANGES[change](photo))) != perceptual_hash(_fit(photo))).sum() for photo in photos
    ]
    assert max(differences) <= 8
    assert np.mean(differences) <= 1


@pytest.mark.medium
def test_different_photos_differ_in_half_of_the_bits(photos):
    bits = np.array([perceptual_hash(_fit(photo)) for photo in photos])
    distances = (bits[:, None] != bits).sum(axis=2)[np.triu_indices(len(bits), 1)]
    assert distances.min() > 12
    assert distances.mean() == pytest.approx(32, abs=1)


def test_descriptor(make_photo):
    descriptor = PerceptualHashDescriptor()
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"phash": 64}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    pixels = np.random.default_rng(1).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    rows = descriptor.compute([make_photo(fit_256=pixels)])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[0], perceptual_hash(pixels))
    assert descriptor.key != PerceptualHashDescriptor(size=128).key
