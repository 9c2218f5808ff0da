"""Region words: learning, keeping, counting."""

import json

import numpy as np
import pytest
from safetensors.numpy import load, save

from tagloom.exceptions import DamagedStoreError, InvalidInputError, StoreError
from tagloom.features import Descriptor
from tagloom.features.words.blobs import BlobsDescriptor, RegionSampler, RegionVocabulary, learn_blobs
from tagloom.features.words.regions import REGION_COLUMNS, region_features, segment
from tagloom.features.words.vocabulary import LocalDescriptor, VisualVocabulary
from tagloom.images import Rendition

N_COLUMNS = len(REGION_COLUMNS)


@pytest.fixture(scope="module")
def pictures(smooth_pictures):
    return smooth_pictures(12, 84)


@pytest.fixture(scope="module")
def samples(pictures):
    return np.concatenate([RegionSampler().local_features(pixels)[1] for pixels in pictures])


@pytest.fixture(scope="module")
def vocabulary(samples):
    return learn_blobs(samples, 10, random_state=0, training={"n_photos": 12})


def test_sampler(pictures):
    sampler = RegionSampler(n_regions=5)
    assert isinstance(sampler, LocalDescriptor)
    assert sampler.rendition == Rendition("fit-256", "fit", 256)
    positions, features = sampler.local_features(pictures[0])
    labels = segment(pictures[0], n_regions=5)
    np.testing.assert_array_equal(features, region_features(pictures[0], labels))
    for region, (row, column) in enumerate(positions):
        rows, columns = np.nonzero(labels == region)
        assert (row, column) == pytest.approx((rows.mean() + 0.5, columns.mean() + 0.5), abs=1e-3)
    keys = {RegionSampler().key, sampler.key, RegionSampler(size=128).key}
    assert len(keys) == 3


def test_words_are_nearest_in_standardised_columns(samples, vocabulary):
    standard = (samples - samples.mean(axis=0, dtype=float)) / samples.std(axis=0, dtype=float)
    distances = ((standard[:, None] - vocabulary.visual.words) ** 2).sum(axis=2)
    np.testing.assert_array_equal(vocabulary.assign(samples), distances.argmin(axis=1))
    assert len(np.unique(vocabulary.assign(samples))) == 10


def test_units_of_columns_do_not_matter(samples, vocabulary):
    factors = 2.0 ** np.random.default_rng(0).integers(-5, 6, N_COLUMNS)
    scaled = learn_blobs(samples * factors, 10, random_state=0)
    np.testing.assert_array_equal(scaled.assign(samples * factors), vocabulary.assign(samples))


def test_a_column_without_spread_is_no_obstacle(samples):
    constant = samples.copy()
    constant[:, 4] = 0.1
    learned = learn_blobs(constant, 5, random_state=0)
    assert learned.scales[4] == 1
    assert np.isfinite(learned.visual.words).all()


def test_the_same_seed_gives_the_same_words(samples, vocabulary):
    assert learn_blobs(samples, 10, random_state=0) == vocabulary
    assert learn_blobs(samples, 10, random_state=1) != vocabulary
    assert vocabulary.training["seed"] == 0
    assert vocabulary.training["n_photos"] == 12


def test_kept_in_a_file(tmp_path, samples, vocabulary):
    path = tmp_path / "blobs.safetensors"
    vocabulary.save(path)
    again = RegionVocabulary.load(path)
    assert again == vocabulary
    assert hash(again) == hash(vocabulary)
    assert again.training == vocabulary.training
    np.testing.assert_array_equal(again.means, vocabulary.means)
    np.testing.assert_array_equal(again.scales, vocabulary.scales)
    np.testing.assert_array_equal(again.assign(samples), vocabulary.assign(samples))
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first


