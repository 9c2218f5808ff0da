"""Histogram intersection against loops and the city-block distance of SciPy."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tagloom.exceptions import InvalidInputError
from tagloom.kernels import intersection, intersection_kernel


def histograms(n, d, density, seed=0, dtype=np.float32):
    generator = np.random.default_rng(seed)
    values = generator.exponential(size=(n, d)) * (generator.uniform(size=(n, d)) < density)
    return values.astype(dtype)


def literal_kernel(A, B):
    return np.array([[sum(min(a, b) for a, b in zip(x, y, strict=True)) for y in B.tolist()] for x in A.tolist()])


@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_against_loops(density, dtype):
    A, B = histograms(9, 13, density, dtype=dtype), histograms(7, 13, 0.5, seed=1, dtype=dtype)
    found = intersection_kernel(A, B)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, literal_kernel(A, B), rtol=1e-6)
    np.testing.assert_allclose(intersection_kernel(A), literal_kernel(A, A), rtol=1e-6)


@pytest.mark.parametrize("n_threads", [1, 3, None])
@pytest.mark.parametrize("density", [0.1, 0.9])
def test_many_tiles_against_scipy(monkeypatch, n_threads, density):
    for name, size in (("_ROWS", 16), ("_COLUMNS", 32), ("_SPARSE_WIDTH", 24), ("_DENSE_WIDTH", 9)):
        monkeypatch.setattr(intersection, name, size)
    A, B = histograms(70, 100, density), histograms(53, 100, 0.4, seed=1)

    def by_distances(A, B):
        A, B = A.astype(np.float64), B.astype(np.float64)
        return (A.sum(axis=1)[:, None] + B.sum(axis=1) - cdist(A, B, "cityblock")) / 2

    np.testing.assert_allclose(intersection_kernel(A, B, n_threads=n_threads), by_distances(A, B), rtol=1e-5)
    K = intersection_kernel(A, n_threads=n_threads)
    np.testing.assert_allclose(K, by_distances(A, A), rtol=1e-5)
    np.testing.assert_array_equal(K, K.T)


def test_the_number_of_threads_changes_nothing():
    A = histograms(1100, 40, 0.3)
    np.testing.assert_array_equal(intersection_kernel(A), intersection_kernel(A, n_threads=4))


def test_long_sums_keep_their_digits():
    A = np.random.default_rng(0).uniform(size=(6, 60_000)).astype(np.float32)
    exact = [[np.minimum(x, y).sum(dtype=np.float64) for y in A] for x in A]
    np.testing.assert_allclose(intersection_kernel(A), exact, rtol=1e-7)


def test_diagonal_and_positive_semi_definite():
    A = histograms(60, 200, 0.3, dtype=np.float64)
    A /= A.sum(axis=1, keepdims=True)
    K = intersection_kernel(A)
    np.testing.assert_allclose(np.diag(K), 1)
    assert K.max() <= 1 + 1e-12
    assert np.linalg.eigvalsh(K).min() > -1e-12


def test_no_rows_or_columns():
    assert intersection_kernel(np.empty((0, 5)), np.ones((3, 5))).shape == (0, 3)
    assert intersection_kernel(np.ones((3, 5)), np.empty((0, 5))).shape == (3, 0)
    np.testing.assert_array_equal(intersection_kernel(np.empty((2, 0))), np.zeros((2, 2)))


def test_integers_and_lists():
    np.testing.assert_array_equal(intersection_kernel([[1, 5], [3, 2]]), [[6, 3], [3, 5]])


def test_inputs_are_left_alone():
    A = histograms(5, 20, 0.5)
    before = A.copy()
    intersection_kernel(A)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize(
    ("A", "B", "options", "message"),
    [
        (np.zeros(3), None, {}, "one histogram per row"),
        (np.array([[-1.0]]), None, {}, "not negative"),
        (np.array([[np.nan]]), None, {}, "finite"),
        (np.zeros((2, 3)), np.zeros((2, 4)), {}, "same columns"),
        (np.zeros((2, 3)), None, {"n_threads": 0}, "n_threads"),
    ],
)
def test_wrong_inputs(A, B, options, message):
    with pytest.raises(InvalidInputError, match=message):
        intersection_kernel(A, B, **options)
