"""Laplacian SVM in the primal (Melacci, Belkin 2011): Newton's method in α and b, one tag."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def lapsvm(
    K: Floats, L: Floats, y: Floats, ambient_weight: float, graph_weight: float, *, max_iter: int = 50
) -> tuple[Floats, float]:
    """Return α and b of ``½[Σ (1 - yf)₊² + γ_A αᵀKα + γ_I αᵀKLKα]``, f = Kα + b.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel of all photos.
    L : array of shape (n, n)
        Laplacian of the graph.
    y : array of shape (n,)
        1, -1, and 0 for an unlabelled photo.
    ambient_weight, graph_weight : float
        γ_A and γ_I.
    max_iter : int
        Most Newton steps.

    Notes
    -----
    A step solves n + 1 equations for the photos inside the margin at the last one; it ends when these repeat.
    """
    n = len(K)
    smooth = graph_weight * (L @ K)
    alpha, b = np.zeros(n), 0.0
    active = y != 0
    for _ in range(max_iter):
        system = np.zeros((n + 1, n + 1))
        system[:n, :n] = smooth + ambient_weight * np.eye(n) + active[:, None] * K
        system[:n, n] = active
        system[n, :n] = active @ K
        system[n, n] = active.sum()
        found = np.linalg.solve(system, np.append(active * y, (active * y).sum()))
        alpha, b = found[:n], float(found[n])
        inside = (y != 0) & (y * (K @ alpha + b) < 1)
        if (inside == active).all():
            break
        active = inside
    return alpha, b
