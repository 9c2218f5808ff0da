import itertools

import numpy as np

from tagloom.solvers.groups.axes import Layout
from tagloom.solvers.groups.newton import shared_factors


def layout_of(sizes):
    sizes = np.array(sizes)
    return Layout(np.cumsum(sizes) - sizes, sizes)


def all_sets(n_groups):
    return np.array(list(itertools.product([False, True], repeat=n_groups))).T


def test_every_set_of_groups_gets_its_own_factor():
    layout = layout_of([3, 1, 4, 2])
    X = np.random.default_rng(0).standard_normal((40, 10))
    A, patterns = X.T @ X / 40, all_sets(4)
    seen = set()
    for number, rows, factor in shared_factors(A, layout, patterns, 1e-9):
        seen.add(number)
        wanted = np.flatnonzero(patterns[layout.group_of, number])
        if not wanted.size:
            assert factor is None
            continue
        assert sorted(rows) == wanted.tolist()
        np.testing.assert_allclose(factor @ factor.T, A[np.ix_(rows, rows)] + 1e-9 * np.eye(rows.size), atol=1e-12)
        assert not np.triu(factor, 1).any()
    assert seen == set(range(16))


def test_a_set_that_cannot_be_factorised_is_told_and_the_others_are_not_harmed():
    layout = layout_of([2, 2, 2])
    X = np.random.default_rng(1).standard_normal((30, 6))
    A = X.T @ X / 30
    A[2:4, 2:4] -= 10.0 * np.eye(2)  # groups with the second one are indefinite
    patterns = all_sets(3)
    for number, rows, factor in shared_factors(A, layout, patterns, 0.0):
        if patterns[1, number] or not patterns[:, number].any():
            assert factor is None
        else:
            np.testing.assert_allclose(factor @ factor.T, A[np.ix_(rows, rows)], atol=1e-12)
