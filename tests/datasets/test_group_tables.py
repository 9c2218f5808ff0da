import numpy as np
import pytest

from tagloom.datasets.group_tables import load_kodak, load_msra_mm
from tagloom.exceptions import InvalidInputError, TagloomError

SIZES = {
    load_msra_mm: {
        "correlogram": 144, "edge_blocks": 75, "faces": 7, "color": 64, "moments": 225, "rgb": 256, "wavelet": 128,
    },
    load_kodak: {
        "correlogram": 144, "cooccurrence": 16, "edges": 73, "faces": 7, "color": 64, "moments": 225, "wavelet": 128,
    },
}  # fmt: skip
TOTAL = {load_msra_mm: 899, load_kodak: 657}

both = pytest.mark.parametrize("load", list(SIZES))


def write(folder, load):
    (folder / "concepts.txt").write_text("sky\nparty\n", encoding="utf-8")
    (folder / "labels.txt").write_text("1 0\n0 -1\n", encoding="utf-8")
    for index, (name, size) in enumerate(SIZES[load].items()):
        lines = (",".join([str(index + row)] * size) for row in range(2))
        (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")


@both
def test_groups_and_labels(tmp_path, load):
    write(tmp_path, load)
    loaded = load(tmp_path)
    assert dict(zip(loaded.groups.names, loaded.groups.sizes, strict=True)) == SIZES[load]
    assert loaded.X.shape == (2, TOTAL[load])
    assert loaded.X[1, loaded.groups["faces"]].tolist() == [list(SIZES[load]).index("faces") + 1] * 7
    assert loaded.Y.tolist() == [[1, 0], [0, -1]]
    assert loaded.tags.names == ("sky", "party")


@both
def test_files_with_other_names(tmp_path, load):
    write(tmp_path, load)
    (tmp_path / "labels.txt").rename(tmp_path / "annotation.dat")
    with pytest.raises(InvalidInputError, match=r"labels\.txt"):
        load(tmp_path)
    assert len(load(tmp_path, files={"labels": "annotation.dat"})) == 2
    with pytest.raises(InvalidInputError, match="'words'"):
        load(tmp_path, files={"words": "w.txt"})


@both
def test_short_and_missing_files_are_named(tmp_path, load):
    write(tmp_path, load)
    (tmp_path / "faces.txt").write_text("1 2 3 4 5 6 7\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"2 lines of 7 numbers.*faces\.txt"):
        load(tmp_path)
    (tmp_path / "faces.txt").unlink()
    with pytest.raises(InvalidInputError, match=r"faces\.txt"):
        load(tmp_path)


@both
def test_one_table_of_all_groups_and_labels(tmp_path, load):
    write(tmp_path, load)
    expected = load(tmp_path)
    parts = expected.groups.split(expected.X)
    np.savez(tmp_path / "all.npz", labels=expected.Y, concepts=np.array(expected.tags.names), **parts)
    header = [f"{name}/{column}" for name, part in parts.items() for column in range(part.shape[1])]
    header += [f"label/{tag}" for tag in expected.tags]
    lines = [",".join(map(str, [*row, *labels])) for row, labels in zip(expected.X, expected.Y, strict=True)]
    (tmp_path / "all.csv").write_text("\n".join([",".join(header), *lines]) + "\n", encoding="utf-8")
    for name in ("all.npz", "all.csv"):
        loaded = load(tmp_path / name)
        np.testing.assert_array_equal(loaded.X, expected.X)
        np.testing.assert_array_equal(loaded.Y, expected.Y)
        assert (loaded.groups, loaded.tags.names) == (expected.groups, expected.tags.names)


def test_a_table_may_have_some_groups_of_other_sizes(tmp_path):
    np.savez(tmp_path / "some.npz", labels=[[1], [0]], concepts=["sea"], color=np.ones((2, 5)), faces=np.ones((2, 3)))
    loaded = load_kodak(tmp_path / "some.npz")
    assert (loaded.groups.names, loaded.groups.sizes) == (("faces", "color"), (3, 5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("color/0,sea\n1,1\n", "expected <group>/<column>"),
        ("color/0\n1\n", "expected a column label/<concept>"),
        ("label/sea\n1\n", "expected a group of Kodak"),
        ("smell/0,label/sea\n1,1\n", "'smell'"),
        ("color/0,label/sea\n1,x\n", "expected 2 numbers in each line"),
        ("color/0,label/sea\nnan,1\n", "finite numbers in the group 'color'"),
        ("color/0,label/sea\n1,7\n", "expected entries 1"),
    ],
)
def test_a_wrong_table_is_told(tmp_path, text, message):
    (tmp_path / "all.csv").write_text(text, encoding="utf-8")
    with pytest.raises(TagloomError, match=message):
        load_kodak(tmp_path / "all.csv")
