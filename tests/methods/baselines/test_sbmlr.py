"""Sparse logistic regression with its regularisation parameter integrated out."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.literal.bayesian_logistic import bayesian_l1_logistic
from tagloom.exceptions import InvalidInputError
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.baselines.sbmlr import SBMLR


def make_problem(n=120, d=20, c=3, *, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)) * rng.uniform(0.5, 2, d)
    coef = np.zeros((d, c))
    coef[:4] = rng.normal(size=(4, c)) + 1
    scores = X @ coef + rng.normal(size=(n, c))
    return X + 5.0, (scores > np.quantile(scores, [0.5, 0.7, 0.8][:c], axis=0).diagonal()).astype(np.int8)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_the_number_of_features_over_their_sum(seed):
    X, Y = make_problem(seed=seed)
    fitted = SBMLR(refit=False).fit(X, Y)
    W = fitted.sparse_coef_ * X.std(axis=0)[:, None]
    count = (W != 0).sum(axis=0)
    excess = fitted.alpha_ * np.abs(W).sum(axis=0) - count
    scores = fitted.decision_function(X)
    slopes = np.abs(standardised(X).T @ (1 / (1 + np.exp(-scores)) - Y))
    entering = ((W == 0) & (slopes >= fitted.alpha_ * (1 - 1e-4))).sum(axis=0)
    assert (excess >= -1e-5 * count).all()
    assert (excess <= entering + 1e-5 * count).all()


def test_equals_l1_logistic_regression_at_the_final_alpha():
    X, Y = make_problem()
    fitted = SBMLR(refit=False, tol=1e-9).fit(X, Y)
    assert fitted.optimality_ <= 1e-9
    for tag in range(3):
        other = LogisticRegression(l1_ratio=1.0, C=1 / fitted.alpha_[tag], solver="saga", tol=1e-9, max_iter=20000).fit(
            standardised(X), Y[:, tag]
        )
        np.testing.assert_allclose(fitted.sparse_coef_[:, tag] * X.std(axis=0), other.coef_[0], atol=1e-5)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.medium) for seed in (1, 2)), 3])
def test_the_coordinate_loop_hovers_about_the_same_alpha(seed):
    n, d = [(100, 20), (60, 40), (50, 15), (40, 60)][seed]
    X, Y = make_problem(n, d, 1, seed=seed)
    fitted = SBMLR(refit=False).fit(X, Y)
    alphas = bayesian_l1_logistic(standardised(X), Y[:, 0].astype(float), max_iter=4000)[2]
    last = np.array(alphas[len(alphas) // 2 :])
    assert last.min() * (1 - 1e-3) <= fitted.alpha_[0] <= last.max() * (1 + 1e-3)


def test_stationarity_of_the_marginal_objective():
    X, Y = make_problem(150, 8, 3, seed=4)
    fitted = SBMLR(refit=False, tol=1e-9).fit(X, Y)
    Z = standardised(X)
    W = fitted.sparse_coef_ * X.std(axis=0)[:, None]
    scores = fitted.decision_function(X)
    slopes = Z.T @ (1 / (1 + np.exp(-scores)) - Y)
    used = W != 0
    np.testing.assert_allclose(slopes[used], (-fitted.alpha_ * np.sign(W))[used], rtol=1e-6)
    assert (np.abs(slopes) <= fitted.alpha_ * (1 + 1e-6)).all()
    count, norm = used.sum(axis=0), np.abs(W).sum(axis=0)
    value = (np.logaddexp(0, scores) - Y * scores).sum() + (count * np.log(norm)).sum()
    assert fitted.objective_[-1] == pytest.approx(value, rel=1e-8)


def test_separable_data_stay_finite():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 200))
    Y = (X[:, :1] > 0).astype(np.int8)
    X[:, 0] += np.where(Y[:, 0] == 1, 2.0, -2.0)
    fitted = SBMLR(refit=False).fit(X, Y)
    assert 0 < fitted.alpha_[0] < np.inf
    assert np.isfinite(fitted.sparse_coef_).all()
    assert 0 in fitted.selected_features_


def test_too_few_photos_support_no_feature():
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    Y = np.array([[1], [0]])
    fitted = SBMLR().fit(X, Y)
    assert fitted.alpha_[0] == np.inf
    assert fitted.selected_features_.size == 0
    np.testing.assert_allclose(fitted.decision_function(X), 0.5)
    assert not SBMLR(refit=False).fit(X, Y).decision_function(X).any()


def test_entries_that_are_unknown_are_left_out():
    X, Y = make_problem(150)
    Y[100:, 1] = -1
    fitted = SBMLR(refit=False, standardize=False, tol=1e-9).fit(X, Y)
    alone = SBMLR(refit=False, standardize=False, tol=1e-9).fit(X[:100], Y[:100, 1:2])
    np.testing.assert_allclose(fitted.sparse_coef_[:, 1], alone.sparse_coef_[:, 0], atol=1e-5)
    np.testing.assert_allclose(fitted.alpha_[1], alone.alpha_[0], rtol=1e-5)


def test_refit_is_least_squares_on_the_selected_features():
    X, Y = make_problem()
    fitted = SBMLR().fit(X, Y)
    chosen = fitted.selected_features_
    np.testing.assert_array_equal(chosen, np.flatnonzero(fitted.sparse_coef_.any(axis=1)))
    other = RegularizedLeastSquares().fit(X[:, chosen], Y)
    np.testing.assert_allclose(fitted.decision_function(X), other.decision_function(X[:, chosen]))
    np.testing.assert_array_equal(fitted.predict(X), other.predict(X[:, chosen]))


def test_it_is_a_selector():
    X, Y = make_problem(150, 30, 3, seed=6)
    fitted = SBMLR(n_features=5).fit(X, Y)
    assert fitted.selected_features_.size == 5
    best = np.sort(np.argsort(-fitted.feature_scores_)[:5])
    np.testing.assert_array_equal(fitted.selected_features_, best)
    np.testing.assert_array_equal(fitted.get_support(indices=True), best)
    np.testing.assert_array_equal(fitted.transform(X), X[:, best])
    assert {f"x{j}" for j in best} == set(fitted.get_feature_names_out())
    chain = make_pipeline(SBMLR(n_features=5), RegularizedLeastSquares(1.0)).fit(X, Y)
    assert chain.decision_function(X).shape == Y.shape
    only = SBMLR(refit=False, n_features=5).fit(X, Y)
    assert set(np.flatnonzero(only.coef_.any(axis=1))) <= set(best)


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:, 1] = 1
    with pytest.warns(UserWarning, match="tag 1 is without a known positive or without a known negative"):
        fitted = SBMLR(refit=False).fit(X, Y)
    assert np.ptp(fitted.decision_function(X)[:, 1]) == 0.0
    assert fitted.alpha_[1] == np.inf


@pytest.mark.parametrize("parameters", [{"n_features": 0}, {"n_features": 1.5}])
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        SBMLR(**parameters).fit(*make_problem())
