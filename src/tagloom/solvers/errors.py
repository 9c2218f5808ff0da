"""The error of the linear solvers."""

from tagloom.exceptions import InvalidInputError

__all__ = ["NotPositiveDefiniteError"]


class NotPositiveDefiniteError(InvalidInputError):
    """A matrix that has to be symmetric positive definite is not; the message names the column or the row."""
