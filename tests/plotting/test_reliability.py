"""Probabilities beside what came true."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.plotting.reliability import plot_reliability


def test_points_bars_and_words():
    ax = plot_reliability([0.2, 0.5, 0.9], [0.1, 0.5, 1.0], [25, 100, 25])
    points, _, (bars,) = ax.containers[0].lines
    np.testing.assert_allclose(points.get_xydata(), [[0.2, 0.1], [0.5, 0.5], [0.9, 1.0]])
    np.testing.assert_allclose(bars.get_segments()[1], [[0.5, 0.45], [0.5, 0.55]])
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0, 0], [1, 1]])
    assert ax.get_label() == "Share that has the tag against probability, 3 bins: 0.033 apart on average."


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (([0.5], [0.5, 0.6], [1, 1]), "bins of one length"),
        (([1.5], [0.5], [1]), "within 0 and 1"),
        (([0.5], [0.5], [0]), "at least 1"),
        (([], [], []), "empty"),
    ],
)
def test_what_does_not_fit_is_told(bins, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_reliability(*bins)
