import json

import numpy as np
import pytest

from benchmarks.literal.nova import objective
from benchmarks.speed import nova
from benchmarks.speed.nova import GROUP_LASSO, GROUP_SCAD, accuracy_of, fit, objectives, relative_gap, stationarity


@pytest.fixture(scope="module")
def problem():
    return nova.gaussian_problem(nova.QUICK_ROWS, nova.QUICK_TAGS, nova.QUICK_GROUPS)


def test_groups_are_centred_and_of_equal_weight(problem):
    np.testing.assert_allclose(problem.X.mean(axis=0), 0.0, atol=1e-12)
    for name in problem.groups:
        assert np.square(problem.X[:, problem.groups[name]]).sum(axis=1).mean() == pytest.approx(1.0)
    assert problem.Y.any(axis=0).all()
    assert not problem.Y.all(axis=0).any()


def test_a_constant_column_stays_zero(problem):
    X = problem.X.copy()
    X[:, 3] = 0.1
    found = nova.scaled(X, problem.groups)
    np.testing.assert_array_equal(found[:, 3], 0.0)
    assert np.isfinite(found).all()


def test_nothing_is_used_from_the_largest_strength_on(problem):
    largest = problem.largest_strengths()
    assert not fit(problem, 1.0001 * largest, GROUP_LASSO, 1e-8).any()
    assert fit(problem, 0.99 * largest, GROUP_LASSO, 1e-8).any(axis=0).all()


def test_objectives_are_those_of_the_literal_equation(problem):
    coef = 0.3 * np.random.default_rng(0).standard_normal((problem.X.shape[1], nova.QUICK_TAGS))
    strengths = np.array([0.01, 0.1, 0.3, 2.0])
    expected = [
        objective(problem.X, problem.targets[:, tag], coef[:, tag], problem.sizes, strength)
        for tag, strength in enumerate(strengths)
    ]
    np.testing.assert_allclose(objectives(problem, coef, strengths, GROUP_SCAD), expected)
    np.testing.assert_allclose(objectives(problem, coef[:, :2], strengths, GROUP_SCAD), expected[:2])


@pytest.mark.parametrize("penalty", [GROUP_LASSO, GROUP_SCAD], ids=lambda penalty: penalty.name)
def test_stationarity_is_zero_at_a_solution_only(problem, penalty):
    strengths = 0.2 * problem.largest_strengths()
    coef = fit(problem, strengths, penalty, 1e-10)
    assert stationarity(problem, coef, strengths, penalty).max() < 1e-8
    assert stationarity(problem, 1.01 * coef, strengths, penalty).min() > 1e-4
    assert stationarity(problem, np.zeros_like(coef), strengths, penalty).min() == pytest.approx(4.0, rel=1e-6)


def test_the_gap_bounds_what_is_missing(problem):
    strengths = 0.2 * problem.largest_strengths()
    coef = fit(problem, strengths, GROUP_LASSO, 1e-10)
    best = objectives(problem, coef, strengths, GROUP_LASSO)
    assert 0 <= relative_gap(problem, coef, strengths) < 1e-7
    excess = accuracy_of(problem, strengths, GROUP_LASSO, best)({"coef": 0.8 * coef})["objective over the best"]
    assert 0 < excess <= relative_gap(problem, 0.8 * coef, strengths) * (1 + excess) + 1e-12


def test_the_quick_run_records_every_case(tmp_path, monkeypatch):
    missing = {name: (target, "nowhere") for name, (target, _) in nova.PEERS.items()}
    monkeypatch.setattr(nova, "PEERS", missing)
    monkeypatch.setattr(nova, "REPEATS", 1)
    monkeypatch.setattr(nova, "PATH_POINTS", 5)
    out = tmp_path / "nova.json"
    nova.main(["--quick", "--out", str(out)])
    cases = json.loads(out.read_text(encoding="utf-8"))["cases"]
    assert [case["title"].split(",")[0] for case in cases] == [
        *["Group lasso"] * 2,
        *["Group SCAD"] * 2,
        f"Path of {nova.PATH_POINTS} strengths",
    ]
    for case in cases[:2]:
        ours, others = case["entries"][:2], case["entries"][2:]
        assert [entry["name"] for entry in others] == list(nova.PEERS)
        assert all("make bench-env" in entry["skipped"] for entry in others)
        assert all(abs(entry["accuracy"]["objective over the best"]) <= nova.GOAL for entry in ours)
        assert case["parameters"]["gap_of_the_best"] < 1e-6
    for case in cases[2:]:
        assert len(case["ratios"]) == (1 if case["title"].startswith("Path") else 2)
    assert cases[2]["entries"][2]["share"] == [2, 4]
