"""The self-join of inverted lists; exact neighbours are the oracle."""

import numpy as np
import pytest

from tagloom.graph import join as join_module
from tagloom.graph import knn_graph
from tagloom.graph.exact import exact_neighbors
from tagloom.graph.join import joined_neighbors, sampled_recall
from tagloom.graph.spaces import make_space


def clustered(n, d=24, n_clusters=40, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_clusters, 8)) @ rng.normal(size=(8, d))
    return (centres[rng.integers(n_clusters, size=n)] + 0.5 * rng.normal(size=(n, d))).astype(np.float32)


def recall(space, found, k):
    """Neighbours no farther than the true last one, of all photos."""
    true, _ = exact_neighbors(space, k, self_search=True, n_threads=1)
    n = len(found)
    keys = space.pair_keys(np.repeat(np.arange(n), k), found.ravel()).reshape(n, k)
    return (keys <= true[:, -1:]).mean()


def test_finds_nearly_all_neighbours_at_the_default():
    space = make_space("euclidean", X := clustered(4000), X)
    _, found = joined_neighbors(space, 15, n_threads=1)
    share = recall(space, found, 15)
    assert share >= 0.97
    assert sampled_recall(space, found, n_threads=1, random_state=0) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "l1", "chi2"])
def test_finds_the_exact_neighbours_where_all_lists_are_looked_into(metric):
    X = np.random.default_rng(1).dirichlet(np.full(12, 0.5), size=400)
    space = make_space(metric, X, X)
    true_keys, true = exact_neighbors(space, 6, self_search=True, n_threads=1)
    keys, found = joined_neighbors(space, 6, n_threads=1, probes=400)
    if metric in ("euclidean", "cosine"):
        np.testing.assert_array_equal(found, true)
        np.testing.assert_array_equal(keys, true_keys)
    else:  # candidates are those of the roots
        assert recall(space, found, 6) > 0.95


def test_is_the_same_at_any_number_of_threads_and_from_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(join_module, "JOINED_ROWS", 256)
    monkeypatch.setattr(join_module, "ASSIGNED_ROWS", 100)
    X = clustered(1500, seed=2)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    first = joined_neighbors(make_space("euclidean", X, X), 7, n_threads=1, probes=5, need_keys=False)
    for rows, n_threads in ((X, 3), (mapped, 2)):
        keys, found = joined_neighbors(
            make_space("euclidean", rows, rows), 7, n_threads=n_threads, probes=5, need_keys=False
        )
        np.testing.assert_array_equal(found, first[1])
        np.testing.assert_array_equal(keys, first[0])


def test_no_photo_is_its_own_neighbour_and_none_comes_twice():
    X = np.repeat(clustered(300, seed=3), 4, axis=0)
    _, found = joined_neighbors(make_space("euclidean", X, X), 5, n_threads=1)
    assert not (found == np.arange(len(X))[:, None]).any()
    assert (np.sort(found, axis=1)[:, 1:] != np.sort(found, axis=1)[:, :-1]).all()


def test_very_many_equal_photos_do_not_make_one_list():
    X = clustered(2000, seed=4)
    X[500:] = X[0]
    lists = join_module._Lists(join_module._Embedded(make_space("euclidean", X, X)), 40, 10, 1)
    assert np.diff(lists._starts).max() <= 8 * 2000 / 40
    assert sorted(lists.order.tolist()) == list(range(2000))
    graph = knn_graph(X, 5, method="approximate")
    assert graph.recall > 0.97


def test_lists_with_too_few_members_are_completed():
    X = clustered(60, seed=5)
    space = make_space("euclidean", X, X)
    _, found = joined_neighbors(space, 50, n_threads=1, probes=1)
    assert (found >= 0).all()
    assert recall(space, found, 50) > 0.5
