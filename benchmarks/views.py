"""Further tables of a reproduction, each with a figure: ``[[views]]`` of experiment.toml.

==========  ==================================================================================================
kind        options
==========  ==================================================================================================
curves      ``data``, ``metric``, ``column`` ("paper" or "honest"), ``methods`` (default: all): a line per method
gain        ``data``, ``metric``, ``methods`` (the one and the other): bars, and the relative improvement
surface     ``data``, ``metric``, ``condition``, ``method``, ``x``, ``y`` (two parameters of its grid)
against     ``data``, ``metric``, ``pairs`` of methods, ``columns`` (default: both), all lists: in which conditions the
            first of a pair is better than the second, level with it, or worse; see `benchmarks.differences`
points      ``data``, ``metric``, ``condition``, ``methods``, ``parameter`` of their grids: marks, a panel for each
            data and metric (both may be lists)
sweep       as points, but curves with error bars; ``scale`` of the parameter ("linear", "log" or "names")
margin      as points, table only: how much better the first method is than each other one, on the same draws
==========  ==================================================================================================

In the last three ``at`` has the values of further parameters; a method without ``parameter`` is the same at each value.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.differences import table_of_differences
from benchmarks.errors import BenchmarkError
from benchmarks.experiment import Experiment, MethodSpec, View
from benchmarks.methods import metric_of
from benchmarks.splits import conditions
from benchmarks.summary import Column, Summary

KINDS = ("curves", "gain", "surface", "points", "sweep", "margin", "against")


@dataclass(frozen=True)
class Lines:
    """A column of the summary over conditions, for some methods."""

    conditions: list[str]
    titles: list[str]
    columns: list[list[Column | None]]


@dataclass(frozen=True)
class Points:
    """A metric of some methods at each value of one parameter."""

    data: str
    metric: str
    values: list[Any]
    titles: list[str]
    columns: list[list[Column | None]]


@dataclass(frozen=True)
class Surface:
    """Mean of a metric over draws at each grid point; NaN where there is none."""

    x: list[Any]
    y: list[Any]
    values: NDArray[np.float64]


def lines_of(view: View, experiment: Experiment, summary: Summary, column: str) -> Lines:
    """Return what "curves" and "gain" show; conditions in which no method was run are left out."""
    data, metric = view.options["data"], view.options["metric"]
    titles = {method.name: method.title for method in experiment.methods}
    methods = view.options.get("methods", list(titles))
    unknown = sorted(set(methods) - set(titles))
    if unknown:
        raise BenchmarkError(f"{experiment.name}: view {view.name!r} names unknown methods {unknown}")
    found = {
        name: [getattr(summary, column)(data, name, method, metric) for method in methods]
        for part in experiment.data
        if part.name == data
        for name, _ in conditions(part.split)
    }
    # "gain" compares: both must be there.
    enough = all if view.kind == "gain" else any
    names = [name for name, row in found.items() if enough(item is not None for item in row)]
    columns = [[found[name][index] for name in names] for index in range(len(methods))]
    return Lines(names, [titles[method] for method in methods], columns)


def surface_of(view: View, experiment: Experiment, summary: Summary) -> Surface:
    """Return what "surface" shows."""
    options = view.options
    (method,) = (method for method in experiment.methods if method.name == options["method"])
    x, y = method.grid[options["x"]], method.grid[options["y"]]
    cells = summary.of(options["data"], options["condition"], method.name)
    values = np.full((len(y), len(x)), np.nan)
    for row, vertical in enumerate(y):
        for col, horizontal in enumerate(x):
            point = {options["x"]: horizontal, options["y"]: vertical}
            found = [cell.test[options["metric"]] for cell in cells if cell.point == point]
            values[row, col] = np.mean(found) if found else np.nan
    return Surface(x, y, values)


def points_of(view: View, experiment: Experiment, summary: Summary) -> list[Points]:
    """Return what "points" and "sweep" show, for each data and metric."""
    chosen, values = _swept(view, experiment)
    titles = [method.title for method in chosen]
    found = []
    for data, metric in itertools.product(_listed(view.options["data"]), _listed(view.options["metric"])):
        columns = [
            [
                summary.at(data, view.options["condition"], method.name, metric, _point(view, method, value))
                for value in values
            ]
            for method in chosen
        ]
        found.append(Points(data, metric, values, titles, columns))
    return found


def _swept(view: View, experiment: Experiment) -> tuple[list[MethodSpec], list[Any]]:
    """Return the methods of a view over a parameter, and the values that it has in one of their grids."""
    known = {method.name: method for method in experiment.methods}
    names = view.options["methods"]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise BenchmarkError(f"{experiment.name}: view {view.name!r} names unknown methods {unknown}")
    chosen = [known[name] for name in names]
    parameter = view.options["parameter"]
    return chosen, list(dict.fromkeys(value for method in chosen for value in method.grid.get(parameter, ())))


def _point(view: View, method: MethodSpec, value: Any) -> dict[str, Any]:
    """Return the grid point of a method at one value of the view's parameter."""
    wanted = view.options.get("at", {}) | {view.options["parameter"]: value}
    return {name: wanted[name] for name in method.grid if name in wanted}


