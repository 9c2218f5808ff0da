from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, MultiTaskLasso

from tagloom.exceptions import InvalidInputError
from tagloom.solvers import L21, QuadraticGram, solve_penalized
from tagloom.solvers.penalized import ROUNDING


def make_problem(n=80, d=40, c=5, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    W = np.zeros((d, c))
    W[:: max(1, d // 6)] = rng.standard_normal(W[:: max(1, d // 6)].shape)
    Y = X @ W + rng.standard_normal((n, c))
    return X.astype(dtype), Y.astype(dtype)


def literal_proximal_gradient(A, B, strength, n_steps=6_000):
    """The textbook iteration, one step size, rows shortened one by one."""
    W = np.zeros_like(B)
    L = np.linalg.norm(A, 2)
    for _ in range(n_steps):
        Z = W - (A @ W - B) / L
        norms = np.linalg.norm(Z, axis=1, keepdims=True)
        W = np.where(norms > strength / L, Z * (1 - strength / L / np.maximum(norms, 1e-300)), 0.0)
    return W


class Lasso1:
    """Absolute values of all entries: not a norm of rows, to show what the protocol admits."""

    def __init__(self, strength):
        self.strength = strength

    def groups(self, n_rows):
        return np.arange(n_rows)

    def value(self, W):
        return self.strength * np.abs(W).sum()

    def prox(self, W, step):
        return np.sign(W) * np.maximum(np.abs(W) - step * self.strength, 0)

    def subdifferential_distance(self, W, gradient):
        inside = np.maximum(np.abs(gradient) - self.strength, 0)
        return np.linalg.norm(np.where(W == 0, inside, gradient + self.strength * np.sign(W)), axis=1)

    def restrict(self, rows):
        return self


@dataclass
class GroupScad:
    """Group SCAD over given rows (a = 3.7), one group norm per column: penalty of NOVA's kind, not convex."""

    strength: float
    labels: np.ndarray
    a: float = 3.7

    def groups(self, n_rows):
        return np.unique(self.labels, return_inverse=True)[1]

    def _norms(self, W):
        groups = self.groups(len(W))
        return groups, np.sqrt(np.stack([(W[groups == g] ** 2).sum(axis=0) for g in range(groups.max(initial=-1) + 1)]))

    def value(self, W):
        if not len(W):
            return 0.0
        s, lam, a = self._norms(W)[1], self.strength, self.a
        middle = (2 * a * lam * s - s**2 - lam**2) / (2 * (a - 1))
        return float(np.where(s <= lam, lam * s, np.where(s <= a * lam, middle, lam**2 * (a + 1) / 2)).sum())

    def prox(self, W, step):
        groups, s = self._norms(W)
        lam, a, L = self.strength, self.a, 1 / step
        grid = [np.maximum(s - lam / L, 0) * (s <= lam + lam / L)]
        with np.errstate(divide="ignore", invalid="ignore"):
            grid += [np.clip((L * (a - 1) * s - a * lam) / (L * (a - 1) - 1), lam, a * lam), s, 0 * s]
        cost = [0.5 * L * (t - s) ** 2 + self._scalar(t) for t in grid]
        best = np.take_along_axis(np.stack(grid), np.argmin(cost, axis=0)[None], axis=0)[0]
        return W * np.divide(best, s, out=np.zeros_like(s), where=s > 0)[groups]

    def _scalar(self, s):
        lam, a = self.strength, self.a
        middle = (2 * a * lam * s - s**2 - lam**2) / (2 * (a - 1))
        return np.where(s <= lam, lam * s, np.where(s <= a * lam, middle, lam**2 * (a + 1) / 2))

    def subdifferential_distance(self, W, gradient):
        groups, s = self._norms(W)
        lam, a = self.strength, self.a
        slope = np.where(s <= lam, lam, np.maximum(a * lam - s, 0) / (a - 1))
        pull = np.divide(slope, s, out=np.zeros_like(s), where=s > 0)
        rest = self._norms(gradient + pull[groups] * W)[1]
        return np.sqrt((np.where(s > 0, rest, np.maximum(rest - lam, 0)) ** 2).sum(axis=1))

    def restrict(self, rows):
        return GroupScad(self.strength, self.labels[rows], self.a)


class TestAgainstOthers:
    @pytest.mark.parametrize("share", [0.7, 0.2, 0.03])
    @pytest.mark.parametrize("working_set", [True, False])
    def test_literal_proximal_gradient(self, share, working_set):
        X, Y = make_problem()
        A, B = X.T @ X / len(X), X.T @ Y / len(X)
        strength = share * np.linalg.norm(B, axis=1).max()
        result = solve_penalized(QuadraticGram(A, B), L21(strength), tol=1e-10, working_set=working_set)
        expected = literal_proximal_gradient(A, B, strength)
        np.testing.assert_allclose(result.coef, expected, atol=1e-7)
        np.testing.assert_array_equal((result.coef == 0).all(axis=1), (expected == 0).all(axis=1))
        assert result.converged

    @pytest.mark.parametrize("share", [0.5, 0.05])
    def test_multi_task_lasso(self, share):
        X, Y = make_problem(seed=1)
        n = len(X)
        B = X.T @ Y / n
        alpha = share * np.linalg.norm(B, axis=1).max()
        theirs = MultiTaskLasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y)
        ours = solve_penalized(QuadraticGram(X.T @ X / n, B), L21(alpha), tol=1e-9)
        np.testing.assert_allclose(ours.coef, theirs.coef_.T, atol=1e-6)

    def test_single_column_is_the_lasso(self):
        X, Y = make_problem(c=1, seed=2)
        n = len(X)
        B = X.T @ Y / n
        alpha = 0.1 * np.abs(B).max()
        theirs = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y.ravel())
        ours = solve_penalized(QuadraticGram(X.T @ X / n, B), L21(alpha), tol=1e-9)
        np.testing.assert_allclose(ours.coef.ravel(), theirs.coef_, atol=1e-6)
        np.testing.assert_array_equal(ours.coef.ravel() == 0, theirs.coef_ == 0)

    def test_entrywise_lasso_fits_the_protocol(self):
        X, Y = make_problem(seed=3)
        n = len(X)
        B = X.T @ Y / n
        alpha = 0.1 * np.abs(B).max()
        theirs = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y)
        ours = solve_penalized(QuadraticGram(X.T @ X / n, B), Lasso1(alpha), tol=1e-9)
        np.testing.assert_allclose(ours.coef, theirs.coef_.T, atol=1e-6)

    def test_orthogonal_design_has_a_closed_form(self):
        X, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 10)))
        Y = np.random.default_rng(1).standard_normal((30, 4))
        Z = X.T @ Y
        norms = np.linalg.norm(Z, axis=1, keepdims=True)
        strength = float(np.median(norms))
        result = solve_penalized(QuadraticGram(X.T @ X, Z), L21(strength), tol=1e-12)
        np.testing.assert_allclose(result.coef, Z * np.maximum(1 - strength / norms, 0), atol=1e-10)
        assert (result.coef == 0).all(axis=1).sum() == 5

    def test_no_penalty_is_least_squares(self):
        X, Y = make_problem(n=200, d=15)
        result = solve_penalized(QuadraticGram(X.T @ X, X.T @ Y), L21(0.0), tol=1e-10)
        np.testing.assert_allclose(result.coef, np.linalg.lstsq(X, Y)[0], atol=1e-6)

    def test_group_scad_with_scattered_groups(self):
        """Large coefficients are not shrunk (the oracle property): least squares on the groups that are kept."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((400, 24))
        labels = np.arange(24) % 6
        true = np.where(np.isin(labels, [1, 4])[:, None], 3.0, 0.0) * np.ones((24, 2))
        Y = X @ true + 0.1 * rng.standard_normal((400, 2))
        penalty = GroupScad(0.3, labels)
        result = solve_penalized(QuadraticGram(X.T @ X / 400, X.T @ Y / 400), penalty, tol=1e-9)
        kept = np.flatnonzero(np.isin(labels, [1, 4]))
        np.testing.assert_array_equal(np.flatnonzero(result.coef.any(axis=1)), kept)
        np.testing.assert_allclose(result.coef[kept], np.linalg.lstsq(X[:, kept], Y)[0], atol=1e-7)
        assert_never_rises(result.objective)


def assert_never_rises(objective):
    """Check the history as it was recorded; only what float64 cannot tell apart may differ upwards."""
    assert (np.diff(objective) <= ROUNDING * np.abs(objective).max()).all()


class TestCertificate:
    @settings(max_examples=15, deadline=None)
    @given(
        d=st.integers(1, 40),
        c=st.integers(1, 6),
        n=st.integers(1, 80),
        share=st.floats(0.05, 1.2),
        seed=st.integers(0, 10**6),
    )
    def test_conditions_hold(self, d, c, n, share, seed):
        """Zero rows: ‖2(AW - B)_i‖ ≤ γ; others: 2(AW - B)_i + γ w_i/‖w_i‖ = 0. Also for d > n."""
        X, Y = make_problem(n, d, c, seed)
        A, B = X.T @ X, X.T @ Y
        gamma = share * 2 * np.linalg.norm(B, axis=1).max()
        result = solve_penalized(QuadraticGram(A, B, scale=2.0), L21(gamma), tol=1e-6, max_iter=20_000)
        gradient, size = 2 * (A @ result.coef - B), 2 * np.linalg.norm(B, axis=1).max()
        norms = np.linalg.norm(result.coef, axis=1)
        for g, w, norm in zip(gradient, result.coef, norms, strict=True):
            if norm == 0:
                assert np.linalg.norm(g) <= gamma + 1e-5 * size
            else:
                assert np.linalg.norm(g + gamma * w / norm) <= 1e-5 * size
        assert result.optimality <= 1e-6
        assert_never_rises(result.objective)

    def test_objective_never_rises_and_is_the_objective(self):
        X, Y = make_problem()
        datafit, penalty = QuadraticGram(X.T @ X, X.T @ Y), L21(20.0)
        result = solve_penalized(datafit, penalty, tol=1e-10)
        assert_never_rises(result.objective)
        assert result.objective[-1] == pytest.approx(datafit.value(result.coef) + penalty.value(result.coef))

    def test_largest_strength_gives_zero(self):
        X, Y = make_problem()
        B = X.T @ Y
        largest = L21(1.0).smallest_zero(-B)
        assert largest == pytest.approx(np.linalg.norm(B, axis=1).max())
        datafit = QuadraticGram(X.T @ X, B)
        assert (solve_penalized(datafit, L21(largest)).coef == 0).all()
        assert solve_penalized(datafit, L21(0.999 * largest)).coef.any()

    def test_warm_start(self):
        X, Y = make_problem()
        datafit, penalty = QuadraticGram(X.T @ X, X.T @ Y), L21(20.0)
        first = solve_penalized(datafit, penalty, tol=1e-8)
        again = solve_penalized(datafit, penalty, tol=1e-7, W0=first.coef)
        assert again.n_iter == 0
        from_far = solve_penalized(datafit, penalty, tol=1e-8, W0=np.ones_like(first.coef))
        np.testing.assert_allclose(from_far.coef, first.coef, atol=1e-5)

    def test_warning_tells_the_residual(self):
        X, Y = make_problem()
        with pytest.warns(ConvergenceWarning, match="optimality residual of .* after 3 of at most 3 passes"):
            result = solve_penalized(QuadraticGram(X.T @ X, X.T @ Y), L21(1.0), max_iter=3)
        assert not result.converged


class TestDegenerate:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_constant_and_duplicate_columns(self, dtype):
        X, Y = make_problem(d=10, dtype=dtype)
        X[:, 3] = 0
        X[:, 7] = X[:, 6]
        result = solve_penalized(QuadraticGram(X.T @ X, X.T @ Y), L21(5.0), W0=np.ones((10, 5)))
        assert (result.coef[3] == 0).all()
        assert np.isfinite(result.coef).all()
        assert result.converged

    def test_nothing_to_fit(self):
        result = solve_penalized(QuadraticGram(np.zeros((4, 4)), np.zeros((4, 2))), L21(1.0), W0=np.ones((4, 2)))
        assert (result.coef == 0).all()
        assert solve_penalized(QuadraticGram(np.eye(4), np.zeros((4, 2))), L21(0.0)).converged
        one = solve_penalized(QuadraticGram([[2.0]], [[6.0]]), L21(2.0))
        np.testing.assert_allclose(one.coef, [[2.0]])

    def test_named_errors(self):
        datafit = QuadraticGram(np.eye(2), np.ones((2, 1)))
        with pytest.raises(InvalidInputError, match="W0"):
            solve_penalized(datafit, L21(1.0), W0=np.ones((1, 1)))
        with pytest.raises(InvalidInputError, match="tol"):
            solve_penalized(datafit, L21(1.0), tol=0.0)
