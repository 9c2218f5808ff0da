"""Arrays and groups as figures need them."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import as_numbers, check_groups, group_norms


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], r"heights is empty: there is nothing to draw \(shape \(0,\)\)"),
        ([[1.0]], r"heights must have 1 dimensions, got shape \(1, 1\)"),
        (["a"], "heights must be an array of numbers"),
        ([1.0, np.nan], "heights must be finite; leave out"),
        ([1.0, np.inf], "heights must be finite"),
    ],
)
def test_what_cannot_be_drawn_is_named(values, message):
    with pytest.raises(InvalidInputError, match=message):
        as_numbers(values, "heights", (1,))


def test_gaps_are_accepted_where_asked_for_but_nothing_infinite():
    np.testing.assert_array_equal(as_numbers([1, np.nan], "heights", (1,), gaps=True), [1, np.nan])
    with pytest.raises(InvalidInputError, match="must be finite or NaN"):
        as_numbers([np.inf, np.nan], "heights", (1,), gaps=True)


def test_groups_must_be_groups_and_some():
    with pytest.raises(InvalidInputError, match=r"must be a FeatureGroups.*got list"):
        check_groups(["colour"])
    with pytest.raises(InvalidInputError, match="has no group"):
        check_groups(FeatureGroups([], []))


@pytest.mark.parametrize("axis", [0, 1])
def test_norms_equal_those_of_each_group_by_itself(axis):
    groups = FeatureGroups(["a", "b", "c"], [2, 1, 4])
    coef = np.random.default_rng(0).normal(size=(7, 7))
    norms = group_norms(coef, groups, axis=axis)
    for index, name in enumerate(groups):
        part = coef[groups[name]] if axis == 0 else coef[:, groups[name]]
        np.testing.assert_allclose(norms.take(index, axis=axis), np.linalg.norm(part, axis=axis))