def margins_of(view: View, experiment: Experiment, summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of "margin": differences on the same draws, positive where the first method is better."""
    (first, *others), values = _swept(view, experiment)
    rows = []
    for data, metric in itertools.product(_listed(view.options["data"]), _listed(view.options["metric"])):
        for other in others:
            row, wins, n_compared = [], 0, 0
            for value in values:
                mine, theirs = (
                    summary.at(data, view.options["condition"], method.name, metric, _point(view, method, value))
                    for method in (first, other)
                )
                differences = _differences(mine, theirs, metric)
                row.append(_difference(differences))
                wins += bool(differences) and float(np.mean(differences)) > 0
                n_compared += bool(differences)
            rows.append([data, metric, other.title, *row, f"{wins} of {n_compared}"])
    name = view.options["parameter"]
    return ["data", "metric", f"{first.title} against", *(f"{name} {value}" for value in values), "better"], rows


def _differences(mine: Column | None, theirs: Column | None, metric: str) -> list[float]:
    """Return by how much the first is better, on each draw that both have."""
    if mine is None or theirs is None:
        return []
    sign = 1.0 if metric_of(metric.rpartition("/")[2]).higher_is_better else -1.0
    return [
        sign * (mine.values[draw] - theirs.values[draw]) for draw in sorted(mine.values.keys() & theirs.values.keys())
    ]


def _difference(values: list[float]) -> str:
    if not values:
        return "–"
    spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    text = f"{np.mean(values):+.3f}{spread}"
    return text if np.mean(values) > 0 else f"**{text}**"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def table_of(view: View, experiment: Experiment, summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a view's table."""
    if view.kind == "against":
        return table_of_differences(view, experiment, summary)
    if view.kind == "margin":
        return margins_of(view, experiment, summary)
    if view.kind in ("points", "sweep"):
        parts = points_of(view, experiment, summary)
        rows = [
            [part.data, part.metric, title, *map(spell, columns)]
            for part in parts
            for title, columns in zip(part.titles, part.columns, strict=True)
        ]
        name = view.options["parameter"]
        return ["data", "metric", "method", *(f"{name} {value}" for value in parts[0].values)], rows
    if view.kind == "surface":
        surface = surface_of(view, experiment, summary)
        header = [f"{view.options['y']} ↓, {view.options['x']} →", *(f"{value:g}" for value in surface.x)]
        rows = [
            [f"{value:g}", *(_number(item) for item in row)]
            for value, row in zip(surface.y, surface.values, strict=True)
        ]
        return header, rows
    if view.kind == "curves":
        lines = lines_of(view, experiment, summary, view.options["column"])
        rows = [[title, *map(spell, row)] for title, row in zip(lines.titles, lines.columns, strict=True)]
        return ["method", *lines.conditions], rows
    if view.kind == "gain":
        rows = []
        for column, title in (("paper", "paper's protocol"), ("honest", "honest")):
            lines = lines_of(view, experiment, summary, column)
            first, second = lines.columns
            for name, one, other in zip(lines.conditions, first, second, strict=True):
                rows.append([title, name, spell(one), spell(other), f"{_gain(one, other):+.1%}".replace("%", " %")])
        titles = lines_of(view, experiment, summary, "paper").titles
        return ["column", "condition", *titles, "relative difference"], rows
    raise BenchmarkError(f"{experiment.name}: view {view.name!r} has kind {view.kind!r}; there are {KINDS}")


def spell(column: Column | None) -> str:
    """Return mean and spread as text."""
    if column is None:
        return "–"
    spread = f" ± {column.deviation:.3f}" if column.n_draws > 1 else ""
    return f"{column.mean:.3f}{spread}"


def _gain(one: Column | None, other: Column | None) -> float:
    return one.mean / other.mean - 1.0 if one is not None and other is not None and other.mean else float("nan")


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"
