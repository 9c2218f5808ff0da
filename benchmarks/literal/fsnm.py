"""Feature selection by joint l2,1 norms (Nie et al. 2010) as printed, and by reweighted group lassos."""

import numpy as np
from numpy.typing import NDArray

from tagloom.solvers import L21, QuadraticGram, solve_penalized

Floats = NDArray[np.float64]

#: Keeps 1/(2‖u_i‖) finite, as the paper's remark on zero rows has it.
SMALLEST = 1e-10


def row_norms(M: Floats) -> Floats:
    norms: Floats = np.sqrt((M * M).sum(axis=1))
    return norms


def objective(X: Floats, Y: Floats, W: Floats, gamma: float) -> float:
    """Return ``‖Y - XW‖₂,₁ + gamma·‖W‖₂,₁``."""
    return float(row_norms(Y - X @ W).sum() + gamma * row_norms(W).sum())


def joint_l21(
    X: Floats, Y: Floats, gamma: float, *, tol: float = 1e-6, max_iter: int = 1000
) -> tuple[Floats, list[float]]:
    """Return W and the objectives of Algorithm 1: min ‖U‖₂,₁ subject to AU = Y with A = [X γI].

    It stops when the objective changes by a share of less than ``tol``.
    """
    n, d = X.shape
    A = np.hstack([X, gamma * np.eye(n)])
    inverse_weights = np.ones(n + d)
    values: list[float] = []
    for _ in range(max_iter):
        scaled = inverse_weights[:, None] * A.T
        U = scaled @ np.linalg.solve(A @ scaled, Y)
        inverse_weights = 2.0 * np.maximum(row_norms(U), SMALLEST)
        values.append(objective(X, Y, U[:d], gamma))
        if len(values) > 1 and abs(values[-2] - values[-1]) <= tol * values[-1]:
            break
    return U[:d], values


def reweighted_group_lasso(
    X: Floats, Y: Floats, gamma: float, *, tol: float = 1e-6, max_iter: int = 100
) -> tuple[Floats, list[float]]:
    """Return W and the objectives where only the residuals are reweighted and each step is a weighted group lasso."""
    W: Floats = np.zeros((X.shape[1], Y.shape[1]))
    values = [objective(X, Y, W, gamma)]
    for _ in range(max_iter):
        norms = row_norms(Y - X @ W)
        weighted = X / np.maximum(norms, 1e-6 * values[-1] / len(X))[:, None]
        step = solve_penalized(QuadraticGram(weighted.T @ X, weighted.T @ Y), L21(gamma), W0=W, tol=1e-4)
        W = step.coef.astype(np.float64)
        values.append(objective(X, Y, W, gamma))
        if abs(values[-2] - values[-1]) <= tol * values[-1]:
            break
    return W, values
