"""Parameters of every annotator against what their constructors declare."""

import inspect
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import tagloom.methods
import tagloom.tuning
from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.validation import check_groups, check_magnitude, check_number, check_parameters
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
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        kind(**{name: value}).fit(X, Y)


def test_annotators_that_there_are():
    assert len(ANNOTATORS) >= 27
    assert len(list(wrong_parameters())) > 150


@pytest.mark.parametrize("kind", [kind for kind in ANNOTATORS if "tol" in inspect.signature(kind).parameters])
def test_a_tolerance_of_zero_where_it_has_a_meaning(kind):
    if kind.__name__ in ZERO_TOL:
        check_parameters(kind(tol=0.0), zero_tol=kind._allows_zero_tol)
    else:
        with pytest.raises(InvalidInputError, match="tol must be a number above 0, got 0"):
            kind(tol=0.0).fit(X, Y)


@pytest.mark.parametrize("kind", ANNOTATORS)
def test_defaults_and_numbers_of_numpy_pass(kind):
    check_parameters(kind())
    declared = inspect.signature(kind).parameters
    given = {"tol": np.float32(0.5), "max_iter": np.int64(3), "groups": FeatureGroups(["a"], [6])}
    check_parameters(kind(**{name: value for name, value in given.items() if name in declared}))


class Declared:
    """Whatever is declared, and a default that is not of its kind."""

    def __init__(self, share: float = None, name: str = "a", count: int | None = 3, free=None):  # noqa: RUF013
        self.share, self.name, self.count, self.free = share, name, count, free


def test_only_what_is_declared_as_a_number_is_looked_at():
    check_parameters(Declared())
    check_parameters(Declared(share=Fraction(1, 3), name=5, count=None, free="x"))
    check_parameters(Declared(share=np.inf))
    with pytest.raises(InvalidInputError, match=r"^share must be a number, got 'x'"):
        check_parameters(Declared(share="x"))
    with pytest.raises(InvalidInputError, match=r"^count must be None or a whole number, got 2\.0"):
        check_parameters(Declared(count=2.0))


@pytest.mark.parametrize(
    ("value", "options"),
    [(0, {"least": 0}), (np.inf, {}), (None, {"optional": True}), (np.uint8(2), {"integer": True, "least": 2})],
)
def test_numbers_that_are_allowed(value, options):
    check_number("share", value, **options)


@pytest.mark.parametrize(
    ("value", "options", "words"),
    [
        (0, {"least": 0, "above": True}, "share must be a number above 0, got 0"),
        (np.inf, {"least": 0}, "share must be a number of at least 0, got inf"),
        (None, {}, "share must be a number, got None"),
        (np.bool_(True), {}, "share must be a number"),
        (1j, {}, "share must be a number"),
        (np.array([1.0]), {}, "share must be a number"),
        (1, {"integer": True, "least": 2}, "share must be a whole number of at least 2, got 1"),
        ("2", {"integer": True, "optional": True}, "share must be None or a whole number, got '2'"),
    ],
)
def test_numbers_that_are_not(value, options, words):
    with pytest.raises(InvalidInputError, match=words):
        check_number("share", value, **options)


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
