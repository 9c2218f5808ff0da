"""JEC against a loop over photos and words."""

import itertools

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines.jec import JEC
from tagloom.methods.shared.group_distances import GroupDistances

GROUPS = FeatureGroups(["colour", "edge"], [3, 4])


def make_problem(n=40, c=6, *, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 7)) * np.repeat([1.0, 20.0], [3, 4])
    Y = (rng.random((n, c)) < 0.3).astype(np.int8)
    return X, Y


def distance(name, a, b):
    if name == "l1":
        return np.abs(a - b).sum()
    if name == "euclidean":
        return np.sqrt(((a - b) ** 2).sum())
    if name == "cosine":
        return 1 - a @ b / np.sqrt((a @ a) * (b @ b))
    if name == "chi2":
        return ((a - b) ** 2 / (a + b)).sum()
    return 1 - np.minimum(a / a.sum(), b / b.sum()).sum()


def joint_distances(A, B, metrics):
    """Return the mean over groups of distances, divided by the largest of two rows of B."""
    total = np.zeros((len(A), len(B)))
    for name, metric in metrics.items():
        part = GROUPS[name]
        largest = max(distance(metric, x[part], y[part]) for x in B for y in B)
        total += np.array([[distance(metric, x[part], y[part]) for y in B] for x in A]) / largest
    return total / len(metrics)


def words_in_order(distances, Y, n_neighbors):
    """Return the words that the paper transfers to one photo, in its order."""
    order = np.argsort(distances, kind="stable")[:n_neighbors]
    frequency = Y.sum(axis=0)
    first = [w for w in range(Y.shape[1]) if Y[order[0], w]]
    first.sort(key=lambda w: -frequency[w])
    factor = {}
    for w in set(range(Y.shape[1])) - set(first):
        together = sum(int((Y[:, w] * Y[:, v]).sum()) for v in first) if first else 1
        factor[w] = together * sum(int(Y[other, w]) for other in order[1:])
    rest = sorted((w for w in factor if factor[w]), key=lambda w: -factor[w])
    return first, rest, frequency, factor


@pytest.mark.parametrize("metrics", [{"colour": "l1", "edge": "chi2"}, {"colour": "euclidean", "edge": "cosine"}])
def test_equal_to_a_loop(metrics):
    X, Y = make_problem()
    new, _ = make_problem(12, seed=1)
    model = JEC(GROUPS, n_neighbors=4, metric=metrics).fit(X, Y)
    scores = model.decision_function(new)
    for row, distances in enumerate(joint_distances(new, X, metrics)):
        first, rest, frequency, factor = words_in_order(distances, Y, 4)
        for words, value in ((first, frequency), (rest, factor)):
            for before, after in itertools.pairwise(words):
                gap = scores[row, before] - scores[row, after]
                assert gap > 0 if value[before] > value[after] else gap == 0
        others = set(range(6)) - set(first) - set(rest)
        assert all(scores[row, word] == 0 for word in others)
        if first and rest:
            assert scores[row, first].min() > scores[row, rest].max() > 0


def test_a_labelled_photo_is_not_its_own_neighbour_and_unlabelled_ones_are_none():
    X, Y = make_problem()
    Y[30:] = -1
    model = JEC(GROUPS, n_neighbors=3).fit(X, Y)
    for row in range(30):
        others = np.arange(30) != row
        # Scales are those of all labelled photos.
        scaled = np.hstack([X[:30, GROUPS[name]] / scale for name, scale in zip(GROUPS, model.scales_, strict=True)])
        distances = np.abs(scaled[others] - scaled[row]).sum(axis=1)
        first, _, _, _ = words_in_order(distances, Y[:30][others], 3)
        assert set(np.flatnonzero(model.transduction_[row] >= 1)) == set(first)
    np.testing.assert_array_equal(model.transduction_[30:], model.decision_function(X[30:]))


@pytest.mark.parametrize("metric", ["l1", "euclidean", "cosine", "chi2", "intersection"])
def test_every_distance_is_the_documented_one(metric):
    X, _ = make_problem(9)
    distances = GroupDistances(X, GROUPS, metric)
    indices, found = distances.nearest(X, 8, own=True)
    for row in range(9):
        assert row not in indices[row]
        for place, other in enumerate(indices[row]):
            expected = [distance(metric, X[row, GROUPS[g]], X[other, GROUPS[g]]) for g in GROUPS]
            np.testing.assert_allclose(found[row, place], expected / distances.scales, rtol=1e-9)
    assert (np.diff(found.mean(axis=2), axis=1) >= 0).all()
    largest = max(distance(metric, a[GROUPS["edge"]], b[GROUPS["edge"]]) for a in X for b in X)
    assert distances.scales[1] == pytest.approx(largest)


def test_equal_photos_are_at_distance_zero_and_ordered_by_index():
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 7)) * 1e3, 4, axis=0)
    indices, found = GroupDistances(X, GROUPS, "euclidean").nearest(X[:1], 4)
    np.testing.assert_array_equal(indices, [[0, 1, 2, 3]])
    np.testing.assert_array_equal(found, 0.0)


def test_neighbours_do_not_depend_on_blocks(monkeypatch):
    X, Y = make_problem()
    whole = JEC(GROUPS).fit(X, Y).transduction_
    monkeypatch.setattr("tagloom.methods.shared.group_distances._ENTRIES", 500)
    np.testing.assert_array_equal(JEC(GROUPS).fit(X, Y).transduction_, whole)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"metric": "inner_product"}, "metric"),
        ({"metric": {"colour": "l1"}}, "every group"),
        ({"groups": [3, 4]}, "FeatureGroups"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        JEC(**{"groups": GROUPS} | parameters).fit(*make_problem())
