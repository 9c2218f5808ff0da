"""Eigenproblems that differ from a solved one by a matrix of rank one: the secular equation, for many at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core.typing import Bools, Floats, Indices
from tagloom.exceptions import InvalidInputError
from tagloom.solvers._secular_roots import EPS, Pairs, find_roots

__all__ = ["RankOneSpectra", "rank_one_spectra"]


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
