import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom import TagVocabulary
from tagloom.core.vocabulary import normalize_tag
from tagloom.exceptions import InvalidInputError


def test_unicode_forms_and_blanks_are_one_tag():
    composed, decomposed = "café", unicodedata.normalize("NFD", "café")
    assert composed != decomposed
    assert normalize_tag(decomposed) == normalize_tag(f"  {composed}\t") == composed
    assert normalize_tag("old \u00a0 town") == "old town"


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    try:
        once = normalize_tag(text)
    except InvalidInputError:
        return
    assert normalize_tag(once) == once


@pytest.mark.parametrize("name", ["", "  ", "\n", "a\x00b", "\udcff", 3, None, "x" * 10_001])
def test_bad_tags_are_refused(name):
    with pytest.raises(InvalidInputError):
        normalize_tag(name)


def test_columns_and_names():
    tags = TagVocabulary(["sky", " sea  side", "Sky"])
    assert tags.names == ("sky", "sea side", "Sky")
    assert [tags.column(name) for name in ("sky", "sea side", "Sky")] == [0, 1, 2]
    assert "sea side" in tags
    assert "" not in tags
    assert 3 not in tags
    assert tags == TagVocabulary(tags)
    assert len(tags) == 3


def test_duplicates_name_both_columns():
    with pytest.raises(InvalidInputError, match=r"'sky' \(column 0\) and ' sky' \(column 1\)"):
        TagVocabulary(["sky", " sky"])


def test_union_is_sorted_and_distinct():
    assert TagVocabulary.union(["sea", "sky ", "sea"]).names == ("sea", "sky")
