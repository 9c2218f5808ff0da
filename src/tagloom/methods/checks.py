"""What every annotator promises, as checks that an annotator of your own can be run through.

>>> from tagloom.methods import RegularizedLeastSquares
>>> from tagloom.methods.checks import check_annotator
>>> check_annotator(RegularizedLeastSquares())
"""

import inspect
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tagloom.core import UNKNOWN, Annotator, LabelMatrix
from tagloom.exceptions import InvalidInputError, InvalidLabelsError
from tagloom.metrics import mean_average_precision

__all__ = ["annotator_checks", "check_annotator"]

Check = Callable[[Annotator], None]

#: How far scores may differ where only the order of rows or columns, or the batch, does.
SAME = 1e-4
#: How far scores of float32 and float64 features may differ.
SAME_IN_SINGLE_PRECISION = 1e-3


def check_annotator(annotator: Annotator, *, skip: Collection[str] = ()) -> None:
    """Check that an annotator keeps the contract; name the first broken promise.

    Parameters
    ----------
    annotator : Annotator
        An unfitted instance; it is cloned, never changed. A ``random_state`` parameter is set to 0 in the
        clones.
    skip : collection of str
        Names of checks that cannot hold, such as the order of photos for an annotator that starts at random.
    """
    checks = annotator_checks()
    unknown = sorted(set(skip) - set(checks))
    if unknown:
        raise InvalidInputError(f"no checks named {unknown}; there are {sorted(checks)}")
    for name, check in checks.items():
        if name in skip:
            continue
        try:
            check(annotator)
        except Exception as error:
            raise AssertionError(f"{type(annotator).__name__} breaks {name}: {error}") from error


def annotator_checks() -> dict[str, Check]:
    """Return all checks by name, to run one by one: ``check(annotator)``."""
    return dict(_CHECKS)


_CHECKS: dict[str, Check] = {}


def _register(check: Check) -> Check:
    _CHECKS[check.__name__.removeprefix("_check_")] = check
    return check


def _expect(holds: Any, promise: str) -> None:
    if not holds:
        raise AssertionError(promise)


@contextmanager
def _raises(kind: type[Exception], situation: str) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    except Exception as error:
        raise AssertionError(f"{situation}: expected {kind.__name__}, got {error!r}") from error
    raise AssertionError(f"{situation}: expected {kind.__name__}, nothing was raised")


def _problem(n: int = 36, d: int = 6, *, n_labelled: int = 18, seed: int = 0) -> tuple[Any, LabelMatrix]:
    """Make three well separated clusters of non-negative features; three tags name them and a fourth joins two."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) % 3
    centres = 1.0 + 8.0 * (np.arange(d) % 3 == np.arange(3)[:, None])
    X = np.abs(centres[cluster] + 0.5 * rng.normal(size=(n, d)))
    Y = np.zeros((n, 4), dtype=np.int8)
    Y[np.arange(n), cluster] = 1
    Y[:, 3] = cluster != 0
    Y[n_labelled:] = UNKNOWN
    return X, Y


def _fresh(annotator: Annotator) -> Annotator:
    copy: Annotator = clone(annotator)
    if "random_state" in copy.get_params():
        copy.set_params(random_state=0)
    return copy


def _fit(annotator: Annotator, X: Any, Y: Any) -> Annotator:
    """Fit a clone; degenerate problems may warn, and warnings are not what is checked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _fresh(annotator).fit(X, Y)


