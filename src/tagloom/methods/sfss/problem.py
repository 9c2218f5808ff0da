"""Upper models of the quadratic that remains when F is eliminated, of several prices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats
from tagloom.methods.sfss._sfss_scores import CentredInverse, ScoreSystem
from tagloom.methods.sfss.features import CentredFeatures
from tagloom.solvers import QuadraticGram
from tagloom.solvers.cg._blocks import run_rows

__all__ = ["GramModel", "ReducedModel"]


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
