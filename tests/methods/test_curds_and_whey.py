"""Oracles: scikit-learn's canonical analysis, the formulas written out densely, simulations with a known truth."""

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError, InvalidLabelsError
from tagloom.methods.curds_and_whey import CurdsAndWhey, asymptotic_weights, gcv_weights
from tagloom.methods.curds_and_whey.problem import (
    canonical_coordinates,
    least_squares_fit,
    shrinkage_matrix,
    slope_weights,
)


def make_problem(n=200, p=30, c=8, *, n_test=1500, independent=False, seed=0):
    """Tags that follow two factors of the features, or each a feature of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + n_test, p))
    scores = X[:, :c] if independent else X @ rng.normal(size=(p, 2)) / np.sqrt(p) @ rng.normal(size=(2, c))
    Y = (scores + rng.normal(size=(n + n_test, c)) > 0.5).astype(np.int8)
    return X[:n], Y[:n], X[n:], Y[n:]


def least_squares(X, Y, X_new):
    """Scores of new rows by least squares on labels coded ±1."""
    coef = np.linalg.lstsq(X - X.mean(axis=0), 2.0 * (Y - Y.mean(axis=0)), rcond=None)[0]
    return 2.0 * Y.mean(axis=0) - 1.0 + (X_new - X.mean(axis=0)) @ coef


def error(scores, Y):
    return np.square(scores - (2.0 * Y - 1.0)).mean()


def literal(X, Y, weigh):
    """V (rows), ρ, and the two matrices: with photos as rows, and as printed."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    gram_y = Y.T @ Y
    values, vectors = np.linalg.eig(np.linalg.inv(gram_y) @ Y.T @ X @ np.linalg.inv(X.T @ X) @ X.T @ Y)
    order = np.argsort(-values.real)
    V, rho = vectors.real[:, order].T, np.sqrt(values.real[order])
    S = np.diag(weigh(rho, X.shape[1] / len(X)))
    return V, rho, V.T @ S @ np.linalg.inv(V.T), np.linalg.inv(V) @ S @ V


@pytest.mark.parametrize(("weights", "weigh"), [("gcv", gcv_weights), ("asymptotic", asymptotic_weights)])
def test_equal_to_the_formulas_written_out(weights, weigh):
    X, Y, X_new, _ = make_problem()
    boost = CurdsAndWhey(weights=weights, ridge=0.0).fit(X, Y)
    assert not boost.held_out_
    _, rho, B, _ = literal(X, 2.0 * Y - 1.0, weigh)
    np.testing.assert_allclose(boost.correlations_, rho, atol=1e-8)
    np.testing.assert_allclose(boost.weights_, weigh(rho, 30 / 200), atol=1e-7)
    np.testing.assert_allclose(boost.shrinkage_, B, atol=1e-6)
    V = boost.coordinates_
    np.testing.assert_allclose(V.T @ np.diag(boost.weights_) @ np.linalg.inv(V.T), boost.shrinkage_, atol=1e-6)
    scores, means = least_squares(X, Y, X_new), 2.0 * Y.mean(axis=0) - 1.0
    np.testing.assert_allclose(boost.transform(scores), means + (scores - means) @ B, atol=1e-6)


def test_coordinates_and_correlations_are_those_of_scikit_learn():
    X, Y, _, _ = make_problem(c=4)
    boost = CurdsAndWhey(ridge=0.0).fit(X, Y)
    model = CCA(n_components=4, scale=False, max_iter=5000, tol=1e-14).fit(X, 2.0 * Y - 1.0)
    of_x, of_y = model.transform(X, 2.0 * Y - 1.0)
    expected = [np.corrcoef(of_x[:, k], of_y[:, k])[0, 1] for k in range(4)]
    np.testing.assert_allclose(boost.correlations_, expected, atol=1e-6)
    ours = (2.0 * Y - 1.0) @ boost.coordinates_.T
    same = [abs(np.corrcoef(ours[:, k], of_y[:, k])[0, 1]) for k in range(4)]
    np.testing.assert_allclose(same, 1.0, atol=1e-6)


