"""Learning curves, and forecasts from them."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.methods import RegularizedLeastSquares
from tagloom.metrics import average_precision
from tagloom.tuning.evaluation.evaluation import cross_validate
from tagloom.tuning.evaluation.label_curve import _curve, learning_curve


def make_problem(n=150, n_labelled=60, c=3, seed=0, *, open_entries=True, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    Y = (X[:, :c] + noise * rng.normal(size=(n, c)) > 0.5).astype(np.int8)
    Y[n_labelled:] = -1
    if open_entries:
        Y[:n_labelled][rng.random((n_labelled, c)) < 0.15] = -1
    return X, Y


def test_a_power_law_is_found():
    sizes = np.array([20.0, 40.0, 80.0, 160.0])
    figures = 1 - 1.5 * sizes**-0.4
    curve = _curve(sizes, figures, np.tile(figures, (50, 1)), 200, 0.95, 0)
    assert (curve.exponent, curve.factor) == (pytest.approx(0.4), pytest.approx(1.5))
    np.testing.assert_allclose(curve.predict(sizes), figures)
    more = curve.forecast(100)
    assert more.gain == pytest.approx(1.5 * (200**-0.4 - 300**-0.4))
    assert more.map == pytest.approx(1 - 1.5 * 300**-0.4)
    by_power, by_logarithm, by_last = curve._gains(200, 300)
    np.testing.assert_allclose(by_power, more.gain)  # no point is off this law
    np.testing.assert_allclose(by_last, (figures[-1] - figures[-2]) / np.log(2) * np.log(1.5))
    slope = np.polyfit(np.log(sizes), figures, 1)[0]
    assert by_logarithm.min() < slope * np.log(1.5) < by_logarithm.max()  # all are off this one
    everything = np.concatenate([by_power, by_logarithm, by_last])
    assert everything.min() <= more.low <= min(more.gain, by_last[0])
    assert max(more.gain, by_last[0]) <= more.high <= everything.max()
    assert (more.is_far, curve.forecast(201).is_far) == (False, True)
    with pytest.raises(InvalidInputError, match="n_more must be a positive integer"):
        curve.forecast(0)


def test_points_off_the_line_widen_the_interval():
    sizes = np.array([20.0, 40.0, 80.0, 160.0])
    straight = 1 - 1.5 * sizes**-0.4
    crooked = straight + np.array([0.03, -0.03, 0.03, -0.03])
    widths = []
    for figures in (straight, crooked):
        more = _curve(sizes, figures, np.tile(figures, (500, 1)), 200, 0.95, 0).forecast(100)
        widths.append(more.high - more.low)
        assert more.low <= more.gain <= more.high
    assert widths[1] > widths[0] + 0.01


def test_forecasts_hold_what_more_labels_bring():
    """Labels are added for real: the gain lies in most intervals."""
    inside = 0
    for seed in range(20):
        X, Y = make_problem(900, 900, seed=seed, open_entries=False, noise=1.0)
        few, many = Y.copy(), Y.copy()
        few[60:], many[110:] = -1, -1
        forecast = learning_curve(RegularizedLeastSquares(), X, few, n_draws=100).forecast(50)
        rest = np.arange(300, 900)
        now, then = (
            average_precision(Y[rest], RegularizedLeastSquares().fit(X, part).transduction_[rest]).mean()
            for part in (few, many)
        )
        inside += forecast.low <= then - now <= forecast.high
    assert inside >= 17


def test_the_last_point_of_the_curve_is_cross_validation():
    X, Y = make_problem()
    annotator = RegularizedLeastSquares(smoothing=0.5)
    curve = learning_curve(annotator, X, Y, n_draws=30, random_state=2)
    found = cross_validate(annotator, X, Y, n_draws=30, random_state=2)
    assert curve.map[-1] == pytest.approx(found.map)
    assert (curve.low[-1], curve.high[-1]) == (pytest.approx(found.map_low), pytest.approx(found.map_high))
    assert (np.diff(curve.n_labels) > 0).all()
    assert curve.n_labeled == len(found.held_out.rows)


def test_input_is_checked():
    X, Y = make_problem()
    ridge = RegularizedLeastSquares(1.0)
    with pytest.raises(InvalidInputError, match="rising numbers"):
        learning_curve(ridge, X, Y, shares=[0.5, 0.4, 1.0])
    with pytest.raises(InvalidInputError, match="too few"):
        learning_curve(ridge, X, np.where(np.arange(len(Y))[:, None] < 2, Y, -1))
