"""KernelSVM against scikit-learn used directly."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from tagloom.exceptions import ApproximationWarning, InvalidInputError
from tagloom.kernels.landmarks import KernelFeatures
from tagloom.methods.baselines.svm import KernelSVM, fit_tags, hinge_objectives


def make_problem(n=60, d=5, c=4, *, labelled=35, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, d))
    Y = (X @ rng.normal(size=(d, c)) + 0.5 * rng.normal(size=(n, c)) > 0.1).astype(np.int8)
    Y[labelled:] = -1
    Y[:10, 1] = -1
    return X, Y


@pytest.mark.parametrize("gamma", [None, 0.3])
def test_every_tag_is_the_svc_of_scikit_learn(gamma):
    X, Y = make_problem()
    model = KernelSVM(gamma=gamma, C=2.0, tol=1e-6).fit(X, Y)
    for tag in range(4):
        known = Y[:, tag] != -1
        width = 1 / (5 * X.var()) if gamma is None else gamma
        reference = SVC(C=2.0, gamma=width, tol=1e-6).fit(X[known], Y[known, tag])
        np.testing.assert_allclose(model.transduction_[:, tag], reference.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X[:7]), model.transduction_[:7], atol=1e-10)


def test_the_linear_kernel_is_linear_svc():
    X, Y = make_problem()
    model = KernelSVM("linear", C=0.5, tol=1e-8).fit(X, Y)
    for tag in range(4):
        known = Y[:, tag] != -1
        reference = LinearSVC(C=0.5, dual=False, tol=1e-8).fit(X[known], Y[known, tag])
        np.testing.assert_allclose(model.coef_[:, tag], reference.coef_[0], atol=1e-8)
        np.testing.assert_allclose(model.decision_function(X)[:, tag], reference.decision_function(X), atol=1e-8)


def test_precomputed_kernel():
    X, Y = make_problem()
    direct = KernelSVM("intersection").fit(X, Y)
    K = direct.kernel_.gram(X)
    given = KernelSVM("precomputed").fit(K, Y)
    np.testing.assert_allclose(given.transduction_, direct.transduction_, atol=1e-9)
    np.testing.assert_allclose(given.decision_function(K[:3]), direct.decision_function(X[:3]), atol=1e-9)
    assert given.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(InvalidInputError, match="precomputed"):
        KernelSVM("precomputed").fit(X, Y)


@pytest.mark.parametrize("dense_rows", [1000, 10])
def test_landmarks_are_announced_and_are_the_same_machine_on_coordinates(monkeypatch, dense_rows):
    X, Y = make_problem()
    monkeypatch.setattr(KernelSVM, "_kernel_bytes", 8 * 20**2)
    monkeypatch.setattr(KernelSVM, "_most_landmarks", 12)
    monkeypatch.setattr("tagloom.methods.baselines.svm.DENSE_ROWS", dense_rows)
    with pytest.warns(ApproximationWarning, match="KernelSVM approximates its kernel by 12 landmarks"):
        model = KernelSVM(tol=1e-8).fit(X, Y)
    assert len(model.landmarks_) == 12
    T = KernelFeatures(model.kernel_, X, model.landmarks_).transform(X)
    reference = SVC(kernel="linear", tol=1e-8).fit(T[:35], Y[:35, 0])
    np.testing.assert_allclose(model.transduction_[:, 0], reference.decision_function(T), atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), model.transduction_, atol=1e-10)


def test_a_precomputed_kernel_is_exact_at_any_size(monkeypatch):
    X, Y = make_problem()
    direct = KernelSVM("intersection").fit(X, Y)
    monkeypatch.setattr(KernelSVM, "_kernel_bytes", 8)
    monkeypatch.setattr("tagloom.kernels.matrix.DENSE_ROWS", 1)
    given = KernelSVM("precomputed").fit(_intersection(X), Y)
    assert given.landmarks_ is None
    np.testing.assert_allclose(given.transduction_, direct.transduction_, atol=1e-9)


def _intersection(X):
    return np.minimum(X[:, None, :], X[None, :, :]).sum(axis=2)


def test_the_objective_has_no_better_neighbour():
    X, Y = make_problem()
    K = KernelSVM().fit(X, Y).kernel_.gram(X[:35])
    signs = np.where(Y[:35] == -1, 0.0, 2.0 * Y[:35] - 1)
    coef, intercept = fit_tags(K, signs, C=1.0, tol=1e-8)
    best = hinge_objectives(K, signs, coef, intercept, 1.0)
    rng = np.random.default_rng(1)
    for _ in range(20):
        moved = hinge_objectives(K, signs, coef + 1e-2 * rng.normal(size=coef.shape), intercept, 1.0)
        assert (moved >= best - 1e-9).all()


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[Y[:, 2] == 1, 2] = 0
    for kernel in ("rbf", "linear"):
        with pytest.warns(UserWarning, match="KernelSVM: tag 2 is without a known positive"):
            model = KernelSVM(kernel).fit(X, Y)
        np.testing.assert_allclose(model.decision_function(X)[:, 2], np.log(0.5 / 35.5))


@pytest.mark.parametrize("parameters", [{"C": 0.0}, {"tol": -1.0}, {"kernel": "gauss"}])
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        KernelSVM(**parameters).fit(*make_problem())
