import shutil

import numpy as np
import pytest

from tagloom.datasets.nus_wide import load_nus_wide
from tagloom.exceptions import InvalidInputError

ROWS = {"Train": 3, "Test": 2}
COLUMNS = {"CORR": 144, "EDH": 73, "CH": 64, "CM55": 225, "WT": 128}


def write_rows(path, n_rows, n_columns, first):
    # The published lines end with a blank.
    lines = (" ".join(str(first + row) for _ in range(n_columns)) + " \n" for row in range(n_rows))
    path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ConceptsList").mkdir()
    (tmp_path / "ConceptsList" / "Concepts81.txt").write_text("airport\nanimal\n", encoding="utf-8")
    labels = tmp_path / "Groundtruth" / "TrainTestLabels"
    labels.mkdir(parents=True)
    for concept, states in {"airport": ("0\n1\n0\n", "1\n0\n"), "animal": ("1\n1\n0\n", "0\n0\n")}.items():
        for part, text in zip(ROWS, states, strict=True):
            (labels / f"Labels_{concept}_{part}.txt").write_text(text, encoding="utf-8")
    features = tmp_path / "Low_Level_Features"
    features.mkdir()
    for part, n_rows in ROWS.items():
        for index, (name, n_columns) in enumerate(COLUMNS.items()):
            write_rows(features / f"{part}_Normalized_{name}.dat", n_rows, n_columns, 10 * index)
        write_rows(features / f"BoW_{part}_int.dat", n_rows, 500, 100)
    return tmp_path


def test_all_of_it(folder):
    loaded = load_nus_wide(folder)
    assert loaded.Y.tolist() == [[0, 1], [1, 1], [0, 0], [1, 0], [0, 0]]
    assert loaded.groups.names == ("correlogram", "edges", "words", "color", "moments", "wavelet")
    assert loaded.X.shape == (5, 1134)
    assert loaded.X.dtype == np.float32
    assert loaded.X[1, loaded.groups["words"]].tolist() == [101] * 500
    assert loaded.X[3:, loaded.groups["wavelet"].start].tolist() == [40, 41]
    assert {name: rows.tolist() for name, rows in loaded.splits.items()} == {"train": [0, 1, 2], "test": [3, 4]}


def test_a_part_some_groups_some_concepts(folder):
    loaded = load_nus_wide(folder, part="test", groups=("color", "edges"), concepts=("animal",))
    assert loaded.X.shape == (2, 137)
    assert loaded.groups.sizes == (64, 73)
    assert loaded.Y.tolist() == [[0], [0]]
    assert list(loaded.splits) == ["test"]
    assert load_nus_wide(folder, groups=()).X is None


def test_features_as_the_archive_unpacks_them(folder):
    (folder / "NUS_WID_Low_Level_Features").mkdir()
    (folder / "Low_Level_Features").rename(folder / "NUS_WID_Low_Level_Features" / "Low_Level_Features")
    assert load_nus_wide(folder, groups=("edges",)).X.shape == (5, 73)


def test_a_short_file_is_named(folder):
    write_rows(folder / "Low_Level_Features" / "Train_Normalized_EDH.dat", 2, 73, 0)
    with pytest.raises(InvalidInputError, match=r"3 lines of 73.*Train_Normalized_EDH\.dat.*found 2"):
        load_nus_wide(folder)


def test_a_narrow_file_is_named(folder):
    write_rows(folder / "Low_Level_Features" / "Train_Normalized_CH.dat", 3, 63, 0)
    with pytest.raises(InvalidInputError, match=r"Train_Normalized_CH\.dat.*lines of 63"):
        load_nus_wide(folder)


