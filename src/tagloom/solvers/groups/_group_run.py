"""One descent of many tags: where each is, and how the rounds bring it on."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats
from tagloom.solvers.groups.axes import Axes
from tagloom.solvers.groups.radial import Radial
from tagloom.solvers.groups.splitting import Spectrum, split
from tagloom.solvers.groups.state import GroupState

__all__ = ["Run", "joined"]


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
    """One descent: where every tag is.

    Parameters
    ----------
    problem : Problem
        The matrices and groups.
    radial : Radial
        The penalty of a length.
    strengths : array of shape (c,) or (k c,)
        λ of each tag, or of each tag at several points one after another, which are descents of their own.
    W, G : arrays of shape (r, c) or (r, k c)
        Coefficients, and the gradient of the smooth part there if it is known.
    """

    def __init__(self, problem: Problem, radial: Radial, strengths: Floats, W: Floats, G: Floats | None = None) -> None:
        self.problem, self.radial, self.strengths = problem, radial, strengths
        n_tags = max(1, problem.axes.B.shape[1])
        self.n_points = max(1, strengths.size // n_tags)
        self.points, self.tags = np.divmod(np.arange(strengths.size), n_tags)
        self.W: Floats = np.array(W, dtype=np.float64)
        self.G: Floats = problem.axes.A @ self.W - problem.axes.B[:, self.tags] if G is None else np.array(G)
        whole = self.state(np.arange(strengths.size))
        self.values, self.optimality = whole.values(), whole.optimality()
        self.history = [self.values.copy()]
        self.n_iter = 0

    def state(self, live: NDArray[np.intp]) -> GroupState:
        """Return some tags, to be moved."""
        W, G = self.W[:, live], self.G[:, live]
        return GroupState(self.problem, self.radial, self.strengths[live], W, G, self.tags[live])

    def keep(self, live: NDArray[np.intp], state: GroupState, tol: float) -> NDArray[np.intp]:
        """Take over where some tags have got to, and return which are not done; done by a gradient computed anew."""
        optimality = state.optimality()
        due = self.n_iter % REFRESH == REFRESH - 1
        if due or (optimality <= tol).any():
            state.refresh(all_tags=due, some=optimality <= tol)
            optimality = state.optimality()
        self.W[:, live], self.G[:, live] = state.W, state.G
        self.values[live], self.optimality[live] = state.values(), optimality
        self.history.append(self.values.copy())
        self.n_iter += 1
        return live[optimality > tol]

    def split(self, live: NDArray[np.intp], tol: float) -> NDArray[np.intp]:
        """Move some tags of a convex problem to where splitting takes them, if lower; return which are not done."""
        state = self.state(live)
        limits = (state.limits, state.entry_limits)
        W = split(self.problem, self.problem.spectrum, limits, state.W, state.G, state.tags)
        other = GroupState(self.problem, self.radial, self.strengths[live], W, np.empty_like(W), state.tags)
        other.refresh(all_tags=True)
        values = other.values()
        lower = values < self.values[live]
        moved = live[lower]
        self.W[:, moved], self.G[:, moved] = other.W[:, lower], other.G[:, lower]
        self.values[moved], self.optimality[moved] = values[lower], other.optimality()[lower]
        self.history.append(self.values.copy())
        return np.flatnonzero(self.optimality > tol)

    def take_better(self, other: "Run") -> None:
        """Take the other descent's end where it is lower."""
        better = other.values < self.values
        self.W[:, better], self.G[:, better] = other.W[:, better], other.G[:, better]
        self.values[better], self.optimality[better] = other.values[better], other.optimality[better]
        self.n_iter += other.n_iter
        self.history.append(self.values.copy())


def joined(runs: list[Run], radial: Radial) -> Run:
    """Return a descent from where several of one point each have got to, under another penalty."""
    first = runs[0]
    strengths, W, G = (
        np.concatenate([getattr(run, name) for run in runs], axis=-1) for name in ("strengths", "W", "G")
    )
    return Run(first.problem, radial, strengths, W, G)
