import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.core.keywords import Keyword
from tagloom.core.vocabulary import normalize_tag
from tagloom.exceptions import InvalidInputError


def is_level(text):
    try:
        Keyword.flat(text)
    except InvalidInputError:
        return False
    return True


levels = st.one_of(st.text(min_size=1), st.text("ab|\\ /,é", min_size=1)).filter(is_level)
paths = st.lists(levels, min_size=1, max_size=5).map(tuple)


@given(paths)
def test_text_and_parse_are_inverse(path):
    keyword = Keyword(path)
    assert Keyword.parse(keyword.text) == keyword
    assert Keyword.parse(keyword.text).path == tuple(normalize_tag(level) for level in path)


@given(st.lists(paths, min_size=2, max_size=8))
def test_text_is_the_identity(some):
    keywords = [Keyword(path) for path in some]
    assert len(set(keywords)) == len({keyword.text for keyword in keywords})


@given(paths)
def test_text_is_a_tag(path):
    # The store keeps texts where it kept tag names: normalising one again must not change it.
    text = Keyword(path).text
    assert normalize_tag(text) == text


@given(levels.filter(lambda text: "|" not in text and "\\" not in text))
def test_a_plain_name_is_its_own_text(name):
    assert Keyword.flat(name).text == Keyword.flat(name).name == normalize_tag(name)


@given(st.text("ab|\\", max_size=8))
def test_any_text_parses_to_itself_or_is_refused(text):
    try:
        keyword = Keyword.parse(text)
    except InvalidInputError:
        return
    assert keyword.text == text


def test_escapes():
    assert Keyword((r"a|b", "c\\")).text == r"a\|b|c\\"
    assert Keyword.parse(r"a\|b|c\\").path == ("a|b", "c\\")
    assert Keyword.flat("a|b").path == ("a|b",)
    assert Keyword.parse(r"\\|b").path == ("\\", "b")


def test_levels_are_normalised():
    decomposed = unicodedata.normalize("NFD", "café")
    assert Keyword((f" {decomposed} ", "old \u00a0 town")) == Keyword(("café", "old town"))
    assert Keyword.parse(" a | b ") == Keyword(("a", "b"))


def test_name_order_and_str():
    keyword = Keyword(("Animals", "Cat"))
    assert keyword.name == "Cat"
    assert str(keyword) == "Animals|Cat"
    assert sorted([Keyword(("b",)), Keyword(("a", "z")), Keyword(("a",))])[0] == Keyword.flat("a")


@pytest.mark.parametrize("path", [(), ("",), ("a", " "), "cat", ("a\x00",), ("\udcff",), ("\uffff",), (3,)])
def test_bad_paths_are_refused(path):
    with pytest.raises(InvalidInputError):
        Keyword(path)


@pytest.mark.parametrize("text", ["", "a|", "|a", "a||b", "a\\", r"a\b", 3])
def test_bad_texts_are_refused(text):
    with pytest.raises(InvalidInputError):
        Keyword.parse(text)


@pytest.mark.parametrize(("text", "number"), [("a||b", 2), ("|a", 1), ("a| ", 2)])
def test_a_blank_level_is_named(text, number):
    with pytest.raises(InvalidInputError) as caught:
        Keyword.parse(text)
    assert f"got {text!r}, whose level {number} is" in str(caught.value)


def test_a_wrong_escape_is_told_in_words_of_a_person():
    with pytest.raises(InvalidInputError, match=r"after each backslash") as caught:
        Keyword.parse(r"a\b")
    assert "Keyword.flat" not in str(caught.value)


@pytest.mark.parametrize("path", [("x" * 10_001,), ("x" * 6000, "y" * 6000), ("x",) * 20_000])
def test_a_keyword_has_an_end(path):
    with pytest.raises(InvalidInputError) as refused:
        Keyword(path)
    assert len(str(refused.value)) < 200
    with pytest.raises(InvalidInputError) as refused:
        Keyword.parse("|".join(path))
    assert len(str(refused.value)) < 200
