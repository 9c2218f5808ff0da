"""The visual vocabulary: learning, nearest words, files, and samples from photos."""

import hashlib
import json
import os

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info, threadpool_limits

from tagloom.exceptions import DamagedStoreError, InvalidInputError, NewerFormatError, PhotosError, StoreError
from tagloom.features.words import vocabulary as module
from tagloom.features.words.learned import learned_descriptor
from tagloom.features.words.sift import DenseSift
from tagloom.features.words.vocabulary import VisualVocabulary, collect_samples, learn_vocabulary


@pytest.fixture
def vocabulary():
    words = np.random.default_rng(0).standard_normal((20, 6))
    return VisualVocabulary(words, "test-v1", {"n_photos": 3, "seed": 7})


# words and equality ----------------------------------------------------------------------------------------------


def test_words_are_a_read_only_copy():
    words = np.eye(3, dtype=np.float32)
    vocabulary = VisualVocabulary(words, "test")
    words[:] = 5
    np.testing.assert_array_equal(vocabulary.words, np.eye(3))
    assert vocabulary.words.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.words[0, 0] = 1
    with pytest.raises(TypeError):
        vocabulary.training["n_photos"] = 4
    assert (vocabulary.n_words, vocabulary.n_columns) == (3, 3)


def test_equal_by_words_and_source(vocabulary):
    twin = VisualVocabulary(vocabulary.words, "test-v1", {"other": 1})
    assert twin == vocabulary
    assert hash(twin) == hash(vocabulary)
    assert len(vocabulary.digest) == 16
    assert int(vocabulary.digest, 16) >= 0
    other_words = vocabulary.words + np.float32(1e-6)
    for other in (
        VisualVocabulary(other_words, "test-v1"),
        VisualVocabulary(vocabulary.words, "test-v2"),
        VisualVocabulary(vocabulary.words.reshape(10, 12), "test-v1"),
        "a text",
    ):
        assert other != vocabulary
    assert vocabulary.digest in repr(vocabulary)


@pytest.mark.parametrize("words", [np.zeros(3), np.zeros((0, 4)), np.zeros((4, 0)), np.full((2, 2), np.nan)])
def test_words_that_are_none(words):
    with pytest.raises(InvalidInputError, match="finite words"):
        VisualVocabulary(words, "test")


def test_a_source_is_needed():
    with pytest.raises(InvalidInputError, match="source"):
        VisualVocabulary(np.eye(2), "")


# nearest words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("block", [1 << 20, 50])
def test_nearest_by_all_distances(vocabulary, monkeypatch, block, offset):
    monkeypatch.setattr(module, "_BLOCK_VALUES", block)
    words = VisualVocabulary(vocabulary.words + np.float32(offset), "test")
    rows = (np.random.default_rng(1).standard_normal((300, 6)) + offset).astype(np.float32)
    expected = cdist(rows.astype(np.float64), words.words.astype(np.float64)).argmin(axis=1)
    found = words.assign(rows)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)


def test_ties_go_to_the_lower_word():
    # Many equal words at all positions of the matrix product, and points exactly between two words.
    single = np.random.default_rng(2).standard_normal((7, 33)).astype(np.float32)
    repeated = VisualVocabulary(np.concatenate([single[::-1], single, single]), "test")
    rows = np.repeat(single, 40, axis=0) + np.float32(0.01)
    np.testing.assert_array_equal(repeated.assign(rows), np.repeat(np.arange(7)[::-1], 40))
    line = VisualVocabulary([[4.0], [0.0], [2.0]], "test")
    np.testing.assert_array_equal(line.assign([[1.0], [3.0], [-9.0]]), [1, 0, 1])


def test_words_are_their_own_nearest(vocabulary):
    np.testing.assert_array_equal(vocabulary.assign(vocabulary.words), np.arange(20))


def test_no_descriptors(vocabulary):
    assert vocabulary.assign(np.empty((0, 6))).shape == (0,)


@pytest.mark.parametrize("rows", [np.zeros((3, 5)), np.zeros(6), np.full((1, 6), np.inf)])
def test_descriptors_that_do_not_fit(vocabulary, rows):
    with pytest.raises(InvalidInputError, match="descriptors"):
        vocabulary.assign(rows)


# files -----------------------------------------------------------------------------------------------------------


