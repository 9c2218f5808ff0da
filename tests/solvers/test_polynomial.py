import numpy as np
import pytest
from scipy import sparse

from tagloom.exceptions import InvalidInputError, NotPositiveDefiniteError
from tagloom.solvers.cg.polynomial import PolynomialInverse


def laplacian_plus(n, shift, seed=0):
    generator = np.random.default_rng(seed)
    G = np.triu(generator.random((n, n)) * (generator.random((n, n)) < 0.2), 1)
    G = G + G.T
    return np.diag(G.sum(axis=1) + shift) - G


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_the_error_is_below_the_accuracy(n, dtype):
    A = laplacian_plus(n, 0.5)
    B = np.random.default_rng(1).standard_normal((n, 5))
    exact = np.linalg.solve(A, B)
    found = PolynomialInverse(sparse.csr_array(A), dtype=dtype).solve(B, 1e-4)
    error = np.sqrt(np.einsum("ij,ij->j", found - exact, A @ (found - exact)))
    assert (error <= 2e-4 * np.sqrt(np.einsum("ij,ij->j", exact, A @ exact))).all()


def test_the_interval_holds_the_spectrum():
    A = laplacian_plus(80, 0.1)
    D = np.diag(1 / np.sqrt(A.diagonal()))
    low, high = PolynomialInverse(sparse.csr_array(A)).interval
    eigenvalues = np.linalg.eigvalsh(D @ A @ D)
    assert low <= eigenvalues[0] * 1.05
    assert high >= eigenvalues[-1]


@pytest.mark.parametrize("accuracy", [0.5, 0.1, 0.01])
def test_the_quadratic_form_is_below_the_exact_one_by_the_square_of_the_accuracy(accuracy):
    A = laplacian_plus(50, 0.3)
    B = np.random.default_rng(2).standard_normal((50, 8))
    Y, V = PolynomialInverse(sparse.csr_array(A), dtype="float64").bilinear_factors(B, accuracy)
    exact = B.T @ np.linalg.solve(A, B)
    np.testing.assert_allclose(Y.T @ V, V.T @ Y, atol=1e-10)
    gap = np.linalg.eigvalsh(exact - Y.T @ V)
    assert gap[0] >= -1e-10
    assert gap[-1] <= 1.5 * accuracy**2 * np.linalg.eigvalsh(exact)[-1]


def test_a_mask_solves_for_each_column_on_its_own_rows():
    A = laplacian_plus(40, 0.4)
    generator = np.random.default_rng(3)
    mask = generator.random((40, 4)) < 0.6
    B = generator.standard_normal((40, 4)) * mask
    found = PolynomialInverse(sparse.csr_array(A), dtype="float64").solve(B, 1e-10, mask=mask)
    for column, rows in enumerate(mask.T):
        exact = np.linalg.solve(A[np.ix_(rows, rows)], B[rows, column])
        np.testing.assert_allclose(found[rows, column], exact, atol=1e-8)
        assert not found[~rows, column].any()


def test_the_order_of_work_and_the_threads_do_not_show(monkeypatch):
    A = sparse.csr_array(laplacian_plus(60, 0.5))
    B = np.random.default_rng(1).standard_normal((60, 9))
    plain = PolynomialInverse(A, dtype="float64").solve(B, 1e-3)
    np.testing.assert_allclose(PolynomialInverse(A, dtype="float64", n_threads=3).solve(B, 1e-3), plain, atol=1e-12)
    monkeypatch.setattr("tagloom.solvers.cg.polynomial.LARGE", 10)
    reordered = PolynomialInverse(A, dtype="float64")
    assert reordered.order is not None
    np.testing.assert_allclose(reordered.solve(B, 1e-12), np.linalg.solve(A.toarray(), B), atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_is_named():
    with pytest.raises(NotPositiveDefiniteError, match="positive diagonal"):
        PolynomialInverse(sparse.csr_array(np.diag([1.0, 0.0])))
    with pytest.raises(NotPositiveDefiniteError, match="smallest eigenvalue"):
        PolynomialInverse(sparse.csr_array(np.array([[1.0, -2.0], [-2.0, 1.0]])))


def test_an_accuracy_outside_of_0_and_1_is_an_error():
    with pytest.raises(InvalidInputError, match="accuracy"):
        PolynomialInverse(sparse.csr_array(np.eye(2))).degree(1.0)


@pytest.mark.parametrize("large", [10, 1000])
def test_the_factors_are_solutions_and_right_hand_sides_with_their_residuals(large, monkeypatch):
    monkeypatch.setattr("tagloom.solvers.cg.polynomial.LARGE", large)
    A = sparse.csr_array(laplacian_plus(50, 0.3))
    B = np.random.default_rng(2).standard_normal((50, 8))
    Y, V = PolynomialInverse(A, dtype="float64").bilinear_factors(B, 1e-3)
    exact = np.linalg.solve(A.toarray(), B)
    assert 0 < np.abs(Y - exact).max() <= 1e-2 * np.abs(exact).max()
    np.testing.assert_allclose(V, 2 * B - A @ Y, atol=1e-12)
