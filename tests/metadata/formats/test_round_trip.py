"""What is written in any format comes back through our own reader."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords
from tagloom.exceptions import InvalidInputError
from tagloom.metadata import read_labels
from tagloom.metadata.formats import ExportOptions, ReadOptions, available_exporters, export_keywords, read_statements

TARGETS = {
    "csv": "out.csv",
    "tsv": "out.tsv",
    "jsonl": "out.jsonl",
    "parquet": "out.parquet",
    "huggingface": "metadata.jsonl",
    "coco": "coco.json",
    "cvat": "annotations.xml",
    "label-studio": "tasks.json",
    "fiftyone": "fiftyone",
    "webdataset": "out.tar",
}


@pytest.fixture(scope="module", params=TARGETS)
def format(request):
    """Return the name of a format that can be written here."""
    if request.param == "parquet":
        request.getfixturevalue("pyarrow")
    return request.param


def _is_level(text):
    try:
        Keyword.flat(text)
    except InvalidInputError:
        return False
    return True


LEVELS = st.one_of(
    st.text(min_size=1, max_size=8).filter(_is_level),
    st.sampled_from(
        ["a|b", "a\\", "\\|", '"', "'", "a,b", "a;b", "!no", "=1+1", "<&>", "é", "e\u0301", "日本", "[x]", "0"]
    ),
    st.just("x" * 1000),
)
KEYWORDS = st.lists(LEVELS, min_size=1, max_size=3).map(lambda levels: Keyword(tuple(levels)))
PARTS = st.one_of(
    st.sampled_from([b"a", b"a.jpg", b"a.png", b"b c.jpg", "é.jpg".encode(), b"caf\xe9.jpg", b"100%.jpg", b"-x.jpg"]),
    st.binary(min_size=1, max_size=6).filter(lambda p: b"/" not in p and b"\0" not in p and p not in (b".", b"..")),
)
NAMES = st.lists(PARTS, min_size=1, max_size=3).map(b"/".join)


@st.composite
def photo_sets(draw):
    photos = []
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        keywords = draw(st.lists(KEYWORDS, unique=True, max_size=5))
        kinds = [draw(st.sampled_from(["accepted", "suggested", "rejected"])) for _ in keywords]
        scores = st.floats(0, 1)
        photos.append(
            PhotoKeywords(
                name,
                draw(st.integers(0, 9)),
                draw(st.integers(0, 9)),
                tuple(k for k, kind in zip(keywords, kinds, strict=True) if kind == "accepted"),
                tuple((k, draw(scores)) for k, kind in zip(keywords, kinds, strict=True) if kind == "suggested"),
                tuple(k for k, kind in zip(keywords, kinds, strict=True) if kind == "rejected"),
            )
        )
    return photos


def _expected(photos, format, *, include_suggested):
    """Return what has to come back: {photo: (yes, no)} of all photos of which something is said."""
    found = {}
    for photo in photos:
        yes = {*photo.accepted, *(keyword for keyword, _ in photo.suggested if include_suggested)}
        no = set() if format == "cvat" else set(photo.rejected)
        is_lost = format == "huggingface" and not _is_utf8(photo.photo)
        if (yes or no) and not is_lost:
            found[photo.photo] = (yes, no)
    return found


def _is_utf8(name):
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_every_exporter_is_tried():
    assert set(TARGETS) == set(available_exporters())


TRICKY = [
    PhotoKeywords(b"a.jpg", 4, 3, (Keyword.parse("A|B"), Keyword.flat("A|B")), ((Keyword.flat("A"), 0.5),)),
    PhotoKeywords(b"a.png", 0, 0, (), (), (Keyword.flat("A"),)),
    PhotoKeywords(b"a", 0, 0, (), ()),
    PhotoKeywords(b"x/caf\xe9\n100%.jpg", 1, 1, (Keyword.flat("y" * 1000),), ()),
    PhotoKeywords("x/café\x01 100%.jpg".encode(), 1, 1, (Keyword.flat("y"),), ()),
]


@given(photos=photo_sets())
@example(photos=TRICKY)
@settings(deadline=None, max_examples=15)
def test_keywords_come_back(tmp_path_factory, format, photos):
    target = tmp_path_factory.mktemp("export") / TARGETS[format]
    report = export_keywords(iter(photos), target, format=format)
    assert all(file.is_file() for file in report.files)
    # Names that look alike are photos too, so that only the exact name can be right.
    names = sorted({*(photo.photo for photo in photos), b"A.JPG", b"a.jpeg", b"%E9.jpg"})
    for include in (False, True):
        reading = read_statements(target, names, format=format, options=ReadOptions(include_suggested=include))
        assert (reading.problems, reading.unmatched) == ((), ())
        found = {said.photo: (set(said.yes), set(said.no)) for said in reading.statements}
        assert found == _expected(photos, format, include_suggested=include)
    kept = [photo for photo in photos if format != "huggingface" or _is_utf8(photo.photo)]
    assert reading.n_suggested == sum(len(photo.suggested) for photo in kept) == report.n_suggested
    assert len(report.warnings) >= len(photos) - len(kept)


def test_suggestions_can_be_left_out(tmp_path, format):
    target = tmp_path / TARGETS[format]
    report = export_keywords(TRICKY, target, format=format, options=ExportOptions(include_suggested=False))
    assert report.n_suggested == 0
    reading = read_statements(target, [photo.photo for photo in TRICKY], format=format)
    assert reading.n_suggested == 0
    assert report.n_accepted == sum(len(said.yes) for said in reading.statements)


def test_the_same_keywords_give_the_same_bytes(tmp_path, format):
    written = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        report = export_keywords(TRICKY, tmp_path / name / TARGETS[format], format=format)
        written.append([file.read_bytes() for file in report.files])
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "photos",
    [
        [PhotoKeywords(b"a.jpg", 1, 1, (), ((Keyword.flat("x"), float("nan")),))],
        [PhotoKeywords(b"a.jpg", 1, 1, (Keyword.flat("x"),), ())] * 2,
        [PhotoKeywords(b"../a.jpg", 1, 1, (Keyword.flat("x"),), ())],
        [PhotoKeywords(b"/a.jpg", 1, 1, (Keyword.flat("x"),), ())],
        [PhotoKeywords(b"a.jpg", 1, 1, (Keyword.flat("x"),), (), (Keyword.flat("x"),))],
    ],
)
def test_what_cannot_be_written_changes_nothing(tmp_path, format, photos):
    good = [PhotoKeywords(b"good.jpg", 1, 1, (Keyword.flat("x"),), ())]
    target = tmp_path / TARGETS[format]
    before = {file: file.read_bytes() for file in export_keywords(good, target, format=format).files}
    with pytest.raises(InvalidInputError):
        export_keywords(photos, target, format=format)
    assert {file: file.read_bytes() for file in before} == before
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(before)


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_the_table_is_a_labels_file(tmp_path, format):
    target = tmp_path / TARGETS[format]
    export_keywords(TRICKY, target, format=format, options=ExportOptions(include_suggested=False))
    labels = read_labels(target, [photo.photo for photo in TRICKY], absent_means="unknown")
    assert labels.vocabulary.names == tuple(sorted({"A", "A|B", "A\\|B", "y", "y" * 1000}))
    assert labels.Y[1, labels.vocabulary.column("A")] == 0
    assert labels.Y[0, labels.vocabulary.column("A|B")] == 1
    assert labels.n_labeled == 4
