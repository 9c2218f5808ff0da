"""Oracles: the formula in loops, the analysis of variance of scikit-learn, least squares on chosen columns."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_selection import f_classif
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from tagloom.exceptions import InvalidInputError
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.baselines.fisher_score import FisherScore, fisher_scores
from tagloom.metrics import mean_average_precision


def make_problem(n=60, d=12, c=3, *, seed=0, n_useful=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.2, 3.0, size=d) + rng.normal(size=d)
    useful = X[:, :n_useful] / X[:, :n_useful].std(axis=0)
    Y = (useful @ rng.normal(size=(n_useful, c)) + 0.5 * rng.normal(size=(n, c)) > 0.4).astype(np.int8)
    return X, Y


def literal(X, Y):
    scores = np.zeros(X.shape[1])
    for feature in range(X.shape[1]):
        between = within = 0.0
        for tag in range(Y.shape[1]):
            known = Y[:, tag] != -1
            if not known.any():
                continue
            mean = X[known, feature].mean()
            for label in (0, 1):
                values = X[Y[:, tag] == label, feature]
                if len(values):
                    between += len(values) * (values.mean() - mean) ** 2
                    within += len(values) * values.var()
        scores[feature] = between / within if within > 0 else 0.0
    return scores


def with_unknowns(Y, seed=1):
    Y = Y.copy()
    Y[np.random.default_rng(seed).random(Y.shape) < 0.3] = -1
    Y[:5] = -1
    return Y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_scores_are_those_of_the_formula(form):
    X, Y = make_problem()
    X[np.abs(X) < 0.3] = 0.0
    Y = with_unknowns(Y)
    Y[:, 2] = np.where(Y[:, 2] == 0, -1, Y[:, 2])  # a tag of one class adds to the scatter within
    np.testing.assert_allclose(fisher_scores(form(X), Y), literal(X, Y), rtol=1e-9)


def test_scores_of_one_tag_are_the_f_statistic():
    X, Y = make_problem(c=1)
    np.testing.assert_allclose(fisher_scores(X, Y) * (len(X) - 2), f_classif(X, Y[:, 0])[0], rtol=1e-10)


def test_order_for_balanced_classes_is_that_of_the_f_statistic():
    X, _ = make_problem(60, 30)
    classes = np.arange(60) % 4
    X += np.random.default_rng(3).normal(size=(4, 30))[classes] * np.linspace(0, 1, 30)
    scores = fisher_scores(X, np.eye(4, dtype=np.int8)[classes])
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(f_classif(X, classes)[0]))


def test_a_large_offset_does_not_hide_the_scatter():
    X, Y = make_problem()
    np.testing.assert_allclose(fisher_scores(X + 1e6, Y), fisher_scores(X, Y), rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_constant_features_score_nothing_and_perfect_ones_most(form):
    X, Y = make_problem(c=1)
    X[:, 3], X[:, 4], X[:, 5] = 0.0, 0.1, Y[:, 0]
    scores = fisher_scores(form(X), Y)
    assert scores[3] == scores[4] == 0.0
    assert np.isfinite(scores).all()
    assert scores.argmax() == 5


def test_unlabelled_rows_do_not_matter():
    X, Y = make_problem()
    Y[40:] = -1
    np.testing.assert_allclose(fisher_scores(X, Y), fisher_scores(X[:40], Y[:40]), rtol=1e-12)


@pytest.mark.parametrize("n_features", [1, 5, 12, 40])
def test_it_is_least_squares_on_the_best_features(n_features):
    X, Y = make_problem()
    Y[45:] = -1
    found = FisherScore(n_features, regularization=2.0).fit(X, Y)
    best = np.sort(np.argsort(-literal(X, Y))[:n_features])
    np.testing.assert_array_equal(found.selected_features_, best)
    expected = Ridge(2.0).fit(X[:45, best], Y[:45])
    np.testing.assert_allclose(found.coef_[best], expected.coef_.T, atol=1e-9)
    np.testing.assert_allclose(found.transduction_, expected.predict(X[:, best]), atol=1e-9)
    assert not found.coef_[~found.get_support()].any()
    assert found.n_features_ == min(n_features, 12)
    twin = RegularizedLeastSquares(2.0).fit(X[:, best], Y)
    np.testing.assert_allclose(found.thresholds_, twin.thresholds_)


def test_sparse_features_give_the_same_annotator():
    X, Y = make_problem(80, 30)
    X[np.abs(X) < 0.5] = 0.0
    Y = with_unknowns(Y)
    full, thin = FisherScore().fit(X, Y), FisherScore().fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(full.selected_features_, thin.selected_features_)
    np.testing.assert_allclose(full.transduction_, thin.transduction_, atol=1e-9)
    np.testing.assert_allclose(full.decision_function(X), thin.decision_function(sparse.csr_array(X)), atol=1e-9)


def test_auto_finds_the_few_useful_features_among_noise():
    X, truth = make_problem(500, 300, 4, n_useful=6)
    Y = truth.copy()
    Y[120:] = -1
    found = FisherScore().fit(X, Y)
    assert found.candidates_[0] == 8
    assert found.candidates_[-1] == 300
    assert found.n_features_ == found.candidates_[found.precision_.argmax()] < 100
    everything = RegularizedLeastSquares().fit(X, Y)
    reached, plain = (mean_average_precision(truth[120:], each.transduction_[120:]) for each in (found, everything))
    assert reached > plain + 0.02


def test_auto_without_anything_to_compare_keeps_all_features():
    X, Y = make_problem(20, 12)
    Y[1:] = -1
    found = FisherScore().fit(X, Y)
    assert found.precision_ is None
    assert found.n_features_ == 12


def test_it_is_a_feature_selector_in_a_pipeline():
    X, Y = make_problem()
    selector = FisherScore(4).fit(X, Y)
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.get_support()])
    np.testing.assert_array_equal(selector.fit_transform(X, Y), selector.transform(X))
    assert selector.transform(X.astype(np.float32)).dtype == np.float32
    assert selector.inverse_transform(selector.transform(X)).shape == X.shape
    assert list(selector.get_feature_names_out()) == [f"x{i}" for i in selector.selected_features_]
    joined = make_pipeline(FisherScore(4), RegularizedLeastSquares(1.0)).fit(X, Y)
    np.testing.assert_allclose(
        joined.decision_function(X), FisherScore(4, regularization=1.0).fit(X, Y).transduction_, atol=1e-9
    )


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "all", None])
def test_wrong_numbers_of_features_are_named(value):
    with pytest.raises(
        InvalidInputError,
        match=r"'n_features' parameter .* must be 'auto' or an int in the range \[1, inf\)",
    ):
        FisherScore(value).fit(*make_problem())
