"""NOVA without groups: lasso and SCAD of single columns for all tags, beside scikit-learn's lasso and the paper's LQA.

Columns are correlated Gaussian and standardised; every tag has its own λ, a share of the one that leaves it no feature.
scikit-learn has no SCAD; the time of its lasso on the same Gram matrix is the measure for both. Tolerances of the lasso
are such that our duality gaps are not larger than its own; SCAD has those of `NOVA`: 1e-6 for a fit, 1e-3 for the
paths that ``strength="auto"`` compares. Stationarity and gap of a path are those of its last point.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Lasso, lasso_path

from benchmarks.literal.nova import nova
from benchmarks.speed.harness import Local, case, compare, out_parser, record
from benchmarks.speed.nova import GROUP_LASSO, GROUP_SCAD, Penalty, Problem, gaussian_problem, objectives, stationarity
from tagloom.core.groups import FeatureGroups
from tagloom.methods.nova import NOVA

Floats = NDArray[np.float64]
Single = Literal["lasso", "scad"]

#: Photos, columns and tags of each problem.
SHAPES = ((60, 200, 3), (400, 100, 20), (600, 300, 30), (300, 600, 30))
QUICK_SHAPES = ((60, 40, 3),)
SHARES = (0.3, 0.05)
POINTS, SMALLEST = 20, 0.02
FIT_TOL = {"lasso": 1e-10, "scad": 1e-6}
PATH_TOL = {"lasso": 1e-6, "scad": 1e-3}
PEER_TOL, PEER_PATH_TOL = 1e-9, 1e-4
REPEATS = 3
#: Tags that the algorithm as printed is timed on.
LITERAL_TAGS = 2
FIRST = f"mean objective of the first {LITERAL_TAGS} tags"


def column_problem(n: int, d: int, tags: int) -> Problem:
    """Return standardised columns, each a group of its own."""
    quarter = d // 4
    sizes = {"a": quarter, "b": quarter, "c": quarter, "d": d - 3 * quarter}
    made = gaussian_problem(n, tags, sizes)
    X = made.X / made.X.std(axis=0)
    names = [f"column{number}" for number in range(d)]
    return Problem(f"{n} × {d}", X, made.Y, FeatureGroups(names, [1] * d))


def ours(problem: Problem, penalty: Single, strengths: Floats) -> Floats:
    coef: Floats = NOVA(penalty=penalty, strength=strengths, tol=FIT_TOL[penalty]).fit(problem.X, problem.Y).coef_
    return coef


def ours_path(problem: Problem, penalty: Single, grid: Floats) -> Floats:
    return NOVA(penalty=penalty, tol=PATH_TOL[penalty]).path(problem.X, problem.Y, grid).coefs


def theirs(problem: Problem, strengths: Floats) -> Floats:
    """Return scikit-learn's lasso, tag by tag on one Gram matrix."""
    gram, coef = problem.X.T @ problem.X, np.zeros((problem.X.shape[1], strengths.size))
    for tag, target in enumerate(problem.targets.T):
        model = Lasso(alpha=strengths[tag], fit_intercept=False, precompute=gram, tol=PEER_TOL, max_iter=100_000)
        coef[:, tag] = model.fit(problem.X, target).coef_
    return coef


def their_path(problem: Problem, grid: Floats) -> Floats:
    gram = problem.X.T @ problem.X
    found = [
        lasso_path(problem.X, target, alphas=grid[:, tag], precompute=gram, tol=PEER_PATH_TOL, max_iter=100_000)[1]
        for tag, target in enumerate(problem.targets.T)
    ]
    return np.moveaxis(np.array(found), (0, 1, 2), (2, 1, 0))


def literal(problem: Problem, strengths: Floats) -> Floats:
    return nova(problem.X, problem.targets[:, :LITERAL_TAGS], problem.sizes, strengths[:LITERAL_TAGS])[0]