def _expect_answer(annotator: Annotator, X: Any, Y: Any) -> Annotator:
    """Fit, and expect finite scores of the right shapes and a prediction that follows from them."""
    fitted = _fit(annotator, X, Y)
    n_tags = np.shape(Y)[1]
    scores = fitted.decision_function(X)
    _expect(fitted.transduction_.shape == np.shape(Y), f"transduction_ has shape {fitted.transduction_.shape}")
    _expect(np.isfinite(fitted.transduction_).all(), "transduction_ holds NaN or infinity")
    _expect(scores.shape == np.shape(Y), f"decision_function has shape {scores.shape}, not {np.shape(Y)}")
    _expect(np.isfinite(scores).all(), "decision_function returns NaN or infinity")
    _expect(fitted.n_tags_ == n_tags, f"n_tags_ is {fitted.n_tags_}, not {n_tags}")
    _expect(np.shape(fitted.thresholds_) == (n_tags,), f"thresholds_ has shape {np.shape(fitted.thresholds_)}")
    _expect(not np.isnan(fitted.thresholds_).any(), "thresholds_ holds NaN")
    predicted = fitted.predict(X)
    _expect(np.isin(predicted, (0, 1)).all(), "predict returns something besides 0 and 1")
    np.testing.assert_array_equal(predicted, scores > fitted.thresholds_, "predict is not: above thresholds_")
    return fitted


def _expect_same(first: Any, second: Any, promise: str, tolerance: float = SAME) -> None:
    np.testing.assert_allclose(first, second, rtol=tolerance, atol=tolerance, err_msg=promise)


