"""Probabilities lowered by what came of them."""

import numpy as np
from scipy.special import expit, logit

from tagloom.workflow.outcome_shift import FEWEST, OutcomeShift


def outcomes_of(rng, n, *, shift=0.0, factor=1.0):
    """Return probabilities, and outcomes whose log-odds are lower than they say."""
    given = rng.uniform(0.3, 0.99, size=n)
    return given, (rng.random(n) < expit(shift + factor * logit(given))).astype(int)


def test_too_few_outcomes_change_nothing():
    shift = OutcomeShift()
    shift.record([1] * (FEWEST - 1), [0.9] * (FEWEST - 1), [0] * (FEWEST - 1))
    values = np.array([[0.5], [0.9]], dtype=np.float32)
    assert shift.correct(values, [1]) is values


def test_right_probabilities_stay_about_as_they_are():
    rng = np.random.default_rng(0)
    shift = OutcomeShift()
    for tag in range(10):
        given, came = outcomes_of(rng, 100)
        shift.record([tag] * 100, given, came)
    values = np.linspace(0.05, 0.95, 10, dtype=np.float32)[:, None]
    assert np.abs(shift.correct(values, [3]) - values).max() < 0.1


def test_probabilities_that_are_too_high_come_down_to_the_truth():
    rng = np.random.default_rng(1)
    shift = OutcomeShift()
    for tag in range(10):
        given, came = outcomes_of(rng, 100, shift=-1.5, factor=0.8)
        shift.record([tag] * 100, given, came)
    values = np.array([[0.5], [0.8], [0.95]], dtype=np.float32)
    truth = expit(-1.5 + 0.8 * logit(values.astype(float)))
    found = shift.correct(values, [3])
    assert np.abs(found - truth).max() < 0.1
    assert (np.diff(found[:, 0]) > 0).all()
    # A tag of which nothing came yet is lowered as the others are.
    assert np.abs(shift.correct(values, [99]) - truth).max() < 0.1


def test_one_tag_that_is_wrong_is_lowered_more_than_the_others():
    rng = np.random.default_rng(2)
    shift = OutcomeShift()
    for tag in range(9):
        shift.record([tag] * 60, *outcomes_of(rng, 60))
    shift.record([9] * 60, *outcomes_of(rng, 60, shift=-3.0))
    values = np.full((1, 1), 0.9, dtype=np.float32)
    assert shift.correct(values, [9])[0, 0] < 0.6
    assert shift.correct(values, [3])[0, 0] > 0.75


def test_outcomes_never_raise_a_probability_and_old_ones_are_forgotten():
    shift = OutcomeShift()
    shift.record([1] * 300, [0.5] * 300, [1] * 300)
    values = np.array([[0.2], [0.5], [np.nan]], dtype=np.float32)
    np.testing.assert_array_equal(shift.correct(values, [1]), values)
    shift.record([1] * 100, [0.5] * 100, [0] * 100)
    assert shift.correct(values, [1])[1, 0] < 0.1
    shift.clear()
    assert shift.correct(values, [1]) is values
