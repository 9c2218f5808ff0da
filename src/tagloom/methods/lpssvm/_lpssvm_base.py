"""What all tags of LPSSVM share: the problem without an SVM, solved once, and each tag's change of rank one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh

from tagloom.core.typing import Floats, Indices
from tagloom.methods.baselines.lpp import locality_directions, n_directions
from tagloom.solvers.secular import RankOneSpectra, rank_one_spectra

__all__ = ["Base", "Subspaces", "solve_base"]


#: Entries of the tables of eigenvectors that are computed at a time.
_ENTRIES = 1_000_000
#: Smallest squared pivot of the scaled TᵀDT (diagonal 1) down to which its Cholesky factor serves.
_PIVOT = 1e-5


@dataclass(frozen=True)
class Base:
    """Eigenpairs of ``TᵀLT a = λ TᵀDT a``.

    Parameters
    ----------
    values : ndarray of shape (q,)
        λ, ascending.
    directions : ndarray of shape (p, q)
        a, with ``aᵀTᵀDTa = 1``; the largest entry of Ta is positive.
    weight : float
        ρ: minus or plus half the weight of the SVM.
    share : float
        Of ``Σ min(max(1 - x, 0), 1)`` that a tag's directions keep.
    total_degree : float
        ΣD.
    """

    values: Floats
    directions: Floats
    weight: float
    share: float
    total_degree: float

    def subspaces(self, pulls: Floats) -> "Subspaces":
        """Solve ``(Λ + ρ zzᵀ)v = xv`` for every column z of ``pulls`` (q, c), as far as directions are kept."""
        # One root more than there are λ < 1 may fall below 1, and no direction beyond that is ever kept.
        useful = min(len(self.values), int((self.values < 1.0).sum()) + 1)
        spectra = rank_one_spectra(self.values, pulls, self.weight, n_lowest=useful)
        # A gain counts at most 1, as without an SVM: one far below zero would leave a subspace of one dimension.
        bounded = np.maximum(spectra.eigenvalues, 0.0)
        counts = np.array([n_directions(found, self.share) for found in bounded], dtype=np.intp)
        return Subspaces(spectra, counts, np.sqrt(self.total_degree / np.maximum(counts, 1)))


@dataclass(frozen=True)
class Subspaces:
    """Directions of several tags in the eigenvectors of the base problem.

    Parameters
    ----------
    spectra : RankOneSpectra
        Eigenvalues and eigenvectors.
    counts : ndarray of int, shape (c,)
        Directions of each tag, m.
    scales : ndarray of shape (c,)
        ``s = √(ΣD / m)``.
    """

    spectra: RankOneSpectra
    counts: Indices
    scales: Floats

    def directions(self, tags: Indices | None = None) -> Iterator[tuple[int, Floats]]:
        """Yield tags and their directions (q, m), computed for several tags at a time."""
        order = np.arange(len(self.counts)) if tags is None else tags
        size = self.spectra.n_poles * max(1, int(self.counts.max(initial=0)))
        step = max(1, _ENTRIES // max(1, size))
        for start in range(0, len(order), step):
            part = order[start : start + step]
            vectors = self.spectra.vectors(part, int(self.counts[part].max()))
            for place, tag in enumerate(part):
                yield int(tag), vectors[place, :, : self.counts[tag]]


def solve_base(T: Floats, L: Any, degrees: Floats, *, weight: float, share: float) -> tuple[Base, Floats]:
    """Solve the problem without an SVM; also return the projections of all photos, ``U = TV`` (n, q).

    Parameters
    ----------
    T : array of shape (n, p)
        Coordinates.
    L : sparse array of shape (n, n)
        Laplacian.
    degrees : array of shape (n,)
        D; all zero: the identity.
    weight, share : float
        See `Base`.
    """
    values, directions = _well_conditioned(T, L, degrees) or locality_directions(T, L, degrees)
    projected = T @ directions
    largest = np.abs(projected).argmax(axis=0) if len(projected) else np.zeros(0, dtype=np.intp)
    signs = np.where(projected[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    projected *= signs
    total = float(degrees.sum()) if degrees.any() else float(len(degrees))
    return Base(values, directions * signs, weight, share, total), projected


def _well_conditioned(T: Floats, L: Any, degrees: Floats) -> tuple[Floats, Floats] | None:
    """Solve as `locality_directions` does, by one eigendecomposition instead of two; None where that is not safe.

    Principal coordinates of unit length are nearly orthogonal, also when weighted by the degrees, unless these differ
    by orders of magnitude.
    """
    D = degrees if degrees.any() else np.ones_like(degrees)
    lengths = np.sqrt(D @ np.square(T))
    if not (lengths > 0).all() or T.shape[1] == 0:
        return None
    unit = T / lengths
    spread = unit.T @ (D[:, None] * unit)
    try:
        pivots = np.diag(cholesky(spread, check_finite=False))
    except LinAlgError:
        return None
    if float(np.square(pivots).min()) < _PIVOT:
        return None
    smooth = unit.T @ (L @ unit)
    smooth += smooth.T.copy()
    smooth *= 0.5
    values, vectors = eigh(smooth, spread, overwrite_a=True, overwrite_b=True, check_finite=False)
    return np.asarray(values), np.asarray(vectors / lengths[:, None])
