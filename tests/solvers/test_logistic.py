"""Group lasso with the logistic loss: against a conic solver, scikit-learn and its own certificate."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tagloom.exceptions import InvalidInputError
from tagloom.solvers.groups.norms import ColumnGroupL2
from tagloom.solvers.logistic import GroupLogistic


def make_problem(n=50, d=12, c=4, *, seed=0, unknown=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    scores = X @ (rng.normal(size=(d, c)) * (rng.random((d, c)) < 0.4)) + rng.normal(size=(n, c))
    Y = (scores > np.quantile(scores, rng.uniform(0.4, 0.8, c))).astype(np.int8)
    Y[rng.random(Y.shape) < unknown] = -1
    return X, Y


def make_penalty(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return ColumnGroupL2(labels, np.sqrt(sizes))


def conic_objective(X, y, sizes, strength):
    known = y != -1
    beta, b = cp.Variable(X.shape[1]), cp.Variable()
    signs = np.where(y[known] == 1, 1.0, -1.0)
    loss = cp.sum(cp.logistic(-cp.multiply(signs, X[known] @ beta + b))) / known.sum()
    ends = np.cumsum(sizes)
    penalty = sum(np.sqrt(size) * cp.norm(beta[end - size : end]) for size, end in zip(sizes, ends, strict=True))
    problem = cp.Problem(cp.Minimize(loss + strength * penalty))
    problem.solve(solver="CLARABEL")
    return problem.value, beta.value


CASES = {
    "columns": ([1] * 12, 50, 0.0),
    "groups": ([3, 1, 5, 2, 1], 50, 0.0),
    "entrywise unknown": ([3, 1, 5, 2, 1], 60, 0.3),
    "groups wider than the rows": ([20, 30, 10], 12, 0.0),
}


@pytest.mark.parametrize("share", [pytest.param(0.5, marks=pytest.mark.medium), 0.05])
@pytest.mark.parametrize("name", CASES)
def test_equals_a_conic_solver(name, share):
    sizes, n, unknown = CASES[name]
    X, Y = make_problem(n, sum(sizes), 3, unknown=unknown)
    problem = GroupLogistic(X, Y, make_penalty(sizes))
    strengths = share * problem.largest_strengths()
    found = problem.solve(strengths, tol=1e-9)
    assert found.optimality.max() <= 1e-9
    for tag in range(3):
        value, coef = conic_objective(X, Y[:, tag], sizes, strengths[tag])
        assert found.objective[-1][tag] == pytest.approx(value, rel=1e-7)
        np.testing.assert_allclose(found.coef[:, tag], coef, atol=1e-3)


def test_columns_as_groups_equal_scikit_learn():
    X, Y = make_problem(200, 15, 3, seed=1)
    problem = GroupLogistic(X, Y, make_penalty([1] * 15))
    strengths = 0.1 * problem.largest_strengths()
    found = problem.solve(strengths, tol=1e-10)
    for tag in range(3):
        other = LogisticRegression(
            l1_ratio=1.0, C=1 / (strengths[tag] * len(X)), solver="saga", tol=1e-10, max_iter=20000
        ).fit(X, Y[:, tag])
        np.testing.assert_allclose(found.coef[:, tag], other.coef_[0], atol=1e-6)
        np.testing.assert_allclose(found.intercept[tag], other.intercept_[0], atol=1e-6)


def test_certificate_is_what_it_says_and_unused_groups_are_zero():
    sizes = [3, 1, 5, 2, 1]
    X, Y = make_problem(60, 12, 4, unknown=0.2, seed=2)
    problem = GroupLogistic(X, Y, make_penalty(sizes))
    strengths = 0.2 * problem.largest_strengths()
    found = problem.solve(strengths)
    worst = np.zeros(4)
    for tag in range(4):
        known = Y[:, tag] != -1
        scores = X[known] @ found.coef[:, tag] + found.intercept[tag]
        slopes = (1 / (1 + np.exp(-scores)) - Y[known, tag]) / known.sum()
        worst[tag] = abs(slopes.sum()) / strengths[tag]
        end = 0
        for size in sizes:
            part = slice(end, end + size)
            end += size
            gradient, beta = X[known][:, part].T @ slopes, found.coef[part, tag]
            limit = strengths[tag] * np.sqrt(size)
            norm = np.linalg.norm(beta)
            gap = np.linalg.norm(gradient + limit * beta / norm) if norm else max(np.linalg.norm(gradient) - limit, 0)
            worst[tag] = max(worst[tag], gap / limit)
    np.testing.assert_allclose(found.optimality, worst, rtol=1e-3, atol=1e-12)
    assert worst.max() <= 1e-6
    used = make_penalty(sizes).norms(found.coef) > 0
    assert used.any()
    assert not used.all()


def test_objective_never_rises_and_starts_do_not_matter():
    X, Y = make_problem(80, 12, 5, seed=3)
    problem = GroupLogistic(X, Y, make_penalty([4, 4, 4]))
    strengths = 0.02 * problem.largest_strengths()
    cold = problem.solve(strengths, tol=1e-9)
    rng = np.random.default_rng(0)
    warm = problem.solve(strengths, start=(rng.normal(size=(12, 5)) * 5, rng.normal(size=5)), tol=1e-9)
    for found in (cold, warm):
        objective = np.array(found.objective)
        assert (np.diff(objective, axis=0) <= 1e-13 * objective[:-1]).all()
    np.testing.assert_allclose(cold.coef, warm.coef, atol=1e-6)


def test_largest_strengths_are_where_the_first_group_enters():
    X, Y = make_problem(60, 12, 4, seed=4)
    problem = GroupLogistic(X, Y, make_penalty([2] * 6))
    largest = problem.largest_strengths()
    assert not problem.solve(1.0001 * largest).coef.any()
    assert problem.solve(0.999 * largest, tol=1e-8).coef.any(axis=0).all()


def test_some_tags_alone_are_as_in_company():
    X, Y = make_problem(60, 12, 6, seed=5)
    problem = GroupLogistic(X, Y, make_penalty([2] * 6))
    strengths = 0.1 * problem.largest_strengths()
    tags = np.array([4, 1])
    part = problem.solve(strengths[tags], tags=tags, tol=1e-9)
    np.testing.assert_allclose(part.coef, problem.solve(strengths, tol=1e-9).coef[:, tags], atol=1e-7)


def test_duplicate_constant_and_separating_columns():
    X, Y = make_problem(40, 6, 2, seed=6)
    X = np.column_stack([X, X[:, :2], np.zeros(40), 10 * Y[:, 0]])
    problem = GroupLogistic(X, Y, make_penalty([1] * 10))
    found = problem.solve(0.01 * problem.largest_strengths())
    assert found.optimality.max() <= 1e-6
    assert not found.coef[8].any()


def test_memory_for_columns_only_splits_the_tags(monkeypatch):
    X, Y = make_problem(50, 12, 6, seed=7)
    problem = GroupLogistic(X, Y, make_penalty([1] * 12))
    strengths = 0.05 * problem.largest_strengths()
    whole = problem.solve(strengths, tol=1e-9).coef
    monkeypatch.setattr("tagloom.solvers.logistic.GATHERED_BYTES", 1)
    np.testing.assert_allclose(problem.solve(strengths, tol=1e-9).coef, whole, atol=1e-7)


def test_what_cannot_be_solved_is_refused():
    X, Y = make_problem()
    penalty = make_penalty([1] * 12)
    with pytest.raises(InvalidInputError, match="at least one 1 and one 0"):
        GroupLogistic(X, np.ones_like(Y), penalty)
    with pytest.raises(InvalidInputError, match="strength has to be 1"):
        GroupLogistic(X, Y, ColumnGroupL2(penalty.labels, penalty.weights, 2.0))
    with pytest.raises(InvalidInputError, match="4 positive numbers"):
        GroupLogistic(X, Y, penalty).solve(np.zeros(4))
