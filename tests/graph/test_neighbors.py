"""Exact neighbours against float64 brute force, scikit-learn and hand-made corner cases."""

import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel, cosine_distances, manhattan_distances
from sklearn.neighbors import NearestNeighbors

from tagloom.exceptions import InvalidInputError
from tagloom.graph import knn_graph, nearest_neighbors
from tagloom.graph import runtime as runtime_module

METRICS = ["euclidean", "cosine", "inner_product", "l1", "intersection", "chi2"]


def brute_force(Q, P, metric):
    """All distances in float64, without any trick."""
    Q, P = np.asarray(Q, np.float64), np.asarray(P, np.float64)
    A, B = Q[:, None, :], P[None, :, :]
    if metric == "euclidean":
        return np.sqrt(((A - B) ** 2).sum(axis=2))
    if metric == "cosine":
        return 1 - (A * B).sum(axis=2) / np.linalg.norm(A, axis=2) / np.linalg.norm(B, axis=2)
    if metric == "inner_product":
        return -(A * B).sum(axis=2)
    if metric == "l1":
        return np.abs(A - B).sum(axis=2)
    if metric == "intersection":
        return 1 - np.minimum(A, B).sum(axis=2)
    total = A + B
    return np.divide((A - B) ** 2, total, out=np.zeros_like(total), where=total > 0).sum(axis=2)


def check_against(D, distances, indices, atol):
    """Distances are the smallest ones, belong to their indices, and are in order."""
    k = indices.shape[1]
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :k], rtol=1e-9, atol=atol)
    np.testing.assert_allclose(np.take_along_axis(D, indices, axis=1), distances, rtol=1e-9, atol=atol)
    assert all(len(set(row)) == k for row in indices.tolist())


@pytest.fixture(params=["faiss", "missing", "broken", "switched off"])
def library(request, monkeypatch):
    """With faiss, without it, with one that cannot be loaded, and switched off by the environment."""
    if request.param == "missing":
        monkeypatch.setitem(sys.modules, "faiss", None)
    elif request.param == "broken":

        def fail(name):
            raise OSError("libomp: already loaded")

        monkeypatch.setattr(runtime_module.importlib, "import_module", fail)
    elif request.param == "switched off":
        monkeypatch.setenv("TAGLOOM_NO_FAISS", "1")
    return request.param


def test_the_library_fixture_means_what_it_says(library):
    assert (runtime_module.load_faiss() is None) == (library != "faiss")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_brute_force(metric, dtype, library):
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.full(20, 0.3), size=150).astype(dtype)
    Q = rng.dirichlet(np.full(20, 0.3), size=40).astype(dtype)
    distances, indices = nearest_neighbors(Q, P, 7, metric=metric)
    atol = 1e-7 if metric == "intersection" and dtype == np.float32 else 1e-12  # rows are normalised once more
    check_against(brute_force(Q, P, metric), distances, indices, atol)


@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        ("cosine", cosine_distances),
        ("l1", manhattan_distances),
        ("chi2", lambda A, B: -additive_chi2_kernel(A, B)),
    ],
)
def test_distances_equal_scikit_learn(metric, reference):
    rng = np.random.default_rng(2)
    P, Q = rng.random((60, 9)), rng.random((11, 9))
    distances, indices = nearest_neighbors(Q, P, 60, metric=metric)
    np.testing.assert_allclose(distances, np.take_along_axis(reference(Q, P), indices, axis=1), atol=1e-12)


