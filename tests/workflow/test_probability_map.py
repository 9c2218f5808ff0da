"""Stored maps against the calibrated annotator that they come from."""

import numpy as np
import pytest

from tagloom.core.folds import label_budget
from tagloom.methods import RegularizedLeastSquares
from tagloom.tuning import CalibratedAnnotator
from tagloom.tuning._held_out import scale_of
from tagloom.workflow.probability_map import (
    ProbabilityMap,
    common_threshold,
    load_scale,
    refresh_scale,
    scale_arrays,
)


@pytest.fixture(scope="module")
def fitted():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 6))
    truth = (X[:, :4] + 0.5 * generator.normal(size=(600, 4)) > 0.5).astype(np.int8)
    Y = label_budget(truth, 300, random_state=0)
    return X, Y, CalibratedAnnotator(RegularizedLeastSquares(), method="isotonic", random_state=0).fit(X, Y)


def test_probabilities_are_those_of_the_annotator(fitted):
    X, Y, annotator = fitted
    assert annotator.map_.steps.knots  # or steps were not looked at
    scores = annotator.annotator_.transduction_.astype(np.float32)
    found = ProbabilityMap.of(annotator.map_).probabilities(scores, annotator._scale)
    unknown = Y == -1
    np.testing.assert_allclose(found[unknown], annotator.probabilities_[unknown], atol=2e-5)
    new = annotator.annotator_.decision_function(X[:50]).astype(np.float32)
    found = ProbabilityMap.of(annotator.new_map_).probabilities(new, annotator._scale)
    np.testing.assert_allclose(found, annotator.predict_proba(X[:50]), atol=2e-5)


def test_what_is_stored_is_what_comes_back(fitted):
    _, _, annotator = fitted
    scores = annotator.annotator_.transduction_.astype(np.float32)
    before = ProbabilityMap.of(annotator.map_)
    after = ProbabilityMap.load(before.arrays("map"), "map")
    scale = load_scale(scale_arrays(annotator._scale))
    assert np.array_equal(after.probabilities(scores, scale), before.probabilities(scores, annotator._scale))


def test_columns_in_another_order_and_one_never_seen(fitted):
    _, Y, annotator = fitted
    scores = annotator.annotator_.transduction_.astype(np.float32)
    whole = ProbabilityMap.of(annotator.map_)
    expected = whole.probabilities(scores, annotator._scale)
    at = np.array([2, -1, 0])
    chosen = scores[:, [2, 1, 0]]
    scale = scale_of(chosen, Y[:, [2, 1, 0]])
    found = whole.take(at).probabilities(chosen, scale)
    np.testing.assert_allclose(found[:, [0, 2]], expected[:, [2, 0]], atol=1e-6)
    eta = scale.describe(chosen)[:, 1] @ whole.coefficients  # the sigmoid that all tags share
    np.testing.assert_allclose(found[:, 1], 1.0 / (1.0 + np.exp(-eta)), atol=1e-5)


def test_a_tag_known_nearly_everywhere_keeps_its_centre(fitted):
    _, _, annotator = fitted
    before = annotator._scale
    scores = np.random.default_rng(1).normal(size=(600, 2)).astype(np.float32)
    Y = np.full((600, 2), -1, dtype=np.int8)
    Y[:, 0] = 0
    Y[:5, 0] = -1
    now = refresh_scale(scores, Y, before, np.array([1, -1]), n_labeled=595)
    assert now.centre[0] == before.centre[1]
    assert now.spread[0] == before.spread[1]
    np.testing.assert_allclose(now.centre[1], scores[:, 1].mean(dtype=np.float64), atol=1e-7)


def test_the_common_threshold_is_that_of_the_annotator(fitted):
    _, Y, annotator = fitted
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
