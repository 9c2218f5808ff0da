import pytest

from tagloom.exceptions import LabelsFileError
from tagloom.metadata.labels_rows import parse_tag, read_rows

TABLE = 'file,tag,state\na.jpg,sea,yes\nb.jpg,sea,perhaps\nc.jpg,"se"a,yes\nd.jpg,sea,no,extra\n\ne.jpg,sea,no\n'


def test_bad_rows_are_reported_with_their_lines_and_the_others_read():
    lines = []
    rows = list(read_rows("t.csv", TABLE, report=lines.append))
    assert [(row.line, row.name, row.states) for row in rows] == [
        (2, "a.jpg", (("sea", 1),)),
        (7, "e.jpg", (("sea", 0),)),
    ]
    assert [line.split(":")[0] for line in lines] == ["t.csv, line 3", "t.csv, line 4", "t.csv, line 5"]


def test_without_anyone_to_tell_the_first_bad_row_is_an_error():
    with pytest.raises(LabelsFileError, match="line 3: the state of 'sea' must be yes, no or unknown"):
        list(read_rows("t.csv", TABLE))


def test_a_header_that_cannot_be_understood_is_an_error_in_any_case():
    with pytest.raises(LabelsFileError, match="expected a header"):
        list(read_rows("t.csv", "name,words\na.jpg,sea\n", report=lambda line: None))


def test_the_source_column_comes_along():
    rows = read_rows("t.csv", "file;tags;source\na.jpg;sea; suggested \nb.jpg;sea;\n")
    assert [row.source for row in rows] == ["suggested", ""]
    assert [row.source for row in read_rows("t.csv", "file,tags\na.jpg,sea\n")] == [""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sea", ("sea", 1)),
        ("!sea", ("sea", 0)),
        ("!!sea", ("!sea", 1)),
        ("!!!sea", ("!sea", 0)),
        (" a  b ", ("a b", 1)),
    ],
)
def test_marks_before_a_tag(text, expected):
    assert parse_tag(text) == expected
