import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.errors import BenchmarkError, DataMissingError
from tagloom.core.groups import FeatureGroups


def test_toy_is_the_same_everywhere_and_every_row_has_a_tag():
    first, again = datasets.toy(), datasets.toy()
    assert np.array_equal(first.X, again.X)
    assert (first.Y.sum(axis=1) >= 1).all()
    assert first.groups.n_columns == first.X.shape[1]


def test_features_are_computed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CACHE", tmp_path / "cache")
    calls = []

    def compute():
        calls.append(1)
        return {"X": np.arange(6.0).reshape(2, 3)}

    first, second = (datasets.cached_features("key", compute) for _ in range(2))
    assert len(calls) == 1
    assert np.array_equal(first["X"], second["X"])


def test_features_of_many_groups_have_a_file_name_that_is_not_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CACHE", tmp_path / "cache")
    keys = ["group-" * 50 + end for end in "ab"]
    found = [datasets.cached_features(key, lambda key=key: {"key": np.array(key)})["key"].item() for key in keys * 2]
    assert found == keys * 2


def test_missing_data_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    with pytest.raises(DataMissingError, match="TAGLOOM_DATA"):
        datasets.data_folder("corel5k")


def test_unit_scale_gives_rows_of_length_one_and_leaves_zero_rows():
    X = np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)
    groups = FeatureGroups(["a", "b"], [1, 1])
    unit = datasets.scaled(X, "unit", groups)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), [1.0, 0.0])
    assert unit.dtype == np.float32
    with pytest.raises(BenchmarkError, match="'big'"):
        datasets.scaled(X, "big", groups)
    joined = datasets.scaled(X, "groups", groups)
    np.testing.assert_allclose(joined[0], np.sqrt([0.5, 0.5]), rtol=1e-6)


def test_columns_get_mean_0_and_deviation_1_and_constant_ones_become_0():
    X = np.random.default_rng(0).normal(5.0, [3.0, 0.1, 0.0], size=(50, 3)).astype(np.float32)
    scaled = datasets.scaled(X, "columns", FeatureGroups(["a"], [3]))
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(scaled.std(axis=0), [1.0, 1.0, 0.0], rtol=1e-5)
    assert scaled.dtype == np.float32


def test_corel_cds_are_one_tag_each(tmp_path, monkeypatch):
    folder = tmp_path / "corel5k"
    folder.mkdir()
    cd = np.array([7000, 1000, 7000, 3000])
    np.savez(folder / "corel5k.npz", corel_cd=cd, split=np.array(["train"] * 4), image_id=np.arange(4))
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    seen = []

    def photo_features(_name, paths, groups):
        seen.extend(path.relative_to(folder).as_posix() for path in paths)
        return np.arange(4.0, dtype=np.float32)[:, None], FeatureGroups(list(groups), [1])

    monkeypatch.setattr(datasets, "photo_features", photo_features)
    found = datasets.corel5k_cds(groups=("edges",), scale="none")
    assert found.Y.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert seen == [f"images/train/{number}.jpeg" for number in range(4)]
    first = datasets.corel5k_cds(groups=("edges",), scale="none", cds=2)
    assert (first.Y.tolist(), first.X.ravel().tolist()) == ([[1, 0], [0, 1]], [1.0, 3.0])


def test_corel16k_is_sparse(tmp_path, monkeypatch):
    folder = tmp_path / "corel16k"
    folder.mkdir()
    X, Y = np.array([[0, 1, 1], [1, 0, 0]], np.uint8), np.array([[1, 0], [0, 1]], np.uint8)
    np.savez(folder / "Corel16k003.npz", X=X, Y=Y, words=np.array(["sky", "sea"]), is_test=np.array([False, True]))
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    found = datasets.corel16k(subset=3)
    assert (found.X.format, found.X.dtype, found.X.nnz) == ("csr", np.float32, 3)
    assert found.X.toarray().tolist() == X.tolist()
    assert (found.Y.tolist(), found.tags) == (Y.tolist(), ("sky", "sea"))


def test_region_words_are_counts_that_are_learned_from_the_training_photos(tmp_path, monkeypatch):
    folder = tmp_path / "corel5k"
    folder.mkdir()
    np.savez(
        folder / "corel5k.npz",
        split=np.array(["train", "test", "train"]),
        image_id=np.arange(3),
        Y260=np.array([[1, 0], [0, 1], [1, 1]], np.uint8),
        words260=np.array(["sky", "sea"]),
    )
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    seen = []

    def learned_features(_name, _root, names, training, groups):
        seen.append((len(names), training, groups))
        return np.array([[2.0, 0.0], [1.0, 3.0], [0.0, 0.0]], np.float32), FeatureGroups(["blobs"], [2])

    monkeypatch.setattr(datasets, "learned_features", learned_features)
    found = datasets.corel5k_regions()
    assert seen == [(3, [b"images/train/0.jpeg", b"images/train/2.jpeg"], ("blobs",))]
    assert found.X.format == "csr"
    assert found.X.toarray().tolist() == [[2.0, 0.0], [1.0, 3.0], [0.0, 0.0]]
    assert (found.tags, found.names) == (("sky", "sea"), ("0", "1", "2"))


