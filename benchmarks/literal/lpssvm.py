"""LPSSVM (Jiang, Chang, Jebara, Loui 2008), one tag, dense: Fig. 1 as printed, and with its slips mended."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.svm import SVC

Floats = NDArray[np.float64]
#: F of an SVM ↦ the coordinates of all photos in the new subspace, as the next SVM sees them.
Update = Callable[[Floats], Floats]


def lpssvm_printed(
    K: Floats,
    W: Floats,
    y: Floats,
    *,
    svm_weight: float = 1.0,
    C: float = 1.0,
    share: float = 0.9,
    max_iter: int = 3,
    ridge: float = 1e-10,
) -> Floats:
    """Return scores of all photos by the algorithm of Fig. 1.

    Parameters
    ----------
    K, W : arrays of shape (n, n)
        Kernel, and weights of the graph.
    y : array of shape (n,)
        1, -1, and 0 for an unlabelled photo.
    svm_weight, C : float
        γ and C.
    share : float
        Energy ratio, which the paper does not define: of ``Σ min(max(1 - λ, 0), 1)``.
    max_iter : int
        T.
    ridge : float
        Added to the diagonal of KDK, relative to its mean: the eigenproblem needs it positive definite, and it is not.
    """
    D = np.diag(W.sum(axis=1))
    labelled = np.flatnonzero(y)
    smooth, spread = K @ (D - W) @ K, K @ D @ K
    spread[np.diag_indices(len(K))] += ridge * np.trace(spread) / len(K)

    def update(F: Floats) -> Floats:
        pull = K[:, labelled] @ F
        values, v = eigh(smooth + 0.5 * svm_weight * np.outer(pull, pull), spread)  # Eq. (11)
        return K @ v[:, : _kept(values, share)]  # Eq. (12)

    return _alternate(K, y, update, C, max_iter)


def lpssvm_corrected(
    K: Floats,
    W: Floats,
    y: Floats,
    *,
    svm_weight: float = 1.0,
    C: float = 1.0,
    energy: float = 0.98,
    share: float = 0.9,
    sign: float = -1.0,
    max_iter: int = 3,
) -> Floats:
    """Return scores of all photos with the Lagrangian's sign, in the principal subspace, and scaled before the SVM.

    Parameters
    ----------
    K, W, y, svm_weight, C, share, max_iter
        See `lpssvm_printed`.
    energy : float
        Share of the eigenvalues of K that the principal subspace keeps.
    sign : float
        -1, or 1 as printed.
    """
    degrees = W.sum(axis=1) if W.any() else np.ones(len(W))
    L = np.diag(W.sum(axis=1)) - W
    labelled = np.flatnonzero(y)
    values, vectors = eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    p = int(np.searchsorted(np.cumsum(values) / values.sum(), energy - 1e-12)) + 1
    T = vectors[:, :p] * np.sqrt(values[:p])

    def update(F: Floats) -> Floats:
        pull = T[labelled].T @ F
        change = 0.5 * sign * svm_weight * np.outer(pull, pull)
        found, a = eigh(T.T @ L @ T + change, T.T @ (degrees[:, None] * T))
        m = _kept(found, share)
        return np.sqrt(degrees.sum() / m) * (T @ a[:, :m])

    return _alternate(K, y, update, C, max_iter)


def _alternate(K: Floats, y: Floats, update: Update, C: float, max_iter: int, *, tau: float = 1e-12) -> Floats:
    labelled = np.flatnonzero(y)
    F, _ = _svm(K[np.ix_(labelled, labelled)], y[labelled], C)
    scores = np.zeros(len(K))
    for _ in range(max_iter):
        projected = update(F)
        kernel = projected @ projected[labelled].T
        before = F
        F, b = _svm(kernel[labelled], y[labelled], C)
        scores = kernel @ F + b
        if np.square(F - before).sum() < tau:
            break
    return scores


def _svm(gram: Floats, y: Floats, C: float) -> tuple[Floats, float]:
    """Return F = αy and b."""
    machine = SVC(C=C, kernel="precomputed", tol=1e-5).fit(gram, y)
    F = np.zeros(len(y))
    F[machine.support_] = machine.dual_coef_[0]
    return F, float(machine.intercept_[0])


def _kept(values: Floats, share: float) -> int:
    gains = np.clip(1.0 - values, 0.0, 1.0)
    return int(np.searchsorted(np.cumsum(gains) / gains.sum(), share - 1e-12)) + 1
