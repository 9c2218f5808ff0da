"""Our own checks: every annotator passes them, and each kind of broken annotator does not."""

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.checks import annotator_checks, check_annotator
from tests.methods.expected_failures import ANNOTATORS, EXEMPT_FROM_OUR_CHECKS, LONGEST, marks_of, title

CASES = [
    pytest.param(annotator, check, id=f"{title(annotator)}-{name}", marks=marks_of(annotator))
    for annotator in ANNOTATORS
    for name, check in annotator_checks().items()
    if name not in EXEMPT_FROM_OUR_CHECKS.get(type(annotator).__name__, {})
]


def test_the_longest_are_some_of_them_and_not_the_only_ones_of_their_class():
    titles = [title(annotator) for annotator in ANNOTATORS]
    for name in LONGEST:
        kind = type(ANNOTATORS[titles.index(name)])
        assert any(type(other) is kind and title(other) not in LONGEST for other in ANNOTATORS)


@pytest.mark.medium
@pytest.mark.parametrize(("annotator", "check"), CASES)
def test_every_annotator_keeps_the_contract(annotator, check):
    check(annotator)


def test_all_checks_at_once():
    check_annotator(RegularizedLeastSquares(1.0))


class Ridge(RegularizedLeastSquares):
    """Base of the broken ones: one fixed penalty keeps them quick."""

    def __init__(self):
        super().__init__(1.0)


class ReturnsNothing(Ridge):
    def fit(self, X, Y):
        super().fit(X, Y)


class ChangesParameters(RegularizedLeastSquares):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        self.regularization = 2.0


class NeedsArgument(RegularizedLeastSquares):
    def __init__(self, regularization):
        super().__init__(regularization)


class ChangesInput(Ridge):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        X -= X.mean()


class ForgetsRows(Ridge):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        self.transduction_ = self.transduction_[1:]


class LearnsNothing(Ridge):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        self.coef_ *= -1.0
        self.transduction_ = -self.transduction_


class KeepsOldThresholds(Ridge):
    def _fit(self, X, Y):
        old = getattr(self, "kept_", None)
        super()._fit(X, Y)
        self.kept_ = self.thresholds_ if old is None else old
        self.thresholds_ = self.kept_


class Random(Ridge):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        self.transduction_ = self.transduction_ + 1e-6 * np.random.default_rng().normal(size=Y.shape)


class DependsOnOrder(Ridge):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        self.transduction_ = self.transduction_ + 0.01 * np.arange(len(X))[:, None]


class DependsOnBatch(Ridge):
    def _decision_function(self, X):
        scores = super()._decision_function(X)
        return scores - scores.mean(axis=0)


class PredictsWithItsOwnRule(Ridge):
    def predict(self, X):
        return (self.decision_function(X) > -100.0).astype(np.int8)


class DividesByPositives(Ridge):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        with np.errstate(divide="ignore"):
            self.transduction_ = self.transduction_ + 1.0 / (Y == 1).sum(axis=0)


class AcceptsAnything(Ridge):
    def fit(self, X, Y):
        labels = np.asarray(Y)
        return super().fit(X, np.clip(labels, -1, 1) if labels.dtype.kind in "if" else labels)


class KeepsTheCallersArray(Ridge):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        self.X_ = X

    def _decision_function(self, X):
        return super()._decision_function(X) + self.X_.mean()


BROKEN = [
    (ReturnsNothing(), "parameters"),
    (ChangesParameters(), "parameters"),
    (NeedsArgument(1.0), "parameters"),
    (ChangesInput(), "input_is_left_alone"),
    (KeepsTheCallersArray(), "input_is_left_alone"),
    (ForgetsRows(), "clusters_are_learnt"),
    (LearnsNothing(), "clusters_are_learnt"),
    (PredictsWithItsOwnRule(), "clusters_are_learnt"),
    (KeepsOldThresholds(), "refitting"),
    (Random(), "refitting"),
    (DependsOnOrder(), "order_of_photos"),
    (DependsOnBatch(), "batches"),
    (DividesByPositives(), "tag_without_positives"),
    (AcceptsAnything(), "wrong_labels"),
]


@pytest.mark.parametrize(("annotator", "check"), BROKEN, ids=lambda value: getattr(value, "__name__", str(value)))
def test_a_broken_annotator_is_found(annotator, check):
    with pytest.raises(AssertionError):
        annotator_checks()[check](annotator)


def test_the_message_names_the_annotator_and_the_check():
    with pytest.raises(AssertionError, match="ReturnsNothing breaks parameters: fit does not return"):
        check_annotator(ReturnsNothing())


def test_checks_can_be_left_out_by_name():
    quiet = [name for name in annotator_checks() if name != "unfitted"]
    check_annotator(ReturnsNothing(), skip=quiet)
    with pytest.raises(InvalidInputError, match="no checks named"):
        check_annotator(ReturnsNothing(), skip=["colour"])
