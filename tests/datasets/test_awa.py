import numpy as np
import pytest

from tagloom.datasets.awa import load_awa_attributes, load_awa_subset
from tagloom.exceptions import InvalidInputError

CLASSES = ["ox", "giant+panda", "mole"]


def write_attributes(folder, **changes):
    files = {
        "classes.txt": "".join(f"{number:6d}\t{name}\n" for number, name in enumerate(CLASSES, 1)),
        "predicates.txt": "     1\tblack\n     2\tfast\n",
        "predicate-matrix-continuous.txt": "  50.00  10.00\n  -1.00  20.00\n 100.00   0.00\n",
        "predicate-matrix-binary.txt": "1 0\n0 1\n1 0\n",
        "trainclasses.txt": "ox\nmole\n",
        "testclasses.txt": "giant+panda\n",
    }
    for name, text in (files | changes).items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    np.savez(folder / "full_labels.npz", class_index=np.array([0, 1, 1, 2], np.uint8))


def test_images_have_the_attributes_of_their_class(tmp_path):
    write_attributes(tmp_path)
    loaded = load_awa_attributes(tmp_path)
    # What the table lacks is the mean of the other classes: (50 + 100) / 2.
    np.testing.assert_allclose(loaded.X, [[0.5, 0.1], [0.75, 0.2], [0.75, 0.2], [1.0, 0.0]], rtol=1e-6)
    assert loaded.extras["missing"].tolist() == [[False, False], [True, False], [False, False]]
    assert loaded.Y.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert loaded.tags.names == ("ox", "giant panda", "mole")
    assert loaded.groups.sizes == (1, 1)
    assert loaded.splits["train_classes"].tolist() == [0, 3]
    assert loaded.splits["test_classes"].tolist() == [1, 2]


def test_binary_attributes(tmp_path):
    write_attributes(tmp_path)
    assert load_awa_attributes(tmp_path, values="binary").X.tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
    with pytest.raises(InvalidInputError, match="'real'"):
        load_awa_attributes(tmp_path, values="real")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"predicates.txt": None}, "predicates.txt"),
        ({"predicate-matrix-continuous.txt": "1 2\n3 4\n"}, "3 lines of 2 numbers"),
        ({"trainclasses.txt": "ox\nunicorn\n"}, "unicorn"),
        ({"classes.txt": "ox\npanda\n", "predicate-matrix-continuous.txt": "1 2\n3 4\n"}, "from 0 to 1"),
    ],
)
def test_files_that_are_missing_short_or_do_not_fit(tmp_path, changes, message):
    write_attributes(tmp_path, **changes)
    with pytest.raises(InvalidInputError, match=message):
        load_awa_attributes(tmp_path)


def write_subset(folder, **changes):
    arrays = {f"X_{name}": np.full((3, 2), index) for index, name in enumerate(("cq", "lss", "phog", "rgsift", "sift"))}
    arrays |= {
        "X_surf": np.ones((3, 4), np.uint16),
        "class_index": np.array([0, 2, 2], np.uint8),
        "Y": np.array([[1, 0], [1, 1], [1, 1]], np.uint8),
        "classes": np.array(CLASSES),
        "attributes": np.array(["black", "fast"]),
    }
    np.savez(folder / "awa_subset.npz", **(arrays | changes))


def test_subset_with_attributes_or_classes_as_tags(tmp_path):
    write_subset(tmp_path)
    loaded = load_awa_subset(tmp_path)
    assert loaded.X.dtype == np.float32
    assert loaded.groups.names == ("cq", "lss", "phog", "rgsift", "sift", "surf")
    assert loaded.X[0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 1, 1, 1, 1]
    assert loaded.Y.tolist() == [[1, 0], [1, 1], [1, 1]]
    by_class = load_awa_subset(tmp_path, tags="classes")
    assert by_class.tags.names == ("ox", "giant panda", "mole")
    assert by_class.Y.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_index": np.array([0, 2, 3])}, "from 0 to 2"),
        ({"X_surf": np.ones((2, 4))}, "'X_surf': 2"),
        ({"Y": np.ones((2, 2))}, "disagree"),
    ],
)
def test_subset_with_parts_that_do_not_fit(tmp_path, changes, message):
    write_subset(tmp_path, **changes)
    with pytest.raises(InvalidInputError, match=message):
        load_awa_subset(tmp_path)


def test_subset_missing(tmp_path):
    with pytest.raises(InvalidInputError, match=r"awa_subset\.npz"):
        load_awa_subset(tmp_path)


@pytest.mark.medium
def test_the_published_tables(shared_data):
    loaded = load_awa_attributes(shared_data / "awa")
    assert loaded.X.shape == (30475, 85)
    assert loaded.Y.sum(axis=1).tolist() == [1] * 30475
    assert loaded.extras["missing"].sum() == 4
    assert len(np.unique(loaded.X, axis=0)) <= 50
    assert len(loaded.splits["train_classes"]) + len(loaded.splits["test_classes"]) == 30475
    binary = load_awa_attributes(shared_data / "awa", values="binary")
    stored = np.load(shared_data / "awa" / "full_labels.npz", allow_pickle=False)
    np.testing.assert_array_equal(binary.extras["class_attributes"], stored["binary"])
    # The published binary table is the continuous one above its overall mean.
    table = loaded.extras["class_attributes"]
    agree = (table > table.mean()) == (binary.extras["class_attributes"] == 1)
    assert agree[~loaded.extras["missing"]].mean() > 0.99


@pytest.mark.medium
def test_the_published_subset(shared_data):
    loaded = load_awa_subset(shared_data / "awa")
    assert loaded.X.shape == (1575, 10940)
    assert loaded.Y.shape == (1575, 85)
    assert np.isfinite(loaded.X).all()
    binary = load_awa_attributes(shared_data / "awa", values="binary").extras["class_attributes"]
    np.testing.assert_array_equal(loaded.Y, binary[loaded.extras["class_index"]])
