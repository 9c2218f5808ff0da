import json

import pytest

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats import ReadOptions, export_keywords, read_statements

SEA, SAND = Keyword.flat("sea"), Keyword.flat("sand")
PHOTOS = [b"a.jpg", b"b.jpg", b"c.jpg"]


def _read(tmp_path, *lines, **options):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return read_statements(path, PHOTOS, options=ReadOptions(**options))


def test_the_fields_that_are_written(tmp_path):
    photos = [
        PhotoKeywords(b"a.jpg", 4, 3, (Keyword.parse("A|B"),), ((SEA, 0.5),), (SAND,)),
        PhotoKeywords(b"b.jpg", 0, 0, (), ()),
        PhotoKeywords(b"c.jpg", 0, 0, (), (), (SEA,)),
    ]
    export_keywords(photos, tmp_path / "k.jsonl", format="jsonl")
    assert [json.loads(line) for line in (tmp_path / "k.jsonl").read_text("utf-8").splitlines()] == [
        {
            "file": "a.jpg",
            "width": 4,
            "height": 3,
            "tags": ["A|B", "sea"],
            "not_tags": ["sand"],
            "suggested": [{"tag": "sea", "score": 0.5}],
        },
        {"file": "b.jpg", "width": 0, "height": 0, "tags": None, "not_tags": [], "suggested": []},
        {"file": "c.jpg", "width": 0, "height": 0, "tags": [], "not_tags": ["sea"], "suggested": []},
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"file": "a.jpg", "tags": ["sea"]},
        {"file_name": "a.jpg", "keywords": ["sea"]},
        {"path": "a.jpg", "label": "sea"},
        {"image": {"path": "a.jpg", "bytes": None}, "labels": ["sea"]},
        {"file": "a.jpg", "tags": ["sea", "sea"]},
    ],
)
def test_records_of_other_programs(tmp_path, record):
    assert _read(tmp_path, record).statements == (Statement(b"a.jpg", (SEA,)),)


def test_null_says_nothing_and_an_empty_list_says_none(tmp_path):
    reading = _read(tmp_path, {"file": "a.jpg", "tags": None}, {"file": "b.jpg", "tags": []})
    assert reading.statements == (Statement(b"b.jpg", ()),)


def test_what_is_denied_or_left_open(tmp_path):
    record = {"file": "a.jpg", "tags": ["sky"], "not_tags": ["sea"], "unknown_tags": ["sand"]}
    assert _read(tmp_path, record).statements == (Statement(b"a.jpg", (Keyword.flat("sky"),), (SEA,), (SAND,)),)


def test_the_column_asked_for(tmp_path):
    record = {"file": "a.jpg", "tags": ["sea"], "mine": ["sand"]}
    assert _read(tmp_path, record, column="mine").statements == (Statement(b"a.jpg", (SAND,)),)
    assert "expected the key yours" in _read(tmp_path, record, column="yours").problems[0]


def test_bad_lines_are_told_and_the_others_read(tmp_path):
    reading = _read(
        tmp_path,
        b"{",
        b"[" * 100_000,
        [1, 2],
        {"tags": ["sea"]},
        {"file": "a.jpg"},
        {"file": "a.jpg", "tags": [3, "", "a\u0000"]},
        {"file": "a.jpg", "tags": {"a": 1}},
        b"",
        {"file": "b.jpg", "tags": ["sea\u2028side"]},
    )
    assert reading.statements == (Statement(b"b.jpg", (Keyword.flat("sea side"),)),)
    assert [line.split(":")[0] for line in reading.problems] == [
        f"x.jsonl, line {number}" for number in (1, 2, 3, 4, 5, 6, 6, 6, 7)
    ]


def test_a_file_that_is_no_text(tmp_path):
    with pytest.raises(LabelsFileError, match="expected a JSON document"):
        _read(tmp_path, b"\x01" * 20 + b"\x00")


def test_no_line_is_no_problem(tmp_path):
    assert _read(tmp_path, b"").statements == ()
