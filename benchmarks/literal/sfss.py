"""SFSS (Ma et al., ACM Multimedia 2011) as printed: dense matrices, an inverse, reweighting."""

import numpy as np
from numpy.typing import NDArray

# The paper has infinity for labelled rows; a number has to stand for it.
INFINITE = 1e8


def sfss(
    X: NDArray[np.float64],
    G: NDArray[np.float64],
    Y: NDArray[np.int8],
    mu: float,
    gamma: float,
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return W, b and F of Algorithm 1.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows are images (columns in the paper).
    G : array of shape (n, n)
        Neighbour weights.
    Y : label matrix of shape (n, c)
        Rows of 1 and 0, or rows of -1 (unlabelled).
    mu, gamma : float
        μ and γ of Eq. (6).
    tol, max_iter
        Iterations end when the objective (14) falls by less than this share.
    """
    n = len(X)
    labeled = (Y != -1).all(axis=1)
    Y = np.where(labeled[:, None], Y, 0).astype(np.float64)
    L = np.diag(G.sum(axis=1)) - G
    U = np.diag(np.where(labeled, INFINITE, 1.0))
    H = np.eye(n) - 1.0 / n
    P = np.linalg.inv(L + U + mu * H)
    A = X.T @ H @ (mu * np.eye(n) - mu**2 * P) @ H @ X
    B = mu * X.T @ H @ P @ U @ Y
    W = np.random.default_rng(0).standard_normal((X.shape[1], Y.shape[1]))
    before = np.inf
    for _ in range(max_iter):
        D = np.diag(2 * np.linalg.norm(W, axis=1))
        W = np.linalg.solve(D @ A + gamma * np.eye(len(A)), D @ B)  # Eq. (16)
        value = np.trace(W.T @ A @ W) - 2 * np.trace(B.T @ W) + gamma * np.linalg.norm(W, axis=1).sum()  # Eq. (14)
        if before - value <= tol * abs(value):
            break
        before = value
    F = P @ (U @ Y + mu * H @ X @ W)  # Eq. (10)
    b = F.mean(axis=0) - X.mean(axis=0) @ W  # Eq. (7)
    return W, b, F
