"""A rough solution of a convex problem with many groups: fit and penalty in turn, all tags at once.

Sweeps are slow where thousands of columns are much alike, and a Newton step from afar is stopped by every kink. The
alternating direction method of multipliers needs one eigendecomposition, common to all tags, and then two products an
iteration; some fifty of these find nearly all of what a tag uses.
"""

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Floats, Singles
from tagloom.solvers.groups.problem import GroupProblem

__all__ = ["split"]


#: Most iterations, and iterations between two looks at the residuals.
MAX_STEPS, PERIOD = 200, 10
#: Residuals, relative to what they are residuals of, at which a tag is done.
ENOUGH = 3e-4
#: Smallest share that lengths are divided by.
LEAST = np.float32(1e-9)
#: Weight of the new point against the old one.
RELAXATION = 1.6
#: First weight ρ of the coupling, relative to the mean of A's diagonal, and how far one look may change it.
COUPLING, FURTHEST = 2.0, 5.0


def split(
    problem: GroupProblem,
    limits: tuple[Floats, Floats],
    W: Floats,
    G: Floats,
    tags: NDArray[np.intp],
) -> Floats:
    """Return nearly a minimiser of the problem with a price of each length, with exact zeros.

    Parameters
    ----------
    problem : GroupProblem
        Matrices, groups and weights.
    limits : tuple of arrays of shape (g, c) and (c,)
        The price of a unit of length of each group, and of a unit of each entry.
    W, G : arrays of shape (r, c)
        Start, and the gradient of the smooth part there.
    tags : array of shape (c,)
        Their numbers in the problem.
    """
    result = np.array(W)
    live = np.arange(tags.size)
    rho = np.full(tags.size, COUPLING * problem.spectrum.mean, dtype=np.float32)
    single = (limits[0].astype(np.float32), limits[1].astype(np.float32))
    state = _Split(problem, single, tags, rho, W.astype(np.float32), (-G / rho).astype(np.float32))
    for _ in range(MAX_STEPS // PERIOD):
        for _ in range(PERIOD):
            state.step()
        done = state.look()
        if done.any():
            result[:, live[done]] = state.Z[:, done]
            live = live[~done]
            if not live.size:
                return result
            state = state.take(~done)
    result[:, live] = state.Z
    return result


class _Split:
    """Some tags on their way: the penalty's copy Z of the coefficients and the multipliers U, divided by ρ."""

    def __init__(
        self,
        problem: GroupProblem,
        limits: tuple[Singles, Singles],
        tags: NDArray[np.intp],
        rho: Singles,
        Z: Singles,
        U: Singles,
    ) -> None:
        self.problem, self.spectrum, self.tags = problem, problem.spectrum, tags
        self.linear = self.spectrum.linear[:, tags]
        self.limits, self.entry_limits = limits
        self.rho, self.Z, self.U = rho, Z, U
        self.X = self.before = Z

    def take(self, kept: NDArray[np.bool_]) -> "_Split":
        """Return some of the tags."""
        return _Split(
            self.problem,
            (self.limits[:, kept], self.entry_limits[kept]),
            self.tags[kept],
            self.rho[kept],
            self.Z[:, kept],
            self.U[:, kept],
        )

    def step(self) -> None:
        """Fit near the penalty's copy, shrink near the fit, and add what they differ by to the multipliers."""
        vectors = self.spectrum.vectors
        fit = self.linear + self.rho * (vectors.T @ (self.Z - self.U))
        fit /= self.spectrum.values + self.rho
        self.X, self.before = vectors @ fit, self.Z
        target = np.float32(RELAXATION) * self.X
        target += np.float32(1 - RELAXATION) * self.Z
        target += self.U
        self.Z = self._shrink(target)
        self.U = target - self.Z

    def _shrink(self, target: Singles) -> Singles:
        layout = self.problem.axes.layout
        if self.problem.entry_share > 0:
            target = np.sign(target) * np.maximum(np.abs(target) - self.entry_limits / self.rho, np.float32(0))
        norms = layout.norms(target)
        shorter = np.maximum(norms - self.limits / self.rho, np.float32(0))
        factor = np.divide(shorter, norms, out=np.zeros_like(norms), where=norms > 0)
        shrunk: Singles = target * factor[layout.group_of]
        return shrunk

    def look(self) -> NDArray[np.bool_]:
        """Say which tags are done, and balance the two residuals of the others by their ρ."""
        tiny = np.finfo(np.float32).tiny
        apart, moved = _lengths(self.X - self.Z), self.rho * _lengths(self.Z - self.before)
        # A side of nothing leaves a large share, not one beyond single precision.
        apart /= np.maximum(np.maximum(_lengths(self.Z), LEAST * _lengths(self.X)), tiny)
        moved /= np.maximum(np.maximum(self.rho * _lengths(self.U), LEAST * moved), tiny)
        done: NDArray[np.bool_] = np.maximum(apart, moved) <= ENOUGH
        factor = np.clip(np.sqrt(apart / np.maximum(moved, LEAST)), 1 / FURTHEST, FURTHEST).astype(np.float32)
        factor[(factor > 0.5) & (factor < 2)] = 1
        self.rho = self.rho * factor
        self.U = self.U / factor
        return done


def _lengths(V: Singles) -> Singles:
    lengths: Singles = np.sqrt(np.einsum("kc,kc->c", V, V))
    return lengths
