import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.features import GroupScaler
from tagloom.metrics import average_precision
from tagloom.tuning import choose_group_weights
from tagloom.tuning.group_weights import _kernels, _Search


def _problem(n=90, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 4)) < 0.35).astype(np.int8)
    useful = Y + 0.7 * rng.standard_normal((n, 4))
    helpful = Y[:, :2] + 0.7 * rng.standard_normal((n, 2))
    noise = rng.standard_normal((n, 30))
    X = np.hstack([useful, helpful, noise]).astype(np.float32)
    return X, FeatureGroups(["useful", "helpful", "noise"], [4, 2, 30]), Y


def _literal_left_out(Z, Y, strength):
    """Fit ridge with an intercept without each row in turn; return (x_i - mean of the others)·w, recentred on all."""
    scores = np.empty(Y.shape)
    for row in range(len(Z)):
        rest = np.arange(len(Z)) != row
        mean_x, mean_y = Z[rest].mean(axis=0), Y[rest].mean(axis=0)
        A = Z[rest] - mean_x
        w = np.linalg.solve(A.T @ A + strength * np.eye(Z.shape[1]), A.T @ (Y[rest] - mean_y))
        scores[row] = (Z[row] - Z.mean(axis=0)) @ w
    return scores


def test_left_out_scores_are_those_of_models_fitted_without_the_row():
    X, groups, Y = _problem(40)
    weights = {"useful": 0.5, "helpful": 0.3, "noise": 0.2}
    scaler = GroupScaler(groups, weights=weights).fit(X)
    search = _Search(_kernels(scaler, X, groups), Y)
    Z = scaler.transform(X).astype(np.float64)
    for strength in (0.03, 1.0):
        expected = _literal_left_out(Z, Y.astype(float), strength)
        np.testing.assert_allclose(search.left_out(weights, strength), expected, atol=2e-5)
        found = search.score(weights, strength)
        assert found == pytest.approx(average_precision(Y, expected).mean(), abs=1e-3)


def test_noise_loses_its_weight_and_the_score_rises():
    X, groups, Y = _problem()
    found = choose_group_weights(X, groups, Y, start={"useful": 0.1, "helpful": 0.1, "noise": 0.8})
    assert found.weights["noise"] < 0.4
    assert found.score > found.start_score
    assert sum(found.weights.values()) == pytest.approx(1.0)
    scores = [score for _, score in found.history]
    assert scores == sorted(scores)
    assert found.score == scores[-1]


def test_the_scaler_takes_what_was_found():
    X, groups, Y = _problem()
    found = choose_group_weights(X, groups, Y)
    assert GroupScaler(groups, weights=found.weights).fit_transform(X).shape == X.shape


def test_unlabelled_rows_do_not_matter_beyond_the_scaling_and_unknown_entries_are_not_scored():
    X, groups, Y = _problem()
    Y[60:] = -1
    Y[:20, 1] = -1
    found = choose_group_weights(X, groups, Y)
    other = X.copy()
    other[60:] = X[60:][::-1]  # the scaling's means are the same
    assert choose_group_weights(other, groups, Y).weights == pytest.approx(found.weights)


def test_rows_are_drawn_where_there_are_many():
    X, groups, Y = _problem()
    one = choose_group_weights(X, groups, Y, max_rows=30, random_state=0)
    assert one == choose_group_weights(X, groups, Y, max_rows=30, random_state=0)
    assert one.start_score != choose_group_weights(X, groups, Y, max_rows=30, random_state=1).start_score


def test_no_round_scores_the_start_only():
    X, groups, Y = _problem()
    found = choose_group_weights(X, groups, Y, n_rounds=0)
    assert found.score == found.start_score
    assert found.weights == pytest.approx({"useful": 1 / 3, "helpful": 1 / 3, "noise": 1 / 3})


def test_wrong_input_is_named():
    X, groups, Y = _problem()
    with pytest.raises(InvalidInputError, match="at least 3 labelled photos, got 0"):
        choose_group_weights(X, groups, np.full_like(Y, -1))
    with pytest.raises(InvalidInputError, match="at least two labelled photos have"):
        choose_group_weights(X, groups, np.zeros_like(Y))
    with pytest.raises(InvalidInputError, match="max_rows"):
        choose_group_weights(X, groups, Y, max_rows=1)