@_register
def _check_parameters(annotator: Annotator) -> None:
    signature = inspect.signature(type(annotator).__init__).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)  # a class without __init__
    words = [parameter for parameter in signature if parameter.name != "self" and parameter.kind not in variadic]
    _expect(
        all(parameter.default is not inspect.Parameter.empty for parameter in words),
        "a constructor parameter has no default",
    )
    _expect(
        all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in words[1:]),
        "only the first constructor parameter may be positional",
    )
    fresh = _fresh(annotator)
    before = dict(fresh.get_params(deep=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _expect(fresh.fit(*_problem()) is fresh, "fit does not return the annotator itself")
    after = fresh.get_params(deep=False)
    changed = [name for name, value in before.items() if after[name] is not value]
    _expect(not changed, f"fit changes the parameters {changed}")


@_register
def _check_clusters_are_learnt(annotator: Annotator) -> None:
    X, Y = _problem(60, n_labelled=30)
    _, truth = _problem(60, n_labelled=60)
    fitted = _expect_answer(annotator, X, Y)
    unlabelled = Y[:, 0] == UNKNOWN
    for scores in (fitted.transduction_, fitted.decision_function(X)):
        reached = mean_average_precision(truth[unlabelled], scores[unlabelled])
        _expect(reached > 0.9, f"mean average precision {reached:.3f} on separate clusters, expected above 0.9")


@_register
def _check_unfitted(annotator: Annotator) -> None:
    X, _ = _problem()
    with _raises(NotFittedError, "decision_function before fit"):
        _fresh(annotator).decision_function(X)
    with _raises(NotFittedError, "predict before fit"):
        _fresh(annotator).predict(X)


@_register
def _check_all_rows_labelled(annotator: Annotator) -> None:
    _expect_answer(annotator, *_problem(n_labelled=36))


@_register
def _check_entrywise_unknowns(annotator: Annotator) -> None:
    X, Y = _problem(n_labelled=30)
    Y[np.random.default_rng(1).random(Y.shape) < 0.3] = UNKNOWN
    _expect_answer(annotator, X, Y)


@_register
def _check_tag_without_positives(annotator: Annotator) -> None:
    X, Y = _problem()
    Y[Y[:, 1] == 1, 1] = 0
    fitted = _expect_answer(annotator, X, Y)
    _expect(fitted.predict(X)[:, 1].sum() == 0, "a tag without a known positive is predicted")


@_register
def _check_tag_without_negatives(annotator: Annotator) -> None:
    X, Y = _problem()
    Y[Y[:, 1] == 0, 1] = 1
    _expect_answer(annotator, X, Y)


@_register
def _check_tag_known_nowhere(annotator: Annotator) -> None:
    X, Y = _problem()
    Y[:, 2] = UNKNOWN
    _expect_answer(annotator, X, Y)


@_register
def _check_one_labelled_row(annotator: Annotator) -> None:
    _expect_answer(annotator, *_problem(n_labelled=1))


@_register
def _check_one_photo(annotator: Annotator) -> None:
    X, Y = _problem()
    _expect_answer(annotator, X[:1], Y[:1])


@_register
def _check_few_photos(annotator: Annotator) -> None:
    for n in (2, 3, 5):
        _expect_answer(annotator, *_problem(n, n_labelled=2))


@_register
def _check_one_tag(annotator: Annotator) -> None:
    X, Y = _problem()
    _expect_answer(annotator, X, Y[:, :1])


@_register
def _check_one_feature(annotator: Annotator) -> None:
    X, Y = _problem()
    _expect_answer(annotator, X[:, :1], Y)


@_register
def _check_more_features_than_photos(annotator: Annotator) -> None:
    _expect_answer(annotator, *_problem(12, 50, n_labelled=8))


@_register
def _check_constant_columns(annotator: Annotator) -> None:
    X, Y = _problem()
    X[:, 1], X[:, 2] = 0.0, 4.0
    _expect_answer(annotator, X, Y)


@_register
def _check_equal_photos(annotator: Annotator) -> None:
    X, Y = _problem()
    _expect_answer(annotator, np.full_like(X, 2.0), Y)


@_register
def _check_duplicate_photos(annotator: Annotator) -> None:
    X, Y = _problem()
    X[1:30] = X[0]
    _expect_answer(annotator, X, Y)


@_register
def _check_order_of_photos(annotator: Annotator) -> None:
    X, Y = _problem()
    order = np.random.default_rng(2).permutation(len(X))
    first, second = _fit(annotator, X, Y), _fit(annotator, X[order], Y[order])
    _expect_same(first.transduction_[order], second.transduction_, "the order of photos changes transduction_")
    new = _problem(seed=5)[0]
    _expect_same(first.decision_function(new), second.decision_function(new), "the order of photos changes scores")


@_register
def _check_order_of_tags(annotator: Annotator) -> None:
    X, Y = _problem()
    order = np.array([2, 0, 3, 1])
    first, second = _fit(annotator, X, Y), _fit(annotator, X, Y[:, order])
    _expect_same(first.transduction_[:, order], second.transduction_, "the order of tags changes transduction_")


@_register
def _check_batches(annotator: Annotator) -> None:
    fitted = _fit(annotator, *_problem())
    new = _problem(seed=5)[0]
    together = fitted.decision_function(new)
    apart = np.concatenate([fitted.decision_function(new[row : row + 1]) for row in range(len(new))])
    _expect_same(together, apart, "a photo's score depends on the others it is scored with")


@_register
def _check_precision_of_features(annotator: Annotator) -> None:
    X, Y = _problem()
    single, double = X.astype(np.float32), X.astype(np.float32).astype(np.float64)
    first, second = _fit(annotator, single, Y), _fit(annotator, double, Y)
    promise = "float32 and float64 features give different scores"
    _expect_same(first.transduction_, second.transduction_, promise, SAME_IN_SINGLE_PRECISION)
    scores = first.decision_function(single), second.decision_function(double)
    _expect_same(*scores, promise, SAME_IN_SINGLE_PRECISION)


@_register
def _check_layout_of_input(annotator: Annotator) -> None:
    X, Y = _problem()
    plain = _fit(annotator, X, Y)
    for given, labels in (
        (np.asfortranarray(X), np.asfortranarray(Y)),
        (X.tolist(), Y.tolist()),
        (np.repeat(X, 2, axis=0)[::2], Y.astype(np.float64)),
    ):
        _expect_same(plain.transduction_, _fit(annotator, given, labels).transduction_, "the memory layout matters")


@_register
def _check_input_is_left_alone(annotator: Annotator) -> None:
    X, Y = _problem()
    X_before, Y_before = X.copy(), Y.copy()
    fitted = _fit(annotator, X, Y)
    fitted.predict(X)
    np.testing.assert_array_equal(X, X_before, "X is changed")
    np.testing.assert_array_equal(Y, Y_before, "Y is changed")
    X.setflags(write=False)
    Y.setflags(write=False)
    _fit(annotator, X, Y).predict(X)
    kept = fitted.decision_function(X_before).copy()
    X.setflags(write=True)
    X[:] = 0.0
    _expect_same(kept, fitted.decision_function(X_before), "reusing the caller's X changes the fitted annotator")


@_register
def _check_scoring_changes_nothing(annotator: Annotator) -> None:
    X, Y = _problem()
    fitted = _fit(annotator, X, Y)
    kept: dict[str, NDArray[Any]] = {
        name: value.copy() for name, value in vars(fitted).items() if isinstance(value, np.ndarray)
    }
    first = fitted.decision_function(X)
    fitted.predict(X[:5])
    np.testing.assert_array_equal(first, fitted.decision_function(X), "scoring twice gives different scores")
    for name, value in kept.items():
        np.testing.assert_array_equal(value, vars(fitted)[name], f"scoring changes {name}")


@_register
def _check_refitting(annotator: Annotator) -> None:
    X, Y = _problem()
    once, again = _fit(annotator, X, Y), _fit(annotator, X, Y)
    np.testing.assert_array_equal(once.transduction_, again.transduction_, "two equal fits differ")
    again = _fit(annotator, *_problem(seed=7, n_labelled=9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.fit(X, Y)
    np.testing.assert_array_equal(once.transduction_, again.transduction_, "an earlier fit shows in transduction_")
    np.testing.assert_array_equal(once.thresholds_, again.thresholds_, "an earlier fit shows in thresholds_")


@_register
def _check_features_that_are_not_finite(annotator: Annotator) -> None:
    X, Y = _problem()
    fitted = _fit(annotator, X, Y)
    for value in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = value
        with _raises(ValueError, f"fit with {value} in X"):
            _fit(annotator, broken, Y)
        with _raises(ValueError, f"decision_function with {value} in X"):
            fitted.decision_function(broken)


@_register
def _check_wrong_number_of_features(annotator: Annotator) -> None:
    X, Y = _problem()
    with _raises(ValueError, "decision_function with a column too few"):
        _fit(annotator, X, Y).decision_function(X[:, 1:])


@_register
def _check_one_dimension_is_one_tag(annotator: Annotator) -> None:
    X, Y = _problem()
    column, matrix = _fit(annotator, X, Y[:, 0]), _fit(annotator, X, Y[:, :1])
    _expect(column.transduction_.shape == (len(X), 1), "labels of one dimension give scores of one column")
    _expect(
        np.array_equal(column.transduction_, matrix.transduction_),
        "labels of one dimension give the scores of the same labels as a column",
    )


@_register
def _check_a_single_tag_is_ranked(annotator: Annotator) -> None:
    X, Y = _problem()
    scores = _fit(annotator, X, Y[:, :1]).decision_function(X)[:, 0]
    cluster = np.arange(len(X)) % 3
    _expect(
        scores[cluster == 0].mean() > scores[cluster != 0].mean(),
        "with a single tag, photos with it score higher than photos without it",
    )


@_register
def _check_wrong_labels(annotator: Annotator) -> None:
    X, Y = _problem()
    wrong: dict[str, Any] = {
        "labels of three dimensions": Y[:, :, None],
        "a label of 2": np.where(Y == 1, 2, Y),
        "a label of 0.5": np.where(Y == 1, 0.5, Y),
        "a row of labels too few": Y[1:],
        "labels without a tag": Y[:, :0],
        "labels that are names": np.where(Y == 1, "sea", "sky"),
        "no labels": None,
    }
    if annotator.requires_labels:
        wrong["labels all unknown"] = np.full_like(Y, UNKNOWN)
    for situation, labels in wrong.items():
        with _raises(InvalidLabelsError, situation):
            _fit(annotator, X, labels)
