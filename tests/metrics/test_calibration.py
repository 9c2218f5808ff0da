import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from tagloom.exceptions import InvalidInputError, NothingToScoreError
from tagloom.metrics.calibration import (
    brier_score,
    brier_skill,
    calibration_error,
    log_loss,
    reliability_curve,
    select_entries,
)
from tests.metrics.oracles import outcome, problems


def as_probabilities(scores):
    return scores / 100.0


def literal_curve(Y, probabilities, n_bins, chosen):
    """Cut the sorted entries; within equal probabilities every entry counts with their common share."""
    listed = [(probabilities[i, j], Y[i, j]) for i, j in zip(*np.nonzero(chosen), strict=True)]
    together = {}
    for probability, label in listed:
        together.setdefault(probability, []).append(label)
    ordered = [(probability, np.mean(together[probability])) for probability in sorted(p for p, _ in listed)]
    bins = [part for part in np.array_split(np.arange(len(ordered)), n_bins) if len(part)]
    predicted = [np.mean([ordered[place][0] for place in part]) for part in bins]
    observed = [np.mean([ordered[place][1] for place in part]) for part in bins]
    return predicted, observed, [len(part) for part in bins]


def literal_best(Y, probabilities, n_best):
    chosen = np.zeros(Y.shape, dtype=bool)
    for row in range(len(Y)):
        known = [tag for tag in range(Y.shape[1]) if Y[row, tag] != -1]
        for tag in sorted(known, key=lambda tag: -probabilities[row, tag])[:n_best]:
            chosen[row, tag] = True
    return chosen


@settings(max_examples=60, deadline=None)
@given(problems())
def test_reliability_is_that_of_literal_loops(problem):
    Y, probabilities = problem[0], as_probabilities(problem[1])
    masks = {
        "all": Y != -1,
        "best": literal_best(Y, probabilities, 3),
        "likely": (Y != -1) & (probabilities >= 0.02),
    }
    for entries, chosen in masks.items():
        options = {"entries": entries, "n_best": 3, "min_probability": 0.02}
        curve = outcome(lambda *args, **_: reliability_curve(*args, n_bins=4, **options), Y, probabilities)  # noqa: B023
        if not chosen.any():
            assert curve is None
            continue
        np.testing.assert_array_equal(select_entries(Y, probabilities, **options), chosen)
        predicted, observed, counts = literal_curve(Y, probabilities, 4, chosen)
        np.testing.assert_allclose(curve.predicted, predicted, atol=1e-12)
        np.testing.assert_allclose(curve.observed, observed, atol=1e-12)
        np.testing.assert_array_equal(curve.counts, counts)
        error = sum(n * abs(p - o) for p, o, n in zip(predicted, observed, counts, strict=True)) / sum(counts)
        assert calibration_error(Y, probabilities, n_bins=4, **options) == pytest.approx(error, abs=1e-12)


def test_bins_of_equal_mass_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    probabilities = rng.random((150, 2))
    Y = (rng.random((150, 2)) < probabilities).astype(np.int8)
    curve = reliability_curve(Y, probabilities, n_bins=15)
    observed, predicted = calibration_curve(Y.ravel(), probabilities.ravel(), n_bins=15, strategy="quantile")
    np.testing.assert_allclose(curve.predicted, predicted, atol=1e-12)
    np.testing.assert_allclose(curve.observed, observed, atol=1e-12)


def test_true_probabilities_have_errors_within_their_standard_errors():
    rng = np.random.default_rng(1)
    probabilities = rng.beta(0.3, 1.0, size=(4000, 10))
    Y = (rng.random(probabilities.shape) < probabilities).astype(np.int8)
    curve = reliability_curve(Y, probabilities)
    assert (np.abs(curve.predicted - curve.observed) < 4 * curve.standard_errors).all()
    assert calibration_error(Y, probabilities**2) > 5 * curve.error


@settings(max_examples=40, deadline=None)
@given(problems())
def test_brier_score_and_log_loss_are_scikit_learns(problem):
    Y, probabilities = problem[0], as_probabilities(problem[1])
    known = Y != -1
    if not known.any():
        assert outcome(brier_score, Y, probabilities) is None
        return
    flat = Y[known], probabilities[known]
    assert brier_score(Y, probabilities) == pytest.approx(brier_score_loss(*flat, labels=[0, 1]), abs=1e-12)
    assert log_loss(Y, probabilities) == pytest.approx(sklearn_log_loss(*flat, labels=[0, 1]), abs=1e-12)


def test_brier_skill_counts_from_the_prior():
    Y = np.array([[1, 0], [0, 0], [1, -1], [0, 1]], dtype=np.int8)
    prior = np.array([0.5, 1 / 3])
    constant = np.tile(prior, (4, 1))
    assert brier_skill(Y, constant) == pytest.approx(0.0)
    assert brier_skill(Y, np.where(Y == 1, 1.0, 0.0)) == 1.0
    half = brier_skill(Y, (constant + np.where(Y == 1, 1.0, 0.0)) / 2)
    assert half == pytest.approx(0.75)
    assert brier_skill(Y, constant, prior=[0.1, 0.9]) > 0.0
    with pytest.raises(InvalidInputError, match="one entry per tag"):
        brier_skill(Y, constant, prior=[0.1])
    with pytest.raises(NothingToScoreError, match="no error to improve on"):
        brier_skill(np.zeros((3, 1), dtype=np.int8), np.zeros((3, 1)))


def test_unknown_entries_do_not_matter():
    rng = np.random.default_rng(2)
    probabilities = rng.random((40, 6))
    Y = rng.integers(-1, 2, size=(40, 6)).astype(np.int8)
    other = np.where(Y == -1, np.nan, probabilities)
    for metric in (brier_score, brier_skill, log_loss, calibration_error):
        assert metric(Y, probabilities) == metric(Y, other)
    assert calibration_error(Y, probabilities, entries="best") == calibration_error(Y, other, entries="best")


def test_wrong_input_is_named():
    Y = np.array([[1, 0]], dtype=np.int8)
    with pytest.raises(InvalidInputError, match="these are scores"):
        brier_score(Y, [[1.5, 0.0]])
    with pytest.raises(InvalidInputError, match="entries must be one of"):
        calibration_error(Y, [[1.0, 0.0]], entries="some")
    with pytest.raises(InvalidInputError, match="n_bins"):
        reliability_curve(Y, [[1.0, 0.0]], n_bins=0)
    with pytest.raises(InvalidInputError, match="n_best"):
        select_entries(Y, [[1.0, 0.0]], entries="best", n_best=0)
    with pytest.raises(NothingToScoreError, match="smaller min_probability"):
        calibration_error(Y, [[0.01, 0.0]], entries="likely")
