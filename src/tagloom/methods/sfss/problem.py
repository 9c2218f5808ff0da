"""Upper models of the quadratic that remains when F is eliminated, of several prices."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.exceptions import InvalidLabelsError
from tagloom.graph import NeighborGraph
from tagloom.methods.sfss.features import CentredFeatures, column_sums
from tagloom.solvers import QuadraticGram, block_cg
from tagloom.solvers.cg import PolynomialInverse, local_order, multiply_rows, run_rows

__all__ = ["GramModel", "ReducedModel", "ScoreSystem", "Scores"]


# The scores F of the training photos for given coefficients: known entries fixed, the others by a sparse system.

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


# Features up to which X̃ᵀX̃ is computed whole: at once it costs half as much.
WHOLE = 3000


class GramModel:
    """``μX̃ᵀX̃``, the Hessian for fixed F: a step with it is the exact minimum over W alone.

    Columns are computed when a feature is first in use, unless there are few features.

    Parameters
    ----------
    features : CentredFeatures
        X̃.
    regression_weight : float
        μ.
    precise : bool
        Whether to multiply in float64 in any case; for gradients that are sums of its columns.
    """

    def __init__(self, features: CentredFeatures, regression_weight: float, *, precise: bool = False) -> None:
        self.features, self.mu = features, regression_weight
        d = features.shape[1]
        self._place = np.full(d, -1)
        self._columns: Floats = np.empty((d, 0))
        if d <= WHOLE:
            self._place[:] = np.arange(d)
            self._columns = features.gram(precise=precise)

    def columns(self, rows: NDArray[np.intp]) -> Floats:
        """Return ``X̃ᵀX̃`` for some features against all."""
        new = rows[self._place[rows] < 0]
        if new.size:
            self._place[new] = self._columns.shape[1] + np.arange(new.size)
            self._columns = np.hstack([self._columns, self.features.gram_columns(new)])
        return self._columns[:, self._place[rows]]

    def block(self, rows: NDArray[np.intp]) -> Floats:
        """Return ``X̃ᵀX̃`` for some features."""
        return self.columns(rows)[rows]

    def datafit(self, W: Floats, gradient: Floats) -> "GramDatafit":
        """Return the model at W of a function with this gradient there."""
        used = np.flatnonzero(W.any(axis=1))
        B = self.mu * (self.columns(used) @ W[used]) - 0.5 * gradient
        return GramDatafit(self, B)


class GramDatafit:
    """``tr(VᵀAV) - 2tr(BᵀV)`` with the columns of A from a `GramModel`, for `tagloom.solvers.solve_penalized`."""

    def __init__(self, model: GramModel, B: Floats) -> None:
        self.model, self.B, self.shape = model, B, B.shape

    def full_gradient(self, W: Floats, rows: NDArray[np.intp]) -> Floats:
        """Return the whole gradient at the matrix that is W on ``rows`` and zero elsewhere."""
        product: Floats = self.model.columns(rows) @ W
        product *= self.model.mu
        product -= self.B
        product *= 2.0
        return product

    def restrict(self, rows: NDArray[np.intp]) -> QuadraticGram:
        """Return the function of these rows, the others being zero."""
        return QuadraticGram(self.model.mu * self.model.block(rows), self.B[rows], scale=2.0)

    def value(self, W: Floats) -> float:
        """Return the function at W."""
        return self.restrict(np.arange(len(W))).value(W)

    def gradient(self, W: Floats, rows: slice | None = None) -> Floats:
        """Return the gradient at W, or some of its rows."""
        whole = self.full_gradient(W, np.arange(len(W)))
        return whole if rows is None else whole[rows]

    def lipschitz(self, rows: slice) -> float:
        """Return a Lipschitz constant of the gradient's rows as a function of these rows of W."""
        part = np.arange(*rows.indices(len(self.B)))
        return self.restrict(part).lipschitz(slice(None))

    def curvature(self, rows: slice, change: Floats) -> Floats:
        """Return what a change of these rows of W adds to these rows of the gradient."""
        part = np.arange(*rows.indices(len(self.B)))
        result: Floats = 2.0 * self.model.mu * (self.model.block(part) @ change)
        return result


