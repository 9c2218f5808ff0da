"""What TKML minimises: targets, weights of the known labels, the graph, and the objective."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.kernels import DENSE_ROWS

__all__ = ["KernelMap", "Problem", "check_dense", "label_weights"]


def label_weights(Y: LabelMatrix, *, weighted: bool, balance: float = 1.0) -> Floats:
    """Return Ω: 0 where a label is unknown; else 1, or, weighted, what gives yes and no of a tag the same sum.

    Parameters
    ----------
    Y : label matrix of shape (m, c)
        Labels.
    weighted : bool
        Whether classes are balanced. A tag known with a single class keeps weights of 1.
    balance : float
        Power of the balanced weights: 1 balances, 0 gives weights of 1.
    """
    known = Y != UNKNOWN
    if not weighted:
        return known.astype(np.float64)
    total = known.sum(axis=0)
    n_yes = (Y == 1).sum(axis=0)
    both = (n_yes > 0) & (n_yes < total)
    yes = np.where(both, total / (2.0 * np.maximum(n_yes, 1)), 1.0) ** balance
    no = np.where(both, total / (2.0 * np.maximum(total - n_yes, 1)), 1.0) ** balance
    weights: Floats = np.where(Y == 1, yes, np.where(known, no, 0.0))
    return weights


@dataclass(frozen=True)
class KernelMap:
    """Φ, photos as rows, as coordinates in a basis of few columns: ``Φᵀ = coordinates @ basisᵀ``.

    After its first step Φ lies in the span of the atoms and of W, so that (m, d + c) numbers tell all of it.

    Attributes
    ----------
    coordinates : array or CSR of shape (m, q)
        Coordinates of the photos. CSR: the start, in which every photo has one atom.
    basis : array of shape (p, q) or None
        Orthonormal columns; None: the identity.
    """

    coordinates: Any
    basis: Floats | None = None

    @property
    def n_atoms(self) -> int:
        """Return p."""
        return int(self.coordinates.shape[1]) if self.basis is None else len(self.basis)

    @property
    def sparse(self) -> bool:
        """Return whether every photo has a single atom."""
        return not isinstance(self.coordinates, np.ndarray)

    def squared_norm(self) -> float:
        """Return ‖Φ‖²."""
        values = self.coordinates.data if self.sparse else self.coordinates
        return float(np.vdot(values, values))

    def reduced(self, rows: Floats) -> Floats:
        """Return coordinates in the basis of (p, k) columns."""
        return rows if self.basis is None else self.basis.T @ rows

    def scores(self, classifier: Floats) -> Floats:
        """Return ``ΦᵀW`` of shape (m, c)."""
        found: Floats = self.coordinates @ self.reduced(classifier)
        return found

    def explicit(self) -> Floats:
        """Return Φ itself, (p, m)."""
        if self.basis is not None:
            return self.basis @ self.coordinates.T
        return np.array(self.coordinates.toarray().T if self.sparse else self.coordinates.T)


@dataclass(frozen=True)
class Problem:
    """Eq. (5) with its data.

    Attributes
    ----------
    X : array of shape (m, d)
        Features, float64.
    targets : array of shape (m, c)
        1 and -1, 0 where unknown.
    weights : array of shape (m, c)
        Ω.
    laplacian : CSR of shape (m, m)
        L.
    smoothness, fidelity, rank_penalty : float
        γ_s, γ_c and μ.
    tol : float
        Relative residual of linear systems.
    """

    X: Floats
    targets: Floats
    weights: Floats
    laplacian: Any
    smoothness: float
    fidelity: float
    rank_penalty: float
    tol: float = 1e-8

    @property
    def common(self) -> bool:
        """Return whether all tags have the same weights: then one matrix serves them all."""
        return bool((self.weights == self.weights[:, :1]).all())

    def pull(self, scores: Floats) -> Floats:
        """Return ``γ_s L T + γ_c Ω∘T``."""
        found: Floats = self.smoothness * (self.laplacian @ scores)
        found += self.fidelity * (self.weights * scores)
        return found

    def label_pull(self) -> Floats:
        """Return ``γ_c Ω∘Y``."""
        return self.fidelity * (self.weights * self.targets)

    def objective(self, kernel_map: KernelMap, classifier: Floats, scores: Floats, misfit: float) -> float:
        """Return Eq. (5), given the scores ``ΦᵀW`` and the misfit ``‖X - BΦ‖²``."""
        rough = float(np.vdot(scores, self.laplacian @ scores))
        wrong = float((self.weights * np.square(self.targets - scores)).sum())
        return 0.5 * (
            self.rank_penalty * kernel_map.squared_norm()
            + float(np.vdot(classifier, classifier))
            + self.smoothness * rough
            + self.fidelity * (misfit + wrong)
        )


def check_dense(n: int, what: str) -> None:
    """Raise where a kernel of all pairs would be too large."""
    if n > DENSE_ROWS:
        raise InvalidInputError(
            f"{what} of {n} photos would need {8e-9 * n * n:.1f} GB; the limit is {DENSE_ROWS} photos. Ask for fewer"
        )
