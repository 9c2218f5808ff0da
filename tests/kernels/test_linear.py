"""Inner products."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.kernels import linear_kernel


def test_against_a_loop():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(linear_kernel(A, B), [[a @ b for b in B] for a in A], rtol=1e-14)
    K = linear_kernel(A)
    np.testing.assert_allclose(K, linear_kernel(A, A), rtol=1e-14)
    np.testing.assert_array_equal(K, K.T)


def test_precision():
    A = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    assert linear_kernel(A).dtype == np.float64
    assert linear_kernel(A, dtype=np.float32).dtype == np.float32
    with pytest.raises(InvalidInputError, match="float64 or float32"):
        linear_kernel(A, dtype=np.int64)


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.zeros(3), None, "one row per photo"),
        (np.array([[np.inf]]), None, "finite"),
        (np.zeros((2, 3)), np.zeros((2, 4)), "same columns"),
    ],
)
def test_wrong_inputs(A, B, message):
    with pytest.raises(InvalidInputError, match=message):
        linear_kernel(A, B)