def test_files_keep_everything(vocabulary, tmp_path):
    path = tmp_path / "words.safetensors"
    vocabulary.save(path)
    again = VisualVocabulary.load(path)
    assert again == vocabulary
    np.testing.assert_array_equal(again.words, vocabulary.words)
    assert again.source == "test-v1"
    assert dict(again.training) == {"n_photos": 3, "seed": 7}
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["copy", "words.safetensors"]


def test_every_damaged_byte_of_the_words_is_noticed(vocabulary, tmp_path):
    path = tmp_path / "words"
    vocabulary.save(path)
    data = path.read_bytes()
    for position in range(len(data) - vocabulary.words.nbytes, len(data), 37):
        path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(DamagedStoreError, match="learn it again"):
            VisualVocabulary.load(path)
    for length in (0, 5, 100, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(DamagedStoreError, match="'words' is no visual vocabulary"):
            VisualVocabulary.load(path)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"format": 2}, NewerFormatError),
        ({"format": "x"}, DamagedStoreError),
        ({"kind": "something else"}, DamagedStoreError),
        ({"source": "other"}, DamagedStoreError),
        ({"source": ""}, DamagedStoreError),
        ({"training": 3}, DamagedStoreError),
        ({"digest": "0" * 16}, DamagedStoreError),
    ],
)
def test_files_that_are_not_ours(vocabulary, tmp_path, change, error):
    path = tmp_path / "words"
    vocabulary.save(path)
    about = json.loads(module._metadata(path.read_bytes())["tagloom"]) | change
    path.write_bytes(save({"words": vocabulary.words}, metadata={"tagloom": json.dumps(about)}))
    with pytest.raises(error, match="words"):
        VisualVocabulary.load(path)


def test_other_safetensors_and_missing_files(tmp_path):
    (tmp_path / "other").write_bytes(save({"words": np.eye(2)}))
    with pytest.raises(DamagedStoreError, match="no visual vocabulary"):
        VisualVocabulary.load(tmp_path / "other")
    with pytest.raises(StoreError, match="cannot be read"):
        VisualVocabulary.load(tmp_path / "missing")


# learning --------------------------------------------------------------------------------------------------------


def blobs(n_blobs, per_blob, seed=0):
    generator = np.random.default_rng(seed)
    centres = generator.uniform(-50, 50, (n_blobs, 5))
    samples = centres[:, None] + 0.1 * generator.standard_normal((n_blobs, per_blob, 5))
    return centres, generator.permutation(samples.reshape(-1, 5))


def test_words_are_the_centres_of_clusters():
    centres, samples = blobs(8, 150)
    vocabulary = learn_vocabulary(samples, 8, source="test", random_state=0, training={"n_photos": 2})
    distances = cdist(centres, vocabulary.words)
    assert distances.min(axis=1).max() < 0.2
    assert sorted(distances.argmin(axis=1)) == list(range(8))
    expected = {"method": "mini-batch k-means", "n_samples": 1200, "n_words": 8, "seed": 0, "n_photos": 2}
    assert {name: vocabulary.training[name] for name in expected} == expected


