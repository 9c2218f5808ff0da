"""Arrays and groups as figures need them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagloom.core import FeatureGroups, Floats
from tagloom.exceptions import InvalidInputError

__all__ = ["Floats", "as_numbers", "check_groups", "group_norms"]


def as_numbers(values: ArrayLike, name: str, ndim: tuple[int, ...], *, gaps: bool = False) -> Floats:
    """Return an array that is not empty, has one of these numbers of dimensions and finite entries.

    Parameters
    ----------
    values : array-like
        What was given.
    name : str
        What to call it in an error.
    ndim : tuple of int
        Numbers of dimensions that are accepted.
    gaps : bool, default=False
        Accept NaN.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be an array of numbers: {error}") from None
    if array.ndim not in ndim:
        wanted = " or ".join(str(number) for number in ndim)
        raise InvalidInputError(f"{name} must have {wanted} dimensions, got shape {array.shape}")
    if array.size == 0:
        raise InvalidInputError(f"{name} is empty: there is nothing to draw (shape {array.shape})")
    if not (np.isfinite(array) | (gaps & np.isnan(array))).all():
        raise InvalidInputError(f"{name} must be finite{' or NaN' if gaps else ''}; leave out what is not")
    return array


def check_groups(groups: Any) -> FeatureGroups:
    """Return the groups, or raise if they are none or of another kind."""
    if not isinstance(groups, FeatureGroups):
        raise InvalidInputError(f"groups must be a FeatureGroups(names, sizes), got {type(groups).__name__}")
    if not len(groups):
        raise InvalidInputError("groups has no group: there is nothing to draw")
    return groups


def group_norms(coef: Floats, groups: FeatureGroups, *, axis: int = 0) -> Floats:
    """Return the Euclidean norm of each group of entries along ``axis``."""
    starts = np.cumsum((0, *groups.sizes[:-1]))
    return np.sqrt(np.add.reduceat(np.square(coef), starts, axis=axis))
