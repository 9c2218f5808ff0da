"""Competitors of the quality benchmark give what the libraries they stand for give, only faster."""

import warnings

import numpy as np
import pytest

from benchmarks.datasets import Dataset
from benchmarks.quality.competitors import Linear, OfClass, RBFMachine, Ridge
from benchmarks.quality.linear import fit_linear, kernel_columns, linear_scores
from benchmarks.quality.problem import Problem, choose, final_scores
from benchmarks.quality.propagation import LabelSpread, self_train
from benchmarks.quality.sets import TOY, Draw


@pytest.fixture(scope="module")
def problem():
    data, draw = TOY.draw(0.25, 0)
    return Problem(data, draw, seed=3)


@pytest.fixture(scope="module")
def targets(problem):
    return np.append(problem.draw.unlabeled, problem.draw.new)


def _scores(competitor, problem, targets, point):
    return final_scores(competitor, problem, point, targets)


def _columns(problem):
    return problem.X[problem.draw.labeled].astype(np.float64)


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_logistic_regression_of_all_tags_is_scikit_learns(problem, targets, C):
    from sklearn.linear_model import LogisticRegression

    found = _scores(Linear("logistic", (C,)), problem, targets, {"C": C})
    for tag in range(problem.Y.shape[1]):
        model = LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(_columns(problem), problem.Y[:, tag])
        np.testing.assert_allclose(found[:, tag], model.decision_function(problem.X[targets]), atol=0.01)


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_the_linear_machine_of_all_tags_is_scikit_learns(problem, targets, C):
    from sklearn.svm import LinearSVC

    found = _scores(Linear("squared_hinge", (C,)), problem, targets, {"C": C})
    for tag in range(problem.Y.shape[1]):
        model = LinearSVC(C=C, dual=False, tol=1e-8, max_iter=5000).fit(_columns(problem), problem.Y[:, tag])
        np.testing.assert_allclose(found[:, tag], model.decision_function(problem.X[targets]), atol=0.01)


def test_entries_without_a_sign_play_no_part():
    generator = np.random.default_rng(0)
    Z = generator.standard_normal((40, 3))
    signs = np.where(generator.random((40, 2)) < 0.5, 1.0, -1.0)
    signs[30:, 0] = 0.0
    found = fit_linear(Z, signs, 2.0, "logistic", tol=1e-8)
    alone = fit_linear(Z[:30], signs[:30, :1], 2.0, "logistic", tol=1e-8)
    np.testing.assert_allclose(found[:, :1], alone, atol=1e-4)


def test_columns_of_the_kernel_give_its_inner_products():
    X = np.random.default_rng(0).standard_normal((9, 4))
    Z, back = kernel_columns(X[:6] @ X[:6].T)
    assert Z.shape == (6, 4)
    np.testing.assert_allclose(Z @ Z.T, X[:6] @ X[:6].T, atol=1e-10)
    np.testing.assert_allclose((X[6:] @ X[:6].T @ back) @ Z.T, X[6:] @ X[:6].T, atol=1e-10)


def test_ridge_is_scikit_learns(problem, targets):
    from sklearn.linear_model import Ridge as Reference

    X = _columns(problem)
    unit = np.square(X - X.mean(axis=0)).sum() / len(X)
    found = _scores(Ridge(), problem, targets, {"penalty": 0.1})
    reference = Reference(alpha=0.1 * unit).fit(X, problem.Y).predict(problem.X[targets].astype(np.float64))
    np.testing.assert_allclose(found, reference, atol=1e-5)


def test_the_gaussian_machine_is_scikit_learns(problem, targets):
    from sklearn.metrics import pairwise_distances
    from sklearn.svm import SVC

    X = _columns(problem)
    gamma = 4.0 / np.square(pairwise_distances(X)).mean()
    found = _scores(RBFMachine(), problem, targets, {"C": 10.0, "gamma": 4.0})
    for tag in range(problem.Y.shape[1]):
        model = SVC(C=10.0, gamma=gamma).fit(X, problem.Y[:, tag])
        np.testing.assert_allclose(found[:, tag], model.decision_function(problem.X[targets]), atol=0.01)


