"""The minimum over one group: stationarity, a general minimiser, and search over the plane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from tagloom.solvers.groups.penalties import MCP, SCAD, Norm
from tagloom.solvers.groups.state import Singles, best_on_axes, shortened

SHARES = [0.0, 1e-12, 1e-3, 0.5, 0.9, 1 - 1e-6, 1 - 1e-12]


def block_value(b, z, curvature, radial, limit):
    penalty = float(radial.value(np.array(np.linalg.norm(b)), np.array(limit)))
    return 0.5 * float(curvature @ b**2) - float(z @ b) + penalty


def residual(b, z, curvature, limit):
    """Length of the subgradient nearest to zero, relative to the linear part."""
    length = np.linalg.norm(b)
    if length == 0:
        return max(np.linalg.norm(z) - limit, 0.0) / np.linalg.norm(z)
    return np.linalg.norm(curvature * b - z + limit * b / length) / np.linalg.norm(z)


def draw(rng, low, high, n_tags=9):
    """Curvatures over some decades, linear parts of all sizes, limits from nothing to nearly all of them."""
    m = int(rng.integers(1, 9))
    curvature = 10.0 ** rng.uniform(low, high, m)
    z = rng.normal(size=(m, n_tags)) * 10.0 ** rng.uniform(-5, 5, (m, n_tags))
    z[rng.random((m, n_tags)) < 0.2] = 0.0
    z[0, ~z.any(axis=0)] = 1.0
    return z, curvature, np.linalg.norm(z, axis=0) * rng.choice(SHARES, n_tags)


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (-14, 3), (-3, -2), (6, 8)])
def test_a_shortened_group_is_stationary(low, high):
    rng = np.random.default_rng(0)
    for _ in range(100):
        z, curvature, limit = draw(rng, low, high)
        found = shortened(z, curvature, limit)
        for tag in range(z.shape[1]):
            assert residual(found[:, tag], z[:, tag], curvature, limit[tag]) < 1e-12


def test_lengths_that_newton_climbs_to_slowly():
    """The part in the flat directions is as long as the limit: the length is found over many decades."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        m = int(rng.integers(2, 9))
        curvature = np.sort(10.0 ** rng.uniform(-13, 0, m))
        z = 10.0 ** rng.uniform(-3, 0, (m, 1))
        share = 1 + rng.choice([0.0, 1e-10, -1e-10, 1e-5, -1e-5])
        limit = np.array([np.linalg.norm(z[: rng.integers(1, m)]) * share])
        found = shortened(z, curvature, limit)
        assert residual(found[:, 0], z[:, 0], curvature, limit[0]) < 1e-12


def test_a_limit_that_is_the_length_but_for_rounding():
    """Whatever rounding makes of it, the group does not point away from the linear part."""
    rng = np.random.default_rng(4)
    z = rng.normal(size=(3, 3000))
    length = np.linalg.norm(z, axis=0)
    for limit in (length, np.nextafter(length, 0), np.nextafter(length, np.inf)):
        found = shortened(z, np.array([0.01, 70.0, 0.1]), limit)
        assert (np.einsum("kc,kc->c", found, z) >= 0).all()
        assert np.linalg.norm(found, axis=0).max() < 1e-7


def test_the_length_against_a_root_finder():
    rng = np.random.default_rng(1)
    for _ in range(100):
        z, curvature, limit = draw(rng, -2, 2, n_tags=1)
        if not 1e-6 < limit[0] / np.linalg.norm(z) < 0.99:  # the length itself is ill-conditioned near both ends
            continue

        def secular(r, z=z[:, 0], curvature=curvature, limit=limit[0]):
            return np.linalg.norm(z / (curvature * r + limit)) - 1.0

        low = (np.linalg.norm(z) - limit[0]) / curvature.max() * 0.5
        high = (np.linalg.norm(z) - limit[0]) / curvature.min() * 2.0
        root = optimize.brentq(secular, low, high, xtol=1e-300, rtol=1e-14)
        np.testing.assert_allclose(np.linalg.norm(shortened(z, curvature, limit)), root, rtol=1e-8)


