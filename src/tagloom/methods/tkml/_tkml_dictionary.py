"""TKML's dictionary: Eq. (7), atoms of unit norm, by sweeps that are exact for one atom at a time."""

from dataclasses import dataclass

import numpy as np

from tagloom.core.typing import Floats
from tagloom.methods.tkml.problem import KernelMap

__all__ = ["Dictionary", "learn_dictionary"]


#: Atoms whose correlations are brought up to date by one product.
BLOCK = 64


@dataclass(frozen=True)
class Dictionary:
    """Atoms and how well they do.

    Attributes
    ----------
    atoms : array of shape (p, d)
        Bᵀ, rows of norm 1.
    multipliers : array of shape (p,)
        λ of the unit norms.
    misfit : float
        ``‖X - BΦ‖²``.
    stationarity : float
        ``‖XΦᵀ - B(ΦΦᵀ + Λ)‖ / ‖XΦᵀ‖``: how far the atoms are from ``B = XΦᵀ(ΦΦᵀ + Λ)⁻¹``.
    n_sweeps : int
        Sweeps.
    """

    atoms: Floats
    multipliers: Floats
    misfit: float
    stationarity: float
    n_sweeps: int


def learn_dictionary(X: Floats, kernel_map: KernelMap, atoms: Floats, *, max_sweeps: int, tol: float) -> Dictionary:
    """Improve unit-norm atoms for a fixed kernel map.

    Parameters
    ----------
    X : array of shape (m, d)
        Features.
    kernel_map : KernelMap
        Φ.
    atoms : array of shape (p, d)
        Start, rows of norm 1.
    max_sweeps : int
        Most sweeps over all atoms.
    tol : float
        Done when the stationarity is at most this.

    Notes
    -----
    With all other atoms fixed, the best ``b_i`` is ``u/‖u‖``, ``u = (XΦᵀ)_i - Σ_{j≠i} b_j(ΦΦᵀ)_ji``. Where atoms stay
    what they are, ``u = (λ_i + (ΦΦᵀ)_ii) b_i``: the stationary point of the Lagrangian. An atom with u = 0, such as one
    that no photo uses, stays as it was.
    """
    if kernel_map.sparse:
        return _of_single_atoms(X, kernel_map, atoms)
    state = _Sweeper(X, kernel_map, atoms)
    n_sweeps, stationarity = 0, np.inf
    while n_sweeps < max_sweeps and stationarity > tol:
        state.sweep()
        stationarity = state.settle()
        n_sweeps += 1
    return Dictionary(state.atoms, state.multipliers, state.misfit(), stationarity, n_sweeps)


def _of_single_atoms(X: Floats, kernel_map: KernelMap, atoms: Floats) -> Dictionary:
    """Where every photo has one atom, atoms do not meet, and each is the direction of the sum of its photos."""
    sums = np.asarray(kernel_map.coordinates.T @ X)
    lengths = np.linalg.norm(sums, axis=1)
    counts = np.asarray(kernel_map.coordinates.power(2).sum(axis=0)).ravel()
    found = np.where(lengths[:, None] > 0, sums / np.where(lengths > 0, lengths, 1.0)[:, None], atoms)
    misfit = float(np.vdot(X, X) - 2.0 * lengths.sum() + counts.sum())
    return Dictionary(found, lengths - counts, max(misfit, 0.0), 0.0, 1)


class _Sweeper:
    """Atoms, and the correlations ``(X - BΦ)Φᵀ`` of what they leave over, in the coordinates of the kernel map."""

    def __init__(self, X: Floats, kernel_map: KernelMap, atoms: Floats) -> None:
        Z = kernel_map.coordinates
        self.atoms = atoms.copy()
        self._map = kernel_map
        self._total = float(np.vdot(X, X))
        self._features: Floats = Z.T @ X  # XΦᵀ
        self._gram: Floats = Z.T @ Z  # ΦΦᵀ
        self.multipliers: Floats = np.zeros(len(atoms))
        self._refresh()

    def _refresh(self) -> None:
        self._reduced = self._map.reduced(self.atoms)
        self._left: Floats = self._features - self._gram @ self._reduced

    def sweep(self) -> None:
        """Go once over all atoms, in order."""
        basis = self._map.basis
        for start in range(0, len(self.atoms), BLOCK):
            part = slice(start, min(start + BLOCK, len(self.atoms)))
            if basis is None:
                correlations, spread = self._left[part].copy(), self._gram[part]
                gram = spread[:, part]
            else:
                correlations, spread = basis[part] @ self._left, basis[part] @ self._gram
                gram = spread @ basis[part].T
            before = self.atoms[part].copy()
            _pass(self.atoms[part], correlations, gram)
            self._left -= spread.T @ (self.atoms[part] - before)

    def settle(self) -> float:
        """Set the multipliers, recompute what accumulated rounding, and return the stationarity."""
        self._refresh()
        basis = self._map.basis
        left = self._left if basis is None else basis @ self._left
        self.multipliers = np.einsum("ij,ij->i", self.atoms, left)
        size = np.linalg.norm(self._features)
        return float(np.linalg.norm(left - self.multipliers[:, None] * self.atoms) / size) if size > 0 else 0.0

    def misfit(self) -> float:
        return max(self._total - float(np.vdot(self._features + self._left, self._reduced)), 0.0)


def _pass(atoms: Floats, correlations: Floats, gram: Floats) -> None:
    """Renew the atoms of a block one after the other; all three arrays belong to the block."""
    for index in range(len(atoms)):
        wanted = correlations[index] + gram[index, index] * atoms[index]
        length = np.sqrt(wanted @ wanted)
        if length > 0:
            wanted /= length
            correlations -= np.outer(gram[index], wanted - atoms[index])
            atoms[index] = wanted
