"""TagProp: its likelihood against loops, gradients against differences, EM, sigmoids."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines.tagprop import (
    RIDGE,
    Likelihood,
    NeighborWeights,
    TagProp,
    learn_by_em,
    learn_by_gradient,
    learn_sigmoids,
)
from tagloom.metrics import mean_average_precision

GROUPS = FeatureGroups(["told", "noise"], [3, 4])


def make_problem(n=60, c=5, *, seed=0):
    """Tags that depend on the first group alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7)) * np.repeat([1.0, 5.0], [3, 4])
    Y = (X[:, :3] @ np.random.default_rng(7).normal(size=(3, c)) > 0.8).astype(np.int8)
    return X, Y


def make_likelihood(*, by_rank, unknown=0.2, noise=1e-3, seed=0):
    rng = np.random.default_rng(seed)
    n, c, count = 14, 4, 5
    Y = (rng.random((n, c)) < 0.4).astype(np.int8)
    Y[rng.random((n, c)) < unknown] = -1
    indices = np.array([rng.permutation(np.delete(np.arange(n), i))[:count] for i in range(n)])
    distances = np.sort(rng.random((n, count, 3)), axis=1)
    return Y, Likelihood(Y, indices, distances, NeighborWeights(by_rank), noise)


def literal_likelihood(Y, likelihood, weights, noise):
    """Return Σ c log p(y) by loops over photos, words and neighbours."""
    n_yes, n_no = (Y == 1).sum(), (Y == 0).sum()
    total = 0.0
    for i in range(len(Y)):
        for w in range(Y.shape[1]):
            if Y[i, w] == -1:
                continue
            p = 0.0
            for k, j in enumerate(likelihood.indices[i]):
                share = Y[j, w] if Y[j, w] != -1 else (Y[:, w] == 1).sum() / (Y[:, w] != -1).sum()
                p += weights[i, k] * ((1 - noise) * share + noise * (1 - share))
            total += np.log(p) / n_yes if Y[i, w] == 1 else np.log(1 - p) / n_no
    return total


@pytest.mark.parametrize("by_rank", [True, False])
def test_the_likelihood_is_the_documented_one(by_rank):
    Y, likelihood = make_likelihood(by_rank=by_rank)
    if by_rank:
        parameters = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
        weights = np.tile(parameters, (14, 1))
    else:
        parameters = np.array([0.5, 2.0, 0.0])
        weights = np.exp(-likelihood.distances @ parameters)
        weights /= weights.sum(axis=1, keepdims=True)
    assert likelihood.plain(parameters)[0] == pytest.approx(literal_likelihood(Y, likelihood, weights, 1e-3))


@pytest.mark.parametrize("by_rank", [True, False])
def test_gradients_equal_finite_differences(by_rank):
    _, likelihood = make_likelihood(by_rank=by_rank)
    rng = np.random.default_rng(1)
    parameters = rng.dirichlet(np.ones(5)) if by_rank else rng.random(3) * 3
    slopes, offsets = rng.normal(size=4) * 3, rng.normal(size=4)
    for value in (likelihood.plain, lambda found: likelihood.with_sigmoids(found, slopes, offsets)):
        expected = approx_fprime(parameters, lambda found, value=value: value(found)[0], 1e-7)
        np.testing.assert_allclose(value(parameters)[1], expected, rtol=1e-4, atol=1e-6)


def test_the_gradient_does_not_depend_on_blocks(monkeypatch):
    _, likelihood = make_likelihood(by_rank=False)
    whole = likelihood.plain(np.ones(3))[1]
    monkeypatch.setattr("tagloom.methods.baselines.tagprop._ENTRIES", 30)
    np.testing.assert_allclose(likelihood.plain(np.ones(3))[1], whole, rtol=1e-13)


def test_em_never_falls_and_ends_at_the_maximum():
    _, likelihood = make_likelihood(by_rank=True)
    shares, values = learn_by_em(likelihood, max_iter=3000, tol=0.0)
    assert (np.diff(values) >= -1e-14).all()
    assert values[-1] > values[0]
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0).all()
    # At the maximum on the simplex no rank in use has a smaller gradient than another.
    gradient = likelihood.plain(shares)[1]
    assert gradient.max() - gradient @ shares < 1e-4
    by_gradient = learn_by_gradient(likelihood.plain, np.full(5, 0.2), by_rank=True, max_iter=500, tol=1e-15)
    assert likelihood.plain(by_gradient)[0] == pytest.approx(values[-1], abs=1e-6)


def test_sigmoids_are_the_maximum_for_each_tag():
    Y, likelihood = make_likelihood(by_rank=False)
    weights = likelihood.weighting.of(np.ones(3), likelihood.distances)
    x = likelihood.expected(weights, likelihood.indices)
    slopes, offsets = learn_sigmoids(likelihood, x, np.zeros(4), np.zeros(4))
    sizes = likelihood.sizes
    for tag in range(4):

        def loss(pair, tag=tag):
            odds = pair[0] * x[:, tag] + pair[1]
            fit = likelihood.yes[:, tag] @ np.logaddexp(0, -odds) + likelihood.no[:, tag] @ np.logaddexp(0, odds)
            return fit + 0.5 * RIDGE * sizes[tag] * (pair @ pair)

        best = minimize(loss, [0.0, 0.0], tol=1e-10)
        assert loss(np.array([slopes[tag], offsets[tag]])) <= best.fun + 1e-8
    assert (Y == 1).any()


@pytest.mark.parametrize("weights", ["distance", "rank"])
def test_the_likelihood_never_falls_while_learning(weights):
    X, Y = make_problem()
    model = TagProp(GROUPS, weights=weights, n_neighbors=20, n_rounds=4, metric="euclidean").fit(X, Y)
    assert len(model.log_likelihood_) == 9
    assert (np.diff(model.log_likelihood_[1:]) >= -1e-12).all()


def test_the_metric_finds_the_group_that_tells():
    X, Y = make_problem(150)
    new, truth = make_problem(150, seed=3)
    model = TagProp(GROUPS, n_neighbors=60, metric="euclidean", sigmoids=False).fit(X, Y)
    assert model.neighbor_weights_[0] > 5 * model.neighbor_weights_[1]
    rank = TagProp(GROUPS, weights="rank", n_neighbors=60, metric="euclidean", sigmoids=False).fit(X, Y)
    assert rank.neighbor_weights_.sum() == pytest.approx(1.0)
    learned, ranked = (mean_average_precision(truth, found.decision_function(new)) for found in (model, rank))
    assert learned > ranked + 0.05


def test_without_sigmoids_scores_are_probabilities_of_the_neighbours():
    X, Y = make_problem()
    model = TagProp(GROUPS, weights="rank", n_neighbors=3, metric="euclidean", sigmoids=False, noise=0.01).fit(X, Y)
    indices, _ = model._distances.nearest(X[:5], 3)
    expected = 0.01 + 0.98 * np.einsum("k,ikc->ic", model.neighbor_weights_, Y[indices])
    np.testing.assert_allclose(model.decision_function(X[:5]), expected)
    assert model.slopes_ is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": "uniform"}, "weights"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"noise": 0.5}, "noise"),
        ({"n_rounds": 0}, "n_rounds"),
        ({"tol": -1.0}, "tol"),
        ({"metric": "hamming"}, "metric"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        TagProp(GROUPS, **parameters).fit(*make_problem())
