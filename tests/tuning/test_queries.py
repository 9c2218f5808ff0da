import numpy as np
import pytest
from scipy import sparse

from tagloom.exceptions import InvalidInputError
from tagloom.graph import knn_graph
from tagloom.tuning import queries as _representatives
from tagloom.tuning.queries import rank_photos

STRATEGIES = ("random", "uncertainty", "change", "cover", "rare", "mixed", "representative")


def _problem(n=80, c=6, seed=0, n_labelled=15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    P = rng.beta(0.4, 2.0, size=(n, c))
    Y = np.full((n, c), -1, dtype=np.int8)
    Y[:n_labelled] = rng.random((n_labelled, c)) < 0.3
    return X, P, Y


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_photos_are_unlabelled_distinct_and_the_same_for_a_seed(strategy):
    X, P, Y = _problem()
    found = rank_photos(P, Y, X, 20, strategy=strategy, random_state=3)
    assert len(found) == len(set(found)) == 20
    assert (Y[found] == -1).all()
    np.testing.assert_array_equal(found, rank_photos(P, Y, X, 20, strategy=strategy, random_state=3))
    everything = rank_photos(P, Y, X, 500, strategy=strategy, random_state=3)
    assert sorted(everything) == list(range(15, 80))
    np.testing.assert_array_equal(everything[:20], found)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_only_candidates_are_asked_for(strategy):
    X, P, Y = _problem()
    candidates = np.zeros(len(Y), dtype=bool)
    candidates[[3, 40, 50]] = True
    assert sorted(rank_photos(P, Y, X, 9, strategy=strategy, candidates=candidates)) == [3, 40, 50]
    assert len(rank_photos(P, np.zeros_like(Y), X, strategy=strategy)) == 0


def _literal_scores(P, Y, strategy):
    scores = np.zeros(len(P))
    for row in range(len(P)):
        for tag in range(P.shape[1]):
            p, k = P[row, tag], (Y[:, tag] == 1).sum()
            if strategy == "uncertainty":
                scores[row] += -sum(q * np.log(q) for q in (p, 1 - p) if q > 0)
            else:
                scores[row] += p * (1 - p) / (k + 1)
    return scores


@pytest.mark.parametrize("strategy", ["uncertainty", "change"])
def test_photos_come_by_falling_use(strategy):
    _, P, Y = _problem()
    P[20, 0], P[21, 1] = 0.0, 1.0
    expected = _literal_scores(P, Y, strategy)
    found = rank_photos(P, Y, n=65, strategy=strategy)
    np.testing.assert_array_equal(found, 15 + np.argsort(-expected[15:]))


def _told(W, chosen):
    """Return what is told of each photo by labels of the chosen ones: 1 for itself, half for the nearest neighbours."""
    untold = np.ones(len(W))
    for photo in range(len(W)):
        for other in chosen:
            untold[photo] *= 0.0 if other == photo else 1.0 - 0.5 * W[photo, other] / W.max()
    return 1.0 - untold


@pytest.mark.parametrize("strategy", ["cover", "mixed"])
def test_each_step_of_the_cover_adds_the_most(strategy):
    X, P, Y = _problem(n=30, n_labelled=5)
    graph = knn_graph(X, 4, weights="heat")
    W = graph.weights.toarray()
    use = np.ones(30) if strategy == "cover" else _literal_scores(P, Y, "change")
    found = rank_photos(P, Y, graph, 12, strategy=strategy)
    chosen = list(range(5))
    for photo in found:
        gains = {
            other: (use * (_told(W, [*chosen, other]) - _told(W, chosen))).sum()
            for other in range(30)
            if other not in chosen
        }
        assert gains[photo] == pytest.approx(max(gains.values()), abs=1e-12)
        chosen.append(photo)


def test_each_step_of_the_hunt_expects_the_most_rare_positives():
    _, P, Y = _problem(n=40)
    found = rank_photos(P, Y, n=10, strategy="rare")
    count, left = (Y == 1).sum(axis=0).astype(float), set(range(15, 40))
    for photo in found:
        gains = {other: (P[other] / (1 + count)).sum() for other in left}
        assert gains[photo] == pytest.approx(max(gains.values()))
        count += P[photo]
        left.remove(photo)


def test_a_batch_that_covers_spreads_over_the_clusters():
    rng = np.random.default_rng(0)
    X = np.repeat(10.0 * np.eye(5), 12, axis=0) + 0.1 * rng.normal(size=(60, 5))
    Y = np.full((60, 2), -1, dtype=np.int8)
    P = np.full((60, 2), 0.5)
    P[:12] = 0.499
    cover = rank_photos(P, Y, knn_graph(X, 6), 5, strategy="cover", random_state=0)
    assert len(set(cover // 12)) == 5
    # Doubt alone asks for one kind of photo after another.
    P[12:24, 0] = 0.5001
    P[24:] = 0.9
    doubt = rank_photos(P, Y, X, 5, strategy="uncertainty", random_state=0)
    assert set(doubt // 12) == {1}


def test_equal_photos_are_drawn_at_random():
    P, Y = np.full((50, 3), 0.3), np.full((50, 3), -1, dtype=np.int8)
    for strategy in ("uncertainty", "change", "rare"):
        first = {int(rank_photos(P, Y, n=1, strategy=strategy, random_state=seed)[0]) for seed in range(20)}
        assert len(first) > 5


def _far(X, labelled):
    """Return how far the photos are from the nearest labelled one, summed; directions from the mean photo."""
    moved = X - X.mean(axis=0)
    total = 0.0
    for row in moved:
        to = [
            np.linalg.norm(row / np.linalg.norm(row) - moved[other] / np.linalg.norm(moved[other]))
            for other in labelled
        ]
        total += min([2.0, *to])
    return total


@pytest.mark.parametrize(
    ("together", "n_labelled"),
    [(1, 0), (16, 5), *(pytest.param(*case, marks=pytest.mark.medium) for case in ((1, 5), (16, 0)))],
)
def test_each_representative_brings_all_photos_nearest_to_a_labelled_one(n_labelled, together, monkeypatch):
    monkeypatch.setattr(_representatives, "TOGETHER", together)
    X, P, Y = _problem(n=30, n_labelled=n_labelled)
    found = rank_photos(P, Y, X, 8)
    chosen = list(range(n_labelled))
    for photo in found:
        far = {other: _far(X, [*chosen, other]) for other in range(30) if other not in chosen}
        assert far[photo] == pytest.approx(min(far.values()), rel=1e-5)
        chosen.append(photo)


def test_representatives_do_not_depend_on_where_and_how_large_features_are():
    X, P, Y = _problem()
    found = rank_photos(P, Y, X, 10, random_state=0)
    for other in (1e20 * X, 1e-200 * X, X + 3.0, X.astype(np.float32)):
        np.testing.assert_array_equal(rank_photos(P, Y, other, 10, random_state=0), found)


def _clusters(rng, sizes):
    """Return features and one tag for each cluster; photos in random order."""
    which = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(len(sizes), 20))[which] + 0.3 * rng.normal(size=(len(which), 20)), which


def test_representatives_find_rare_kinds_of_photos_that_random_misses():
    shares = {"representative": [], "random": []}
    for seed in range(5):
        X, which = _clusters(np.random.default_rng(seed), [200, 100, 50, 25, *[8] * 16])
        Y = np.full((len(X), 20), -1, dtype=np.int8)
        Y[:5] = which[:5, None] == np.arange(20)
        for strategy, found in shares.items():
            asked = rank_photos(np.full(Y.shape, 0.5), Y, X, 25, strategy=strategy, random_state=seed)
            found.append(len(set(which[asked]) | set(which[:5])) / 20)
    assert min(shares["representative"]) >= 0.9
    assert max(shares["random"]) < min(shares["representative"])


def test_of_very_many_photos_a_sample_is_represented(monkeypatch):
    X, which = _clusters(np.random.default_rng(0), [60] * 10)
    P, Y = np.full((600, 1), 0.5), np.full((600, 1), -1, dtype=np.int8)
    monkeypatch.setattr(_representatives, "N_TARGETS", 100)
    monkeypatch.setattr(_representatives, "N_CANDIDATES", 120)
    monkeypatch.setattr(_representatives, "BLOCK_ROWS", 7)
    sizes = []
    original = _representatives._Distances.of

    def spy(self, rows):
        found = original(self, rows)
        sizes.append(found.shape)
        return found

    monkeypatch.setattr(_representatives._Distances, "of", spy)
    found = rank_photos(P, Y, X, 10, random_state=0)
    assert len(set(which[found])) == 10
    np.testing.assert_array_equal(found, rank_photos(P, Y, X, 10, random_state=0))
    assert max(rows for rows, _ in sizes) <= 17
    assert {targets for _, targets in sizes} == {100}
    # Still every photo can be ranked.
    assert sorted(rank_photos(P, Y, X, 600, random_state=0)) == list(range(600))


def test_photos_that_are_all_alike_are_drawn_at_random():
    P, Y, X = np.full((50, 3), 0.3), np.full((50, 3), -1, dtype=np.int8), np.ones((50, 4))
    firsts = {tuple(rank_photos(P, Y, X, 2, random_state=seed)) for seed in range(10)}
    assert len(firsts) > 5


def test_graphs_without_edges_and_weights_of_ones_own_are_taken():
    X, P, Y = _problem(n=20, n_labelled=3)
    lonely = sparse.csr_array((20, 20))
    found = rank_photos(P, Y, lonely, 17, strategy="mixed")
    np.testing.assert_array_equal(found, rank_photos(P, Y, n=17, strategy="change"))
    weights = knn_graph(X).weights
    by_graph = rank_photos(P, Y, knn_graph(X), 5, strategy="mixed")
    np.testing.assert_array_equal(by_graph, rank_photos(P, Y, weights, 5, strategy="mixed"))
    np.testing.assert_array_equal(by_graph, rank_photos(P, Y, X, 5, strategy="mixed"))


def test_wrong_input_is_named():
    X, P, Y = _problem()
    with pytest.raises(InvalidInputError, match="strategy must be one of"):
        rank_photos(P, Y, X, strategy="best")
    with pytest.raises(InvalidInputError, match="needs the neighbour graph or the features"):
        rank_photos(P, Y, strategy="mixed")
    for strategy in ("cover", "representative"):
        with pytest.raises(InvalidInputError, match="80 photos"):
            rank_photos(P, Y, X[1:], strategy=strategy)
    with pytest.raises(InvalidInputError, match=r"needs the features.*got None"):
        rank_photos(P, Y)
    for graph in (knn_graph(X), knn_graph(X).weights):
        with pytest.raises(InvalidInputError, match=r"needs the features.*got a graph"):
            rank_photos(P, Y, graph)
    with pytest.raises(InvalidInputError, match="finite"):
        rank_photos(P, Y, np.full_like(X, np.nan))
    with pytest.raises(InvalidInputError, match="shape of Y"):
        rank_photos(P[1:], Y, X)
    for wrong in (np.full_like(P, np.nan), 2 * P):
        with pytest.raises(InvalidInputError, match="within 0 and 1"):
            rank_photos(wrong, Y, X)
    with pytest.raises(InvalidInputError, match="n must be"):
        rank_photos(P, Y, X, 0)
    with pytest.raises(InvalidInputError, match="80 booleans"):
        rank_photos(P, Y, X, candidates=[1, 2])
