"""Verdicts on claims, and values that are near while the order around them is not."""

import pytest

from benchmarks import reproduction
from benchmarks.experiment import Claim, ExpectedTable
from benchmarks.summary import Column, statuses


@pytest.mark.parametrize(
    ("paper", "honest", "expected"),
    [
        ((3, 3), (3, 3), "holds"),
        ((3, 3), (0, 0), "holds"),
        ((3, 3), (2, 3), "holds in part"),
        ((0, 4), (2, 4), "holds in part"),
        ((1, 4), (1, 4), "fails"),
        ((0, 4), (0, 4), "fails"),
        ((0, 0), (0, 0), "cannot be tested"),
    ],
)
def test_a_verdict_needs_both_columns(paper, honest, expected):
    row = {name: {"wins": wins, "of": of} for name, (wins, of) in (("paper", paper), ("honest", honest))}
    assert reproduction.verdict(row) == expected


class FakeSummary:
    def __init__(self, values):
        self.values = values

    def paper(self, data, condition, method, metric):
        return Column(self.values[method], 0.0, ({},)) if method in self.values else None

    honest = paper

    def missing_reason(self, table, data):
        return None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"a": 0.40, "b": 0.50, "c": 0.60}, ["reproduced", "reproduced", "reproduced"]),
        # b is near, and yet below a, which was published as worse.
        ({"a": 0.52, "b": 0.51, "c": 0.60}, ["not reproduced", "near, order reversed", "reproduced"]),
        # c is missing, and cannot stand on the wrong side.
        ({"a": 0.40, "b": 0.50}, ["reproduced", "reproduced", "not run"]),
        # Published within the tolerance of each other: either order will do.
        ({"a": 0.40, "b": 0.515, "c": 0.605, "d": 0.515}, ["reproduced"] * 4),
    ],
)
def test_a_value_is_not_reproduced_where_the_order_around_it_is_reversed(found, expected):
    published = {"a": 0.40, "b": 0.50, "c": 0.60, "d": 0.51}
    names = [name for name in published if name in found or name in "abc"]
    values = {("photos", name, "all"): published[name] for name in names}
    table = ExpectedTable("Table", "somewhere", "test/map", 0.02, values, {})
    assert [row["status"] for row in statuses(FakeSummary(found), [table])] == expected


def test_the_page_has_every_claim_of_the_papers_and_no_other():
    page = reproduction.reproduction_page()
    assert page.count("\n## ") == len(reproduction.PAPERS)
    assert "| wTKML recalls more words than all other methods | Table 1 |" in page
    assert "Not in the paper" not in page
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and "| --- |" not in line]
    verdicts = {row[2] for row in rows if row[2] != "verdict"}
    assert verdicts <= {"holds", "holds in part", "fails", "cannot be tested"}
    for row in rows:
        if row[2] == "fails":
            assert row[5].rstrip(" |") != "–", row[0]


def test_a_claim_has_figures_and_a_cause_in_words():
    claim = Claim(
        "a is better", "Table 1", "d", "test/map", "a", ("b",), ("all",), published="0.5, b 0.4", cause="data"
    )
    assert (claim.gain, claim.published, claim.cause) == (None, "0.5, b 0.4", "data")
