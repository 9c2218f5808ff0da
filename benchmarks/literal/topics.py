"""The Laplacian topic model as printed (paper 001), photo by photo, and its parts: the mixture, pLSA-Words.

F (n, U) counts of visual words, W (n, V) counts of tags, S (n, n) neighbour weights, all dense; smoothing goes by lists
of neighbours. Eq. (9) is computed by logarithms: its products of probabilities underflow for photos with many words.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Parameters = tuple[Floats, Floats, Floats]
Neighbors = list[tuple[NDArray[np.intp], Floats]]


def log_joint(F: Floats, W: Floats, parameters: Parameters) -> Floats:
    """Return log P(z_k, F_i, W_i) for each photo i and topic k."""
    alpha, beta, phi = parameters
    rows = []
    for i in range(len(F)):
        row = np.log(alpha).copy()
        for k in range(len(alpha)):
            row[k] += F[i] @ np.log(beta[k]) + W[i] @ np.log(phi[k])
        rows.append(row)
    return np.array(rows)


def posteriors(F: Floats, W: Floats, parameters: Parameters) -> Floats:
    """Return p_ki by Eq. (9), one row for each photo."""
    alpha, beta, phi = parameters
    log_alpha, log_beta, log_phi = np.log(alpha), np.log(beta), np.log(phi)
    p = np.empty((len(F), len(alpha)))
    for i in range(len(F)):
        logs = log_alpha + log_beta @ F[i] + log_phi @ W[i]
        weights = np.exp(logs - logs.max())
        p[i] = weights / weights.sum()
    return p


def likelihood(F: Floats, W: Floats, parameters: Parameters) -> float:
    """Return Eq. (1)."""
    joint = log_joint(F, W, parameters)
    top = joint.max(axis=1)
    return float((top + np.log(np.exp(joint - top[:, None]).sum(axis=1))).sum())


def roughness(p: Floats, S: Floats) -> float:
    """Return R, Eq. (7), over ordered pairs of photos."""
    return 0.5 * sum(float(S[i] @ ((p[i] - p) ** 2).sum(axis=1)) for i in range(len(p)))


def objective(F: Floats, W: Floats, S: Floats, p: Floats, parameters: Parameters, smoothness: float) -> float:
    """Return Q, Eq. (8)."""
    logs = np.where(p > 0, np.log(np.where(p > 0, p, 1.0)), 0.0)
    return float((p * (log_joint(F, W, parameters) - logs)).sum()) - smoothness * roughness(p, S)


def neighbors_of(S: Any) -> Neighbors:
    """Return the neighbours of each photo and their weights, from a dense or a CSR matrix."""
    if isinstance(S, np.ndarray):
        return [(np.flatnonzero(row), row[row != 0]) for row in S]
    bounds = zip(S.indptr[:-1], S.indptr[1:], strict=True)
    return [(S.indices[first:last], S.data[first:last]) for first, last in bounds]


def smooth(p: Floats, neighbors: Neighbors, step: float) -> Floats:
    """Do one step of Eq. (10); photos without neighbours keep their p."""
    new = p.copy()
    for i, (others, weights) in enumerate(neighbors):
        if len(others):
            new[i] = (1 - step) * p[i] + step * (weights @ p[others]) / weights.sum()
    return new


def smooth_until_converged(p: Floats, S: Floats, step: float, tol: float = 1e-6, max_iter: int = 2000) -> Floats:
    """Repeat Eq. (10) until R has converged, as printed."""
    neighbors, values = neighbors_of(S), [roughness(p, S)]
    for _ in range(max_iter):
        p = smooth(p, neighbors, step)
        values.append(roughness(p, S))
        if values[-2] - values[-1] <= tol * values[0]:
            break
    return p


def exact_step(p: Floats, joint: Floats, S: Floats, smoothness: float) -> Floats:
    """Do one step that raises Q (not in the paper), photo by photo."""
    new = np.empty_like(p)
    for i in range(len(p)):
        degree = S[i].sum()
        gradient = joint[i] - 2 * smoothness * (degree * p[i] - S[i] @ p)
        logs = (gradient + 2 * smoothness * degree * np.log(p[i])) / (1 + 2 * smoothness * degree)
        new[i] = np.exp(logs - logs.max())
        new[i] /= new[i].sum()
    return new


def maximise(F: Floats, W: Floats, p: Floats, prior: float = 0.0) -> Parameters:
    """Return the parameters of Eq. (11); ``prior`` is a pseudo-count."""
    K = p.shape[1]
    alpha = np.full(K, prior)
    beta = np.full((K, F.shape[1]), prior)
    phi = np.full((K, W.shape[1]), prior)
    for i in range(len(F)):
        alpha += p[i]
        beta += np.outer(p[i], F[i])
        phi += np.outer(p[i], W[i])
    return alpha / alpha.sum(), beta / beta.sum(axis=1, keepdims=True), phi / phi.sum(axis=1, keepdims=True)


def mixture(F: Floats, W: Floats, start: Parameters, n_iter: int, prior: float = 0.0) -> tuple[Floats, Parameters]:
    """Return posteriors and parameters of the mixture after so many EM iterations."""
    parameters, p = start, posteriors(F, W, start)
    for _ in range(n_iter):
        p = posteriors(F, W, parameters)
        parameters = maximise(F, W, p, prior)
    return p, parameters


def laplacian_topics(
    F: Floats,
    W: Floats,
    S: Floats,
    start: Parameters,
    n_iter: int,
    *,
    step: float = 0.1,
    n_steps: int | None = None,
    prior: float = 0.0,
) -> tuple[Floats, Parameters]:
    """Return posteriors and parameters of Algorithm 1; ``n_steps=None``: smooth until R has converged."""
    parameters, p, neighbors = start, posteriors(F, W, start), neighbors_of(S)
    for _ in range(n_iter):
        p = posteriors(F, W, parameters)
        if n_steps is None:
            p = smooth_until_converged(p, S, step)
        else:
            for _ in range(n_steps):
                p = smooth(p, neighbors, step)
        parameters = maximise(F, W, p, prior)
    return p, parameters


def plsa(counts: Floats, words: Floats, mixtures: Floats, n_iter: int, **fixed: Any) -> tuple[Floats, Floats]:
    """Return P(w | z) of shape (K, V) and P(z | d) of shape (n, K) after EM, document by document.

    ``fix_words=True`` or ``fix_mixtures=True`` hold one of them; ``prior`` is a pseudo-count of words.
    """
    for _ in range(n_iter):
        new_words = np.full_like(words, fixed.get("prior", 0.0))
        new_mixtures = np.zeros_like(mixtures)
        for d in range(len(counts)):
            for w in np.flatnonzero(counts[d]):
                share = words[:, w] * mixtures[d]
                share = counts[d, w] * share / share.sum()
                new_words[:, w] += share
                new_mixtures[d] += share
        if not fixed.get("fix_words"):
            words = new_words / new_words.sum(axis=1, keepdims=True)
        if not fixed.get("fix_mixtures"):
            mixtures = new_mixtures / new_mixtures.sum(axis=1, keepdims=True)
    return words, mixtures
