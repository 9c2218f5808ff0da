"""NOVA (Wu et al., MM 2012) as printed: group SCAD by local quadratic approximation from a ridge start, tag by tag.

Eq. (5) is printed as ``(XᵀX + Σ)β = Xᵀy/n``; what Eq. (3) leads to, and what is solved here, is
``(XᵀX/n + Σ)β = Xᵀy/n``.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Sizes = NDArray[np.intp]

#: Keeps Eq. (4) finite where a group has been driven to exactly zero.
SMALLEST = 1e-150


def scad(norms: Floats, strength: float, concavity: float = 3.7) -> Floats:
    """Return p_λ of norms that are not negative."""
    near = strength * norms
    between = -(norms**2 - 2 * concavity * strength * norms + strength**2) / (2 * (concavity - 1))
    far = np.full_like(norms, (concavity + 1) * strength**2 / 2)
    value: Floats = np.where(norms <= strength, near, np.where(norms <= concavity * strength, between, far))
    return value


def scad_derivative(norms: Floats, strength: float, concavity: float = 3.7) -> Floats:
    """Return p'_λ, as printed in Section 3.1."""
    falling = np.maximum(concavity * strength - norms, 0.0) / ((concavity - 1) * strength)
    derivative: Floats = strength * np.where(norms <= strength, 1.0, falling)
    return derivative


def group_norms(beta: Floats, sizes: Sizes) -> Floats:
    ends = np.cumsum(sizes)
    return np.array([np.linalg.norm(beta[end - size : end]) for size, end in zip(sizes, ends, strict=True)])


def objective(X: Floats, y: Floats, beta: Floats, sizes: Sizes, strength: float, concavity: float = 3.7) -> float:
    """Return Eq. (1) for one tag."""
    penalty = scad(group_norms(beta, sizes), strength, concavity).sum()
    return float(((y - X @ beta) ** 2).sum() / (2 * len(X)) + penalty)


def solve(matrix: Floats, right: Floats) -> Floats:
    """Solve Eq. (5), by the pseudo-inverse where all groups are long (Σ = 0) and columns depend on each other."""
    try:
        found: Floats = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        found = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return found


def nova(
    X: Floats,
    Y: Floats,
    sizes: Sizes,
    strengths: Floats,
    *,
    concavity: float = 3.7,
    ridge: float | None = None,
    threshold: float = 1e-3,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> tuple[Floats, list[list[float]]]:
    """Return coefficients (d, c) of Algorithm 1, and the objectives of every tag's steps before the threshold.

    Parameters
    ----------
    X : array of shape (n, d)
        Centred features, groups side by side.
    Y : array of shape (n, c)
        Targets, ±1 and then centred.
    sizes : array of int
        Columns of each group.
    strengths : array of shape (c,)
        λ of each tag.
    concavity : float
        a.
    ridge : float, optional
        Strength of the ridge regression that starts a tag, which the paper does not state; default: the tag's λ.
    threshold : float
        ε₁: groups with a smaller norm become zero at the end.
    tol, max_iter
        Largest change of a step relative to the largest coefficient ("until convergence"), and most steps.
    """
    n, d = X.shape
    gram, products = X.T @ X / n, X.T @ Y / n
    coef, values = np.zeros((d, Y.shape[1])), []
    for tag, strength in enumerate(strengths):
        start = strength if ridge is None else ridge
        beta = np.linalg.solve(gram + start * np.eye(d), products[:, tag])
        steps = [objective(X, Y[:, tag], beta, sizes, strength, concavity)]
        for _ in range(max_iter):
            norms = np.maximum(group_norms(beta, sizes), SMALLEST)
            weights = np.repeat(scad_derivative(norms, strength, concavity) / norms, sizes)  # Eq. (4)
            new = solve(gram + np.diag(weights), products[:, tag])  # Eq. (5)
            change = np.abs(new - beta).max()
            beta = new
            steps.append(objective(X, Y[:, tag], beta, sizes, strength, concavity))
            if change <= tol * np.abs(beta).max():
                break
        beta[np.repeat(group_norms(beta, sizes), sizes) < threshold] = 0.0  # step 4
        coef[:, tag] = beta
        values.append(steps)
    return coef, values
