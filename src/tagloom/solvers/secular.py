"""Eigenproblems that differ from a solved one by a matrix of rank one: the secular equation, for many at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray

from tagloom.core import Bools, Floats, Indices
from tagloom.exceptions import InvalidInputError

__all__ = ["RankOneSpectra", "rank_one_spectra"]


# Roots of secular functions ``g(x) = ±1 + Σ z_i² / (λ_i - x)`` between their poles; many functions, one set of poles.

EPS = float(np.finfo(np.float64).eps)
_STEPS = 60
#: Poles for which interpolation does not pay.
_FEW_POLES = 192
#: Poles of a block; far poles are at least the block's width away, where 22 nodes are exact to rounding.
_BLOCK = 32
_NODES = 22
#: Entries of a table of differences that is worked on at a time: it stays in the cache of a core.
_ROOT_ENTRIES = 1 << 16

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
        rows = max(1, _ROOT_ENTRIES // max(1, len(self.poles)))
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


#: In rounding units: what is smaller than that many, relative to the matrix, is zero; poles that are nearer are equal.
_DEFLATE = 8.0
#: Entries of eigenvectors that are worked on at a time: they stay in the cache of a core.
_ENTRIES = 1 << 15


@dataclass(frozen=True)
class RankOneSpectra:
    """The lowest eigenvalues of ``diag(λ) + ρ z zᵀ`` for many z, and their eigenvectors on demand.

    Made by `rank_one_spectra`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (c, m)
        Ascending, one row for each z.
    """

    eigenvalues: Floats
    _poles: Floats
    _z: Floats
    _own: Indices
    _origin: Indices
    _shift: Floats
    _is_root: Bools
    _reflections: list[tuple[slice, Floats]]

    @property
    def n_poles(self) -> int:
        """Order q of the matrices."""
        return len(self._poles)

    def vectors(self, columns: ArrayLike, n_vectors: int | None = None) -> Floats:
        """Return the eigenvectors of the lowest eigenvalues.

        Parameters
        ----------
        columns : int array of shape (k,)
            Which z.
        n_vectors : int, optional
            How many of each; default: all m.

        Returns
        -------
        ndarray of shape (k, q, n_vectors)
            Orthonormal columns. The sign is such that z = 0 gives columns of the identity.
        """
        which = np.asarray(columns, dtype=np.intp)
        count = self.eigenvalues.shape[1] if n_vectors is None else n_vectors
        vectors = np.empty((len(which), count, self.n_poles))
        step = max(1, _ENTRIES // max(1, len(which) * self.n_poles))
        for start in range(0, count, step):
            part = slice(start, min(count, start + step))
            self._fill(which, part, vectors[:, part])
        for rows, reflectors in self._reflections:
            u = reflectors[which]
            vectors[:, :, rows] -= 2.0 * np.einsum("tki,ti->tk", vectors[:, :, rows], u)[:, :, None] * u[:, None, :]
        return vectors.swapaxes(1, 2)

    def _fill(self, which: Indices, part: slice, vectors: Floats) -> None:
        """Compute some eigenvectors, before reflections, as rows (k, m, q)."""
        own, z = self._own[which, part], self._z[which]
        np.subtract(self._poles, self._poles[self._origin[which, part]][:, :, None], out=vectors)
        vectors -= self._shift[which, part][:, :, None]
        # The difference may be zero where z is, and where an eigenvalue is not a root.
        row, pole = np.nonzero(z == 0)
        vectors[row, :, pole] = 1.0
        row, place = np.nonzero(~self._is_root[which, part])
        vectors[row, place] = 1.0
        np.divide(z[:, None, :], vectors, out=vectors)
        vectors[row, place] = 0.0
        vectors[row, place, own[row, place]] = 1.0
        signs = np.sign(np.take_along_axis(vectors, own[:, :, None], axis=2)[:, :, 0])
        vectors *= (signs / np.sqrt(np.einsum("tki,tki->tk", vectors, vectors)))[:, :, None]


def rank_one_spectra(values: ArrayLike, Z: ArrayLike, weight: float, *, n_lowest: int | None = None) -> RankOneSpectra:
    """Solve ``(diag(λ) + ρ z zᵀ)v = xv`` for every column z of a matrix.

    Parameters
    ----------
    values : array of shape (q,)
        λ, ascending: the eigenvalues of the problem that is solved already, in whose eigenvectors z is expressed.
    Z : array of shape (q, c)
        One z for each problem.
    weight : float
        ρ, of either sign.
    n_lowest : int, optional
        How many of the lowest eigenvalues; default: all q.

    Returns
    -------
    RankOneSpectra
        Eigenvalues for all columns, and a method for eigenvectors.

    Notes
    -----
    Eigenvalues are the roots of ``1 + ρ Σ z_i²/(λ_i - x)``, one between each two neighbouring λ, and eigenvectors
    ``z_i/(λ_i - x)``. *Deflation*: where z_i is zero to rounding, λ_i stays an eigenvalue; equal λ are first turned by
    a reflection so that only one of their z_i is not zero. The cost is of order q for each root, but for a matrix
    product that all columns share.

    References
    ----------
    J. Bunch, C. Nielsen, D. Sorensen, "Rank-one modification of the symmetric eigenproblem", Numerische Mathematik 31,
    1978. R.-C. Li, "Solving secular equations stably and efficiently", LAPACK working note 89, 1993.

    Examples
    --------
    >>> spectra = rank_one_spectra([0.0, 1.0], [[1.0], [1.0]], 1.5)
    >>> spectra.eigenvalues.round(3)
    array([[0.419, 3.581]])
    """
    poles, z, count = _check(values, Z, weight, n_lowest)
    if weight == 0:
        z = np.zeros_like(z)
    q = len(poles)
    spread = abs(weight) * np.einsum("ti,ti->t", z, z)
    scale = float(np.abs(poles).max(initial=0.0))
    z, reflections = _merge_ties(poles, z, _DEFLATE * EPS * scale, first=weight < 0)
    rounding = _DEFLATE * EPS * np.maximum(scale, spread)
    # Setting z_i to zero changes the matrix by ρ|z_i|‖z‖.
    active = np.abs(z) * np.sqrt(abs(weight) * spread)[:, None] > rounding[:, None]
    z = np.where(active, z, 0.0)
    neighbour = _next_active(active, backwards=weight < 0)
    own = _candidates(active, count, weight)
    is_root = np.take_along_axis(active, own, axis=1)
    row, place = np.nonzero(is_root)
    pole, other = own[row, place], neighbour[row, own[row, place]]
    gap = np.where(other >= 0, np.abs(poles[other] - poles[pole]), spread[row] * (1.0 + 4.0 * EPS * q))
    left, right = (other, pole) if weight < 0 else (pole, other)
    origin, shift = own.copy(), np.zeros(own.shape)
    origin[row, place], shift[row, place] = find_roots(
        poles, abs(weight) * z * z, 1.0 if weight > 0 else -1.0, Pairs(row, left, right, gap)
    )
    found = poles[origin] + shift
    order = np.argsort(found, axis=1, kind="stable")[:, :count]

    def lowest(part: NDArray[Any]) -> NDArray[Any]:
        return np.take_along_axis(part, order, axis=1)

    return RankOneSpectra(
        lowest(found), poles, z, lowest(own), lowest(origin), lowest(shift), lowest(is_root), reflections
    )


def _check(values: ArrayLike, Z: ArrayLike, weight: float, n_lowest: int | None) -> tuple[Floats, Floats, int]:
    poles, z = np.asarray(values, dtype=np.float64), np.asarray(Z, dtype=np.float64)
    if poles.ndim != 1 or z.ndim != 2 or len(z) != len(poles):
        raise InvalidInputError(
            f"expected values of shape (q,) and Z of shape (q, c), one row of Z for each value, got {poles.shape} and "
            f"{z.shape}"
        )
    if not (np.isfinite(poles).all() and np.isfinite(z).all() and np.isfinite(weight)):
        raise InvalidInputError("values, Z and weight must be finite")
    if (np.diff(poles) < 0).any():
        raise InvalidInputError("values must be ascending; sort them, and the rows of Z with them")
    if n_lowest is not None and not 0 <= n_lowest <= len(poles):
        raise InvalidInputError(f"n_lowest must lie between 0 and the number of values, {len(poles)}, got {n_lowest!r}")
    return poles, np.ascontiguousarray(z.T), len(poles) if n_lowest is None else int(n_lowest)


def _merge_ties(poles: Floats, z: Floats, tol: float, *, first: bool) -> tuple[Floats, list[tuple[slice, Floats]]]:
    """Reflect z so that of equal poles only the first, or the last, has a weight; return the reflectors, too."""
    new = np.concatenate([[0], np.flatnonzero(np.diff(poles) > tol) + 1, [len(poles)]])
    z = z.copy()
    reflections = []
    for group in np.flatnonzero(np.diff(new) > 1):
        rows = slice(new[group], new[group + 1])
        part = z[:, rows]
        keep = 0 if first else -1
        sign = np.where(part[:, keep] < 0, -1.0, 1.0)
        length = sign * np.linalg.norm(part, axis=1)
        # u = z + sign ‖z‖ e, and the reflection takes z to -sign ‖z‖ e; z = 0, or a single entry, stays as it is.
        u = part.copy()
        u[:, keep] += length
        u[(np.delete(part, keep % part.shape[1], axis=1) == 0).all(axis=1)] = 0.0
        norms = np.linalg.norm(u, axis=1, keepdims=True)
        u /= np.where(norms > 0, norms, 1.0)
        z[:, rows] = np.where(norms > 0, 0.0, part)
        z[:, rows][:, keep] = np.where(norms[:, 0] > 0, -length, part[:, keep])
        reflections.append((rows, u))
    return z, reflections


def _next_active(active: Bools, *, backwards: bool) -> Indices:
    """Return for each pole the next active one above it (or below), -1 where there is none."""
    n, q = active.shape
    places = np.broadcast_to(np.arange(q), active.shape)
    if backwards:
        last = np.maximum.accumulate(np.where(active, places, -1), axis=1)
        return np.hstack([np.full((n, 1), -1), last[:, :-1]])
    ahead = np.minimum.accumulate(np.where(active, places, q)[:, ::-1], axis=1)[:, ::-1]
    found = np.hstack([ahead[:, 1:], np.full((n, 1), q)])
    return np.where(found == q, -1, found)


def _candidates(active: Bools, count: int, weight: float) -> Indices:
    """Return the poles next to which the lowest eigenvalues lie: one more than there are eigenvalues, where there is.

    A root lies above its pole for ρ > 0, so that the m lowest belong to the first m + 1 poles. For ρ < 0 it lies
    between its pole and the active one before: besides the first m poles, the first active one after them may matter.
    """
    n, q = active.shape
    lowest = np.tile(np.arange(min(count + 1, q)), (n, 1))
    if weight < 0 and count < q:
        after = active[:, count:]
        lowest[:, count] = count + np.where(after.any(axis=1), after.argmax(axis=1), 0)
    return lowest
