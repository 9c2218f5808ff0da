"""Toy problems that can be drawn on paper: two moons, three arms, three suns."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import LabelMatrix, check_generator
from tagloom.exceptions import InvalidInputError

__all__ = [
    "make_arms",
    "make_moons",
    "make_suns",
]


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
