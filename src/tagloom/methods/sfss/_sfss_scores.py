"""The scores F of the training photos for given coefficients: known entries fixed, the others by a sparse system."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidLabelsError
from tagloom.graph import NeighborGraph
from tagloom.methods.sfss.features import column_sums
from tagloom.solvers import block_cg
from tagloom.solvers.cg._blocks import run_rows
from tagloom.solvers.cg.polynomial import PolynomialInverse, local_order
from tagloom.solvers.cg.products import multiply_rows

__all__ = ["CentredInverse", "ScoreSystem", "Scores"]


# Accuracy of K⁻¹1, on which the centring rests: its denominator can be as small as the share of labelled photos.
ONES_TOLERANCE = 1e-13
# Steps of one polynomial from which conjugate gradients, which see more of the spectrum than its ends, are shorter.
MOST_STEPS = 60


class CentredInverse:
    """``M⁻¹`` with ``M = K - (μ/n)11ᵀ`` on some rows, K sparse: Sherman–Morrison around products with K alone.

    ``M⁻¹R = K⁻¹R + z(μ/n)(zᵀR)/(1 - (μ/n)1ᵀz)`` with ``z = K⁻¹1`` to full accuracy; so an approximate ``K⁻¹R`` is not
    made worse by a small denominator. With a mask, every column has the system of its own rows.

    Parameters
    ----------
    K : CSR of shape (m, m)
        Laplacian plus a positive diagonal, on the rows.
    weight : float
        μ/n.
    mask : array of bool, shape (m, c), optional
        Entries that are solved for.
    n_threads : int, optional
        See `tagloom.solvers.block_cg`.
    """

    def __init__(self, K: Any, weight: float, mask: NDArray[np.bool_] | None, n_threads: int | None) -> None:
        self.K, self.weight, self.mask, self.n_threads = K, weight, mask, n_threads
        self.polynomial = PolynomialInverse(K, reorder=False, n_threads=n_threads)
        self.z: Floats = self._solve_ones()
        self.denominator: Floats = 1.0 - weight * self.z.sum(axis=0)

    def _solve_ones(self) -> Floats:
        """Return ``K⁻¹1``, one column or, with a mask, one for each column."""
        K, n_rows = self.K, self.K.shape[0]
        if self.mask is None and n_rows:
            # For one column the plain iteration has less to prepare.
            roots = 1.0 / np.sqrt(K.diagonal())
            rows = np.repeat(roots, np.diff(K.indptr))
            scaled = sparse.csr_array((K.data * rows * roots[K.indices], K.indices, K.indptr), shape=K.shape)
            y, failed = cg(scaled, roots, rtol=ONES_TOLERANCE, atol=0.0, maxiter=1000)
            if not failed:
                return np.asarray((roots * y)[:, None])
        ones = np.ones((n_rows, 1)) if self.mask is None else self.mask.astype(np.float64)
        solved = block_cg(
            K, ones, tol=ONES_TOLERANCE, max_iter=100_000, n_threads=self.n_threads, column_mask=self.mask
        )
        return solved.x.astype(np.float64)

    def solve(self, R: Floats, accuracy: float) -> Floats:
        """Return ``M⁻¹R`` up to an error that is ``accuracy`` times the solution in the norm of K."""
        if self.polynomial.degree(accuracy) <= MOST_STEPS:
            found = self.polynomial.solve(R, accuracy, mask=self.mask)
        else:
            # The residual of R is looked at afresh by the caller, so what float32 leaves is of no concern.
            found = block_cg(
                self.K, R, tol=accuracy, dtype="float32", n_threads=self.n_threads, column_mask=self.mask
            ).x
        along = self.z.T @ R if self.mask is None else np.einsum("ij,ij->j", self.z, R)[None, :]
        factor = self.weight * along / self.denominator
        solution: Floats = np.empty_like(R)

        def add(rows: slice) -> None:
            np.multiply(self.z[rows], factor, out=solution[rows])
            solution[rows] += found[rows]

        run_rows(add, len(R), R.shape[1], self.n_threads)
        return solution


@dataclass
class Scores:
    """F on the rows that hold an unknown entry, and what belongs to it.

    ``product`` is ``K F_u + L_ul Y_l``, kept because residual and objective both need it.
    """

    unknown: Floats
    product: Floats
    total: Floats

    def copy(self) -> "Scores":
        """Return a copy that later steps do not change."""
        return Scores(self.unknown.copy(), self.product.copy(), self.total.copy())


class ScoreSystem:
    """The part of Eq. (6) in F: ``tr(FᵀLF) + pull·Σ_unknown F² + μ‖H(F - X̃W)‖²`` with known entries fixed.

    Parameters
    ----------
    graph : NeighborGraph
        Over all photos.
    Y : label matrix of shape (n, c)
        Known entries are what F equals there (U = ∞ in the paper).
    regression_weight : float
        μ.
    pull : float
        The entry of U for unknown entries.
    n_threads : int, optional
        See `tagloom.solvers.block_cg`.
    """

    def __init__(
        self, graph: NeighborGraph, Y: LabelMatrix, regression_weight: float, pull: float, n_threads: int | None
    ) -> None:
        known = Y != UNKNOWN
        self.mu, self.pull, self.shape = regression_weight, pull, Y.shape
        _check_determined(known, pull)
        L = graph.laplacian()
        self.unknown_rows = _near_each_other(L, np.flatnonzero(~known.all(axis=1)))
        self.known_rows = np.flatnonzero(known.all(axis=1))
        self.labels = np.where(known, Y, 0).astype(np.float64)
        part = L[self.unknown_rows]
        shift = sparse.eye_array(self.unknown_rows.size) * (pull + regression_weight)
        self.K = sparse.csr_array(part[:, self.unknown_rows] + shift)
        self.K.sort_indices()
        known_labels = self.labels[self.known_rows]
        self.pulled = np.asarray(part[:, self.known_rows] @ known_labels)  # L_ul Y_l
        inside = L[self.known_rows][:, self.known_rows] @ known_labels
        self.constant = float(np.vdot(known_labels, inside))
        mask = ~known[self.unknown_rows]
        self.mask = None if mask.all() else mask
        self._known_sums = known_labels.sum(axis=0)
        self._known = np.ones(len(Y), dtype=bool)
        self._known[self.unknown_rows] = False
        self._place = np.zeros(len(Y), dtype=np.intp)
        self._place[self.unknown_rows] = np.arange(self.unknown_rows.size)
        self.inverse = CentredInverse(self.K, regression_weight / len(Y), self.mask, n_threads)
        self.n_threads = n_threads

    def start(self) -> Scores:
        """Return the scores with zero for unknown entries."""
        return self._with(self.labels[self.unknown_rows].copy())

    def improve(self, scores: Scores, regression: Floats, accuracy: float) -> Scores:
        """Return scores nearer to the best ones for ``regression = X̃W``; the objective does not rise."""
        unknown = self.inverse.solve(self.residual(scores, regression), accuracy)
        return self._with(unknown, scores.unknown)

    def moved(self, scores: Scores, change: Floats) -> Scores:
        """Return the scores after a change of the unknown rows, where labels come by rows."""
        return self._with(change, scores.unknown)

    def residual(self, scores: Scores, regression: Floats) -> Floats:
        """Return minus half the gradient in F, zero for known entries."""
        residual, mean = np.empty_like(scores.product), scores.total / self.shape[0]

        def subtract(rows: slice) -> None:
            block = residual[rows]
            np.take(regression, self.unknown_rows[rows], axis=0, out=block, mode="clip")
            block += mean
            block *= self.mu
            block -= scores.product[rows]  # Eq. (10)
            if self.mask is not None:
                block *= self.mask[rows]

        run_rows(subtract, len(residual), residual.shape[1], self.n_threads)
        return residual

    def all_rows(self, scores: Scores) -> Floats:
        """Return F."""
        F = self.labels.copy()
        F[self.unknown_rows] = scores.unknown
        return F

    def misfit(self, scores: Scores, regression: Floats) -> Floats:
        """Return ``H(F - X̃W)``, with columns of mean zero, for ``regression = X̃W`` with columns of mean zero."""
        misfit, mean = np.empty_like(regression), scores.total / self.shape[0]

        def subtract(rows: slice) -> None:
            np.take(scores.unknown, self._place[rows], axis=0, out=misfit[rows], mode="clip")
            known = self._known[rows]
            misfit[rows][known] = self.labels[rows][known]
            misfit[rows] -= regression[rows]
            misfit[rows] -= mean

        if len(self.unknown_rows) == 0:
            return self.labels - regression - mean
        run_rows(subtract, len(misfit), misfit.shape[1], self.n_threads)
        return misfit

    def energy(self, scores: Scores) -> float:
        """Return ``tr(FᵀLF) + pull·Σ_unknown F²``."""
        F = scores.unknown
        energy = self.constant + np.vdot(F, scores.product) + np.vdot(F, self.pulled)
        energy -= (self.pull + self.mu) * np.vdot(F, F)
        free = F if self.mask is None else F * self.mask
        return float(energy + self.pull * np.vdot(free, free))

    def common_inverse(self) -> tuple[NDArray[np.intp], CentredInverse]:
        """Return the rows unknown for every tag, and the inverse on them.

        Filled up with zeros it is at most the inverse of each tag as a matrix, and equal to it where labels come by
        rows.
        """
        if self.mask is None:
            return self.unknown_rows, self.inverse
        wholly = np.flatnonzero(self.mask.all(axis=1))
        K = sparse.csr_array(self.K[wholly][:, wholly])
        return self.unknown_rows[wholly], CentredInverse(K, self.inverse.weight, None, self.n_threads)

    def _with(self, unknown: Floats, others: Floats | None = None) -> Scores:
        """Return what belongs to the unknown rows of F, the sum of one or two arrays; the first is taken over."""
        if others is not None:
            more = others

            def add(rows: slice) -> None:
                unknown[rows] += more[rows]

            run_rows(add, len(unknown), unknown.shape[1], self.n_threads)
        product: Floats = np.asarray(multiply_rows(self.K, unknown, self.n_threads), dtype=np.float64)

        def pull(rows: slice) -> None:
            product[rows] += self.pulled[rows]

        run_rows(pull, len(unknown), unknown.shape[1], self.n_threads)
        return Scores(unknown, product, column_sums(unknown, self.n_threads) + self._known_sums)


def _near_each_other(L: Any, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows in an order that keeps products with their part of L in cache."""
    order = local_order(L[rows][:, rows])
    return rows if order is None else rows[order]


def _check_determined(known: NDArray[np.bool_], pull: float) -> None:
    """Without labels and pull, a constant may be added to F and b."""
    lost = np.flatnonzero(~known.any(axis=0))
    if pull == 0 and lost.size:
        raise InvalidLabelsError(
            f"with unlabeled_pull=0 every tag needs a photo on which it is known, got none for the tags (columns) "
            f"{lost[:10].tolist()}, {lost.size} in all. Label one photo for each, leave the tags out, or set "
            f"unlabeled_pull above 0"
        )
