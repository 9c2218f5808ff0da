"""Answers in the lens of a tag: the figures, and a small run of all ways."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.speed import looks
from benchmarks.speed.looks import Step, figures
from tests.learning.test_judged_tags import Said
from tests.made_labels import labels_of

STEP = Step(
    number=1,
    is_yes=True,
    promised=0.8,
    n_suggested=10,
    n_right=9,
    expected=8.5,
    n_left=12,
    right_before=10,
    right_kept=9,
    next_right=0.9,
)


def test_figures_of_answers():
    no = replace(STEP, number=5, is_yes=False, promised=0.9, n_suggested=6, n_right=3, expected=4.5, right_kept=4)
    emptied = replace(no, number=6, n_suggested=0, n_right=0, expected=0.0, right_kept=0)
    late = replace(emptied, next_right=0.2)  # there, to be silent is right
    found = figures([STEP, no, emptied, late])
    assert found["log loss"] == pytest.approx(-(np.log(0.8) + 3 * np.log(0.1)) / 4)
    assert found["suggestions"] == 4.0
    assert found["expected right, %"] == pytest.approx(100 * 13 / 16)
    assert found["right, %"] == pytest.approx(100 * 12 / 16)
    assert found["of all, %"] == pytest.approx(100 * 12 / 48)
    assert found["wrong after 5"] == 3.0
    assert found["noes"] == 2.0
    assert found["lost by a no, %"] == pytest.approx(80.0)
    assert found["emptied by a no, %"] == 50.0


def test_the_rule_of_before_is_a_ratio_over_the_latest_ten():
    outcomes = [(photo, 1) for photo in range(50)] + [(50 + place, int(place > 7)) for place in range(10)]
    said = np.full((100, 1), -1, dtype=np.int8)
    for photo, state in outcomes:
        said[photo] = state
    given = np.random.default_rng(0).uniform(size=(100, 1)).astype(np.float32)
    given[50:60] = 0.9
    values = given.copy()
    looks.to_latest(values, labels_of(said, looks=Said({0: outcomes})), np.array([0]))
    assert values == pytest.approx(given * (2 + 2) / (9 + 2))  # nine were expected, two came


def test_a_quick_run_has_all_ways(tmp_path):
    looks.main(["--quick", "--out", str(tmp_path / "looks.json")])
    cases = json.loads((tmp_path / "looks.json").read_text(encoding="utf-8"))["cases"]
    assert [[entry["name"] for entry in case["entries"]] for case in cases] == [list(looks.WAYS)] * 2
    assert all(np.isfinite(entry["accuracy"]["log loss"]) for case in cases for entry in case["entries"])


def test_missing_photos_are_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    looks.main(["--out", str(tmp_path / "looks.json")])
    cases = json.loads((tmp_path / "looks.json").read_text(encoding="utf-8"))["cases"]
    assert all("TAGLOOM_DATA" in case["skipped"] for case in cases)
