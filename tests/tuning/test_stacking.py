"""Weights of combined scores."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.metrics import mean_average_precision
from tagloom.tuning.auto.stacking import gain_stands_out, rankable_tags, score_spread, stack_scores


def problem(n=200, c=12, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, c)) < 0.2).astype(np.int8)
    noise = [rng.standard_normal((n, c)) for _ in range(3)]
    return Y, [Y + 0.7 * noise[0], Y + 0.7 * noise[1], noise[2]]


def test_members_that_differ_are_combined_and_noise_gets_nothing():
    Y, members = problem()
    stack = stack_scores(members, Y, start=[1.0, 0.0, 0.0])
    assert stack.weights.sum() == pytest.approx(1.0)
    assert stack.weights[1] > 0.2
    assert stack.weights[2] == 0.0
    combined = sum(weight * member for weight, member in zip(stack.weights, members, strict=True))
    assert mean_average_precision(Y, combined) == pytest.approx(stack.score)
    assert mean_average_precision(Y, members[0]) == pytest.approx(stack.start_score)
    assert stack.score > stack.start_score + 0.02


def test_the_start_stays_where_nothing_can_be_ranked():
    Y, members = problem()
    Y[:] = 0
    Y[0] = 1
    stack = stack_scores(members, Y, start=[1.0, 3.0, 0.0])
    np.testing.assert_array_equal(stack.weights, [0.25, 0.75, 0.0])
    assert np.isnan(stack.score)


def test_gains_within_the_noise_change_nothing():
    rng = np.random.default_rng(1)
    Y = (rng.random((60, 30)) < 0.2).astype(np.int8)
    members = [rng.standard_normal(Y.shape) for _ in range(2)]
    stack = stack_scores(members, Y, start=[1.0, 0.0], caution=3.0)
    np.testing.assert_array_equal(stack.weights, [1.0, 0.0])


def test_the_search_ends_when_it_is_told_to():
    Y, members = problem()
    stack = stack_scores(members, Y, start=[1.0, 0.0, 0.0], go_on=lambda: False)
    assert stack.history == []


def test_a_single_tag_has_no_standard_error_but_a_gain():
    assert gain_stands_out(np.array([0.1]), 1.0)
    assert not gain_stands_out(np.array([0.0]), 1.0)
    assert not gain_stands_out(np.empty(0), 0.0)
    assert not gain_stands_out(np.array([1.0, -0.9, 1.0, -0.9, 0.0, 0.0]), 1.0)


def test_rankable_tags_have_two_positives_and_a_negative():
    Y = np.array([[1, 1, 1, -1], [1, 0, 1, 1], [0, 0, 1, 0]])
    np.testing.assert_array_equal(rankable_tags(Y), [True, False, False, False])


def test_the_spread_is_taken_over_known_entries_around_each_tags_mean():
    Y = np.array([[1, 0], [0, -1], [0, 1]], dtype=np.int8)
    scores = np.array([[1.0, 10.0], [2.0, 99.0], [3.0, 12.0]])
    assert score_spread(scores, Y) == pytest.approx(np.sqrt((1 + 0 + 1 + 1 + 1) / 5))
    assert score_spread(np.ones((3, 2)), Y) == 1.0


@pytest.mark.parametrize("start", [[1.0], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0]])
def test_a_start_that_does_not_fit_is_refused(start):
    Y, members = problem()
    with pytest.raises(InvalidInputError, match="start"):
        stack_scores(members, Y, start=start)


def test_a_member_may_become_half_of_the_combination_where_one_more_of_it_brings_nothing():
    Y = np.array([[1], [1], [0], [0]], dtype=np.int8)
    bad, good = np.array([[0.0], [0.0], [10.0], [10.0]]), np.array([[20.0], [20.0], [0.0], [0.0]])
    found = stack_scores([bad, good], Y, start=[50.0, 0.0])
    np.testing.assert_allclose(found.weights, [0.5, 0.5])
    assert found.score == 1.0
    assert [member for member, _ in found.history] == [1]
