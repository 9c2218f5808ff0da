"""Stored maps against the calibrated annotator that they come from."""

import numpy as np
import pytest

from tagloom.core.folds import label_budget
from tagloom.learning.probability_map import ProbabilityMap, load_scale, refresh_scale, scale_arrays
from tagloom.methods import RegularizedLeastSquares
from tagloom.tuning import CalibratedAnnotator
from tagloom.tuning.calibration.calibrated import scale_of


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
    found = ProbabilityMap.of(annotator.map_).probabilities(scores, annotator.scale_)
    unknown = Y == -1
    np.testing.assert_allclose(found[unknown], annotator.probabilities_[unknown], atol=2e-5)
    new = annotator.annotator_.decision_function(X[:50]).astype(np.float32)
    found = ProbabilityMap.of(annotator.new_map_).probabilities(new, annotator.scale_)
    np.testing.assert_allclose(found, annotator.predict_proba(X[:50]), atol=2e-5)


def test_what_is_stored_is_what_comes_back(fitted):
    _, _, annotator = fitted
    scores = annotator.annotator_.transduction_.astype(np.float32)
    before = ProbabilityMap.of(annotator.map_)
    after = ProbabilityMap.load(before.arrays("map"), "map", 4)
    scale = load_scale(scale_arrays(annotator.scale_), 4)
    assert np.array_equal(after.probabilities(scores, scale), before.probabilities(scores, annotator.scale_))


def test_columns_in_another_order_and_one_never_seen(fitted):
    _, Y, annotator = fitted
    scores = annotator.annotator_.transduction_.astype(np.float32)
    whole = ProbabilityMap.of(annotator.map_)
    expected = whole.probabilities(scores, annotator.scale_)
    at = np.array([2, -1, 0])
    chosen = scores[:, [2, 1, 0]]
    scale = scale_of(chosen, Y[:, [2, 1, 0]])
    found = whole.take(at).probabilities(chosen, scale)
    np.testing.assert_allclose(found[:, [0, 2]], expected[:, [2, 0]], atol=1e-6)
    eta = scale.describe(chosen)[:, 1] @ whole.coefficients  # the sigmoid that all tags share
    np.testing.assert_allclose(found[:, 1], 1.0 / (1.0 + np.exp(-eta)), atol=1e-5)


def test_a_tag_known_nearly_everywhere_keeps_its_centre(fitted):
    _, _, annotator = fitted
    before = annotator.scale_
    scores = np.random.default_rng(1).normal(size=(600, 2)).astype(np.float32)
    Y = np.full((600, 2), -1, dtype=np.int8)
    Y[:, 0] = 0
    Y[:5, 0] = -1
    now = refresh_scale(scores, Y, before, np.array([1, -1]), n_labeled=595)
    assert now.centre[0] == before.centre[1]
    assert now.spread[0] == before.spread[1]
    np.testing.assert_allclose(now.centre[1], scores[:, 1].mean(dtype=np.float64), atol=1e-7)
