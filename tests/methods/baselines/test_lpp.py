"""LPP against dense generalised eigenproblems, LPP + SVM against scikit-learn on the projections."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.svm import SVC

from tagloom.exceptions import InvalidInputError
from tagloom.graph import knn_graph
from tagloom.kernels.matrix import kernel_matrix
from tagloom.methods.baselines.lpp import LPP, LPPSVM, n_directions


def make_problem(n=50, d=6, c=3, *, labelled=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, d))
    Y = (X @ rng.normal(size=(d, c)) > 0.1).astype(np.int8)
    Y[labelled:] = -1
    return X, Y


def same_up_to_sign(found, expected, **tolerance):
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, **tolerance)


def test_linear_against_a_dense_generalised_eigenproblem():
    X, _ = make_problem()
    graph = knn_graph(X, 5)
    model = LPP(4, kernel="linear", energy=1.0, graph=graph).fit(X)
    L, D = graph.laplacian().toarray(), np.diag(graph.degrees)
    values, vectors = eigh(X.T @ L @ X, X.T @ D @ X)
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-10)
    same_up_to_sign(model.components_, vectors[:, :4], atol=1e-9)
    same_up_to_sign(model.transform(X), X @ vectors[:, :4], atol=1e-9)
    np.testing.assert_allclose(model.embedding_.T @ D @ model.embedding_, np.eye(4), atol=1e-10)


def test_kernel_against_a_dense_generalised_eigenproblem():
    X, _ = make_problem(25)
    model = LPP(5, gamma=0.7, energy=1.0, n_neighbors=4).fit(X)
    K = kernel_matrix("rbf", X, gamma=0.7)
    G = K * (knn_graph(X, 4).weights.toarray() > 0)
    D = np.diag(G.sum(axis=1))
    values, vectors = eigh(K @ (D - G) @ K, K @ D @ K)
    np.testing.assert_allclose(model.eigenvalues_, values[:5], atol=1e-8)
    same_up_to_sign(model.embedding_, K @ vectors[:, :5], atol=1e-6)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)


def test_the_energies_choose_the_subspaces():
    X, _ = make_problem()
    full = LPP(50, kernel="linear", energy=1.0).fit(X)
    gains = np.maximum(1 - full.eigenvalues_, 0)
    count = int(np.argmax(np.cumsum(gains) / gains.sum() >= 0.6)) + 1
    assert LPP(kernel="linear", energy=1.0, subspace_energy=0.6).fit(X).transform(X).shape == (50, count)
    assert LPP(50, energy=0.5).fit(X).projection_.shape[0] < LPP(50, energy=0.9).fit(X).projection_.shape[0]
    assert n_directions(np.array([0.0, 0.5, 1.5]), 1.0) == 2
    assert n_directions(np.array([1.2, 1.5]), 0.5) == 1
    assert n_directions(np.zeros(0), 0.5) == 0


def test_landmarks():
    X, _ = make_problem()
    exact, every = (LPP(3, gamma=0.5, n_landmarks=count).fit(X) for count in (None, 50))
    np.testing.assert_allclose(every.embedding_, exact.embedding_, atol=1e-8)
    few = LPP(3, gamma=0.5, n_landmarks=12).fit(X)
    np.testing.assert_allclose(few.transform(X), few.embedding_, atol=1e-10)


def test_lpp_and_svm_are_svc_on_the_scaled_projections():
    X, Y = make_problem()
    Y[:5, 0] = -1
    model = LPPSVM(LPP(4, gamma=0.3), C=2.0).fit(X, Y)
    projected = model.reducer_.scale_ * model.reducer_.transform(X)
    weights = kernel_matrix("rbf", X, gamma=0.3) * (knn_graph(X, 15).weights.toarray() > 0)
    lengths = np.square(projected).sum(axis=1)
    assert np.average(lengths, weights=weights.sum(axis=1)) == pytest.approx(1.0, rel=1e-2)
    for tag in range(3):
        known = Y[:, tag] != -1
        reference = SVC(C=2.0, kernel="linear", tol=1e-5).fit(projected[known], Y[known, tag])
        np.testing.assert_allclose(
            model.decision_function(X)[:, tag], reference.decision_function(projected), atol=1e-3
        )
    np.testing.assert_allclose(model.decision_function(X), model.transduction_, atol=1e-9)


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:25, 0] = 0
    with pytest.warns(UserWarning, match="LPPSVM: tag 0 is without a known positive"):
        model = LPPSVM().fit(X, Y)
    np.testing.assert_allclose(model.transduction_[:, 0], np.log(0.5 / 25.5))


def test_photos_without_neighbours():
    X, _ = make_problem()
    model = LPP(2, graph=np.zeros((50, 50))).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, 0.0, atol=1e-12)
    assert LPP().fit(X[:1]).transform(X[:1]).shape == (1, 1)


@pytest.mark.parametrize(
    "parameters", [{"n_components": 0}, {"subspace_energy": 0.0}, {"energy": 2.0}, {"weights": "x"}]
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        LPP(**parameters).fit(make_problem()[0])
