import numpy as np
import pytest
from PIL import Image

from tagloom.datasets import (
    load_coco_free,
    load_corel5k,
    load_corel16k,
    load_msrc_v2,
    load_multiview_msrc_v1,
    load_scene,
    load_uci,
)
from tagloom.exceptions import InvalidInputError


@pytest.mark.medium
def test_corel5k(shared_data):
    small, large = load_corel5k(shared_data / "corel5k"), load_corel5k(shared_data / "corel5k", vocabulary=374)
    assert small.Y.shape == (4999, 260)
    assert large.Y.shape == (4999, 374)
    assert small.Y.dtype == np.int8
    assert small.X.shape == (4999, 499)
    assert [len(small.splits[part]) for part in ("train", "test")] == [4500, 499]
    assert (small.Y.sum(axis=1) == 0).sum() == 7
    assert large.Y.sum(axis=1).min() >= 1
    # The 260 words are columns of the 374.
    for word in ("sky", "water", "tiger"):
        np.testing.assert_array_equal(small.Y[:, small.tags.column(word)], large.Y[:, large.tags.column(word)])
    assert small.paths[0].parent.name == "train"
    assert small.paths[-1].parent.name == "test"
    with Image.open(small.paths[4700]) as image:
        assert sorted(image.size) == [128, 192]
    assert len(np.unique(small.extras["cd"])) == 50
    neighbors = small.extras["train_neighbors"]
    assert neighbors.shape == (4500, 100)
    # Visual neighbours share words far more often than photos picked at random.
    train = small.Y[small.splits["train"]].astype(np.int32)
    shared = (train[:500] * train[neighbors[:500, 0]]).sum() / (train[:500] * train[1000:1500]).sum()
    assert shared > 3


@pytest.mark.medium
def test_corel16k(shared_data):
    loaded = load_corel16k(shared_data / "corel16k", subset=2)
    assert loaded.Y.shape == (13761, 164)
    assert loaded.X.shape == (13761, 500)
    assert len(loaded.splits["train"]) + len(loaded.splits["test"]) == 13761
    assert 1717 <= len(loaded.splits["test"]) <= 1801
    assert loaded.Y.sum(axis=0).min() >= 23


@pytest.mark.medium
def test_scene(shared_data):
    loaded = load_scene(shared_data / "scene")
    assert loaded.X.shape == (2407, 294)
    assert {part: len(rows) for part, rows in loaded.splits.items()} == {"train": 1211, "test": 1196}
    assert loaded.Y.sum(axis=1).mean() == pytest.approx(1.074, abs=0.001)
    assert "Sunset" in loaded.tags


@pytest.mark.medium
def test_msrc_v2(shared_data):
    loaded = load_msrc_v2(shared_data / "msrc_v2")
    assert loaded.Y.shape == (591, 23)
    assert loaded.Y.sum(axis=1).mean() == pytest.approx(2.51, abs=0.01)
    assert loaded.Y[:, loaded.tags.column("horse")].sum() == 3
    assert dict(zip(loaded.groups.names, loaded.groups.sizes, strict=True)) == {
        "edge_orientations": 128,
        "grid_colors": 48,
    }
    assert len({path.name for path in loaded.paths}) == 591
    fewer = load_msrc_v2(shared_data / "msrc_v2", vocabulary=21, with_photos=False)
    assert len(fewer.tags) == 21
    assert "horse" not in fewer.tags
    assert fewer.paths == ()
    np.testing.assert_array_equal(fewer.Y[:, fewer.tags.column("cow")], loaded.Y[:, loaded.tags.column("cow")])


@pytest.mark.medium
def test_multiview_msrc_v1(shared_data):
    loaded = load_multiview_msrc_v1(shared_data / "multiview_msrc_v1")
    assert loaded.groups.sizes == (24, 576, 512, 256, 254)
    np.testing.assert_array_equal(loaded.Y.sum(axis=0), 30)
    np.testing.assert_array_equal(loaded.Y.sum(axis=1), 1)


@pytest.mark.medium
def test_coco_free(shared_data):
    things, all_ = load_coco_free(shared_data / "coco_free"), load_coco_free(shared_data / "coco_free", vocabulary=133)
    assert things.Y.shape == (104, 80)
    assert things.Y.min() == 0
    assert (all_.Y == -1).all(axis=1).sum() == 104 - 53
    assert all(path.is_file() for path in things.paths)
    assert set(things.splits) == {"train2017", "val2017"}
    # Things on the panoptic photos agree with the 80.
    both = (all_.Y != -1).all(axis=1)
    np.testing.assert_array_equal(
        things.Y[both, things.tags.column("person")], all_.Y[both, all_.tags.column("person")]
    )


@pytest.mark.medium
@pytest.mark.parametrize(("name", "positive", "n_positive"), [("ionosphere", "g", 225), ("sonar", "M", 111)])
def test_uci_text_agrees_with_the_arrays(shared_data, name, positive, n_positive):
    loaded = load_uci(shared_data / name, name)
    with np.load(shared_data / name / f"{name}.npz", allow_pickle=False) as arrays:
        np.testing.assert_allclose(loaded.X, arrays["X"], rtol=1e-6)
        np.testing.assert_array_equal(loaded.Y[:, 0], arrays["y"] == positive)
    assert loaded.Y.sum() == n_positive


