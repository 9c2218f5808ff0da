"""E-steps: the posteriors of topics, drawn together over the neighbour graph in one of three ways."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from tagloom.core.typing import Reals
from tagloom.graph import NeighborGraph

__all__ = ["Averaging", "ExactSteps", "NoGraph", "Posterior", "Smoothing", "softmax_rows"]


#: Bytes of a block of rows, so that what is done to it one after the other finds it in cache.
_BLOCK_BYTES = 1 << 18
#: R counts as converged once a step changes it by less than this share of where it began.
_CONVERGED = 1e-6
_MOST_STEPS = 2000
#: No probability is below e to this, relative to the largest of its photo.
_LEAST = -40.0


@dataclass
class Posterior:
    """p of every photo (rows) and topic, and its logarithm, which does not underflow."""

    p: Reals
    log_p: Reals

    @classmethod
    def empty(cls, shape: tuple[int, int], dtype: Any) -> "Posterior":
        """Return one that is not filled yet."""
        return cls(np.empty(shape, dtype=dtype), np.empty(shape, dtype=dtype))


class Smoothing(Protocol):
    """An E-step."""

    def improve(self, joint: Reals, now: Posterior, then: Posterior) -> float:
        """Fill ``then`` with the next posteriors; return 𝔽 - λR (less constants) of ``now``.

        Parameters
        ----------
        joint : array of shape (n, K)
            The log-joint of Eq. (9); may be overwritten.
        now, then : Posterior
            The posteriors so far, which stay as they are, and where the next ones go.
        """


def softmax_rows(logits: Reals, p: Reals) -> None:
    """Make rows of logarithms those of probabilities, and put the probabilities into ``p``."""
    logits -= logits.max(axis=1, keepdims=True)
    # Numbers smaller than float32 keeps in full are many times slower in every product. This is too little to count,
    # and its square is large enough. The logarithms stay as they are.
    np.maximum(logits, _LEAST, out=p)
    np.exp(p, out=p)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    logits -= np.log(total)


def _inner(a: Reals, b: Reals) -> float:
    """Return the inner product of two blocks: rows in their own precision, their sum in float64."""
    return float(np.einsum("ij,ij->i", a, b).sum(dtype=np.float64))


class NoGraph:
    """The plain E-step, Eq. (9): λ = 0."""

    def improve(self, joint: Reals, now: Posterior, then: Posterior) -> float:
        """See `Smoothing`."""
        value = 0.0
        for rows in _blocks(joint):
            value += _inner(now.p[rows], joint[rows]) - _inner(now.p[rows], now.log_p[rows])
            then.log_p[rows] = joint[rows]
            softmax_rows(then.log_p[rows], then.p[rows])
        return value


class _OnGraph:
    """What E-steps on a graph have in common: its rows in blocks, its degrees, λ."""

    def __init__(self, graph: NeighborGraph, smoothness: float, n_topics: int, dtype: Any) -> None:
        self.smoothness = float(smoothness)
        self.degrees: Reals = graph.degrees[:, None].astype(dtype)
        weights = sparse.csr_array(graph.weights, dtype=dtype)
        shape = np.broadcast_to(np.zeros(1, dtype=dtype), (graph.n_nodes, n_topics))
        self.blocks: list[tuple[slice, Any]] = [(rows, weights[rows]) for rows in _blocks(shape)]
        # Kept from step to step: fresh memory costs more than what is computed into it.
        self._spare: Reals = np.empty(shape.shape, dtype=dtype)

    def _exchange(self, posterior: Posterior) -> None:
        """Give the posterior the matrix that was just filled, and keep its old one to be filled next."""
        posterior.p, self._spare = self._spare, posterior.p

    def _value(self, joint: Reals, now: Posterior, rows: slice, sums: Reals) -> float:
        """Return what a block adds to 𝔽 - λR, given the neighbours' sums."""
        p = now.p[rows]
        free_energy = _inner(p, joint[rows]) - _inner(p, now.log_p[rows])  # Eq. (2)
        return free_energy - self.smoothness * self._roughness(p, rows, sums)

    def _roughness(self, p: Reals, rows: slice, sums: Reals) -> float:
        """Return what a block adds to R, Eq. (7)."""
        own = np.einsum("ij,ij->i", p, p) * self.degrees[rows, 0]
        return float(own.sum(dtype=np.float64)) - _inner(p, sums)


