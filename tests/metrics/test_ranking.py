"""Oracles: scikit-learn for each tag on its known entries, a literal loop for the break-even point."""

import numpy as np
from hypothesis import given, settings
from sklearn.metrics import average_precision_score, roc_auc_score

from tagloom import metrics
from tests.metrics.oracles import agree, known_columns, mean_or_none, outcome, problems, worst_order


@given(problems())
@settings(max_examples=80, deadline=None)
def test_average_precision_is_that_of_scikit_learn(problem):
    Y, scores = problem
    expected = [average_precision_score(y, s) for y, s in known_columns(Y, scores) if y.sum()]
    agree(outcome(metrics.mean_average_precision, Y, scores), mean_or_none(expected))
    if (Y != -1).any():
        per_tag = metrics.average_precision(Y, scores)
        np.testing.assert_array_equal(np.isnan(per_tag), ~(Y == 1).any(axis=0))
        np.testing.assert_allclose(per_tag[~np.isnan(per_tag)], expected, atol=1e-12)


@given(problems())
@settings(max_examples=80, deadline=None)
def test_roc_areas_are_those_of_scikit_learn(problem):
    Y, scores = problem
    expected = [roc_auc_score(y, s) for y, s in known_columns(Y, scores) if 0 < y.sum() < len(y)]
    agree(outcome(metrics.macro_auc, Y, scores), mean_or_none(expected))
    known = Y != -1
    both = len(np.unique(Y[known])) == 2
    agree(outcome(metrics.micro_auc, Y, scores), roc_auc_score(Y[known], scores[known]) if both else None)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_break_even_point_is_the_precision_of_the_first_n(problem):
    Y, scores = problem
    expected = []
    for y, s in known_columns(Y, scores):
        if y.sum():
            expected.append(np.mean(y[worst_order(y, s)[: y.sum()]]))
    agree(outcome(metrics.break_even_point, Y, scores), mean_or_none(expected))
