"""Tags that come after the fit."""

import numpy as np
import pytest

from tagloom.core.folds import label_budget
from tagloom.exceptions import InvalidInputError
from tagloom.metrics import average_precision
from tagloom.tuning.auto import model as _stack_model
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.refine import TagMixing
from tests.tuning.test_auto import clusters


@pytest.fixture
def fitted():
    X, truth, groups = clusters()
    Y = label_budget(truth, 80, random_state=0)
    return X, truth, Y, AutoAnnotator(groups, random_state=0).fit(X, Y[:, :4])


def test_other_tags_stay_as_they_were(fitted):
    X, _, _, model = fitted
    before, new = model.probabilities_.copy(), model.decision_function(X[:9])
    model.set_tags([0, 1, 2, 3, -1, -1])
    assert model.probabilities_.shape == (400, 6)
    np.testing.assert_allclose(model.probabilities_[:, :4], before, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X[:9])[:, :4], new, atol=1e-9)
    assert np.isfinite(model.transduction_).all()
    # Nothing is known of the new ones: all photos are alike.
    assert np.ptp(model.probabilities_[:, 4:], axis=0) == pytest.approx(0.0, abs=1e-9)
    told = model.probabilities_
    model.set_tags(np.arange(6))
    assert model.probabilities_ is told


def test_tags_are_reordered_and_dropped(fitted):
    X, _, Y, model = fitted
    before, new = model.probabilities_.copy(), model.decision_function(X[:9])
    model.set_tags([3, -1, 0])
    assert model.n_tags_ == 3
    np.testing.assert_allclose(model.probabilities_[:, [0, 2]], before[:, [3, 0]], atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X[:9])[:, [0, 2]], new[:, [3, 0]], atol=1e-9)
    model.update(Y[:, [3, 4, 0]])
    assert model.predict_proba(X[:2]).shape == (2, 3)


def test_an_update_learns_them_as_a_fit_with_these_members_does(fitted):
    X, truth, Y, model = fitted
    model.set_tags([0, 1, 2, 3, -1, -1])
    model.update(Y)
    rows = np.flatnonzero((Y != -1).any(axis=1))
    fresh = _stack_model.StackModel(model.views_, model.model_.weightings, model.model_.members)
    np.testing.assert_allclose(model._deviations, fresh.fit(Y, rows, model.priors_), atol=1e-6)
    hidden = Y[:, 0] == -1
    whole = AutoAnnotator(model.groups, random_state=0).fit(X, Y)
    for tag in (4, 5):
        found, wanted = (
            average_precision(truth[hidden][:, [tag]], one.transduction_[hidden][:, [tag]])[0] for one in (model, whole)
        )
        assert found > 0.97 * wanted


def test_tags_with_own_factors_and_mixing_are_widened(fitted):
    X, _, Y, model = fitted
    first = model.model_.members[0]
    factors = np.array([0.1, 0.2, 0.3, 0.4])
    model.model_.members[0] = _stack_model.Member(first.candidate, factors)
    matrix = np.eye(4) + 0.01 * np.arange(16).reshape(4, 4)
    model.mixing_ = TagMixing(0.1, matrix, 0.01)
    model.set_tags([1, 0, 2, 3, -1, -1])
    np.testing.assert_allclose(model.model_.members[0].factor, [0.2, 0.1, 0.3, 0.4, 0.25, 0.25])
    swapped = matrix[np.ix_([1, 0, 2, 3], [1, 0, 2, 3])]
    np.testing.assert_allclose(model.mixing_.matrix[:4, :4], swapped)
    np.testing.assert_allclose(model.mixing_.matrix[4:], np.eye(6)[4:])
    np.testing.assert_allclose(model.mixing_.matrix[:4, 4:], 0.0)
    model.update(Y[:, [1, 0, 2, 3, 4, 5]])
    assert np.isfinite(model.decision_function(X[:3])).all()


def test_columns_that_are_not_there_are_refused(fitted):
    *_, model = fitted
    for columns in ([4], []):
        with pytest.raises(InvalidInputError, match="columns below 4"):
            model.set_tags(columns)
