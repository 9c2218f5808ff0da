"""Which feature groups the selected features come from."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest

from tagloom.core.groups import FeatureGroups
from tagloom.datasets import make_moons
from tagloom.exceptions import InvalidInputError
from tagloom.methods import SFSS
from tagloom.plotting import plot_selected_groups

GROUPS = FeatureGroups(["colour", "edge", "words"], [4, 2, 5])
MASK = np.array([1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0], dtype=bool)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def widths(container):
    return [bar.get_width() for bar in container]


def test_bars_are_shares_of_columns_with_their_numbers():
    ax = plot_selected_groups(MASK, GROUPS)
    (bars,) = ax.containers
    np.testing.assert_allclose(widths(bars), [3 / 4, 0, 1 / 5])
    assert texts(ax) == ["3 of 4", "0 of 2", "1 of 5"]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(GROUPS.names)
    assert ax.get_xlabel() == "share of the group's columns that are selected"
    assert ax.get_label() == "Selected features by group: colour 3 of 4; edge 0 of 2; words 1 of 5."
    # The first group is on top.
    assert ax.get_ylim() == (2.5, -0.5)


def test_scores_of_selected_features_are_a_second_bar():
    scores = np.arange(11.0)  # selected: 0, 2, 3 of colour, 6 of words
    ax = plot_selected_groups(MASK, GROUPS, scores=scores)
    _, bars = ax.containers
    np.testing.assert_allclose(widths(bars), [5 / 11, 0, 6 / 11])
    assert texts(ax)[3:] == ["5", "0", "6"]
    assert len(ax.get_legend().get_texts()) == 2
    assert all(bar.get_hatch() for bar in bars), "told apart by more than the colour"


def test_scores_of_features_that_are_not_selected_may_be_anything():
    scores = np.where(MASK, 1.0, np.inf)
    np.testing.assert_allclose(widths(plot_selected_groups(MASK, GROUPS, scores=scores).containers[1]), [0.75, 0, 0.25])


def test_a_selector_brings_its_scores():
    X, Y = make_moons(60, random_state=0)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(60, 3))])
    groups = FeatureGroups(["place", "noise"], [2, 3])
    model = SFSS(sparsity=1.0, n_neighbors=5).fit(X, Y)
    ax = plot_selected_groups(model, groups)
    counts = model.selected_by_group(groups)
    np.testing.assert_allclose(widths(ax.containers[0]), [counts["place"] / 2, counts["noise"] / 3])
    assert texts(ax)[2] == f"{model.feature_scores_[:2].sum():.3g}"
    assert len(plot_selected_groups(model.get_support(), groups).containers) == 1


def test_any_selector_will_do():
    X = np.random.default_rng(0).normal(size=(30, 11))
    chosen = SelectKBest(k=3).fit(X, np.arange(30) % 2)
    counts = np.bincount(GROUPS.labels[chosen.get_support()], minlength=3)
    np.testing.assert_allclose(widths(plot_selected_groups(chosen, GROUPS).containers[0]), counts / GROUPS.sizes)
    listed = SimpleNamespace(selected_features_=np.flatnonzero(MASK))
    np.testing.assert_allclose(widths(plot_selected_groups(listed, GROUPS).containers[0]), [3 / 4, 0, 1 / 5])


def test_nothing_selected_is_a_result_too():
    ax = plot_selected_groups(np.zeros(11, dtype=bool), GROUPS, scores=np.zeros(11))
    assert texts(ax) == ["0 of 4", "0 of 2", "0 of 5", "0", "0", "0"]


@pytest.mark.parametrize(
    ("selected", "scores", "message"),
    [
        (MASK[:5], None, r"one entry for each of the 11 columns of groups, got shape \(5,\)"),
        ([0, 2, 3], None, "mask of booleans, got list of dtype int64; for column numbers make a mask"),
        (SimpleNamespace(selected_features_=np.array([11])), None, "there are 11, and column 11 is selected"),
        (MASK, np.ones(3), r"scores must have one entry for each of 11 columns, got shape \(3,\)"),
        (MASK, -np.ones(11), "scores must not be negative, got -1"),
        (MASK, np.full(11, np.nan), "scores of selected features must be finite"),
    ],
)
def test_what_does_not_fit_is_told(selected, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_selected_groups(selected, GROUPS, scores=scores)