def test_no_limit_nothing_to_go_for_and_a_limit_too_large():
    curvature = np.array([2.0, 0.5])
    z = np.array([[1.0, 0.0, 3.0, 0.0], [-2.0, 0.0, 4.0, 0.0]])
    found = shortened(z, curvature, np.array([0.0, 1.0, 5.0, 0.0]))
    np.testing.assert_array_equal(found, [[0.5, 0.0, 0.0, 0.0], [-4.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("radial", [SCAD(2.2), MCP()], ids=str)
def test_a_concave_block_is_not_worse_than_now_nor_than_zero(radial):
    rng = np.random.default_rng(2)
    for _ in range(6):
        m, c = int(rng.integers(2, 6)), 50
        curvature = rng.uniform(0.02, 3.0, m)
        z, limit = rng.normal(size=(m, c)), rng.uniform(0.1, 2.5, c)
        now = rng.normal(size=(m, c)) * rng.choice([0.0, 0.3, 1.0, 5.0], c)
        found = best_on_axes(z, curvature, radial, limit, now)
        for tag in range(c):
            after = block_value(found[:, tag], z[:, tag], curvature, radial, limit[tag])
            before = block_value(now[:, tag], z[:, tag], curvature, radial, limit[tag])
            assert after <= min(before, 0.0) + 1e-12
        # Repeated, it comes to rest at a stationary point.
        for _ in range(200):
            last, found = found, best_on_axes(z, curvature, radial, limit, found)
            if np.array_equal(found, last):
                break
        slope = radial.slope(np.linalg.norm(found, axis=0), limit)
        rests = [residual(found[:, tag], z[:, tag], curvature, slope[tag]) for tag in range(c)]
        assert max(rests) < 1e-8


def test_the_way_out_of_a_zero_that_the_penalty_is_too_flat_to_hold():
    """Zero is stationary (|z| < limit), yet with so little curvature a long group is worth its price."""
    radial, curvature = SCAD(), np.array([0.1, 0.08])
    z, limit = np.array([[0.7], [0.5]]), np.array([1.0])
    found = best_on_axes(z, curvature, radial, limit, np.zeros((2, 1)))
    np.testing.assert_allclose(found[:, 0], z[:, 0] / curvature, rtol=1e-12)  # free: longer than 3.7
    assert block_value(found[:, 0], z[:, 0], curvature, radial, 1.0) < 0


@pytest.mark.parametrize("radial", [Norm(), SCAD(), MCP()], ids=str)
@given(z=st.floats(-5, 5), curvature=st.floats(0.05, 3), limit=st.floats(0.01, 2))
@settings(max_examples=60, deadline=None)
def test_a_single_column_is_the_best_of_a_grid(radial, z, curvature, limit):
    singles = Singles(np.array([curvature]), radial, np.array([[limit]]), None)
    block, nothing = np.array([[curvature]]), np.zeros((1, 1))
    found = singles.one_after_another(slice(0, 1), block, nothing, np.array([[-z]]))[0]
    grid = np.linspace(-1.05, 1.05, 2001) * (abs(z) / curvature + 1e-3)
    values = 0.5 * curvature * grid**2 - z * grid + radial.value(np.abs(grid), np.full_like(grid, limit))
    at = block_value(found, np.array([z]), np.array([curvature]), radial, limit)
    assert at <= values.min() + 1e-12
    assert found[0] * z >= 0


@pytest.mark.parametrize("radial", [Norm(), SCAD(), MCP()], ids=str)
def test_equal_curvatures_are_the_proximal_step(radial):
    """With one curvature the minimum lies on the ray through z: `shrink` has it, from where the descent begins."""
    rng = np.random.default_rng(5)
    z, limit = rng.normal(size=(4, 60)), rng.uniform(0.1, 2.0, 60)
    length = np.linalg.norm(z, axis=0)
    for curvature in (0.6, 2.0):
        r = radial.shrink(length / curvature, limit, np.full(60, curvature))
        expected = z / length * r
        found = np.zeros_like(z)
        for _ in range(150):
            found = best_on_axes(z, np.full(4, curvature), radial, limit, found)
        np.testing.assert_allclose(found, expected, atol=1e-9)
