import csv

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement
from tagloom.metadata.formats import ReadOptions, export_keywords, read_statements

SEA, SAND = Keyword.flat("sea"), Keyword.flat("sand")


def test_another_csv_reader_sees_the_same_cells(tmp_path):
    photos = [
        PhotoKeywords(b'a,"b"\r.jpg', 1, 1, (Keyword.flat("=SUM(A1)"),), ((Keyword.parse("A|B"), 0.25),), (SEA,)),
        PhotoKeywords(b"nothing.jpg", 1, 1, (), ()),
    ]
    export_keywords(photos, tmp_path / "k.csv", format="csv")
    with open(tmp_path / "k.csv", encoding="utf-8", newline="") as handle:
        assert list(csv.reader(handle)) == [
            ["file", "tag", "source", "score", "media_type"],
            ['a,"b"\r.jpg', "=SUM(A1)", "accepted", "", ""],
            ['a,"b"\r.jpg', "A|B", "suggested", "0.25", ""],
            ['a,"b"\r.jpg', "!sea", "rejected", "", ""],
        ]


def test_a_labels_file_as_people_write_it(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text(
        "file\ttags\tstate\na.jpg\tsea;sand\tyes\nb.jpg\t\t\nc.jpg\tsea\tmaybe\nd.jpg\tsea\tunknown\n", encoding="utf-8"
    )
    reading = read_statements(path, [b"a.jpg", b"b.jpg", b"c.jpg", b"d.jpg"])
    assert reading.format == "tsv"
    assert reading.statements == (Statement(b"a.jpg", (SEA, SAND)), Statement(b"b.jpg", ()))
    assert len(reading.problems) == 1
    assert "labels.tsv, line 4" in reading.problems[0]


def test_a_suggestion_is_no_decision_unless_asked(tmp_path):
    path = tmp_path / "keywords.csv"
    path.write_text("file,tag,source\na.jpg,sea,Suggested\na.jpg,sand,from my phone\n", encoding="utf-8")
    assert read_statements(path, [b"a.jpg"]).statements == (Statement(b"a.jpg", (SAND,)),)
    asked = read_statements(path, [b"a.jpg"], options=ReadOptions(include_suggested=True))
    assert set(asked.statements[0].yes) == {SEA, SAND}
