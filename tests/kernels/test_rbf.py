"""The Gaussian kernel against SciPy's distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tagloom.exceptions import InvalidInputError
from tagloom.kernels import pairwise
from tagloom.kernels.pairwise import rbf_kernel


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_against_scipy(monkeypatch, shift):
    monkeypatch.setattr(pairwise, "ROWS", 7)
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(20, 6)) + shift, rng.normal(size=(13, 6)) + shift
    np.testing.assert_allclose(rbf_kernel(A, B, gamma=0.3), np.exp(-0.3 * cdist(A, B) ** 2), rtol=1e-10)
    K = rbf_kernel(A, gamma=0.3)
    np.testing.assert_allclose(K, np.exp(-0.3 * cdist(A, A) ** 2), rtol=1e-10)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1.0)


def test_equal_rows_and_far_rows():
    A = np.array([[3.0, 4.0], [3.0, 4.0], [1e6, 0.0]])
    np.testing.assert_allclose(rbf_kernel(A, gamma=1.0), [[1, 1, 0], [1, 1, 0], [0, 0, 1]], atol=1e-3)
    assert rbf_kernel(A, A, gamma=1.0).max() <= 1.0


def test_single_precision():
    A = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    low = rbf_kernel(A, gamma=0.5, dtype=np.float32)
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, rbf_kernel(A, gamma=0.5), rtol=1e-5)


def test_no_rows():
    assert rbf_kernel(np.empty((0, 3)), np.ones((2, 3)), gamma=1.0).shape == (0, 2)
    assert rbf_kernel(np.ones((2, 3)), np.empty((0, 3)), gamma=1.0).shape == (2, 0)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf, "wide", True])
def test_wrong_gamma(gamma):
    with pytest.raises(InvalidInputError, match="gamma must be a positive number"):
        rbf_kernel(np.ones((2, 2)), gamma=gamma)
