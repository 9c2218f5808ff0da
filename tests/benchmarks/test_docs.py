"""The committed pages are what the committed results generate."""

from benchmarks.report import pages, stale


def test_committed_pages_equal_what_the_results_generate():
    assert stale(pages()) == [], "run: python -m benchmarks.report"
