"""Sparse logistic regression via Bayesian l1 regularisation (Cawley, Talbot, Girolami 2006), coordinate by coordinate.

One tag; α = N/Σ|w| is refreshed after each step. When a feature's entry raises α above its own gradient, the loop drops
it and takes it back for ever, so ``max_iter`` ends it.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bayesian_l1_logistic(
    X: Floats, y: Floats, *, tol: float = 1e-6, max_iter: int = 10000
) -> tuple[Floats, float, list[float]]:
    """Return coefficients, intercept and α after each step.

    Parameters
    ----------
    X : array of shape (n, d)
        Standardised features.
    y : array of shape (n,)
        0 and 1.
    tol, max_iter
        Largest gradient at the end, and most steps.
    """
    w, b, alpha = np.zeros(X.shape[1]), float(np.log(y.mean() / (1 - y.mean()))), 0.0
    scores, squares = X @ w + b, X * X
    alphas: list[float] = []
    for _ in range(max_iter):
        p = 1 / (1 + np.exp(-scores))
        gradient, curvature = X.T @ (p - y), squares.T @ (p * (1 - p))
        shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - alpha, 0)
        gradient = np.where(w != 0, gradient + alpha * np.sign(w), shrunk)
        base_gradient, base_curvature = (p - y).sum(), (p * (1 - p)).sum()
        if max(np.abs(gradient).max(), abs(base_gradient)) <= tol:
            break
        gains = gradient**2 / np.maximum(curvature, 1e-300)
        j = int(gains.argmax())
        if base_gradient**2 / base_curvature >= gains[j]:
            b -= base_gradient / base_curvature
            scores = scores - base_gradient / base_curvature
            continue
        new = w[j] - gradient[j] / curvature[j]
        if w[j] * new < 0:  # no step crosses zero
            new = 0.0
        scores = scores + (new - w[j]) * X[:, j]
        w[j] = new
        if not w.any():
            break
        alpha = float((w != 0).sum() / np.abs(w).sum())
        alphas.append(alpha)
    return w, b, alphas
