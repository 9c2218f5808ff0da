"""Figures of drawn-again photos."""

import numpy as np
import pytest
from scipy.stats import beta

from tagloom.metrics import average_precision
from tagloom.tuning.evaluation.evaluation import (
    centred,
    draw_counts,
    interval,
    interval_around,
    mean_over_tags,
    resampled_average_precision,
    share_interval,
    spread_of_few,
)


def make_problem(n=150, n_labelled=60, c=3, seed=0, *, open_entries=True, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    Y = (X[:, :c] + noise * rng.normal(size=(n, c)) > 0.5).astype(np.int8)
    Y[n_labelled:] = -1
    if open_entries:
        Y[:n_labelled][rng.random((n_labelled, c)) < 0.15] = -1
    return X, Y


def test_resampled_figures_are_those_of_repeated_photos():
    X, Y = make_problem(40, 40)
    scores = np.round(X[:, :3] + 0.5 * np.random.default_rng(1).normal(size=(40, 3)), 1)  # with ties
    counts = draw_counts(40, 25, seed=5)
    assert (counts.sum(axis=1) == 40).all()
    found = resampled_average_precision(Y, scores, counts)
    for draw, often in enumerate(counts):
        rows = np.repeat(np.arange(40), often)
        np.testing.assert_allclose(found[draw], average_precision(Y[rows], scores[rows]), atol=1e-12)
    nothing = resampled_average_precision(np.zeros_like(Y), scores, counts)
    assert np.isnan(nothing).all()
    assert np.isnan(mean_over_tags(nothing, np.full(3, np.nan))).all()


def test_every_sample_is_of_the_same_tags():
    """A literal loop: a sample without a positive of a tag leaves the tag at its own figure."""
    drawn = np.array([[0.2, np.nan, np.nan], [0.4, 0.9, np.nan], [0.9, 0.7, np.nan]])
    figures = np.array([0.3, 0.6, np.nan])
    expected = [
        (0.3 + 0.2 - 0.5 + 0.6) / 2,
        (0.3 + 0.4 - 0.5 + 0.6 + 0.9 - 0.8) / 2,
        (0.3 + 0.9 - 0.5 + 0.6 + 0.7 - 0.8) / 2,
    ]
    moved = centred(drawn, figures)
    np.testing.assert_allclose(np.nanmean(moved[:, :2], axis=0), figures[:2])
    np.testing.assert_array_equal(np.isnan(moved), np.isnan(drawn))
    np.testing.assert_allclose(mean_over_tags(moved, figures), expected)


def test_an_interval_holds_its_figure_and_possible_figures_alone():
    skewed = np.concatenate([np.full(99, 0.51), [0.01]])
    low, high = interval_around(0.505, skewed, 0.9)
    assert (low, high) == (0.505, 0.51)
    np.testing.assert_allclose(interval_around(0.9, np.linspace(-0.1, 1.1, 101), 0.98), (0.0, 1.0))
    assert interval_around(-0.2, np.full(9, -0.3), 0.9, least=-1.0) == (-0.3, -0.2)
    assert np.isnan(interval_around(np.array([np.nan]), np.full((9, 1), np.nan), 0.9)).all()


def test_intervals_are_percentiles():
    values = np.arange(101.0)
    np.testing.assert_allclose(interval(values, 0.9), (5.0, 95.0))
    low, high = interval(np.column_stack([values, np.full(101, np.nan)]), 0.5)
    np.testing.assert_array_equal(low, [25.0, np.nan])
    np.testing.assert_array_equal(high, [75.0, np.nan])


def test_intervals_hold_what_another_sample_gives():
    """The figure of many photos lies in the intervals of most small samples."""
    rng = np.random.default_rng(0)
    truth = (rng.random((20000, 1)) < 0.3).astype(np.int8)
    scores = truth + rng.normal(size=truth.shape)
    expected = average_precision(truth, scores)[0]
    inside = 0
    for start in range(0, 20000, 200):
        part = slice(start, start + 200)
        drawn = resampled_average_precision(truth[part], scores[part], draw_counts(200, 200, seed=start))
        low, high = interval(drawn[:, 0], 0.9)
        inside += low <= expected <= high
    assert 80 <= inside <= 98  # of 100; nominally 90


def test_the_interval_of_a_mean_holds_the_expected_mean():
    """About 95 of 100 intervals hold the mean that sets of as many photos have on average."""
    rng = np.random.default_rng(0)
    n, c, n_sets = 150, 6, 300
    ends, means = [], []
    for seed in range(n_sets):
        truth = (rng.random((n, c)) < np.linspace(0.1, 0.4, c)).astype(np.int8)
        scores = truth + rng.normal(size=truth.shape)
        figures = average_precision(truth, scores)
        drawn = centred(resampled_average_precision(truth, scores, draw_counts(n, 200, seed)), figures)
        means.append(figures.mean())
        ends.append(interval_around(means[-1], mean_over_tags(drawn, figures), 0.95))
    low, high = np.array(ends).T
    expected = np.mean(means)
    assert 0.91 <= np.mean((low <= expected) & (expected <= high)) <= 0.98


def test_the_interval_of_a_share_is_that_of_jeffreys_and_holds_the_share():
    low, high = share_interval(np.array([0.5, 1.0, 0.0, np.nan]), np.array([10, 2, 3, 0]), 0.95)
    np.testing.assert_allclose([low[0], high[0]], beta.ppf([0.025, 0.975], 5.5, 5.5))
    assert low[1] == pytest.approx(beta.ppf(0.025, 2.5, 0.5))
    assert (high[1], low[2]) == (1.0, 0.0)
    assert np.isnan([low[3], high[3]]).all()
    assert share_interval(0.7, 10, 0.9)[0] > share_interval(0.7, 10, 0.99)[0]


def test_tags_of_few_examples_vary_as_a_share_of_so_many():
    rng = np.random.default_rng(0)
    drawn = np.column_stack([np.full(4000, 1.0), 0.4 + 0.3 * rng.normal(size=4000), np.full(4000, np.nan)])
    drawn[::3, 0] = np.nan
    figures = np.array([1.0, 0.4, np.nan])
    found = spread_of_few(drawn, figures, np.array([2, 30, 0]), seed=0)
    assert found[:, 0].std() == pytest.approx(beta(2.5, 0.5).std(), rel=0.05)
    np.testing.assert_array_equal(found[:, 1], drawn[:, 1])  # these vary more already
    assert np.isnan(found[:, 2]).all()
    np.testing.assert_array_equal(found, spread_of_few(drawn, figures, np.array([2, 30, 0]), seed=0))


def test_intervals_of_rare_tags_hold_the_expected_figures():
    """Of every number of examples, at least 95 of 100; and the mean over all tags lies in its own about as often."""
    rng = np.random.default_rng(0)
    n, c, n_sets = 80, 30, 200
    found, counts, ends = [], [], []
    for seed in range(n_sets):
        truth = (rng.random((n, c)) < np.linspace(0.02, 0.1, c)).astype(np.int8)
        scores = 2.5 * truth + rng.normal(size=truth.shape)
        figures, n_positive = average_precision(truth, scores), truth.sum(axis=0)
        samples = centred(resampled_average_precision(truth, scores, draw_counts(n, 100, seed)), figures)
        varied = mean_over_tags(spread_of_few(samples, figures, n_positive, seed), figures)
        ends.append(interval_around(np.nanmean(figures), varied, 0.95))
        found.append(figures)
        counts.append(n_positive)
    figures, counts = np.array(found), np.array(counts)
    expected = np.broadcast_to(np.nanmean(figures, axis=0), figures.shape)
    low, high = share_interval(figures, counts, 0.95)
    inside = (low <= expected) & (expected <= high)
    for n_examples in (1, 2, 3, 5, 8):
        assert inside[counts == n_examples].mean() > 0.95
    low, high = np.array(ends).T
    mean = np.nanmean(np.where(counts > 0, expected, np.nan), axis=1)
    assert 0.9 <= np.mean((low <= mean) & (mean <= high)) <= 0.99
