"""The section of a report that tells what was measured."""

import html.parser
import re

import pytest

from tagloom.tuning.group_figures import GroupFigure
from tagloom.tuning.label_curve import Forecast
from tagloom.workflow.evaluation_page import evaluation_fragment
from tagloom.workflow.project_evaluate import Bin, CurvePoint, Evaluation, TagFigures
from tagloom.workflow.report import ReportData, ReportPhoto, write_report

EVIL = "</script><img src=x onerror=alert(2)>\"'&"


def make_evaluation(**changes):
    given = {
        "method": "ridge",
        "folds": 5,
        "level": 0.95,
        "n_photos": 100,
        "n_labeled": 40,
        "n_tags": 2,
        "map": 0.5,
        "map_low": 0.4,
        "map_high": 0.6,
        "precision": 0.75,
        "recall": None,
        "tags": (
            TagFigures(EVIL, 10, 30, 0.7, 0.6, 0.8, 0.5, 0.25),
            TagFigures("none", 0, 40, None, None, None, None, None),
        ),
        "reliability": (Bin(0.2, 0.25, 50),),
        "calibration_error": 0.05,
        "curve": (CurvePoint(10, 0.3, 0.2, 0.4), CurvePoint(20, 0.4, 0.3, 0.5), CurvePoint(40, 0.5, 0.4, 0.6)),
        "forecast": Forecast(100, 0.55, 0.05, -0.01, 0.1, True),
        "groups": (GroupFigure("colour & light", 0.4, 0.3, 0.1, 0.05, 0.15),),
        "notes": ("A <b>note</b>.",),
        "seconds": 1.0,
    }
    return Evaluation(**(given | changes))


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
    assert "100 more labels would bring about" in page.texts
    assert not {"script", "style", "img", "b"} & {tag for tag, _ in page.elements}
    assert not any("style" in attributes for _, attributes in page.elements)


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
    assert "more labels" not in text
    assert "Feature group" not in text


def test_a_report_has_the_section_where_there_is_something_to_tell(tmp_path):
    photos = [ReportPhoto(b"a.jpg", given=["sea"])]
    without = write_report(tmp_path / "a.html", ReportData(photos=photos)).read_text()
    assert "measured-title" not in without
    report = write_report(tmp_path / "b.html", ReportData(photos=photos, measured=make_evaluation())).read_text()
    assert report.count('id="measured-title"') == 1
    assert not re.search(r"\{\{\w+\}\}", report)
