"""What labels have brought, and what more of them would bring."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.plotting.learning_curve import plot_learning_curve

CURVE = ([10, 20, 40], [0.2, 0.3, 0.35], [0.1, 0.2, 0.3], [0.3, 0.4, 0.4])


def test_curve_band_and_forecast():
    ax = plot_learning_curve(*CURVE, forecast=([40, 80], [0.36, 0.4]))
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.column_stack(CURVE[:2]))
    np.testing.assert_allclose(ax.lines[1].get_xydata(), [[40, 0.36], [80, 0.4]])
    corners = ax.collections[0].get_paths()[0].vertices
    assert {(10.0, 0.1), (10.0, 0.3), (40.0, 0.3), (40.0, 0.4)} <= {tuple(point) for point in corners.round(9)}
    assert ax.get_label() == (
        "MAP on held-out photos from 0.200 with 10 labelled photos to 0.350 with 40, 0.400 forecast with 80."
    )
    assert len(plot_learning_curve(*CURVE).lines) == 1


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (([10, 20], [0.1], [0.1, 0.1], [0.1, 0.1]), "figures must have 2 entries"),
        (([20, 10], [0.1, 0.2], [0.1, 0.1], [0.3, 0.3]), "n_labels must rise"),
        (([10, 20], [0.1, 0.2], [0.3, 0.1], [0.2, 0.3]), "low must not lie above high"),
    ],
)
def test_what_does_not_fit_is_told(curve, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_learning_curve(*curve)
