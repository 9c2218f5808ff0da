"""Toy problems that can be drawn on paper."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import LabelMatrix, check_generator
from tagloom.exceptions import InvalidInputError

__all__ = ["make_moons"]


def make_moons(
    n_samples: int = 200, *, noise: float = 0.08, random_state: Any = None
) -> tuple[NDArray[np.float32], LabelMatrix]:
    """Make two interleaved half circles with three overlapping tags.

    Tag 0 is the upper moon, tag 1 the lower one, and tag 2 the outer end of either; a few labels and the shape of the
    whole tell the first two apart, as no straight line does.

    Parameters
    ----------
    n_samples : int, default=200
        Points of both moons together, at least 2.
    noise : float, default=0.08
        Standard deviation of what is added to each coordinate.
    random_state : int, Generator or None, default=None
        For positions and noise.

    Returns
    -------
    X : float32 array of shape (n_samples, 2)
        The points.
    Y : label matrix of shape (n_samples, 3)
        Their tags, complete.

    Examples
    --------
    >>> X, Y = make_moons(100, random_state=0)
    >>> X.shape, Y.shape
    ((100, 2), (100, 3))
    """
    if not isinstance(n_samples, numbers.Integral) or n_samples < 2:
        raise InvalidInputError(f"n_samples must be an integer of at least 2, got {n_samples!r}")
    if not np.isfinite(noise) or noise < 0:
        raise InvalidInputError(f"noise must be a finite number of at least 0, got {noise!r}")
    random = check_generator(random_state)
    lower = np.arange(n_samples) % 2 == 1
    angle = np.pi * random.random(n_samples)
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    points[lower] = [1.0, 0.5] - points[lower]
    # The outer end of the upper moon is at angle π, that of the lower one too: there its cosine has turned.
    outer = angle > 0.75 * np.pi
    points += noise * random.standard_normal(points.shape)
    Y = np.column_stack([~lower, lower, outer]).astype(np.int8)
    return points.astype(np.float32), Y
