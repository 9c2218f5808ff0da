"""Figures of the quality page; needs the ``plot`` extra."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.active import STRATEGIES
from benchmarks.quality.analysis import Table, curves
from benchmarks.quality.methods import COMPETITORS, OWN
from benchmarks.quality.sets import SETS

PANEL = (4.6, 3.6)
NAMES = ("quality.svg", "quality-active.svg")


def draw_figures(annotators: Table, active: Table, folder: Path) -> bool:
    """Draw MAP by share of labels, and by strategy; nothing where matplotlib is not installed or nothing has been run.

    Parameters
    ----------
    annotators, active : Table
        Finished cells.
    folder : Path
        Where the page is.
    """
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    # A fixed salt and no date: the same results give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "quality"
    maps = {data: _map_series(annotators, data) for data in dict.fromkeys(place[0] for place in annotators.places)}
    _draw({data: found for data, found in maps.items() if len(found[0]) > 1}, "labelled, %", folder / NAMES[0])
    labels = {data: _active_series(active, data, condition) for data, condition in active.places}
    _draw({data: found for data, found in labels.items() if found[1]}, "labelled photos", folder / NAMES[1])
    return True


def _map_series(table: Table, data: str) -> tuple[list[float], dict[str, tuple[Any, Any]]]:
    """Return shares in percent, and for each method means and deviations on photos seen without labels."""
    conditions = [condition for name, condition in table.places if name == data]
    series = {}
    for name, method in (COMPETITORS | OWN).items():
        values = [list(table.values(data, condition, name, "unlabeled/map").values()) for condition in conditions]
        if any(values):
            means = [float(np.mean(one)) if one else np.nan for one in values]
            series[method.title] = means, [float(np.std(one)) if one else np.nan for one in values]
    return [float(condition.removesuffix(" %")) for condition in conditions], series


def _active_series(table: Table, data: str, condition: str) -> tuple[list[float], dict[str, tuple[Any, Any]]]:
    labels: list[float] = []
    series: dict[str, tuple[Any, Any]] = {}
    for strategy in STRATEGIES:
        found = curves(table, data, condition, strategy)
        if found is not None:
            labels = [float(number) for number in found[0]]
            series[strategy] = found[1].mean(axis=0), found[1].std(axis=0)
    return labels, series


def _draw(panels: dict[str, tuple[list[float], dict[str, tuple[Any, Any]]]], x_name: str, path: Path) -> None:
    """Draw one panel per set, with one legend."""
    if not panels:
        return
    from matplotlib.figure import Figure

    from tagloom.plotting import plot_curves

    figure = Figure(figsize=(PANEL[0] * len(panels), PANEL[1]), layout="constrained")
    for axes, (data, (x, series)) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        plot_curves(x, series, x_name=x_name, y_name="MAP", log_x=x_name.endswith("%"), ax=axes)
        axes.set_title(SETS[data].title if data in SETS else data)
        if data != list(panels)[-1]:
            axes.get_legend().remove()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
