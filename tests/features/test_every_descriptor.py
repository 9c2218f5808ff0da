"""What must hold for every descriptor, whatever it computes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.features import available_descriptors, get_descriptor
from tagloom.features.words.blobs import BlobsDescriptor, RegionSampler, learn_blobs
from tagloom.features.words.sift import SIFT_FORMS, DenseSift
from tagloom.features.words.vocabulary import learn_vocabulary
from tagloom.features.words.words import WordsDescriptor
from tagloom.images import DecodedPhoto

SHAPES = [(1, 1), (1, 256), (256, 1), (2, 3), (8, 256), (17, 13), (128, 192), (171, 256)]


def _learned(name):
    rng = np.random.default_rng(0)
    if name == "blobs":
        local = RegionSampler()
        rows = np.concatenate([local.local_features(_picture((60, 80), seed))[1] for seed in range(8)])
        return BlobsDescriptor(learn_blobs(rows, 5, source=local.key, random_state=0))
    local = DenseSift(name.removeprefix("words-"))
    vocabulary = learn_vocabulary(rng.random((50, local.n_columns)), 8, source=local.key, random_state=0)
    return WordsDescriptor(vocabulary, local=local, pyramid="three_level")


def _make(name):
    return _learned(name) if name.startswith(("words", "blobs")) else get_descriptor(name)


NAMES = [*available_descriptors(), *(f"words-{form}" for form in SIFT_FORMS), "blobs"]


@pytest.fixture(scope="module", params=NAMES)
def descriptor(request):
    if request.param == "faces":
        request.getfixturevalue("face_detector")
    return _make(request.param)


def _picture(shape, seed=0):
    """Return a picture with coarse and fine structure."""
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(0, 255, (6, 8, 3))
    rows, columns = (np.arange(size) * count // size for size, count in zip(shape, (6, 8), strict=True))
    return np.clip(coarse[rows[:, None], columns] + rng.normal(0, 15, (*shape, 3)), 0, 255).astype(np.uint8)


def _photo(descriptor, pixels):
    return DecodedPhoto(PhotoRecord(b"", Verdict.OK), {one.name: pixels for one in descriptor.renditions})


def _compute(descriptor, *pictures):
    return descriptor.compute([_photo(descriptor, pixels) for pixels in pictures])


def test_rows_are_finite_float32_of_the_size_promised_for_pictures_of_any_shape(descriptor):
    n_columns = sum(descriptor.outputs.values())
    pictures = [_picture(shape) for shape in SHAPES]
    pictures += [np.full((30, 40, 3), value, dtype=np.uint8) for value in (0, 128, 255)]
    pictures.append(np.repeat(_picture((64, 96))[..., :1], 3, axis=2))  # grey
    rows = _compute(descriptor, *pictures)
    assert rows.shape == (len(pictures), n_columns)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()


def test_rows_do_not_depend_on_their_company_or_on_where_pixels_lie_in_memory(descriptor):
    pictures = [_picture((96, 128), seed) for seed in range(3)]
    together = _compute(descriptor, *pictures)
    for place, pixels in enumerate(pictures):
        for offset in range(0, 64, 13):
            buffer = np.empty(pixels.size + 64, dtype=np.uint8)
            moved = buffer[offset : offset + pixels.size].reshape(pixels.shape)
            moved[:] = pixels
            ballast = [np.empty(1000 + 8 * offset + place) for _ in range(offset % 5)]
            np.testing.assert_array_equal(_compute(descriptor, moved)[0], together[place])
            del ballast


def test_pixels_are_left_alone(descriptor):
    pixels = _picture((64, 80))
    before = pixels.copy()
    pixels.setflags(write=False)
    _compute(descriptor, pixels)
    np.testing.assert_array_equal(pixels, before)


def test_threads_give_the_same_bytes(descriptor):
    pictures = [_picture((60 + seed, 80), seed) for seed in range(6)]
    serial = _compute(descriptor, *pictures)
    with ThreadPoolExecutor(3) as executor:
        rows = list(executor.map(lambda pixels: _compute(descriptor, pixels)[0], pictures))
    np.testing.assert_array_equal(serial, np.stack(rows))


def test_the_key_says_who_made_the_row(descriptor):
    assert descriptor.key.startswith(f"{descriptor.name}-v{descriptor.version}-")


def test_no_two_descriptors_give_a_group_of_the_same_name():
    groups = [group for name in available_descriptors() for group in get_descriptor(name).outputs]
    assert len(groups) == len(set(groups))
