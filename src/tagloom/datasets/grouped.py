"""A regression in which some groups of columns tell nothing."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import FeatureGroups, LabelMatrix, check_generator
from tagloom.exceptions import InvalidInputError

__all__ = ["GroupedRegression", "make_grouped_regression"]


@dataclass(frozen=True, eq=False)
class GroupedRegression:
    """Data with the coefficients they were made with.

    Parameters
    ----------
    X : float64 array of shape (n, d)
        Normal columns with mean 0 and variance 1.
    y : float64 array of shape (n,)
        ``X @ coef`` plus noise.
    coef : float64 array of shape (d,)
        The truth; zero in the groups that tell nothing.
    groups : FeatureGroups
        Named ``group 1``, ``group 2`` …
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    coef: NDArray[np.float64]
    groups: FeatureGroups

    @property
    def relevant(self) -> NDArray[np.bool_]:
        """For each group whether its coefficients are not all zero."""
        return np.array([bool(self.coef[self.groups[name]].any()) for name in self.groups])

    @property
    def Y(self) -> LabelMatrix:
        """The target as one tag, of shape (n, 1): 1 where y is positive."""
        return (self.y > 0).astype(np.int8)[:, None]


def make_grouped_regression(
    n_samples: int = 200,
    *,
    n_groups: int = 4,
    group_size: int = 2,
    n_relevant: int = 2,
    within: float = 0.0,
    between: float = 0.0,
    noise: float = 1.0,
    random_state: Any = None,
) -> GroupedRegression:
    """Draw the simulation of paper 004, Section 3.3: four groups of two columns, the last two of no use.

    Parameters
    ----------
    n_samples : int, default=200
        Rows.
    n_groups, group_size : int, default=4 and 2
        Groups, and columns of each.
    n_relevant : int, default=2
        The first so many groups have coefficients from N(0, 1), the others zeros.
    within, between : float, default=0
        Correlation of two columns of one group, and of two groups; ``0 <= between <= within < 1``. The paper speaks
        of "a covariance matrix" without saying which one; the default is the identity.
    noise : float, default=1
        Standard deviation of what is added to ``X @ coef``.
    random_state : int, Generator or None, default=None
        For everything drawn.

    Returns
    -------
    GroupedRegression
        X, y, coef and groups; ``relevant`` says which groups count.

    Examples
    --------
    >>> made = make_grouped_regression(random_state=0)
    >>> made.X.shape, made.relevant.tolist()
    ((200, 8), [True, True, False, False])
    """
    counts = {"n_samples": n_samples, "n_groups": n_groups, "group_size": group_size}
    for name, count in counts.items():
        if not isinstance(count, numbers.Integral) or count < 1:
            raise InvalidInputError(f"{name} must be an integer of at least 1, got {count!r}")
    if not isinstance(n_relevant, numbers.Integral) or not 0 <= n_relevant <= n_groups:
        raise InvalidInputError(f"n_relevant must be an integer from 0 to n_groups ({n_groups}), got {n_relevant!r}")
    if not 0 <= between <= within < 1:
        raise InvalidInputError(f"expected 0 <= between <= within < 1, got between={between!r}, within={within!r}")
    if not np.isfinite(noise) or noise < 0:
        raise InvalidInputError(f"noise must be a finite number of at least 0, got {noise!r}")
    random = check_generator(random_state)
    shape = (n_samples, n_groups, group_size)
    # A part common to all columns, one common to a group and one of each column give the two correlations exactly.
    parts = [random.standard_normal((n_samples, 1, 1)), random.standard_normal((*shape[:2], 1))]
    scales = np.sqrt([between, within - between, 1.0 - within])
    columns = scales[0] * parts[0] + scales[1] * parts[1] + scales[2] * random.standard_normal(shape)
    X = columns.reshape(n_samples, -1)
    coef = random.standard_normal((n_groups, group_size))
    coef[n_relevant:] = 0.0
    y = X @ coef.ravel() + noise * random.standard_normal(n_samples)
    groups = FeatureGroups([f"group {number}" for number in range(1, n_groups + 1)], [group_size] * n_groups)
    return GroupedRegression(X, y, coef.ravel(), groups)
