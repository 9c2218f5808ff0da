"""The penalty that sums norms of groups for each column."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tagloom.exceptions import InvalidInputError
from tagloom.solvers import QuadraticGram, solve_penalized
from tagloom.solvers.groups.norms import ColumnGroupL2

PENALTY = ColumnGroupL2([0, 0, 1, 2, 2, 2], [1.5, 0.5, 2.0], 0.7)


def test_value_is_the_weighted_sum_of_norms():
    W = np.random.default_rng(0).normal(size=(6, 2))
    parts = [(1.5, slice(0, 2)), (0.5, slice(2, 3)), (2.0, slice(3, 6))]
    expected = 0.7 * sum(w * np.linalg.norm(W[rows, t]) for w, rows in parts for t in range(2))
    assert PENALTY.value(W) == pytest.approx(expected)


def test_prox_minimises_its_definition():
    Z = np.random.default_rng(1).normal(size=(6, 1)) * 2
    found = PENALTY.prox(Z, 0.4)

    def objective(w):
        return 0.5 * np.sum((w - Z[:, 0]) ** 2) + 0.4 * PENALTY.value(w[:, None])

    best = min(
        minimize(objective, start, method="Nelder-Mead", options={"maxiter": 8000, "xatol": 1e-10, "fatol": 1e-14}).fun
        for start in (Z[:, 0], found[:, 0])
    )
    assert objective(found[:, 0]) <= best + 1e-9
    assert (PENALTY.prox(0.01 * Z, 0.4) == 0).all()


def test_violation_is_zero_at_a_prox_and_only_there():
    Z = np.random.default_rng(2).normal(size=(6, 3)) * np.array([0.1, 1.0, 3.0])
    W = PENALTY.prox(Z, 1.0)
    np.testing.assert_allclose(PENALTY.violations(W, W - Z), 0.0, atol=1e-12)
    assert (PENALTY.violations(W + 0.1, W + 0.1 - Z) > 1e-3).all()


def test_the_quadratic_solver_takes_it_and_columns_do_not_mix():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(40, 6)), rng.normal(size=(40, 3))
    datafit = QuadraticGram(X.T @ X, X.T @ Y)
    together = solve_penalized(datafit, ColumnGroupL2(PENALTY.labels, PENALTY.weights, 4.0), tol=1e-10).coef
    for tag in range(3):
        alone = solve_penalized(
            QuadraticGram(X.T @ X, X.T @ Y[:, [tag]]), ColumnGroupL2(PENALTY.labels, PENALTY.weights, 4.0), tol=1e-10
        ).coef
        np.testing.assert_allclose(together[:, [tag]], alone, atol=1e-7)


def test_restriction_renumbers_groups():
    part = PENALTY.restrict(np.array([2, 3, 4, 5]))
    assert part.groups(4).tolist() == [0, 1, 1, 1]
    W = np.random.default_rng(4).normal(size=(6, 2))
    W[:2] = 0
    assert part.value(W[2:]) == pytest.approx(PENALTY.value(W))


def test_smallest_zero_is_where_the_first_group_enters():
    gradient = np.random.default_rng(5).normal(size=(6, 2))
    limits = ColumnGroupL2(PENALTY.labels, PENALTY.weights).smallest_zero(gradient)
    for tag, limit in enumerate(limits):
        column = gradient[:, [tag]]
        assert not ColumnGroupL2(PENALTY.labels, PENALTY.weights, limit * 1.001).prox(-column, 1.0).any()
        assert ColumnGroupL2(PENALTY.labels, PENALTY.weights, limit * 0.999).prox(-column, 1.0).any()


@pytest.mark.parametrize(
    ("labels", "weights", "strength"),
    [([1, 1], [1.0], 1.0), ([0, 2], [1, 1, 1], 1.0), ([0, 1], [1.0], 1.0), ([0], [0.0], 1.0), ([0], [1.0], -1.0)],
)
def test_what_cannot_be_is_refused(labels, weights, strength):
    with pytest.raises(InvalidInputError):
        ColumnGroupL2(labels, weights, strength)
