import numpy as np
import pytest
from scipy.optimize import minimize

from tagloom.exceptions import InvalidInputError
from tagloom.solvers import L21


@pytest.fixture
def W():
    W = np.random.default_rng(0).standard_normal((6, 3))
    W[2] = 0
    return W


def test_value_by_hand(W):
    assert L21(0.5).value(W) == pytest.approx(0.5 * sum(np.linalg.norm(row) for row in W))
    assert L21(0.5, np.arange(6)).value(W) == pytest.approx(0.5 * sum(i * np.linalg.norm(w) for i, w in enumerate(W)))


def test_prox_minimises(W):
    """No point near or far is better, by a general optimiser started at the answer and elsewhere."""
    penalty, step = L21(0.8, [1, 2, 1, 0, 1, 0.5]), 0.7
    found = penalty.prox(W, step)

    def objective(flat):
        Z = flat.reshape(W.shape)
        return 0.5 * np.sum((Z - W) ** 2) + step * penalty.value(Z)

    best = objective(found.ravel())
    for start in (W, found + 0.01, np.ones_like(W)):
        assert best <= minimize(objective, start.ravel(), method="Powell").fun + 1e-9


def test_prox_gives_exact_zeros():
    W = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [0.6, 0.8]])
    np.testing.assert_allclose(L21(1.0).prox(W, 1.0), [[2.4, 3.2], [0, 0], [0, 0], [0, 0]])
    assert (L21(1.0).prox(W, 1.0)[1:] == 0).all()
    np.testing.assert_array_equal(L21(0.0).prox(W, 1.0), W)


def test_distance_is_zero_exactly_at_prox_points(W):
    """z = prox(w) iff w - z is in the subdifferential at z: the gradient of the quadratic is z - w."""
    penalty = L21(0.9)
    Z = penalty.prox(W, 1.0)
    np.testing.assert_allclose(penalty.subdifferential_distance(Z, Z - W), 0, atol=1e-15)
    assert penalty.subdifferential_distance(Z + 0.1, Z + 0.1 - W).max() > 0.01


def test_distance_of_zero_rows():
    gradient = np.array([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(L21(1.0).subdifferential_distance(np.zeros((2, 2)), gradient), [4.0, 0.0])


def test_smallest_zero_and_restriction():
    gradient = np.array([[3.0, 4.0], [0.3, 0.4], [9.0, 0.0]])
    assert L21(1.0).smallest_zero(gradient) == 9.0
    assert L21(1.0, [1.0, 1.0, 0.0]).smallest_zero(gradient) == 5.0
    assert L21(2.0, [1.0, 3.0, 5.0]).restrict(np.array([2, 0])).value(np.ones((2, 1))) == 12.0


@pytest.mark.parametrize(("strength", "weights"), [(-1.0, None), (np.nan, None), (1.0, [1.0, -1.0])])
def test_named_errors(strength, weights):
    with pytest.raises(InvalidInputError, match="not negative"):
        L21(strength, weights)


def test_wrong_number_of_weights(W):
    with pytest.raises(InvalidInputError, match="6 weights"):
        L21(1.0, [1.0, 2.0]).value(W)
