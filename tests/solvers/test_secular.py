"""Rank-one changes of eigenproblems against dense eigendecompositions."""

import numpy as np
import pytest
from scipy.linalg import eigh

from tagloom.exceptions import InvalidInputError
from tagloom.solvers.secular import rank_one_spectra

WEIGHTS = [0.7, -0.7, -40.0, 1e-3]


def check(values, Z, weight, n_lowest=None, tol=1e-10):
    """Compare eigenvalues; eigenvectors by their residual and orthogonality, which repeated eigenvalues allow."""
    spectra = rank_one_spectra(values, Z, weight, n_lowest=n_lowest)
    m = len(values) if n_lowest is None else n_lowest
    vectors = spectra.vectors(np.arange(Z.shape[1]))
    for z, found, v in zip(Z.T, spectra.eigenvalues, vectors, strict=True):
        dense = np.diag(values) + weight * np.outer(z, z)
        size = max(1.0, np.abs(dense).sum(axis=0).max())
        np.testing.assert_allclose(found, np.linalg.eigvalsh(dense)[:m], atol=tol * size)
        np.testing.assert_allclose(v.T @ v, np.eye(m), atol=tol)
        np.testing.assert_allclose(dense @ v, v * found, atol=tol * size)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("q", [1, 2, 7, 60, 260])
def test_against_dense_eigendecompositions(weight, q):
    rng = np.random.default_rng(q)
    values, Z = np.sort(rng.uniform(-1, 2, q)), rng.normal(size=(q, 4))
    check(values, Z, weight)
    check(values, Z, weight, n_lowest=q // 3)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("q", [6, 60, pytest.param(260, marks=pytest.mark.medium)])
def test_deflation_of_zeros_and_of_repeated_values(weight, q):
    rng = np.random.default_rng(q)
    values, Z = np.sort(rng.integers(0, 8, q) / 4.0), rng.normal(size=(q, 4))
    Z[rng.random(Z.shape) < 0.4] = 0.0
    Z[:, 3] = 0.0
    check(values, Z, weight)
    check(values, Z, weight, n_lowest=q // 2)
    check(np.zeros(q), Z, weight)
    distinct = np.sort(rng.uniform(0, 2, q))
    for n_lowest in (1, q // 2, q - 1):
        check(distinct, Z, weight, n_lowest=n_lowest)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_values_that_nearly_agree_and_weights_that_nearly_vanish(weight):
    rng = np.random.default_rng(1)
    for q in (50, 260):
        values = np.sort(rng.integers(0, 10, q) / 5.0 + 10.0 ** rng.uniform(-17, -1, q))
        check(values, rng.normal(size=(q, 5)) * 10.0 ** rng.uniform(-18, 0, (q, 5)), weight)


def test_the_generalised_problem_of_locality_preserving_projections():
    rng = np.random.default_rng(2)
    T, S, F = rng.normal(size=(80, 30)), rng.normal(size=(80, 80)), rng.normal(size=(80, 3))
    A, B = T.T @ (S @ S.T) @ T / 80, T.T @ (rng.uniform(1, 2, 80)[:, None] * T)
    values, V = eigh(A, B)
    spectra = rank_one_spectra(values, V.T @ (T.T @ F), -0.5, n_lowest=8)
    for tag, v in enumerate(spectra.vectors([0, 1, 2])):
        z = T.T @ F[:, tag]
        expected, a = eigh(A - 0.5 * np.outer(z, z), B)
        np.testing.assert_allclose(spectra.eigenvalues[tag], expected[:8], atol=1e-10)
        found = V @ v
        signs = np.sign(np.einsum("ij,ij->j", found, B @ a[:, :8]))
        np.testing.assert_allclose(found * signs, a[:, :8], atol=1e-10)


def test_interlacing_and_the_trace():
    rng = np.random.default_rng(3)
    values, Z = np.sort(rng.uniform(0, 2, 300)), rng.normal(size=(300, 6))
    down, up = (rank_one_spectra(values, Z, weight).eigenvalues for weight in (-0.3, 0.3))
    assert (down <= values).all()
    assert (down[:, 1:] >= values[:-1]).all()
    assert (up >= values).all()
    assert (up[:, :-1] <= values[1:]).all()
    np.testing.assert_allclose(up.sum(axis=1) - values.sum(), 0.3 * np.square(Z).sum(axis=0), rtol=1e-12)


def test_without_a_change_vectors_are_those_of_the_identity():
    values = np.array([0.0, 0.5, 0.5, 2.0])
    for weight, Z in ((0.0, np.ones((4, 2))), (-1.0, np.zeros((4, 2)))):
        spectra = rank_one_spectra(values, Z, weight)
        np.testing.assert_array_equal(spectra.eigenvalues, [values, values])
        np.testing.assert_array_equal(spectra.vectors([0, 1]), [np.eye(4)] * 2)


def test_sizes_of_nothing_and_parts_of_the_vectors():
    assert rank_one_spectra(np.zeros(0), np.zeros((0, 2)), 1.0).eigenvalues.shape == (2, 0)
    assert rank_one_spectra(np.arange(3.0), np.zeros((3, 0)), 1.0).eigenvalues.shape == (0, 3)
    spectra = rank_one_spectra(np.arange(5.0), np.ones((5, 3)), -1.0)
    np.testing.assert_array_equal(spectra.vectors([2, 0], 2), spectra.vectors([0, 2])[::-1, :, :2])
    assert spectra.n_poles == 5


@pytest.mark.parametrize(
    ("values", "Z", "weight", "n_lowest", "message"),
    [
        ([1.0, 0.0], np.ones((2, 1)), 1.0, None, "ascending"),
        ([0.0, 1.0], np.ones((3, 1)), 1.0, None, "one row of Z"),
        ([0.0, 1.0], np.ones(2), 1.0, None, "shape"),
        ([0.0, np.inf], np.ones((2, 1)), 1.0, None, "finite"),
        ([0.0, 1.0], np.ones((2, 1)), np.nan, None, "finite"),
        ([0.0, 1.0], np.ones((2, 1)), 1.0, 3, "n_lowest"),
    ],
)
def test_wrong_input_is_refused(values, Z, weight, n_lowest, message):
    with pytest.raises(InvalidInputError, match=message):
        rank_one_spectra(values, Z, weight, n_lowest=n_lowest)
