"""The exponential χ² kernel against loops."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.kernels import pairwise
from tagloom.kernels.pairwise import chi2_distances, chi2_kernel


def literal(A, B):
    return np.array([[sum((x - y) ** 2 / (x + y) for x, y in zip(a, b, strict=True) if x + y) for b in B] for a in A])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_against_loops(monkeypatch, dtype):
    monkeypatch.setattr(pairwise, "ROWS", 3)
    rng = np.random.default_rng(0)
    A = (rng.exponential(size=(8, 5)) * (rng.random((8, 5)) < 0.6)).astype(dtype)
    B = rng.exponential(size=(4, 5)).astype(dtype)
    np.testing.assert_allclose(chi2_distances(A, B), literal(A.astype(float), B.astype(float)), rtol=1e-6)
    np.testing.assert_allclose(chi2_kernel(A, B, gamma=0.7), np.exp(-0.7 * chi2_distances(A, B)), rtol=1e-12)
    K = chi2_kernel(A, gamma=0.7)
    np.testing.assert_allclose(K, np.exp(-0.7 * literal(A.astype(float), A.astype(float))), rtol=1e-6)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1.0)


def test_arrays_that_cannot_be_written():
    A = np.ones((3, 2))
    A.setflags(write=False)
    np.testing.assert_array_equal(chi2_distances(A, A), 0.0)


def test_nothing_to_compare():
    assert chi2_kernel(np.empty((0, 2)), np.ones((3, 2)), gamma=1.0).shape == (0, 3)


def test_negative_numbers_are_refused():
    with pytest.raises(InvalidInputError, match="negative numbers"):
        chi2_kernel([[-1.0]], gamma=1.0)
    with pytest.raises(InvalidInputError, match="B must hold histograms"):
        chi2_kernel([[1.0]], [[-1.0]], gamma=1.0)