def simulate(seed, *, shared_noise):
    """Ten responses from two factors and noise: the error of least squares, and of three ways to shrink it."""
    rng = np.random.default_rng(seed)
    n, p, c = 100, 30, 10
    coef = rng.normal(size=(p, 2)) @ rng.normal(size=(2, c)) / np.sqrt(p)
    shares = rng.normal(size=(c, c)) * np.linspace(0.2, 2.0, c)[:, None] / np.sqrt(c)
    mix = shares if shared_noise else 2.0 * np.eye(c)
    X, X_new = rng.normal(size=(n, p)), rng.normal(size=(1000, p))
    Y = X @ coef + rng.normal(size=(n, c)) @ mix
    plain = (X_new - X.mean(axis=0)) @ np.linalg.lstsq(X - X.mean(axis=0), Y - Y.mean(axis=0), rcond=None)[0]
    _, _, ours, printed = literal(X, Y, gcv_weights)
    _, _, asymptotic, _ = literal(X, Y, asymptotic_weights)
    shrunk = [plain @ B for B in (np.eye(c), ours, asymptotic, printed)]
    return [np.square(Y.mean(axis=0) + scores - X_new @ coef).mean() for scores in shrunk]


def test_photos_as_rows_beat_the_printed_convention_and_gcv_the_asymptotic_weight():
    runs = [simulate(seed, shared_noise=False) for seed in range(20)]
    plain, ours, asymptotic, printed = np.mean(runs, axis=0)
    assert ours < 0.8 * printed < printed < plain
    assert ours < asymptotic < plain
    # Where the coordinates are far from orthogonal the printed one is worse than no shrinkage.
    runs = [simulate(seed, shared_noise=True) for seed in range(20)]
    plain, ours, asymptotic, printed = np.mean(runs, axis=0)
    assert ours < 0.3 * plain < plain < printed
    assert ours < asymptotic < plain


def test_weights_of_generalised_cross_validation_are_slopes_on_scores_without_the_own_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 20)), rng.normal(size=(80, 1))
    X, y = X - X.mean(axis=0), y - y.mean()
    fitted, rank = least_squares_fit(X, y + X[:, :1])
    y = y + X[:, :1]
    ratio = rank / 80
    without = (fitted - ratio * y) / (1 - ratio)
    rho = np.linalg.norm(fitted) / np.linalg.norm(y)
    slopes, common = slope_weights(y, without)
    np.testing.assert_allclose(gcv_weights([rho], ratio), slopes, rtol=1e-10)
    assert slopes[0] == pytest.approx(common)
    assert gcv_weights([1.0], 0.4) == pytest.approx(1.0)
    assert gcv_weights([0.5], 0.4) == 0.0
    np.testing.assert_allclose(asymptotic_weights([0.0, 0.6, 1.0], 0.5), [0.0, 0.36 / (0.36 + 0.32), 1.0])


def test_slopes_fall_and_stay_between_0_and_1():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(400, 5))
    labels = scores * [0.3, 1.7, 0.5, 0.6, -0.4] + 0.1 * rng.normal(size=(400, 5))
    slopes, common = slope_weights(labels, scores)
    np.testing.assert_allclose(slopes, [1.0, 1.0, 0.55, 0.55, 0.0], atol=0.03)
    assert common == pytest.approx(0.54, abs=0.06)
    np.testing.assert_array_equal(slope_weights(labels, 0.0 * scores)[0], 1.0)


def test_weights_of_one_change_nothing():
    X, Y, X_new, _ = make_problem()
    scores = least_squares(X, Y, X_new)
    boost = CurdsAndWhey().fit(X, Y)
    np.testing.assert_array_equal(
        shrinkage_matrix(boost.coordinates_.T, np.ones(8), np.cov(Y.T.astype(float))), np.eye(8)
    )
    # More features than photos: every canonical correlation on the training rows is 1, and nothing shrinks.
    wide = CurdsAndWhey(correlations="training").fit(np.random.default_rng(0).normal(size=(200, 300)), Y)
    np.testing.assert_allclose(wide.correlations_, 1.0, atol=1e-8)
    np.testing.assert_allclose(wide.transform(scores), scores, atol=1e-8)


def test_auto_holds_out_where_columns_are_many():
    X, Y, _, _ = make_problem(n=100, p=60)
    assert CurdsAndWhey().fit(X, Y).held_out_
    assert not CurdsAndWhey().fit(X[:, :20], Y).held_out_
    assert CurdsAndWhey().fit(X[:, :20], Y, scores=2.0 * Y - 1.0).held_out_
    wide = CurdsAndWhey().fit(np.hstack([X, X, np.random.default_rng(1).normal(size=(100, 90))]), Y)
    assert (wide.correlations_ < 0.9).all()


