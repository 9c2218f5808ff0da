import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from benchmarks.literal.harmonic import harmonic_propagation
from benchmarks.literal.local_global import local_global_consistency
from benchmarks.literal.ridge import ridge, ridge_leave_one_out
from benchmarks.literal.sfss import sfss
from tagloom.graph import NeighborGraph
from tagloom.methods import HarmonicPropagation


@pytest.fixture
def weights():
    generator = np.random.default_rng(0)
    W = generator.random((12, 12)) * (generator.random((12, 12)) < 0.6)
    W = W + W.T
    W[np.arange(11), np.arange(1, 12)] = W[np.arange(1, 12), np.arange(11)] = 1.0  # connected
    np.fill_diagonal(W, 0.0)
    return W


@pytest.fixture
def labels():
    Y = np.full((12, 2), -1, dtype=np.int8)
    Y[[0, 3, 7]] = [[1, 0], [0, 1], [1, 1]]
    return Y


def test_harmonic_scores_are_the_average_of_the_neighbours(weights, labels):
    F = harmonic_propagation(weights, labels)
    unlabeled = (labels == -1).all(axis=1)
    average = weights @ F / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(F[unlabeled], average[unlabeled], atol=1e-12)
    assert np.array_equal(F[~unlabeled], labels[~unlabeled])


def test_harmonic_on_a_chain_is_linear():
    W = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    Y = np.array([[0], [-1], [-1], [-1], [1]], dtype=np.int8)
    np.testing.assert_allclose(harmonic_propagation(W, Y)[:, 0], [0, 0.25, 0.5, 0.75, 1], atol=1e-12)


def test_local_global_iteration_reaches_the_closed_form(weights, labels):
    closed = local_global_consistency(weights, labels, 0.8)
    iterated = local_global_consistency(weights, labels, 0.8, n_iter=200)
    np.testing.assert_allclose(iterated, closed, atol=1e-12)
    one_step = local_global_consistency(weights, labels, 0.8, n_iter=1)
    assert np.abs(one_step - closed).max() > 1e-3


def test_ridge_equals_scikit_learn():
    generator = np.random.default_rng(1)
    X, Y = generator.standard_normal((20, 5)), generator.standard_normal((20, 3))
    W, b = ridge(X, Y, 0.7)
    reference = Ridge(alpha=0.7).fit(X, Y)
    np.testing.assert_allclose(W.T, reference.coef_, atol=1e-10)
    np.testing.assert_allclose(b, reference.intercept_, atol=1e-10)
    left_out = cross_val_predict(Ridge(alpha=0.7), X, Y, cv=LeaveOneOut())
    np.testing.assert_allclose(ridge_leave_one_out(X, Y, 0.7), left_out, atol=1e-10)


def test_tagloom_agrees_with_the_dense_harmonic_function(weights, labels):
    graph = NeighborGraph.from_weights(sparse.csr_array(weights))
    found = HarmonicPropagation(graph=graph, tol=1e-12).fit(np.zeros((12, 1)), labels).transduction_
    np.testing.assert_allclose(found, harmonic_propagation(weights, labels), atol=1e-8)


def test_sfss_as_printed_is_stationary(weights, labels):
    X = np.random.default_rng(2).standard_normal((12, 4))
    W, b, F = sfss(X, weights, labels, 2.0, 0.5, tol=1e-14, max_iter=5000)
    residual = X @ W + b - F
    known = (labels != -1).all(axis=1)
    np.testing.assert_allclose(F[known], labels[known], atol=1e-6)
    smooth = (np.diag(weights.sum(axis=1)) - weights) @ F + F - 2.0 * residual  # the gradient in F, halved
    np.testing.assert_allclose(smooth[~known], 0.0, atol=1e-6)
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=1e-8)
    norms = np.linalg.norm(W, axis=1)
    used = norms > 1e-3
    assert used.any()
    np.testing.assert_allclose(4.0 * (X.T @ residual)[used], -0.5 * W[used] / norms[used, None], atol=1e-5)
