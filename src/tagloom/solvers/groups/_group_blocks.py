"""Minimisation over one group of every tag at once, the other groups fixed."""

import numpy as np

from tagloom.core.typing import Floats
from tagloom.solvers.groups.radial import Radial

__all__ = ["best_on_axes", "shortened"]


#: Steps of the equation for a length, and the relative change at which they end.
LENGTH_STEPS, LENGTH_CHANGE = 40, 1e-13
#: Tangents of a concave penalty that are drawn one after another.
TANGENTS = 3


def shortened(z: Floats, curvature: Floats, limit: Floats) -> Floats:
    """Return for each column the minimiser of ``½ Σ_k curvature_k b_k² - zᵀb + limit ‖b‖``.

    Parameters
    ----------
    z : array of shape (m, c)
        The linear part.
    curvature : array of shape (m,)
        Positive.
    limit : array of shape (c,)
        Not negative.

    Notes
    -----
    b = 0 where ‖z‖ ≤ limit. Elsewhere ``b = r z / (curvature r + limit)`` with the length r at which
    ``h(r) = ‖z / (curvature r + limit)‖`` is 1; 1/h is concave and nearly a line, so that Newton's method on it climbs
    to the solution from below without a step too far.
    """
    free = limit <= 0
    result = np.zeros_like(z)
    if free.any():
        result[:, free] = z[:, free] / curvature[:, None]
    length = np.sqrt(np.einsum("kc,kc->c", z, z))
    columns = np.flatnonzero((length > limit) & ~free)
    if columns.size:
        part, bounds = z[:, columns], limit[columns]
        r = (length[columns] - bounds) / curvature.max()
        squares = np.square(part)
        for _ in range(LENGTH_STEPS):
            scale = curvature[:, None] * r
            scale += bounds
            np.reciprocal(scale, out=scale)
            terms = squares * scale
            terms *= scale
            h = np.sqrt(terms.sum(axis=0))
            terms *= scale
            # A step back is rounding, and from a length of nearly nothing it would lead below zero.
            step = np.maximum(h * h * (h - 1) / (curvature @ terms), 0.0)
            r += step
            if (step <= LENGTH_CHANGE * r).all():
                break
        result[:, columns] = part * (r / (curvature[:, None] * r + bounds))
    return result


def best_on_axes(z: Floats, curvature: Floats, radial: Radial, limit: Floats, now: Floats) -> Floats:
    """Return for each column a b that is not worse than ``now`` for ``½ Σ curvature_k b_k² - zᵀb + p(‖b‖; limit)``.

    The minimiser where p is convex. Else the end of a few tangents to p, zero, or the end of tangents from the best
    step of the penalty's own proximal map, whichever is lowest: the last finds a way out of zero where the penalty is
    too flat to hold it, and zero a way into it.
    """
    if radial.convex:
        return shortened(z, curvature, limit)
    best = _follow_tangents(now, z, curvature, radial, limit)
    low = _block_value(best, z, curvature, radial, limit)
    steepness = curvature.max()
    target = now + (z - curvature[:, None] * now) / steepness
    s = np.sqrt(np.einsum("kc,kc->c", target, target))
    r = radial.shrink(s, limit, np.full_like(limit, steepness))
    leap = np.flatnonzero((r > 0) & ~best.any(axis=0))
    if leap.size:
        start = target[:, leap] * (r[leap] / s[leap])
        landed = _follow_tangents(start, z[:, leap], curvature, radial, limit[leap])
        value = _block_value(landed, z[:, leap], curvature, radial, limit[leap])
        better = value < low[leap]
        best[:, leap[better]], low[leap[better]] = landed[:, better], value[better]
    best[:, low > 0] = 0.0
    return best


def _block_value(b: Floats, z: Floats, curvature: Floats, radial: Radial, limit: Floats) -> Floats:
    """Return the function that `best_on_axes` lowers."""
    smooth = np.einsum("kc,kc->c", 0.5 * curvature[:, None] * b - z, b)
    return smooth + radial.value(np.sqrt(np.einsum("kc,kc->c", b, b)), limit)


def _follow_tangents(b: Floats, z: Floats, curvature: Floats, radial: Radial, limit: Floats) -> Floats:
    """Minimise with the penalty replaced by its tangent at b, which lies above it, a few times."""
    for _ in range(TANGENTS):
        b = shortened(z, curvature, radial.slope(np.sqrt(np.einsum("kc,kc->c", b, b)), limit))
    return b