def uci_line(letter):
    return ",".join(["0.5"] * 34) + f",{letter}\n"


def test_uci_with_and_without_header(tmp_path):
    (tmp_path / "ionosphere.data").write_text(uci_line("g") + uci_line("b"))
    assert load_uci(tmp_path, "ionosphere").Y.tolist() == [[1], [0]]
    (tmp_path / "ionosphere.data").write_text(",".join("abc") + "\n" + uci_line("b") + "\n")
    assert load_uci(tmp_path, "ionosphere").Y.tolist() == [[0]]


@pytest.mark.parametrize(
    "text", [uci_line("g") + uci_line("x"), uci_line("g") + "0.5,g\n", uci_line("g") + "a," + uci_line("g")]
)
def test_uci_with_a_wrong_line(tmp_path, text):
    (tmp_path / "ionosphere.data").write_text(text)
    with pytest.raises(InvalidInputError, match="line 2"):
        load_uci(tmp_path, "ionosphere")


def test_uci_without_rows(tmp_path):
    (tmp_path / "sonar.all-data").write_text("a,b\n")
    with pytest.raises(InvalidInputError, match="found none"):
        load_uci(tmp_path, "sonar")


@pytest.mark.parametrize(
    ("load", "file_name"),
    [
        (load_corel5k, "corel5k.npz"),
        (load_corel16k, "Corel16k001.npz"),
        (load_scene, "scene.npz"),
        (load_msrc_v2, "msrc_v2.npz"),
        (load_multiview_msrc_v1, "msrc_v1.npz"),
        (load_coco_free, "labels.npz"),
        (lambda folder: load_uci(folder, "sonar"), "sonar.all-data"),
    ],
)
def test_a_missing_file_is_named(tmp_path, load, file_name):
    with pytest.raises(InvalidInputError, match=f"expected the file '{file_name}'.*{tmp_path.name}"):
        load(tmp_path)


def write_scene(folder, **changes):
    arrays = {
        "X": np.zeros((3, 2), np.float32),
        "Y": np.array([[1, 0], [0, 1], [1, 1]], np.uint8),
        "words": np.array(["Beach", "Urban"]),
        "split": np.array(["train", "test", "train"]),
    }
    arrays.update(changes)
    np.savez(folder / "scene.npz", **{key: value for key, value in arrays.items() if value is not None})


def test_small_file_in_the_layout_of_scene(tmp_path):
    write_scene(tmp_path)
    loaded = load_scene(tmp_path)
    assert loaded.splits["train"].tolist() == [0, 2]
    assert loaded.tags.names == ("Beach", "Urban")
    assert len(loaded) == 3
    assert "3 rows, 2 tags" in repr(loaded)


def test_a_missing_array_is_named(tmp_path):
    write_scene(tmp_path, split=None)
    with pytest.raises(InvalidInputError, match=r"\['split'\].*found \['X', 'Y', 'words'\]"):
        load_scene(tmp_path)


def test_pickled_arrays_are_refused(tmp_path):
    write_scene(tmp_path, words=np.array([{"a": 1}, None], dtype=object))
    with pytest.raises(InvalidInputError, match="plain arrays"):
        load_scene(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04broken"])
def test_a_damaged_archive(tmp_path, content):
    (tmp_path / "scene.npz").write_bytes(content)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load_scene(tmp_path)


@pytest.mark.parametrize(
    "changes", [{"X": np.zeros((2, 2))}, {"Y": np.full((3, 2), 7)}, {"words": np.array(["Beach"])}]
)
def test_parts_that_do_not_fit(tmp_path, changes):
    write_scene(tmp_path, **changes)
    with pytest.raises(InvalidInputError):
        load_scene(tmp_path)


def test_missing_photos_are_counted(tmp_path):
    ids = np.array([7, 12])
    np.savez(
        tmp_path / "labels.npz",
        words80=np.array(["cat", "dog"]), Y80=np.eye(2, dtype=np.uint8), split=np.array(["a", "a"]), image_id=ids,
        has_panoptic=np.ones(2, bool), license_id=ids, flickr_url=np.array(["", ""]), captions=np.array(["", ""]),
    )  # fmt: skip
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "000000000007.jpg").write_bytes(b"")
    with pytest.raises(InvalidInputError, match=r"expected 2 photos.*1 are missing.*000000000012\.jpg"):
        load_coco_free(tmp_path)
    assert load_coco_free(tmp_path, with_photos=False).paths == ()


@pytest.mark.parametrize(
    "load",
    [
        lambda folder: load_corel5k(folder, vocabulary=300),
        lambda folder: load_corel16k(folder, subset=11),
        lambda folder: load_msrc_v2(folder, vocabulary=20),
        lambda folder: load_coco_free(folder, vocabulary=91),
        lambda folder: load_uci(folder, "iris"),
    ],
)
def test_wrong_choices(tmp_path, load):
    with pytest.raises(InvalidInputError, match="must be one of"):
        load(tmp_path)
