"""Coordinates of kernels: exact on landmarks, the projection elsewhere."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.kernels.landmarks import KernelFeatures, choose_landmarks
from tagloom.kernels.matrix import make_kernel

RNG = np.random.default_rng(0)
X, NEW = RNG.exponential(size=(30, 5)), RNG.exponential(size=(8, 5))


@pytest.mark.parametrize("name", ["rbf", "linear", "chi2", "intersection"])
def test_all_rows_as_landmarks_are_exact(name):
    kernel = make_kernel(name, X)
    features = KernelFeatures(kernel, X)
    T = features.transform(X, block=7)
    np.testing.assert_allclose(T @ T.T, kernel.gram(X), atol=1e-8)
    np.testing.assert_allclose(T.T @ T, np.diag(features.eigenvalues_), atol=1e-8 * features.eigenvalues_[0])
    if name != "linear":
        np.testing.assert_allclose(features.transform(NEW) @ T.T, kernel.between(NEW, X), atol=1e-7)
    assert features.energy_ == pytest.approx(1.0)


def test_landmarks_are_the_nystrom_approximation():
    kernel = make_kernel("rbf", X, gamma=0.1)
    rows = choose_landmarks(30, 6, 1)
    features = KernelFeatures(kernel, X, rows)
    K = kernel.gram(X)
    literal = K[:, rows] @ np.linalg.pinv(K[np.ix_(rows, rows)]) @ K[rows]
    T = features.transform(X)
    assert T.shape == (30, 6)
    np.testing.assert_allclose(T @ T.T, literal, atol=1e-9)


def test_linear_coordinates_know_their_columns():
    features = KernelFeatures(make_kernel("linear", X), X)
    coef = RNG.normal(size=(features.n_features, 2))
    np.testing.assert_allclose(features.transform(NEW) @ coef, NEW @ features.linear_map(coef), atol=1e-12)
    assert KernelFeatures(make_kernel("linear", X[:3]), X[:3]).linear_map(coef[:3]) is None
    wide = KernelFeatures(make_kernel("linear", X[:3]), X[:3])
    np.testing.assert_allclose(wide.transform(X[:3]) @ wide.transform(NEW).T, X[:3] @ NEW.T, atol=1e-9)


def test_energy_keeps_the_smallest_number_of_directions():
    kernel = make_kernel("rbf", X)
    values = np.linalg.eigvalsh(kernel.gram(X))[::-1]
    features = KernelFeatures(kernel, X, energy=0.8)
    shares = np.cumsum(values) / values.sum()
    count = int(np.argmax(shares >= 0.8)) + 1
    assert features.n_features == count < 30
    assert features.energy_ == pytest.approx(shares[count - 1])
    for energy in (0.0, 1.1):
        with pytest.raises(InvalidInputError, match="energy"):
            KernelFeatures(kernel, X, energy=energy)


def test_a_kernel_of_zeros_has_no_coordinates():
    zero = np.zeros((4, 2))
    features = KernelFeatures(make_kernel("linear", zero), zero)
    assert features.transform(zero).shape == (4, 0)
    assert features.energy_ == 1.0


def test_precomputed_landmarks():
    K = make_kernel("rbf", X).gram(X)
    rows = np.array([3, 8, 20])
    T = KernelFeatures(make_kernel("precomputed", K), K, rows).transform(K)
    direct = KernelFeatures(make_kernel("rbf", X), X, rows).transform(X)
    np.testing.assert_allclose(T @ T.T, direct @ direct.T, atol=1e-10)


def test_choosing_landmarks():
    rows = choose_landmarks(100, 10, 3)
    np.testing.assert_array_equal(rows, choose_landmarks(100, 10, 3))
    assert len(set(rows)) == 10
    assert (np.diff(rows) > 0).all()
    for wrong in (0, 2.5, True):
        with pytest.raises(InvalidInputError, match="n_landmarks"):
            choose_landmarks(10, wrong)
