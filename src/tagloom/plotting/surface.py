"""A metric over two parameters, as a heat map with its numbers."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tagloom.core import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import as_numbers, axes_for, ink_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_surface"]


def plot_surface(
    values: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    x_name: str,
    y_name: str,
    metric_name: str,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a metric over a grid of two parameters.

    Cells have the same size whatever the steps between parameters, as suits steps on a logarithmic scale. Each has its
    value written in it; one that is not known (NaN) stays empty.

    Parameters
    ----------
    values : array-like of shape (len(y), len(x))
        The metric; NaN where it is not known.
    x, y : array-like of shape (p,)
        Values of the parameters, drawn from left to right and from bottom to top in the order given.
    x_name, y_name, metric_name : str
        What to write at the axes and at the scale of colours.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_surface([[0.25, 0.5]], [0.1, 1], [10], x_name="μ", y_name="γ", metric_name="MAP")
    >>> [text.get_text() for text in ax.texts]
    ['0.250', '0.500']
    """
    across, up = _parameter(x, "x"), _parameter(y, "y")
    cells = as_numbers(values, "values", (2,), gaps=True)
    if cells.shape != (up.size, across.size):
        raise InvalidInputError(
            f"values must have a row for each y and a column for each x, shape {(up.size, across.size)}, got "
            f"{cells.shape}"
        )
    known = np.argwhere(~np.isnan(cells))
    if not len(known):
        raise InvalidInputError("every entry of values is NaN: there is nothing to draw")

    ax = axes_for(ax, (2.4 + 0.6 * across.size, 1.6 + 0.45 * up.size))
    image = ax.imshow(
        np.ma.masked_invalid(cells), cmap="cividis", origin="lower", aspect="auto", interpolation="nearest"
    )
    inks = image.to_rgba(cells)
    for row, column in known:
        ink = ink_on(inks[row, column])
        ax.text(column, row, f"{cells[row, column]:.3f}", ha="center", va="center", fontsize="small", color=ink)
    ax.set_xticks(range(across.size), [f"{value:g}" for value in across])
    ax.set_yticks(range(up.size), [f"{value:g}" for value in up])
    ax.grid(False)
    ax.set_xlabel(x_name)
    ax.set_ylabel(y_name)
    ax.figure.colorbar(image, ax=ax, label=metric_name)
    low, high = np.nanargmin(cells), np.nanargmax(cells)
    ends = [
        f"{cells.flat[place]:.3f} at {x_name} {across[place % across.size]:g}, {y_name} {up[place // across.size]:g}"
        for place in (low, high)
    ]
    ax.set_label(f"{metric_name} over {x_name} and {y_name}: lowest {ends[0]}; highest {ends[1]}.")
    return ax


def _parameter(values: ArrayLike, name: str) -> Floats:
    array = as_numbers(values, name, (1,))
    if np.unique(array).size != array.size:
        raise InvalidInputError(f"{name} must have distinct values, got {array.tolist()}")
    return array
