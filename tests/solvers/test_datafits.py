import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.solvers import NotPositiveDefiniteError, QuadraticGram


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 5)), rng.standard_normal((12, 3))
    return X, Y, rng.standard_normal((5, 3))


def test_value_is_least_squares(parts):
    X, Y, W = parts
    datafit = QuadraticGram(X.T @ X, X.T @ Y, scale=2.0)
    assert datafit.value(W) == pytest.approx(np.sum((Y - X @ W) ** 2) - np.sum(Y**2))


def test_gradient_by_differences(parts):
    X, Y, W = parts
    datafit = QuadraticGram(X.T @ X, X.T @ Y, scale=3.0)
    numeric = np.empty_like(W)
    for index in np.ndindex(*W.shape):
        bump = np.zeros_like(W)
        bump[index] = 1e-5
        numeric[index] = (datafit.value(W + bump) - datafit.value(W - bump)) / 2e-5
    np.testing.assert_allclose(datafit.gradient(W), numeric, atol=1e-6)
    np.testing.assert_allclose(datafit.gradient(W, slice(1, 3)), numeric[1:3], atol=1e-6)


def test_rows_in_use(parts):
    X, Y, W = parts
    datafit = QuadraticGram(X.T @ X, X.T @ Y, scale=2.0)
    rows = np.array([3, 1])
    sparse_W = np.zeros_like(W)
    sparse_W[rows] = W[rows]
    np.testing.assert_allclose(datafit.full_gradient(W[rows], rows), datafit.gradient(sparse_W))
    assert datafit.restrict(rows).value(W[rows]) == pytest.approx(datafit.value(sparse_W))


def test_lipschitz_and_curvature(parts):
    X, Y, W = parts
    datafit = QuadraticGram(X.T @ X, X.T @ Y, scale=2.0)
    rows = slice(1, 4)
    change = np.zeros_like(W)
    change[rows] = 1.0
    difference = (datafit.gradient(W + change) - datafit.gradient(W))[rows]
    np.testing.assert_allclose(datafit.curvature(rows, change[rows]), difference)
    assert datafit.lipschitz(rows) == pytest.approx(2 * np.linalg.norm(X[:, rows], 2) ** 2)


@pytest.mark.parametrize(
    ("A", "B", "scale", "message"),
    [
        (np.eye(3), np.ones((2, 1)), 1.0, r"\(d, d\)"),
        (np.eye(2), np.ones(2), 1.0, r"\(d, c\)"),
        (np.full((2, 2), np.nan), np.ones((2, 1)), 1.0, "finite"),
        (np.eye(2), np.ones((2, 1)), 0.0, "scale"),
    ],
)
def test_named_errors(A, B, scale, message):
    with pytest.raises(InvalidInputError, match=message):
        QuadraticGram(A, B, scale=scale)


def test_negative_diagonal():
    with pytest.raises(NotPositiveDefiniteError, match="row 1"):
        QuadraticGram(np.diag([1.0, -2.0]), np.ones((2, 1)))
