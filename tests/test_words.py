"""Everything a person reads keeps to plain words: help, messages, the page, the report, docstrings and the docs."""

import pytest

from tests.pages import ROOT
from tools.phrases import avoided, pages, prose
from tools.strings import KINDS, collect


@pytest.mark.parametrize("kind", KINDS)
def test_strings_keep_to_plain_words(kind):
    texts = collect([kind])[kind]
    assert len(texts) > 100
    assert {places[0]: avoided(text) for text, places in texts.items() if avoided(text)} == {}


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_keep_to_plain_words(page):
    assert avoided(prose(page.read_text(encoding="utf-8"))) == []


def test_a_phrase_is_found_across_lines_and_not_inside_words_or_code():
    assert avoided("photos of\nwhich nothing is said") == ["of which", "nothing is said"]
    assert avoided("the noes; No es") == ["noes"]
    assert avoided(prose("`so that`\n```\nanew\n```\nresolved again, heroes")) == []


@pytest.mark.parametrize(
    "page",
    [
        path
        for folder in ("tutorials", "how-to", "explanation")
        for path in sorted((ROOT / "docs" / folder).glob("*.md"))
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_pages_are_short_and_begin_with_what_to_type(page):
    text = page.read_text(encoding="utf-8")
    assert len(prose(text).split()) <= 600
    before_code = text.split("```")[0]
    is_about_ideas = "```" not in text or page.parent.name == "explanation"
    assert is_about_ideas or len(before_code.split()) <= 120
