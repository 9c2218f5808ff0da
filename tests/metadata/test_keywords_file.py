import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.core.tag_names import fold_tag
from tagloom.core.vocabulary import normalize_tag
from tagloom.exceptions import InvalidInputError
from tagloom.metadata import KeywordRow, read_labels, write_keywords


def _is_tag(text):
    try:
        return normalize_tag(text) == text
    except InvalidInputError:
        return False


COMPONENTS = st.binary(min_size=1, max_size=8).filter(
    lambda part: b"/" not in part and b"\0" not in part and part not in (b".", b"..")
)
NAMES = st.lists(COMPONENTS, min_size=1, max_size=3).map(b"/".join)
TAGS = st.one_of(
    st.text(min_size=1, max_size=6).filter(_is_tag), st.sampled_from(["!no", "!!", "!", "a;b", '"', "=1+1"])
)
# Of two spellings of one tag the first counts, so that a table has one of each.
TABLES = st.lists(TAGS, unique_by=fold_tag, min_size=1, max_size=8).flatmap(
    lambda tags: st.dictionaries(NAMES, st.sets(st.sampled_from(tags), min_size=1, max_size=3), min_size=1, max_size=5)
)


@given(TABLES)
@settings(deadline=None, max_examples=60)
def test_keywords_come_back_through_read_labels(tmp_path_factory, tags_of):
    path = tmp_path_factory.mktemp("keywords") / "keywords.csv"
    rows = [
        KeywordRow(name, tag, 1 / rank, rank)
        for name, tags in tags_of.items()
        for rank, tag in enumerate(sorted(tags), start=1)
    ]
    assert write_keywords(path, iter(rows)) == len(rows)
    # Photos that look alike are in the folder too, so that only the exact name can be right.
    photos = sorted({*tags_of, *(name.lower() for name in tags_of), b"%E9.jpg"})
    labels = read_labels(path, photos)
    assert labels.unmatched == ()
    assert labels.vocabulary.names == tuple(sorted(set().union(*tags_of.values())))
    for row, name in enumerate(photos):
        found = {tag for tag, has in zip(labels.vocabulary, labels.Y[row], strict=True) if has == 1}
        assert found == tags_of.get(name, set())


def test_another_csv_reader_sees_the_same_cells(tmp_path):
    path = tmp_path / "keywords.csv"
    rows = [(b'a,"b"\r.jpg', "sky", np.float32(0.1), 1, True), ("é\n.jpg".encode(), "=SUM(A1)", -2.5, 2)]
    write_keywords(path, [KeywordRow(*row) for row in rows])
    with open(path, encoding="utf-8", newline="") as handle:
        cells = list(csv.reader(handle))
    assert cells == [
        ["file", "tag", "score", "rank", "suggested"],
        ['a,"b"\r.jpg', "sky", "0.1", "1", "yes"],
        ["é\n.jpg", "=SUM(A1)", "-2.5", "2", "no"],
    ]
    assert path.read_bytes().endswith(b",2,no\n")


@pytest.mark.parametrize(
    "row",
    [
        (b"a.jpg", "sky", float("nan"), 1),
        (b"a.jpg", "sky", float("inf"), 1),
        (b"a.jpg", "sky", 0.5, 0),
        (b"a.jpg", " ", 0.5, 1),
        (b"a.jpg", "a\nb\x07", 0.5, 1),
        ("a.jpg", "sky", 0.5, 1),
    ],
)
def test_a_bad_row_leaves_the_old_file(tmp_path, row):
    path = tmp_path / "keywords.csv"
    path.write_text("old")
    with pytest.raises(InvalidInputError):
        write_keywords(path, [(b"b.jpg", "sea", 1.0, 1), row])
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["keywords.csv"]


def test_no_rows_is_a_table_with_a_header(tmp_path):
    path = tmp_path / "keywords.csv"
    assert write_keywords(path, []) == 0
    assert path.read_text() == "file,tag,score,rank,suggested\n"
