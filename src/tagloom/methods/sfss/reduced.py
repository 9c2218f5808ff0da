"""The group lasso that SFSS becomes when F is eliminated, solved in the features alone: no pass over photos per γ."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import Floats
from tagloom.methods.sfss.problem import ReducedModel
from tagloom.solvers import L21, solve_penalized

__all__ = ["ReducedProblem", "minimise"]


# Features whose gradient is this near to γ are taken into the model, where gradients are known more exactly.
MARGIN = 0.97
# Ratio of the strengths on the way from γ_max to one γ, and the optimality that is enough on the way.
STAGE, ON_THE_WAY = 0.5, 0.3
# Share of the features in use from which a path, which comes to use most, takes all.
ALL = 0.3
# Solutions of the model for one γ, each with further features.
MOST_SETS = 30


@dataclass(frozen=True)
class ReducedPoint:
    """A solution of the model; ``optimality`` is the model's, as a share of γ, ``bound`` what the truth may add."""

    W: Floats
    objective: float
    optimality: float
    bound: float


class ReducedProblem:
    """``tr(WᵀAW) + ⟨G₀, W⟩ + γ‖W‖₂,₁`` with A from a `ReducedModel`, which grows by the features that are needed.

    Parameters
    ----------
    model : ReducedModel
        A; labels have to be unknown by rows.
    gradient : ndarray of shape (d, c)
        G₀, the gradient at W = 0.
    smooth : float
        The smooth part of the objective at W = 0.
    residual : ndarray of shape (m, c)
        What is left of the equations of F behind G₀, by which G₀ is corrected for the features in the model.
    bounded : bool
        Whether the distance of model and truth is wanted.
    """

    def __init__(
        self, model: ReducedModel, gradient: Floats, smooth: float, residual: Floats, *, bounded: bool = False
    ) -> None:
        self.model, self.gradient, self.smooth, self.residual = model, gradient.copy(), smooth, residual
        self.bounded = bounded
        self._error: Floats | None = None

    def descend(self, largest: float, strength: float, tol: float) -> Floats:
        """Solve for one γ from zero, by way of larger ones: so few features enter that are not needed in the end."""
        W = np.zeros_like(self.gradient)
        n_stages = max(1, int(np.ceil(np.log(strength / largest) / np.log(STAGE)))) if strength < largest else 1
        before, now = self.gradient, self.gradient
        for stage in range(n_stages - 1, -1, -1):
            # Gradients are about linear in γ: those expected at the next one tell which features it needs.
            expected = now + STAGE * (now - before)
            penalty, before = L21(strength * STAGE**-stage), now
            aim, margin = (tol, MARGIN) if stage == 0 else (ON_THE_WAY, 1.0)
            W, change = self._solve(penalty, W, aim, margin=margin, expected=expected)
            now = self.gradient + 2.0 * change
        return W

    def solve(self, strength: float, W: Floats, tol: float) -> ReducedPoint:
        """Solve for one γ from W."""
        penalty = L21(strength)
        W, change = self._solve(penalty, W, tol, margin=MARGIN)
        distances = penalty.subdifferential_distance(W, self.gradient + 2.0 * change)
        objective = self.smooth + float(np.vdot(W, self.gradient + change)) + penalty.value(W)
        return ReducedPoint(W, objective, float(distances.max(initial=0.0)) / strength, self.bound(W) / strength)

    def add(self, features: NDArray[np.intp]) -> None:
        """Take further features into the model."""
        new = self.model.missing(features)
        if new.size == 0:
            return
        if ALL * self.gradient.shape[0] < self.model.size + new.size and self.bounded:
            new = self.model.missing(np.arange(len(self.gradient)))
        self.model.add(new, keep_residuals=self.bounded)
        self.gradient[new] -= 2.0 * self.model.mu * self.model.correction(new, self.residual)
        self._error = None

    def _solve(
        self, penalty: L21, W: Floats, tol: float, *, margin: float, expected: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return a solution up to ``tol · γ``, and A times it."""
        aim = tol * penalty.strength
        for _ in range(MOST_SETS):
            used = np.flatnonzero(W.any(axis=1))
            change = self.model.product(used, W[used])
            gradient = self.gradient + 2.0 * change
            wanted = _above(W, gradient if expected is None else expected, margin * penalty.strength)
            is_new = self.model.missing(wanted).size > 0
            if expected is None and not is_new:
                if penalty.subdifferential_distance(W, gradient).max(initial=0.0) <= aim:
                    break
            elif is_new:
                self.add(wanted)
                gradient = self.gradient + 2.0 * self.model.product(used, W[used])
            expected = None
            W, part = np.zeros_like(W), W[wanted]
            W[wanted] = minimise(self.model.datafit(wanted, part, gradient[wanted]), penalty, part, 0.5 * aim)
        return W, change

    def bound(self, W: Floats) -> float:
        """Return by how much the gradient of a feature may differ from the true one.

        With 0 ≤ E ≤ G as matrices, ``‖(EW)_i‖² ≤ E_ii tr(WᵀEW) ≤ G_ii tr(WᵀGW)``.
        """
        if not self.bounded or not W.any():
            return 0.0
        if self._error is None:
            self._error = self.model.error_gram()
        part = W[self.model.order()]
        size = float(np.vdot(part, self._error @ part))
        return 2.0 * float(np.sqrt(self._error.diagonal().max() * max(size, 0.0)))


def _above(W: Floats, gradient: Floats, limit: float) -> NDArray[np.intp]:
    """Return the features in use and those with a gradient above a limit."""
    return np.flatnonzero(W.any(axis=1) | (np.einsum("ij,ij->i", gradient, gradient) > limit**2))


def minimise(datafit: Any, penalty: L21, W: Floats, aim: float) -> Floats:
    """Solve a model problem until its optimality residual is ``aim``."""
    scale = 2.0 * float(np.sqrt(np.einsum("ij,ij->i", datafit.B, datafit.B).max(initial=0.0))) or 1.0
    with warnings.catch_warnings():
        # The next round sees what is left, and says so in the end.
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve_penalized(datafit, penalty, W0=W, tol=max(aim / scale, 1e-15), max_iter=1000)
    return np.asarray(result.coef, dtype=np.float64)
