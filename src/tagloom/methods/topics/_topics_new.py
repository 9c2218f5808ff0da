"""Posteriors of photos that were not there when topics were learnt; those of their neighbours stay as they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core.labels import UNKNOWN
from tagloom.core.typing import Reals
from tagloom.methods.topics._topics_smoothing import softmax_rows
from tagloom.methods.topics.model import TopicParameters, WordCounts

__all__ = ["averaged_posteriors", "exact_posteriors", "plain_posteriors", "tag_scores"]


#: A photo is done when no probability moves by more.
_SETTLED = 1e-6
_MOST_STEPS = 1000


def tag_scores(p: Reals, tag_words: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(tag) of photos, Eq. (12).

    A sparse product adds up each photo by itself, in the same order whatever photos are beside it: photos with the same
    topics then have the same scores to the last digit, and lie on the same side of a threshold.

    Parameters
    ----------
    p : array of shape (m, K)
        P(topic | photo).
    tag_words : array of shape (K, c)
        P(tag | topic).
    """
    return np.asarray(sparse.csr_array(p.astype(np.float64)) @ tag_words)


def plain_posteriors(visual: Any, parameters: TopicParameters) -> tuple[Reals, Reals]:
    """Return the log-joint of the visual words alone and its posteriors, Eq. (9).

    Parameters
    ----------
    visual : CSR of shape (m, d)
        Counts of visual words.
    parameters : TopicParameters
        The topics.
    """
    n_tags = parameters.log_words.shape[0] - parameters.n_visual
    unknown = np.full((visual.shape[0], n_tags), UNKNOWN, dtype=np.int8)
    joint, _ = WordCounts(visual, unknown).log_joint(parameters)
    logits, p = joint.copy(), np.empty_like(joint)
    softmax_rows(logits, p)
    return joint, p


def exact_posteriors(joint: Reals, links: Any, known: Reals, smoothness: float) -> Reals:
    """Maximise Q over new photos, each by itself.

    With fixed neighbours the quadratic term is ``λ d ‖p - m‖²``, m the neighbours' mean, hence at most
    ``λ d KL(p, p')`` above its tangent at p': steps are half as short as between photos that all move.

    Parameters
    ----------
    joint : array of shape (m, K)
        Log-joint of the new photos.
    links : CSR of shape (m, n)
        Weights of their links to the training photos.
    known : array of shape (n, K)
        Posteriors of the training photos.
    smoothness : float
        λ.
    """
    dtype = joint.dtype
    sums = np.asarray(links @ known, dtype=dtype)
    degrees = np.asarray(links.sum(axis=1), dtype=dtype).reshape(-1, 1)
    own = 1.0 / (1.0 + smoothness * degrees)
    target = own * (joint + 2.0 * smoothness * sums)
    inertia = own * smoothness * degrees
    log_p, p = joint.copy(), np.empty_like(joint)
    softmax_rows(log_p, p)
    moving = np.flatnonzero(degrees[:, 0] > 0)
    for _ in range(_MOST_STEPS):
        if moving.size == 0:
            break
        logits = target[moving] + inertia[moving] * (log_p[moving] - 2.0 * p[moving])
        moved = np.empty_like(logits)
        softmax_rows(logits, moved)
        change = np.abs(moved - p[moving]).max(axis=1)
        log_p[moving], p[moving] = logits, moved
        moving = moving[change > _SETTLED]
    return p


def averaged_posteriors(p: Reals, links: Any, known: Reals, step: float, n_steps: int | None) -> Reals:
    """Do so many steps of Eq. (10) with fixed neighbours; None: infinitely many, which leaves the neighbours' mean.

    Parameters
    ----------
    p : array of shape (m, K)
        Posteriors of Eq. (9).
    links, known
        As for `exact_posteriors`.
    step : float
        γ.
    n_steps : int or None
        How many.
    """
    degrees = np.asarray(links.sum(axis=1), dtype=p.dtype).reshape(-1, 1)
    sums = np.asarray(links @ known, dtype=p.dtype)
    mean = np.divide(sums, degrees, out=p.copy(), where=degrees > 0)
    left = 0.0 if n_steps is None else (1.0 - step) ** n_steps
    return np.asarray(mean + left * (p - mean), dtype=p.dtype)
