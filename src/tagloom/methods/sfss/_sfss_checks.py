"""Checks of what SFSS is given."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from tagloom.core.labels import LabelMatrix
from tagloom.core.validation import check_magnitude
from tagloom.exceptions import InvalidInputError

__all__ = ["check_parameters", "check_size", "filled", "warn_without_positives"]

CHOICES = {"solver": ("prox", "irls"), "objective": ("joint", "direct"), "strategy": ("auto", "plain", "reduced")}
#: Entries of sparse features that may be filled in to build the graph.
MOST_ENTRIES = 250_000_000
#: Features whose squares, summed over rows, stay finite with room to spare: in single precision, and in double.
LARGEST, LARGEST_IN_DOUBLE = 1e16, 1e140


def check_parameters(model: Any) -> None:
    """Raise an error that names the first parameter of an SFSS that cannot be used."""
    if model.sparsity != "auto" and not _is_number(model.sparsity, least=0.0):
        raise InvalidInputError(f"sparsity must be 'auto' or a number of at least 0, got {model.sparsity!r}")
    if not _is_number(model.regression_weight, least=0.0) or model.regression_weight == 0:
        raise InvalidInputError(f"regression_weight must be a number above 0, got {model.regression_weight!r}")
    if not _is_number(model.unlabeled_pull, least=0.0):
        raise InvalidInputError(f"unlabeled_pull must be a number of at least 0, got {model.unlabeled_pull!r}")
    if not _is_number(model.tol, least=0.0) or model.tol == 0:
        raise InvalidInputError(f"tol must be a number above 0, got {model.tol!r}")
    for name, allowed in CHOICES.items():
        if getattr(model, name) not in allowed:
            raise InvalidInputError(f"{name} must be one of {allowed}, got {getattr(model, name)!r}")


def check_size(X: Any, *, in_single: bool) -> None:
    """Raise an error if features are so large that their products overflow, in single precision or in double."""
    check_magnitude(X, LARGEST if in_single else LARGEST_IN_DOUBLE, "SFSS")


def filled(X: Any) -> Any:
    """Return features as the graph needs them: dense."""
    if not sparse.issparse(X):
        return X
    if X.shape[0] * X.shape[1] > MOST_ENTRIES:
        raise InvalidInputError(
            f"sparse features of shape {X.shape} are too large to be filled in for the neighbour graph; build a graph "
            f"and give it as graph="
        )
    return X.toarray()


def warn_without_positives(Y: LabelMatrix) -> None:
    """Name the tags that no photo is known to have."""
    lost = np.flatnonzero(~(Y == 1).any(axis=0))
    if lost.size:
        warnings.warn(
            f"no photo is known to have the tags (columns) {lost[:10].tolist()}, {lost.size} in all: their scores say "
            f"nothing. Label a photo that has them, or leave them out",
            UserWarning,
            stacklevel=4,
        )


def _is_number(value: Any, *, least: float) -> bool:
    is_real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_real and bool(np.isfinite(value)) and bool(value >= least)
