"""Oracles: a literal loop, and scikit-learn's neighbours on full labels."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from tagloom.exceptions import InvalidInputError
from tagloom.methods import NeighborTransfer


def make_problem(n=40, d=5, c=4, *, share_unknown=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (rng.random((n, c)) < 0.4).astype(np.int8)
    Y[rng.random(Y.shape) < share_unknown] = -1
    return X, Y


def weight_of(kind, position, count, distance, radius):
    if kind == "uniform":
        return 1.0
    if kind == "rank":
        return 1.0 - position / count
    return np.exp(-((distance / radius) ** 2)) if radius > 0 else 1.0


def literal_scores(queries, excluded, X, Y, *, n_neighbors, weights, shrinkage):
    """Score by loops; ``excluded[i]`` is the training row that query i must not use, or None."""
    labelled = [row for row in range(len(X)) if (Y[row] != -1).any()]
    scores = np.empty((len(queries), Y.shape[1]))
    for i, query in enumerate(queries):
        candidates = [(np.linalg.norm(query - X[row]), row) for row in labelled if row != excluded[i]]
        nearest = sorted(candidates)[:n_neighbors]
        for tag in range(Y.shape[1]):
            known = Y[:, tag] != -1
            prior = (Y[known, tag] == 1).mean() if known.any() else 0.0
            top, bottom = shrinkage * prior, shrinkage
            for position, (distance, row) in enumerate(nearest):
                if Y[row, tag] != -1:
                    weight = weight_of(weights, position, len(nearest), distance, nearest[-1][0])
                    top += weight * (Y[row, tag] == 1)
                    bottom += weight
            scores[i, tag] = top / bottom if bottom > 0 else prior
    return scores


@pytest.mark.parametrize("weights", ["uniform", "rank", "heat"])
@pytest.mark.parametrize("shrinkage", [0.0, 1.5])
@pytest.mark.parametrize("n_neighbors", [1, 7, 100])
def test_scores_are_those_of_the_loop(weights, shrinkage, n_neighbors):
    X, Y = make_problem(share_unknown=0.3)
    Y[5:15] = -1
    Y[:, 3] = -1
    parameters = {"n_neighbors": n_neighbors, "weights": weights, "shrinkage": shrinkage}
    found = NeighborTransfer(**parameters).fit(X, Y)
    own = [row if (Y[row] != -1).any() else None for row in range(len(X))]
    np.testing.assert_allclose(found.transduction_, literal_scores(X, own, X, Y, **parameters), atol=1e-6)
    new, _ = make_problem(seed=9)
    expected = literal_scores(new, [None] * len(new), X, Y, **parameters)
    np.testing.assert_allclose(found.decision_function(new), expected, atol=1e-6)


def test_without_shrinkage_it_is_the_regressor_of_scikit_learn():
    X, Y = make_problem()
    new, _ = make_problem(seed=3)
    for weights, theirs in (("uniform", "uniform"), ("rank", lambda d: 1 - np.arange(d.shape[1]) / d.shape[1] + 0 * d)):
        found = NeighborTransfer(6, weights=weights, shrinkage=0.0).fit(X, Y).decision_function(new)
        expected = KNeighborsRegressor(6, weights=theirs).fit(X, Y).predict(new)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_majority_of_neighbours_is_the_classifier_of_scikit_learn():
    X, Y = make_problem()
    new, _ = make_problem(seed=4)
    found = NeighborTransfer(7, weights="uniform", shrinkage=0.0).fit(X, Y).decision_function(new) > 0.5
    np.testing.assert_array_equal(found, KNeighborsClassifier(7).fit(X, Y).predict(new))


def test_much_shrinkage_gives_the_frequencies():
    X, Y = make_problem()
    found = NeighborTransfer(shrinkage=1e12).fit(X, Y)
    np.testing.assert_allclose(found.prior_, Y.mean(axis=0))
    np.testing.assert_allclose(found.transduction_, np.broadcast_to(found.prior_, Y.shape), atol=1e-9)


def test_a_photo_among_many_duplicates_is_not_its_own_neighbour():
    X = np.zeros((30, 3))
    Y = np.zeros((30, 1), dtype=np.int8)
    Y[::2] = 1
    found = NeighborTransfer(29, weights="uniform", shrinkage=0.0).fit(X, Y)
    np.testing.assert_allclose(found.transduction_, (15 - Y) / 29.0)


def test_one_labelled_photo_scores_itself_by_the_prior():
    X, Y = make_problem()
    Y[1:] = -1
    found = NeighborTransfer(shrinkage=0.0).fit(X, Y)
    np.testing.assert_allclose(found.transduction_, np.broadcast_to(Y[0], Y.shape))


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_neighbors": 0},
        {"n_neighbors": 2.5},
        {"weights": "distance"},
        {"weights": "heat", "metric": "inner_product"},
        {"shrinkage": -1.0},
        {"shrinkage": np.inf},
    ],
)
def test_parameters_are_checked_at_fit(parameters):
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        NeighborTransfer(**parameters).fit(*make_problem())
