"""Oracles: the dense system, the objective, limiting strengths."""

import numpy as np
import pytest
from scipy import sparse

from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.shared.smoothing import smooth_scores


def make_problem(n=40, c=3, *, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    Y = rng.integers(-1, 2, size=(n, c)).astype(np.int8)
    return X, Y, rng.normal(size=(n, c))


def dense_system(X, strength, n_neighbors=5):
    return np.eye(len(X)) + strength * knn_graph(X, n_neighbors).laplacian("symmetric").toarray()


@pytest.mark.parametrize("strength", [0.1, 1.0, 30.0])
def test_smoothed_scores_solve_the_dense_system(strength):
    X, Y, scores = make_problem()
    found = smooth_scores(scores, X, Y, strength=strength, n_neighbors=5)
    np.testing.assert_allclose(found, np.linalg.solve(dense_system(X, strength), scores), atol=1e-6)


def test_known_entries_are_kept_and_the_others_solve_their_equations():
    X, Y, scores = make_problem()
    found = smooth_scores(scores, X, Y, strength=2.0, clamp=True, n_neighbors=5)
    np.testing.assert_array_equal(found[Y != -1], Y[Y != -1])
    residual = dense_system(X, 2.0) @ found - scores
    assert np.abs(residual[Y == -1]).max() < 1e-6
    assert np.abs(residual[Y != -1]).max() > 0.1


def test_limits_of_the_strength():
    X, Y, scores = make_problem()
    np.testing.assert_allclose(smooth_scores(scores, X, Y, strength=0.0), scores, atol=1e-12)
    everything = smooth_scores(scores, X, np.abs(Y), strength=1.0, clamp=True)
    np.testing.assert_array_equal(everything, np.abs(Y))


def test_one_photo_has_nothing_to_be_smoothed_with():
    scores = np.array([[0.3, 0.7]])
    np.testing.assert_array_equal(smooth_scores(scores, np.ones((1, 2)), np.ones((1, 2)), strength=5.0), scores)


def test_least_squares_smooths_what_it_fitted():
    X, Y, _ = make_problem()
    Y[20:] = -1
    plain = RegularizedLeastSquares(1.0).fit(X, Y)
    found = RegularizedLeastSquares(1.0, smoothing=2.0, n_neighbors=5).fit(X, Y)
    expected = np.linalg.solve(dense_system(X, 2.0), plain.transduction_)
    np.testing.assert_allclose(found.transduction_, expected, atol=1e-6)
    np.testing.assert_array_equal(found.decision_function(X), plain.decision_function(X))
    clamped = RegularizedLeastSquares(1.0, smoothing=2.0, clamp=True).fit(X, Y)
    np.testing.assert_array_equal(clamped.transduction_[Y != -1], Y[Y != -1])


@pytest.mark.parametrize("clamp", [False, True])
def test_a_graph_of_ones_own(clamp):
    X, Y, _ = make_problem()
    weights = np.zeros((40, 40))
    weights[np.arange(39), np.arange(1, 40)] = 2.0
    chain = NeighborGraph.from_weights(weights + weights.T)
    plain = RegularizedLeastSquares(1.0).fit(X, Y).transduction_
    system = np.eye(40) + 2.0 * chain.laplacian("symmetric").toarray()
    for given in (chain, chain.weights, sparse.csr_array(weights + weights.T + np.eye(40))):
        found = RegularizedLeastSquares(1.0, smoothing=2.0, clamp=clamp, graph=given).fit(X, Y).transduction_
        residual = system @ found - plain
        assert np.abs(residual[Y == -1] if clamp else residual).max() < 1e-6
    with pytest.raises(InvalidInputError, match="expected 39, got 40"):
        RegularizedLeastSquares(smoothing=1.0, graph=chain).fit(X[1:], Y[1:])
