"""The penalty that a project chooses, and clones that share one learner."""

import numpy as np
import pytest
from sklearn.base import clone

from tagloom.graph import knn_graph
from tagloom.learning import ridge as ridge_learning
from tagloom.learning.constants import MAX_PATTERNS
from tagloom.learning.ridge import RidgeLearner, SharedRidge, choose_strength
from tagloom.methods import RegularizedLeastSquares


@pytest.fixture
def problem():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(150, 12))
    Y = (X @ generator.normal(size=(12, 12)) + generator.normal(size=(150, 12)) > 1).astype(np.int8)
    Y[60:] = -1
    return X, Y, generator


def test_the_penalty_is_that_of_the_annotator(problem):
    X, Y, _ = problem
    assert choose_strength(X, Y) == RegularizedLeastSquares().fit(X, Y).regularization_


def test_of_many_patterns_the_largest_choose(problem):
    X, Y, generator = problem
    for tag in range(12):
        Y[generator.permutation(60)[: 2 * tag + 1], tag] = -1
    tags = np.arange(MAX_PATTERNS)  # the first ones are known on most photos
    rows = np.flatnonzero((Y != -1).any(axis=1))
    expected = RegularizedLeastSquares().fit(X[rows], Y[np.ix_(rows, tags)]).regularization_
    assert choose_strength(X, Y) == expected


def test_groups_that_hold_the_wanted_share_of_the_entries_choose(problem, monkeypatch):
    X, Y, generator = problem
    for tag in range(8, 12):
        Y[generator.permutation(60)[: tag + 1], tag] = -1
    asked = []

    class Asked(RegularizedLeastSquares):
        def fit(self, X, Y):
            asked.append(Y.shape[1])
            return super().fit(X, Y)

    monkeypatch.setattr(ridge_learning, "RegularizedLeastSquares", Asked)
    assert choose_strength(X, Y, share=0.5) == RegularizedLeastSquares().fit(X[:60], Y[:60, :8]).regularization_
    assert asked == [8]


def test_a_clone_shares_features_and_graph(problem):
    X, Y, _ = problem
    learner = RidgeLearner(X, 3.0, knn_graph(X, 5), 0.5)
    annotator = clone(SharedRidge(learner))
    assert annotator.learner is learner
    annotator.fit(X, Y)
    expected = RegularizedLeastSquares(3.0, smoothing=0.5, n_neighbors=5).fit(X, Y)
    np.testing.assert_allclose(annotator.transduction_, expected.transduction_, atol=1e-5)
    np.testing.assert_allclose(annotator.decision_function(X[:4]), expected.decision_function(X[:4]), atol=1e-9)
    np.testing.assert_allclose(learner.thresholds(Y), expected.thresholds_, atol=1e-9)


def test_another_penalty(problem):
    X, Y, _ = problem
    learner = RidgeLearner(X, 3.0)
    learner.set_strength(7.0)
    expected = RegularizedLeastSquares(7.0).fit(X, Y)
    np.testing.assert_allclose(learner.solve(Y).coef, expected.coef_, atol=1e-9)
