"""Which feature groups tell which tag."""

from types import SimpleNamespace

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.core.vocabulary import TagVocabulary
from tagloom.exceptions import InvalidInputError
from tagloom.plotting import plot_tag_groups

GROUPS = FeatureGroups(["colour", "edge", "words"], [2, 1, 1])
TAGS = ["sunset", "tower", "sea"]
COEF = np.array([[3.0, 0, 0], [4.0, 0, 0], [0, 2.0, 0], [5.0, 6.0, 0]])  # sea uses nothing
SHARES = [[0.5, 0, 0.5], [0, 0.25, 0.75], [0, 0, 0]]


def drawn(ax):
    return ax.images[0].get_array()


def rows(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("given", [COEF, SimpleNamespace(coef_=COEF), [[5, 0, 5], [0, 2, 6], [0, 0, 0]]])
def test_cells_are_shares_and_empty_where_nothing_is_used(given):
    ax = plot_tag_groups(given, GROUPS, TAGS, order=False)
    np.testing.assert_allclose(drawn(ax).filled(0.0), SHARES)
    np.testing.assert_array_equal(drawn(ax).mask, np.equal(SHARES, 0))
    empty = ax.images[0].to_rgba(drawn(ax))[..., 3] == 0
    np.testing.assert_array_equal(empty, np.equal(SHARES, 0), err_msg="an empty cell has no colour at all")
    assert rows(ax) == TAGS
    assert [label.get_text() for label in ax.get_xticklabels()] == list(GROUPS.names)
    assert "sunset colour 50%; tower words 75%; sea none" in ax.get_label()


def test_a_small_share_is_not_empty():
    assert not drawn(plot_tag_groups([[1e-12, 1.0, 0.0]], GROUPS, ["sunset"])).mask[0, 0]


def test_similar_tags_are_neighbours_and_keep_their_rows():
    rng = np.random.default_rng(0)
    kinds = np.arange(12) % 3
    norms = np.eye(3)[kinds] + 0.1 * rng.random((12, 3))
    tags = TagVocabulary([f"tag {index:02d}" for index in range(12)])
    ax = plot_tag_groups(norms, GROUPS, tags)
    order = [list(tags).index(name) for name in rows(ax)]
    assert sorted(order) == list(range(12))
    assert np.count_nonzero(np.diff(kinds[order])) == 2, "three blocks"
    np.testing.assert_allclose(drawn(ax), (norms / norms.sum(axis=1, keepdims=True))[order])


def test_of_many_tags_the_largest_are_shown():
    norms = np.arange(1.0, 7.0)[:, None] * [1, 2, 3]
    ax = plot_tag_groups(norms[::-1], GROUPS, list("fedcba"), max_tags=2, order=False)
    assert rows(ax) == ["f", "e"]
    assert ax.get_ylabel() == "2 of 6 tags, those with the largest norms"
    assert plot_tag_groups(norms, GROUPS, list("abcdef")).get_ylabel() == "tag"


def test_nothing_selected_at_all_is_an_empty_map():
    ax = plot_tag_groups(np.zeros((4, 3)), GROUPS, TAGS)
    assert drawn(ax).mask.all()
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (COEF[:3, :2], {}, r"shape \(4, 3\), columns by tags, or norms of shape \(3, 3\), tags by groups, got shape"),
        (-np.ones((3, 3)), {}, "norms must not be negative, got -1"),
        (np.full((3, 3), np.nan), {}, "must be finite"),
        (np.empty((0, 3)), {}, "is empty"),
        (COEF, {"max_tags": 0}, "max_tags must be at least 1"),
    ],
)
def test_what_does_not_fit_is_told(given, options, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_tag_groups(given, GROUPS, TAGS, **options)
