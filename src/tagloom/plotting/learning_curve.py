"""What labels have brought, and what more of them would bring."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tagloom.core import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import DASHES, PALETTE, as_numbers, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_learning_curve"]


def plot_learning_curve(
    n_labels: ArrayLike,
    figures: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    forecast: tuple[ArrayLike, ArrayLike] | None = None,
    y_name: str = "MAP on held-out photos",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw quality against the number of labelled photos, with interval and forecast.

    Parameters
    ----------
    n_labels, figures, low, high : array-like of shape (k,)
        Numbers of labelled photos, the figure with each, and the ends of its interval, as
        `tagloom.tuning.LearningCurve` has them.
    forecast : (n_labels, figures), optional
        Points of the curve that was fitted, such as ``(n, curve.predict(n))``; dashed.
    y_name : str
        What to write at the vertical axis.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_learning_curve([10, 20, 40], [0.2, 0.3, 0.35], [0.1, 0.2, 0.3], [0.3, 0.4, 0.4])
    >>> ax.lines[0].get_ydata().tolist()
    [0.2, 0.3, 0.35]
    """
    x, y = _pair(n_labels, figures, "figures")
    bottom, top = _pair(n_labels, low, "low")[1], _pair(n_labels, high, "high")[1]
    if (bottom > top).any():
        raise InvalidInputError("low must not lie above high")
    ahead = None if forecast is None else _pair(forecast[0], forecast[1], "forecast")
    ax = axes_for(ax, (6.0, 4.0))
    ax.plot(x, y, color=PALETTE[0], marker="o")
    ax.fill_between(x, bottom, top, color=PALETTE[0], alpha=0.15, linewidth=0)
    if ahead is not None:
        ax.plot(*ahead, color=PALETTE[1], linestyle=DASHES[1])
    ax.set_xlabel("labelled photos")
    ax.set_ylabel(y_name)
    told = "" if ahead is None else f", {ahead[1][-1]:.3f} forecast with {ahead[0][-1]:g}"
    ax.set_label(f"{y_name} from {y[0]:.3f} with {x[0]:g} labelled photos to {y[-1]:.3f} with {x[-1]:g}{told}.")
    return ax


def _pair(x: ArrayLike, y: ArrayLike, name: str) -> tuple[Floats, Floats]:
    places, values = as_numbers(x, "n_labels", (1,)), as_numbers(y, name, (1,))
    if places.size != values.size:
        raise InvalidInputError(f"{name} must have {places.size} entries, as many as n_labels, got {values.size}")
    if (np.diff(places) <= 0).any():
        raise InvalidInputError("n_labels must rise")
    return places, values
