import os
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.exceptions import InvalidInputError
from tagloom.metadata import name_from_text, name_to_text
from tagloom.metadata.names import PhotoMatcher, name_to_line


@given(st.binary(min_size=1))
@settings(deadline=None)
def test_any_bytes_come_back(name):
    text = name_to_text(name)
    text.encode("utf-8")
    assert name_from_text(text) == name


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
@settings(deadline=None)
def test_utf8_names_stay_as_they_are(text):
    assert name_to_text(text.encode()) == text


def test_text_of_a_name_that_is_not_utf8():
    assert name_to_text(b"caf\xe9 100%.jpg") == "bytes://caf%E9 100%25.jpg"


def test_a_name_that_looks_percent_encoded_is_not_touched():
    assert name_to_text(b"my%20photo%E9.jpg") == "my%20photo%E9.jpg"
    assert PhotoMatcher([b"my%20photo.jpg", b"my photo.jpg"]).find("my%20photo.jpg") == [0]


COMPOSED = "caf\u00e9.jpg".encode()
DECOMPOSED = unicodedata.normalize("NFD", "café.jpg").encode()


@pytest.mark.parametrize(
    ("photos", "text", "expected"),
    [
        ([b"a.jpg", b"sub/a.jpg"], "a.jpg", [0]),
        ([b"sub/a.jpg"], "./sub/a.jpg", [0]),
        ([b"sub/a.jpg"], ".\\sub\\a.jpg", [0]),
        ([b"sub/a.jpg"], "  sub/a.jpg ", [0]),
        ([b"sub\\a.jpg"], "sub/a.jpg", [0]),
        ([b"sub/a.jpg", b"sub\\a.jpg"], "sub\\a.jpg", [1]),
        ([b" a.jpg", b"a.jpg"], " a.jpg", [0]),
        ([b"sub/a.jpg"], "a.jpg", [0]),
        ([b"sub/a.jpg"], "a", []),
        ([b"sub/a.jpg"], "other/a.jpg", []),
        ([b"x/a.jpg", b"y/a.jpg"], "a.jpg", [0, 1]),
        ([b"x/a.jpg", b"y/b.jpg"], "X/A.JPG", [0]),
        ([b"x/a.jpg", b"x/A.jpg"], "X/A.JPG", [0, 1]),
        ([b"x/a.jpg", b"x/A.jpg"], "x/A.jpg", [1]),
        ([b"x/IMG_1.JPG"], "img_1.jpg", [0]),
        ([b"x/IMG_1.JPG", b"y/img_1.jpg"], "img_1.jpg", [1]),
        ([DECOMPOSED], "café.jpg", [0]),
        ([COMPOSED], unicodedata.normalize("NFD", "café.jpg"), [0]),
        ([DECOMPOSED, COMPOSED], "caf\u00e9.jpg", [1]),
        ([b"x/" + DECOMPOSED], "CAFÉ.jpg", [0]),
        ([b"caf\xe9.jpg", COMPOSED], "bytes://caf%E9.jpg", [0]),
        ([b"x/caf\xe9.jpg"], "bytes://caf%E9.jpg", [0]),
        ([b"a.jpg"], "", []),
        ([b"a.jpg"], ".", []),
        ([b"a.jpg"], "..", []),
        ([], "a.jpg", []),
    ],
)
def test_which_photo_a_name_means(photos, text, expected):
    assert PhotoMatcher(photos).find(text) == expected


def test_photos_must_be_bytes_and_distinct():
    with pytest.raises(InvalidInputError, match="fsencode"):
        PhotoMatcher(["a.jpg"])
    with pytest.raises(InvalidInputError, match="distinct"):
        PhotoMatcher([b"a.jpg", b"b.jpg", b"a.jpg"])


def test_system_names_are_understood():
    assert PhotoMatcher([os.fsencode("ünder.jpg")]).find("ünder.jpg") == [0]


@given(st.binary(min_size=1), st.sampled_from(["utf-8", "ascii", "latin-1"]))
@settings(deadline=None)
def test_a_line_holds_any_name(name, encoding):
    line = name_to_line(name, encoding)
    assert name_from_text(line) == name
    assert line.isprintable()
    assert line.encode(encoding)
