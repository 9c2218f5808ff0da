import numpy as np
import pytest

from tagloom.solvers import L21, QuadraticGram
from tagloom.solvers.penalized import newton_candidate, suits_newton


def problem(d, c, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3 * d, d))
    return QuadraticGram(X.T @ X / d, rng.standard_normal((d, c)), scale=2.0), rng.standard_normal((d, c))


def objective(datafit, penalty, W):
    return datafit.value(W) + penalty.value(W)


@pytest.mark.parametrize(("d", "c"), [(1, 1), (1, 4), (5, 1), (6, 3)])
def test_the_step_is_that_of_the_dense_hessian(d, c):
    datafit, W = problem(d, c)
    penalty = L21(0.05)
    norms = np.linalg.norm(W, axis=1)
    hessian = 2.0 * np.kron(datafit.A, np.eye(c))
    for row, (w, norm) in enumerate(zip(W, norms, strict=True)):
        part = slice(row * c, (row + 1) * c)
        hessian[part, part] += 0.05 / norm * (np.eye(c) - np.outer(w, w) / norm**2)
    gradient = datafit.gradient(W) + 0.05 * W / norms[:, None]
    step = np.linalg.solve(hessian, -gradient.ravel()).reshape(d, c)
    change = newton_candidate(datafit, penalty, W) - W
    length = np.vdot(change, step) / np.vdot(step, step)
    np.testing.assert_allclose(change, length * step, atol=1e-10)
    assert length in 0.5 ** np.arange(9.0) or np.isclose(length, 0.5 ** np.arange(9.0)).any()
    assert objective(datafit, penalty, W + change) < objective(datafit, penalty, W)


def test_zero_rows_stay_zero_and_a_solution_is_left_alone():
    datafit, W = problem(6, 3)
    W[[1, 4]] = 0.0
    penalty = L21(0.1)
    for _ in range(30):
        after = newton_candidate(datafit, penalty, W)
        if after is None:
            break
        assert not after[[1, 4]].any()
        assert objective(datafit, penalty, after) < objective(datafit, penalty, W) + 1e-12
        W = after
    used = [0, 2, 3, 5]
    left = datafit.gradient(W)[used] + 0.1 * W[used] / np.linalg.norm(W[used], axis=1, keepdims=True)
    assert np.abs(left).max() <= 1e-7
    assert newton_candidate(datafit, penalty, np.zeros((6, 3))) is None


def test_a_singular_matrix_is_no_harm():
    A, B = np.ones((3, 3)), np.ones((3, 2))
    W = newton_candidate(QuadraticGram(A, B), L21(0.1), np.ones((3, 2)))
    assert W is None or np.isfinite(W).all()


def test_it_is_for_a_quadratic_with_one_strength_for_all_rows():
    datafit, _ = problem(6, 3)
    assert suits_newton(datafit, L21(0.1))
    assert not suits_newton(datafit, L21(0.0))
    assert not suits_newton(datafit, L21(0.1, np.ones(6)))
    assert not suits_newton(object(), L21(0.1))
    assert not suits_newton(QuadraticGram(np.eye(300), np.ones((300, 1))), L21(0.1))
