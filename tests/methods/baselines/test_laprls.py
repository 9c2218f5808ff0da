"""LapRLS against dense solutions of its optimality conditions."""

import inspect
from typing import get_args

import numpy as np
import pytest
from scipy.linalg import lstsq
from sklearn.kernel_ridge import KernelRidge

from tagloom.exceptions import ApproximationWarning, InvalidInputError
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.kernels.matrix import kernel_matrix
from tagloom.methods.baselines.laprls import LapRLS


def make_problem(n=60, d=5, c=4, *, labelled=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, c)) + 0.5 * rng.normal(size=(n, c)) > 0.3).astype(np.int8)
    Y[labelled:] = -1
    return X, Y


def dense_solution(K, L, y, ambient, smooth, *, intercept):
    """Solve the normal equations of α and b as they stand, in n + 1 unknowns."""
    known = y != -1
    signs = np.where(y == 1, 1.0, -1.0) * known
    J = np.diag(known.astype(float))
    columns = np.hstack([K, np.ones((len(K), int(intercept)))])
    penalty = np.zeros((columns.shape[1],) * 2)
    penalty[: len(K), : len(K)] = ambient * K + smooth * K @ L @ K
    solution = lstsq(columns.T @ J @ columns + penalty, columns.T @ signs)[0]
    return columns @ solution


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["unnormalized", "symmetric"])
@pytest.mark.parametrize("entrywise", [False, True])
def test_dense_normal_equations(intercept, kind, entrywise):
    X, Y = make_problem()
    if entrywise:
        Y[np.random.default_rng(1).random(Y.shape) < 0.2] = -1
    options = {"ambient_weight": 0.3, "graph_weight": 0.2, "fit_intercept": intercept, "laplacian": kind}
    model = LapRLS(gamma=0.2, n_neighbors=6, **options).fit(X, Y)
    K = kernel_matrix("rbf", X, gamma=0.2)
    L = knn_graph(X, 6).laplacian(kind).toarray()
    for tag in range(4):
        expected = dense_solution(K, L, Y[:, tag], 0.3, 0.2, intercept=intercept)
        np.testing.assert_allclose(model.transduction_[:, tag], expected, atol=1e-8)
    assert model.optimality_ < 1e-10


def test_the_rule_for_new_photos_gives_the_transductive_scores():
    X, Y = make_problem()
    model = LapRLS().fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), model.transduction_, atol=1e-9)


def test_without_a_graph_it_is_kernel_ridge_regression():
    X, Y = make_problem()
    model = LapRLS(gamma=0.2, ambient_weight=0.7, graph_weight=0.0, fit_intercept=False).fit(X, Y)
    reference = KernelRidge(kernel="rbf", gamma=0.2, alpha=0.7).fit(X[:25], 2.0 * Y[:25] - 1)
    np.testing.assert_allclose(model.transduction_, reference.predict(X), atol=1e-9)
    assert model.dual_coef_.shape == (25, 4)


def test_the_linear_kernel_has_coefficients_and_equals_the_exact_kernel():
    X, Y = make_problem()
    model = LapRLS("linear").fit(X, Y)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.transduction_, atol=1e-10)
    given = LapRLS("precomputed", graph=knn_graph(X, 15)).fit(X @ X.T, Y)
    np.testing.assert_allclose(given.transduction_, model.transduction_, atol=1e-7)
    new = np.random.default_rng(3).normal(size=(4, 5))
    np.testing.assert_allclose(given.decision_function(new @ X.T), model.decision_function(new), atol=1e-7)


def test_all_photos_as_landmarks_equal_the_exact_kernel():
    X, Y = make_problem()
    exact, landmarks = LapRLS(gamma=0.5).fit(X, Y), LapRLS(gamma=0.5, n_landmarks=60).fit(X, Y)
    np.testing.assert_allclose(landmarks.transduction_, exact.transduction_, atol=1e-6)
    few = LapRLS(gamma=0.5, n_landmarks=20, random_state=1).fit(X, Y)
    assert len(few.landmarks_) == few.dual_coef_.shape[0] == 20
    assert few.optimality_ < 1e-9
    np.testing.assert_allclose(few.decision_function(X), few.transduction_, atol=1e-10)


def test_many_labelled_photos_with_landmarks(monkeypatch):
    monkeypatch.setattr("tagloom.methods.shared.gram.DIRECT_ROWS", 10)
    X, Y = make_problem(80, labelled=60)
    Y[:30, 0] = -1
    model = LapRLS(n_landmarks=15).fit(X, Y)
    assert model.optimality_ < 1e-9


def test_landmarks_come_by_themselves(monkeypatch):
    monkeypatch.setattr(LapRLS, "_kernel_bytes", 8 * 50**2)
    X, Y = make_problem()
    with pytest.warns(ApproximationWarning, match="LapRLS approximates"):
        assert LapRLS().fit(X, Y).landmarks_ is not None
    # Without the graph only the labelled photos count.
    assert LapRLS(graph_weight=0.0).fit(X, Y).landmarks_ is None


def test_kernel_weights_are_the_kernel_on_the_edges():
    X, Y = make_problem()
    K = kernel_matrix("rbf", X, gamma=0.3)
    weights = K * (knn_graph(X, 15).weights.toarray() > 0)
    model = LapRLS(gamma=0.3, weights="kernel").fit(X, Y)
    given = LapRLS(gamma=0.3, graph=NeighborGraph.from_weights(weights)).fit(X, Y)
    np.testing.assert_allclose(model.transduction_, given.transduction_, atol=1e-9)


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:25, 1], Y[:, 3] = 0, -1
    with pytest.warns(UserWarning, match="LapRLS: tags 1, 3 are without a known positive or without"):
        model = LapRLS().fit(X, Y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores[:, 1], np.log(0.5 / 25.5))
    assert not scores[:, 3].any()
    np.testing.assert_allclose(scores[:, [0, 2]], LapRLS().fit(X, Y[:, [0, 2]]).decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        {"ambient_weight": 0.0},
        {"graph_weight": -1.0},
        {"laplacian": "random_walk"},
        {"kernel": "gauss"},
        {"weights": "heat"},
        {"n_neighbors": 0},
        {"graph": np.zeros((3, 3))},
        {"n_landmarks": 0},
    ],
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        LapRLS(**parameters).fit(*make_problem())


def test_the_constructor_offers_the_laplacians_that_it_takes():
    X, Y = make_problem()
    offered = get_args(inspect.signature(LapRLS).parameters["laplacian"].annotation)
    assert offered == ("unnormalized", "symmetric")
    for kind in offered:
        assert np.isfinite(LapRLS(laplacian=kind).fit(X, Y).transduction_).all()
    with pytest.raises(InvalidInputError, match=r"one of 'unnormalized', 'symmetric'\. Got 'random_walk'"):
        LapRLS(laplacian="random_walk").fit(X, Y)
