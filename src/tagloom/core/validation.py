"""Constraints of parameters in scikit-learn's manner: what an estimator's ``_parameter_constraints`` is made of."""

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions, make_constraint

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError

__all__ = [
    "COMMON",
    "COUNT",
    "FOLDS",
    "NOT_NEGATIVE",
    "POSITIVE",
    "POSITIVE_SHARE",
    "SHARE",
    "NumberIn",
    "OneOf",
    "check_groups",
    "check_magnitude",
    "check_parameters",
    "satisfies",
]


class NumberIn(Interval):
    """A number in an interval; True and False are none."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether a value is such a number."""
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))

    def in_words(self) -> str:
        """Return the interval as a person says it."""
        noun = "a whole number" if self.type is Integral else "a number"
        low = {"left": "from", "both": "from"}.get(self.closed, "above")
        high = {"right": "to", "both": "to"}.get(self.closed, "below")
        if self.right is None:
            return f"{noun} {low} {self.left:g} on" if low == "from" else f"{noun} above {self.left:g}"
        return f"{noun} {low} {self.left:g} {high} {self.right:g}"


class OneOf(StrOptions):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        super().__init__(set(words))
        self._words = words

    def __str__(self) -> str:
        """Name the words in the order given."""
        return ("one of " if len(self._words) > 1 else "") + ", ".join(map(repr, self._words))


POSITIVE = NumberIn(Real, 0, None, closed="neither")
NOT_NEGATIVE = NumberIn(Real, 0, None, closed="left")
SHARE = NumberIn(Real, 0, 1, closed="both")
POSITIVE_SHARE = NumberIn(Real, 0, 1, closed="right")
COUNT = NumberIn(Integral, 1, None, closed="left")
FOLDS = NumberIn(Integral, 2, None, closed="left")

#: Parameters that mean the same in every annotator.
COMMON: dict[str, list[Any]] = {
    "C": [POSITIVE],
    "energy": [POSITIVE_SHARE],
    "groups": [FeatureGroups, None],
    "max_iter": [COUNT],
    "n_landmarks": [COUNT, None],
    "n_neighbors": [COUNT],
    "n_splits": [FOLDS],
    "n_threads": [COUNT, None],
    "tol": [POSITIVE],
}


def check_parameters(estimator: Any) -> None:
    """Raise an error that names the first parameter of an estimator that breaks its ``_parameter_constraints``."""
    try:
        estimator._validate_params()
    except InvalidParameterError as error:
        raise InvalidInputError(str(error)) from None


def satisfies(value: Any, constraints: list[Any]) -> bool:
    """Return whether a value satisfies any of some constraints; none at all refuse nothing."""
    return not constraints or any(make_constraint(one).is_satisfied_by(value) for one in constraints)


def check_groups(groups: Any) -> None:
    """Raise an error unless groups are a FeatureGroups or None."""
    if groups is not None and not isinstance(groups, FeatureGroups):
        raise InvalidInputError(
            f"groups must be a FeatureGroups or None, got {type(groups).__name__}; make one by "
            f"FeatureGroups.from_mapping({{name: columns}})"
        )


def check_magnitude(X: Any, most: float, method: str) -> None:
    """Raise an error if entries of features are so large that a method's sums of their products overflow.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
        Features, finite.
    most : float
        The largest entry that the method bears.
    method : str
        Its name.
    """
    largest = max(float(X.max()), -float(X.min())) if X.shape[0] and X.shape[1] else 0.0
    if largest > most:
        raise InvalidInputError(
            f"{method} bears features of up to {most:g}, got {largest:.3g}: divide each column by its standard "
            f"deviation, or leave out what was read wrongly"
        )