@pytest.mark.parametrize(
    ("text", "message"), [("1\n0\n", "found 2 lines"), ("1\n0\n7\n", "line 3"), ("1\n0\n-1\n", "-1")]
)
def test_a_wrong_label_file_is_named(folder, text, message):
    (folder / "Groundtruth" / "TrainTestLabels" / "Labels_animal_Train.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message):
        load_nus_wide(folder, groups=())


@pytest.mark.parametrize(
    "name",
    [
        "ConceptsList/Concepts81.txt",
        "Groundtruth/TrainTestLabels/Labels_airport_Test.txt",
        "Low_Level_Features/BoW_Test_int.dat",
    ],
)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(InvalidInputError, match=f"expected the file '{name}' of NUS-WIDE"):
        load_nus_wide(folder)


@pytest.mark.parametrize("options", [{"part": "val"}, {"groups": ("gist",)}, {"concepts": ("unicorn",)}])
def test_wrong_choices(folder, options):
    with pytest.raises(InvalidInputError, match="must be one of"):
        load_nus_wide(folder, **options)


# Other layouts: labels of all photos in one file, everything side by side, names, photos, users' tags.

LISTS = {
    "Train": ["actor\\0001_211.jpg", "sea\\0001_7.jpg", "sea\\0002_80.jpg"],
    "Test": ["actor\\0002_5.jpg", "zoo\\x.jpg"],
}


def write_lists(place):
    for part, names in LISTS.items():
        (place / f"{part}Imagelist.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    # The list of all photos has an order of its own.
    (place / "Imagelist.txt").write_text("\n".join(sorted(LISTS["Train"] + LISTS["Test"])) + "\n", encoding="utf-8")


@pytest.fixture
def all_labels(folder):
    """The same labels in AllLabels alone, in the order of the list of all photos."""
    before = load_nus_wide(folder, groups=())
    names = [name for part in LISTS.values() for name in part]
    order = [names.index(name) for name in sorted(names)]
    place = folder / "Groundtruth" / "AllLabels"
    place.mkdir()
    for column, concept in enumerate(before.tags):
        lines = "".join(f"{before.Y[row, column]}\n" for row in order)
        (place / f"Labels_{concept}.txt").write_text(lines, encoding="utf-8")
    shutil.rmtree(folder / "Groundtruth" / "TrainTestLabels")
    (folder / "ImageList").mkdir()
    return folder, before


def test_labels_of_all_photos_are_put_in_the_order_of_the_parts(all_labels):
    folder, before = all_labels
    write_lists(folder / "ImageList")
    loaded = load_nus_wide(folder)
    np.testing.assert_array_equal(loaded.Y, before.Y)
    assert {name: rows.tolist() for name, rows in loaded.splits.items()} == {"train": [0, 1, 2], "test": [3, 4]}
    np.testing.assert_array_equal(load_nus_wide(folder, part="test", groups=()).Y, before.Y[3:])
    assert loaded.X.shape == (5, 1134)


def test_labels_of_all_photos_without_lists_have_no_parts(all_labels):
    folder, before = all_labels
    loaded = load_nus_wide(folder, groups=())
    assert (len(loaded), dict(loaded.splits), dict(loaded.extras)) == (5, {}, {})
    assert sorted(loaded.Y.tolist()) == sorted(before.Y.tolist())
    for options in ({}, {"part": "test", "groups": ()}):
        with pytest.raises(InvalidInputError, match="say nothing of its parts; put Imagelist"):
            load_nus_wide(folder, **options)


def test_all_files_in_one_folder(folder, tmp_path):
    write_lists(folder)
    expected = load_nus_wide(folder)
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        shutil.copy(path, flat / path.name)
    loaded = load_nus_wide(flat)
    np.testing.assert_array_equal(loaded.X, expected.X)
    np.testing.assert_array_equal(loaded.Y, expected.Y)


def test_names_ids_and_photos(folder, tmp_path):
    write_lists(folder)
    loaded = load_nus_wide(folder, groups=())
    assert loaded.extras["image_ids"].tolist() == [211, 7, 80, 5, -1]
    assert loaded.extras["image_names"][0] == "actor/0001_211.jpg"
    assert loaded.paths == ()
    by_topic, flat = tmp_path / "by topic", tmp_path / "side by side"
    flat.mkdir()
    for name in loaded.extras["image_names"]:
        (by_topic / name).parent.mkdir(parents=True, exist_ok=True)
        (by_topic / name).touch()
        (flat / name.rpartition("/")[2]).touch()
    assert load_nus_wide(folder, groups=(), images=by_topic).paths[1] == by_topic / "sea" / "0001_7.jpg"
    assert load_nus_wide(folder, groups=(), images=flat).paths[1] == flat / "0001_7.jpg"
    (flat / "x.jpg").unlink()
    with pytest.raises(InvalidInputError, match="1 are missing"):
        load_nus_wide(folder, groups=(), images=flat)


def test_users_tags(folder):
    place = folder / "NUS_WID_Tags"
    place.mkdir()
    (place / "TagList1k.txt").write_text("".join(f"word{n}\n" for n in range(1000)), encoding="utf-8")
    for part, n_rows in ROWS.items():
        rows = np.zeros((n_rows, 1000), dtype=int)
        rows[np.arange(n_rows), np.arange(n_rows)] = 1
        lines = ["\t".join(map(str, row)) + "\t\n" for row in rows]
        (place / f"{part}_Tags1k.dat").write_text("".join(lines), encoding="utf-8")
    loaded = load_nus_wide(folder, groups=(), user_tags=True)
    assert loaded.extras["user_tags"].shape == (5, 1000)
    assert loaded.extras["user_tags"].dtype == np.int8
    assert np.argwhere(loaded.extras["user_tags"]).tolist() == [[0, 0], [1, 1], [2, 2], [3, 0], [4, 1]]
    assert loaded.extras["user_tag_names"][3] == "word3"


def test_lists_of_another_release_are_told(folder):
    write_lists(folder)
    (folder / "TestImagelist.txt").write_text("one.jpg\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="expected 5 names in the image lists"):
        load_nus_wide(folder, groups=())
    for path in folder.glob("*Imagelist.txt"):
        path.unlink()
    with pytest.raises(InvalidInputError, match="name its photos"):
        load_nus_wide(folder, groups=(), images=folder)
