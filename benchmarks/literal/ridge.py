"""Regularised least squares and its leave-one-out scores as defined: one refit per row."""

import numpy as np
from numpy.typing import NDArray


def ridge(
    X: NDArray[np.float64], Y: NDArray[np.float64], penalty: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients and intercept of ``‖XW + 1bᵀ - Y‖² + penalty·‖W‖²``; the intercept is not penalised."""
    mean_x, mean_y = X.mean(axis=0), Y.mean(axis=0)
    centred = X - mean_x
    W = np.linalg.inv(centred.T @ centred + penalty * np.eye(X.shape[1])) @ centred.T @ (Y - mean_y)
    return W, mean_y - mean_x @ W


def ridge_leave_one_out(X: NDArray[np.float64], Y: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """Return for each row the scores of a model fitted without it."""
    scores = np.empty(Y.shape)
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        W, b = ridge(X[others], Y[others], penalty)
        scores[row] = X[row] @ W + b
    return scores