class ReducedModel:
    """``μX̃ᵀX̃ - μ²X̃ᵀP̂X̃`` on the features in use, P̂ at most P as a matrix (Eq. 13 with F eliminated).

    P̂ is a polynomial of the graph applied to each feature in use, once for all tags and all strengths of the penalty.
    Its error enters squared and with one sign, so a step with it never raises the objective. Labels that are unknown
    entry by entry make P̂ a lower bound only; where they come by rows, P̂ is P up to the accuracy.

    Parameters
    ----------
    features : CentredFeatures
        X̃.
    system : ScoreSystem
        Of F.
    gram : GramModel
        ``X̃ᵀX̃``.
    accuracy : float
        Of the polynomial.
    """

    def __init__(self, features: CentredFeatures, system: ScoreSystem, gram: GramModel, accuracy: float) -> None:
        self.features, self.gram, self.accuracy = features, gram, accuracy
        self.mu, self.least = system.mu, system.mu + system.pull
        self.rows: NDArray[np.intp]
        self.inverse: CentredInverse
        self.rows, self.inverse = system.common_inverse()
        self.centring = self.inverse.weight / float(self.inverse.denominator[0])
        self.along: Floats = features.transposed_times_rows(self.inverse.z, self.rows)[:, 0]
        self.size = 0
        self._place = np.full(features.shape[1], -1)
        self._left: list[NDArray[np.floating[Any]]] = []
        self._residuals: list[NDArray[np.floating[Any]]] = []
        self._columns: Floats = np.empty((features.shape[1], 0))

    def missing(self, features: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return those of some features that the model does not hold yet."""
        return features[self._place[features] < 0]

    def order(self) -> NDArray[np.intp]:
        """Return the features that the model holds in the order in which they were added."""
        held = np.flatnonzero(self._place >= 0)
        return held[np.argsort(self._place[held])]

    def add(self, features: NDArray[np.intp], *, keep_residuals: bool = False) -> None:
        """Apply the polynomial to further features."""
        new = self.missing(features)
        if new.size == 0:
            return
        block = self.features.columns(new, self.rows)
        left, right = self.inverse.polynomial.bilinear_factors(block, self.accuracy)
        before = np.flatnonzero(self._place >= 0)
        self._place[new] = self.size + np.arange(new.size)
        self._left.append(left)
        side = np.vstack([self.features.product(old, right) for old in self._left])
        grown = np.empty((len(self._columns), self.size + new.size))
        grown[:, : self.size] = self._columns
        if grown.shape[1] < len(grown):
            # Features outside: one side of the product is not refined, so the error is not squared.
            grown[:, self.size :] = self.features.transposed_times_rows(left, self.rows)
        grown[before, self.size :] = side[self._place[before]]
        grown[new, : self.size] = side[: self.size].T
        corner = side[self.size :]
        grown[new, self.size :] = 0.5 * (corner + corner.T)
        self._columns = grown
        self.size += new.size
        if keep_residuals:
            right -= block
            self._residuals.append(right)

    def block(self, rows: NDArray[np.intp]) -> Floats:
        """Return the model for some features, which it has to hold."""
        drawn = self._columns[np.ix_(rows, self._place[rows])]
        drawn += self.centring * np.outer(self.along[rows], self.along[rows])
        return self.mu * self.gram.block(rows) - self.mu**2 * drawn

    def product(self, rows: NDArray[np.intp], W: Floats) -> Floats:
        """Return the model for all features times W on features that it holds."""
        place = self._place[rows]
        drawn = self._columns @ W if np.array_equal(place, np.arange(self.size)) else self._columns[:, place] @ W
        drawn += np.outer(self.along, self.centring * (self.along[rows] @ W))
        drawn *= -(self.mu**2)
        drawn += self.mu * (self.gram.columns(rows) @ W)
        return drawn

    def correction(self, features: NDArray[np.intp], residual: Floats) -> Floats:
        """Return ``X̃ᵀM⁻¹R`` for features that the model holds: what F with this residual still lacks of the best."""
        spread = residual.astype(np.float32)
        both = np.vstack([self.features.product(left, spread) for left in self._left])[self._place[features]]
        return both + np.outer(self.along[features], self.centring * (self.inverse.z[:, 0] @ residual))

    def response(self, rows: NDArray[np.intp], change: Floats) -> Floats:
        """Return by how much F changes, about, on the model's rows when these rows of W change."""
        spread = np.zeros((self.size, change.shape[1]), dtype=np.float32)
        spread[self._place[rows]] = self.mu * change
        ends = np.cumsum([0, *(left.shape[1] for left in self._left)])
        centring = self.mu * self.centring * (self.along[rows] @ change)
        result = np.empty((self.rows.size, change.shape[1]))

        def respond(part: slice) -> None:
            np.multiply(self.inverse.z[part], centring, out=result[part])
            for left, first, last in zip(self._left, ends[:-1], ends[1:], strict=True):
                result[part] += left[part] @ spread[first:last]

        run_rows(respond, len(result), result.shape[1], self.features.n_threads)
        return result

    def mean_change(self, W: Floats) -> Floats:
        """Return by how much W changes the mean of F over photos, exactly."""
        change: Floats = self.along @ W
        return change * (self.mu / (float(self.inverse.denominator[0]) * self.features.shape[0]))

    def error_gram(self) -> Floats:
        """Return a matrix that the model exceeds the truth by at most, in the order in which features were added.

        With the residual R of ``K Y = X̃`` the model is too large by ``μ²RᵀK⁻¹R``, and K is at least ``μ + pull``.
        """
        residuals = np.hstack(self._residuals)
        return self.mu**2 / self.least * self.features.product(residuals, residuals)

    def datafit(self, rows: NDArray[np.intp], W: Floats, gradient: Floats) -> QuadraticGram:
        """Return the model on some rows, at these rows of W, of a function with these rows of the gradient there."""
        A = self.block(rows)
        return QuadraticGram(A, A @ W - 0.5 * gradient, scale=2.0)
