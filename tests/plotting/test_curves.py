"""Curves of means with their standard deviations."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.plotting import plot_curves

NAMES = {"x_name": "labelled, %", "y_name": "MAP"}
X = [2, 5, 10]
SERIES = {"SFSS": ([0.2, 0.3, 0.5], [0.1, 0.05, 0.0]), "_other": ([0.1, np.nan, 0.3], None)}


def ticks(ax):
    return [label.get_text() for label in ax.get_xticklabels()]


def test_means_are_lines_and_deviations_bars():
    ax = plot_curves(X, SERIES, **NAMES)
    line, _, (bars,) = ax.containers[0].lines
    np.testing.assert_allclose(line.get_xydata(), np.column_stack([X, SERIES["SFSS"][0]]))
    for segment, x, mean, std in zip(bars.get_segments(), X, *SERIES["SFSS"], strict=True):
        np.testing.assert_allclose(segment, [[x, mean - std], [x, mean + std]])
    other = ax.containers[1].lines[0]
    np.testing.assert_array_equal(other.get_ydata(), SERIES["_other"][0])
    assert not ax.containers[1].has_yerr
    assert line.get_marker() != other.get_marker()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SFSS", "_other"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("labelled, %", "MAP")
    assert ax.get_label() == "MAP against labelled, %: SFSS from 0.2 to 0.5; _other from 0.1 to 0.3."


def test_a_logarithmic_axis_has_its_ticks_at_the_values():
    ax = plot_curves(X, SERIES, log_x=True, **NAMES)
    ax.figure.draw_without_rendering()
    assert ax.get_xscale() == "log"
    np.testing.assert_allclose(ax.get_xticks(), X)
    assert ticks(ax) == ["2", "5", "10"]
    assert not len(ax.get_xticks(minor=True))


def test_names_are_put_at_equal_distances():
    ax = plot_curves(["2 %", "one $ each", "all"], SERIES, **NAMES)
    np.testing.assert_array_equal(ax.containers[0].lines[0].get_xdata(), [0, 1, 2])
    assert ticks(ax) == ["2 %", "one $ each", "all"]


def test_a_crowd_of_values_has_ordinary_ticks():
    ax = plot_curves(np.arange(100), {"one": (np.arange(100), None)}, **NAMES)
    assert len(ax.get_xticks()) < 15


@pytest.mark.parametrize(
    ("x", "series", "options", "message"),
    [
        (X, {}, {}, "series is empty"),
        ([], SERIES, {}, "x is empty"),
        ([0, 1, 2], SERIES, {"log_x": True}, "x must be positive on a logarithmic axis, got 0"),
        (["a", "b", "c"], SERIES, {"log_x": True}, "a logarithmic axis needs numbers"),
        (X, {"one": [1, 2, 3]}, {}, r"series 'one' must be a tuple \(mean, std\)"),
        (X, {"one": ([1, 2], None)}, {}, "must have 3 means and deviations"),
        (X, {"one": ([1, 2, 3], [1])}, {}, "must have 3 means and deviations"),
        (X, {"one": ([1, 2, 3], [0, 0, -1])}, {}, "std of 'one' must be at least 0"),
        (X, {"one": ([1, 2, 3], [0, 0, np.nan])}, {}, "std of 'one' must be at least 0 wherever"),
        (X, {"one": ([np.nan] * 3, None)}, {}, "every mean of series 'one' is NaN"),
    ],
)
def test_what_does_not_fit_is_told(x, series, options, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_curves(x, series, **options, **NAMES)
