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
