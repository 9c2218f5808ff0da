"""Figures of drawn-again photos."""

import numpy as np

from tagloom.metrics import average_precision
from tagloom.tuning._bootstrap import draw_counts, interval, mean_over_tags, resampled_average_precision


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
    assert np.isnan(mean_over_tags(nothing)).all()
    np.testing.assert_allclose(mean_over_tags(found), np.nanmean(found, axis=1))


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
