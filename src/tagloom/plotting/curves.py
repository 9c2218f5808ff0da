"""Curves of means with their standard deviations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagloom.core import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import MARKERS, add_legend, as_numbers, axes_for, line_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_curves"]

#: Up to so many values of x have a tick each; a crowd of them has matplotlib's own.
_MOST_TICKS = 12


def plot_curves(
    x: ArrayLike,
    series: Mapping[str, tuple[ArrayLike, ArrayLike | None]],
    *,
    x_name: str,
    y_name: str,
    log_x: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a curve for each series, with bars of one standard deviation.

    Parameters
    ----------
    x : array-like of shape (p,)
        Where the points are: numbers, or names, which are put at equal distances.
    series : mapping of str to (mean, std)
        For each curve its name, means (NaN where there is none) and standard deviations, arrays of shape (p,); None
        for a curve without deviations.
    x_name, y_name : str
        What to write at the axes.
    log_x : bool, default=False
        Put x on a logarithmic axis.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> series = {"SFSS": ([0.25, 0.5], [0.125, 0.0])}
    >>> ax = plot_curves([5, 10], series, x_name="labelled, %", y_name="MAP")
    >>> ax.lines[0].get_ydata().tolist()
    [0.25, 0.5]
    """
    places, ticks = _places(x, log_x)
    if not series:
        raise InvalidInputError("series is empty: there is nothing to draw")
    checked = {name: _mean_and_std(name, pair, places.size) for name, pair in series.items()}

    ax = axes_for(ax, (6.4, 4.0))
    handles = [
        ax.errorbar(places, mean, yerr=std, marker=MARKERS[index % len(MARKERS)], capsize=3, **line_look(index))
        for index, (mean, std) in enumerate(checked.values())
    ]
    if log_x:
        ax.set_xscale("log")
    if ticks is not None:
        ax.set_xticks(places, ticks, parse_math=False)
        ax.set_xticks([], minor=True)
    ax.set_xlabel(x_name)
    ax.set_ylabel(y_name)
    add_legend(ax, handles, list(checked))
    told = "; ".join(f"{name} {_ends(mean)}" for name, (mean, _) in checked.items())
    ax.set_label(f"{y_name} against {x_name}: {told}.")
    return ax


def _places(x: ArrayLike, log_x: bool) -> tuple[Floats, list[str] | None]:
    """Return positions and the texts of their ticks."""
    given = np.asarray(x)
    if given.dtype.kind in "US" and given.ndim == 1 and given.size:
        if log_x:
            raise InvalidInputError(f"a logarithmic axis needs numbers, got x = {given.tolist()}; leave log_x=False")
        return np.arange(given.size, dtype=np.float64), [str(name) for name in given]
    places = as_numbers(x, "x", (1,))
    if log_x and places.min() <= 0:
        raise InvalidInputError(f"x must be positive on a logarithmic axis, got {places.min():g}")
    return places, [f"{value:g}" for value in places] if places.size <= _MOST_TICKS else None


def _mean_and_std(name: str, pair: Any, n_points: int) -> tuple[Floats, Floats | None]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InvalidInputError(f"series {name!r} must be a tuple (mean, std), std None where there is none")
    mean = as_numbers(pair[0], f"mean of {name!r}", (1,), gaps=True)
    std = None if pair[1] is None else as_numbers(pair[1], f"std of {name!r}", (1,), gaps=True)
    if mean.size != n_points or (std is not None and std.size != n_points):
        raise InvalidInputError(f"series {name!r} must have {n_points} means and deviations, as many as x")
    if np.isnan(mean).all():
        raise InvalidInputError(f"every mean of series {name!r} is NaN: leave the series out")
    if std is not None and not (std[~np.isnan(mean)] >= 0).all():
        raise InvalidInputError(f"std of {name!r} must be at least 0 wherever there is a mean")
    return mean, std


def _ends(mean: Floats) -> str:
    known = mean[~np.isnan(mean)]
    return f"from {known[0]:.3g} to {known[-1]:.3g}"
