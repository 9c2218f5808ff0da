import numpy as np
import pytest

from tagloom.datasets._canvas import Canvas, Random, interpolate


def white_share(canvas):
    return canvas.pixels[0].sum() / 255 / canvas.unit**2


def test_areas_match_geometry():
    for paint, area in [
        (lambda c: c.ellipse(0.7, 0.5, 0.3, 0.2, (255, 255, 255)), np.pi * 0.06),
        (lambda c: c.rectangle(0.21, 0.3, 0.77, 0.5, (255, 255, 255)), 0.56 * 0.2),
        (lambda c: c.polygon([(0.2, 0.8), (0.5, 0.2), (0.9, 0.8)], (255, 255, 255)), 0.5 * 0.7 * 0.6),
    ]:
        canvas = Canvas(300, 200)
        paint(canvas)
        assert white_share(canvas) == pytest.approx(area, rel=0.02)


def test_shapes_outside_change_nothing():
    canvas = Canvas(60, 40)
    canvas.ellipse(-3, 0.5, 0.2, 0.2, (255, 255, 255))
    canvas.rectangle(5, 0, 6, 1, (255, 255, 255))
    canvas.polygon([(0.1, 4), (0.2, 3), (0.3, 4)], (255, 255, 255))
    canvas.glow(0.5, -4, 0.5, (255, 255, 255), 1.0)
    assert not canvas.pixels.any()


def test_below_covers_from_the_line_down():
    covered = Canvas(30, 20).below(0.5)
    np.testing.assert_array_equal(covered[:10], 0)
    np.testing.assert_array_equal(covered[11:], 1)


def test_interpolation_stays_between_knots_and_keeps_constants():
    knots = Random(0, 1).uniform(7)
    line = interpolate(knots, 500)
    assert knots.min() <= line.min()
    assert line.max() <= knots.max()
    np.testing.assert_allclose(interpolate(np.full(4, 0.3, np.float32), 9), 0.3, rtol=1e-6)


def test_streams_are_independent_and_repeatable():
    np.testing.assert_array_equal(Random(1, 2, 3).uniform(5), Random(1, 2, 3).uniform(5))
    assert not np.array_equal(Random(1, 2, 3).uniform(5), Random(1, 3, 2).uniform(5))
    random = Random(4)
    draws = [random.count(2, 4) for _ in range(200)]
    assert set(draws) == {2, 3, 4}
    names = [random.weighted({"a": 3.0, "b": 1.0}) for _ in range(400)]
    assert 240 < names.count("a") < 360


def test_first_numbers_of_a_stream():
    """Written down once: a NumPy that draws other numbers would silently change every scene."""
    expected = np.array([0.6813961267471313, 0.48058199882507324, 0.3990284204483032], dtype=np.float32)
    np.testing.assert_array_equal(Random(7, 1).uniform(3), expected)