@pytest.mark.parametrize("canonical", ["plain", "structured"])
@pytest.mark.parametrize("n_columns", [30, pytest.param(80, marks=pytest.mark.medium)])
def test_correlated_tags_gain(canonical, n_columns):
    ratios = []
    for seed in range(3):
        X, Y, X_new, Y_new = make_problem(p=n_columns, seed=seed)
        scores = least_squares(X, Y, X_new)
        for correlations in ("training", "held_out"):
            fusion = 0.1 if correlations == "training" else 0.0
            boost = CurdsAndWhey(canonical=canonical, correlations=correlations, tag_fusion=fusion).fit(X, Y)
            ratios.append(error(boost.transform(scores), Y_new) / error(scores, Y_new))
    assert np.max(ratios) < 0.98
    assert np.mean(ratios) < 0.95


def test_independent_tags_lose_nothing():
    for seed in range(5):
        X, Y, X_new, Y_new = make_problem(independent=True, seed=seed)
        scores = least_squares(X, Y, X_new)
        for correlations in ("training", "held_out"):
            boosted = CurdsAndWhey(correlations=correlations).fit(X, Y).transform(scores)
            assert error(boosted, Y_new) < 1.01 * error(scores, Y_new)
        held_out = CurdsAndWhey(correlations="held_out").fit(X, Y).shrinkage_
        assert np.abs(held_out - np.diag(np.diag(held_out))).max() < 0.1


def test_scores_that_are_given_are_measured():
    X, Y, _, _ = make_problem()
    rng = np.random.default_rng(0)
    right = 2.0 * Y - 1.0
    np.testing.assert_allclose(CurdsAndWhey().fit(X, Y, scores=right).weights_, 1.0, atol=1e-8)
    double = CurdsAndWhey().fit(X, Y, scores=2.0 * right)
    np.testing.assert_allclose(double.weights_, 0.5, atol=1e-8)
    np.testing.assert_allclose(double.correlations_, 1.0, atol=1e-8)
    useless = CurdsAndWhey().fit(X, Y, scores=rng.normal(size=Y.shape))
    assert useless.weights_.max() < 0.2


def test_structured_coordinates_are_complete_and_uncorrelated():
    X, Y, _, _ = make_problem()
    groups = FeatureGroups(["colour", "edge", "gist"], [10, 10, 10])
    boost = CurdsAndWhey(canonical="structured", ridge=0.0, tag_sparsity=0.3).fit(X, Y, groups=groups)
    V = boost.coordinates_
    assert V.shape == (8, 8)
    centred = 2.0 * (Y - Y.mean(axis=0))
    np.testing.assert_allclose(V @ centred.T @ centred @ V.T / len(Y), np.eye(8), atol=1e-6)
    assert np.abs(V - CurdsAndWhey(ridge=0.0).fit(X, Y).coordinates_).max() > 1e-3
    nothing = CurdsAndWhey(canonical="structured", feature_sparsity=2.0, ridge=0.0).fit(X, Y)
    np.testing.assert_allclose(nothing.shrinkage_, CurdsAndWhey(ridge=0.0).fit(X, Y).shrinkage_, atol=1e-8)


def test_directions_that_repeat_are_replaced():
    covariance = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 1.5]])
    v = np.array([[1.0, 1.0, 0.0], [0.0, 1e-4, 0.0], [0.0, 0.0, 1.0]])
    T = canonical_coordinates(np.diag([3.0, 2.0, 1.0]), covariance, v)
    np.testing.assert_allclose(T.T @ covariance @ T, np.eye(3), atol=1e-10)
    cosines = np.abs(T / np.linalg.norm(T, axis=0))[0]
    assert cosines.max() == pytest.approx(1.0)
    assert (cosines > 0.99).sum() == 1


@pytest.mark.parametrize("canonical", ["plain", "structured"])
@pytest.mark.parametrize("correlations", ["training", "held_out"])
def test_tags_that_do_not_vary_pass_through(canonical, correlations):
    X, Y, X_new, _ = make_problem()
    Y[:, 1], Y[:, 4], Y[:, 6] = 0, 1, -1
    boost = CurdsAndWhey(canonical=canonical, correlations=correlations).fit(X, Y)
    scores = np.random.default_rng(0).normal(size=(len(X_new), 8))
    boosted = boost.transform(scores)
    np.testing.assert_array_equal(boosted[:, [1, 4, 6]], scores[:, [1, 4, 6]])
    scores[:, [1, 4, 6]] += 5.0
    np.testing.assert_allclose(np.delete(boost.transform(scores), [1, 4, 6], 1), np.delete(boosted, [1, 4, 6], 1))
    np.testing.assert_array_equal(boost.tag_means_[[1, 4, 6]], [-1.0, 1.0, 0.0])
    rest = CurdsAndWhey(canonical=canonical, correlations=correlations).fit(X, np.delete(Y, [1, 4, 6], 1))
    kept = np.delete(np.delete(boost.shrinkage_, [1, 4, 6], 0), [1, 4, 6], 1)
    np.testing.assert_allclose(kept, rest.shrinkage_, atol=1e-8)


