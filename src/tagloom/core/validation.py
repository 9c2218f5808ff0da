"""Checks of parameters that all annotators share."""

import inspect
import numbers
from typing import Any, get_args

import numpy as np

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError

__all__ = ["check_groups", "check_magnitude", "check_number", "check_parameters"]

#: The smallest value of parameters that mean the same in every annotator.
LEAST = {"max_iter": 1, "tol": 0}


def check_parameters(annotator: Any, *, zero_tol: bool = False) -> None:
    """Raise an error that names the first parameter whose kind is not the one that the constructor declares.

    Parameters declared ``int`` or ``float``, with or without ``None``, have to be such numbers. Besides, ``max_iter``
    has to be at least 1, ``tol`` finite and above 0, and ``groups`` a FeatureGroups or None. What else a number has to
    be is for the annotator to say.

    Parameters
    ----------
    annotator : Annotator
        Anything with a constructor in the manner of scikit-learn.
    zero_tol : bool, default=False
        Whether a ``tol`` of 0 has a meaning: that all rounds are taken.
    """
    for name, parameter in inspect.signature(type(annotator).__init__).parameters.items():
        kinds = set(get_args(parameter.annotation) or (parameter.annotation,))
        value = getattr(annotator, name, None)
        if value is parameter.default:
            continue
        if name == "groups":
            check_groups(value)
        elif kinds - {type(None)} in ({int}, {float}):
            check_number(
                name,
                value,
                least=LEAST.get(name),
                above=name == "tol" and not zero_tol,
                integer=int in kinds,
                optional=type(None) in kinds,
            )


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: bool = False,
    integer: bool = False,
    optional: bool = False,
) -> None:
    """Raise an error unless a parameter is a number.

    Parameters
    ----------
    name : str
        What the error calls it.
    value : object
        What was given.
    least : float, optional
        The smallest number that is allowed; then infinity is not.
    above : bool, default=False
        Whether ``least`` itself is too small.
    integer : bool, default=False
        Whether it has to be an integer.
    optional : bool, default=False
        Whether None will do.
    """
    if optional and value is None:
        return
    kind = numbers.Integral if integer else numbers.Real
    fits = isinstance(value, kind) and not isinstance(value, bool | np.bool_) and not np.isnan(float(value))
    if fits and least is not None:
        fits = bool(value > least if above else value >= least) and bool(np.isfinite(float(value)))
    if not fits:
        what = "a whole number" if integer else "a number"
        limit = "" if least is None else f" above {least:g}" if above else f" of at least {least:g}"
        raise InvalidInputError(f"{name} must be {'None or ' if optional else ''}{what}{limit}, got {value!r}")


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
