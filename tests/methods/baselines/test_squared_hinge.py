"""Squared-hinge machines against a general optimiser, and the three ways of solving the systems against each other."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from tagloom.methods.shared import squared_hinge
from tagloom.methods.shared.gram import DenseGram, FactoredGram, gram_of_features
from tagloom.methods.shared.squared_hinge import fit_squared_hinge, solve_masked


def make_problem(n=40, p=6, c=5, *, unknown=0.2, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    signs = np.where(Z @ rng.normal(size=(p, c)) + rng.normal(size=(n, c)) > 0, 1.0, -1.0)
    signs[rng.random((n, c)) < unknown] = 0.0
    return Z, signs, rng.uniform(0.1, 2.0, size=(n, c))


def by_optimiser(Z, y, s, *, intercept):
    def value(v):
        b = v[-1] if intercept else 0.0
        slack = np.maximum(1 - y * (Z @ v[: Z.shape[1]] + b), 0.0) * (y != 0)
        gradient = v.copy()
        gradient[-1] = 0.0 if intercept else gradient[-1]
        pull = -s * y * slack
        gradient[: Z.shape[1]] += Z.T @ pull
        if intercept:
            gradient[-1] = pull.sum()
        return 0.5 * (s * slack**2).sum() + 0.5 * (v[: Z.shape[1]] ** 2).sum(), gradient

    start = np.zeros(Z.shape[1] + intercept)
    return minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-10}).x


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [lambda Z: DenseGram(Z @ Z.T), FactoredGram])
def test_against_an_optimiser(form, intercept):
    Z, signs, weights = make_problem()
    found = fit_squared_hinge(form(Z), signs, weights, fit_intercept=intercept)
    for tag in range(signs.shape[1]):
        v = by_optimiser(Z, signs[:, tag], weights[:, tag], intercept=intercept)
        scores = Z @ v[:6] + (v[6] if intercept else 0.0)
        np.testing.assert_allclose(found.scores[:, tag], scores, atol=1e-6)
    assert found.optimality <= 1e-9
    assert (np.diff(found.objective) <= 1e-10).all()
    assert not found.coef[signs == 0].any()
    if intercept:
        np.testing.assert_allclose(found.coef.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_ways_of_solving_agree(monkeypatch, intercept):
    Z, signs, weights = make_problem(60, 60)
    gram, mask = DenseGram(Z @ Z.T), signs != 0
    batches = solve_masked(gram, mask, weights, signs, fit_intercept=intercept)
    monkeypatch.setattr(squared_hinge, "_BATCH_ENTRIES", 5000)
    smaller = solve_masked(gram, mask, weights, signs, fit_intercept=intercept)
    monkeypatch.setattr(squared_hinge, "DIRECT_ROWS", 10)
    gradients = solve_masked(gram, mask, weights, signs, fit_intercept=intercept)
    alone = [
        solve_masked(gram, mask[:, [t]], weights[:, [t]], signs[:, [t]], fit_intercept=intercept) for t in range(5)
    ]
    for other in (smaller, gradients, (np.hstack([c for c, _ in alone]), np.concatenate([b for _, b in alone]))):
        np.testing.assert_allclose(other[0], batches[0], atol=1e-8)
        np.testing.assert_allclose(other[1], batches[1], atol=1e-8)
    coef, b = batches
    residual = np.where(mask, weights * (signs - b - gram.values @ coef), 0.0) - coef
    np.testing.assert_allclose(residual, 0.0, atol=1e-10)


def test_tags_with_equal_rows_share_a_factorisation(monkeypatch):
    Z, signs, _ = make_problem(unknown=0.0, c=8)
    signs[:20, :4], signs[20:, 4:] = 0.0, 0.0
    calls = []
    solver = DenseGram.solver
    monkeypatch.setattr(DenseGram, "solver", lambda self, weights: calls.append(1) or solver(self, weights))
    gram = DenseGram(Z @ Z.T)
    together = solve_masked(gram, signs != 0, np.ones_like(signs), signs, fit_intercept=True)
    assert len(calls) == 2
    alone = solve_masked(gram, signs[:, 5:6] != 0, np.ones((40, 1)), signs[:, 5:6], fit_intercept=True)
    np.testing.assert_allclose(together[0][:, 5:6], alone[0], atol=1e-10)


def test_a_start_does_not_change_the_end():
    Z, signs, weights = make_problem()
    cold = fit_squared_hinge(DenseGram(Z @ Z.T), signs, weights)
    rng = np.random.default_rng(1)
    start = rng.normal(size=signs.shape), rng.normal(size=5)
    warm = fit_squared_hinge(DenseGram(Z @ Z.T), signs, weights, start=start)
    np.testing.assert_allclose(warm.scores, cold.scores, atol=1e-8)


def test_too_few_steps_warn():
    Z, signs, _ = make_problem()
    with pytest.warns(ConvergenceWarning, match="after 1 Newton steps"):
        fit_squared_hinge(DenseGram(Z @ Z.T), signs, max_iter=1)


def test_the_cheaper_form_is_chosen():
    assert isinstance(gram_of_features(np.ones((600, 3))), FactoredGram)
    assert isinstance(gram_of_features(np.ones((600, 700))), DenseGram)
    assert isinstance(gram_of_features(np.ones((600, 3))).part(np.arange(5)), DenseGram)
