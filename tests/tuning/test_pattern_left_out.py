"""Left-out scores where tags are known on different photos, against refits."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import labeled_rows
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.model import Member, StackModel, members_left_out, pattern_left_out
from tagloom.tuning.auto.search import GRAPH, Search
from tagloom.tuning.auto.views import PhotoViews, default_views, smoothed_priors


def _problem(Y):
    X = np.random.default_rng(0).normal(size=(len(Y), 10))
    views = PhotoViews(X, FeatureGroups(["deep", "color"], [6, 4]), n_neighbors=5, smoothing=2.0, n_threads=1)
    weightings = default_views(views.groups.names)
    search = Search(views, weightings, Y, np.flatnonzero(labeled_rows(Y)))
    trials = search.run().trials
    # Smoothed scores, plain ones, and the graph's own kernel.
    chosen = [trials[0], trials[-2], next(one for one in trials if one.candidate.view == GRAPH)]
    members = [Member(trial.candidate, factor) for trial, factor in zip(chosen, (0.5, 0.3, 0.2), strict=True)]
    approximate = sum(member.factor * trial.deviations for member, trial in zip(members, chosen, strict=True))
    return search, weightings, members, approximate


def _labels(n=60, known=24):
    Y = np.full((n, 3), -1, dtype=np.int8)
    Y[:known] = np.random.default_rng(1).integers(0, 2, size=(known, 3))
    return Y


def test_they_are_those_of_refits_without_the_label():
    Y = _labels()
    Y[10:24, 1] = -1
    Y[:4, 2] = -1
    search, weightings, members, approximate = _problem(Y)
    found, n_left = pattern_left_out(search, weightings, members, approximate)
    assert n_left == 0
    for row, tag in ((0, 0), (20, 0), (3, 1), (9, 1), (4, 2), (23, 2)):
        hidden = Y.copy()
        hidden[row, tag] = -1
        refitted = StackModel(search.views, weightings, members).fit(hidden, search.rows, smoothed_priors(hidden))
        np.testing.assert_allclose(found[row, tag], refitted[row, tag], atol=2e-5)
    unknown = Y[search.rows] == -1
    assert np.array_equal(found[unknown], approximate[unknown])
    # The same without a search that was run.
    again = Search(search.views, weightings, Y, search.rows)
    model = StackModel(search.views, weightings, members)
    np.testing.assert_allclose(members_left_out(again, model), found, atol=2e-5)
    model.keep_kernels()
    np.testing.assert_allclose(members_left_out(again, model), found, atol=2e-5)


def test_with_all_tags_known_nothing_is_computed_again():
    search, weightings, members, approximate = _problem(_labels())
    found, n_left = pattern_left_out(search, weightings, members, approximate)
    assert found is approximate
    model = StackModel(search.views, weightings, members)
    np.testing.assert_allclose(members_left_out(search, model), approximate, atol=2e-5)
    assert n_left == 0


def test_without_time_the_tags_that_are_left_are_counted():
    Y = _labels()
    Y[10:24, 1] = -1
    search, weightings, members, approximate = _problem(Y)
    asked = iter([True, False])
    found, n_left = pattern_left_out(search, weightings, members, approximate, go_on=lambda: next(asked))
    assert n_left in (1, 2)
    assert (found != approximate).any(axis=0).sum() == 3 - n_left
    model = StackModel(search.views, weightings, members)
    np.testing.assert_allclose(members_left_out(search, model, go_on=lambda: False), approximate, atol=2e-5)


def _clusters(n=900, c=6):
    rng = np.random.default_rng(3)
    truth = np.zeros((n, c), dtype=np.int8)
    for _ in range(2):
        truth[np.arange(n), rng.integers(c, size=n)] = 1
    X = truth @ rng.standard_normal((c, 8)) + 1.5 * rng.standard_normal((n, 8))
    return X, truth, FeatureGroups(["deep"], [8])


@pytest.mark.medium
def test_many_photos_that_know_one_tag_leave_the_probabilities_of_others_alone():
    X, truth, groups = _clusters()
    Y = np.full(truth.shape, -1, dtype=np.int8)
    Y[:50] = truth[:50]
    Y[50:550, 0] = truth[50:550, 0]
    model = AutoAnnotator(groups, random_state=0, n_threads=1).fit(X, Y)
    others = np.s_[550:, 1:]
    expected = model.probabilities_[others].sum() / truth[others].sum()
    alone = AutoAnnotator(groups, random_state=0, n_threads=1).fit(X, np.where(np.arange(len(Y))[:, None] < 50, Y, -1))
    assert expected == pytest.approx(alone.probabilities_[others].sum() / truth[others].sum(), rel=0.1)


@pytest.mark.medium
def test_probabilities_can_be_learnt_on_a_sample_of_the_labels():
    X, truth, groups = _clusters()
    sample = np.full(truth.shape, -1, dtype=np.int8)
    sample[:80] = truth[:80]
    judged = 80 + np.flatnonzero(truth[80:400, 0])[:60]
    Y = sample.copy()
    Y[judged, 0] = 1
    annotator = AutoAnnotator(groups, random_state=0, n_threads=1)
    whole = annotator.fit(X, Y, Y).probabilities_.copy()
    np.testing.assert_array_equal(whole, annotator.fit(X, Y).probabilities_)
    sampled = annotator.fit(X, Y, sample).probabilities_
    hidden = np.setdiff1d(np.arange(80, len(Y)), judged)
    found = [abs(np.log(values[hidden, 0].sum() / truth[hidden, 0].sum())) for values in (sampled, whole)]
    assert found[0] < found[1]