def test_neighbours_equal_scikit_learn():
    rng = np.random.default_rng(3)
    P, Q = rng.normal(size=(2000, 40)), rng.normal(size=(300, 40))
    distances, indices = nearest_neighbors(Q, P, 12)
    want_distances, want = NearestNeighbors(n_neighbors=12, algorithm="brute").fit(P).kneighbors(Q)
    np.testing.assert_array_equal(indices, want)
    np.testing.assert_allclose(distances, want_distances, rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_near_duplicates_keep_their_order_in_float32(metric, offset):
    """All points within 1e-4 of each other, far from the origin: float32 products cannot tell them apart."""
    rng = np.random.default_rng(4)
    P = (offset + 1 + 1e-4 * rng.random((300, 64))).astype(np.float32)
    _, indices = nearest_neighbors(P, P, 10, metric=metric)
    P64 = P.astype(np.float64)
    if metric == "cosine":
        P64 /= np.linalg.norm(P64, axis=1, keepdims=True)
    exact = ((P64[:, None] - P64[None]) ** 2).sum(axis=2)
    order = np.lexsort((np.broadcast_to(np.arange(300), exact.shape), exact), axis=1)[:, :10]
    keys = np.take_along_axis(exact, indices, axis=1)
    np.testing.assert_allclose(keys, np.take_along_axis(exact, order, axis=1), rtol=1e-6, atol=1e-30)
    if metric == "euclidean":  # norms differ in their last bits, differences of float32 do not
        np.testing.assert_array_equal(indices, order)


@pytest.mark.parametrize("distance", [3e2, 3e4])
def test_far_clusters_keep_their_order_in_float32(distance):
    """Centring does not help two clusters far apart: float32 products alone get ranks inside them wrong."""
    rng = np.random.default_rng(4)
    P = rng.normal(size=(300, 64)) + distance * rng.integers(2, size=(300, 1))
    P = P.astype(np.float32)
    want = np.argsort(brute_force(P, P, "euclidean"), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(nearest_neighbors(P, P, 10)[1], want)
    pattern = np.zeros((300, 300))
    np.put_along_axis(pattern, want[:, 1:], 1, axis=1)
    np.testing.assert_array_equal(knn_graph(P, 9).weights.toarray(), np.maximum(pattern, pattern.T))


@cache
def tied(metric):
    P = np.random.default_rng(5).integers(0, 2, size=(700, 6)).astype(np.float32)
    return P, np.argsort(np.round(brute_force(P, P, metric), 9), axis=1, kind="stable")[:, :9]


@pytest.mark.parametrize("metric", ["euclidean", "l1", "chi2"])
def test_ties_go_to_the_smaller_index(metric, library):
    """Integer features tie by the hundred; the answer is still the one of a stable sort."""
    P, expected = tied(metric)
    _, indices = nearest_neighbors(P, P, 9, metric=metric)
    np.testing.assert_array_equal(indices, expected)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "l1", "intersection", "chi2"])
def test_a_folder_of_equal_photos(metric, library):
    P = np.full((500, 8), 0.125)
    distances, indices = nearest_neighbors(P, P, 4, metric=metric)
    assert (distances == 0).all()
    np.testing.assert_array_equal(indices, np.tile(np.arange(4), (500, 1)))


