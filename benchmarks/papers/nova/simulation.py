"""Fig. 2: are the groups that count selected, and no others? Paths of one draw, and shares over many draws.

The target is a real number as in the paper, so the penalties are solved where NOVA solves them
(`tagloom.solvers.groups.columns`), all strengths of a path as columns of one problem. The last rows of the table have
the tag "target above 0" instead, which goes through `tagloom.NOVA` as any tag does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import Experiment
from benchmarks.methods import find
from benchmarks.papers.nova.methods import NOVA
from benchmarks.results import seed_of
from tagloom.datasets.grouped import GroupedRegression, make_grouped_regression
from tagloom.solvers.groups.columns import GroupColumns
from tagloom.solvers.groups.penalties import SCAD, Norm, Radial

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

METHODS: dict[str, tuple[str, Radial]] = {"group lasso": ("group_lasso", Norm()), "NOVA": ("group_scad", SCAD(3.7))}
#: λ of a path as shares of λ_max, and folds.
SHARES = np.logspace(0, -3, 40)
N_SPLITS = 5


@dataclass(frozen=True)
class Path:
    """Norms of groups (k, groups) and coefficients (k, d) at each λ, and where cross-validation stops."""

    strengths: Floats
    norms: Floats
    coefs: Floats
    best: int
    within_error: int


def simulate(
    experiment: Experiment, n_runs: int, covariances: dict[str, list[float]], with_tags: bool = True
) -> dict[str, Any]:
    """Repeat the simulation.

    Parameters
    ----------
    experiment : Experiment
        For its seed.
    n_runs : int
        Draws of data and coefficients.
    covariances : dict of str to list of two floats
        By title, the correlations within and between groups. The first is drawn.
    with_tags : bool
        Whether to have the tag "target above 0" too.
    """
    rows, panels = [], []
    for title, (within, between) in covariances.items():
        made = [
            make_grouped_regression(within=within, between=between, random_state=seed_of(experiment.seed, title, run))
            for run in range(n_runs)
        ]
        for name, (_, radial) in METHODS.items():
            paths = [follow(data, radial, seed_of(experiment.seed, run)) for run, data in enumerate(made)]
            rows.append([title, "number", name, *_shares(made, paths)])
            if title == next(iter(covariances)):
                panels.append(_panel(name, made[0], paths[0]))
        if with_tags:
            rows += [[title, "tag", name, *_tag_shares(made, penalty)] for name, (penalty, _) in METHODS.items()]
    header = ["covariance", "target", "method", "exact at the best λ", "within one error", "somewhere on the path"]
    header += ["superfluous groups", "missed groups", "‖β̂ - β‖"]
    return {"tables": [{"caption": "", "header": header, "rows": rows}], "panels": panels}


def follow(data: GroupedRegression, radial: Radial, seed: int) -> Path:
    """Return the path on all rows, and the λ with the smallest squared error over folds."""
    sizes = np.array(data.groups.sizes)
    largest = path_of(data.X, data.y, sizes, radial, np.ones(1))[2]
    strengths = SHARES * largest
    coefs, _, _ = path_of(data.X, data.y, sizes, radial, strengths)
    fold_of = np.random.default_rng(seed).permutation(len(data.y)) % N_SPLITS
    errors = np.empty((N_SPLITS, len(strengths)))
    for fold in range(N_SPLITS):
        train, test = fold_of != fold, fold_of == fold
        found, intercepts, _ = path_of(data.X[train], data.y[train], sizes, radial, strengths)
        errors[fold] = ((data.y[test, None] - data.X[test] @ found.T - intercepts) ** 2).mean(axis=0)
    mean, deviation = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(N_SPLITS)
    best = int(mean.argmin())
    # λ falls along the path: the first that is within one standard error of the best is the sparsest.
    within = int(np.argmax(mean <= mean[best] + deviation[best]))
    norms = np.stack([np.linalg.norm(coefs[:, data.groups[name]], axis=1) for name in data.groups], axis=1)
    return Path(strengths, norms, coefs, best, within)


def path_of(X: Floats, y: Floats, sizes: Any, radial: Radial, strengths: Floats) -> tuple[Floats, Floats, float]:
    """Return coefficients (k, d) and intercepts (k,) of Eq. (1) at each λ, and λ_max."""
    means, centre = X.mean(axis=0), y.mean()
    centred = X - means
    A, b = centred.T @ centred / len(y), centred.T @ (y - centre) / len(y)
    problem = GroupColumns(A, np.tile(b[:, None], (1, len(strengths))), sizes)
    coefs = problem.solve(radial, strengths).coef.T
    return coefs, centre - coefs @ means, float(problem.largest[0])


def _shares(made: list[GroupedRegression], paths: list[Path]) -> list[str]:
    truth = np.array([data.relevant for data in made])
    best, within = (
        np.array([path.norms[getattr(path, key)] > 0 for path in paths]) for key in ("best", "within_error")
    )
    anywhere = [((path.norms > 0) == data.relevant).all(axis=1).any() for data, path in zip(made, paths, strict=True)]
    errors = [np.linalg.norm(path.coefs[path.best] - data.coef) for data, path in zip(made, paths, strict=True)]
    shares = [_exact(best, truth), _exact(within, truth), f"{np.mean(anywhere):.3f}"]
    return [*shares, *_wrong(best, truth), f"{np.mean(errors):.3f}"]


def _tag_shares(made: list[GroupedRegression], penalty: str) -> list[str]:
    truth = np.array([data.relevant for data in made])
    found = np.array(
        [find(NOVA)(data.groups, penalty=penalty).fit(data.X, data.Y).selected_groups_[0] for data in made]
    )
    return [_exact(found, truth), "–", "–", *_wrong(found, truth), "–"]


def _exact(found: Bools, truth: Bools) -> str:
    return f"{(found == truth).all(axis=1).mean():.3f}"


def _wrong(found: Bools, truth: Bools) -> list[str]:
    return [f"{(found & ~truth).sum(axis=1).mean():.2f}", f"{(~found & truth).sum(axis=1).mean():.2f}"]


def _panel(name: str, data: GroupedRegression, path: Path) -> dict[str, Any]:
    true = [float(np.linalg.norm(data.coef[data.groups[group]])) for group in data.groups]
    return {
        "title": name,
        "x_label": "λ",
        "y_label": "norm of a group's coefficients",
        "log_x": True,
        "x": _rounded(path.strengths),
        "lines": {group: _rounded(path.norms[:, index]) for index, group in enumerate(data.groups)},
        "dotted": {group: round(value, 5) for group, value in zip(data.groups, true, strict=True)},
        "marks": {"chosen λ": _rounded(path.strengths)[path.best]},
    }


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
