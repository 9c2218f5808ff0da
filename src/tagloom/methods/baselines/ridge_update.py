"""Ridge with a given penalty for labels that change a little at a time: only what changed is solved again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from tagloom.core.labels import UNKNOWN, LabelMatrix, known_patterns, labeled_rows
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph
from tagloom.solvers.polynomial import PolynomialInverse

__all__ = ["FixedRidge", "GraphSmoother"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

#: Bound of the smoothing's error relative to the scores.
ACCURACY = 1e-6


class GraphSmoother:
    """``F = argmin ‖F - scores‖² + s·tr(FᵀLF)`` with everything that does not depend on the scores prepared.

    Parameters
    ----------
    graph : NeighborGraph
        Whose symmetric normalised Laplacian L is.
    strength : float
        s > 0.
    n_threads : int, optional
        See `tagloom.solvers.block_cg`.

    Notes
    -----
    The eigenvalues of ``I + sL`` lie between 1 and 1 + 2s: a polynomial of low degree, the same for every tag, is as
    good as conjugate gradients, needs no norms, and its result does not depend on what was solved before.
    """

    def __init__(self, graph: NeighborGraph, strength: float, *, n_threads: int | None = None) -> None:
        system = sparse.csr_array(sparse.eye_array(graph.n_nodes) + strength * graph.laplacian("symmetric"))
        self._inverse = PolynomialInverse(system, n_threads=n_threads)

    def smooth(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return smoothed scores of shape (n, c), with an error of about 1e-6 of theirs."""
        return np.asarray(self._inverse.solve(scores, ACCURACY), dtype=np.float32)


class FixedRidge:
    """Solutions of ``Σ_known (x_i·w_j + b_j - y_ij)² + λ‖w_j‖²`` for one λ, tag by tag or all at once.

    Parameters
    ----------
    X : array of shape (n, d)
        Features of all photos.
    strength : float
        λ > 0.

    Notes
    -----
    The Gram matrix of the labelled photos grows with them: m × m inner products as long as m ≤ d, the d × d moments
    afterwards. One Cholesky factorisation serves all tags known on every labelled photo. A tag that is unknown on r of
    them is corrected by a system of r equations where r is below the number of photos it is known on, and solved on
    those photos alone otherwise. So a tag never costs more than a factorisation of half the size.

    The result depends on the labels alone, not on those before.
    """

    def __init__(self, X: NDArray[Any], strength: float) -> None:
        if not (np.isfinite(strength) and strength > 0.0):
            raise InvalidInputError(f"strength must be a number above 0, got {strength!r}")
        self.X = X
        self.strength = float(strength)
        # The intercept takes up any shift; a central one keeps the inner products small.
        self._shift: Floats = X.mean(axis=0, dtype=np.float64)
        self._forget()

    def coefficients(
        self, Y: LabelMatrix, tags: NDArray[np.intp] | None = None, *, hidden: NDArray[np.bool_] | None = None
    ) -> tuple[Floats, Floats]:
        """Return W (d, k) and b (k,) of some tags, by default of all; 0 for a tag that is known nowhere.

        Parameters
        ----------
        Y : label matrix of shape (n, c)
            All labels.
        tags : array of int, optional
            Columns to solve.
        hidden : array of bool, shape (n, k), optional
            Entries of these columns that are taken for unknown.
        """
        self._take_in(np.flatnonzero(labeled_rows(Y)))
        wanted = Y[self._rows] if tags is None else Y[self._rows][:, tags]
        if hidden is not None:
            wanted = np.where(hidden[self._rows], UNKNOWN, wanted).astype(np.int8)
        coef, shifted = np.zeros((self.X.shape[1], wanted.shape[1])), np.zeros(wanted.shape[1])
        if not len(self._rows) or not wanted.shape[1]:
            return coef, shifted
        n_known = (wanted != UNKNOWN).sum(axis=0)
        is_near = 2 * n_known >= len(self._rows)
        near, far = np.flatnonzero(is_near), np.flatnonzero(~is_near & (n_known > 0))
        if len(near):
            coef[:, near], shifted[near] = self._solve_near(wanted[:, near])
        patterns, pattern_of = known_patterns(wanted[:, far])
        for number in range(patterns.shape[1] if len(far) else 0):
            rows, mine = np.flatnonzero(patterns[:, number]), far[pattern_of == number]
            coef[:, mine], shifted[mine] = _solve_whole(self._features[rows], wanted[rows][:, mine], self.strength)
        return coef, shifted - self._shift @ coef

    def scores(self, coef: Floats, intercept: Floats) -> NDArray[np.float32]:
        """Return ``XW + b`` of all photos, in float32."""
        found = np.asarray(self.X @ coef.astype(self.X.dtype), dtype=np.float32)
        found += intercept.astype(np.float32)
        return found

    def _forget(self) -> None:
        n, d = self.X.shape
        self._place: Rows = np.full(n, -1, dtype=np.intp)
        self._rows: Rows = np.empty(0, dtype=np.intp)
        self._features: Floats = np.empty((0, d))
        self._gram: Floats = np.empty((0, 0))
        self._factor: Any = None

    def _take_in(self, rows: Rows) -> None:
        """Bring the Gram matrix to these labelled photos."""
        new = rows[self._place[rows] < 0]
        if len(new) + len(self._rows) > len(rows):  # labels were taken back
            self._forget()
            new = rows
        if not len(new):
            return
        before, d = len(self._rows), self.X.shape[1]
        self._place[new] = np.arange(before, before + len(new))
        self._rows = np.concatenate([self._rows, new])
        added = self.X[new].astype(np.float64) - self._shift
        self._features = np.concatenate([self._features, added])
        if len(self._rows) <= d:
            products = self._features @ added.T
            grown = np.empty((len(self._rows), len(self._rows)))
            grown[:before, :before] = self._gram
            grown[:, before:], grown[before:, :before] = products, products[:before].T
            self._gram = grown
        elif before <= d:
            self._gram = _moments(self._features)
        else:
            self._gram += _moments(added)
        self._factor = None

    def _solve_near(self, Y: LabelMatrix) -> tuple[Floats, Floats]:
        """Solve tags known on most labelled photos from the one factorisation."""
        is_dual = len(self._rows) <= self.X.shape[1]
        if self._factor is None:
            self._factor = _factorise(self._gram, self.strength, is_dual=is_dual)
        solve = _near_by_products if is_dual else _near_by_moments
        return solve(self._factor, self._features, Y)


