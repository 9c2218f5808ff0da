"""Three suns: a toy problem of three categories, two of which are close to the third."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import LabelMatrix, check_generator
from tagloom.exceptions import InvalidInputError

__all__ = ["make_suns"]

#: Where the discs are, their radius, and how many rays each has.
_CENTRES = np.array([[-1.0, 0.0], [1.0, 0.0]])
_DISC = 0.45
_RAYS = 8


def make_suns(
    n_samples: int = 170, *, noise: float = 0.03, random_state: Any = None
) -> tuple[NDArray[np.float32], LabelMatrix]:
    """Make the toy problem "three suns": two suns and, around both, the rays of a third category.

    Tags 0 and 1 are the discs on the left and on the right; tag 2 the rays around both, which start a little outside
    their rims. Points of different tags are close to each other there.

    Parameters
    ----------
    n_samples : int, default=170
        Points of all three tags together, at least 3; the paper has about 170.
    noise : float, default=0.03
        Standard deviation of what is added to each coordinate.
    random_state : int, Generator or None, default=None
        For positions and noise.

    Returns
    -------
    X : float32 array of shape (n_samples, 2)
        The points.
    Y : label matrix of shape (n_samples, 3)
        Their tags, complete; each point has one.

    Notes
    -----
    After Fig. 2 of the LPSSVM paper, which shows the points and gives no coordinates: this is a problem of the same
    kind, and not the same problem.

    Examples
    --------
    >>> X, Y = make_suns(random_state=0)
    >>> X.shape, Y.sum(axis=0)
    ((170, 2), array([57, 57, 56]))
    """
    if not isinstance(n_samples, numbers.Integral) or n_samples < 3:
        raise InvalidInputError(f"n_samples must be an integer of at least 3, got {n_samples!r}")
    if not np.isfinite(noise) or noise < 0:
        raise InvalidInputError(f"noise must be a finite number of at least 0, got {noise!r}")
    random = check_generator(random_state)
    kind = np.arange(n_samples) % 3
    rays = kind == 2
    sun = np.where(rays, random.integers(2, size=n_samples), kind)
    share = random.random(n_samples)
    # Equal density on the discs; rays are lines from the rim outwards.
    radius = np.where(rays, _DISC * (1.15 + 0.85 * share), _DISC * np.sqrt(share))
    ray = 2.0 * np.pi * random.integers(_RAYS, size=n_samples) / _RAYS
    angle = np.where(rays, ray, 2.0 * np.pi * random.random(n_samples))
    points = _CENTRES[sun] + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points += noise * random.standard_normal(points.shape)
    return points.astype(np.float32), (kind[:, None] == np.arange(3)).astype(np.int8)
