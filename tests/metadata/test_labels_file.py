import contextlib
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.exceptions import InvalidInputError, LabelsFileError
from tagloom.metadata import UnmatchedName, read_labels

PHOTOS = [b"a.jpg", b"b.jpg", b"sub/c.jpg", b"sub/d, e.jpg"]


@pytest.fixture
def read(tmp_path):
    def read(content, photos=PHOTOS, **options):
        path = tmp_path / "labels.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_labels(path, photos, **options)

    return read


def as_dict(labels, photos=PHOTOS):
    """Return {photo: {tag: state}} for the photos that have a known entry."""
    return {
        photos[row].decode(): dict(zip(labels.vocabulary, states.tolist(), strict=True))
        for row, states in enumerate(labels.Y)
        if (states != -1).any()
    }


EXPECTED = {
    "a.jpg": {"sea": 1, "sky": 1},
    "b.jpg": {"sea": 0, "sky": 0},
    "sub/d, e.jpg": {"sea": 1, "sky": 0},
}
TABLE = 'file,tags\na.jpg,sky;sea\nb.jpg,\n"sub/d, e.jpg",sea\n'


@pytest.mark.parametrize(
    "content",
    [
        TABLE,
        TABLE.replace("\n", "\r\n"),
        TABLE.replace("\n", "\r"),
        TABLE.encode("utf-8-sig"),
        TABLE.encode("utf-16"),
        b"\xfe\xff" + TABLE.encode("utf-16-be"),
        TABLE.encode("utf-32"),
        "\n\n" + TABLE,
        "sep=,\r\n" + TABLE,
        'File , TAGS\na.jpg, sea ;; sky;\n\nb.jpg\n,\n"sub/d, e.jpg",sea\n',
        'file;tags\na.jpg;"sky;sea"\nb.jpg;\nsub/d, e.jpg;sea\n',
        "file;tags\na.jpg;sky;sea\nb.jpg;\nsub/d, e.jpg;sea\n",
        "file\ttags\na.jpg\tsky;sea\nb.jpg\t\nsub/d, e.jpg\tsea\n",
        "file|tags\na.jpg|sky;sea\nb.jpg|\nsub/d, e.jpg|sea\n",
        'file,tag\na.jpg,sky\na.jpg,sea\na.jpg,sky\nb.jpg,\n"sub/d, e.jpg",sea\n',
        'file,tags\na.jpg,sky\na.jpg,sea\nb.jpg,!sky\n"sub/d, e.jpg",sea;!sky\n',
        'tags,rating,file\nsky;sea,5,a.jpg\n,1,b.jpg\nsea,,"sub/d, e.jpg"\n',
        '"file","tags"\n"a.jpg","sky;sea"\n"b.jpg",""\n"d, e.jpg","sea"\n',
        "file\ttag\tstate\na.jpg\tsky\tyes\na.jpg\tsea\t1\nb.jpg\tsky\tNo\nd, e.jpg\tsea\tTRUE\nb.jpg\tsea\tfalse\n",
        'file,tags\nA.JPG,sky;sea\n.\\b.jpg,\n"SUB\\D, E.jpg",sea\n',
    ],
)
def test_the_same_labels_in_many_spellings(read, content):
    labels = read(content)
    assert labels.vocabulary.names == ("sea", "sky")
    assert as_dict(labels) == EXPECTED
    assert labels.Y.dtype == np.int8
    assert labels.Y.shape == (4, 2)
    assert (labels.n_labeled, labels.unmatched, labels.absent_means) == (3, (), "no")
    assert labels.source == "labels.csv"


def test_absent_means_unknown(read):
    labels = read("file,tags\na.jpg,sky;!sea\nb.jpg,sea\n", absent_means="unknown")
    assert as_dict(labels) == {"a.jpg": {"sea": 0, "sky": 1}, "b.jpg": {"sea": 1, "sky": -1}}


def test_a_photo_without_tags_says_nothing_when_absence_is_unknown(read):
    labels = read("file,tags\na.jpg,sky\nb.jpg,\n", absent_means="unknown")
    assert as_dict(labels) == {"a.jpg": {"sky": 1}}


