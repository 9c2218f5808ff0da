"""Transductive SVM: limiting cases, its objective, and two moons."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.baselines.tsvm import TransductiveSVM


def make_problem(n=60, d=4, c=3, *, labelled=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, c)) + 0.3 * rng.normal(size=(n, c)) > 0.2).astype(np.int8)
    Y[labelled:] = -1
    return X, Y


@pytest.mark.parametrize("kernel", ["linear", lambda A, B: A @ B.T])
def test_with_nothing_unknown_it_is_linear_svc(kernel):
    X, Y = make_problem(labelled=60)
    model = TransductiveSVM(kernel, C=0.5, fit_intercept=False).fit(X, Y)
    for tag in range(3):
        reference = LinearSVC(C=0.5, fit_intercept=False, dual=False, tol=1e-10).fit(X, Y[:, tag])
        np.testing.assert_allclose(model.transduction_[:, tag], reference.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(model.labels_, Y)


def test_without_weight_the_unlabelled_photos_change_nothing():
    X, Y = make_problem()
    model = TransductiveSVM(unlabeled_weight=0.0, tol=1e-9).fit(X, Y)
    reference = LapSVM(ambient_weight=0.5, graph_weight=0.0).fit(X, Y)
    np.testing.assert_allclose(model.transduction_, reference.transduction_, atol=1e-7)
    assert model.objective_[-1] == pytest.approx(reference.objective_[-1] * 2.0, rel=1e-8)


def test_the_end_is_a_fixed_point_with_the_shares_kept():
    X, Y = make_problem()
    Y[:5, 1] = -1
    model = TransductiveSVM(C=2.0, tol=1e-10).fit(X, Y)
    assert (np.diff(model.objective_) <= 1e-9).all()
    for tag in range(3):
        known = Y[:, tag] != -1
        np.testing.assert_array_equal(model.labels_[known, tag], Y[known, tag])
        given = model.labels_[~known, tag]
        assert given.sum() == round((Y[known, tag] == 1).mean() * (~known).sum())
        # The photos that were given the tag are those of the highest scores.
        scores = model.transduction_[~known, tag]
        assert scores[given == 1].min() >= scores[given == 0].max()
        # And given the labels, the machine is optimal: c = s y (1 - yf)₊ in units of α = 2Cc.
        weights = np.where(known, 1.0, known.sum() / (~known).sum())
        signs = 2.0 * model.labels_[:, tag] - 1
        alpha = 2 * 2.0 * weights * signs * np.maximum(1 - signs * model.transduction_[:, tag], 0)
        K = model.kernel_.gram(X)
        np.testing.assert_allclose(K @ alpha + model.intercept_[tag], model.transduction_[:, tag], atol=1e-7)


def test_share_of_positives():
    X, Y = make_problem()
    model = TransductiveSVM(positive_share=0.25).fit(X, Y)
    np.testing.assert_array_equal((model.labels_[20:] == 1).sum(axis=0), 10)


def test_unlabelled_photos_help_where_the_margin_is_empty():
    rng = np.random.default_rng(0)
    signs = 2.0 * (np.arange(120) % 2) - 1
    X = np.column_stack([3.0 * signs + 0.5 * rng.normal(size=120), 2.0 * rng.normal(size=120)])
    # Of the two labelled photos the second column tells as much as the first.
    X[:2] = 3.0 * signs[:2, None]
    truth = (signs > 0).astype(np.int8)[:, None]
    Y = truth.copy()
    Y[2:] = -1
    alone = LapSVM("linear", ambient_weight=0.5, graph_weight=0.0).fit(X, Y)
    model = TransductiveSVM("linear").fit(X, Y)
    errors = [((m.transduction_ > 0) != (truth == 1))[2:].mean() for m in (alone, model)]
    assert errors[1] == 0.0 < errors[0]


def test_landmarks_and_new_photos():
    X, Y = make_problem()
    exact, every = (TransductiveSVM(n_landmarks=count).fit(X, Y) for count in (None, 60))
    np.testing.assert_allclose(every.transduction_, exact.transduction_, atol=1e-3)
    np.testing.assert_allclose(exact.decision_function(X), exact.transduction_, atol=1e-10)
    few = TransductiveSVM(n_landmarks=15).fit(X, Y)
    np.testing.assert_allclose(few.decision_function(X), few.transduction_, atol=1e-10)


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:20, 0] = 0
    with pytest.warns(UserWarning, match="TransductiveSVM: tag 0 is without"):
        model = TransductiveSVM().fit(X, Y)
    np.testing.assert_allclose(model.transduction_[:, 0], np.log(0.5 / 20.5))
    assert (model.labels_[20:, 0] == -1).all()


@pytest.mark.parametrize("parameters", [{"C": 0}, {"unlabeled_weight": -1}, {"positive_share": 1.5}, {"n_levels": 0}])
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        TransductiveSVM(**parameters).fit(*make_problem())
