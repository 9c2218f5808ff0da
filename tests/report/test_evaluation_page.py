"""The section of a report that tells what was measured."""

import html.parser
import re

import pytest

from tagloom.report.data import ReportData, ReportPhoto
from tagloom.report.page import evaluation_fragment, write_report
from tests.made_evaluation import EVIL, make_evaluation


class Page(html.parser.HTMLParser):
    """Elements with their attributes, and all texts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def test_figures_are_told():
    page = Page(evaluation_fragment(make_evaluation()))
    for text in ("0.500 (0.400 to 0.600)", "75%", "–", "+0.050 (-0.010 to +0.100)", "colour & light", "+0.100", EVIL):
        assert text in page.texts
    assert "100 more labelled photos would bring about" in page.texts
    assert not {"script", "style", "img", "b"} & {tag for tag, _ in page.elements}
    assert not any("style" in attributes for _, attributes in page.elements)


def test_tags_that_cannot_be_found_again_do_not_hide_the_others():
    found = make_evaluation(n_repeated=1, repeated_map=0.7, repeated_map_low=0.65, repeated_map_high=0.8)
    texts = Page(evaluation_fragment(found)).texts
    first, second = texts.index("0.700 (0.650 to 0.800)"), texts.index("0.500 (0.400 to 0.600)")
    assert first < second
    assert "Mean average precision on held-out photos, ridge, tags with two examples or more" in texts
    assert "Mean average precision on held-out photos, ridge, all tags" in texts
    alone = make_evaluation(n_repeated=2, repeated_map=0.5, repeated_map_low=0.4, repeated_map_high=0.6)
    assert "Mean average precision on held-out photos, ridge" in Page(evaluation_fragment(alone)).texts


def test_which_suggestions_were_accepted_is_told():
    found = make_evaluation(
        wanted_precision=0.9, threshold=0.834, n_accepted=1234, precision_low=0.7, precision_high=0.801
    )
    texts = Page(evaluation_fragment(found)).texts
    at = texts.index("Suggestions above the threshold for 90% (0.83)")
    assert [text for text in texts[at:] if text.strip()][1:4] == ["1,234", "Precision of these", "75% (70% to 80%)"]
    assert found.accepted == "suggestions above the threshold for 90% (0.83)"
    assert make_evaluation(wanted_precision=0.9).accepted == "suggestions above the threshold for 90%"
    # What an older version has kept is of other thresholds.
    texts = Page(evaluation_fragment(make_evaluation())).texts
    at = texts.index("Suggestions above the threshold of their tag")
    assert [text for text in texts[at:] if text.strip()][1:4] == ["–", "Precision of these", "75%"]


def test_the_curve_is_drawn_to_scale():
    page = Page(evaluation_fragment(make_evaluation()))
    (line,) = [attributes["points"] for tag, attributes in page.elements if tag == "polyline"]
    points = [tuple(map(float, point.split(","))) for point in line.split()]
    assert len(points) == 3
    (x0, y0), (x1, y1), (x2, y2) = points
    assert (x2 - x1) == pytest.approx(2 * (x1 - x0), abs=0.2)  # 10, 20, 40 labels
    assert (y0 - y1) == pytest.approx(y1 - y2, abs=0.2)
    assert y2 < y0  # upwards
    (drawing,) = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert "0.300 with 10 labelled photos, 0.500 with 40" in drawing["aria-label"]


def test_what_was_not_measured_is_left_out():
    text = evaluation_fragment(make_evaluation(curve=(), forecast=None, groups=(), notes=()))
    assert "svg" not in text
    assert "would bring about" not in text
    assert "Feature group" not in text


def test_a_report_has_the_section_where_there_is_something_to_tell(tmp_path):
    photos = [ReportPhoto(b"a.jpg", given=["sea"])]
    without = write_report(tmp_path / "a.html", ReportData(photos=photos)).read_text()
    assert "measured-title" not in without
    report = write_report(tmp_path / "b.html", ReportData(photos=photos, measured=make_evaluation())).read_text()
    assert report.count('id="measured-title"') == 1
    assert not re.search(r"\{\{\w+\}\}", report)


def test_the_section_begins_with_a_note(tmp_path):
    page = Page(evaluation_fragment(make_evaluation(), f"Measured {EVIL}"))
    assert f"Measured {EVIL}" in page.texts
    data = ReportData(photos=[], measured=make_evaluation(), measured_note="before 3 further decisions")
    assert "<p>before 3 further decisions</p>" in write_report(tmp_path / "a.html", data).read_text()
