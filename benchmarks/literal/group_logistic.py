"""Group lasso with logistic regression (Meier, van de Geer, Bühlmann 2008): block coordinate descent, one tag."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def group_lasso_logistic(
    X: Floats, y: Floats, sizes: NDArray[np.intp], strength: float, *, tol: float = 1e-6, max_iter: int = 5000
) -> tuple[Floats, float]:
    """Return coefficients and intercept of ``(1/n) Σ log(1 + e^{-yf}) + strength Σ √d_g ‖β_g‖``.

    Parameters
    ----------
    X : array of shape (n, d)
        Features, groups side by side.
    y : array of shape (n,)
        0 and 1.
    sizes : array of int
        Columns of each group.
    strength : float
        λ.
    tol, max_iter
        Largest relative change of a pass at the end, and most passes.

    Notes
    -----
    Each group's Hessian is bounded by ``max(eigenvalues of X_gᵀX_g) / 4n``, so a step never raises the objective.
    """
    n = len(X)
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    bounds = [np.linalg.norm(X[:, part], 2) ** 2 / (4 * n) for part in parts]
    beta, b = np.zeros(X.shape[1]), float(np.log(y.mean() / (1 - y.mean())))
    scores = np.full(n, b)
    for _ in range(max_iter):
        largest = 0.0
        p = 1 / (1 + np.exp(-scores))
        change = -(p - y).sum() / (p * (1 - p)).sum()
        b, scores = b + change, scores + change
        for part, bound in zip(parts, bounds, strict=True):
            residual = 1 / (1 + np.exp(-scores)) - y
            free = beta[part] - X[:, part].T @ residual / (n * bound)
            limit = strength * np.sqrt(part.stop - part.start) / bound
            norm = np.linalg.norm(free)
            new = free * max(1 - limit / norm, 0.0) if norm > 0 else free
            if (new != beta[part]).any():
                scores = scores + X[:, part] @ (new - beta[part])
                largest = max(largest, float(np.abs(new - beta[part]).max()) * bound / strength)
                beta[part] = new
        if largest <= tol:
            break
    return beta, b
