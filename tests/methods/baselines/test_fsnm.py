"""Oracles: a conic solver, the printed algorithm, the dual certificate, limiting cases."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from benchmarks.literal.fsnm import joint_l21, objective, reweighted_group_lasso
from tagloom.exceptions import InvalidInputError
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.baselines import fsnm as joint_norms
from tagloom.methods.baselines.fsnm import FSNM, JointNorms


def make_problem(n=30, d=8, c=4, *, seed=0, rare=False, n_useful=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    scores = X[:, :n_useful] @ rng.normal(size=(n_useful, c)) + 0.5 * rng.normal(size=(n, c))
    return X, (scores > np.quantile(scores, 0.85 if rare else 0.5, axis=0)).astype(np.int8)


def hide(Y, share=0.3, seed=1):
    Y = Y.copy()
    Y[np.random.default_rng(seed).random(Y.shape) < share] = -1
    return Y


def value(X, Y, W, b, gamma):
    residuals = np.where(Y == -1, 0.0, Y - X @ W - b)
    return np.linalg.norm(residuals, axis=1).sum() + gamma * np.linalg.norm(W, axis=1).sum()


def conic(X, Y, gamma, *, fit_intercept=True):
    cvxpy = pytest.importorskip("cvxpy")
    W, b = cvxpy.Variable((X.shape[1], Y.shape[1])), cvxpy.Variable((1, Y.shape[1]))
    residuals = cvxpy.multiply((Y != -1).astype(float), Y - X @ W - np.ones((len(X), 1)) @ b)
    cost = cvxpy.sum(cvxpy.norm(residuals, 2, axis=1)) + gamma * cvxpy.sum(cvxpy.norm(W, 2, axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = cvxpy.Problem(cvxpy.Minimize(cost), [] if fit_intercept else [b == 0])
        return problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


CASES = {
    "more rows": make_problem(),
    "more features": make_problem(12, 30),
    "rare tags": make_problem(40, 6, rare=True),
    "one tag": make_problem(30, 6, 1),
    "two tags": make_problem(25, 25, 2),
    "unknown entries": (make_problem()[0], hide(make_problem()[1])),
    "one known entry in each row": (
        make_problem(40, 6)[0],
        np.where(np.arange(40)[:, None] % 4 == np.arange(4), make_problem(40, 6)[1], -1),
    ),
    "equal columns": (np.repeat(make_problem()[0], 2, axis=1), make_problem()[1]),
    "constant columns": (np.c_[make_problem()[0], np.full(30, 0.1), np.zeros(30)], make_problem()[1]),
    "equal rows": (np.repeat(make_problem()[0][:10], 3, axis=0), make_problem()[1]),
}


@pytest.mark.parametrize("share", [0.1, *(pytest.param(share, marks=pytest.mark.medium) for share in (0.5, 0.01))])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_conic_solver_finds_the_same_objective(case, share, fit_intercept):
    X, Y = CASES[case]
    scale = FSNM(sparsity=1.0, fit_intercept=fit_intercept, tol=0.5).fit(X, Y).sparsity_max_
    gamma = share * scale
    found = FSNM(sparsity=gamma, fit_intercept=fit_intercept).fit(X, Y)
    expected = conic(X, Y, gamma, fit_intercept=fit_intercept)
    reached = value(X, Y, found.sparse_coef_, found.sparse_intercept_, gamma)
    assert found.optimality_ <= 1e-6
    assert reached == pytest.approx(found.objective_[-1], rel=1e-9)
    assert expected * (1 - 1e-7) <= reached <= expected * (1 + 2e-6)


def test_the_bound_is_that_of_a_feasible_dual_point():
    X, Y = make_problem()
    problem = JointNorms(X, Y, Y >= 0, fit_intercept=True)
    gamma = 0.2 * problem.largest_strength
    found = problem.solve(gamma, tol=1e-6, max_iter=5000)
    Z = found.dual - found.dual.mean(axis=0)
    Z = Z / max(1.0, np.linalg.norm(Z, axis=1).max(), np.linalg.norm(X.T @ Z, axis=1).max() / gamma)
    assert np.abs(Z.sum(axis=0)).max() < 1e-9
    assert np.linalg.norm(X.T @ Z, axis=1).max() <= gamma * (1 + 1e-9)
    assert np.vdot(Z, Y) <= found.bound * (1 + 1e-12)
    assert np.vdot(Z, Y) == pytest.approx(found.objective[-1], rel=1e-4)
    assert found.bound <= conic(X, Y, gamma) * (1 + 1e-8)


@pytest.mark.parametrize(("n", "d"), [(60, 15), (20, 40)])
def test_the_printed_algorithm_reaches_the_same_objective(n, d):
    X, Y = make_problem(n, d)
    gamma = 2.0
    W, values = joint_l21(X, Y.astype(float), gamma, tol=1e-12, max_iter=3000)
    found = FSNM(sparsity=gamma, fit_intercept=False, tol=1e-9, max_iter=20000).fit(X, Y)
    assert (np.diff(values) <= 1e-9).all()
    assert found.objective_[-1] <= values[-1] * (1 + 1e-8)
    assert found.objective_[-1] == pytest.approx(values[-1], rel=1e-5)
    np.testing.assert_allclose(found.sparse_coef_, W, atol=5e-3)


def test_reweighted_group_lassos_reach_the_same_objective_where_no_row_is_fitted_exactly():
    X, Y = make_problem(60, 8)
    W, values = reweighted_group_lasso(X, Y.astype(float), 2.0, tol=1e-10)
    found = FSNM(sparsity=2.0, fit_intercept=False).fit(X, Y)
    assert found.objective_[-1] == pytest.approx(values[-1], rel=1e-5)
    assert objective(X, Y, W, 2.0) == pytest.approx(values[-1], rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_the_objective_never_rises_and_stays_above_the_bound(case):
    X, Y = CASES[case]
    known = Y != -1
    problem = JointNorms(X, Y, known, fit_intercept=True)
    found = problem.solve(0.05 * problem.largest_strength, tol=1e-6, max_iter=5000)
    assert (np.diff(found.objective) < 0).all()
    assert found.bound <= found.objective[-1] * (1 + 1e-12)


def test_features_that_are_not_needed_are_exactly_zero():
    X, Y = make_problem(80, 30, 6)
    found = FSNM(sparsity=0.4 * FSNM(sparsity=1.0).fit(X, Y).sparsity_max_).fit(X, Y)
    zero = found.feature_scores_ == 0.0
    assert 10 <= zero.sum() < 30
    assert not found.sparse_coef_[zero].any()
    assert not found.coef_[zero].any()
    np.testing.assert_array_equal(found.get_support(), ~zero)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_beyond_the_largest_strength_nothing_is_selected(fit_intercept):
    X, Y = make_problem(50, 10)
    Y[~Y.any(axis=1), 0] = 1  # no row is fitted exactly by W = 0: γ_max is the smallest such strength
    top = FSNM(sparsity=1.0, fit_intercept=fit_intercept).fit(X, Y).sparsity_max_
    above = FSNM(sparsity=1.001 * top, fit_intercept=fit_intercept).fit(X, Y)
    below = FSNM(sparsity=0.98 * top, fit_intercept=fit_intercept).fit(X, Y)
    assert not above.selected_features_.size
    assert below.selected_features_.size
    np.testing.assert_allclose(above.transduction_, np.tile(Y.mean(axis=0), (50, 1)))


def test_the_path_is_that_of_single_fits():
    X, Y = make_problem(40, 20)
    Y = hide(Y)
    Y[:, 3] = -1
    path = FSNM().sparsity_path(X, Y, n_strengths=6, smallest=0.02)
    assert path.coef.shape == (6, 20, 4)
    assert path.n_selected[0] <= 1
    assert path.n_selected[-1] == 20
    assert (path.optimality <= 1e-6).all()
    assert not path.coef[..., 3].any()
    for strength, W, b in zip(path.strengths, path.coef, path.intercept, strict=True):
        alone = FSNM(sparsity=strength).fit(X, Y)
        assert value(X, Y, W, b, strength) == pytest.approx(alone.objective_[-1], rel=3e-6)


def test_unlabelled_rows_do_not_matter():
    X, Y = make_problem(40)
    Y[25:] = -1
    whole, part = (FSNM(sparsity=2.0).fit(X[:n], Y[:n]) for n in (40, 25))
    np.testing.assert_allclose(whole.sparse_coef_, part.sparse_coef_, atol=1e-12)


def test_refitting_is_least_squares_on_the_selected_features():
    X, Y = make_problem(60, 20)
    found = FSNM(sparsity=1.0, regularization=1.5, n_features=5).fit(X, Y)
    kept = found.selected_features_
    np.testing.assert_array_equal(kept, np.sort(np.argsort(-found.feature_scores_)[:5]))
    np.testing.assert_allclose(found.transduction_, Ridge(1.5).fit(X[:, kept], Y).predict(X[:, kept]), atol=1e-9)
    plain = FSNM(sparsity=1.0, refit=False).fit(X, Y)
    np.testing.assert_allclose(plain.transduction_, X @ plain.sparse_coef_ + plain.sparse_intercept_, atol=1e-12)


def test_auto_finds_useful_features_among_noise():
    X, Y = make_problem(150, 80, 5, n_useful=4)
    found = FSNM().fit(X, Y)
    assert found.precision_.shape == found.candidates_.shape
    assert found.sparsity_ in found.candidates_
    assert set(np.argsort(-found.feature_scores_)[:4]) == {0, 1, 2, 3}
    assert FSNM(refit=False).fit(X, Y).precision_ is not None
    Y[1:] = -1
    alone = FSNM().fit(X, Y)
    assert alone.precision_ is None


def test_too_few_steps_warn():
    X, Y = make_problem(40, 60, 5)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        FSNM(sparsity=0.1, max_iter=3).fit(X, Y)


def test_a_single_tag_falls_back_to_splitting(monkeypatch):
    X, Y = make_problem(30, 4, 1)
    exact = FSNM(sparsity=2.0).fit(X, Y)
    monkeypatch.setattr(joint_norms.JointNorms, "_solve_program", lambda *_: None)
    split = FSNM(sparsity=2.0, tol=1e-4, max_iter=20000).fit(X, Y)
    assert exact.optimality_ < 1e-9
    assert split.objective_[-1] == pytest.approx(exact.objective_[-1], rel=1e-4)


def test_it_is_a_feature_selector_in_a_pipeline():
    X, Y = make_problem(40, 12)
    selector = FSNM(sparsity=4.0).fit(X, Y)
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.get_support()])
    assert selector.transform(X.astype(np.float32)).dtype == np.float32
    assert list(selector.get_feature_names_out()) == [f"x{i}" for i in selector.selected_features_]
    joined = make_pipeline(FSNM(sparsity=4.0), RegularizedLeastSquares(1.0)).fit(X, Y)
    np.testing.assert_allclose(
        joined.decision_function(X), FSNM(sparsity=4.0, regularization=1.0).fit(X, Y).transduction_, atol=1e-9
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sparsity": 0.0}, r"'sparsity' parameter of FSNM must be 'auto' or a float in the range \(0\.0, inf\)"),
        ({"sparsity": "loo"}, "'sparsity' parameter of FSNM must be 'auto'"),
        ({"sparsity": True}, "'sparsity' parameter of FSNM must be 'auto'"),
        ({"tol": np.nan}, r"'tol' parameter of FSNM must be a float in the range \(0\.0, inf\)"),
        ({"max_iter": 0}, r"'max_iter' parameter of FSNM must be an int in the range \[1, inf\)"),
        ({"n_features": 0}, r"'n_features' parameter of FSNM must be an int in the range \[1, inf\) or None"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        FSNM(**parameters).fit(*make_problem())
