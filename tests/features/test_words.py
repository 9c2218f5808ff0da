"""Bags of visual words: counts against a loop, the order of cells, and the descriptor in the engine."""

import numpy as np
import pytest
from PIL import Image

from tagloom.exceptions import InvalidInputError
from tagloom.features import Descriptor, extract
from tagloom.features.words.sift import SIFT_FORMS, DenseSift
from tagloom.features.words.vocabulary import VisualVocabulary, learn_vocabulary
from tagloom.features.words.words import PYRAMIDS, WordsDescriptor, word_histograms


def literal_histograms(words, positions, shape, n_words, pyramid):
    numbers = []
    for rows, columns in pyramid:
        for i in range(rows):
            for j in range(columns):
                for word in range(n_words):
                    numbers.append(
                        sum(
                            found == word
                            and min(int(y * rows / shape[0]), rows - 1) == i
                            and min(int(x * columns / shape[1]), columns - 1) == j
                            for found, (y, x) in zip(words, positions, strict=True)
                        )
                    )
    return np.array(numbers) / len(words)


@pytest.mark.parametrize("pyramid", [*PYRAMIDS, ((2, 3), (1, 1), (1, 2))])
def test_against_a_loop(pyramid):
    generator = np.random.default_rng(0)
    shape, n_words = (90, 130), 5
    words = generator.integers(0, n_words, 70)
    positions = generator.uniform(0, 1, (70, 2)) * shape
    positions[0] = shape  # the far corner belongs to the last cell
    levels = PYRAMIDS[pyramid] if isinstance(pyramid, str) else pyramid
    found = word_histograms(words, positions, shape, n_words=n_words, pyramid=pyramid)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, literal_histograms(words, positions, shape, n_words, levels), atol=1e-7)
    for level, part in zip(levels, np.split(found, np.cumsum([5 * r * c for r, c in levels])[:-1]), strict=True):
        assert part.sum() == pytest.approx(1), level


def test_the_named_pyramids():
    assert {name: sum(r * c for r, c in levels) for name, levels in PYRAMIDS.items()} == {
        "none": 1,
        "three_level": 8,
        "two_level": 21,
    }


def test_bands_are_horizontal_and_cells_go_row_by_row():
    corners = {"upper left": (5, 5), "upper right": (5, 95), "lower left": (95, 5), "lower right": (95, 95)}
    quarters, bands = [], []
    for place in corners.values():
        counts = word_histograms([0], [place], (100, 100), n_words=1, pyramid="three_level")
        quarters.append(int(counts[1:5].argmax()))
        bands.append(int(counts[5:].argmax()))
    assert quarters == [0, 1, 2, 3]
    assert bands == [0, 0, 2, 2]


def test_no_patches():
    assert not word_histograms([], [], (4, 4), n_words=3, pyramid="two_level").any()


@pytest.mark.parametrize("pyramid", ["four_level", (), [(0, 1)]])
def test_pyramids_that_are_none(pyramid):
    with pytest.raises(InvalidInputError, match="pyramid"):
        word_histograms([0], [[0, 0]], (4, 4), n_words=1, pyramid=pyramid)


# the descriptor --------------------------------------------------------------------------------------------------


def picture(shape=(64, 80), seed=0):
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)


def vocabulary_of(local, n_words=6):
    return learn_vocabulary(local.local_features(picture(seed=9))[1], n_words, source=local.key, random_state=0)


def test_describe_joins_patches_words_and_cells():
    local = DenseSift("rgsift")
    vocabulary = vocabulary_of(local)
    descriptor = WordsDescriptor(vocabulary, local="rgsift", pyramid="two_level")
    pixels = picture()
    positions, descriptors = local.local_features(pixels)
    distances = ((descriptors[:, None].astype(float) - vocabulary.words[None]) ** 2).sum(axis=2)
    expected = literal_histograms(distances.argmin(axis=1), positions, (64, 80), 6, PYRAMIDS["two_level"])
    np.testing.assert_allclose(descriptor.describe(pixels), expected, atol=1e-7)
    assert len(np.unique(descriptor.describe(pixels))) > 3


def test_contract():
    vocabulary = vocabulary_of(DenseSift("sift"))
    descriptor = WordsDescriptor(vocabulary, pyramid="three_level", group="words_sift")
    assert isinstance(descriptor, Descriptor)
    assert dict(descriptor.outputs) == {"words_sift": 48}
    assert [rendition.name for rendition in descriptor.renditions] == ["fit-256"]
    assert descriptor.n_columns == 48


def test_the_key_changes_with_what_the_numbers_depend_on():
    local = DenseSift("sift")
    vocabulary = vocabulary_of(local)
    key = WordsDescriptor(vocabulary).key
    assert WordsDescriptor(vocabulary, local=DenseSift("sift"), pyramid=[(1, 1)], group="other").key == key
    small = DenseSift("sift", size=128)
    others = [
        WordsDescriptor(vocabulary_of(local, n_words=5)),
        WordsDescriptor(VisualVocabulary(vocabulary.words + np.float32(1e-6), local.key)),
        WordsDescriptor(vocabulary, pyramid="three_level"),
        WordsDescriptor(VisualVocabulary(vocabulary.words, small.key), size=128),
    ]
    assert len({key, *(other.key for other in others)}) == 5


def test_the_vocabulary_must_come_from_the_same_patches():
    vocabulary = vocabulary_of(DenseSift("sift"))
    for options in ({"local": "rgbsift"}, {"size": 128}, {"local": DenseSift("sift", step=4)}):
        with pytest.raises(InvalidInputError, match="learned from 'sift-v1"):
            WordsDescriptor(vocabulary, **options)


@pytest.mark.parametrize("shape", [(1, 1), (1, 60), (60, 1), (8, 256), (256, 8), (16, 16)])
@pytest.mark.parametrize("form", SIFT_FORMS)
def test_odd_pictures(form, shape):
    descriptor = WordsDescriptor(vocabulary_of(DenseSift(form), n_words=4), local=form, pyramid="three_level")
    for pixels in (picture(shape), np.zeros((*shape, 3), dtype=np.uint8), np.full((*shape, 3), 255, dtype=np.uint8)):
        row = descriptor.describe(pixels)
        assert row.shape == (32,)
        for part in (row[:4], row[4:20], row[20:]):
            assert part.sum() == pytest.approx(1)


def test_several_forms_in_one_extraction(tmp_path):
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.png")
        Image.fromarray(picture(seed=number)).save(paths[-1])
    forms = ("sift", "opponentsift")
    descriptors = [
        WordsDescriptor(vocabulary_of(DenseSift(form)), local=form, pyramid="three_level", group=f"words_{form}")
        for form in forms
    ]
    X, groups, records = extract(paths, groups=descriptors, n_workers=1)
    assert list(groups) == ["words_sift", "words_opponentsift"]
    assert all(record.ok for record in records)
    expected = [np.concatenate([one.describe(picture(seed=n)) for one in descriptors]) for n in range(3)]
    np.testing.assert_array_equal(X, expected)
