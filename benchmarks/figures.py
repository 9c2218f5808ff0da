"""Figures of a reproduction; needs the ``plot`` extra."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import Experiment, View
from benchmarks.splits import conditions
from benchmarks.summary import Column, Summary
from benchmarks.views import lines_of, surface_of


def draw_figures(experiment: Experiment, summary: Summary, path: Path) -> bool:
    """Draw the honest column (``path``) and each view (``NAME-VIEW.svg`` beside it).

    Parameters
    ----------
    experiment : Experiment
        What was run.
    summary : Summary
        Its columns.
    path : Path
        The SVG file of the honest column.

    Returns
    -------
    bool
        False where matplotlib is not installed; nothing is written then.
    """
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    # A fixed salt and no date: the same results give the same file.
    matplotlib.rcParams["svg.hashsalt"] = experiment.name
    path.parent.mkdir(parents=True, exist_ok=True)
    _save(_honest(experiment, summary), path)
    for view in experiment.views:
        draw = {"curves": _curves, "gain": _bars, "surface": _surface}[view.kind]
        _save(draw(view, experiment, summary), view_path(path, view))
    return True


def view_path(path: Path, view: View) -> Path:
    """Return the file of a view's figure, given that of the honest column or of the page."""
    return path.with_name(f"{path.stem}-{view.name}.svg")


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})


def _figure(width: float = 5.0) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, 3.6), layout="constrained")


def _honest(experiment: Experiment, summary: Summary) -> Any:
    """Return the honest column over the conditions, one panel per dataset."""
    metric = f"{experiment.selection.on}/{experiment.selection.metric}"
    figure = _figure(5.0 * len(experiment.data))
    for axes, data in zip(figure.subplots(1, len(experiment.data), squeeze=False)[0], experiment.data, strict=True):
        names = [name for name, _ in conditions(data.split)]
        for method in experiment.methods:
            _line(axes, method.title, [summary.honest(data.name, name, method.name, metric) for name in names])
        axes.set_xticks(range(len(names)), names)
        axes.set_title(data.name)
        axes.set_ylabel(metric)
        axes.legend()
    return figure


def _line(axes: Any, title: str, columns: list[Column | None]) -> None:
    known = [(index, column) for index, column in enumerate(columns) if column is not None]
    if known:
        axes.errorbar(
            [index for index, _ in known],
            [column.mean for _, column in known],
            yerr=[column.deviation for _, column in known],
            label=title,
            marker="o",
            capsize=3,
        )


def _curves(view: View, experiment: Experiment, summary: Summary) -> Any:
    lines = lines_of(view, experiment, summary, view.options["column"])
    figure = _figure()
    axes = figure.subplots()
    for title, columns in zip(lines.titles, lines.columns, strict=True):
        _line(axes, title, columns)
    axes.set_xticks(range(len(lines.conditions)), lines.conditions)
    axes.set_ylabel(view.options["metric"])
    if lines.conditions:
        axes.legend()
    return figure


def _bars(view: View, experiment: Experiment, summary: Summary) -> Any:
    """Return two bars for each condition, one panel for each column."""
    figure = _figure(9.0)
    for axes, column in zip(figure.subplots(1, 2, sharey=True), ("paper", "honest"), strict=True):
        lines = lines_of(view, experiment, summary, column)
        places = np.arange(len(lines.conditions))
        for index, (title, row) in enumerate(zip(lines.titles, lines.columns, strict=True)):
            means = [item.mean for item in row if item is not None]
            spreads = [item.deviation for item in row if item is not None]
            axes.bar(places + 0.4 * index - 0.2, means, 0.4, yerr=spreads, capsize=3, label=title)
        axes.set_xticks(places, lines.conditions)
        axes.set_title({"paper": "paper's protocol", "honest": "honest"}[column])
        if lines.conditions:
            axes.legend()
    return figure


def _surface(view: View, experiment: Experiment, summary: Summary) -> Any:
    """Return the surface as a map of colours with its numbers."""
    surface = surface_of(view, experiment, summary)
    figure = _figure(6.0)
    axes = figure.subplots()
    shown = axes.imshow(surface.values, origin="lower", aspect="auto")
    axes.set_xticks(range(len(surface.x)), [f"{value:g}" for value in surface.x])
    axes.set_yticks(range(len(surface.y)), [f"{value:g}" for value in surface.y])
    axes.set_xlabel(view.options["x"])
    axes.set_ylabel(view.options["y"])
    known = surface.values[~np.isnan(surface.values)]
    middle = (known.min() + known.max()) / 2 if known.size else 0.0
    for (row, column), value in np.ndenumerate(surface.values):
        if not np.isnan(value):
            ink = "white" if value < middle else "black"
            axes.text(column, row, f"{value:.3f}", ha="center", va="center", fontsize=7, color=ink)
    figure.colorbar(shown, label=view.options["metric"])
    return figure
