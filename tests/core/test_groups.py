import numpy as np
import pytest
from scipy import sparse

from tagloom import FeatureGroups
from tagloom.exceptions import InvalidInputError


def test_split_and_join_are_inverse():
    groups = FeatureGroups(["a", "b", "c"], [2, 1, 3])
    X = np.arange(12.0).reshape(2, 6)
    parts = groups.split(X)
    assert {name: part.shape[1] for name, part in parts.items()} == {"a": 2, "b": 1, "c": 3}
    assert np.shares_memory(parts["c"], X)
    np.testing.assert_array_equal(groups.join(parts), X)
    np.testing.assert_array_equal(groups.labels, [0, 0, 1, 2, 2, 2])


def test_sparse_columns():
    groups = FeatureGroups(["a", "b"], [2, 1])
    X = sparse.csr_array(np.eye(3))
    np.testing.assert_array_equal(groups.split(X)["b"].toarray(), [[0], [0], [1]])


def test_select_keeps_the_asked_order():
    groups, columns = FeatureGroups(["a", "b", "c"], [2, 1, 1]).select(["c", "a"])
    assert groups == FeatureGroups(["c", "a"], [1, 2])
    np.testing.assert_array_equal(columns, [3, 0, 1])


@pytest.mark.parametrize(("names", "sizes"), [(["a"], [1, 2]), (["a", "a"], [1, 1]), ([" "], [1]), (["a"], [0])])
def test_bad_groups_are_refused(names, sizes):
    with pytest.raises(InvalidInputError):
        FeatureGroups(names, sizes)


def test_wrong_width_and_unknown_name():
    groups = FeatureGroups(["a"], [2])
    with pytest.raises(InvalidInputError, match="2 columns"):
        groups.split(np.zeros((1, 3)))
    with pytest.raises(InvalidInputError, match="no feature group 'b'"):
        groups["b"]
    with pytest.raises(InvalidInputError, match="missing feature groups"):
        groups.join({})
