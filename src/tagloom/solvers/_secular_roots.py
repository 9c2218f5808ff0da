"""Roots of secular functions ``g(x) = ±1 + Σ z_i² / (λ_i - x)`` between their poles; many functions, one set of poles.

A root is kept as the number of the nearest pole and its distance from it, so that ``λ_i - x`` is accurate for every i.
Between two poles g rises from -∞ to ∞; a step replaces it by ``c + s/(λ_l - x) + S/(λ_r - x)`` with the value and the
slope of g, the weight of the nearest pole as it is (Li's fixed-weight scheme), and stays within a bracket.

Since all functions share their poles, the part of far poles is a smooth function on a block of neighbouring roots, and
interpolated there by one matrix product for all functions; what is left for each root are the near poles.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from tagloom.core.typing import Floats, Indices

__all__ = ["Pairs", "find_roots"]


EPS = float(np.finfo(np.float64).eps)
_STEPS = 60
#: Poles for which interpolation does not pay.
_FEW_POLES = 192
#: Poles of a block; far poles are at least the block's width away, where 22 nodes are exact to rounding.
_BLOCK = 32
_NODES = 22
#: Entries of a table of differences that is worked on at a time: it stays in the cache of a core.
_ENTRIES = 1 << 16

Evaluate = Callable[[Indices, Indices, Floats], tuple[Floats, Floats, Floats]]


@dataclass
class Pairs:
    """Roots to be found: each belongs to a function and lies between two poles, or beyond the last one.

    Parameters
    ----------
    function : ndarray of int, shape (r,)
        Which row of the squared weights.
    left, right : ndarrays of int, shape (r,)
        Numbers of the poles around the root, -1 where there is none.
    gap : ndarray of shape (r,)
        Length of the interval.
    """

    function: Indices
    left: Indices
    right: Indices
    gap: Floats

    def part(self, chosen: NDArray[np.bool_] | Indices) -> "Pairs":
        """Return some of the roots."""
        return Pairs(self.function[chosen], self.left[chosen], self.right[chosen], self.gap[chosen])


def find_roots(poles: Floats, squares: Floats, sign: float, pairs: Pairs) -> tuple[Indices, Floats]:
    """Return the nearest pole of each root and the root's distance from it.

    Parameters
    ----------
    poles : array of shape (q,)
        λ, ascending.
    squares : array of shape (c, q)
        z² of each function.
    sign : float
        The constant of g, 1 or -1.
    pairs : Pairs
        The roots.
    """
    origin, shift = np.zeros(len(pairs.gap), dtype=np.intp), np.zeros(len(pairs.gap))
    for chosen, evaluate in _evaluators(poles, squares, sign, pairs):
        origin[chosen], shift[chosen] = _iterate(squares, pairs.part(chosen), evaluate)
    return origin, shift


def _evaluators(poles: Floats, squares: Floats, sign: float, pairs: Pairs) -> Iterator[tuple[Indices, Evaluate]]:
    """Yield groups of roots and the function that evaluates g there."""
    rest = np.ones(len(pairs.gap), dtype=bool)
    if len(poles) > _FEW_POLES:
        inside = (pairs.left >= 0) & (pairs.right >= 0)
        for start in range(0, len(poles) - 1, _BLOCK):
            stop = min(start + _BLOCK, len(poles) - 1)
            chosen = np.flatnonzero(inside & (pairs.left >= start) & (pairs.right <= stop))
            if chosen.size:
                rest[chosen] = False
                yield chosen, _Interpolated(poles, squares, sign, start, stop)
    chosen = np.flatnonzero(rest)
    if chosen.size:
        yield chosen, _Direct(poles, squares, sign)


class _Direct:
    """g, its slope and the sum of the sizes of its terms, with every pole."""

    def __init__(self, poles: Floats, squares: Floats, sign: float) -> None:
        self.poles, self.squares, self.sign = poles, squares, sign

    def __call__(self, function: Indices, origin: Indices, shift: Floats) -> tuple[Floats, Floats, Floats]:
        g, slope, size = np.empty(len(shift)), np.empty(len(shift)), np.empty(len(shift))
        at = self._at(origin)
        rows = max(1, _ENTRIES // max(1, len(self.poles)))
        for start in range(0, len(shift), rows):
            part = slice(start, start + rows)
            terms = self.poles - at[part, None]
            terms -= shift[part, None]
            if not terms.all():
                # A pole of no weight inside the interval.
                terms[terms == 0] = np.inf
            np.reciprocal(terms, out=terms)
            weights = self.squares[function[part]]
            g[part] = self.sign + np.einsum("ij,ij->i", weights, terms)
            weights *= terms
            slope[part] = np.einsum("ij,ij->i", weights, terms)
            size[part] = 1.0 + np.abs(weights, out=weights).sum(axis=1)
        return g, slope, size

    def _at(self, origin: Indices) -> Floats:
        return self.poles[origin]


class _Interpolated(_Direct):
    """The same for roots between two poles: near poles as they are, far ones by Chebyshev polynomials."""

    def __init__(self, poles: Floats, squares: Floats, sign: float, start: int, stop: int) -> None:
        low, high = float(poles[start]), float(poles[stop])
        near = slice(*np.searchsorted(poles, [2.0 * low - high, 2.0 * high - low], side="left"))
        near = slice(min(near.start, start), max(near.stop, stop + 1))
        super().__init__(poles[near], np.ascontiguousarray(squares[:, near]), sign)
        self.all_poles = poles
        self.middle, self.half = 0.5 * (low + high), 0.5 * (high - low)
        nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        far = np.concatenate([np.arange(near.start), np.arange(near.stop, len(poles))])
        at_nodes = squares[:, far] @ (1.0 / (poles[far, None] - (self.middle + self.half * nodes)))
        table = chebyshev.chebvander(nodes, _NODES - 1) * (2.0 / _NODES)
        table[:, 0] *= 0.5
        self.series: Floats = (at_nodes @ table).T
        self.slopes: Floats = np.asarray(chebyshev.chebder(self.series, scl=1.0 / self.half, axis=0), dtype=np.float64)

    def __call__(self, function: Indices, origin: Indices, shift: Floats) -> tuple[Floats, Floats, Floats]:
        g, slope, size = super().__call__(function, origin, shift)
        place = (self.all_poles[origin] + shift - self.middle) / self.half
        far = chebyshev.chebval(place, self.series[:, function], tensor=False)
        g += far
        slope += chebyshev.chebval(place, self.slopes[:, function], tensor=False)
        return g, slope, size + np.abs(far)

    def _at(self, origin: Indices) -> Floats:
        return self.all_poles[origin]


def _iterate(squares: Floats, pairs: Pairs, evaluate: Evaluate) -> tuple[Indices, Floats]:
    """Find the roots of one group, those that are not settled yet in every round."""
    at_left = pairs.left >= 0
    origin = np.where(at_left, pairs.left, pairs.right)
    shift = np.where(at_left, 0.5, -0.5) * pairs.gap
    state = [*evaluate(pairs.function, origin, shift)]
    origin, shift, low, high = _halves(pairs, origin, shift, state[0] > 0)
    weight = squares[pairs.function, origin]
    nearest_left = origin == pairs.left
    open_roots = np.arange(len(shift))
    for _ in range(_STEPS):
        g, slope, size = state
        settled = (np.abs(g) <= 4.0 * EPS * size) | (high - low <= 2.0 * EPS * np.abs(shift))[open_roots]
        open_roots, g, slope = open_roots[~settled], g[~settled], slope[~settled]
        if not open_roots.size:
            break
        old = shift[open_roots]
        low[open_roots] = np.where(g < 0, old, low[open_roots])
        high[open_roots] = np.where(g > 0, old, high[open_roots])
        new = old + _step(g, slope, old, pairs.gap[open_roots], weight[open_roots], nearest_left[open_roots])
        bad = ~((new > low[open_roots]) & (new < high[open_roots]))
        new[bad] = 0.5 * (low + high)[open_roots][bad]
        shift[open_roots] = new
        moved = np.abs(new - old) > 2.0 * EPS * np.abs(new)
        open_roots = open_roots[moved]
        state = [*evaluate(pairs.function[open_roots], origin[open_roots], shift[open_roots])]
    return origin, shift


def _halves(
    pairs: Pairs, origin: Indices, shift: Floats, before: NDArray[np.bool_]
) -> tuple[Indices, Floats, Floats, Floats]:
    """Return the nearest pole, the middle as seen from it, and the bracket: the half of the interval with the root."""
    to_right = (pairs.left >= 0) & (pairs.right >= 0) & ~before
    origin = np.where(to_right, pairs.right, origin)
    shift = np.where(to_right, -0.5 * pairs.gap, shift)
    end = np.where(before, -0.5, 0.5) * pairs.gap + shift
    return origin, shift, np.minimum(shift, end), np.maximum(shift, end)


def _step(
    g: Floats, slope: Floats, shift: Floats, gap: Floats, weight: Floats, nearest_left: NDArray[np.bool_]
) -> Floats:
    """Return how far the root of ``c + s/(left - x) + S/(right - x)`` is; not finite where that has none."""
    left = np.where(nearest_left, -shift, -gap - shift)
    right = np.where(nearest_left, gap - shift, -shift)
    near, far = np.where(nearest_left, left, right), np.where(nearest_left, right, left)
    with np.errstate(all="ignore"):
        c = g - weight / near - far * (slope - weight / near**2)
        a = (left + right) * g - left * right * slope
        b = left * right * g
        root = np.sqrt(np.maximum(a * a - 4.0 * b * c, 0.0))
        return np.asarray(np.where(a <= 0, (a - root) / (2.0 * c), 2.0 * b / (a + root)))
