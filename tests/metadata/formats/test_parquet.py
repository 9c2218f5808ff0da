import importlib
import sys

import pytest

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.exceptions import LabelsFileError, TagloomError
from tagloom.metadata.formats import export_keywords, read_statements

SEA = Keyword.flat("sea")


@pytest.fixture
def parquet(pyarrow):
    """Return the module that reads and writes these files."""
    return importlib.import_module("pyarrow.parquet")


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TagloomError, match=r"tagloom\[parquet\]"):
        export_keywords([], tmp_path / "k.parquet", format="parquet")
    (tmp_path / "k.parquet").write_bytes(b"PAR1")
    with pytest.raises(TagloomError, match=r"tagloom\[parquet\]"):
        read_statements(tmp_path / "k.parquet", [b"a.jpg"])


def test_the_columns(tmp_path, parquet):
    export_keywords([PhotoKeywords(b"a.jpg", 4, 3, (), ((SEA, 0.5),))], tmp_path / "k.parquet", format="parquet")
    assert parquet.read_table(tmp_path / "k.parquet").to_pylist() == [
        {
            "file": "a.jpg",
            "media_type": None,
            "width": 4,
            "height": 3,
            "tags": ["sea"],
            "not_tags": [],
            "suggested": [{"tag": "sea", "score": 0.5}],
        }
    ]


def test_images_inside_the_table_are_known_by_their_paths(tmp_path, pyarrow, parquet):
    rows = [{"image": {"bytes": b"x" * 100, "path": "a.jpg"}, "label": "sea"}, {"image": None, "label": "sea"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "train.parquet")
    reading = read_statements(tmp_path / "train.parquet", [b"a.jpg"])
    assert reading.statements == (Statement(b"a.jpg", (SEA,)),)
    assert "train.parquet, row 2: names no photo" in reading.problems[0]


def test_what_is_no_table(tmp_path, pyarrow):
    (tmp_path / "k.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(LabelsFileError, match="cannot be read as a Parquet table"):
        read_statements(tmp_path / "k.parquet", [b"a.jpg"])
