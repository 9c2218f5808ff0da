"""Points of the plane by class, with the regions that a model gives to each class."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagloom.core import Bools, Floats, Ints, check_labels
from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import GREY, MARKERS, PALETTE, add_legend, as_numbers, axes_for, library

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_embedding_classes"]


#: How far regions go beyond the points, as a share of their extent.
_MARGIN = 0.08


def plot_embedding_classes(
    points: ArrayLike,
    labels: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    labeled: ArrayLike | None = None,
    boundary: Callable[[Floats], ArrayLike] | None = None,
    resolution: int = 200,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw points by class, with the labelled ones large and outlined.

    Classes differ in colour and in the shape of their points. Both axes have the same scale.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Where the points are.
    labels : array-like of shape (n,) or (n, c)
        The class of each point as an integer, or a label matrix, in which each combination of tags is a class. -1, or a
        row of it, is a point of no known class, drawn as a small grey dot.
    names : sequence of str, optional
        Names of classes 0, 1, …, or of the c tags.
    labeled : bool array-like of shape (n,), optional
        Which labels a model was given, where ``labels`` holds the truth or predictions as well. Default: all that are
        known.
    boundary : callable, optional
        Called with grid points (m, 2), returns classes of the same kind as ``labels``: ``model.predict`` for a
        label matrix, or ``lambda grid: model.decision_function(grid).argmax(axis=1)``. Regions are shaded, with a line
        between them.
    resolution : int, default=200
        Grid points along each side.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_embedding_classes([[0, 0], [1, 0], [1, 1]], [0, 1, -1], names=["sun", "sky"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['sun', 'sky', 'no label']
    """
    places = as_numbers(points, "points", (2,))
    if places.shape[1] != 2:
        raise InvalidInputError(f"points must have two coordinates, got shape {places.shape}; project them first")
    rows = _class_rows(labels, "labels", len(places))
    known = ~(rows == -1).any(axis=1)
    given = known if labeled is None else _mask(labeled, len(places)) & known
    grid = None if boundary is None else _Grid(places, resolution, boundary, rows.shape[1])

    found = [rows[known]] if grid is None else [rows[known], grid.rows]
    table, codes = np.unique(np.concatenate(found), axis=0, return_inverse=True)
    codes = codes.ravel()  # NumPy 2.0.0 returns a column
    point_codes = np.full(len(places), -1)
    point_codes[known] = codes[: known.sum()]
    titles = [_title(row, names, np.ndim(labels)) for row in table]

    ax = axes_for(ax, (6.4, 4.8))
    if grid is not None:
        grid.draw(ax, codes[known.sum() :].reshape(resolution, resolution), len(table))
    handles, entries = _draw_points(ax, places, point_codes, given, titles)
    add_legend(ax, handles, entries)
    ax.set_aspect("equal")
    told = "; ".join(
        f"{title} {np.sum(point_codes == code)}, {np.sum(given & (point_codes == code))} of them labelled"
        for code, title in enumerate(titles)
    )
    ax.set_label(f"{len(places)} points by class: {told or 'none known'}.")
    return ax


class _Grid:
    """Points of a regular grid around the data and what a model says of them."""

    def __init__(
        self, places: Floats, resolution: int, boundary: Callable[[Floats], ArrayLike], n_columns: int
    ) -> None:
        if resolution < 2:
            raise InvalidInputError(f"resolution must be at least 2, got {resolution}")
        low, high = places.min(axis=0), places.max(axis=0)
        margin = _MARGIN * np.where(high > low, high - low, 1.0)
        self.x, self.y = np.linspace(low - margin, high + margin, resolution).T
        across, up = np.meshgrid(self.x, self.y)
        points = np.column_stack([across.ravel(), up.ravel()])
        self.rows = _class_rows(boundary(points), "what boundary returns", len(points))
        if self.rows.shape[1] != n_columns or (self.rows == -1).any():
            raise InvalidInputError(
                f"boundary must return a class for every point, of the kind of labels ({n_columns} per point, no -1), "
                f"got {self.rows.shape[1]} per point, smallest {self.rows.min()}"
            )

    def draw(self, ax: "Axes", codes: Ints, n_classes: int) -> None:
        """Shade the region of each class and draw a line around it."""
        colors = library("matplotlib.colors").ListedColormap(
            [PALETTE[code % len(PALETTE)] for code in range(n_classes)]
        )
        half_x, half_y = (self.x[1] - self.x[0]) / 2, (self.y[1] - self.y[0]) / 2
        extent = (self.x[0] - half_x, self.x[-1] + half_x, self.y[0] - half_y, self.y[-1] + half_y)
        ax.imshow(
            codes, cmap=colors, vmin=-0.5, vmax=n_classes - 0.5, alpha=0.2, origin="lower", extent=extent, zorder=0
        )
        # The line around the last region is that around the others.
        for code in np.unique(codes)[:-1]:
            ax.contour(self.x, self.y, codes == code, levels=[0.5], colors="black", linewidths=0.8)


