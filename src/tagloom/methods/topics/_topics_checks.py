"""Checks of what the topic models are given."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.exceptions import InvalidInputError

__all__ = [
    "check_choices",
    "check_counts_of",
    "check_numbers",
    "warn_unless_converged",
    "warn_without_tags",
    "with_complement",
]


def check_choices(model: Any, choices: Mapping[str, Sequence[str]]) -> None:
    """Raise unless parameters are among the words they may be."""
    for name, allowed in choices.items():
        value = getattr(model, name)
        if not isinstance(value, str) or value not in allowed:
            raise InvalidInputError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def check_counts_of(model: Any, *names: str) -> None:
    """Raise unless parameters are integers of at least 1."""
    for name in names:
        value = getattr(model, name)
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise InvalidInputError(f"{name} must be a positive integer, got {value!r}")


def check_numbers(model: Any, *names: str, zero: bool = False) -> None:
    """Raise unless parameters are finite numbers above 0 (or at least 0)."""
    for name in names:
        value = getattr(model, name)
        is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value) or value < 0 or (value == 0 and not zero):
            raise InvalidInputError(f"{name} must be a number {'of at least' if zero else 'above'} 0, got {value!r}")


def warn_without_tags(Y: LabelMatrix) -> None:
    """Name the tags that no photo is known to have."""
    lost = np.flatnonzero(~(Y == 1).any(axis=0))
    if lost.size:
        warnings.warn(
            f"no photo is known to have the tags (columns) {lost[:10].tolist()}, {lost.size} in all: they get the "
            f"smallest scores. Label a photo that has them, or leave them out",
            UserWarning,
            stacklevel=4,
        )


def with_complement(Y: LabelMatrix) -> LabelMatrix:
    """Return the labels, and of a single tag its complement as a second one.

    A topic's tags share a probability of 1: a single tag would have all of it in every topic.
    """
    if Y.shape[1] > 1:
        return Y
    return np.hstack([Y, np.where(Y == UNKNOWN, UNKNOWN, 1 - Y).astype(np.int8)])


def warn_unless_converged(name: str, converged: bool, n_iter: int, tol: float) -> None:
    """Say that the iterations were used up."""
    if not converged:
        warnings.warn(
            f"{name} still gained more than tol={tol:g} per photo after {n_iter} iterations; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
