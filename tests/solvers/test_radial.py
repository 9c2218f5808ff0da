"""Penalties of a length against their definitions: integrals of the slope, differences, and search on a grid."""

import numpy as np
import pytest
from scipy import integrate

from tagloom.exceptions import InvalidInputError
from tagloom.solvers.groups.penalties import MCP, SCAD, Norm

RADIALS = [Norm(), SCAD(), SCAD(2.1), SCAD(20.0), MCP(), MCP(1.05), MCP(3.7)]
LIMITS = [0.01, 0.3, 1.0, 4.0]
#: Every branch of SCAD with a = 3.7 has several: 1/(a + 1) = 0.21, 1/(a - 1) = 0.37.
STEEPNESSES = [0.05, 0.1, 0.2, 0.22, 0.3, 0.36, 0.38, 0.5, 1.0, 1.7, 3.0]


def printed_slope(radial, r, limit):
    """p' as the papers print it, for one length."""
    if isinstance(radial, SCAD):
        a = radial.concavity
        return limit if r <= limit else max(a * limit - r, 0.0) / (a - 1)
    if isinstance(radial, MCP):
        return max(1.0 - r / (radial.concavity * limit), 0.0) * limit
    return limit


@pytest.mark.parametrize("radial", RADIALS, ids=str)
@pytest.mark.parametrize("limit", LIMITS)
def test_the_value_is_the_integral_of_the_printed_slope(radial, limit):
    knots = [limit, getattr(radial, "concavity", 1.0) * limit]
    for r in np.array([0.0, 0.4, 1.0, 1.5, 2.0, 3.0, 3.7, 5.0, 30.0]) * limit:
        inside = [knot for knot in knots if 0 < knot < r] or None
        expected = integrate.quad(lambda t: printed_slope(radial, t, limit), 0, r, points=inside, epsabs=1e-13)[0]
        np.testing.assert_allclose(radial.value(np.array(r), np.array(limit)), expected, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(
            radial.slope(np.array(r), np.array(limit)), printed_slope(radial, r, limit), rtol=1e-12, atol=1e-15
        )


@pytest.mark.parametrize("radial", RADIALS, ids=str)
def test_derivatives_are_those_of_the_value(radial):
    rng = np.random.default_rng(0)
    limit = rng.uniform(0.1, 3.0, size=400)
    r = limit * rng.uniform(0.01, 25.0, size=400)
    concavity = getattr(radial, "concavity", 1.0)
    far = (np.abs(r - limit) > 1e-3) & (np.abs(r - concavity * limit) > 1e-3)
    r, limit, h = r[far], limit[far], 1e-5
    slopes = (radial.value(r + h, limit) - radial.value(r - h, limit)) / (2 * h)
    np.testing.assert_allclose(radial.slope(r, limit), slopes, atol=2e-8)
    curvatures = (radial.slope(r + h, limit) - radial.slope(r - h, limit)) / (2 * h)
    np.testing.assert_allclose(radial.curvature(r, limit), curvatures, atol=1e-8)
    # At a knot: from the right.
    for knot in (limit, concavity * limit):
        right = (radial.slope(knot + h, limit) - radial.slope(knot, limit)) / h
        np.testing.assert_allclose(radial.curvature(knot * (1 + 1e-15), limit), right, atol=1e-8)


@pytest.mark.parametrize("radial", RADIALS, ids=str)
@pytest.mark.parametrize("steepness", STEEPNESSES)
def test_the_proximal_step_is_the_best_of_a_fine_grid(radial, steepness):
    """No point of the grid is lower, and what the step finds is stationary."""
    limit = LIMITS[STEEPNESSES.index(steepness) % len(LIMITS)]
    concavity = getattr(radial, "concavity", 1.0)
    reach = limit * max(concavity, 1.0, 1 / steepness, np.sqrt((concavity + 1) / steepness))
    s = np.linspace(0.0, 1.6 * reach, 101)
    grid = np.concatenate([np.linspace(0.0, 1.7 * reach, 601), s])
    found = radial.shrink(s, np.full_like(s, limit), np.full_like(s, steepness))
    assert (found >= 0).all()
    assert (found <= s + 1e-15).all()

    def cost(r, target):
        return 0.5 * steepness * (r - target) ** 2 + radial.value(r, np.full_like(r, limit))

    best = cost(grid[:, None] * np.ones_like(s), s).min(axis=0)
    np.testing.assert_array_less(cost(found, s), best + 1e-13 * (1 + best))
    inside = found > 0
    pull = steepness * (found - s) + radial.slope(found, np.full_like(s, limit))
    np.testing.assert_allclose(pull[inside], 0.0, atol=1e-12 * (1 + limit))


@pytest.mark.parametrize("radial", RADIALS, ids=str)
@pytest.mark.parametrize("steepness", STEEPNESSES)
def test_pieces_are_where_the_proximal_step_bends_and_jumps(radial, steepness):
    """Between the places named the step is straight: the middle of two lengths goes to the middle of their steps."""
    limit = 0.7
    pieces = radial.pieces(np.array([steepness]))
    places = np.concatenate([[0.0], pieces.knots[:, 0], pieces.jump]) * limit
    places = np.unique(np.append(places[np.isfinite(places)], 3.0 * places[np.isfinite(places)].max()))
    low, high = places[:-1] + 1e-9 * np.diff(places), places[1:] - 1e-9 * np.diff(places)
    ends = [radial.shrink(s, np.full_like(s, limit), np.full_like(s, steepness)) for s in (low, (low + high) / 2, high)]
    np.testing.assert_allclose(ends[1], (ends[0] + ends[2]) / 2, atol=1e-12)


def test_every_group_of_every_tag_in_one_call():
    rng = np.random.default_rng(1)
    s, limit, steepness = rng.uniform(0, 4, (5, 7)), rng.uniform(0.1, 2, (5, 7)), rng.uniform(0.05, 3, (5, 1))
    for radial in RADIALS:
        together = radial.shrink(s, limit, steepness)
        for i, j in np.ndindex(s.shape):
            alone = radial.shrink(s[i, j : j + 1], limit[i, j : j + 1], steepness[i])
            assert together[i, j] == alone[0]


def test_only_the_norm_is_convex():
    assert [radial.convex for radial in (Norm(), SCAD(), MCP())] == [True, False, False]


def test_scad_of_large_concavity_is_the_norm():
    s = np.linspace(0, 5, 50)
    limit, steepness = np.full_like(s, 0.7), np.full_like(s, 1.3)
    for radial in (SCAD(1e9), MCP(1e9)):
        np.testing.assert_allclose(radial.shrink(s, limit, steepness), Norm().shrink(s, limit, steepness), atol=1e-7)


@pytest.mark.parametrize(
    ("kind", "concavity", "bound"),
    [(SCAD, 2.0, "above 2"), (SCAD, np.nan, "above 2"), (MCP, 1.0, "above 1"), (MCP, np.inf, "above 1")],
)
def test_a_concavity_that_is_too_small(kind, concavity, bound):
    with pytest.raises(InvalidInputError, match=bound):
        kind(concavity)
