"""Figures of a reproduction; needs the ``plot`` extra."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.differences import draw_differences
from benchmarks.experiment import Experiment, Study, View
from benchmarks.regions import draw_regions
from benchmarks.splits import conditions
from benchmarks.studies import finished_studies
from benchmarks.summary import Column, Summary
from benchmarks.views import lines_of, points_of, surface_of


def draw_figures(experiment: Experiment, summary: Summary, path: Path) -> bool:
    """Draw the honest column (``path``), each view and each study with panels (``NAME-VIEW.svg`` beside it).

    The honest column is drawn where some data have more than one condition: one point makes no curve.

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
    if any(len(conditions(data.split)) > 1 for data in experiment.data):
        _save(_honest(experiment, summary), path)
    for view in experiment.views:
        if view.kind in DRAWN:
            _save(DRAWN[view.kind](view, experiment, summary), view_path(path, view))
    finished = finished_studies(experiment)
    for study in experiment.studies:
        panels = finished.get(study.name, {}).get("result", {}).get("panels")
        if panels:
            _save((draw_regions if "regions" in panels[0] else _panels)(panels), view_path(path, study))
    return True


def view_path(path: Path, view: View | Study) -> Path:
    """Return the file of a view's or study's figure, given that of the honest column or of the page."""
    return path.with_name(f"{path.stem}-{view.name}.svg")


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})


def _figure(width: float = 5.0, height: float = 3.6) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


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
        if axes.get_legend_handles_labels()[0]:
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


def _points(view: View, experiment: Experiment, summary: Summary) -> Any:
    """Return for each data and metric a panel: methods side by side, one mark for each value."""
    parts = points_of(view, experiment, summary)
    n_columns = len({part.metric for part in parts})
    n_rows = len(parts) // n_columns
    figure = _figure(4.5 * n_columns, 3.2 * n_rows)
    for axes, part in zip(figure.subplots(n_rows, n_columns, squeeze=False).ravel(), parts, strict=True):
        places = np.arange(len(part.titles))
        for index, value in enumerate(part.values):
            row = [columns[index] for columns in part.columns]
            means = _means(row)
            spreads = [column.deviation if column else np.nan for column in row]
            shift = 0.2 * (index - (len(part.values) - 1) / 2)
            axes.errorbar(places + shift, means, yerr=spreads, fmt="o", capsize=3, label=str(value))
        axes.set_xticks(places, part.titles, fontsize=8)
        axes.set_ylabel(part.metric)
        axes.set_title(part.data, fontsize=9)
    axes.legend(fontsize=7, title=view.options["parameter"])
    return figure


def _sweep(view: View, experiment: Experiment, summary: Summary) -> Any:
    """Return for each data (a row) and metric a panel with a curve for each method."""
    from tagloom.plotting import plot_curves

    parts = points_of(view, experiment, summary)
    n_columns = len({part.metric for part in parts})
    figure = _figure(4.0 * n_columns + 1.5, 2.6 * (len(parts) // n_columns))
    scale = view.options.get("scale", "linear")
    grid = figure.subplots(len(parts) // n_columns, n_columns, squeeze=False)
    for index, (axes, part) in enumerate(zip(grid.ravel(), parts, strict=True)):
        places = [str(value) for value in part.values] if scale == "names" else part.values
        axes.set_title(part.data, fontsize=9)
        series = {
            title: (_means(columns), [column.deviation if column else np.nan for column in columns])
            for title, columns in zip(part.titles, part.columns, strict=True)
            if any(columns)
        }
        if not series:
            continue
        plot_curves(places, series, x_name=view.options["parameter"], y_name=part.metric, log_x=scale == "log", ax=axes)
        if index != n_columns - 1:  # one legend, at the right of the first row
            axes.get_legend().remove()
    return figure


def _means(columns: list[Column | None]) -> list[float]:
    return [column.mean if column else np.nan for column in columns]


def _panels(panels: list[dict[str, Any]]) -> Any:
    """Return the panels of a study side by side: lines, dotted levels of the same colour, and marked places."""
    figure = _figure(5.0 * len(panels))
    alike = len({panel["y_label"] for panel in panels}) == 1
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False, sharey=alike)[0], panels, strict=True):
        if "series" in panel:
            _series(axes, panel, with_legend=panel is panels[-1])
            continue
        for index, (label, values) in enumerate(panel["lines"].items()):
            axes.plot(panel["x"], values, color=f"C{index}", label=label)
            if label in panel.get("dotted", {}):
                axes.axhline(panel["dotted"][label], color=f"C{index}", linestyle=":", linewidth=1)
        for label, place in panel.get("marks", {}).items():
            axes.axvline(place, color="0.5", linestyle="--", linewidth=1, label=label)
        if panel.get("log_x"):
            axes.set_xscale("log")
        axes.set_xlabel(panel["x_label"])
        axes.set_ylabel(panel["y_label"])
        axes.set_title(panel["title"])
        axes.legend(fontsize=8)
    return figure


def _series(axes: Any, panel: dict[str, Any], with_legend: bool) -> None:
    """Draw a panel of means with deviations."""
    from tagloom.plotting import plot_curves

    series = {label: tuple(pair) for label, pair in panel["series"].items()}
    names = {"x_name": panel["x_label"], "y_name": panel["y_label"]}
    plot_curves(panel["x"], series, **names, log_x=panel.get("log_x", False), ax=axes)
    axes.set_title(panel["title"])
    if not with_legend:
        axes.get_legend().remove()


#: How each kind of view is drawn; "margin" is a table only.
DRAWN = {
    "curves": _curves,
    "gain": _bars,
    "surface": _surface,
    "points": _points,
    "sweep": _sweep,
    "against": draw_differences,
}