def test_an_unknown_dataset_is_named():
    with pytest.raises(BenchmarkError, match="'nothing'"):
        datasets.load_dataset("nothing")


def test_photo_features_are_kept_until_a_descriptor_changes(tmp_path, monkeypatch):
    from tagloom.core.photos import PhotoRecord, Verdict

    monkeypatch.setattr(datasets, "CACHE", tmp_path)
    version, calls = [1], []

    class Fake:
        @property
        def key(self):
            return f"fake-v{version[0]}"

    def extract(paths, groups):
        calls.append(list(groups))
        return np.full((len(paths), 2), version[0], np.float32), FeatureGroups(groups, [2]), records

    records = [PhotoRecord(b"a", Verdict.OK)]
    monkeypatch.setattr("tagloom.features.engine.extract", extract)
    monkeypatch.setattr("tagloom.features.registry.resolve_descriptors", lambda groups: ([Fake()], groups))
    for expected_version in (1, 1, 2):
        version[0] = expected_version
        X, groups = datasets.photo_features("some", [tmp_path / "a"], ("fake",))
        assert (X[0, 0], list(groups)) == (expected_version, ["fake"])
    assert len(calls) == 2
    records[0] = PhotoRecord(b"a", Verdict.DAMAGED)
    with pytest.raises(BenchmarkError, match="1 of 1 photos"):
        datasets.photo_features("other", [tmp_path / "a"], ("fake",))


def write_corel(tmp_path, monkeypatch):
    folder = tmp_path / "corel5k"
    folder.mkdir()
    Y = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 1]], np.uint8)
    splits = np.array(["train", "train", "train", "test"])
    words = np.array(["city", "ox", "sky"])
    np.savez(folder / "corel5k.npz", Y260=Y, words260=words, split=splits, image_id=np.arange(10, 14))
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    return folder


def test_the_most_frequent_words_with_their_names(tmp_path, monkeypatch):
    write_corel(tmp_path, monkeypatch)

    def photo_features(_name, paths, groups):
        return np.zeros((len(paths), 1), np.float32), FeatureGroups(list(groups), [1])

    monkeypatch.setattr(datasets, "photo_features", photo_features)
    found = datasets.corel5k(groups=("edges",), frequent=2)
    assert (found.tags, found.names) == (("city", "sky"), ("10", "11", "12", "13"))
    assert found.Y.tolist() == [[1, 1], [0, 1], [1, 0], [0, 1]]
    assert datasets.corel5k(groups=("edges",), part="train").Y.shape == (3, 3)


def test_visual_words_are_learned_from_the_training_photos(tmp_path, monkeypatch):
    folder = write_corel(tmp_path, monkeypatch)
    seen = []

    def learned_features(_name, root, names, training, groups):
        seen.append((root, names[-1], training))
        return np.zeros((len(names), 2), np.float32), FeatureGroups(list(groups), [1, 1])

    monkeypatch.setattr(datasets, "learned_features", learned_features)
    assert datasets.corel5k(groups=("edges", "words")).X.shape == (4, 2)
    expected = [f"images/train/{number}.jpeg".encode() for number in (10, 11, 12)]
    assert seen == [(folder, b"images/test/13.jpeg", expected)]


def test_animals_keep_the_columns_of_each_group_that_vary_most(tmp_path, monkeypatch):
    (tmp_path / "awa").mkdir()
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    views = {
        f"X_{name}": np.array([[0, 1, 0], [0, 1, 9], [1, 1, 0]]) for name in ("cq", "lss", "phog", "rgsift", "sift")
    }
    np.savez(
        tmp_path / "awa" / "awa_subset.npz", **views, X_surf=np.array([[4], [0], [1]]),
        class_index=np.array([0, 1, 1]), Y=np.array([[1, 0], [0, 1], [0, 1]]), classes=np.array(["ox", "fox"]),
        attributes=np.array(["black", "fast"]),
    )  # fmt: skip
    found = datasets.awa_subset(columns=2, scale="none")
    assert found.groups.sizes == (2, 2, 2, 2, 2, 1)
    # Square roots of the first and the last column, in the order of the file.
    assert found.X[:, :2].tolist() == [[0, 0], [0, 3], [1, 0]]
    assert found.X[:, -1].tolist() == [2, 0, 1]
    assert found.tags == ("black", "fast")


@pytest.mark.medium
def test_attributes_of_animals(shared_data, monkeypatch):
    monkeypatch.setenv("TAGLOOM_DATA", str(shared_data))
    found = datasets.awa_attributes()
    assert (found.X.shape, found.Y.shape) == ((30475, 85), (30475, 50))
    np.testing.assert_allclose(found.X.mean(axis=0), 0.0, atol=1e-3)
    assert len(found.groups) == 85
    assert np.linalg.matrix_rank(np.unique(found.X, axis=0).astype(np.float64), tol=1e-3) <= 50
