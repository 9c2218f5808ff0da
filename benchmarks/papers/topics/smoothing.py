"""The E-steps side by side: the exact one, so many steps of Eq. (10), and "until R converged" as printed."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks.clock import measure
from benchmarks.experiment import Experiment
from benchmarks.methods import find, metric_of
from benchmarks.papers.topics.methods import MODEL, TagFrequency, graph_of
from benchmarks.results import seed_of
from benchmarks.runner import open_draw

METRICS = ("accuracy", "complete_length")
THRESHOLD = 3


@dataclass(frozen=True)
class Run:
    """What one start gave: metrics, iterations, in how many of them Q fell, how much photos differ, CPU seconds."""

    metrics: tuple[float, ...]
    n_iter: int
    n_falls: int
    spread: float
    cpu: float


def compare_smoothings(
    experiment: Experiment, data: str, n_topics: int, steps: list[int], n_starts: int, max_iter: int = 200
) -> dict[str, Any]:
    """Fit the same photos with every E-step, from the same starts.

    Parameters
    ----------
    experiment : Experiment
        Whose first draw is used.
    data : str
        Its part.
    n_topics : int
        K.
    steps : list of int
        Numbers of steps of Eq. (10).
    n_starts : int
        Random starts, one after the other.
    max_iter : int
        Most EM iterations.
    """
    dataset, split, X, Y = open_draw(experiment, data, 0)
    rows = split.evaluate["unlabeled"]
    places = np.searchsorted(split.fit_rows, rows)
    graph, _ = graph_of(X, THRESHOLD)
    runs = {}
    for name, settings in ways_of(steps).items():
        common = {"graph": graph, "n_init": 1, "max_iter": max_iter}
        seeds = [seed_of(experiment.seed, start) for start in range(n_starts)]
        models = [find(MODEL)(n_topics, random_state=seed, **common, **settings) for seed in seeds]
        runs[name] = [_run(model, X, Y, dataset.Y[rows], places) for model in models]
    prior = _scores(TagFrequency().fit(X, Y).transduction_[places], dataset.Y[rows])
    table = [_row(name, found) for name, found in runs.items()]
    table.append(["tags by frequency", *(f"{value:.3f}" for value in prior), "–", "–", "0.000", "–"])
    header = ["E-step", *METRICS, "iterations", "Q fell in", "difference between photos", "CPU s"]
    return {
        "tables": [{"caption": "", "header": header, "rows": table}],
        "panels": [_panel(index, steps, runs, prior) for index in range(len(METRICS))],
    }


def ways_of(steps: list[int]) -> dict[str, dict[str, Any]]:
    """Return the parameters of every E-step, by name."""
    ways: dict[str, dict[str, Any]] = {"exact": {"smoothing": "exact"}, "no graph (λ = 0)": {"smoothness": 0.0}}
    ways |= {_so_many(number): {"smoothing": "steps", "n_steps": number} for number in steps}
    return ways | {"Eq. (10) until R converged": {"smoothing": "paper"}}


def _so_many(steps: int) -> str:
    return f"Eq. (10), {steps} step{'' if steps == 1 else 's'}"


def difference_between_photos(scores: NDArray[np.float64]) -> float:
    """Return how far P(tag) of a photo is from its mean over photos, on average: 0 all alike, below 1 (half of l1)."""
    return float(np.abs(scores - scores.mean(axis=0)).sum(axis=1).mean() / 2)


def _run(model: Any, X: Any, Y: NDArray[np.int8], truth: NDArray[np.int8], places: NDArray[np.intp]) -> Run:
    with measure() as elapsed, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations is told
        model.fit(X, Y)
    scores = model.transduction_[places]
    objective = np.array(model.objective_)
    # Rounding in float32 is no fall.
    falls = np.diff(objective) < -1e-7 * np.abs(objective[1:])
    return Run(_scores(scores, truth), model.n_iter_, int(falls.sum()), difference_between_photos(scores), elapsed.cpu)


def _scores(scores: NDArray[np.float64], truth: NDArray[np.int8]) -> tuple[float, ...]:
    return tuple(metric_of(name)(truth, scores) for name in METRICS)


def _row(name: str, runs: list[Run]) -> list[str]:
    metrics = [f"{mean:.3f} ± {deviation:.3f}" for mean, deviation in zip(*_mean_and_deviation(runs), strict=True)]
    return [
        name,
        *metrics,
        f"{np.mean([run.n_iter for run in runs]):.0f}",
        f"{np.mean([run.n_falls for run in runs]):.1f}",
        f"{np.mean([run.spread for run in runs]):.3f}",
        f"{np.mean([run.cpu for run in runs]):.1f}",
    ]


def _mean_and_deviation(runs: list[Run]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values = np.array([run.metrics for run in runs])
    return values.mean(axis=0), values.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(values.shape[1])


def _panel(index: int, steps: list[int], runs: dict[str, list[Run]], prior: tuple[float, ...]) -> dict[str, Any]:
    """Return a metric over the number of steps; the other E-steps are level lines."""

    def level(name: str) -> list[list[float]]:
        return [[round(float(part[index]), 5)] * len(steps) for part in _mean_and_deviation(runs[name])]

    by_steps = [_mean_and_deviation(runs[_so_many(number)]) for number in steps]
    curve = [[round(float(found[part][index]), 5) for found in by_steps] for part in (0, 1)]
    named = {name: level(name) for name in ("exact", "no graph (λ = 0)", "Eq. (10) until R converged")}
    return {
        "title": "",
        "x_label": "steps of Eq. (10)",
        "y_label": METRICS[index],
        "log_x": True,
        "x": steps,
        "series": {"Eq. (10)": curve} | named | {"tags by frequency": [[round(prior[index], 5)] * len(steps), None]},
    }
