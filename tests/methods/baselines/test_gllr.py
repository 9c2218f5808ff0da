"""Group lasso with logistic regression as an annotator."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines.gllr import GLLR, GRID

GROUPS = FeatureGroups(["colour", "edge", "noise"], [3, 4, 5])


def make_problem(n=120, c=4, *, seed=0):
    """Tags that depend on the first two groups alone, by turns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12)) * np.repeat([1.0, 2.0, 1.0], [3, 4, 5]) + 3.0
    coef = np.zeros((12, c))
    coef[:3, ::2] = rng.normal(size=(3, len(range(0, c, 2)))) * 2
    coef[3:7, 1::2] = rng.normal(size=(4, len(range(1, c, 2)))) * 2
    scores = (X - 3.0) @ coef + 0.3 * rng.normal(size=(n, c))
    return X, (scores > 0).astype(np.int8)


def objective(X, Y, coef, intercept, strengths, sizes, weights):
    total = 0.0
    for tag in range(Y.shape[1]):
        known = Y[:, tag] != -1
        signs = np.where(Y[known, tag] == 1, 1.0, -1.0)
        total += np.logaddexp(0, -signs * (X[known] @ coef[:, tag] + intercept[tag])).mean()
        parts = np.split(coef[:, tag], np.cumsum(sizes)[:-1])
        total += strengths[tag] * sum(
            weight * np.linalg.norm(part) for weight, part in zip(weights, parts, strict=True)
        )
    return total


def test_each_tag_finds_its_groups():
    X, Y = make_problem()
    fitted = GLLR(GROUPS, sparsity=0.3).fit(X, Y)
    assert fitted.selected_groups_.shape == (4, 3)
    np.testing.assert_array_equal(fitted.selected_groups_, [[True, False, False], [False, True, False]] * 2)
    assert not fitted.coef_[7:].any()
    assert fitted.optimality_ <= 1e-6


@pytest.mark.parametrize("weighting", ["size", "equal"])
def test_the_objective_is_the_documented_one_and_no_neighbour_is_better(weighting):
    X, Y = make_problem()
    Y[np.random.default_rng(1).random(Y.shape) < 0.2] = -1
    fitted = GLLR(GROUPS, sparsity=0.05, weighting=weighting, tol=1e-9).fit(X, Y)
    weights = np.sqrt(GROUPS.sizes) if weighting == "size" else np.ones(3)
    arguments = (fitted.strengths_, GROUPS.sizes, weights)
    reached = objective(X, Y, fitted.coef_, fitted.intercept_, *arguments)
    assert reached == pytest.approx(fitted.objective_[-1], rel=1e-10)
    assert (np.diff(fitted.objective_) <= 1e-12).all()
    rng = np.random.default_rng(2)
    for _ in range(20):
        W = fitted.coef_ + 1e-3 * rng.normal(size=fitted.coef_.shape) * (rng.random(fitted.coef_.shape) < 0.3)
        assert objective(X, Y, W, fitted.intercept_, *arguments) > reached


def test_without_groups_and_standardised_it_is_l1_logistic_regression():
    X, Y = make_problem(300, 2)
    fitted = GLLR(sparsity=0.1, standardize=True, tol=1e-9).fit(X, Y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for tag in range(2):
        other = LogisticRegression(
            l1_ratio=1.0, C=1 / (fitted.strengths_[tag] * 300), solver="saga", tol=1e-10, max_iter=20000
        ).fit(Z, Y[:, tag])
        np.testing.assert_allclose(fitted.coef_[:, tag] * X.std(axis=0), other.coef_[0], atol=1e-5)
        np.testing.assert_allclose(fitted.decision_function(X)[:, tag], other.decision_function(Z), atol=1e-4)


def test_absolute_strength_is_the_same_for_all_tags():
    X, Y = make_problem()
    fitted = GLLR(GROUPS, sparsity=0.02, relative=False).fit(X, Y)
    np.testing.assert_array_equal(fitted.strengths_, 0.02)
    own = GLLR(GROUPS, sparsity=1.0).fit(X, Y)
    assert not own.coef_.any()
    assert GLLR(GROUPS, sparsity=0.999).fit(X, Y).selected_groups_.any(axis=1).all()


def test_the_path_equals_separate_fits():
    X, Y = make_problem()
    shares, coefs, intercepts = GLLR(GROUPS, tol=1e-9).sparsity_path(X, Y, [0.02, 0.3])
    assert shares.tolist() == [0.3, 0.02]
    for share, coef, intercept in zip(shares, coefs, intercepts, strict=True):
        alone = GLLR(GROUPS, sparsity=share, tol=1e-9).fit(X, Y)
        np.testing.assert_allclose(coef, alone.coef_, atol=1e-6)
        np.testing.assert_allclose(intercept, alone.intercept_, atol=1e-5)


def test_auto_takes_the_best_share_of_the_grid():
    X, Y = make_problem(80)
    Y[40:] = -1
    fitted = GLLR(GROUPS, random_state=0).fit(X, Y)
    assert fitted.sparsity_ == GRID[np.nanargmax(fitted.sparsity_scores_)]
    assert np.nanmax(fitted.sparsity_scores_) > 0.8
    again = GLLR(GROUPS, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(fitted.coef_, again.coef_)


def test_a_group_wider_than_the_photos():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 60))
    Y = (X[:, :1] > 0).astype(np.int8)
    fitted = GLLR(FeatureGroups(["wide", "other"], [40, 20]), sparsity=0.1).fit(X, Y)
    assert fitted.optimality_ <= 1e-6


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:, 1], Y[:, 3] = 0, -1
    with pytest.warns(UserWarning, match="tags 1, 3 are without a known positive or without"):
        fitted = GLLR(GROUPS, sparsity=0.1).fit(X, Y)
    scores = fitted.decision_function(X)
    np.testing.assert_allclose(scores[:, 1], np.log(0.5 / 120.5))
    assert not scores[:, 3].any()
    assert np.isnan(fitted.strengths_[[1, 3]]).all()
    untouched = GLLR(GROUPS, sparsity=0.1).fit(X, Y[:, [0, 2]])
    np.testing.assert_allclose(fitted.coef_[:, [0, 2]], untouched.coef_, atol=1e-6)


def test_too_few_steps_warn():
    X, Y = make_problem()
    with pytest.warns(ConvergenceWarning, match="GLLR was left at an optimality of"):
        GLLR(GROUPS, sparsity=0.01, max_iter=1).fit(X, Y)


@pytest.mark.parametrize(
    "parameters",
    [{"sparsity": 0.0}, {"sparsity": "best"}, {"relative": False}, {"weighting": "none"}, {"groups": [3, 9]}],
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        GLLR(**parameters).fit(*make_problem(30))


def test_groups_that_do_not_fit_the_features_are_refused():
    X, Y = make_problem(30)
    with pytest.raises(InvalidInputError, match="expected a matrix with 12 columns"):
        GLLR(GROUPS, sparsity=0.1).fit(X[:, :5], Y)
