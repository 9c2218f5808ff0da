"""Kernels by name."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import chi2_kernel as reference_chi2
from sklearn.metrics.pairwise import pairwise_kernels

from tagloom.exceptions import InvalidInputError
from tagloom.kernels import intersection_kernel, matrix, pyramid_match_kernel
from tagloom.kernels.matrix import default_gamma, kernel_matrix, make_kernel

RNG = np.random.default_rng(0)
X, Z = RNG.exponential(size=(12, 6)), RNG.exponential(size=(5, 6))
PYRAMID = {"levels": [(1, 1), (1, 2)], "n_words": 2}


@pytest.mark.parametrize("rows", [None, Z])
def test_names_stand_for_kernels(rows):
    Y = rows
    other = X if Y is None else Y
    variance = (X if Y is None else Y).var()
    np.testing.assert_allclose(
        kernel_matrix("rbf", X, Y), pairwise_kernels(X, other, "rbf", gamma=1 / (6 * variance)), rtol=1e-12
    )
    np.testing.assert_allclose(kernel_matrix("linear", X, Y), X @ other.T, rtol=1e-13)
    np.testing.assert_allclose(kernel_matrix("chi2", X, Y, gamma=0.2), reference_chi2(X, other, gamma=0.2), rtol=1e-12)
    np.testing.assert_allclose(kernel_matrix("intersection", X, Y), intersection_kernel(X, Y), rtol=1e-14)
    np.testing.assert_allclose(
        kernel_matrix("pyramid", X, Y, parameters=PYRAMID), pyramid_match_kernel(X, Y, **PYRAMID), rtol=1e-14
    )
    np.testing.assert_allclose(kernel_matrix(lambda A, B: (A @ B.T) ** 2, X, Y), (X @ other.T) ** 2, rtol=1e-12)


def test_blocks_change_nothing():
    np.testing.assert_allclose(kernel_matrix("rbf", X, Z, block=5), kernel_matrix("rbf", X, Z), rtol=1e-13)


def test_single_precision_result():
    K = kernel_matrix("rbf", X, dtype=np.float32)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, kernel_matrix("rbf", X), rtol=1e-6)


def test_precomputed_is_checked_and_returned():
    K = X @ X.T
    np.testing.assert_array_equal(kernel_matrix("precomputed", K), K)
    for wrong, message in ((K[:, :5], r"\(n, n\)"), (K + np.triu(K, 1), "symmetric"), (K * np.nan, "symmetric|NaN")):
        with pytest.raises(InvalidInputError, match=message):
            kernel_matrix("precomputed", wrong)
    with pytest.raises(InvalidInputError, match="takes no Y"):
        kernel_matrix("precomputed", K, K)


def test_default_gammas():
    assert default_gamma("rbf", X) == pytest.approx(1 / (6 * X.var()))
    assert default_gamma("rbf", X, "dimension") == pytest.approx(1 / 6)
    pairs = [(i, j) for i in range(12) for j in range(12) if i != j]
    squared = np.mean([((X[i] - X[j]) ** 2).sum() for i, j in pairs])
    assert default_gamma("rbf", X, "mean") == pytest.approx(1 / squared)
    chi2 = np.mean([((X[i] - X[j]) ** 2 / (X[i] + X[j])).sum() for i, j in pairs])
    assert default_gamma("chi2", X) == pytest.approx(1 / chi2)
    assert default_gamma("rbf", np.ones((4, 2))) == default_gamma("chi2", np.ones((4, 2))) == 1.0
    assert default_gamma("chi2", np.ones((1, 2))) == 1.0
    for kernel, rule in (("linear", None), ("rbf", "wide")):
        with pytest.raises(InvalidInputError):
            default_gamma(kernel, X, rule)


def test_anchors_products_and_parts():
    for kernel, data, new in (("rbf", X, Z), ("precomputed", X @ X.T, Z @ X.T)):
        settled = make_kernel(kernel, data)
        rows = np.array([7, 2, 9])
        anchors = settled.select(data, rows)
        K = settled.gram(data)
        np.testing.assert_allclose(settled.gram(data, rows), K[np.ix_(rows, rows)], rtol=1e-12)
        mask = np.isin(np.arange(12), rows)
        np.testing.assert_allclose(settled.gram(data, mask), K[np.ix_(mask, mask)], rtol=1e-12)
        np.testing.assert_allclose(settled.between(data, anchors), K[:, rows], rtol=1e-12)
        np.testing.assert_allclose(settled.between(data, settled.select(data)), K, rtol=1e-12)
        coef = RNG.normal(size=(3, 2))
        expected = settled.between(new, anchors) @ coef
        np.testing.assert_allclose(settled.product(new, anchors, coef, block=2), expected, rtol=1e-12)
        np.testing.assert_array_equal(settled.product(new, anchors[:0], coef[:0]), 0.0)


def test_too_many_rows_for_a_dense_kernel(monkeypatch):
    monkeypatch.setattr(matrix, "DENSE_ROWS", 11)
    with pytest.raises(InvalidInputError, match="limit is 11 rows"):
        kernel_matrix("rbf", X)
    assert kernel_matrix("rbf", X, X[:3]).shape == (12, 3)


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        ("gauss", {}, "kernel must be one of"),
        ("rbf", {"gamma": -1}, "gamma"),
        ("rbf", {"gamma": "wide"}, "gamma"),
        ("rbf", {"parameters": {"gamma": 1}}, "no further parameters"),
        ("rbf", {"parameters": "x"}, "parameters of a kernel must be a mapping or None, got 'x'"),
        ("pyramid", {}, "needs"),
        ("intersection", {"parameters": {"levels": 3}}, "takes the parameters"),
        ("rbf", {"block": 0}, "block"),
        (lambda A, B: A, {}, "one value for each pair"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), {}, "NaN"),
        (lambda A, B: A @ np.triu(np.ones((6, 6))) @ B.T, {}, "symmetric"),
    ],
)
def test_wrong_parameters(kernel, options, message):
    with pytest.raises(InvalidInputError, match=message):
        kernel_matrix(kernel, X, **options)
