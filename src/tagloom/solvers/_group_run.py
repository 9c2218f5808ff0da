"""One descent of many tags: where each is, and how the rounds bring it on."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tagloom.solvers._group_axes import Axes
from tagloom.solvers._group_splitting import Spectrum, split
from tagloom.solvers._group_state import GroupState
from tagloom.solvers.radial import Radial

__all__ = ["Run"]

Floats = NDArray[np.float64]

#: Rounds between two gradients computed anew.
REFRESH = 5


class Problem(Protocol):
    """What is the same for all tags."""

    axes: Axes
    single: NDArray[np.float32] | None
    weights: Floats
    entry_share: float
    steepness: Floats
    largest: Floats

    @property
    def spectrum(self) -> Spectrum:
        """The eigendecomposition of A."""


class Run:
    """One descent: where every tag is."""

    def __init__(self, problem: Problem, radial: Radial, strengths: Floats, W: Floats, G: Floats | None = None) -> None:
        self.problem, self.radial, self.strengths = problem, radial, strengths
        self.W: Floats = np.array(W, dtype=np.float64)
        self.G: Floats = problem.axes.A @ self.W - problem.axes.B if G is None else np.array(G)
        whole = self.state(np.arange(strengths.size))
        self.values, self.optimality = whole.values(), whole.optimality()
        self.objective = [float(self.values.sum())]
        self.n_iter = 0

    def state(self, live: NDArray[np.intp]) -> GroupState:
        """Return some tags, to be moved."""
        problem = self.problem
        return GroupState(problem, self.radial, self.strengths[live], self.W[:, live], self.G[:, live], live)

    def keep(self, live: NDArray[np.intp], state: GroupState, tol: float) -> NDArray[np.intp]:
        """Take over where some tags have got to, and return which are not done; done by a gradient computed anew."""
        optimality = state.optimality()
        due = self.n_iter % REFRESH == REFRESH - 1
        if due or (optimality <= tol).any():
            state.refresh(all_tags=due, some=optimality <= tol)
            optimality = state.optimality()
        self.W[:, live], self.G[:, live] = state.W, state.G
        self.values[live], self.optimality[live] = state.values(), optimality
        self.objective.append(float(self.values.sum()))
        self.n_iter += 1
        return live[optimality > tol]

    def split(self, live: NDArray[np.intp], tol: float) -> NDArray[np.intp]:
        """Move some tags of a convex problem to where splitting takes them, if lower; return which are not done."""
        state = self.state(live)
        limits = (state.limits, state.entry_limits)
        W = split(self.problem, self.problem.spectrum, limits, state.W, state.G, live)
        other = GroupState(self.problem, self.radial, self.strengths[live], W, np.empty_like(W), live)
        other.refresh(all_tags=True)
        values = other.values()
        lower = values < self.values[live]
        moved = live[lower]
        self.W[:, moved], self.G[:, moved] = other.W[:, lower], other.G[:, lower]
        self.values[moved], self.optimality[moved] = values[lower], other.optimality()[lower]
        self.objective.append(float(self.values.sum()))
        return np.flatnonzero(self.optimality > tol)

    def take_better(self, other: "Run") -> None:
        """Take the other descent's end where it is lower."""
        better = other.values < self.values
        self.W[:, better], self.G[:, better] = other.W[:, better], other.G[:, better]
        self.values[better], self.optimality[better] = other.values[better], other.optimality[better]
        self.n_iter += other.n_iter
        self.objective.append(float(self.values.sum()))
