import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from tagloom.tuning.calibration.maps import fit_pooled, fit_tags, platt_targets


def test_the_pooled_sigmoid_is_penalised_logistic_regression():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 3))
    labels = (rng.random(300) < expit(features @ [1.0, -2.0, 0.5])).astype(float)
    found, covariance = fit_pooled(features, labels, np.zeros(3), np.full(3, 2.0))
    other = LogisticRegression(C=4.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(features, labels)
    np.testing.assert_allclose(found, other.coef_[0], atol=1e-5)
    p = expit(features @ found)
    hessian = (features.T * (p * (1 - p))) @ features + np.eye(3) / 4.0
    np.testing.assert_allclose(covariance @ hessian, np.eye(3), atol=1e-9)


def test_without_entries_the_prior_remains():
    means, deviations = np.array([0.3, 1.0]), np.array([0.5, 2.0])
    found, covariance = fit_pooled(np.empty((0, 2)), np.empty(0), means, deviations)
    np.testing.assert_array_equal(found, means)
    np.testing.assert_allclose(covariance, np.diag(deviations**2))


def test_each_tags_sigmoid_minimises_its_own_objective():
    rng = np.random.default_rng(1)
    eta = rng.normal(size=(80, 4)) - 1.0
    known = rng.random((80, 4)) < 0.8
    labels = (rng.random((80, 4)) < expit(1.5 * eta + [0.0, 1.0, -1.0, 0.5])).astype(float)
    found = fit_tags(eta, labels, known, spread=(0.7, 0.4))
    for tag in range(4):
        h, inside = eta[:, tag] - found.centres[tag], known[:, tag]

        def objective(w, tag=tag, h=h, inside=inside):
            z = (eta[:, tag] + w[0] + w[1] * h)[inside]
            loss = np.logaddexp(0, z) - labels[inside, tag] * z
            return loss.sum() + 0.5 * (w[0] / 0.7) ** 2 + 0.5 * (w[1] / 0.4) ** 2

        best = minimize(objective, np.zeros(2), tol=1e-12).x
        np.testing.assert_allclose([found.offsets[tag], found.slopes[tag]], best, atol=1e-4)


def test_the_spread_between_tags_is_recovered():
    rng = np.random.default_rng(2)
    eta = rng.normal(size=(400, 150))
    offsets = 0.8 * rng.normal(size=150)
    labels = (rng.random(eta.shape) < expit(eta + offsets)).astype(float)
    found = fit_tags(eta, labels, np.ones(eta.shape, dtype=bool))
    assert found.offset_spread == pytest.approx(0.8, abs=0.15)
    assert found.slope_spread < 0.2
    none = fit_tags(eta, (rng.random(eta.shape) < expit(eta)).astype(float), np.ones(eta.shape, dtype=bool))
    # Twenty tags of the usual spread are counted along: 0.3 of 20 among 170 alone would be 0.1.
    assert none.offset_spread < 0.17
    assert np.abs(none.offsets).max() < 0.3


def test_a_dozen_tags_with_three_examples_each_are_not_taken_for_different():
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        eta = rng.normal(-2.5, 1.0, size=(30, 12))
        labels = (rng.random(eta.shape) < expit(eta)).astype(float)
        found.append(fit_tags(eta, labels, np.ones(eta.shape, dtype=bool)))
    assert max(one.slope_spread for one in found) < 0.3
    assert max(np.abs(one.slopes).max() for one in found) < 0.4


def test_a_tag_with_few_examples_keeps_closer_to_the_others():
    rng = np.random.default_rng(3)
    eta = rng.normal(size=(300, 40))
    labels = (rng.random(eta.shape) < expit(eta + 1.0 * rng.choice([-1, 1], size=40))).astype(float)
    labels[:, :2] = labels[:, :1]
    known = np.ones(eta.shape, dtype=bool)
    known[10:, 1] = False
    eta[:, 1] = eta[:, 0]
    found = fit_tags(eta, labels, known)
    assert abs(found.offsets[1]) < abs(found.offsets[0])
    assert found.offset_variances[1] > 3 * found.offset_variances[0]
    known[:, 1] = False
    nothing = fit_tags(eta, labels, known)
    assert nothing.offsets[1] == 0.0
    assert nothing.offset_variances[1] == pytest.approx(nothing.offset_spread**2, rel=1e-2)


def test_platts_targets():
    labels = np.array([[True], [True], [False], [False]])
    known = np.array([[True], [True], [True], [False]])
    np.testing.assert_allclose(platt_targets(labels, known)[:3, 0], [3 / 4, 3 / 4, 1 / 3])


def test_a_separated_tag_stays_finite():
    eta = np.linspace(-3, 3, 20)[:, None]
    found = fit_tags(eta, (eta > 0).astype(float), np.ones((20, 1), dtype=bool), spread=(3.0, 1.0))
    assert np.isfinite(found.logits(eta)).all()
    assert found.slopes[0] > 0