class ExactSteps(_OnGraph):
    """Closed-form steps that raise Q, from the previous posteriors on.

    With L ⪯ 2D and ‖p - p'‖² ≤ KL(p, p') on the simplex (Pinsker), Q is at least
    ``Σ_i [p_i·(ℓ_i - 2λ(Lp')_i) - p_i·log p_i - 2λ d_i KL(p_i, p'_i)]`` plus a constant, with equality at p'; its
    maximum is ``log p_i = [ℓ_i - 2λ(Lp')_i + 2λ d_i log p'_i] / (1 + 2λ d_i)``, normalised.
    """

    def __init__(self, graph: NeighborGraph, smoothness: float, n_topics: int, dtype: Any, *, n_steps: int) -> None:
        super().__init__(graph, smoothness, n_topics, dtype)
        self.n_steps = n_steps
        own = 1.0 / (1.0 + 2.0 * self.smoothness * self.degrees)
        self.own: Reals = own.astype(dtype)
        self.pull: Reals = (2.0 * self.smoothness * own).astype(dtype)
        self.inertia: Reals = (self.pull * self.degrees).astype(dtype)

    def improve(self, joint: Reals, now: Posterior, then: Posterior) -> float:
        """See `Smoothing`."""
        value = 0.0
        for rows, weights in self.blocks:
            sums = weights @ now.p
            value += self._value(joint, now, rows, sums)
            joint[rows] *= self.own[rows]
            self._step(rows, sums, joint, now.p[rows], now.log_p[rows], then.log_p[rows], then.p[rows])
        for _ in range(1, self.n_steps):
            for rows, weights in self.blocks:
                sums = weights @ then.p
                self._step(rows, sums, joint, then.p[rows], then.log_p[rows], then.log_p[rows], self._spare[rows])
            self._exchange(then)
        return value

    def _step(
        self, rows: slice, sums: Reals, joint: Reals, p: Reals, log_p: Reals, new_log_p: Reals, new_p: Reals
    ) -> None:
        """Do one step of a block; ``joint`` is divided by 1 + 2λd already."""
        np.subtract(log_p, p, out=new_log_p)
        new_log_p *= self.inertia[rows]
        sums *= self.pull[rows]
        new_log_p += sums
        new_log_p += joint[rows]
        softmax_rows(new_log_p, new_p)


class Averaging(_OnGraph):
    """The paper's smoothing: Eq. (9), then steps towards the neighbours' mean, Eq. (10).

    Parameters
    ----------
    step : float
        γ.
    n_steps : int or None
        None: "until R converged".
    """

    def __init__(
        self,
        graph: NeighborGraph,
        smoothness: float,
        n_topics: int,
        dtype: Any,
        *,
        step: float,
        n_steps: int | None,
    ) -> None:
        super().__init__(graph, smoothness, n_topics, dtype)
        self.n_steps = n_steps
        linked = self.degrees > 0
        self.stay: Reals = np.where(linked, 1.0 - step, 1.0).astype(dtype)
        self.move: Reals = np.divide(step, self.degrees, out=np.zeros_like(self.degrees), where=linked).astype(dtype)

    def improve(self, joint: Reals, now: Posterior, then: Posterior) -> float:
        """See `Smoothing`."""
        value = 0.0
        for rows, weights in self.blocks:
            value += self._value(joint, now, rows, weights @ now.p)
            then.log_p[rows] = joint[rows]
            softmax_rows(then.log_p[rows], then.p[rows])
        if self.n_steps is None:
            self._average_until_converged(then)
        else:
            for _ in range(self.n_steps):
                self._average(then)
        tiny = np.finfo(then.p.dtype).tiny
        np.log(np.maximum(then.p, tiny), out=then.log_p)
        return value

    def _average_until_converged(self, posterior: Posterior) -> None:
        """Do Eq. (10) until R has converged."""
        first = before = self._average(posterior, measure=True)
        for _ in range(_MOST_STEPS):
            now = self._average(posterior, measure=True)
            if before - now <= _CONVERGED * first:
                return
            before = now

    def _average(self, posterior: Posterior, *, measure: bool = False) -> float:
        """Do one step of Eq. (10); return R before it, if asked for."""
        p, roughness = self._spare, 0.0
        for rows, weights in self.blocks:
            sums, old = weights @ posterior.p, posterior.p[rows]
            if measure:
                roughness += self._roughness(old, rows, sums)
            np.multiply(old, self.stay[rows], out=p[rows])
            sums *= self.move[rows]
            p[rows] += sums
        self._exchange(posterior)
        return roughness


def _blocks(matrix: Reals) -> Iterator[slice]:
    """Cut the rows of a matrix into blocks."""
    n, width = matrix.shape
    height = max(1, _BLOCK_BYTES // max(1, width * matrix.dtype.itemsize))
    return (slice(start, min(start + height, n)) for start in range(0, n, height))