def test_unknown_state_is_unknown_although_absence_means_no(read):
    labels = read("file,tag,state\na.jpg,sky,yes\na.jpg,sea,unknown\nb.jpg,sea,yes\n")
    assert as_dict(labels) == {"a.jpg": {"sea": -1, "sky": 1}, "b.jpg": {"sea": 1, "sky": 0}}


def test_a_photo_of_which_only_unknown_is_said_is_unlabelled(read):
    labels = read("file,tag,state\na.jpg,sky,unknown\nb.jpg,sea,yes\n")
    assert as_dict(labels) == {"b.jpg": {"sea": 1, "sky": 0}}
    assert labels.n_labeled == 1


def test_two_spellings_are_one_tag_and_the_first_counts(read):
    labels = read("file,tags\na.jpg,Paris;  sea  side ;cafe\u0301\nb.jpg,paris;caf\u00e9\n")
    assert labels.vocabulary.names == ("Paris", "caf\u00e9", "sea side")
    assert labels.respelled == (("paris", "Paris"),)
    assert labels.Y[:2].tolist() == [[1, 1, 1], [1, 1, 0]]


def test_a_separator_splits_lists(read):
    labels = read('file,tags\na.jpg,"sky, sea; sand"\nb.jpg,"!sky,sea"\n', separator=",")
    assert as_dict(labels) == {"a.jpg": {"sand": 1, "sea": 1, "sky": 1}, "b.jpg": {"sand": 0, "sea": 0, "sky": 0}}


def test_marks_before_a_tag(read):
    labels = read("file,tag\na.jpg,!!wow\nb.jpg,!!!wow\nsub/c.jpg,! sky\n")
    assert labels.vocabulary.names == ("!wow", "sky")
    assert labels.Y[:3].tolist() == [[1, 0], [0, 0], [0, 0]]


def test_one_tag_per_row_keeps_semicolons(read):
    assert read("file,tag\na.jpg,sea; sky\n").vocabulary.names == ("sea; sky",)


def test_unmatched_names_are_collected_with_their_first_line(read):
    labels = read('file,tag\nx.jpg,sky\na.jpg,sky\n"two\nlines.jpg",sky\nx.jpg,sea\nsub/y.jpg,lake\n')
    assert labels.unmatched == (
        UnmatchedName("x.jpg", 2),
        UnmatchedName("two\nlines.jpg", 4),
        UnmatchedName("sub/y.jpg", 7),
    )
    assert labels.vocabulary.names == ("sky",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("sep=;\n", "no header"),
        ("file,tags\n", "no rows"),
        ("a.jpg,sky\n", r"line 1: expected a header .* got 'a.jpg', 'sky'"),
        ("file,notes\na.jpg,sky\n", r"got 'file', 'notes'; rename"),
        ("file,tags,tag\na.jpg,sky,\n", "one column tags or tag"),
        ("file,file,tags\na.jpg,a.jpg,sky\n", "one column file"),
        ("file,tags\na.jpg,sky,sea\n", "line 2: has 3 cells, the header has 2"),
        ("file,tags\na.jpg,sky\n,sea\n", "line 3: names no file"),
        ("file,tags\na.jpg,sky\nb.jpg,!\n", "line 3: a tag must not be blank"),
        ('file,tags\n\na.jpg,"sky\nb.jpg,sea\n', "line 3: cannot be split"),
        ('file,tags\na.jpg,"sky" sea\n', "line 2: cannot be split"),
        ("file,tags\na.jpg,sky\x07\n", "line 2: .*control characters"),
        ("file,tag,state\na.jpg,sky,maybe\n", "line 2: .*yes, no or unknown.*'maybe'"),
        ("file,tag,state\na.jpg,sky,\n", "line 2: .*yes, no or unknown"),
        ("file,tag,state\na.jpg,,yes\n", "line 2: .*no tag"),
        ("file,tag,state\na.jpg,!sky,yes\n", "line 2: says no to 'sky' by '!' and yes"),
        ("file,tags\na.jpg,sky\nb.jpg,\na.jpg,!sky\n", "line 4: says no .* line 2 says yes"),
        ("file,tags\na.jpg,sky;!sky\n", "line 2: says no .* line 2 says yes"),
        ("file,tag,state\na.jpg,sky,unknown\na.jpg,sky,no\n", "line 3: says no .* line 2 says unknown"),
        ("file,tags\na.jpg,\n", "no tag"),
        ("file,tags\nx.jpg,sky\ny.jpg,sky\n", r"none of its 2 file names.*'x.jpg' \(line 2\).*'a.jpg'"),
        (
            "file,tags\na.jpg,sky\nb.jpg,caf\u00e9\n".encode("cp1252"),
            "line 3: expected UTF-8.*'é'.*CSV UTF-8",
        ),
        ("file,tags\na.jpg,sky\n".encode("utf-16-le"), "UTF-16 without a byte-order mark"),
        (b"\xff\xfe\x00", "begins like UTF-16"),
        (b"PK\x03\x04rest", "workbook"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
        (b"\xff\xfef\0i\0\0\0", "binary"),
    ],
)
def test_errors_say_where_and_what(read, content, message):
    with pytest.raises(LabelsFileError, match=message):
        read(content)


