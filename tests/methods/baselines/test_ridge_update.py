"""Updated ridge against the annotator that fits from scratch, and smoothing against conjugate gradients."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.graph import knn_graph
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.shared import ridge_update
from tagloom.methods.shared.ridge_update import FixedRidge, GraphSmoother
from tagloom.methods.shared.smoothing import smooth_scores

SIZES = {"fewer photos than features": (120, 60, 40), "more": (200, 8, 150), "as many": (90, 30, 30)}


def _problem(size, *, dtype=np.float64, random_state=0):
    n, d, m = SIZES[size]
    generator = np.random.default_rng(random_state)
    X = (generator.normal(size=(n, d)) + 1.0).astype(dtype)
    Y = (X[:, :4] + generator.normal(size=(n, 4)) > 1.5).astype(np.int8)
    Y = np.concatenate([Y, Y, Y], axis=1)
    Y[m:] = -1
    return X, Y, m, generator


def _check(ridge, Y, strength, *, rtol=1e-9):
    expected = RegularizedLeastSquares(strength).fit(ridge.X, Y)
    coef, intercept = ridge.coefficients(Y)
    scale = np.abs(expected.coef_).max()
    np.testing.assert_allclose(coef, expected.coef_, rtol=0, atol=rtol * scale)
    np.testing.assert_allclose(intercept, expected.intercept_, rtol=0, atol=rtol * max(1.0, scale))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("strength", [1e-2, 3.0, 1e3])
def test_whole_photos_added_one_batch_after_another(size, strength):
    X, Y, m, _ = _problem(size)
    ridge = FixedRidge(X, strength)
    for known in (m // 3, m // 3 + 1, m):
        partly = Y.copy()
        partly[known:] = -1
        _check(ridge, partly, strength)


@pytest.mark.parametrize("size", SIZES)
def test_every_tag_known_on_other_photos(size):
    X, Y, _, generator = _problem(size)
    ridge = FixedRidge(X, 2.0)
    ridge.coefficients(Y)
    # From tags known everywhere, which share the factorisation, to tags known on a few photos.
    Y[generator.random(Y.shape) < np.linspace(0.0, 0.95, Y.shape[1])] = -1
    Y[:, -1] = -1
    Y[:2, -1] = [1, 0]
    _check(ridge, Y, 2.0, rtol=1e-8)
    some = np.array([7, 2])
    coef, intercept = ridge.coefficients(Y, some)
    everything = ridge.coefficients(Y)
    np.testing.assert_allclose(coef, everything[0][:, some], atol=1e-12)
    np.testing.assert_allclose(intercept, everything[1][some], atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_single_tags_accepted_beside_listed_photos_and_entries_left_out(size):
    X, Y, m, generator = _problem(size)
    n_listed = 2 * m // 3
    Y[n_listed:] = -1
    beside = np.arange(n_listed, len(X))
    Y[beside, generator.integers(Y.shape[1], size=len(beside))] = 1  # each for one tag alone
    ridge = FixedRidge(X, 2.0)
    _check(ridge, Y, 2.0, rtol=1e-8)
    tags = np.array([8, 1, 5])
    for _ in range(3):
        hidden = generator.random((len(X), len(tags))) < 0.25
        fewer = np.where(hidden, -1, Y[:, tags]).astype(np.int8)
        expected = RegularizedLeastSquares(2.0).fit(X, fewer)
        coef, intercept = ridge.coefficients(Y, tags, hidden=hidden)
        np.testing.assert_allclose(coef, expected.coef_, atol=1e-8 * np.abs(expected.coef_).max())
        np.testing.assert_allclose(intercept, expected.intercept_, atol=1e-8)


def test_many_tags_accepted_beside_listed_photos_are_solved_without_a_system_each(monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 80))
    Y = np.full((300, 30), -1, dtype=np.int8)
    Y[:60] = generator.random((60, 30)) < 0.3
    Y[np.arange(60, 300), np.arange(240) % 30] = 1
    inverted = []
    real = ridge_update._inverted
    monkeypatch.setattr(
        ridge_update, "_inverted", lambda gram, *rest, **more: inverted.append(len(gram)) or real(gram, *rest, **more)
    )
    ridge = FixedRidge(X, 1.0)
    ridge.coefficients(Y)
    for fold in range(4):
        hidden = (np.arange(300)[:, None] + np.arange(30)) % 4 == fold
        ridge.coefficients(Y, np.arange(30), hidden=hidden)
    assert inverted == [60]


def test_labels_that_are_taken_back_leave_no_trace():
    X, Y, _, _ = _problem("more")
    ridge = FixedRidge(X, 1.0)
    ridge.coefficients(Y)
    fewer = Y.copy()
    fewer[5:12] = -1
    _check(ridge, fewer, 1.0)
    fewer[:] = -1
    coef, intercept = ridge.coefficients(fewer)
    assert not coef.any()
    assert not intercept.any()
    _check(ridge, Y, 1.0)


def test_a_tag_known_nowhere_and_one_known_on_a_single_photo():
    X, Y, _, _ = _problem("fewer photos than features")
    Y[:, 3] = -1
    Y[:, 4] = -1
    Y[0, 4] = 1
    coef, intercept = FixedRidge(X, 1.0).coefficients(Y)
    assert not coef[:, 3].any()
    assert intercept[3] == 0.0
    np.testing.assert_allclose(X @ coef[:, 4] + intercept[4], 1.0, atol=1e-12)


def test_scores_of_float32_features_are_those_of_float64():
    X, Y, _, _ = _problem("more", dtype=np.float32)
    ridge = FixedRidge(X, 1.0)
    coef, intercept = ridge.coefficients(Y)
    found = ridge.scores(coef, intercept)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, X.astype(np.float64) @ coef + intercept, atol=1e-5)


def test_a_strength_that_is_no_penalty_is_refused():
    with pytest.raises(InvalidInputError, match="above 0"):
        FixedRidge(np.eye(3), 0.0)


@pytest.mark.parametrize("strength", [0.1, 0.5, 5.0])
def test_smoothing_is_that_of_conjugate_gradients(strength):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 5))
    X[7] = 1e3  # far from all others
    scores = generator.normal(size=(400, 60))
    expected = smooth_scores(scores, X, np.full((400, 60), -1, dtype=np.int8), strength=strength, n_neighbors=6)
    found = GraphSmoother(knn_graph(X, 6), strength).smooth(scores.astype(np.float32))
    np.testing.assert_allclose(found, expected, atol=5e-6 * np.abs(scores).max())