def _class_rows(labels: Any, name: str, n_rows: int) -> Ints:
    """Return classes as rows of integers: one column, or one for each tag; -1 where not known."""
    array = np.asarray(labels)
    if array.ndim not in (1, 2) or len(array) != n_rows:
        raise InvalidInputError(f"{name}: expected shape ({n_rows},) or ({n_rows}, tags), got {array.shape}")
    if array.ndim == 2:
        matrix = check_labels(array)
        unknown = (matrix == -1).any(axis=1)
        if (matrix[unknown] != -1).any():
            raise InvalidInputError(
                f"{name}: a row that is known in part has no class; row {np.flatnonzero(unknown)[0]} is the first with "
                f"a -1, and a row must be -1 throughout or not at all"
            )
        return matrix.astype(np.int64)
    numbers = as_numbers(array, name, (1,))
    if (numbers != np.floor(numbers)).any() or numbers.min() < -1:
        raise InvalidInputError(f"{name}: expected integers 0, 1, …, or -1 where there is no label, got {array.dtype}")
    return numbers.astype(np.int64)[:, np.newaxis]


def _mask(labeled: ArrayLike, n_rows: int) -> Bools:
    mask = np.asarray(labeled)
    if mask.dtype != np.bool_ or mask.shape != (n_rows,):
        raise InvalidInputError(f"labeled must be {n_rows} booleans, got dtype {mask.dtype} and shape {mask.shape}")
    return mask


def _title(row: Ints, names: Sequence[str] | None, ndim: int) -> str:
    """Return the name of a class, or of a combination of tags."""
    wanted = row if ndim == 1 else np.flatnonzero(row)
    if names is None:
        return " + ".join(f"{'class' if ndim == 1 else 'tag'} {number}" for number in wanted) or "no tag"
    if wanted.size and wanted.max() >= len(names):
        raise InvalidInputError(f"names has {len(names)} names, and there is a class or tag {wanted.max()}")
    return " + ".join(names[number] for number in wanted) or "no tag"


def _draw_points(
    ax: "Axes", places: Floats, codes: Ints, given: Bools, titles: list[str]
) -> tuple[list[Any], list[str]]:
    """Draw what is not labelled first and return the entries of the legend."""
    line = library("matplotlib.lines").Line2D
    x, y = places.T
    handles, entries = [], []
    for code, title in enumerate(titles):
        color, marker = PALETTE[code % len(PALETTE)], MARKERS[code % len(MARKERS)]
        small, large = (codes == code) & ~given, (codes == code) & given
        ax.scatter(x[small], y[small], s=12, color=color, marker=marker, linewidths=0, zorder=2)
        ax.scatter(x[large], y[large], s=70, color=color, marker=marker, edgecolors="black", linewidths=1.2, zorder=3)
        handles.append(line([], [], linestyle="none", color=color, marker=marker))
        entries.append(title)
    unknown = codes == -1
    if unknown.any():
        ax.scatter(x[unknown], y[unknown], s=8, color=GREY, marker=".", zorder=1)
        handles.append(line([], [], linestyle="none", color=GREY, marker="."))
        entries.append("no label")
    if (~given & ~unknown).any() and given.any():
        handles.append(line([], [], linestyle="none", marker="o", markersize=8, mfc="white", mec="black"))
        entries.append("label given")
    return handles, entries
