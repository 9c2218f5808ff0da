"""Solutions of SFSS for falling strengths of the penalty."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tagloom.core.typing import Floats
from tagloom.methods.sfss.reduced import ReducedProblem
from tagloom.methods.sfss.solve import JointProblem, JointSolution
from tagloom.solvers import L21

__all__ = ["PathPoint", "walk"]


# Tolerance from which on the polynomial is exact enough for a whole path.
ELIMINATES = 1e-5


@dataclass(frozen=True)
class PathPoint:
    """W for one γ; ``mean`` is that of F over photos."""

    W: Floats
    mean: Floats
    objective: float
    optimality: float


def walk(problem: JointProblem, shares: Floats, tol: float, max_iter: int) -> Iterator[PathPoint]:
    """Yield the solutions for shares of γ_max, each from the one before.

    With F eliminated once there is no pass over photos for a γ. This is for tolerances that the polynomial can meet,
    and as long as it is shown to be good enough; else every γ has its rounds.
    """
    problem.at_zero(max(0.1 * tol * float(shares[-1]), problem.finest))
    strengths = np.maximum(problem.largest_strength() * shares, np.finfo(np.float64).tiny)
    points = _eliminated(problem, strengths, tol)
    yield from points
    solution: JointSolution | None = None
    for strength in strengths[len(points) :]:
        solution = problem.solve(float(strength), start=solution, tol=tol, max_iter=max_iter)
        mean = problem.system.all_rows(solution.scores).mean(axis=0)
        yield PathPoint(solution.W, mean, solution.objective[-1], solution.optimality)


def _eliminated(problem: JointProblem, strengths: Floats, tol: float) -> list[PathPoint]:
    """Return the first points of the path for which the reduced problem is certified; none where it does not pay."""
    system, largest = problem.system, problem.largest_strength()
    zero = problem.at_zero(problem.finest)
    last = float(strengths[-1])
    if tol < ELIMINATES or not largest > 0 or not problem.starts_reduced(zero.gradient, last, tol):
        return []
    model = problem.reduced(float(np.sqrt(0.1 * tol * min(1.0, last / largest))))
    nothing = np.zeros(system.shape)
    reduced = ReducedProblem(model, zero.gradient, zero.smooth, system.residual(zero.scores, nothing), bounded=True)
    start_mean = system.all_rows(zero.scores).mean(axis=0)
    points: list[PathPoint] = []
    W = np.zeros_like(zero.gradient)
    for strength in strengths:
        found = reduced.solve(float(strength), W, 0.3 * tol)
        if found.optimality + found.bound > tol:
            break
        W = found.W
        points.append(PathPoint(W, start_mean + model.mean_change(W), found.objective, found.optimality + found.bound))
    return points if points and _holds(problem, points[-1].W, float(strengths[len(points) - 1]), tol) else []


def _holds(problem: JointProblem, W: Floats, strength: float, tol: float) -> bool:
    """Return whether a solution of the reduced problem is one of the true problem: rounding is not in the bound."""
    system, zero = problem.system, problem.at_zero(problem.finest)
    used = np.flatnonzero(W.any(axis=1))
    scores = system.moved(zero.scores, problem.reduced().response(used, W[used]))
    regression = problem.features.times(W)
    found = problem.look(W, system.improve(scores, regression, 0.1), regression, L21(strength))
    return bool(found.distances.max(initial=0.0) <= tol * strength)
