"""Comparing methods from the page: a job with progress, and a table of what it found."""

import shutil

import pytest

from tagloom.learning.compare import COMPARED
from tests.web.test_browser_decide import reviewing

pytestmark = pytest.mark.slow

ROWS = "rows => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim()))"


@pytest.fixture
def photos(album, tmp_path):
    return shutil.copytree(album, tmp_path / "photos")


def test_methods_are_compared_and_shown_the_best_first(photos, browser, monkeypatch):
    monkeypatch.setenv("TAGLOOM_BUDGET_SECONDS", "1")
    with reviewing(photos, browser) as review:
        page = review.visit.open()
        page.click("[aria-label='Running work']")
        page.click("text=Compare methods")
        page.click("[data-testid=show-methods]", timeout=240_000)
        rows = page.locator("[data-testid=methods] tbody tr").evaluate_all(ROWS)
        assert {row[0] for row in rows} == set(COMPARED)
        *measured, without = rows
        assert measured[0][3] == "best"
        figures = [float(row[2].split()[0]) for row in measured]
        assert figures == sorted(figures, reverse=True)
        assert without[0] == "topics"  # colours are no visual words
        assert without[1].startswith("Not compared: this method needs visual words")
