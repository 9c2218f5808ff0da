"""Oracles: scikit-learn's Ridge and RidgeCV, refits that leave each photo out, limiting cases."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import average_precision_score

from tagloom.exceptions import InvalidInputError
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.baselines import least_squares


def make_problem(n=24, d=6, c=4, *, n_labelled=None, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * rng.uniform(0.2, 3.0, size=d) + rng.normal(size=d)).astype(dtype)
    Y = (X @ rng.normal(size=(d, c)) + rng.normal(size=(n, c)) > 0.6).astype(np.int8)
    if n_labelled is not None:
        Y[rng.permutation(n)[n_labelled:]] = -1
    return X, Y


def leave_one_out(X, Y, strength):
    """Refit without each row: its scores, and its scores less the intercepts of that model at the mean of all rows."""
    scores, slopes = np.empty(Y.shape), np.empty(Y.shape)
    for row in range(len(Y)):
        others = np.arange(len(Y)) != row
        centred = X[others] - X[others].mean(axis=0)
        targets = Y[others] - Y[others].mean(axis=0)
        # As one least-squares problem: the normal equations would lose the digits that a small penalty needs.
        stacked = np.r_[centred, np.sqrt(strength) * np.eye(X.shape[1])]
        coef = np.linalg.lstsq(stacked, np.r_[targets, np.zeros((X.shape[1], Y.shape[1]))], rcond=None)[0]
        scores[row] = Y[others].mean(axis=0) + (X[row] - X[others].mean(axis=0)) @ coef
        slopes[row] = (X[row] - X.mean(axis=0)) @ coef
    return scores, slopes


@pytest.mark.parametrize(("n", "d"), [(24, 6), (10, 10), (11, 10), (9, 40)])
@pytest.mark.parametrize("strength", [1e-3, 1.0, 100.0])
def test_coefficients_are_those_of_ridge(n, d, strength):
    X, Y = make_problem(n, d)
    found = RegularizedLeastSquares(strength).fit(X, Y)
    expected = Ridge(strength).fit(X, Y)
    np.testing.assert_allclose(found.coef_, expected.coef_.T, atol=1e-8)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-8)
    np.testing.assert_allclose(found.transduction_, expected.predict(X), atol=1e-8)
    np.testing.assert_allclose(found.decision_function(X[:3]), expected.predict(X[:3]), atol=1e-8)
    assert found.regularization_ == strength
    assert found.optimality_ < 1e-10


def test_objective_is_the_value_of_what_is_minimised():
    X, Y = make_problem(n_labelled=15)
    found = RegularizedLeastSquares(2.0).fit(X, Y)
    rows = Y[:, 0] != -1
    value = np.square(found.decision_function(X[rows]) - Y[rows]).sum() + 2.0 * np.square(found.coef_).sum()
    assert found.objective_ == [pytest.approx(value, rel=1e-12)]


@pytest.mark.parametrize(("n", "d"), [(20, 5), (8, 30), (6, 6)])
@pytest.mark.parametrize("strength", [1e-8, 0.3, 30.0])
def test_leave_one_out_scores_are_those_of_refits(n, d, strength):
    X, Y = make_problem(n, d, c=3)
    found = RegularizedLeastSquares(strength).fit(X, Y)
    expected, _ = leave_one_out(X, Y, strength)
    np.testing.assert_allclose(found.loo_scores_, expected, atol=1e-7)


def test_the_penalty_of_least_error_is_that_of_ridgecv():
    X, Y = make_problem(30, 8, c=5, seed=3)
    found = RegularizedLeastSquares(selection="error").fit(X, Y)
    grid = least_squares.GRID * X.var(axis=0).sum()
    expected = RidgeCV(alphas=grid, store_cv_results=True).fit(X, Y)
    assert found.regularization_ == pytest.approx(expected.alpha_)
    np.testing.assert_allclose(found.loo_criterion_, expected.cv_results_.mean(axis=(0, 1)), rtol=1e-8)
    own = RegularizedLeastSquares(selection="error", per_tag=True).fit(X, Y)
    each = RidgeCV(alphas=grid, alpha_per_target=True).fit(X, Y)
    np.testing.assert_allclose(own.regularization_, each.alpha_)
    np.testing.assert_allclose(own.coef_, each.coef_.T, atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(26, 5), (14, 30)])
def test_the_penalty_of_best_precision_is_that_of_refits(n, d):
    X, Y = make_problem(n, d, c=4, seed=5)
    found = RegularizedLeastSquares(selection="map").fit(X, Y)
    grid = least_squares.GRID * X.var(axis=0).sum()
    left_out = [leave_one_out(X, Y, strength)[1] for strength in grid]
    table = np.array([average_precision_score(Y, slopes, average=None) for slopes in left_out])
    np.testing.assert_allclose(found.loo_criterion_, table.mean(axis=1), atol=1e-9)
    best = np.flatnonzero(table.mean(axis=1) >= table.mean(axis=1).max() - 1e-12)[-1]
    assert found.regularization_ == pytest.approx(grid[best])
    own = RegularizedLeastSquares(selection="map", per_tag=True).fit(X, Y)
    best_of_each = [np.flatnonzero(column >= column.max() - 1e-12)[-1] for column in table.T]
    np.testing.assert_allclose(own.regularization_, grid[best_of_each])


def test_a_strong_penalty_does_not_rank_left_out_positives_last():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(10, 3)) + 4.0, rng.normal(size=(10, 3))]
    Y = np.repeat([[1], [0]], 10, axis=0)
    found = RegularizedLeastSquares(selection="map").fit(X, Y)
    assert found.loo_criterion_[-1] == 1.0


def test_unlabelled_rows_do_not_change_the_model():
    X, Y = make_problem(30, 5, n_labelled=18)
    rows = Y[:, 0] != -1
    found, alone = RegularizedLeastSquares().fit(X, Y), RegularizedLeastSquares().fit(X[rows], Y[rows])
    np.testing.assert_allclose(found.coef_, alone.coef_, atol=1e-12)
    np.testing.assert_array_equal(np.isnan(found.loo_scores_), Y == -1)
    np.testing.assert_allclose(found.transduction_, X @ alone.coef_ + alone.intercept_, atol=1e-10)


@pytest.mark.parametrize("kept_bytes", [0, 2**30])
def test_entrywise_unknowns_are_one_ridge_for_each_tag(kept_bytes, monkeypatch):
    monkeypatch.setattr(least_squares, "KEPT_BYTES", kept_bytes)
    rng = np.random.default_rng(2)
    X, Y = make_problem(30, 5, c=4)
    Y[rng.random(Y.shape) < 0.4] = -1
    Y[:, 3] = Y[:, 2]
    given = RegularizedLeastSquares(0.7).fit(X, Y)
    chosen = RegularizedLeastSquares(selection="error").fit(X, Y)
    grid = least_squares.GRID * X[(Y != -1).any(axis=1)].var(axis=0).sum()
    errors = np.zeros((4, len(grid)))
    for tag in range(4):
        rows = Y[:, tag] != -1
        expected = Ridge(0.7).fit(X[rows], Y[rows, tag])
        np.testing.assert_allclose(given.coef_[:, tag], expected.coef_, atol=1e-9)
        np.testing.assert_allclose(given.intercept_[tag], expected.intercept_, atol=1e-9)
        y = Y[rows, tag][:, None]
        errors[tag] = [np.square(y - leave_one_out(X[rows], y, strength)[0]).mean() for strength in grid]
    assert chosen.regularization_ == pytest.approx(grid[errors.mean(axis=0).argmin()])


def test_a_tag_known_nowhere_scores_zero_and_is_never_predicted():
    X, Y = make_problem()
    Y[:, 1] = -1
    found = RegularizedLeastSquares(per_tag=True).fit(X, Y)
    assert (found.transduction_[:, 1] == 0.0).all()
    assert found.predict(X)[:, 1].sum() == 0


@pytest.mark.parametrize("selection", ["map", "error"])
@pytest.mark.parametrize("per_tag", [False, True])
@pytest.mark.parametrize("case", ["one row", "no positive", "all positive", "constant features", "one positive each"])
def test_degenerate_labels_give_finite_scores(case, per_tag, selection):
    X, Y = make_problem(12, 4, c=3)
    if case == "one row":
        Y[1:] = -1
    elif case == "no positive":
        Y[:] = 0
    elif case == "all positive":
        Y[:] = 1
    elif case == "constant features":
        X[:] = 3.0
    else:
        Y = np.eye(12, 3, dtype=np.int8)
    found = RegularizedLeastSquares(per_tag=per_tag, selection=selection).fit(X, Y)
    assert np.isfinite(found.transduction_).all()
    assert np.isfinite(found.coef_).all()
    if case in ("one row", "no positive", "all positive", "constant features"):
        known = np.where(Y == -1, np.nan, Y)
        np.testing.assert_allclose(found.transduction_, np.nanmean(known, axis=0) + np.zeros(Y.shape), atol=1e-12)


def test_thresholds_come_from_scores_of_photos_not_seen():
    X, Y = make_problem(14, 60, c=3, seed=8)
    found = RegularizedLeastSquares(1e-6).fit(X, Y)
    np.testing.assert_array_equal((found.loo_scores_ > found.thresholds_).sum(axis=0), (Y == 1).sum(axis=0))


def test_large_offsets_do_not_hurt_in_float32():
    X, Y = make_problem(60, 8, c=3)
    moved = (X + 100.0).astype(np.float32)
    plain = RegularizedLeastSquares(1.0).fit(X, Y)
    found = RegularizedLeastSquares(1.0).fit(moved, Y)
    np.testing.assert_allclose(found.transduction_, plain.transduction_, atol=1e-4)


@pytest.mark.parametrize(
    "parameters",
    [
        {"regularization": "cv"},
        {"regularization": 0.0},
        {"regularization": -1.0},
        {"regularization": np.nan},
        {"selection": "auc"},
        {"smoothing": -0.1},
        {"smoothing": "loo"},
    ],
)
def test_parameters_are_checked_at_fit(parameters):
    X, Y = make_problem()
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        RegularizedLeastSquares(**parameters).fit(X, Y)
