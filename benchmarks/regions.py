"""Panels of a study that are pictures of the plane: points by class, and the regions that a model gives to classes.

A panel is ``{"title", "points", "labels", "labeled", "names", "regions"}``: points (n, 2), their classes, which labels
the model was given, names of the classes, and regions as strings of class digits, one for each row of the grid, from
below.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: How far the grid goes beyond the points, as a share of their extent.
MARGIN = 0.1


def region_panel(
    title: str,
    points: NDArray[Any],
    labels: NDArray[Any],
    labeled: NDArray[np.bool_],
    names: list[str],
    classify: Callable[[NDArray[np.float64]], NDArray[Any]],
    resolution: int,
) -> dict[str, Any]:
    """Return a panel; ``classify`` gives the classes (m,), at most ten, of points (m, 2)."""
    x, y = _grid(np.asarray(points, dtype=np.float64), resolution)
    across, up = np.meshgrid(x, y)
    classes = classify(np.column_stack([across.ravel(), up.ravel()])).reshape(resolution, resolution)
    return {
        "title": title,
        "points": np.round(points.astype(np.float64), 4).tolist(),
        "labels": labels.tolist(),
        "labeled": labeled.tolist(),
        "names": names,
        "regions": ["".join(map(str, row)) for row in classes],
    }


def draw_regions(panels: list[dict[str, Any]]) -> Any:
    """Return a figure with the panels, three in a row, by `tagloom.plotting.plot_embedding_classes`."""
    from matplotlib.figure import Figure

    from tagloom.plotting import plot_embedding_classes

    n_rows = -(-len(panels) // 3)
    figure = Figure(figsize=(9.0, 3.3 * n_rows), layout="constrained")
    places = figure.subplots(n_rows, 3, squeeze=False).ravel()
    for axes, panel in zip(places, panels, strict=False):
        plot_embedding_classes(
            panel["points"],
            panel["labels"],
            names=panel["names"],
            labeled=np.array(panel["labeled"], dtype=bool),
            boundary=_lookup(panel),
            resolution=len(panel["regions"]),
            ax=axes,
        )
        axes.set_title(panel["title"], fontsize=9)
        if panel is not panels[-1]:
            axes.get_legend().remove()
    for axes in places[len(panels) :]:
        axes.remove()
    return figure


def _grid(points: NDArray[np.float64], resolution: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * (high - low)
    x, y = np.linspace(low - margin, high + margin, resolution).T
    return x, y


def _lookup(panel: dict[str, Any]) -> Callable[[NDArray[np.float64]], NDArray[np.int64]]:
    """Return a function that gives each point the class of the nearest point of the panel's grid."""
    classes = np.array([[int(digit) for digit in row] for row in panel["regions"]])
    x, y = _grid(np.asarray(panel["points"], dtype=np.float64), len(classes))

    def classify(points: NDArray[np.float64]) -> NDArray[np.int64]:
        column, row = (
            np.clip(np.rint((values - axis[0]) / (axis[1] - axis[0])).astype(int), 0, len(axis) - 1)
            for values, axis in zip(points.T, (x, y), strict=True)
        )
        found: NDArray[np.int64] = classes[row, column]
        return found

    return classify