@pytest.mark.parametrize(("n_neighbors", "alpha"), [(7, 0.2), (15, 0.8)])
def test_spreading_all_tags_is_scikit_learns_tag_by_tag(problem, n_neighbors, alpha):
    from sklearn.semi_supervised import LabelSpreading

    seen, draw = problem.draw.seen, problem.draw
    point = {"n_neighbors": n_neighbors, "alpha": alpha}
    found = _scores(LabelSpread(), problem, np.append(draw.unlabeled, draw.new), point)
    for tag in range(problem.Y.shape[1]):
        y = np.full(len(seen), -1)
        y[np.searchsorted(seen, draw.labeled)] = problem.Y[:, tag]
        model = LabelSpreading("knn", n_neighbors=n_neighbors, alpha=alpha, max_iter=2000, tol=1e-9)
        with warnings.catch_warnings():
            # Photos that no label reaches: scikit-learn divides by zero and says so.
            warnings.simplefilter("ignore", RuntimeWarning)
            model.fit(problem.X[seen], y)
            shares = model.label_distributions_[np.searchsorted(seen, draw.unlabeled), 1]
            new = model.predict_proba(problem.X[draw.new])[:, 1]
        np.testing.assert_allclose(found[: len(shares), tag], np.nan_to_num(shares), atol=1e-3)
        np.testing.assert_allclose(found[len(shares) :, tag], np.nan_to_num(new), atol=1e-3)


@pytest.mark.parametrize("threshold", [0.75, 0.95])
def test_self_training_of_all_tags_is_scikit_learns_tag_by_tag(problem, threshold):
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    seen = problem.draw.seen
    Z = problem.components[seen]
    signs = np.zeros((len(seen), problem.Y.shape[1]))
    signs[np.searchsorted(seen, problem.draw.labeled)] = np.where(problem.Y == 1, 1.0, -1.0)
    found = linear_scores(Z, self_train(Z, signs, 1.0, threshold, tol=1e-8))
    for tag in range(signs.shape[1]):
        y = np.where(signs[:, tag] == 0, -1, signs[:, tag] > 0).astype(int)
        base = LogisticRegression(C=1.0, tol=1e-8, max_iter=5000)
        model = SelfTrainingClassifier(base, threshold=threshold, max_iter=10).fit(Z, y)
        np.testing.assert_allclose(found[:, tag], model.decision_function(Z), atol=0.01)


def test_tags_without_a_yes_have_a_constant_score(problem, targets):
    Y = problem.Y.copy()
    Y[:, 2] = 0
    places = np.arange(len(Y))
    for competitor in (Linear("logistic", (1.0,)), RBFMachine()):
        (scores,) = competitor.scores(problem, places, Y, targets, competitor.points(problem)[:1])
        assert np.ptp(scores[:, 2]) == 0
        assert np.ptp(scores[:, 0]) > 0


def test_the_point_that_ranks_held_out_photos_best_is_chosen(problem):
    class Oracle:
        def points(self, problem):
            return [{"sign": -1}, {"sign": 1}, {"sign": 0}]

        def scores(self, problem, train, Y, targets, points):
            tags = problem.scored_tags
            return [point["sign"] * problem.truth[np.ix_(targets, tags)].astype(float) for point in points]

    chosen = choose(Oracle(), problem)
    assert chosen.point == {"sign": 1}
    assert chosen.inside == pytest.approx(1.0)


def test_no_held_out_photo_is_learnt_from(problem):
    asked = []

    class Spy:
        n_folds = 2

        def points(self, problem):
            return [{"a": 0}, {"a": 1}]

        def scores(self, problem, train, Y, targets, points):
            asked.append((problem.draw.labeled[train], targets))
            return [np.zeros((len(targets), Y.shape[1])) for _ in points]

    choose(Spy(), problem)
    assert len(asked) == 2
    for train, held_out in asked:
        assert not set(train) & set(held_out)
        assert set(train) | set(held_out) == set(problem.draw.labeled)


def test_a_learner_by_name_sees_the_groups(problem, targets):
    jec = OfClass("JEC", [{"n_neighbors": 3}], by_group=True)
    from tagloom.methods import JEC

    rows = problem.draw.labeled
    reference = JEC(problem.groups, n_neighbors=3).fit(problem.X[rows], problem.Y).decision_function(problem.X[targets])
    np.testing.assert_array_equal(_scores(jec, problem, targets, {"n_neighbors": 3}), reference)


def test_scaling_does_not_look_at_new_photos():
    data, draw = TOY.draw(0.25, 0)
    changed = data.X.copy()
    changed[draw.new] *= 100.0
    first = Problem(data, draw, 0).X[draw.seen]
    second = Problem(Dataset(changed, data.Y, data.groups), Draw(draw.seen, draw.labeled, draw.new), 0).X[draw.seen]
    np.testing.assert_array_equal(first, second)
