"""Regularisation paths."""

import itertools

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.plotting import plot_paths
from tagloom.plotting._canvas import GREY

GROUPS = FeatureGroups(["colour", "edge"], [2, 3])
STRENGTHS = np.array([1.0, 0.1, 0.01])
COEFS = np.random.default_rng(0).normal(size=(3, 5, 4)) * np.array([0.0, 1.0, 2.0])[:, None, None]


def entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_line_for_each_group_is_its_norm():
    ax = plot_paths(STRENGTHS, COEFS, GROUPS, tag=2)
    assert ax.get_xscale() == "log"
    assert entries(ax) == ["colour", "edge"]
    for line, columns in zip(ax.lines, (slice(0, 2), slice(2, 5)), strict=True):
        np.testing.assert_allclose(line.get_xdata(), STRENGTHS[::-1])
        np.testing.assert_allclose(line.get_ydata(), np.linalg.norm(COEFS[::-1, columns, 2], axis=1))
    assert ax.get_ylabel() == "norm of the group's coefficients"


def test_all_tags_together_are_norms_of_whole_rows():
    lines = plot_paths(STRENGTHS, COEFS, GROUPS, tag=None).lines
    np.testing.assert_allclose(lines[1].get_ydata()[0], np.linalg.norm(COEFS[2, 2:]))
    ax = plot_paths(STRENGTHS, COEFS, tag=None)
    np.testing.assert_allclose(ax.lines[3].get_ydata()[0], np.linalg.norm(COEFS[2, 3]))
    assert ax.get_ylabel() == "norm of the column's coefficients"


def test_without_groups_the_largest_columns_have_a_label(matplotlib):
    ax = plot_paths(STRENGTHS, COEFS[:, :, 0], max_labels=2)
    largest = np.sort(np.argsort(-np.abs(COEFS[2, :, 0]))[:2])
    assert entries(ax) == [f"column {index}" for index in largest]
    for index, line in enumerate(ax.lines):
        np.testing.assert_allclose(line.get_ydata(), COEFS[::-1, index, 0])
        assert (matplotlib.colors.to_hex(line.get_color()).upper() == GREY) == (index not in largest)
    assert ax.get_ylabel() == "coefficient"


def test_strengths_may_differ_between_tags():
    ax = plot_paths(STRENGTHS[:, None] * [1, 2, 3, 4], COEFS, GROUPS, tag=3, chosen=[1, 1, 1, 0.2])
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 4 * STRENGTHS[::-1])
    np.testing.assert_allclose(ax.lines[-1].get_xdata(), 0.2)
    assert entries(ax)[-1] == "chosen: 0.2"


@pytest.mark.parametrize("whole", [False, True])
def test_true_norms_are_dotted_lines_of_the_same_colour(whole):
    truth = np.zeros((5, 4))
    truth[:2, 1] = [3.0, 4.0]
    ax = plot_paths(STRENGTHS, COEFS, GROUPS, tag=1, truth=truth if whole else truth[:, 1])
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert [line.get_ydata()[0] for line in dotted] == [5.0, 0.0]
    solid = [line for line in ax.lines if line.get_linestyle() != ":"]
    assert [line.get_color() for line in dotted] == [line.get_color() for line in solid]
    assert entries(ax) == ["colour", "edge", "true value"]


@pytest.mark.parametrize("smallest", [0.9, 0.05, 1e-3])
def test_ticks_are_some_and_do_not_touch(smallest):
    ax = plot_paths([1.0, 0.5 * (1 + smallest), smallest], COEFS, GROUPS)
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    boxes = [
        label.get_window_extent()
        for minor in (False, True)
        for place, label in zip(ax.get_xticks(minor=minor), ax.get_xticklabels(minor=minor), strict=True)
        if label.get_text() and low <= place <= high
    ]
    assert len(boxes) >= 3
    boxes.sort(key=lambda box: box.x0)
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))


def test_strengths_in_any_order_give_the_same_lines():
    shuffled = plot_paths(STRENGTHS[[1, 2, 0]], COEFS[[1, 2, 0]], GROUPS).lines
    for one, other in zip(shuffled, plot_paths(STRENGTHS, COEFS, GROUPS).lines, strict=True):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 0, 2], COEFS), {}, "strengths must be positive"),
        (([1, 1, 1], COEFS), {}, "not all the same, got 1 to 1"),
        (([1, 2], COEFS), {}, "one strength for each of the 3 solutions, got 2"),
        (([], []), {}, "coefs must have 2 or 3 dimensions"),
        (([], np.empty((0, 5))), {}, "coefs is empty"),
        ((STRENGTHS, COEFS, FeatureGroups(["a"], [4])), {}, "groups must have the 5 columns of coefs, got 4"),
        ((STRENGTHS, COEFS), {"tag": 4}, "tag must be a column from 0 to 3"),
        ((np.ones((3, 2)), COEFS), {}, r"strengths of shape \(3, 2\) need coefs of shape \(k, d, 2\)"),
        ((STRENGTHS, COEFS), {"truth": np.ones(3)}, r"shape \(5, 4\) or \(5,\), got shape \(3,\)"),
        ((STRENGTHS, COEFS), {"truth": np.ones(5), "tag": None}, r"of shape \(5, 4\), got shape \(5,\)"),
        ((STRENGTHS, COEFS), {"chosen": 0.0}, "chosen must be positive"),
        ((STRENGTHS, COEFS), {"chosen": [1.0, 1.0], "tag": None}, "chosen has 2 strengths"),
        ((STRENGTHS, COEFS), {"chosen": np.nan}, "chosen must be finite"),
        ((STRENGTHS, COEFS), {"max_labels": 0}, "max_labels must be at least 1"),
    ],
)
def test_what_does_not_fit_is_told(arguments, options, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_paths(*arguments, **options)
