import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.metadata.formats.json_text import iter_entries, parse_line, write_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def _walk(text):
    problems = []
    entries = list(iter_entries(text, lambda place, what: problems.append((place, what))))
    return entries, problems


def _rebuilt(entries, document):
    """Put the entries together again, as the document's own parser would have them."""
    if not isinstance(document, dict):
        values = [entry.value for entry in entries]
        return values if isinstance(document, list) else values[0]
    built = {key: type(value)() if isinstance(value, list | dict) else None for key, value in document.items()}
    for entry in entries:
        if isinstance(document[entry.section], list):
            built[entry.section].append(entry.value)
        elif isinstance(document[entry.section], dict):
            built[entry.section][entry.key] = entry.value
        else:
            built[entry.section] = entry.value
    return built


@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_the_entries_are_those_of_the_json_module(document, indent):
    entries, problems = _walk(json.dumps(document, indent=indent))
    assert problems == []
    assert _rebuilt(entries, document) == document


def test_entries_know_their_lines():
    text = '{"a": [\n{"x":\n1},\n 2], "b"\n: {"k":\n 3},\n"c": 4}'
    entries, _ = _walk(text)
    assert [(e.section, e.key, e.value, e.line) for e in entries] == [
        ("a", "", {"x": 1}, 2),
        ("a", "", 2, 4),
        ("b", "k", 3, 6),
        ("c", "", 4, 7),
    ]


@pytest.mark.parametrize(
    ("text", "line", "n_before"),
    [
        ('[1,\n2,\n{"a": }]', 3, 2),
        ("[1,\n2", 2, 2),
        ("[1 2]", 1, 1),
        ("[1]\n]", 2, 1),
        ('{"a": [1],\n b: 2}', 2, 1),
        ('{"a" [1]}', 1, 0),
        ("", 1, 0),
        ("[1,\n" + "[" * 100_000, 2, 1),
        ("[1,\n" + '{"a":' * 100_000, 2, 1),
        ("[1,\n" + "9" * 5000 + "]", 2, 1),
    ],
)
def test_broken_text_is_told_and_what_came_before_is_good(text, line, n_before):
    entries, problems = _walk(text)
    assert len(entries) == n_before
    assert [place for place, _ in problems] == [f"line {line}"]


@given(st.text(alphabet='[]{},:"01a \n\\', max_size=30))
def test_no_text_is_too_odd(text):
    entries, problems = _walk(text)
    try:
        document = json.loads(text)
    except ValueError:
        assert len(problems) == 1
    else:
        assert problems == []
        if not isinstance(document, dict):
            assert _rebuilt(entries, document) == document


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, "{", "'a'"])
def test_a_line_that_is_not_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse_line(text)


def test_only_numbers_that_json_has():
    assert write_json({"é": 0.5}) == '{"é":0.5}'.encode()
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(float("nan"))
