"""Similar photos against sorted loops; clusters against known groups and against k-means' own optimality."""

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tagloom.exceptions import InvalidInputError
from tagloom.features.relations import similar
from tagloom.features.relations.similar import clusters, similar_photos


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(0.1, 1, (60, 5)).astype(np.float32)


MEASURES = {
    "cosine": lambda a, b: sum(a * b) / math.sqrt(sum(a * a) * sum(b * b)),
    "inner_product": lambda a, b: sum(a * b),
    "euclidean": lambda a, b: -math.dist(a, b),
    "l1": lambda a, b: -sum(abs(a - b)),
    "chi2": lambda a, b: -sum((a - b) ** 2 / (a + b)),
}


@pytest.mark.parametrize("metric", MEASURES)
@pytest.mark.parametrize("index", [0, 31, 59])
def test_similar_photos_against_a_loop(X, metric, index):
    indices, similarities = similar_photos(X, index, 7, metric=metric)
    measure = {j: MEASURES[metric](X[index].astype(float), X[j].astype(float)) for j in range(60) if j != index}
    expected = sorted(measure, key=lambda j: -measure[j])[:7]
    assert indices.tolist() == expected
    np.testing.assert_allclose(similarities, [measure[j] for j in expected], rtol=1e-6, atol=1e-9)


def test_intersection_is_a_similarity():
    indices, similarities = similar_photos([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]], 0, metric="intersection")
    assert indices.tolist() == [1, 2]
    np.testing.assert_allclose(similarities, [0.75, 0.5])


def test_copies_come_in_order_and_the_photo_itself_never():
    X = np.ones((30, 3))
    for index in (0, 12, 29):
        indices, similarities = similar_photos(X, index, 5)
        assert indices.tolist() == [j for j in range(30) if j != index][:5]
        np.testing.assert_allclose(similarities, 1)


def test_fewer_photos_than_asked_for(X):
    indices, _ = similar_photos(X, 4, 1000)
    assert sorted(indices.tolist()) == [j for j in range(60) if j != 4]
    indices, similarities = similar_photos(X[:1], 0)
    assert indices.shape == similarities.shape == (0,)


def test_similar_photos_in_another_order(X):
    order = np.random.default_rng(1).permutation(60)
    place = np.argsort(order)
    for index in range(0, 60, 7):
        plain, shuffled = similar_photos(X, index, 10), similar_photos(X[order], place[index], 10)
        assert order[shuffled[0]].tolist() == plain[0].tolist()
        np.testing.assert_allclose(shuffled[1], plain[1])


@pytest.mark.parametrize(
    ("index", "n", "rows"), [(60, 1, 60), (-1, 1, 60), (0.0, 1, 60), (0, 0, 60), (0, 2.5, 60), (0, 1, 0)]
)
def test_what_similar_photos_refuses(X, index, n, rows):
    with pytest.raises(InvalidInputError):
        similar_photos(X[:rows], index, n)


def make_groups(n, n_groups, seed=0, spread=0.05):
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, n_groups, n)
    centres = np.eye(n_groups, 20) + generator.normal(0, 0.02, (n_groups, 20))
    lengths = generator.uniform(0.5, 5, (n, 1))
    return (lengths * (centres[truth] + generator.normal(0, spread, (n, 20)))).astype(np.float32), truth


@pytest.mark.parametrize("small", [10_000, 10], ids=["lloyd", "mini-batch"])
def test_clusters_find_groups_of_directions(monkeypatch, small):
    monkeypatch.setattr(similar, "_SMALL", small)
    X, truth = make_groups(600, 5)
    labels = clusters(X, 5, random_state=1)
    assert adjusted_rand_score(truth, labels) == 1
    sizes = np.bincount(labels)
    assert (np.diff(sizes) <= 0).all()


def test_every_photo_is_with_its_nearest_mean():
    X, _ = make_groups(400, 8, spread=0.4)
    labels = clusters(X, 6)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    means = np.array([unit[labels == number].mean(axis=0) for number in range(6)])
    distances = ((unit[:, None] - means) ** 2).sum(axis=2)
    assert (distances.argmin(axis=1) == labels).mean() > 0.99


@pytest.mark.parametrize("small", [10_000, 10], ids=["lloyd", "mini-batch"])
def test_clusters_of_photos_in_another_order(monkeypatch, small):
    monkeypatch.setattr(similar, "_SMALL", small)
    X, _ = make_groups(300, 6, spread=0.5)
    X[100:110] = X[7]
    X[5] = 0
    order = np.random.default_rng(3).permutation(300)
    labels, shuffled = clusters(X, 7), clusters(X[order], 7)
    assert adjusted_rand_score(labels[order], shuffled) == 1
    np.testing.assert_array_equal(np.bincount(labels), np.bincount(shuffled))
    assert len(set(labels[100:110])) == 1


def test_the_seed_decides():
    X, _ = make_groups(300, 6, spread=0.6)
    np.testing.assert_array_equal(clusters(X, 10), clusters(X, 10, random_state=0))
    assert any((clusters(X, 10, random_state=seed) != clusters(X, 10)).any() for seed in range(1, 5))


def test_how_many_clusters():
    X, _ = make_groups(800, 10, spread=0.5)
    assert clusters(X).max() + 1 == 20
    assert clusters(X[:1]).tolist() == [0]
    assert clusters(X[:3], 50).tolist() == [0, 1, 2]
    assert clusters(np.empty((0, 4))).tolist() == []
    assert np.bincount(clusters(np.repeat(X[:2], 10, axis=0), 5)).tolist() == [10, 10]
    assert clusters(np.zeros((6, 3)), 3).tolist() == [0] * 6


@pytest.mark.parametrize("n_clusters", [0, -1, 1.5, True, "many", None])
def test_what_clusters_refuses(X, n_clusters):
    with pytest.raises(InvalidInputError):
        clusters(X, n_clusters)
