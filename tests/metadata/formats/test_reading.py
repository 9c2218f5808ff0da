import pytest

from tagloom.core.keywords import Keyword
from tagloom.core.statements import Statement
from tagloom.exceptions import InvalidInputError, LabelsFileError
from tagloom.metadata.formats import ReadOptions, read_statements
from tagloom.metadata.formats.labels import MAX_PROBLEMS, Notes, Said, keyword_from_label
from tagloom.metadata.formats.reading import collect

SEA, SAND = Keyword.flat("sea"), Keyword.flat("sand")


def _collect(said, photos, **options):
    return collect("test", said, photos, ReadOptions(**options), Notes("f"))


def test_rows_of_one_photo_become_one_statement():
    reading = _collect([Said("line 1", "a.jpg", (SEA,)), Said("line 2", "./a.jpg", (), (SAND,))], [b"a.jpg"])
    assert reading.statements == (Statement(b"a.jpg", (SEA,), (SAND,)),)


def test_a_contradiction_is_left_open_and_told():
    reading = _collect([Said("line 1", "a.jpg", (SEA, SAND)), Said("line 2", "a.jpg", (), (SEA,))], [b"a.jpg"])
    assert reading.statements == (Statement(b"a.jpg", (SAND,), (), (SEA,)),)
    assert reading.problems == (
        "f, line 2: says no to 'sea' for 'a.jpg', but line 1 says yes; left undecided; keep one of the two",
    )


def test_a_person_stands_against_a_model():
    said = [Said("1", "a.jpg", (SEA, SAND), suggested=True), Said("2", "a.jpg", (), (SEA,))]
    assert _collect(said, [b"a.jpg"]).statements == (Statement(b"a.jpg", (), (SEA,)),)
    reading = _collect(said, [b"a.jpg"], include_suggested=True)
    assert reading.statements == (Statement(b"a.jpg", (SAND,), (SEA,)),)
    assert reading.n_suggested == 1


def test_unknown_alone_is_no_label_and_nothing_at_all_is_one():
    said = [Said("1", "a.jpg", unknown=(SEA,)), Said("2", "b.jpg"), Said("3", "c.jpg", (SEA,), unknown=(SAND,))]
    assert _collect(said, [b"a.jpg", b"b.jpg", b"c.jpg"]).statements == (
        Statement(b"b.jpg", ()),
        Statement(b"c.jpg", (SEA,), (), (SAND,)),
    )


def test_names_that_mean_no_photo_or_several():
    said = [Said("line 1", "x.jpg", (SEA,)), Said("line 2", "a.jpg", (SEA,)), Said("line 3", "\ud800.jpg", (SEA,))]
    reading = _collect(said, [b"p/a.jpg", b"q/a.jpg"])
    assert reading.statements == ()
    assert reading.unmatched == ("x.jpg", "\\ud800.jpg")
    assert "could be any of 2 photos" in reading.problems[0]


@pytest.mark.parametrize(
    "name", ["/home/me/pictures/p/a.jpg", "C:\\pictures\\p\\a.jpg", "https://example.org/x/p/a.jpg", "p/a.jpg"]
)
def test_a_whole_path_is_found_by_its_end(name):
    assert _collect([Said("1", name, (SEA,))], [b"p/a.jpg", b"q/a.jpg"]).statements == (Statement(b"p/a.jpg", (SEA,)),)


def test_a_name_without_extension():
    photos = [b"p/a.jpg", b"p/b.jpg", b"p/b.png"]
    reading = _collect([Said("1", "p/a", (SEA,), stem=True), Said("2", "p/b", (SEA,), stem=True)], photos)
    assert reading.statements == (Statement(b"p/a.jpg", (SEA,)),)
    assert "could be any of 2 photos" in reading.problems[0]
    assert _collect([Said("1", "p/a", (SEA,))], photos).unmatched == ("p/a",)


def test_problems_are_not_listed_without_end():
    notes = Notes("f")
    for number in range(MAX_PROBLEMS + 5):
        notes.problem(f"line {number}", "wrong")
    assert len(notes.lines) == MAX_PROBLEMS + 1
    assert notes.lines[-1] == "f: 5 more problems of this kind are not listed"


@pytest.mark.parametrize(
    ("label", "path"),
    [
        ("a|b", ("a", "b")),
        ("a\\|b", ("a|b",)),
        ("a\\b", ("a\\b",)),
        ("a||b", ("a||b",)),
        (["a|b", "c"], ("a|b", "c")),
        (" a ", ("a",)),
    ],
)
def test_labels_of_other_programs(label, path):
    assert keyword_from_label(label).path == path


@pytest.mark.parametrize("label", ["", "a\nb\x00", 3, None, [], [1], {"a": 1}, "\ud800"])
def test_labels_that_are_no_keywords(label):
    with pytest.raises(InvalidInputError):
        keyword_from_label(label)


def test_an_unknown_format_is_told_with_what_there_is(tmp_path):
    with pytest.raises(InvalidInputError, match="reads no format 'yaml'; choose one of huggingface, csv"):
        read_statements(tmp_path / "x", [], format="yaml")
    (tmp_path / "notes.docx").write_bytes(b"PK")
    with pytest.raises(LabelsFileError, match=r"cannot tell the format of notes\.docx"):
        read_statements(tmp_path / "notes.docx", [])