@pytest.mark.parametrize("metric", METRICS)
def test_the_same_for_any_number_of_threads(metric):
    rng = np.random.default_rng(6)
    P = rng.dirichlet(np.full(33, 0.2), size=900).astype(np.float32)
    P[450:] = P[:450]
    one, two = (nearest_neighbors(P, P, 8, metric=metric, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_threads_of_libraries_are_restored():
    from threadpoolctl import threadpool_info

    before = [(entry["prefix"], entry["num_threads"]) for entry in threadpool_info()]
    nearest_neighbors(np.eye(9), np.eye(9), 2, n_threads=2)
    nearest_neighbors(np.eye(9), np.eye(9), 2, metric="l1", n_threads=2)
    after = [(entry["prefix"], entry["num_threads"]) for entry in threadpool_info()]
    assert before == after[: len(before)]


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_symmetric_to_the_last_bit(metric):
    rng = np.random.default_rng(7)
    P = rng.dirichlet(np.full(37, 0.5), size=90)
    D, order = nearest_neighbors(P, P, 90, metric=metric)
    full = np.empty((90, 90))
    np.put_along_axis(full, order, D, axis=1)
    np.testing.assert_array_equal(full, full.T)
    if metric != "inner_product":
        assert (np.diag(full) == 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(METRICS), st.integers(1, 12), st.integers(1, 70))
def test_any_small_problem_equals_brute_force(seed, metric, d, n):
    rng = np.random.default_rng(seed)
    P = rng.integers(0, 3, size=(n, d)) + (rng.random((n, d)) < 0.2) * rng.random((n, d)) + 1e-3
    if metric == "intersection":
        P /= P.sum(axis=1, keepdims=True)
    k = int(rng.integers(1, n + 1))
    distances, indices = nearest_neighbors(P[: max(1, n // 3)], P, k, metric=metric, n_threads=1)
    check_against(brute_force(P[: max(1, n // 3)], P, metric), distances, indices, 1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-30, 1e30, 1e150, 1e300])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "l1", "chi2"])
def test_extreme_scales_change_nothing(metric, scale):
    rng = np.random.default_rng(8)
    P = rng.random((80, 5))
    want, order = nearest_neighbors(P, P, 6, metric=metric)
    distances, indices = nearest_neighbors(P * scale, P * scale, 6, metric=metric)
    np.testing.assert_array_equal(indices, order)
    factor = 1.0 if metric == "cosine" else scale
    np.testing.assert_allclose(distances, want * factor, rtol=1e-9, atol=1e-14 * factor)


def test_rows_of_very_different_sizes():
    """One enormous row must not blur the small ones."""
    rng = np.random.default_rng(9)
    P = np.concatenate([rng.random((60, 4)) * 10.0**power for power in (-12, -6, 0, 6)])
    for metric in ("euclidean", "l1", "chi2", "inner_product"):
        distances, indices = nearest_neighbors(P, P, 5, metric=metric)
        D = brute_force(P, P, metric)
        np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :5], rtol=1e-9)
        np.testing.assert_allclose(np.take_along_axis(D, indices, axis=1), distances, rtol=1e-9)


def test_rows_of_zeros_under_cosine():
    P = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])
    distances, indices = nearest_neighbors(P, P, 5, metric="cosine")
    full = np.empty((5, 5))
    np.put_along_axis(full, indices, distances, axis=1)
    want = np.array([[0, 1, 0, 1, 1], [1, 0, 1, 1, 2], [0, 1, 0, 1, 1], [1, 1, 1, 0, 1], [1, 2, 1, 1, 0]], dtype=float)
    np.testing.assert_allclose(full, want, atol=1e-15)


@pytest.mark.parametrize("metric", ["l1", "intersection", "chi2"])
def test_normalize_divides_by_the_sums(metric):
    rng = np.random.default_rng(10)
    counts = rng.integers(0, 9, size=(40, 6)).astype(float) + 0.5
    shares = counts / counts.sum(axis=1, keepdims=True)
    got = nearest_neighbors(counts, counts, 5, metric=metric, normalize=True)
    want = nearest_neighbors(shares, shares, 5, metric=metric)
    np.testing.assert_allclose(got[0], want[0], atol=1e-14)


def test_empty_histograms_share_nothing():
    P = np.array([[0.0, 0.0], [1.0, 3.0], [0.0, 0.0]])
    distances, indices = nearest_neighbors(P, P, 3, metric="intersection", normalize=True)
    np.testing.assert_array_equal(indices[0], [0, 2, 1])
    np.testing.assert_allclose(distances[0], [0, 0, 1])


def test_more_neighbours_than_points_are_cut():
    distances, indices = nearest_neighbors(np.zeros((2, 3)), np.zeros((1, 3)), 9)
    assert distances.shape == indices.shape == (2, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": np.array([[0.0, np.nan]])}, "points must be finite, got nan at row 0, column 1"),
        ({"queries": np.array([[np.inf, 1.0]])}, "queries must be finite, got inf"),
        ({"queries": sparse.csr_array(np.eye(2))}, "toarray"),
        ({"queries": np.zeros((2, 3))}, "same columns, got 3 and 2"),
        ({"points": np.zeros((0, 2))}, "at least one row"),
        ({"points": np.zeros((3, 0))}, "one column"),
        ({"points": np.zeros(3)}, "shape"),
        ({"points": np.array([["a", "b"]])}, "real numbers"),
        ({"points": np.ones((2, 2)) * 1j}, "real numbers"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1, got 0"),
        ({"n_neighbors": 1.5}, "n_neighbors"),
        ({"n_neighbors": True}, "n_neighbors"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"metric": "intersection"}, "normalize=True"),
        ({"metric": "chi2", "points": np.array([[0.0, -1.0]])}, "negative entries, got -1.0 at row 0, column 1"),
        ({"metric": "euclidean", "normalize": True}, "normalize=True divides"),
        ({"n_threads": 0}, "n_threads"),
        ({"points": np.full((2, 2), 1e308), "queries": np.full((1, 2), -1e308)}, "exceed the range"),
    ],
)
def test_errors_say_what_to_do(change, message):
    arguments = {"queries": np.ones((1, 2)), "points": np.ones((3, 2)), "n_neighbors": 1} | change
    with pytest.raises(InvalidInputError, match=message):
        nearest_neighbors(**arguments)


def test_default_threads_follow_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert runtime_module.check_threads(None) == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert runtime_module.check_threads(None) >= 1
    assert runtime_module.check_threads(3) == 3
