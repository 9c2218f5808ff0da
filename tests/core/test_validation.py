"""Parameters of every annotator against what their constructors declare."""

import inspect
from typing import get_args

import numpy as np
import pytest
from scipy import sparse

import tagloom.methods
import tagloom.tuning
from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.validation import (
    COUNT,
    FOLDS,
    NOT_NEGATIVE,
    POSITIVE,
    OneOf,
    check_groups,
    check_magnitude,
    check_parameters,
)
from tagloom.exceptions import InvalidInputError

X = np.abs(np.random.default_rng(0).normal(size=(30, 6)))
Y = np.where(np.arange(30)[:, None] < 15, (X[:, :2] > 0.7).astype(int), -1)

PUBLIC = [getattr(package, name) for package in (tagloom.methods, tagloom.tuning) for name in package.__all__]
ANNOTATORS = sorted(
    {found for found in PUBLIC if inspect.isclass(found) and issubclass(found, Annotator)},
    key=lambda kind: kind.__name__,
)
#: Annotators for which a ``tol`` of 0 means that all rounds are taken.
ZERO_TOL = {"LaplacianTopicModel", "PLSAWords", "TagProp", "TKML", "TopicMixture"}

WRONG = {
    "tol": (np.nan, np.inf, -1.0, "0.1", True),
    "max_iter": (0, -1, 2.5, np.nan, True, "7"),
    "groups": ({"a": 6}, ["a"], "a"),
    "n_neighbors": ("bogus", 2.5, True),
    "n_splits": ("5", 2.5),
    "folds": ("5", 2.5),
    "n_threads": ("a",),
    "C": ("1", np.nan),
    "smoothness": ("1", np.nan),
    "noise": ("1",),
    "pull": ("1",),
    "alpha": ("1",),
    "shrinkage": ("1",),
    "suspicion": ("1",),
    "entry_share": ("1",),
    "smoothing": ("1",),
    "budget_seconds": ("0.5", np.nan),
    "max_search_rows": (2.5, np.nan),
    "max_rows": (np.nan,),
}


def wrong_parameters():
    for kind in ANNOTATORS:
        declared = inspect.signature(kind).parameters
        for name, values in WRONG.items():
            # What is a word in one annotator is no number there.
            if name in declared and not isinstance(declared[name].default, str):
                yield from ((kind, name, value) for value in values)


@pytest.mark.parametrize(("kind", "name", "value"), list(wrong_parameters()))
def test_every_annotator_names_a_parameter_of_the_wrong_kind(kind, name, value):
    with pytest.raises(InvalidInputError, match=f"The '{name}' parameter of {kind.__name__} must be"):
        kind(**{name: value}).fit(X, Y)


def test_annotators_that_there_are():
    assert len(ANNOTATORS) >= 27
    assert len(list(wrong_parameters())) > 150


@pytest.mark.parametrize("kind", [kind for kind in ANNOTATORS if "tol" in inspect.signature(kind).parameters])
def test_a_tolerance_of_zero_where_it_has_a_meaning(kind):
    if kind.__name__ in ZERO_TOL:
        check_parameters(kind(tol=0.0))
    else:
        with pytest.raises(InvalidInputError, match=r"must be a float in the range \(0\.0, inf\)\. Got 0\.0 instead"):
            kind(tol=0.0).fit(X, Y)


@pytest.mark.parametrize("kind", ANNOTATORS)
def test_defaults_and_numbers_of_numpy_pass(kind):
    check_parameters(kind())
    declared = inspect.signature(kind).parameters
    given = {"tol": np.float32(0.5), "max_iter": np.int64(3), "groups": FeatureGroups(["a"], [6])}
    check_parameters(kind(**{name: value for name, value in given.items() if name in declared}))


@pytest.mark.parametrize("kind", ANNOTATORS)
def test_every_number_that_a_constructor_declares_has_a_constraint(kind):
    for name, parameter in inspect.signature(kind).parameters.items():
        kinds = set(get_args(parameter.annotation) or (parameter.annotation,))
        if kinds - {type(None)} in ({int}, {float}):
            with pytest.raises(InvalidInputError, match=f"The '{name}' parameter of {kind.__name__} must be"):
                check_parameters(kind(**{name: "a"}))


@pytest.mark.parametrize(
    ("value", "constraint"),
    [(0, NOT_NEGATIVE), (np.float32(0.5), POSITIVE), (np.uint8(2), FOLDS), (1, COUNT), ("loo", OneOf("loo", "gcv"))],
)
def test_values_that_are_allowed(value, constraint):
    assert constraint.is_satisfied_by(value)


@pytest.mark.parametrize(
    ("value", "constraint"),
    [
        (0, POSITIVE),
        (np.inf, NOT_NEGATIVE),
        (np.nan, NOT_NEGATIVE),
        (None, NOT_NEGATIVE),
        (True, COUNT),
        (np.bool_(True), NOT_NEGATIVE),
        (1j, POSITIVE),
        (np.array([1.0]), POSITIVE),
        (1, FOLDS),
        (2.0, FOLDS),
        ("2", FOLDS),
        ("los", OneOf("loo", "gcv")),
    ],
)
def test_values_that_are_not(value, constraint):
    assert not constraint.is_satisfied_by(value)


def test_words_are_named_in_their_order():
    assert str(OneOf("size", "equal")) == "one of 'size', 'equal'"
    assert str(OneOf("auto")) == "'auto'"


def test_groups():
    check_groups(None)
    check_groups(FeatureGroups(["a"], [6]))
    with pytest.raises(InvalidInputError, match=r"got dict; make one by FeatureGroups\.from_mapping"):
        check_groups({"a": 6})


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_features_that_are_too_large(convert):
    A = np.array([[1.0, 0.0], [0.0, -50.0]])
    check_magnitude(convert(A), 50.0, "method")
    with pytest.raises(InvalidInputError, match="method bears features of up to 49, got 50: divide each column"):
        check_magnitude(convert(A), 49.0, "method")
    check_magnitude(convert(np.empty((0, 2))), 1.0, "method")
