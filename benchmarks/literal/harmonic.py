"""Harmonic functions (Zhu, Ghahramani and Lafferty, ICML 2003) as printed: dense, by an inverse."""

import numpy as np
from numpy.typing import NDArray


def harmonic_propagation(W: NDArray[np.float64], Y: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the harmonic function that equals the labels on labelled rows.

    Parameters
    ----------
    W : array of shape (n, n)
        Symmetric neighbour weights; every connected component holds a labelled row.
    Y : label matrix of shape (n, c)
        Rows of 1 and 0, or rows of -1 (unlabelled).
    """
    labeled = (Y != -1).all(axis=1)
    u, l = np.flatnonzero(~labeled), np.flatnonzero(labeled)  # noqa: E741  the paper's letters
    D = np.diag(W.sum(axis=1))
    F = np.empty(Y.shape)
    F[l] = Y[l]
    F[u] = np.linalg.inv(D[np.ix_(u, u)] - W[np.ix_(u, u)]) @ W[np.ix_(u, l)] @ F[l]  # Eq. (5)
    return F
