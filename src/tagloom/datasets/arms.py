"""Three winding classes with two tags between them: the toy problem of transductive kernel maps."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import LabelMatrix, check_generator
from tagloom.exceptions import InvalidInputError

__all__ = ["make_arms"]


def make_arms(
    n_samples: int = 240, *, noise: float = 0.04, random_state: Any = None
) -> tuple[NDArray[np.float32], LabelMatrix]:
    """Make three arms of a spiral: one has tag 0, one has tag 1, and one has both.

    No straight line tells the arms apart; with one labelled point on each, their shape does.

    Parameters
    ----------
    n_samples : int, default=240
        Points of all arms together, at least 3.
    noise : float, default=0.04
        Standard deviation of what is added to each coordinate.
    random_state : int, Generator or None, default=None
        For positions and noise.

    Returns
    -------
    X : float32 array of shape (n_samples, 2)
        The points; point i lies on arm i % 3.
    Y : label matrix of shape (n_samples, 2)
        Their tags, complete.

    Notes
    -----
    After Fig. 1 of P. D. Vo, H. Sahbi: Transductive kernel map learning, BMVC 2012, whose data are not published.

    Examples
    --------
    >>> X, Y = make_arms(6, random_state=0)
    >>> Y.tolist()
    [[1, 0], [0, 1], [1, 1], [1, 0], [0, 1], [1, 1]]
    """
    if not isinstance(n_samples, numbers.Integral) or n_samples < 3:
        raise InvalidInputError(f"n_samples must be an integer of at least 3, got {n_samples!r}")
    if not np.isfinite(noise) or noise < 0:
        raise InvalidInputError(f"noise must be a finite number of at least 0, got {noise!r}")
    random = check_generator(random_state)
    count = int(n_samples)
    arm = np.arange(count) % 3
    # One point in each stretch of its arm: no gaps that would cut it in two.
    along = (np.arange(count) // 3 + random.random(count)) / -(-count // 3)
    angle = 2.0 * np.pi * arm / 3.0 + 1.2 * np.pi * along
    radius = 0.4 + 1.2 * along
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points += noise * random.standard_normal(points.shape)
    Y = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int8)[arm]
    return points.astype(np.float32), Y
