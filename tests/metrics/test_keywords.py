"""Oracles: literal loops over photos and tags; scikit-learn for the precision of predicted entries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_score

from tagloom import metrics
from tagloom.exceptions import InvalidInputError
from tests.metrics.oracles import agree, known_columns, mean_or_none, outcome, problems, worst_order


@given(problems())
@settings(max_examples=60, deadline=None)
def test_complete_length_and_accuracy_by_loops_over_photos(problem):
    Y, scores = problem
    lengths, accuracies = [], []
    for y, s in known_columns(Y.T, scores.T):
        if y.sum():
            ranked = y[worst_order(y, s)]
            lengths.append(1 + int(np.flatnonzero(ranked)[-1]))
            accuracies.append(ranked[: y.sum()].mean())
    agree(outcome(metrics.complete_length, Y, scores), mean_or_none(lengths))
    agree(outcome(metrics.annotation_accuracy, Y, scores), mean_or_none(accuracies))


@given(problems(), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_keyword_metrics_by_loops_over_photos_and_tags(problem, n_keywords):
    Y, scores = problem
    given_tags = np.zeros(Y.shape, dtype=bool)
    for row in range(Y.shape[0]):
        known = np.flatnonzero(Y[row] != -1)
        order = worst_order(Y[row, known], scores[row, known])
        given_tags[row, known[order[:n_keywords]]] = True
    if (Y != -1).any():
        np.testing.assert_array_equal(metrics.assign_keywords(Y, scores, n_keywords), given_tags)
    precisions, recalls, found = [], [], 0
    for tag in np.flatnonzero((Y == 1).any(axis=0)):
        right = int((given_tags[:, tag] & (Y[:, tag] == 1)).sum())
        precisions.append(right / given_tags[:, tag].sum() if given_tags[:, tag].any() else 0.0)
        recalls.append(right / (Y[:, tag] == 1).sum())
        found += right >= 1
    agree(outcome(metrics.keyword_precision, Y, scores, n_keywords), mean_or_none(precisions))
    agree(outcome(metrics.keyword_recall, Y, scores, n_keywords), mean_or_none(recalls))
    agree(outcome(metrics.n_recalled_keywords, Y, scores, n_keywords), found if precisions else None)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_precision_is_that_of_scikit_learn(problem):
    Y, scores = problem
    known = Y != -1
    with_positive = (Y == 1).any()
    micro = precision_score(Y[known], scores[known] > 1, zero_division=0) if with_positive else None
    agree(outcome(metrics.precision, Y, scores, 1.0), micro)
    macro = [precision_score(y, s > 1, zero_division=0) for y, s in known_columns(Y, scores) if y.sum()]

    def macro_precision(labels, values):
        return metrics.precision(labels, values, np.ones(Y.shape[1]), average="macro")

    agree(outcome(macro_precision, Y, scores), mean_or_none(macro))


def test_a_tag_that_is_never_given_counts_as_zero_precision():
    Y = np.array([[1, 1], [1, 0]])
    scores = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert metrics.keyword_precision(Y, scores, 1) == 0.5
    assert metrics.precision(Y, scores, 2.0) == 0.0


@pytest.mark.parametrize("n_keywords", [0, -1, 2.5, True])
def test_number_of_keywords_is_checked(n_keywords):
    with pytest.raises(InvalidInputError, match="n_keywords"):
        metrics.assign_keywords([[1, 0]], [[0.0, 1.0]], n_keywords)


def test_options_of_precision_are_checked():
    with pytest.raises(InvalidInputError, match="one per tag"):
        metrics.precision([[1, 0]], [[0.0, 1.0]], [0.1, 0.2, 0.3])
    with pytest.raises(InvalidInputError, match="average"):
        metrics.precision([[1, 0]], [[0.0, 1.0]], average="samples")
