"""The base class and the thresholds: literal loops, and annotators of a few lines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from tagloom.core.annotator import Annotator, fit_thresholds
from tagloom.exceptions import InvalidLabelsError, NothingToScoreError
from tagloom.metrics import mean_average_precision


class FirstColumns(Annotator):
    """Scores are the first columns of X; thresholds are set by the class if ``own`` says so."""

    def __init__(self, own=False):
        self.own = own

    def _fit(self, X, Y):
        self.transduction_ = X[:, : Y.shape[1]]
        if self.own:
            self.thresholds_ = np.full(Y.shape[1], 7.0)

    def _decision_function(self, X):
        return X[:, : self.n_tags_]


class NoLabelsNeeded(FirstColumns):
    requires_labels = False


class Sparse(FirstColumns):
    _accepts_sparse = True


X = np.array([[0.1, 0.9], [0.4, 0.2], [0.8, 0.7], [0.6, 0.3]])
Y = np.array([[0, 1], [0, -1], [1, 0], [-1, -1]])


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_known_rows_get_as_many_tags_as_they_have(seed, n, c):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 2, size=(n, c)).astype(np.int8)
    scores = rng.permutation(n * c).reshape(n, c) / 3.0
    thresholds = fit_thresholds(scores, labels)
    for tag in range(c):
        known = labels[:, tag] != -1
        positives = int((labels[:, tag] == 1).sum())
        assert (scores[known, tag] > thresholds[tag]).sum() == positives
        if positives == 0:
            assert thresholds[tag] == np.inf
        elif positives < known.sum():
            ranked = sorted(scores[known, tag], reverse=True)
            assert thresholds[tag] == (ranked[positives - 1] + ranked[positives]) / 2


def test_a_tag_that_all_known_rows_have_lies_just_below_its_smallest_score():
    thresholds = fit_thresholds(np.array([[2.0], [1.0], [-5.0]]), np.array([[1], [1], [-1]], dtype=np.int8))
    assert thresholds[0] < 1.0
    assert thresholds[0] == pytest.approx(1.0, abs=1e-12)


def test_thresholds_of_single_precision_scores_are_double():
    scores = np.array([[1.0], [0.5]], dtype=np.float32)
    assert fit_thresholds(scores, np.array([[1], [0]], dtype=np.int8)).dtype == np.float64


def test_fit_returns_itself_and_sets_what_it_promises():
    annotator = FirstColumns()
    assert annotator.fit(X, Y) is annotator
    assert annotator.n_tags_ == 2
    assert annotator.n_features_in_ == 2
    np.testing.assert_array_equal(annotator.thresholds_, fit_thresholds(X, Y))
    np.testing.assert_array_equal(annotator.predict(X), (annotator.thresholds_ < X).astype(int))
    assert annotator.predict(X).dtype == np.int8


def test_thresholds_of_a_subclass_are_kept():
    np.testing.assert_array_equal(FirstColumns(own=True).fit(X, Y).thresholds_, [7.0, 7.0])


def test_thresholds_of_an_earlier_fit_are_not_kept():
    again = FirstColumns().fit(X, Y).fit(X[:, ::-1], Y)
    np.testing.assert_array_equal(again.thresholds_, FirstColumns().fit(X[:, ::-1], Y).thresholds_)
    assert not np.array_equal(again.thresholds_, FirstColumns().fit(X, Y).thresholds_)


def test_unknown_labels_only():
    nothing = np.full(Y.shape, -1)
    with pytest.raises(InvalidLabelsError, match="needs at least one known label"):
        FirstColumns().fit(X, nothing)
    assert NoLabelsNeeded().fit(X, nothing).predict(X).sum() == 0


def test_missing_or_wrong_labels_are_named():
    with pytest.raises(InvalidLabelsError, match="requires y to be passed"):
        FirstColumns().fit(X, None)
    with pytest.raises(InvalidLabelsError, match="inconsistent numbers of rows"):
        FirstColumns().fit(X, Y[:2])
    with pytest.raises(InvalidLabelsError, match=r"shape \(photos, tags\)"):
        FirstColumns().fit(X, Y[:, :, None])


def test_one_dimension_is_one_tag():
    assert FirstColumns().fit(X, Y[:, 0]).n_tags_ == 1


def test_score_is_the_mean_average_precision_of_known_entries():
    truth = np.array([[1, -1], [0, 0], [-1, 1], [1, 0]], dtype=np.int8)
    model = FirstColumns().fit(X, truth)
    assert model.score(X, truth) == pytest.approx(mean_average_precision(truth, model.decision_function(X)))
    with pytest.raises(NothingToScoreError, match="no tag has a known positive"):
        model.score(X, np.where(truth == 1, 0, truth))


def test_features_are_validated():
    with pytest.raises(ValueError, match="NaN"):
        FirstColumns().fit(np.where(X == 0.1, np.nan, X), Y)
    with pytest.raises(ValueError, match="features"):
        FirstColumns().fit(X, Y).decision_function(X[:, :1])
    assert FirstColumns().fit(X.astype(np.float32), Y).transduction_.dtype == np.float32
    assert FirstColumns().fit((10 * X).astype(int), Y).transduction_.dtype == np.float64


def test_scoring_before_fitting_is_an_error():
    with pytest.raises(NotFittedError):
        FirstColumns().decision_function(X)


def test_a_subclass_that_defines_nothing_says_so():
    class Empty(Annotator):
        pass

    with pytest.raises(TypeError, match="Empty does not define _fit"):
        Empty().fit(X, Y)


def test_scikit_learn_is_told_what_the_labels_are():
    tags = get_tags(FirstColumns())
    assert tags.target_tags.required
    assert tags.target_tags.two_d_labels
    assert tags.target_tags.multi_output
    assert not tags.target_tags.single_output
    assert not tags.classifier_tags.multi_class
    assert not tags.input_tags.sparse
    assert get_tags(Sparse()).input_tags.sparse


def test_clones_take_the_parameters_and_nothing_else():
    copy = clone(FirstColumns(own=True).fit(X, Y))
    assert copy.own
    assert not hasattr(copy, "thresholds_")
