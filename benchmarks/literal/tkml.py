"""Transductive kernel map learning (Vo, Sahbi, BMVC 2012) as printed: dense, p-dimensional, photo by photo.

Columns are photos, as in the paper. Eq. (7) is read as ``½‖X - BΦ‖² + ½tr(BΛBᵀ) - ½tr Λ``: as printed its dimensions
do not fit. The paper does not say how it is solved: `dual_dictionary` maximises over Λ, `swept_dictionary` goes atom by
atom.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def classifier(Phi: Floats, L: Floats, Y: Floats, Omega: Floats, gamma_s: float, gamma_c: float) -> Floats:
    """Return W of Eq. (6), (p, c); tag by tag where the weights differ.

    Parameters
    ----------
    Phi : array of shape (p, m)
        Kernel map.
    L : array of shape (m, m)
        Laplacian.
    Y, Omega : arrays of shape (c, m)
        Labels 1 and -1; weights of the labels, 0 where unknown. C of the paper: the same 0 and 1 for all tags.
    gamma_s, gamma_c : float
        Weights of Eq. (5).
    """
    if (Omega == Omega[0]).all():
        C = np.diag(Omega[0])
        return gamma_c * np.linalg.inv(np.eye(len(Phi)) + Phi @ (gamma_c * C + gamma_s * L) @ Phi.T) @ Phi @ C @ Y.T
    W = np.empty((len(Phi), len(Y)))
    for tag in range(len(Y)):
        C = np.diag(Omega[tag])
        inverse = np.linalg.inv(np.eye(len(Phi)) + Phi @ (gamma_c * C + gamma_s * L) @ Phi.T)
        W[:, tag] = gamma_c * inverse @ Phi @ C @ Y[tag]  # Eq. (6)
    return W


def swept_dictionary(X: Floats, Phi: Floats, B: Floats, n_sweeps: int) -> Floats:
    """Return B after sweeps in which each atom in turn is the best on the sphere, the others fixed."""
    B, features, gram = B.copy(), X @ Phi.T, Phi @ Phi.T
    for _ in range(n_sweeps):
        for i in range(B.shape[1]):
            u = features[:, i] - B @ gram[:, i] + B[:, i] * gram[i, i]
            if np.linalg.norm(u) > 0:
                B[:, i] = u / np.linalg.norm(u)
    return B


def dual_dictionary(X: Floats, Phi: Floats, *, max_iter: int = 200, tol: float = 1e-12) -> tuple[Floats, Floats]:
    """Return B and the multipliers of Eq. (7) by Newton's method on its dual.

    Raises
    ------
    ValueError
        Where no multipliers with ``ΦΦᵀ + Λ ≻ 0`` give atoms of norm 1: the dual is not attained there.
    """
    features, gram = X @ Phi.T, Phi @ Phi.T

    def basis(multipliers: Floats) -> tuple[Floats, Floats, float]:
        try:
            factor = np.linalg.cholesky(gram + np.diag(multipliers))
        except np.linalg.LinAlgError:
            return features, gram, -np.inf
        inverse = np.linalg.inv(factor)
        inverse = inverse.T @ inverse
        B = features @ inverse  # B = XΦᵀ(ΦΦᵀ + Λ)⁻¹
        return B, inverse, -0.5 * float(np.sum(features * B)) - 0.5 * float(multipliers.sum())

    multipliers = np.full(len(Phi), np.linalg.norm(features, axis=0).max() + np.trace(gram))
    B, inverse, value = basis(multipliers)
    for _ in range(max_iter):
        gradient = 0.5 * (np.sum(B * B, axis=0) - 1.0)
        if np.abs(gradient).max() <= tol:
            return B, multipliers
        direction = np.linalg.solve((B.T @ B) * inverse + 1e-14 * np.eye(len(Phi)), gradient)
        step = 1.0
        while step > 1e-12:
            found = basis(multipliers + step * direction)
            if found[2] >= value + 1e-4 * step * float(gradient @ direction) - 1e-13 * abs(value):
                break
            step /= 2
        multipliers = multipliers + step * direction
        B, inverse, value = found
    raise ValueError("the dual of Eq. (7) is not attained")


def diffusion(
    Psi: Floats,
    X: Floats,
    B: Floats,
    W: Floats,
    A: Floats,
    Y: Floats,
    C: Floats,
    gamma_s: float,
    gamma_c: float,
    mu: float,
    *,
    eps: float = 1e-2,
    max_sweeps: int = 100,
) -> Floats:
    """Return the kernel map where sweeps of Eq. (8) stop.

    The matrix of a photo is the same in every sweep and is inverted once; C is the diagonal (m,) of labelled photos.
    """
    D = A.sum(axis=1)
    inverses = np.empty((X.shape[1], len(Psi), len(Psi)))
    for i in range(X.shape[1]):
        system = gamma_c * B.T @ B + (gamma_s * D[i] + gamma_c * C[i]) * W @ W.T + mu * np.eye(len(Psi))
        inverses[i] = np.linalg.inv(system)
    fixed = gamma_c * B.T @ X + gamma_c * W @ (Y * C)
    for _ in range(max_sweeps):
        before, rhs = Psi, fixed + gamma_s * W @ ((W.T @ Psi) @ A)
        Psi = np.einsum("ipq,qi->pi", inverses, rhs, optimize=True)  # Eq. (8)
        if np.linalg.norm(Psi - before) <= eps:
            break
    return Psi


def fixed_point(
    X: Floats, B: Floats, W: Floats, A: Floats, Y: Floats, Omega: Floats, gamma_s: float, gamma_c: float, mu: float
) -> Floats:
    """Return the limit of Eq. (8) as one dense system for all p·m numbers, with weights Ω (c, m) for each tag."""
    p, m = B.shape[1], X.shape[1]
    L = np.diag(A.sum(axis=1)) - A
    # Photo after photo: vec(Φ) holds the columns of Φ.
    system = np.kron(np.eye(m), gamma_c * B.T @ B + mu * np.eye(p)) + np.kron(gamma_s * L, W @ W.T)
    for i in range(m):
        part = slice(i * p, (i + 1) * p)
        system[part, part] += gamma_c * (W * Omega[:, i]) @ W.T
    rhs = gamma_c * B.T @ X + gamma_c * W @ (Omega * Y)
    return np.asarray(np.linalg.solve(system, rhs.T.ravel()).reshape(m, p).T, dtype=np.float64)


def tkml(
    X: Floats,
    Y: Floats,
    Omega: Floats,
    A: Floats,
    Phi: Floats,
    B: Floats,
    *,
    gamma_s: float = 1.0,
    gamma_c: float = 1.0,
    mu: float = 1e-8,
    max_iter: int = 5,
    n_sweeps: int = 3,
    limit: Literal["diffusion", "solve"] = "solve",
) -> tuple[Floats, Floats, Floats]:
    """Return B, Φ and W of Algorithm 1.

    Parameters
    ----------
    X, Y, Omega : arrays of shape (d, m), (c, m), (c, m)
        Features, labels and their weights.
    A : array of shape (m, m)
        Similarities of neighbours.
    Phi, B : arrays of shape (p, m), (d, p)
        Start.
    gamma_s, gamma_c, mu : float
        Weights of Eq. (5).
    max_iter, n_sweeps : int
        Rounds; sweeps over the atoms in a round.
    limit : {"diffusion", "solve"}
        100 sweeps of Eq. (8), or its fixed point.
    """
    L = np.diag(A.sum(axis=1)) - A
    weights = gamma_s, gamma_c
    for _ in range(max_iter):
        W = classifier(Phi, L, Y, Omega, *weights)
        B = swept_dictionary(X, Phi, B, n_sweeps)
        if limit == "diffusion":
            Phi = diffusion(Phi, X, B, W, A, Y * (Omega > 0), Omega[0], *weights, mu)
        else:
            Phi = fixed_point(X, B, W, A, Y, Omega, *weights, mu)
    return B, Phi, W


def objective(
    X: Floats,
    Y: Floats,
    Omega: Floats,
    A: Floats,
    B: Floats,
    Phi: Floats,
    W: Floats,
    gamma_s: float,
    gamma_c: float,
    mu: float,
) -> float:
    """Return Eq. (5)."""
    scores = W.T @ Phi
    L = np.diag(A.sum(axis=1)) - A
    return 0.5 * (
        mu * np.sum(Phi**2)
        + np.sum(W**2)
        + gamma_s * np.trace(scores @ L @ scores.T)
        + gamma_c * np.sum((X - B @ Phi) ** 2)
        + gamma_c * np.sum(Omega * (Y - scores) ** 2)
    )