def gap(problem: Problem, coef: Floats, strengths: Floats) -> float:
    """Return the largest relative duality gap of a tag's lasso."""
    residual = problem.targets - problem.X @ coef
    reach = np.abs(problem.X.T @ residual / len(residual)).max(axis=0)
    feasible = residual * np.minimum(1.0, strengths / np.maximum(reach, np.finfo(float).tiny))
    bound = (np.square(problem.targets) - np.square(problem.targets - feasible)).mean(axis=0) / 2
    return float((1 - bound / objectives(problem, coef, strengths, GROUP_LASSO)).max())


def accuracy_of(problem: Problem, strengths: Floats, penalty: Penalty) -> Callable[[Any], dict[str, float]]:
    """Return a function of coefficients; of a path, those of its last point."""

    def accuracy(found: Floats) -> dict[str, float]:
        coef = found[-1] if found.ndim == 3 else found
        part = strengths[: coef.shape[1]]
        figures = {
            FIRST: float(objectives(problem, coef, part, penalty)[:LITERAL_TAGS].mean()),
            "stationarity": float(stationarity(problem, coef, part, penalty).max()),
        }
        return figures | ({"duality gap": gap(problem, coef, part)} if penalty is GROUP_LASSO else {})

    return accuracy


def fit_cases(problem: Problem, share: float, threads: int) -> list[dict[str, Any]]:
    strengths = share * problem.largest_strengths()
    done = (min(LITERAL_TAGS, strengths.size), strengths.size)
    peer = Local("scikit-learn", partial(theirs, problem, strengths), role="peer")
    printed = partial(literal, problem, strengths)
    lqa = Local("as printed (LQA)", printed, role="literal", runs=1, share=done)
    functions = (partial(ours, problem, "lasso", strengths), partial(ours, problem, "scad", strengths))
    return both(problem, strengths, f"{share} λ_max", functions, (peer, lqa), threads)


def path_cases(problem: Problem, threads: int) -> list[dict[str, Any]]:
    grid = np.geomspace(1.0, SMALLEST, POINTS)[:, None] * problem.largest_strengths()
    peer = Local("scikit-learn", partial(their_path, problem, grid), role="peer")
    functions = (partial(ours_path, problem, "lasso", grid), partial(ours_path, problem, "scad", grid))
    return both(problem, grid[-1], f"path of {POINTS} strengths", functions, (peer,), threads)


def both(
    problem: Problem,
    strengths: Floats,
    what: str,
    functions: tuple[Callable[[], Floats], Callable[[], Floats]],
    others: tuple[Local, ...],
    threads: int,
) -> list[dict[str, Any]]:
    """Time the lasso beside the first of the others and SCAD beside the rest, both in units of the first."""
    n, d = problem.X.shape
    cases, measure = [], 0.0
    parts = (("lasso", GROUP_LASSO, others[:1]), ("scad", GROUP_SCAD, others[1:]))
    for function, (name, penalty, beside) in zip(functions, parts, strict=True):
        contenders = [Local("tagloom", function, role="ours"), *beside]
        accuracy = accuracy_of(problem, strengths, penalty)
        entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
        measure = entries[1]["cpu"] if penalty is GROUP_LASSO else measure
        ratios = {"ours to scikit-learn's lasso (CPU)": entries[0]["cpu"] / measure}
        parameters = {"n": n, "d": d, "c": strengths.size, "what": what}
        cases.append(case(f"{name}, {problem.name}, {what}", parameters, entries, ratios=ratios))
    return cases


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("nova_columns").parse_args(argv)
    cases = []
    for shape in QUICK_SHAPES if arguments.quick else SHAPES:
        problem = column_problem(*shape)
        for share in SHARES:
            cases += fit_cases(problem, share, arguments.threads)
        cases += path_cases(problem, arguments.threads)
    title = "NOVA without groups: single columns"
    record("nova_columns", title, cases, arguments.out, threads=arguments.threads, packages=["scikit-learn"])


if __name__ == "__main__":
    main()
