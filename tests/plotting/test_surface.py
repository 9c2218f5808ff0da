"""A metric over two parameters."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.plotting import plot_surface

NAMES = {"x_name": "regression weight", "y_name": "sparsity", "metric_name": "MAP"}
VALUES = np.array([[0.1, 0.2, np.nan], [0.4, 0.5, 0.6]])


def test_cells_texts_and_names():
    ax = plot_surface(VALUES, [0.001, 1, 1000], [0.01, 100], **NAMES)
    np.testing.assert_array_equal(ax.images[0].get_array().filled(np.nan), VALUES)
    texts = {text.get_position(): text.get_text() for text in ax.texts}
    assert texts == {(0, 0): "0.100", (1, 0): "0.200", (0, 1): "0.400", (1, 1): "0.500", (2, 1): "0.600"}
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.001", "1", "1000"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0.01", "100"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("regression weight", "sparsity")
    assert ax.images[0].colorbar.ax.get_ylabel() == "MAP"
    # The first y is at the bottom.
    assert ax.get_ylim() == (-0.5, 1.5)
    assert "lowest 0.100 at regression weight 0.001, sparsity 0.01" in ax.get_label()
    assert "highest 0.600 at regression weight 1000, sparsity 100" in ax.get_label()


def test_texts_are_black_on_light_and_white_on_dark():
    ax = plot_surface([[0.0, 1.0]], [1, 10], [1], **NAMES)
    assert [text.get_color() for text in ax.texts] == ["white", "black"]


def test_a_constant_surface_can_be_drawn():
    ax = plot_surface(np.full((2, 2), 0.5), [1, 10], [1, 10], **NAMES)
    ax.figure.draw_without_rendering()
    assert {text.get_text() for text in ax.texts} == {"0.500"}


@pytest.mark.parametrize(
    ("values", "x", "message"),
    [
        (VALUES.T, [1, 2, 3], r"a row for each y and a column for each x, shape \(2, 3\), got \(3, 2\)"),
        (np.full((2, 3), np.nan), [1, 2, 3], "every entry of values is NaN"),
        (VALUES, [1, 1, 2], "x must have distinct values"),
        (np.empty((2, 0)), [], "x is empty"),
        (np.full((2, 3), np.inf), [1, 2, 3], "values must be finite or NaN"),
    ],
)
def test_what_does_not_fit_is_told(values, x, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_surface(values, x, [1, 2], **NAMES)
