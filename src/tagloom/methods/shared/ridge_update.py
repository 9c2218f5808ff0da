"""Ridge with a given penalty for labels that change a little at a time: only what changed is solved again."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, lapack

from tagloom.core import UNKNOWN, Floats, Indices, LabelMatrix, known_patterns, labeled_rows
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph
from tagloom.solvers.cg import PolynomialInverse

__all__ = ["FixedRidge", "GraphSmoother"]


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
    The photos that at least half of all tags are known on are the base: its Gram matrix grows with it, m × m inner
    products as long as m ≤ d, the d × d moments afterwards, and is inverted once for all tags. A tag that is known on
    other photos, or unknown on some of the base, is corrected by a system of as many equations; where that is no
    smaller than a system of its own, it is solved on its photos alone.

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
        known = (Y != UNKNOWN).sum(axis=1)
        self._take_in(np.flatnonzero((known > 0) & (2 * known >= Y.shape[1])))
        chosen = Y if tags is None else Y[:, tags]
        rows = np.concatenate([self._rows, np.flatnonzero(labeled_rows(chosen) & (self._place < 0))])
        wanted = chosen[rows]
        if hidden is not None:
            wanted = np.where(hidden[rows], UNKNOWN, wanted).astype(np.int8)
        coef, shifted = np.zeros((self.X.shape[1], wanted.shape[1])), np.zeros(wanted.shape[1])
        if not wanted.size:
            return coef, shifted
        patterns, pattern_of = known_patterns(wanted)
        n_known = patterns.sum(axis=0)
        n_other = (patterns != (self._place[rows] >= 0)[:, None]).sum(axis=0)
        is_near = n_other < np.minimum(n_known, self.X.shape[1])
        near = np.flatnonzero(is_near[pattern_of])
        if len(near):
            coef[:, near], shifted[near] = self._solve_near(rows, wanted[:, near])
        for number in np.flatnonzero(~is_near & (n_known > 0)):
            mine, own = np.flatnonzero(pattern_of == number), np.flatnonzero(patterns[:, number])
            found = _solve_whole(self._central(rows[own]), wanted[np.ix_(own, mine)], self.strength)
            coef[:, mine], shifted[mine] = found
        return coef, shifted - self._shift @ coef

    def scores(self, coef: Floats, intercept: Floats) -> NDArray[np.float32]:
        """Return ``XW + b`` of all photos, in float32."""
        found = np.asarray(self.X @ coef.astype(self.X.dtype), dtype=np.float32)
        found += intercept.astype(np.float32)
        return found

    def _forget(self) -> None:
        n, d = self.X.shape
        self._place: Indices = np.full(n, -1, dtype=np.intp)
        self._rows: Indices = np.empty(0, dtype=np.intp)
        self._features: Floats = np.empty((0, d))
        self._gram: Floats = np.empty((0, 0))
        self._inverse: Floats | None = None
        self._added: _Added | None = None

    def _central(self, rows: Indices) -> Floats:
        return self.X[rows].astype(np.float64) - self._shift

    def _take_in(self, rows: Indices) -> None:
        """Bring the Gram matrix to these photos."""
        new = rows[self._place[rows] < 0]
        if len(new) + len(self._rows) > len(rows):  # labels were taken back
            self._forget()
            new = rows
        if not len(new):
            return
        before, d = len(self._rows), self.X.shape[1]
        self._place[new] = np.arange(before, before + len(new))
        self._rows = np.concatenate([self._rows, new])
        added = self._central(new)
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
        self._inverse = self._added = None

    def _solve_near(self, rows: Indices, Y: LabelMatrix) -> tuple[Floats, Floats]:
        """Solve tags known on about the photos of the base, which come first among the rows."""
        size = len(self._rows)
        is_dual = size <= self.X.shape[1]
        if self._inverse is None:
            self._inverse = _inverted(self._gram, self.strength, is_dual=is_dual)
        others = labeled_rows(Y[size:])
        more, Y = rows[size:][others], np.concatenate([Y[:size], Y[size:][others]])
        if not is_dual:
            return _by_moments(self._inverse, self._features, self._central(more), Y)
        # Several solutions of the same tags, without some entries each, follow one another.
        if self._added is None or not np.isin(more, self._added.rows).all():
            self._added = _Added.of(more, self._central(more), self._features, self._inverse)
        added = self._added.take(np.searchsorted(self._added.rows, more))
        return _by_products(self._inverse, self._features, added, Y, self.strength)


@dataclass(frozen=True, slots=True, eq=False)
class _Added:
    """Photos beside a base of inner products: their features, products with the base, and those by the inverse."""

    rows: Indices
    features: Floats
    products: Floats
    solved: Floats

    @classmethod
    def of(cls, rows: Indices, features: Floats, base: Floats, inverse: Floats) -> Self:
        products = features @ base.T
        return cls(rows, features, products, products @ inverse)

    def take(self, at: Indices) -> "_Added":
        if len(at) == len(self.rows):
            return self
        return _Added(self.rows[at], self.features[at], self.products[at], self.solved[at])


def _solve_whole(features: Floats, Y: LabelMatrix, strength: float) -> tuple[Floats, Floats]:
    """Solve tags that are known on all of the given photos."""
    nothing = features[:0]
    if len(features) > features.shape[1]:
        return _by_moments(_inverted(_moments(features), strength, is_dual=False), features, nothing, Y)
    inverse = _inverted(features @ features.T, strength, is_dual=True)
    return _by_products(
        inverse, features, _Added.of(np.empty(0, dtype=np.intp), nothing, features, inverse), Y, strength
    )


def _moments(features: Floats) -> Floats:
    """Return ``ZᵀZ`` of the features with a column of ones, that of the intercept."""
    wide = _with_ones(features)
    return np.asarray(wide.T @ wide)


def _with_ones(features: Floats) -> Floats:
    return np.concatenate([features, np.ones((len(features), 1))], axis=1)


def _inverted(gram: Floats, strength: float, *, is_dual: bool) -> Floats:
    """Return the inverse of a Gram matrix with the penalty, which the intercept does not have."""
    system = gram.copy()
    penalized = np.arange(len(gram) if is_dual else len(gram) - 1)
    system[penalized, penalized] += strength
    factor, _ = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    found, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise np.linalg.LinAlgError(f"the system of a ridge with strength {strength} is singular")
    lower = np.tril(found)
    return np.asarray(lower + np.tril(lower, -1).T)


def _by_products(
    inverse: Floats, features: Floats, added: _Added, Y: LabelMatrix, strength: float
) -> tuple[Floats, Floats]:
    """Return W and b from the inverse P of ``M = XXᵀ + λI`` over the base; rows of Y are the base, then the added.

    ``w = Xᵀα`` with ``Mα + b1 = y`` and ``1ᵀα = 0`` on the known photos. Photos R of the base that a tag is unknown on
    have α = 0, which a free number z for each allows. Eliminating the base leaves a system in α of the added, b and z.
    """
    size = len(features)
    patterns, pattern_of = known_patterns(Y)
    targets = np.where(Y[:size] == UNKNOWN, 0, Y[:size]).astype(np.float64)
    start, sums = inverse @ targets, inverse.sum(axis=0)
    beside, intercept = np.zeros((len(added.rows), Y.shape[1])), np.empty(Y.shape[1])
    for number in range(patterns.shape[1]):
        tags = np.flatnonzero(pattern_of == number)
        gone, new = np.flatnonzero(~patterns[:size, number]), np.flatnonzero(patterns[size:, number])
        products, solved = added.products[new], added.solved[new]
        of_added = added.features[new] @ added.features[new].T + strength * np.eye(len(new)) - products @ solved.T
        ones = 1.0 - solved.sum(axis=1)[:, None]
        system = np.block(
            [
                [of_added, ones, -solved[:, gone]],
                [ones.T, -sums.sum()[None, None], -sums[None, gone]],
                [-solved[:, gone].T, -sums[gone, None], -inverse[np.ix_(gone, gone)]],
            ]
        )
        first = start[:, tags]
        right = [Y[size + new][:, tags] - products @ first, -first.sum(axis=0)[None], -first[gone]]
        found = np.linalg.solve(system, np.concatenate(right))
        beside[np.ix_(new, tags)], intercept[tags] = found[: len(new)], found[len(new)]
        targets[:, tags] -= products.T @ found[: len(new)] + found[len(new)]
        targets[np.ix_(gone, tags)] -= found[len(new) + 1 :]
    weights = np.where(Y[:size] == UNKNOWN, 0.0, inverse @ targets)
    return features.T @ weights + added.features.T @ beside, intercept


def _by_moments(inverse: Floats, features: Floats, added: Floats, Y: LabelMatrix) -> tuple[Floats, Floats]:
    """Return W and b from the inverse P of ``ZᵀZ + λ`` over the base (Z with a column of ones, which has no penalty).

    Photos V that a tag is known on beside the base, or unknown on in the base, are put on and taken off by Woodbury's
    identity: with ``S = ±1`` for each, P is less ``PZ_Vᵀ (S + Z_V P Z_Vᵀ)⁻¹ Z_V P``.
    """
    wide = _with_ones(np.concatenate([features, added]))
    in_base = np.arange(len(wide)) < len(features)
    patterns, pattern_of = known_patterns(Y)
    found = inverse @ (wide.T @ np.where(Y == UNKNOWN, 0, Y).astype(np.float64))
    others = patterns != in_base[:, None]
    partly = np.flatnonzero(others.any(axis=1))
    columns = inverse @ wide[partly].T
    products = wide[partly] @ columns + np.diag(np.where(in_base[partly], -1.0, 1.0))
    fitted = wide[partly] @ found
    for number in np.flatnonzero(others.any(axis=0)):
        rows, tags = np.flatnonzero(others[partly, number]), np.flatnonzero(pattern_of == number)
        found[:, tags] -= columns[:, rows] @ np.linalg.solve(products[np.ix_(rows, rows)], fitted[np.ix_(rows, tags)])
    return found[:-1], found[-1]
