"""Graphs: symmetry, weights, duplicates, corner cases, and the approximate builder."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from tagloom.exceptions import InvalidInputError
from tagloom.graph import build as build_module
from tagloom.graph import knn_graph, nearest_neighbors

METRICS = ["euclidean", "cosine", "inner_product", "l1", "intersection", "chi2"]


def histograms(seed, n, d, dtype=np.float64):
    return np.random.default_rng(seed).dirichlet(np.full(d, 0.4), size=n).astype(dtype)


def check_invariants(graph):
    """What holds for every graph."""
    W = graph.weights
    assert W.format == "csr"
    assert W.dtype == np.float64
    assert W.has_sorted_indices
    assert W.has_canonical_format
    assert (W != W.T).nnz == 0
    assert not W.diagonal().any()
    assert (W.data > 0).all()
    assert np.isfinite(W.data).all()
    L = graph.laplacian().toarray()
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-12 * max(1.0, W.data.max(initial=0.0)) * len(L))
    assert np.linalg.eigvalsh(L).min() > -1e-10 * max(1.0, np.abs(L).max())


@pytest.mark.parametrize("symmetrize", ["union", "mutual"])
def test_binary_graph_equals_scikit_learn(symmetrize):
    X = np.random.default_rng(0).normal(size=(300, 12))
    A = kneighbors_graph(X, 6, include_self=False).astype(bool)
    want = A.maximum(A.T) if symmetrize == "union" else A.multiply(A.T)
    got = knn_graph(X, 6, symmetrize=symmetrize).weights
    np.testing.assert_array_equal(got.toarray(), want.toarray().astype(float))


@pytest.mark.parametrize("metric", METRICS)
def test_links_are_the_nearest_others(metric):
    X = histograms(1, 120, 9)
    _, order = nearest_neighbors(X, X, 120, metric=metric)
    want = np.zeros((120, 120))
    for i, row in enumerate(order):
        want[i, [j for j in row if j != i][:5]] = 1
    np.testing.assert_array_equal(knn_graph(X, 5, metric=metric).weights.toarray(), np.maximum(want, want.T))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.sampled_from(METRICS),
    st.sampled_from(["binary", "heat", "dot"]),
    st.sampled_from(["union", "mutual"]),
    st.sampled_from([np.float32, np.float64]),
)
def test_invariants_hold_with_duplicates_and_ties(seed, n, metric, weights, symmetrize, dtype):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 4)).astype(dtype)
    if metric == "inner_product" and weights == "heat":
        weights = "dot"
    normalize = metric == "intersection"
    k = int(rng.integers(1, n + 3))
    graph = knn_graph(X, k, metric=metric, weights=weights, symmetrize=symmetrize, normalize=normalize, n_threads=1)
    assert graph.n_nodes == n
    check_invariants(graph)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(METRICS), st.sampled_from(["binary", "heat", "dot"]))
def test_permuting_photos_permutes_the_graph(seed, metric, weights):
    if metric == "inner_product" and weights == "heat":
        weights = "binary"
    X = histograms(seed, 40, 6)
    order = np.random.default_rng(seed).permutation(40)
    W = knn_graph(X, 4, metric=metric, weights=weights, n_threads=1).weights.toarray()
    permuted = knn_graph(X[order], 4, metric=metric, weights=weights, n_threads=1).weights.toarray()
    np.testing.assert_allclose(permuted, W[np.ix_(order, order)], rtol=1e-12)


def test_duplicates_stay_neighbours():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 5))
    X[7] = X[3] = X[19]
    for weights in ("binary", "heat"):
        W = knn_graph(X, 2, weights=weights).weights
        for i, j in ((3, 7), (3, 19), (7, 19)):
            assert W[i, j] == 1.0


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "l1", "chi2", "intersection"])
@pytest.mark.parametrize("weights", ["binary", "heat"])
def test_constant_rows_give_a_finite_graph(metric, weights):
    graph = knn_graph(np.full((60, 4), 0.25, dtype=np.float32), 5, metric=metric, weights=weights)
    check_invariants(graph)
    assert (graph.weights.data == 1).all()
    want = np.zeros((60, 60))
    for i in range(60):
        want[i, [j for j in range(6) if j != i][:5]] = 1
    np.testing.assert_array_equal(graph.weights.toarray(), np.maximum(want, want.T))


@pytest.mark.parametrize("metric", ["cosine", "intersection"])
def test_rows_of_zeros_are_linked_to_each_other_only(metric):
    X = histograms(3, 40, 5)
    X[[4, 9, 30]] = 0
    graph = knn_graph(X, 6, metric=metric, normalize=metric == "intersection")
    check_invariants(graph)
    for row, others in ((4, [9, 30]), (9, [4, 30]), (30, [4, 9])):
        np.testing.assert_array_equal(graph.weights[[row]].indices, others)


def test_a_single_row_of_zeros_is_isolated():
    X = np.vstack([np.zeros(4), histograms(4, 20, 4)])
    assert knn_graph(X, 3, metric="cosine").isolated.tolist() == [0]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_fewer_photos_than_neighbours(n):
    X = np.arange(n, dtype=np.float32)[:, None] ** 2
    graph = knn_graph(X, 15)
    np.testing.assert_array_equal(graph.weights.toarray(), 1.0 - np.eye(n))
    for kind in ("unnormalized", "symmetric", "random_walk"):
        assert np.isfinite(graph.laplacian(kind).toarray()).all()


@pytest.mark.parametrize(
    ("bandwidth", "sigma"), [(None, np.median), ("median", np.median), ("mean", np.mean), (0.7, None)]
)
def test_heat_weights_follow_the_formula(bandwidth, sigma):
    X = np.random.default_rng(5).normal(size=(50, 3))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    links = np.sort(D, axis=1)[:, 1:5]
    value = 0.7 if sigma is None else sigma(links)
    graph = knn_graph(X, 4, weights="heat", bandwidth=bandwidth)
    assert graph.bandwidth == pytest.approx(value, rel=1e-12)
    pattern = knn_graph(X, 4).weights.toarray()
    np.testing.assert_allclose(graph.weights.toarray(), pattern * np.exp(-(D**2) / (2 * value**2)), rtol=1e-10)


def test_self_tuning_weights_follow_the_formula():
    X = np.random.default_rng(6).normal(size=(50, 3))
    X[1:7] = X[0]
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    links = np.sort(D, axis=1)[:, 1:5]
    local = np.where(links[:, -1] > 0, links[:, -1], np.median(links))
    graph = knn_graph(X, 4, weights="heat", bandwidth="self_tuning")
    assert graph.bandwidth is None
    pattern = knn_graph(X, 4).weights.toarray()
    want = pattern * np.exp(-(D**2) / np.outer(local, local))
    np.testing.assert_allclose(graph.weights.toarray(), want, rtol=1e-10)
    check_invariants(graph)


def test_bandwidth_skips_zeros_where_most_photos_are_equal():
    X = np.zeros((40, 2))
    X[-2:] = [[3.0, 4.0], [3.0, 4.0]]
    graph = knn_graph(X, 3, weights="heat")
    assert graph.bandwidth == pytest.approx(5.0)
    check_invariants(graph)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product"])
def test_dot_weights_are_inner_products(metric):
    X = np.random.default_rng(7).normal(size=(60, 5))
    pattern = knn_graph(X, 6, metric=metric).weights.toarray()
    Z = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    want = pattern * np.maximum(Z @ Z.T, 0)
    got = knn_graph(X, 6, metric=metric, weights="dot").weights.toarray()
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_dot_weights_at_extreme_scale():
    X = np.random.default_rng(8).random((30, 5))
    want = knn_graph(X, 4, weights="dot").weights.toarray()
    got = knn_graph(X * 2.0**100, 4, weights="dot").weights.toarray()
    np.testing.assert_allclose(got, want * 2.0**200, rtol=1e-12)


def test_float32_and_float64_agree():
    X = np.random.default_rng(9).normal(size=(400, 20)).astype(np.float32)
    single, double = (knn_graph(Z, 8, weights="heat").weights for Z in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(single.toarray(), double.toarray())


@pytest.mark.parametrize("metric", METRICS)
def test_the_same_for_any_number_of_threads(metric):
    X = histograms(10, 500, 17, np.float32)
    X[250:300] = X[:50]
    one, many = (knn_graph(X, 7, metric=metric, weights="dot", n_threads=n).weights for n in (1, 4))
    np.testing.assert_array_equal(one.toarray(), many.toarray())


@pytest.mark.parametrize("metric", [one for one in METRICS if one != "inner_product"])
def test_approximate_graph_is_near_the_exact_one_and_says_how_near(metric):
    rng = np.random.default_rng(11)
    X = rng.dirichlet(np.full(10, 0.5), size=40)[rng.integers(40, size=500)] + 0.02 * rng.random((500, 10))
    X = (X / X.sum(axis=1, keepdims=True)).astype(np.float32)
    exact = knn_graph(X, 6, metric=metric)
    approximate = knn_graph(X, 6, metric=metric, method="approximate", random_state=3)
    assert exact.recall is None
    check_invariants(approximate)
    shared = exact.weights.multiply(approximate.weights).nnz / exact.weights.nnz
    assert approximate.recall >= 0.95
    assert shared >= 0.95
    assert approximate.recall == pytest.approx(shared, abs=0.1)


def test_approximate_graph_is_reproducible_at_any_number_of_threads():
    X = np.random.default_rng(12).normal(size=(1500, 24)).astype(np.float32)
    first, second = (knn_graph(X, 5, method="approximate", random_state=0, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(first.weights.indices, second.weights.indices)
    assert first.recall == second.recall
    assert 0.8 < first.recall < 1.0


def test_auto_changes_the_method_at_the_stated_size(monkeypatch):
    X = np.random.default_rng(13).normal(size=(200, 4))
    assert knn_graph(X, 3).recall is None
    monkeypatch.setattr(build_module, "_EXACT_WORK_BY_PRODUCTS", 200 * 200 * 4 - 1)
    assert knn_graph(X, 3).recall is not None
    assert knn_graph(X, 3, method="exact").recall is None


def test_inner_products_are_always_exact():
    X = np.random.default_rng(14).normal(size=(200, 4))
    graph = knn_graph(X, 3, metric="inner_product", method="approximate")
    assert graph.recall is None
    np.testing.assert_array_equal(
        graph.weights.toarray(), knn_graph(X, 3, metric="inner_product", method="exact").weights.toarray()
    )


def test_approximate_copes_with_duplicates():
    X = np.repeat(np.random.default_rng(15).normal(size=(4, 6)), 100, axis=0)
    graph = knn_graph(X, 5, method="approximate", weights="heat")
    check_invariants(graph)
    assert graph.recall == 1.0


def test_progress_counts_photos_and_may_cancel():
    class Counter:
        done = 0

        def start(self, stage, total=None):
            self.total = total

        def advance(self, n=1):
            self.done += n

        def finish(self):
            assert self.done == self.total

    class Stop(Counter):
        def advance(self, n=1):
            raise KeyboardInterrupt

    X = np.random.default_rng(16).normal(size=(300, 4))
    counter = Counter()
    knn_graph(X, 3, progress=counter)
    assert counter.done == 300
    for n_threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            knn_graph(X, 3, progress=Stop(), n_threads=n_threads)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan, 1.0]]}, "X must be finite, got nan at row 0, column 0"),
        ({"X": sparse.csr_array(np.eye(3))}, "toarray"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"weights": "gauss"}, "weights must be one of"),
        ({"symmetrize": "none"}, "symmetrize must be one of"),
        ({"method": "fast"}, "method must be one of"),
        ({"metric": "l2"}, "metric must be one of"),
        ({"weights": "heat", "metric": "inner_product"}, "need a distance"),
        ({"weights": "heat", "bandwidth": 0.0}, "bandwidth must be"),
        ({"weights": "heat", "bandwidth": "mode"}, "bandwidth must be"),
        ({"weights": "heat", "bandwidth": np.nan}, "bandwidth must be"),
        ({"bandwidth": 1.0}, "belongs to weights='heat'"),
        ({"metric": "intersection"}, "normalize=True"),
        ({"n_threads": -1}, "n_threads"),
        ({"X": np.array([[1e200, 1.0], [1e200, 2.0]]), "weights": "dot"}, "exceed the range"),
    ],
)
def test_errors_say_what_to_do(change, message):
    arguments = {"X": np.arange(8.0).reshape(4, 2)} | change
    with pytest.raises(InvalidInputError, match=message):
        knn_graph(**arguments)


def test_importing_the_package_is_light():
    code = "import sys, tagloom.graph; print([m for m in ('faiss', 'sklearn', 'PIL') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
