"""The bend of likely entries, and what an annotator's probabilities let one accept."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

from tagloom.core.folds import label_budget
from tagloom.core.labels import UNKNOWN
from tagloom.exceptions import InvalidInputError
from tagloom.methods import RegularizedLeastSquares
from tagloom.tuning import CalibratedAnnotator
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.calibration.calibrated import common_threshold
from tagloom.tuning.calibration.maps import _fit_bend, fit_map, fit_pooled
from tagloom.tuning.constants import BEND_FROM, BEND_MEAN, BEND_SPREAD, LEAST_SLOPE


def drawn(slope, n=4000, seed=0):
    """Return log-odds and labels whose true log-odds have another slope above the bend."""
    rng = np.random.default_rng(seed)
    eta = rng.normal(0.0, 2.0, n)
    true = eta + slope * np.maximum(eta - BEND_FROM, 0.0)
    return eta, (rng.random(n) < expit(true)).astype(float)


@pytest.mark.parametrize("slope", [-0.6, 0.0, 0.5])
def test_the_bend_is_the_most_probable_one(slope):
    eta, labels = drawn(slope)

    def loss(bend):
        logits = eta + bend * np.maximum(eta - BEND_FROM, 0.0)
        return (np.logaddexp(0.0, logits) - labels * logits).sum() + 0.5 * ((bend - BEND_MEAN) / BEND_SPREAD) ** 2

    found = _fit_bend(eta, labels)
    assert found == pytest.approx(minimize_scalar(loss, bounds=(-0.8, 3.0), method="bounded").x, abs=1e-4)
    assert abs(found - slope) < 0.25


def test_nothing_likely_gives_the_usual_bend_and_a_bend_never_turns_a_ranking_round():
    assert _fit_bend(np.linspace(-3.0, 0.9, 50), np.zeros(50)) == pytest.approx(BEND_MEAN)
    eta = np.linspace(1.5, 40.0, 5000)
    bend = _fit_bend(eta, np.zeros(5000))
    assert bend == pytest.approx(LEAST_SLOPE - 1.0)


def test_a_map_with_a_bend_ranks_like_the_one_without():
    rng = np.random.default_rng(1)
    Y = (rng.random((200, 4)) < 0.3).astype(np.int8)
    score = Y + rng.normal(0.0, 0.4, Y.shape)
    features = np.stack([np.ones_like(score), score, np.full_like(score, -0.8), score * 2.0], axis=-1)
    folds = rng.integers(5, size=200)
    plain, bent = (fit_map(features, Y, folds, method="platt", bend=bend) for bend in (False, True))
    assert plain.bend == 0.0
    assert bent.bend != 0.0
    one, other = plain.logits(features), bent.logits(features)
    np.testing.assert_array_equal(np.argsort(one, axis=0), np.argsort(other, axis=0))
    np.testing.assert_array_equal(one[one < BEND_FROM], other[one < BEND_FROM])


@pytest.fixture(scope="module")
def annotator():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    truth = (X[:, :3] + 0.3 * rng.normal(size=(300, 3)) > 0.8).astype(np.int8)
    Y = truth.copy()
    Y[120:] = UNKNOWN
    return AutoAnnotator(random_state=0).fit(X, Y), truth


def test_auto_accepts_the_most_probable_entries_whose_mean_is_the_wanted_precision(annotator):
    model, truth = annotator
    limits = model.thresholds_for(0.9)
    unknown = model.probabilities_[120:]
    accepted = unknown > limits
    ranked = np.sort(unknown, axis=None)[::-1]
    means = np.cumsum(ranked) / np.arange(1, ranked.size + 1)
    assert accepted.sum() == np.flatnonzero(means >= 0.9)[-1] + 1
    assert truth[120:][accepted].mean() > 0.75
    cautious = model.thresholds_for(0.9, caution=2.0)
    assert (unknown > cautious).sum() < accepted.sum()
    np.testing.assert_allclose(model.expected_counts(), truth[:120].sum(axis=0) + unknown.sum(axis=0))
    with pytest.raises(InvalidInputError, match="precision"):
        model.thresholds_for(1.5)
    with pytest.raises(InvalidInputError, match=r"precision must be a number between 0 and 1, got '0\.9'"):
        model.thresholds_for("0.9")
    for caution in ("a", -1.0, np.nan, np.inf):
        with pytest.raises(InvalidInputError, match="caution must be a number of at least 0"):
            model.thresholds_for(0.9, caution=caution)


def test_auto_has_its_scores_from_before_calibration(annotator):
    model, _ = annotator
    order = np.argsort(model.scores_[120:], axis=0)
    np.testing.assert_array_equal(order, np.argsort(model.probabilities_[120:], axis=0))


def test_a_tag_with_one_example_does_not_tell_what_scores_are_worth():
    rng = np.random.default_rng(2)
    Y = (rng.random((60, 8)) < 0.2).astype(np.int8)
    score = rng.normal(0.0, 1.0, Y.shape) + 1.0 * Y
    folds = rng.integers(5, size=60)

    def coefficients(labels, scores):
        features = np.stack([np.ones_like(scores), scores, np.full_like(scores, -1.4), scores * 0.7], axis=-1)
        return fit_map(features, labels, folds).coefficients

    single = np.zeros((60, 4), dtype=np.int8)
    single[np.arange(4), np.arange(4)] = 1
    both = coefficients(np.hstack([Y, single]), np.hstack([score, rng.normal(0.0, 1.0, single.shape) - 3.0 * single]))
    np.testing.assert_allclose(both, coefficients(Y, score))


def test_probabilities_rank_like_scores_however_few_examples_a_tag_has():
    # Left-out scores that say the opposite: each example of a tag is scored by a model that knows the other one alone.
    rng = np.random.default_rng(2)
    Y = np.zeros((60, 8), dtype=np.int8)
    Y[np.arange(16), np.arange(16) % 8] = 1
    score = rng.normal(0.0, 1.0, Y.shape) - 3.0 * Y
    evidence = np.log(2.0)
    features = np.stack([np.ones_like(score), score, np.full_like(score, -4.0), score * evidence], axis=-1)
    found = fit_map(features, Y, rng.integers(5, size=60), bend=True)
    assert found.coefficients[1] == pytest.approx(0.05)
    np.testing.assert_array_equal(np.argsort(found.logits(features), axis=0), np.argsort(score, axis=0))


def test_bounded_coefficients_are_the_most_probable_within_the_bounds():
    rng = np.random.default_rng(3)
    features = np.column_stack([np.ones(200), rng.normal(size=(200, 3))])
    labels = (rng.random(200) < expit(features @ [0.3, -1.0, 0.8, -0.4])).astype(float)
    means, deviations = np.array([0.0, 0.5, 1.0, 0.0]), np.array([0.5, 0.5, 0.2, 0.5])
    least = np.array([-np.inf, 0.05, -np.inf, 0.0])

    def loss(w):
        eta = features @ w
        return (np.logaddexp(0.0, eta) - labels * eta).sum() + 0.5 * np.square((w - means) / deviations).sum()

    expected = minimize(loss, np.maximum(means, least), bounds=[(None if b == -np.inf else b, None) for b in least])
    found, covariance = fit_pooled(features, labels, means, deviations, least)
    np.testing.assert_allclose(found, expected.x, atol=1e-4)
    assert (np.linalg.eigvalsh(covariance) > 0).all()
    free, _ = fit_pooled(features, labels, means, deviations)
    assert free[1] < 0.0


def test_the_common_threshold_is_that_of_the_annotator():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 6))
    truth = (X[:, :4] + 0.5 * generator.normal(size=(600, 4)) > 0.5).astype(np.int8)
    Y = label_budget(truth, 300, random_state=0)
    annotator = CalibratedAnnotator(RegularizedLeastSquares(), method="isotonic", random_state=0).fit(X, Y)
    for precision in (0.7, 0.9, 0.97):
        limit = common_threshold(annotator.probabilities_, Y == -1, precision)
        accepted = (annotator.probabilities_ > limit) & (Y == -1)
        by_annotator = (annotator.probabilities_ > annotator.thresholds_for(precision)) & (Y == -1)
        # Nothing that is less likely than not is suggested.
        assert np.array_equal(accepted, by_annotator & (annotator.probabilities_ >= 0.5))
        assert accepted.any()
    assert common_threshold(np.full((3, 1), 0.2), np.ones((3, 1), dtype=bool), 0.9) == np.inf


def test_equal_probabilities_are_suggested_together_or_not_at_all():
    values = np.array([[0.99] * 10 + [0.6] * 30])
    assert common_threshold(values, np.ones_like(values, dtype=bool), 0.9) == pytest.approx(0.795)
    assert common_threshold(values, np.ones_like(values, dtype=bool), 0.65) < 0.6


def test_what_is_less_likely_than_not_is_not_suggested_however_sure_the_others_are():
    values = np.array([[0.999] * 200 + list(np.linspace(0.01, 0.7, 20))])
    limit = common_threshold(values, np.ones_like(values, dtype=bool), 0.9)
    assert 0.45 < limit < 0.55
    assert (values > limit).sum() == 200 + (values[0, 200:] >= 0.5).sum()
    assert common_threshold(values, np.ones_like(values, dtype=bool), 0.3) < 0.3


def test_where_all_is_decided_nothing_is_suggested():
    assert common_threshold(np.full((3, 2), 0.9), np.zeros((3, 2), dtype=bool), 0.9) == np.inf
