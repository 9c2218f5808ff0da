import json

import pytest

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.exceptions import InvalidInputError, LabelsFileError
from tagloom.metadata.formats import export_keywords, read_statements

SEA, SAND = Keyword.flat("sea"), Keyword.flat("sand")
PHOTOS = [b"a.jpg", b"b.jpg", b"c.jpg"]


def test_every_row_names_a_file_below_the_folder(tmp_path):
    photos = [PhotoKeywords(b"x/a.jpg", 4, 3, (SEA,), ()), PhotoKeywords(b"caf\xe9.jpg", 4, 3, (SEA,), ())]
    report = export_keywords(photos, tmp_path, format="huggingface")
    assert report.files == (tmp_path / "metadata.jsonl",)
    rows = [json.loads(line) for line in report.files[0].read_text("utf-8").splitlines()]
    assert [row["file_name"] for row in rows] == ["x/a.jpg"]
    assert report.n_photos == 1
    assert report.warnings == ("bytes://caf%E9.jpg is left out: its name is not UTF-8; rename the photo",)


def test_another_file_name_would_not_be_found(tmp_path):
    with pytest.raises(InvalidInputError, match=r"metadata\.jsonl"):
        export_keywords([], tmp_path / "labels.jsonl", format="huggingface")


def test_tables(tmp_path):
    path = tmp_path / "metadata.csv"
    path.write_text(
        'file_name,tags,note\na.jpg,sea;!sand,x\nb.jpg,"[""a;b"", ""sea""]",\nc.jpg,[1],\nc.jpg,[,\nc.jpg,sea,x,y\n',
        encoding="utf-8",
    )
    reading = read_statements(tmp_path, PHOTOS)
    assert reading.format == "huggingface"
    assert reading.statements == (
        Statement(b"a.jpg", (SEA,), (SAND,)),
        Statement(b"b.jpg", (Keyword.flat("a;b"), SEA)),
    )
    assert [line.split(":")[0] for line in reading.problems] == [f"metadata.csv, line {number}" for number in (4, 5, 6)]


def test_a_broken_quotation_mark_is_told(tmp_path):
    (tmp_path / "metadata.csv").write_text('file_name,tags\n"a"x.jpg,sea\nb.jpg,sea\n', encoding="utf-8")
    reading = read_statements(tmp_path / "metadata.csv", PHOTOS)
    assert reading.statements == (Statement(b"b.jpg", (SEA,)),)
    assert "metadata.csv, line 2: cannot be split" in reading.problems[0]


def test_a_table_that_names_no_photos(tmp_path):
    (tmp_path / "metadata.csv").write_text("name,tags\nb.jpg,sea\n", encoding="utf-8")
    with pytest.raises(LabelsFileError, match="expected a header with the column file_name"):
        read_statements(tmp_path, PHOTOS)


def test_a_folder_without_metadata(tmp_path):
    with pytest.raises(LabelsFileError, match=r"metadata\.jsonl"):
        read_statements(tmp_path, PHOTOS, format="huggingface")
    with pytest.raises(LabelsFileError, match=r"metadata\.jsonl"):
        read_statements(tmp_path, PHOTOS)
