"""What each feature group brings."""

import warnings

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import NothingToScoreError
from tagloom.methods import NOVA, RegularizedLeastSquares
from tagloom.metrics import average_precision
from tagloom.tuning.evaluation.evaluation import deal_folds, score_held_out
from tagloom.tuning.evaluation.group_figures import compare_groups

GROUPS = FeatureGroups(["useful", "noise"], [4, 3])


def make_problem(n=150, n_labelled=60, c=3, seed=0, *, open_entries=True, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, GROUPS.n_columns))
    Y = (X[:, :c] + noise * rng.normal(size=(n, c)) > 0.5).astype(np.int8)
    Y[n_labelled:] = -1
    if open_entries:
        Y[:n_labelled][rng.random((n_labelled, c)) < 0.15] = -1
    return X, Y


def test_groups_are_measured_without_and_alone():
    X, Y = make_problem(open_entries=False)
    figures = compare_groups(lambda groups: RegularizedLeastSquares(), X, GROUPS, Y, n_draws=50, random_state=1)
    assert [one.name for one in figures] == ["useful", "noise"]
    folds = deal_folds(X, Y, 5, 1)

    def measure(columns):
        found = score_held_out(RegularizedLeastSquares(), X[:, columns], Y, folds)
        return average_precision(found.labels, found.scores).mean()

    everything, useful, noise = measure(slice(None)), measure(slice(0, 4)), measure(slice(4, 7))
    assert (figures[0].alone, figures[0].without) == (pytest.approx(useful), pytest.approx(noise))
    assert (figures[1].alone, figures[1].without) == (pytest.approx(noise), pytest.approx(useful))
    assert figures[0].gain == pytest.approx(everything - noise)
    assert figures[0].low > 0
    assert figures[1].low < figures[1].gain < figures[1].high
    assert compare_groups(lambda groups: RegularizedLeastSquares(), X, FeatureGroups(["all"], [7]), Y) == []


def test_annotators_that_know_groups_get_those_that_there_are():
    X, Y = make_problem(60, 40, open_entries=False)
    seen = []

    def make(groups):
        seen.append(groups.names)
        return NOVA(groups, strength=0.05)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_groups(make, X, GROUPS, Y, n_splits=2, n_draws=5)
    assert seen == [("useful", "noise"), ("noise",), ("useful",), ("useful",), ("noise",)]


def test_labels_without_a_positive_have_nothing_to_compare():
    X, Y = make_problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NothingToScoreError, match="no tag has a known positive"):
            compare_groups(lambda groups: RegularizedLeastSquares(), X, GROUPS, np.minimum(Y, 0))