def test_the_seed_decides():
    samples = np.random.default_rng(0).standard_normal((3000, 16)).astype(np.float32)
    one, same, other = (learn_vocabulary(samples, 30, source="test", random_state=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    with threadpool_limits(1):
        assert learn_vocabulary(samples, 30, source="test", random_state=1) == one
    generator = np.random.default_rng(1)
    assert learn_vocabulary(samples, 30, source="test", random_state=generator).training["seed"] is None


def test_patches_without_contrast_get_one_word():
    # One sample in three is zero: each word must still be a word of its own, and the zeros have theirs.
    samples = np.random.default_rng(0).dirichlet(np.ones(12), 3000)
    samples[::3] = 0
    vocabulary = learn_vocabulary(samples, 100, source="test", random_state=0)
    assert len(np.unique(vocabulary.words, axis=0)) == 100
    counts = np.bincount(vocabulary.assign(samples), minlength=100)
    assert counts.min() > 0
    assert counts.max() == 1000
    np.testing.assert_allclose(vocabulary.words[counts.argmax()], 0, atol=1e-6)


def test_samples_are_capped():
    samples = np.random.default_rng(0).standard_normal((500, 3))
    vocabulary = learn_vocabulary(samples, 5, source="test", random_state=0, max_samples=100)
    assert vocabulary.training["n_samples"] == 100


def test_too_few_distinct_samples():
    samples = np.tile(np.eye(4), (10, 1))
    with pytest.raises(InvalidInputError, match="got 4 among 40"):
        learn_vocabulary(samples, 5, source="test")
    with pytest.raises(InvalidInputError, match="got 2 among 3"):
        learn_vocabulary([[0.0], [-0.0], [1.0]], 3, source="test")
    vocabulary = learn_vocabulary(samples, 4, source="test", random_state=0)
    assert sorted(vocabulary.assign(np.eye(4))) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("samples", "n_words"), [(np.zeros(4), 1), (np.zeros((0, 4)), 1), (np.full((3, 2), np.nan), 1), (np.eye(3), 0)]
)
def test_samples_that_do_not_fit(samples, n_words):
    with pytest.raises(InvalidInputError, match=r"samples|n_words"):
        learn_vocabulary(samples, n_words, source="test")


# samples from photos -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    generator = np.random.default_rng(0)
    for number in range(6):
        Image.fromarray(generator.integers(0, 256, (40, 48, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    (folder / "broken.png").write_bytes(b"no picture")
    return folder


class Recorder:
    def __init__(self):
        self.events = []

    def start(self, stage, total=None):
        self.events.append(total)

    def advance(self, n=1):
        self.events.append("step")

    def finish(self):
        self.events.append("end")


def test_all_descriptors_of_all_photos(photos):
    names = [*(f"{number}.png" for number in range(6)), "broken.png", "missing.png"]
    recorder = Recorder()
    local = DenseSift("sift")
    found = collect_samples(names, local, n_photos=None, per_photo=None, root=photos, n_workers=1, progress=recorder)
    pixels = [np.asarray(Image.open(photos / f"{number}.png")) for number in range(6)]
    np.testing.assert_array_equal(found.samples, np.concatenate([local.local_features(one)[1] for one in pixels]))
    assert (found.n_photos, found.n_skipped) == (6, 2)
    assert found.training == {"n_photos": 6, "n_skipped": 2}
    assert recorder.events == [8, *["step"] * 8, "end"]


def test_the_choice_depends_on_set_and_seed_alone(photos):
    paths = [photos / f"{number}.png" for number in range(6)]
    options = {"n_photos": 3, "per_photo": 5, "random_state": 4}
    one = collect_samples(paths, DenseSift("sift"), n_workers=1, **options)
    assert one.samples.shape == (15, 128)
    shuffled = [os.fsencode(path) for path in reversed(paths)]
    two = collect_samples([*shuffled, *shuffled], DenseSift("sift"), n_workers=2, **options)
    np.testing.assert_array_equal(one.samples, two.samples)
    other = collect_samples(paths, DenseSift("sift"), n_workers=1, **{**options, "random_state": 5})
    assert not np.array_equal(one.samples, other.samples)


def test_samples_do_not_depend_on_the_threads_of_libraries(photos):
    class Counting(DenseSift):
        def local_features(self, pixels):
            threads.append(max(library["num_threads"] for library in threadpool_info()))
            return super().local_features(pixels)

    threads = []
    with threadpool_limits(2):
        collect_samples([photos / "0.png"], Counting("sift"), n_workers=1)
        assert max(library["num_threads"] for library in threadpool_info()) == 2
    assert threads == [1]


def test_nothing_to_learn_from(photos):
    with pytest.raises(PhotosError, match="none of 1 photos"):
        collect_samples(["broken.png"], DenseSift("sift"), root=photos, n_workers=1)
    with pytest.raises(InvalidInputError, match="per_photo"):
        collect_samples([], DenseSift("sift"), per_photo=0)


def test_a_file_of_a_stranger_takes_little_memory(tmp_path):
    path = tmp_path / "words"
    path.touch()
    os.truncate(path, 1 << 40)  # a sparse file
    with pytest.raises(DamagedStoreError, match="over 256 MiB"):
        VisualVocabulary.load(path)


def test_a_file_with_other_words_than_its_name_says_is_refused(tmp_path):
    source = DenseSift("sift")
    name = f"words-20-{hashlib.sha256(source.key.encode()).hexdigest()[:8]}.safetensors"
    many = np.random.default_rng(0).random((5000, 128))
    VisualVocabulary(many, source.key).save(tmp_path / name)
    with pytest.raises(DamagedStoreError, match="5000 words instead of 20"):
        learned_descriptor("words", tmp_path, [], root=tmp_path, n_words=20, n_photos=5, learn=False)
