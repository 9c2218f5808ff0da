"""Tags that come after the fit."""

import numpy as np
import pytest

from tagloom.core.folds import label_budget
from tagloom.exceptions import InvalidInputError
from tagloom.metrics import average_precision
from tagloom.tuning.auto import model as _stack_model
from tagloom.tuning.auto.annotator import AutoAnnotator
from tests.tuning.test_auto import clusters


@pytest.fixture
def fitted():
    X, truth, groups = clusters()
    Y = label_budget(truth, 80, random_state=0)
    return X, truth, Y, AutoAnnotator(groups, random_state=0).fit(X, Y[:, :4])


def test_other_tags_keep_their_scores_and_new_ones_are_alike_on_all_photos(fitted):
    X, _, Y, model = fitted
    before, attached = model.own_scores_.copy(), model.views_.attach(X[:9])
    new = model.model_.score_new(attached)
    labels = np.hstack([Y[:, :4], np.full((len(Y), 2), -1, dtype=np.int8)])
    model.update(labels, columns=[0, 1, 2, 3, -1, -1])
    assert model.probabilities_.shape == (400, 6)
    np.testing.assert_allclose(model.own_scores_[:, :4], before, atol=1e-12)
    np.testing.assert_allclose(model.model_.score_new(attached)[:, :4], new, atol=1e-9)
    assert np.isfinite(model.transduction_).all()
    # Nothing is known of the new ones: all photos are alike.
    assert np.ptp(model.probabilities_[:, 4:], axis=0) == pytest.approx(0.0, abs=1e-9)
    told = model.probabilities_
    model.update(labels, columns=np.arange(6))
    assert model.probabilities_ is told


def test_tags_are_reordered_and_dropped(fitted):
    X, _, Y, model = fitted
    before = model.own_scores_.copy()
    model.update(Y[:, [3, 4, 0]], columns=[3, -1, 0])
    assert model.n_tags_ == 3
    np.testing.assert_allclose(model.own_scores_[:, [0, 2]], before[:, [3, 0]], atol=1e-12)
    assert model.predict_proba(X[:2]).shape == (2, 3)


def test_an_update_learns_them_as_a_fit_with_these_members_does(fitted):
    X, truth, Y, model = fitted
    model.update(Y, columns=[0, 1, 2, 3, -1, -1])
    rows = np.flatnonzero((Y != -1).any(axis=1))
    fresh = _stack_model.StackModel(model.views_, model.model_.weightings, model.model_.members)
    np.testing.assert_allclose(model.model_.deviations, fresh.fit(Y, rows, model.priors_), atol=1e-6)
    hidden = Y[:, 0] == -1
    whole = AutoAnnotator(model.groups, random_state=0).fit(X, Y)
    for tag in (4, 5):
        found, wanted = (
            average_precision(truth[hidden][:, [tag]], one.transduction_[hidden][:, [tag]])[0] for one in (model, whole)
        )
        assert found > 0.97 * wanted


def test_a_new_tag_has_the_mean_of_the_factors_of_others(fitted):
    X, _, Y, model = fitted
    first = model.model_.members[0]
    model.model_.members[0] = _stack_model.Member(first.candidate, np.array([0.1, 0.2, 0.3, 0.4]))
    model.update(Y[:, [1, 0, 2, 3, 4, 5]], columns=[1, 0, 2, 3, -1, -1])
    np.testing.assert_allclose(model.model_.members[0].factor, [0.2, 0.1, 0.3, 0.4, 0.25, 0.25])
    assert np.isfinite(model.decision_function(X[:3])).all()


def test_columns_that_are_not_there_are_refused(fitted):
    *_, Y, model = fitted
    for columns in ([4], []):
        with pytest.raises(InvalidInputError, match="columns below 4"):
            model.update(Y, columns=columns)
