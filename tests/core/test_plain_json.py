from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.core.keywords import Keyword
from tagloom.core.plain_json import from_plain, to_plain


@dataclass(frozen=True)
class Pair:
    left: object
    right: object = None


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.binary() | st.integers(), inner)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=20,
)


@given(plain)
def test_every_value_comes_back(value):
    assert from_plain(to_plain(value), [Pair]) == value


def test_sets_and_keywords_come_back():
    value = [frozenset({Keyword.parse("a|b"), Keyword.flat("c")}), Keyword.flat("c")]
    assert from_plain(to_plain(value), [Keyword]) == value


def test_only_classes_that_are_named_are_made():
    with pytest.raises(ValueError, match="not a value"):
        from_plain(to_plain(Keyword.flat("cat")))


@pytest.mark.parametrize("text", ["", "{", '{"a":1,"b":2}', "{}", '{"tuple":1}', '{"Pair":[1,2,3,4]}', "[" * 100_000])
def test_anything_else_is_one_error(text):
    with pytest.raises(ValueError):  # noqa: PT011 - which one is no matter
        from_plain(text, [Pair])


def test_anything_else_is_not_sent():
    with pytest.raises(TypeError, match="got a set"):
        to_plain({1})
