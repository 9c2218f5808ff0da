"""The EM loop of the topic models."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagloom.core.typing import Reals
from tagloom.methods.topics._topics_smoothing import Posterior, Smoothing, softmax_rows
from tagloom.methods.topics.model import TopicParameters, WordCounts, random_start

__all__ = ["EMResult", "best_of_starts", "run_em"]


#: Topics with less than this number of photos, in expectation, are empty.
EMPTY = 1e-3


@dataclass(frozen=True)
class EMResult:
    """Parameters and posteriors where the loop ended.

    Attributes
    ----------
    parameters : TopicParameters
        Θ.
    p : ndarray of shape (n, K)
        Posteriors.
    objective : list of float
        Q and the prior's term: at the start, then after each iteration.
    converged : bool
        Whether the gain fell to the tolerance.
    """

    parameters: TopicParameters
    p: Reals
    objective: list[float]
    converged: bool

    def without_empty_topics(self) -> "EMResult":
        """Return the same without topics that no photo has."""
        filled = np.asarray(self.p.sum(axis=0, dtype=np.float64) >= EMPTY)
        if filled.all():
            return self
        p = self.p[:, filled]
        p = p / p.sum(axis=1, keepdims=True)
        return EMResult(self.parameters.keep(filled), p, self.objective, self.converged)


def run_em(
    words: WordCounts,
    start: TopicParameters,
    smoothing: Smoothing,
    *,
    pseudo_count: float,
    max_iter: int,
    tol: float,
) -> EMResult:
    """Alternate E-steps and M-steps (Algorithm 1).

    Parameters
    ----------
    words : WordCounts
        The photos.
    start : TopicParameters
        Θ to start at; the posteriors start at those of Eq. (9).
    smoothing : Smoothing
        The E-step.
    pseudo_count : float
        Dirichlet pseudo-count of the M-step.
    max_iter : int
        Most iterations.
    tol : float
        The loop ends when an iteration changes the objective by at most this much per photo.
    """
    parameters = start
    joint, _ = words.log_joint(parameters)
    now, then = (Posterior.empty(joint.shape, joint.dtype) for _ in range(2))
    now.log_p[...] = joint
    softmax_rows(now.log_p, now.p)
    objective: list[float] = []
    while True:
        joint, constant = words.log_joint(parameters)
        value = smoothing.improve(joint, now, then) + constant + parameters.log_density(pseudo_count)
        objective.append(value)
        converged = len(objective) > 1 and abs(value - objective[-2]) <= tol * words.n_photos
        # What was just improved is let go, so that the objective is the one of what is returned.
        if converged or len(objective) > max_iter:
            return EMResult(parameters, now.p, objective, converged)
        now, then = then, now
        parameters = words.maximise(now.p, pseudo_count)


def best_of_starts(
    words: WordCounts,
    smoothing: Smoothing,
    generators: list[np.random.Generator],
    n_topics: int,
    **options: Any,
) -> EMResult:
    """Run from several random starts and keep the highest objective; the first of equals."""
    best: EMResult | None = None
    for generator in generators:
        found = run_em(words, random_start(words, n_topics, generator), smoothing, **options)
        if best is None or found.objective[-1] > best.objective[-1]:
            best = found
    if best is None:
        raise ValueError("at least one start is needed")
    return best