def test_ambiguous_base_name_names_the_candidates(read):
    with pytest.raises(LabelsFileError, match=r"line 2: 'c.jpg' could be any of 2 photos: 'x/c.jpg', 'y/c.jpg'"):
        read("file,tags\nc.jpg,sky\n", photos=[b"x/c.jpg", b"y/c.jpg"])


def test_many_candidates_are_counted(read):
    photos = [b"%d/c.jpg" % number for number in range(9)]
    with pytest.raises(LabelsFileError, match=r"any of 9 photos: .* and 4 more"):
        read("file,tags\nc.jpg,sky\n", photos=photos)


def test_no_photos_at_all(read):
    with pytest.raises(LabelsFileError, match="holds no photos"):
        read("file,tags\na.jpg,sky\n", photos=[])


def test_absent_means_is_checked(read):
    with pytest.raises(InvalidInputError, match="absent_means"):
        read(TABLE, absent_means="perhaps")


def test_folder_missing_file_and_pipe(tmp_path):
    with pytest.raises(LabelsFileError, match="is a folder"):
        read_labels(tmp_path, PHOTOS)
    with pytest.raises(LabelsFileError, match="no labels file at"):
        read_labels(tmp_path / "none.csv", PHOTOS)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(LabelsFileError, match="not a regular file"):
            read_labels(tmp_path / "pipe", PHOTOS)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path):
    path = tmp_path / "labels.csv"
    with open(path, "wb") as handle:
        handle.truncate(300 * 2**20)
    with pytest.raises(LabelsFileError, match="300 MiB"):
        read_labels(path, PHOTOS)


CELLS = st.sampled_from(["", "sky", "sea", "snow"])


@given(st.lists(st.tuples(st.sampled_from(range(6)), CELLS), min_size=1, max_size=12), st.sampled_from(",;\t|"))
@settings(deadline=None, max_examples=40)
def test_pandas_agrees_about_long_tables(tmp_path_factory, rows, delimiter):
    photos = [b"folder, %d/it;s '%d'.jpg" % (number, number) for number in range(6)]
    table = pd.DataFrame([(photos[row].decode(), tag) for row, tag in rows], columns=["file", "tag"])
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    table.to_csv(path, sep=delimiter, index=False)
    if not table["tag"].any():
        with pytest.raises(LabelsFileError, match="no tag"):
            read_labels(path, photos)
        return
    labels = read_labels(path, photos)
    counts = pd.crosstab(table["file"], table["tag"]).drop(columns="", errors="ignore").clip(upper=1)
    assert list(labels.vocabulary) == list(counts.columns)
    expected = counts.reindex([name.decode() for name in photos]).fillna(-1).to_numpy()
    np.testing.assert_array_equal(labels.Y, expected)


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_labels_or_a_clear_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    path.write_bytes(b"file,tags\n" + data)
    with contextlib.suppress(LabelsFileError):
        labels = read_labels(path, PHOTOS)
        assert labels.Y.shape == (len(PHOTOS), len(labels.vocabulary))
