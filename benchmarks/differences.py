"""The view "against": where one method is better than another, level with it, or worse, draw by draw."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchmarkError
from benchmarks.experiment import Experiment, View
from benchmarks.methods import metric_of
from benchmarks.splits import conditions
from benchmarks.summary import Summary

TITLES = {"paper": "paper's protocol", "honest": "honest"}
VERDICTS = ("better", "level", "worse")


@dataclass(frozen=True)
class Difference:
    """One method minus another on the same draws, in each condition of some data.

    Parameters
    ----------
    data, metric : str
        Where.
    column : {"paper", "honest"}
        Which column of the summary.
    titles : (str, str)
        Of both methods.
    conditions : list of str
        Those in which both were run.
    means, errors : ndarray
        Mean over draws, positive where the first method is better, and its standard error (NaN with one draw).
    """

    data: str
    metric: str
    column: str
    titles: tuple[str, str]
    conditions: list[str]
    means: NDArray[np.float64]
    errors: NDArray[np.float64]

    def verdicts(self) -> list[str]:
        """Return one of `VERDICTS` for each condition: two standard errors from 0, with one draw the sign alone."""
        sides = np.where(np.isnan(self.errors), 0.0, 2.0 * self.errors)
        return [
            "level" if abs(mean) <= side else "better" if mean > 0 else "worse"
            for mean, side in zip(self.means, sides, strict=True)
        ]


def differences_of(view: View, experiment: Experiment, summary: Summary) -> list[Difference]:
    """Return what the view shows: for each data, metric and pair of methods both columns, or those of ``columns``."""
    options = view.options
    titles = {method.name: method.title for method in experiment.methods}
    unknown = sorted({name for pair in options["pairs"] for name in pair} - set(titles))
    if unknown:
        raise BenchmarkError(f"{experiment.name}: view {view.name!r} names unknown methods {unknown}")
    found = []
    for part in (part for part in experiment.data if part.name in options["data"]):
        for metric in options["metric"]:
            for one, other in options["pairs"]:
                for column in options.get("columns", TITLES):
                    pick = getattr(summary, column)
                    rows = {
                        name: _compare(pick(part.name, name, one, metric), pick(part.name, name, other, metric), metric)
                        for name, _ in conditions(part.split)
                    }
                    known = {name: row for name, row in rows.items() if row is not None}
                    if known:
                        means, errors = np.array(list(known.values())).T
                        both = titles[one], titles[other]
                        found.append(Difference(part.name, metric, column, both, list(known), means, errors))
    return found


def _compare(first: Any, second: Any, metric: str) -> tuple[float, float] | None:
    """Return mean and standard error over the draws that both columns have."""
    draws = sorted(first.values.keys() & second.values.keys()) if first and second else []
    if not draws:
        return None
    sign = 1.0 if metric_of(metric.rpartition("/")[2]).higher_is_better else -1.0
    values = sign * np.array([first.values[draw] - second.values[draw] for draw in draws])
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(values.mean()), error


def table_of_differences(view: View, experiment: Experiment, summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: for each comparison the conditions in which the first method is better, level, worse."""
    rows = []
    for item in differences_of(view, experiment, summary):
        told: dict[str, list[str]] = {verdict: [] for verdict in VERDICTS}
        for name, mean, verdict in zip(item.conditions, item.means, item.verdicts(), strict=True):
            told[verdict].append(f"{name} ({mean:+.3f})")
        compared = f"{item.titles[0]} against {item.titles[1]}"
        rows.append(
            [
                item.data,
                item.metric,
                compared,
                TITLES[item.column],
                *(", ".join(told[word]) or "–" for word in VERDICTS),
            ]
        )
    return ["data", "metric", "methods", "column", *(f"{word} in" for word in VERDICTS)], rows


def draw_differences(view: View, experiment: Experiment, summary: Summary) -> Any:
    """Return a figure: a panel for each data and metric, differences with bars of two standard errors."""
    from matplotlib.figure import Figure

    found = differences_of(view, experiment, summary)
    parts = list(dict.fromkeys((item.data, item.metric) for item in found)) or [("", "")]
    figure = Figure(figsize=(4.6 * len(parts), 3.6), layout="constrained")
    for axes, part in zip(figure.subplots(1, len(parts), squeeze=False)[0], parts, strict=True):
        shown = [item for item in found if (item.data, item.metric) == part]
        for index, item in enumerate(shown):
            places = np.arange(len(item.conditions)) + 0.1 * (index - (len(shown) - 1) / 2)
            label = f"{item.titles[0]} - {item.titles[1]}, {TITLES[item.column]}"
            axes.errorbar(places, item.means, yerr=2.0 * np.nan_to_num(item.errors), fmt="o", capsize=3, label=label)
            axes.set_xticks(range(len(item.conditions)), item.conditions, fontsize=8)
        axes.axhline(0.0, color="0.5", linewidth=1)
        axes.set_title(", ".join(part), fontsize=9)
        if shown:
            axes.legend(fontsize=6)
    return figure