def _solve_whole(features: Floats, Y: LabelMatrix, strength: float) -> tuple[Floats, Floats]:
    """Solve tags that are known on all of the given photos."""
    is_dual = len(features) <= features.shape[1]
    gram = features @ features.T if is_dual else _moments(features)
    factor = _factorise(gram, strength, is_dual=is_dual)
    return (_near_by_products if is_dual else _near_by_moments)(factor, features, Y)


def _moments(features: Floats) -> Floats:
    """Return ``ZᵀZ`` of the features with a column of ones, that of the intercept."""
    wide = _with_ones(features)
    return np.asarray(wide.T @ wide)


def _with_ones(features: Floats) -> Floats:
    return np.concatenate([features, np.ones((len(features), 1))], axis=1)


def _factorise(gram: Floats, strength: float, *, is_dual: bool) -> Any:
    system = gram.copy()
    penalized = np.arange(len(gram) if is_dual else len(gram) - 1)
    system[penalized, penalized] += strength
    return cho_factor(system, lower=True, overwrite_a=True, check_finite=False)


def _near_by_products(factor: Any, features: Floats, Y: LabelMatrix) -> tuple[Floats, Floats]:
    """Return W and b from a factorisation of ``M = XXᵀ + λI``.

    ``w = Xᵀα`` with ``Mα + b1 = y`` and ``1ᵀα = 0`` on the known photos and α = 0 on the others, R. Values of y on R
    that bring α to 0 there solve ``(M⁻¹)_RR z = -(M⁻¹y)_R``.
    """
    known = Y != UNKNOWN
    patterns, pattern_of = known_patterns(Y)
    targets = cho_solve(factor, np.where(known, Y, 0).astype(np.float64), check_finite=False)
    ones = cho_solve(factor, patterns.astype(np.float64), check_finite=False)
    partly = np.flatnonzero(~patterns.all(axis=1))
    columns = _columns_of_inverse(factor, len(Y), partly)
    intercept = np.empty(Y.shape[1])
    for number in range(patterns.shape[1]):
        tags = np.flatnonzero(pattern_of == number)
        rows = np.flatnonzero(~patterns[:, number])
        found = np.concatenate([targets[:, tags], ones[:, number : number + 1]], axis=1)
        if len(rows):
            at = np.searchsorted(partly, rows)
            found -= columns[:, at] @ np.linalg.solve(columns[np.ix_(rows, at)], found[rows])
        totals = found.sum(axis=0)
        intercept[tags] = totals[:-1] / totals[-1]
        targets[:, tags] = found[:, :-1] - found[:, -1:] * intercept[tags]
        targets[np.ix_(rows, tags)] = 0.0
    return features.T @ targets, intercept


def _columns_of_inverse(factor: Any, size: int, columns: Rows) -> Floats:
    chosen = np.zeros((size, len(columns)))
    chosen[columns, np.arange(len(columns))] = 1.0
    return np.asarray(cho_solve(factor, chosen, overwrite_b=True, check_finite=False))


def _near_by_moments(factor: Any, features: Floats, Y: LabelMatrix) -> tuple[Floats, Floats]:
    """Return W and b from a factorisation of ``A = ZᵀZ + λ`` (Z with a column of ones, which has no penalty).

    On the known photos the matrix is ``A - Z_RᵀZ_R``, R the others; Woodbury's identity takes them off.
    """
    wide = _with_ones(features)
    patterns, pattern_of = known_patterns(Y)
    found = cho_solve(factor, wide.T @ np.where(Y == UNKNOWN, 0, Y).astype(np.float64), check_finite=False)
    partly = np.flatnonzero(~patterns.all(axis=1))
    columns = cho_solve(factor, wide[partly].T, check_finite=False)
    gaps = np.eye(len(partly)) - wide[partly] @ columns
    fitted = wide[partly] @ found
    for number in range(patterns.shape[1]):
        rows = np.flatnonzero(~patterns[partly, number])
        if len(rows):
            tags = np.flatnonzero(pattern_of == number)
            found[:, tags] += columns[:, rows] @ np.linalg.solve(gaps[np.ix_(rows, rows)], fitted[np.ix_(rows, tags)])
    return found[:-1], found[-1]