def test_tags_that_determine_each_other_keep_all_pairs():
    X, Y, X_new, Y_new = make_problem()
    Y, Y_new = (np.column_stack([labels, 1 - labels[:, 0], labels[:, 1]]) for labels in (Y, Y_new))
    scores = least_squares(X, Y, X_new)
    for ridge in (0.0, 1.0):
        boost = CurdsAndWhey(ridge=ridge).fit(X, Y)
        assert boost.coordinates_.shape == (10, 10)
        assert np.isfinite(boost.shrinkage_).all()
        boosted = boost.transform(scores)
        assert error(boosted, Y_new) < error(scores, Y_new)
        np.testing.assert_allclose(boosted[:, 0], -boosted[:, 8], atol=1e-3)
        np.testing.assert_allclose(boosted[:, 1], boosted[:, 9], atol=1e-3)


def test_unknown_entries():
    X, Y, _, _ = make_problem()
    complete = CurdsAndWhey().fit(X[:150], Y[:150])
    Y[150:, 0] = -1
    some = CurdsAndWhey().fit(X, Y)
    assert some.n_rows_ == 150
    np.testing.assert_allclose(some.shrinkage_, complete.shrinkage_)
    Y[150:] = -1
    np.testing.assert_allclose(CurdsAndWhey().fit(X, Y).tag_means_, complete.tag_means_)
    # Few complete rows: all labelled ones are used, and unknown entries weaken what tags tell each other.
    X, Y, _, _ = make_problem()
    full = CurdsAndWhey(weights="asymptotic").fit(X, Y)
    Y[np.random.default_rng(0).random(Y.shape) < 0.3] = -1
    sparse = CurdsAndWhey(weights="asymptotic").fit(X, Y)
    assert sparse.n_rows_ == 200
    assert sparse.correlations_[0] < full.correlations_[0]
    held_out = CurdsAndWhey(correlations="held_out").fit(X, Y)
    assert np.isfinite(held_out.shrinkage_).all()


def test_too_little_to_learn_from_changes_nothing():
    X, Y, _, _ = make_problem()
    for labels in (np.full_like(Y, -1), np.where(np.arange(200)[:, None] == 3, Y, -1)):
        boost = CurdsAndWhey().fit(X, labels)
        np.testing.assert_array_equal(boost.shrinkage_, np.eye(8))
    two = CurdsAndWhey().fit(X[:2], np.array([[0, 1], [1, 1]], dtype=np.int8))
    assert np.isfinite(two.shrinkage_).all()


def test_scaling_and_duplicates_of_columns_do_not_matter_on_training_rows():
    X, Y, _, _ = make_problem()
    expected = CurdsAndWhey().fit(X, Y).shrinkage_
    scaled = np.column_stack([X * np.logspace(-3, 3, 30) + 7.0, np.full(200, 4.0), X[:, :5]])
    np.testing.assert_allclose(CurdsAndWhey().fit(scaled, Y).shrinkage_, expected, atol=1e-8)


@pytest.mark.parametrize(
    "parameters",
    [{"canonical": "x"}, {"weights": "x"}, {"correlations": "x"}, {"ridge": -1.0}, {"tag_fusion": np.inf}],
)
def test_wrong_parameters_are_named(parameters):
    X, Y, _, _ = make_problem()
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        CurdsAndWhey(**parameters).fit(X, Y)


def test_wrong_arrays_are_named():
    X, Y, _, _ = make_problem()
    with pytest.raises(InvalidLabelsError):
        CurdsAndWhey().fit(X, Y[1:])
    with pytest.raises(InvalidInputError, match="shape of Y"):
        CurdsAndWhey().fit(X, Y, scores=Y[:, 1:])
    with pytest.raises(InvalidInputError, match="finite"):
        CurdsAndWhey().fit(X, Y, scores=np.full(Y.shape, np.nan))
    with pytest.raises(InvalidInputError, match="expected scores of 8 tags"):
        CurdsAndWhey().fit(X, Y).transform(np.zeros((2, 3)))