def test_digest_sees_words_and_standardisation(vocabulary):
    other_scales = RegionVocabulary(vocabulary.visual, vocabulary.means, vocabulary.scales * 2)
    other_means = RegionVocabulary(vocabulary.visual, vocabulary.means + 1, vocabulary.scales)
    other_words = RegionVocabulary(
        VisualVocabulary(vocabulary.visual.words[:9], vocabulary.source), vocabulary.means, vocabulary.scales
    )
    assert len({v.digest for v in (vocabulary, other_scales, other_means, other_words)}) == 4


def edit(path, change):
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    about = json.loads(header["__metadata__"]["tagloom"])
    change(about["training"])
    path.write_bytes(save(load(data), metadata={"tagloom": json.dumps(about)}))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda training: training.pop("standardisation"), "no vocabulary of regions"),
        (lambda training: training["standardisation"].pop("means"), "no vocabulary of regions"),
        (lambda training: training["standardisation"]["scales"].pop(), "no vocabulary of regions"),
        (lambda training: training["standardisation"]["means"].__setitem__(3, 7.0), "not what was written"),
    ],
)
def test_damaged_files(tmp_path, vocabulary, change, match):
    path = tmp_path / "blobs.safetensors"
    vocabulary.save(path)
    edit(path, change)
    with pytest.raises(DamagedStoreError, match=match):
        RegionVocabulary.load(path)


def test_files_of_others(tmp_path, vocabulary):
    with pytest.raises(StoreError):
        RegionVocabulary.load(tmp_path / "missing")
    path = tmp_path / "half"
    vocabulary.save(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DamagedStoreError):
        RegionVocabulary.load(path)


def test_counts(pictures, vocabulary, make_photo):
    descriptor = BlobsDescriptor(vocabulary)
    rows = descriptor.compute([make_photo(fit_256=pixels) for pixels in pictures])
    for row, pixels in zip(rows, pictures, strict=True):
        expected = np.zeros(10)
        for word in vocabulary.assign(region_features(pixels, segment(pixels))):
            expected[word] += 1
        np.testing.assert_array_equal(row, expected)
        assert row.sum() <= 8


@pytest.mark.parametrize("shape", [(1, 1), (1, 256), (256, 1), (256, 8), (20, 20)])
@pytest.mark.parametrize("constant", [True, False])
def test_pictures_of_all_kinds(shape, constant, vocabulary, make_photo):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    if constant:
        pixels[:] = 255
    (row,) = BlobsDescriptor(vocabulary).compute([make_photo(fit_256=pixels)])
    assert row.sum() == segment(pixels).max() + 1
    if constant:
        assert row.sum() == 1


def test_contract(vocabulary, samples):
    descriptor = BlobsDescriptor(vocabulary)
    assert isinstance(descriptor, Descriptor)
    assert descriptor.outputs == {"blobs": 10}
    assert descriptor.renditions == (Rendition("fit-256", "fit", 256),)
    assert descriptor.thread_safe
    assert BlobsDescriptor(learn_blobs(samples, 10, random_state=3)).key != descriptor.key
    rescaled = RegionVocabulary(vocabulary.visual, vocabulary.means, vocabulary.scales * 2)
    assert BlobsDescriptor(rescaled).key != descriptor.key


def test_a_vocabulary_of_other_regions(vocabulary):
    with pytest.raises(InvalidInputError, match="learned from"):
        BlobsDescriptor(vocabulary, n_regions=5)


def test_wrong_input(samples, vocabulary):
    with pytest.raises(InvalidInputError, match="33 numbers"):
        vocabulary.assign(samples[:, :5])
    with pytest.raises(InvalidInputError, match="samples must be"):
        learn_blobs(samples[0], 5)
    with pytest.raises(InvalidInputError, match="distinct samples"):
        learn_blobs(samples[:4], 5)
    with pytest.raises(InvalidInputError, match="scales must be above 0"):
        RegionVocabulary(vocabulary.visual, vocabulary.means, vocabulary.scales * 0)
    with pytest.raises(InvalidInputError, match="means must be 33"):
        RegionVocabulary(vocabulary.visual, vocabulary.means[:3], vocabulary.scales)
    with pytest.raises(InvalidInputError, match="n_regions"):
        RegionSampler(n_regions=0)
