"""Systems of labelled photos that grow: fits after one another, and left-out scores against refits."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import labeled_rows
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.model import Member, StackModel
from tagloom.tuning.auto.search import Candidate
from tagloom.tuning.auto.views import PhotoViews, default_views, smoothed_priors


def _model(n_columns=10):
    X = np.random.default_rng(0).normal(size=(90, n_columns))
    views = PhotoViews(X, FeatureGroups(["deep", "color"], [6, 4]), n_neighbors=5, smoothing=2.0, n_threads=1)
    weightings = default_views(views.groups.names)
    members = [
        Member(Candidate(weightings[0].name), 0.4),
        Member(Candidate(weightings[0].name, width=2.0, score_smoothing=0.0), 0.2),
        Member(Candidate(weightings[-1].name, smoothed=False), np.array([0.2, 0.3, 0.0])),
    ]
    return StackModel(views, weightings, members)


def _labels(n_known, first=0):
    Y = np.full((90, 3), -1, dtype=np.int8)
    Y[first : first + n_known] = np.random.default_rng(1).integers(0, 2, size=(n_known, 3))
    Y[first + 2 : first + 8, 1] = -1
    return Y


def _fitted(model, Y, n_compared=None):
    rows = np.flatnonzero(labeled_rows(Y))
    model.fit(Y, rows, smoothed_priors(Y), rows if n_compared is None else rows[:n_compared])
    return model


def _few_more(Y):
    more = Y.copy()
    more[70:75, 2] = 1
    more[5, 0] = -1
    return more


@pytest.mark.parametrize(
    "change",
    [
        _few_more,
        lambda Y: np.where(Y == -1, _labels(60, first=10), Y),  # before, between and after those that are there
        lambda Y: np.where(np.arange(90)[:, None] < 40, -1, Y),  # some lose their labels
        lambda Y: np.where(Y == -1, Y, 1 - Y),
    ],
    ids=["a few of one tag", "many", "fewer", "others"],
)
@pytest.mark.parametrize("n_compared", [None, 12])
def test_a_fit_after_another_one_is_a_first_fit(change, n_compared):
    Y = _labels(30, first=30)
    grown = _fitted(_fitted(_model(), Y, n_compared), change(Y), n_compared)
    first = _fitted(_model(), change(Y), n_compared)
    np.testing.assert_allclose(grown.deviations, first.deviations, atol=1e-9)
    np.testing.assert_allclose(grown.left_out, first.left_out, atol=1e-9)
    for one, other in zip(grown.coefficients, first.coefficients, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_what_most_tags_are_known_on_is_factorised_once():
    Y = _labels(40)
    Y[2:8] = np.random.default_rng(2).integers(0, 2, size=(6, 3))
    model = _fitted(_model(), Y)
    common = model._systems._factors
    for tag, more in ((1, [60, 61, 62]), (2, [64, 65]), (0, [61, 66])):
        Y[more, tag] = 1
        _fitted(model, Y)
        assert model._systems._factors is common
    # Until a fourth more is known of most tags, or some of it is gone.
    Y[70:85] = np.random.default_rng(3).integers(0, 2, size=(15, 3))
    assert _fitted(model, Y)._systems._factors is not common
    common = model._systems._factors
    Y[0] = -1
    assert _fitted(model, Y)._systems._factors is not common
    np.testing.assert_allclose(model.left_out, _fitted(_model(), Y).left_out, atol=1e-9)


def test_tags_whose_labels_stay_keep_their_numbers():
    Y = _labels(40)
    model = _fitted(_model(), Y)
    before = model.deviations.copy()
    more = Y.copy()
    more[60:65, 1] = 1
    _fitted(model, more)
    np.testing.assert_array_equal(model.deviations[:, [0, 2]], before[:, [0, 2]])
    assert np.abs(model.deviations[:, 1] - before[:, 1]).max() > 1e-3


def test_left_out_scores_are_those_of_refits_without_the_label():
    Y = _labels(24)
    Y[10:24, 1] = -1
    Y[:4, 2] = -1
    Y[40:46, 2] = [0, 1, 0, 1, 1, 0]
    model = _fitted(_model(), Y)
    for row, tag in ((0, 0), (20, 0), (8, 1), (9, 1), (4, 2), (23, 2), (42, 2)):
        hidden = Y.copy()
        hidden[row, tag] = -1
        refitted = _model().fit(hidden, model.rows, smoothed_priors(hidden))
        np.testing.assert_allclose(model.left_out[np.searchsorted(model.rows, row), tag], refitted[row, tag], atol=1e-7)
    unknown = Y[model.rows] == -1
    np.testing.assert_array_equal(model.left_out[unknown], model.deviations[model.rows][unknown])


def test_new_photos_have_the_scores_they_would_have_among_the_others():
    model = _fitted(_model(), _labels(30))
    new = model.views.attach(np.random.default_rng(0).normal(size=(90, 10))[:1])
    # As if it hung on the graph as the photo that it is a copy of does.
    new = type(new)(model.views.plain[40:41], model.views.smooth[40:41], model.views.links[[40]])
    np.testing.assert_allclose(model.score_new(new), model.deviations[40:41], atol=1e-9)


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
