"""A figure of each tag with its interval."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.plotting.tag_figures import plot_tag_figures


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_best_on_top_with_intervals():
    ax = plot_tag_figures(["a", "$b", "c"], [0.2, 0.9, np.nan], [0.1, 0.8, np.nan], [0.3, 1.0, np.nan])
    assert names(ax) == ["$b", "a"]
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.9, 0], [0.2, 1]])
    segments = ax.collections[0].get_segments()
    np.testing.assert_allclose(segments[0], [[0.8, 0], [1.0, 0]])
    low, high = ax.get_ylim()
    assert low > high  # the first row is on top
    assert ax.get_label() == "average precision of 2 of 3 tags: best $b 0.900, worst a 0.200."


def test_of_many_the_best_and_the_worst_are_drawn():
    values = np.linspace(1, 0, 100)
    ax = plot_tag_figures([f"{n}" for n in range(100)], values, values, values, most=5)
    assert names(ax) == ["0", "1", "2", "98", "99"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a"], [0.1, 0.2], [0.1], [0.1]), {}, "for each of 1 tags"),
        ((["a"], [np.nan], [np.nan], [np.nan]), {}, "no tag has a figure"),
        ((["a"], [0.1], [0.1], [0.1]), {"most": 1}, "most must be at least 2"),
    ],
)
def test_what_does_not_fit_is_told(arguments, options, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_tag_figures(*arguments, **options)
