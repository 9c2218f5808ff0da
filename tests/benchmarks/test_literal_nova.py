import numpy as np
import pytest
from sklearn.linear_model import Lasso

from benchmarks.literal.nova import group_norms, nova, objective, scad, scad_derivative

SIZES = np.array([3, 1, 4, 2])


@pytest.fixture
def problem():
    """Return correlated features, centred ±1 targets of three tags, and strengths at which groups come and go."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((60, 3)) @ generator.standard_normal((3, 10)) + generator.standard_normal((60, 10))
    X -= X.mean(axis=0)
    coef = np.zeros((10, 3))
    coef[:3, 0], coef[4:8, 1], coef[3, 2] = 0.5, -0.4, 1.0
    Y = np.where(X @ coef + 0.3 * generator.standard_normal((60, 3)) > 0, 1.0, -1.0)
    return X, Y - Y.mean(axis=0), np.array([0.2, 0.1, 0.3])


@pytest.mark.parametrize("concavity", [2.1, 3.7, 20.0])
def test_the_penalty_is_the_integral_of_its_derivative(concavity):
    grid = np.linspace(0.0, 3.0, 30_001)
    slopes = scad_derivative(grid, 0.4, concavity)
    integral = np.concatenate([[0.0], np.cumsum((slopes[1:] + slopes[:-1]) / 2 * np.diff(grid))])
    np.testing.assert_allclose(scad(grid, 0.4, concavity), integral, atol=1e-7)


def test_the_penalty_is_linear_near_zero_and_flat_far_out():
    norms = np.array([0.0, 0.25, 0.5, 1.85, 2.0, 100.0])
    flat = 4.7 * 0.25 / 2
    np.testing.assert_allclose(scad(norms, 0.5), [0.0, 0.125, 0.25, flat, flat, flat])
    np.testing.assert_allclose(scad_derivative(norms, 0.5), [0.5, 0.5, 0.5, 0.0, 0.0, 0.0], atol=1e-15)


def test_the_objective_never_rises(problem):
    X, Y, strengths = problem
    for steps in nova(X, Y, SIZES, strengths, tol=1e-12)[1]:
        assert len(steps) > 3
        assert np.diff(steps).max() <= 1e-13


def test_groups_that_stay_are_stationary_and_the_others_are_zero(problem):
    X, Y, strengths = problem
    coef, _ = nova(X, Y, SIZES, strengths, tol=1e-9, max_iter=2000)
    chosen = np.array([group_norms(beta, SIZES) > 0 for beta in coef.T])
    assert chosen.any(axis=1).all()
    assert not chosen.all()
    for tag, strength in enumerate(strengths):
        norms = np.repeat(group_norms(coef[:, tag], SIZES), SIZES)
        inside = norms > 0
        gradient = X.T @ (X @ coef[:, tag] - Y[:, tag]) / len(X)
        pull = scad_derivative(norms, strength) * coef[:, tag] / np.where(inside, norms, 1.0)
        # The groups set to zero at the end had a norm of less than ε₁, which the others did not know.
        np.testing.assert_allclose((gradient + pull)[inside], 0.0, atol=5e-3)
        np.testing.assert_array_equal(coef[~inside, tag], 0.0)


def test_one_step_minimises_the_quadratic_of_equation_3(problem):
    X, Y, strengths = problem
    y, strength = Y[:, 0], strengths[0]
    start = np.linalg.solve(X.T @ X / len(X) + 0.5 * np.eye(10), X.T @ y / len(X))
    norms = group_norms(start, SIZES)
    weights = np.repeat(scad_derivative(norms, strength) / norms, SIZES)
    coef, _ = nova(X, y[:, None], SIZES, strengths[:1], ridge=0.5, threshold=0.0, max_iter=1)
    # As least squares, which knows nothing of Eq. (5): rows √n·Σ^½ are added to X.
    rows = np.vstack([X, np.diag(np.sqrt(len(X) * weights))])
    expected = np.linalg.lstsq(rows, np.concatenate([y, np.zeros(10)]), rcond=None)[0]
    np.testing.assert_allclose(coef[:, 0], expected, atol=1e-10)


@pytest.mark.parametrize("strength", [0.05, 0.2, 0.4, 0.9])
def test_orthonormal_features_give_the_closed_form(strength):
    """With XᵀX/n = I and a > 2 the objective is convex, and each group is thresholded on its own."""
    generator = np.random.default_rng(1)
    X = np.linalg.qr(generator.standard_normal((40, 10)))[0] * np.sqrt(40)
    free = np.concatenate([np.full(3, 0.1), [0.6], np.full(4, 0.5), np.full(2, -0.9)])
    coef, _ = nova(X, (X @ free)[:, None], SIZES, np.array([strength]), tol=1e-12, max_iter=50_000)
    expected = np.zeros(10)
    for end, size in zip(np.cumsum(SIZES), SIZES, strict=True):
        part = slice(end - size, end)
        norm = np.linalg.norm(free[part])
        if norm <= 2 * strength:
            length = max(norm - strength, 0.0)
        else:
            length = (2.7 * norm - 3.7 * strength) / 1.7 if norm <= 3.7 * strength else norm
        expected[part] = free[part] * length / norm
    np.testing.assert_allclose(coef[:, 0], expected, atol=1e-6)


def test_far_from_concave_and_with_single_columns_it_is_the_lasso(problem):
    X, Y, strengths = problem
    sizes = np.ones(10, dtype=int)
    coef, _ = nova(X, Y, sizes, strengths, concavity=1e9, threshold=1e-5, tol=1e-12, max_iter=50_000)
    for tag, strength in enumerate(strengths):
        expected = Lasso(alpha=strength, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y[:, tag]).coef_
        np.testing.assert_allclose(coef[:, tag], expected, atol=1e-4)
        reached = objective(X, Y[:, tag], coef[:, tag], sizes, strength, 1e9)
        assert reached <= objective(X, Y[:, tag], expected, sizes, strength, 1e9) + 1e-6
