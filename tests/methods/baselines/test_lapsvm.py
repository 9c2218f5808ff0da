"""LapSVM against the full primal problem and scikit-learn."""

import inspect
from typing import get_args

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from tagloom.exceptions import InvalidInputError
from tagloom.graph import knn_graph
from tagloom.kernels.matrix import kernel_matrix
from tagloom.methods.baselines.lapsvm import LapSVM


def make_problem(n=60, d=5, c=4, *, labelled=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, c)) + 0.5 * rng.normal(size=(n, c)) > 0.3).astype(np.int8)
    Y[labelled:] = -1
    return X, Y


def full_newton(K, L, y, ambient, smooth):
    """Newton's method on α and b in all n + 1 unknowns, as printed in the primal LapSVM paper."""
    n = len(K)
    known = y != -1
    signs = np.where(y == 1, 1.0, -1.0) * known
    columns = np.hstack([K, np.ones((n, 1))])
    penalty = np.zeros((n + 1, n + 1))
    penalty[:n, :n] = ambient * K + smooth * K @ L @ K
    v = np.zeros(n + 1)
    for _ in range(50):
        active = known & (signs * (columns @ v) < 1)
        part = columns[active]
        new = np.linalg.lstsq(part.T @ part + penalty, part.T @ signs[active], rcond=1e-14)[0]
        if np.allclose(columns @ new, columns @ v, atol=1e-13):
            break
        v = new
    return columns @ v


@pytest.mark.parametrize("entrywise", [False, True])
def test_full_newton_in_all_unknowns(entrywise):
    X, Y = make_problem()
    if entrywise:
        Y[np.random.default_rng(1).random(Y.shape) < 0.2] = -1
    model = LapSVM(gamma=0.2, n_neighbors=6, ambient_weight=0.3, graph_weight=0.2).fit(X, Y)
    K, L = kernel_matrix("rbf", X, gamma=0.2), knn_graph(X, 6).laplacian().toarray()
    for tag in range(4):
        expected = full_newton(K, L, Y[:, tag], 0.3, 0.2)
        np.testing.assert_allclose(model.transduction_[:, tag], expected, atol=1e-7)
    assert model.optimality_ < 1e-9
    assert (np.diff(model.objective_) <= 1e-10).all()


def test_optimality_conditions_written_out():
    X, Y = make_problem()
    model = LapSVM(gamma=0.2, ambient_weight=0.3, graph_weight=0.2).fit(X, Y)
    K, L = kernel_matrix("rbf", X, gamma=0.2), knn_graph(X, 15).laplacian()
    alpha, f = model.dual_coef_, model.transduction_
    np.testing.assert_allclose(K @ alpha + model.intercept_, f, atol=1e-10)
    signs = np.where(Y == 1, 1.0, -1.0) * (Y != -1)
    pulls = signs * np.maximum(1 - signs * f, 0.0)
    gradient = K @ (0.3 * alpha + 0.2 * (L @ (K @ alpha)) - pulls)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    np.testing.assert_allclose(pulls.sum(axis=0), 0.0, atol=1e-9)
    value = 0.5 * ((pulls**2).sum() + 0.3 * (alpha * (K @ alpha)).sum())
    value += 0.1 * ((K @ alpha) * (L @ (K @ alpha))).sum()
    assert model.objective_[-1] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("kernel", ["linear", lambda A, B: A @ B.T])
def test_without_graph_and_intercept_it_is_linear_svc(kernel):
    X, Y = make_problem(80, labelled=50)
    model = LapSVM(kernel, ambient_weight=0.25, graph_weight=0.0, fit_intercept=False).fit(X, Y)
    for tag in range(4):
        reference = LinearSVC(C=1 / (2 * 0.25), fit_intercept=False, dual=False, tol=1e-10, max_iter=10_000)
        reference.fit(X[:50], Y[:50, tag])
        np.testing.assert_allclose(model.transduction_[:, tag], reference.decision_function(X), atol=1e-6)


def test_new_photos_landmarks_and_large_problems(monkeypatch):
    X, Y = make_problem(90, labelled=70)
    Y[:20, 0] = -1
    exact = LapSVM(gamma=0.5).fit(X, Y)
    np.testing.assert_allclose(exact.decision_function(X), exact.transduction_, atol=1e-9)
    np.testing.assert_allclose(
        LapSVM(gamma=0.5, n_landmarks=90).fit(X, Y).transduction_, exact.transduction_, atol=1e-5
    )
    # The iterative way for many labelled photos, with the exact kernel and with landmarks.
    for module in ("gram", "squared_hinge"):
        monkeypatch.setattr(f"tagloom.methods.shared.{module}.DIRECT_ROWS", 10)
    iterative = LapSVM(gamma=0.5).fit(X, Y)
    np.testing.assert_allclose(iterative.transduction_, exact.transduction_, atol=1e-7)
    few = LapSVM(gamma=0.5, n_landmarks=20).fit(X, Y)
    assert few.optimality_ < 1e-7


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:25, 1] = 1
    with pytest.warns(UserWarning, match="LapSVM: tag 1 is without a known positive or without"):
        model = LapSVM().fit(X, Y)
    np.testing.assert_allclose(model.transduction_[:, 1], np.log(25.5 / 0.5))
    with pytest.warns(UserWarning, match="tag 0 is"):
        nothing = LapSVM().fit(X, Y[:, [1]])
    np.testing.assert_allclose(nothing.decision_function(X[:3]), np.log(25.5 / 0.5))


@pytest.mark.parametrize("parameters", [{"tol": 0.0}, {"max_iter": 0}, {"ambient_weight": "small"}])
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        LapSVM(**parameters).fit(*make_problem())


def test_the_constructor_offers_the_laplacians_that_it_takes():
    X, Y = make_problem()
    offered = get_args(inspect.signature(LapSVM).parameters["laplacian"].annotation)
    assert offered == ("unnormalized", "symmetric")
    for kind in offered:
        assert np.isfinite(LapSVM(laplacian=kind).fit(X, Y).transduction_).all()
    with pytest.raises(InvalidInputError, match=r"one of 'unnormalized', 'symmetric'\. Got 'random_walk'"):
        LapSVM(laplacian="random_walk").fit(X, Y)
