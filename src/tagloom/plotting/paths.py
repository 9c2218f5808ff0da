"""Regularisation paths: coefficients against the strength of the penalty."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import FeatureGroups, Floats
from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import (
    GREY,
    add_legend,
    as_numbers,
    axes_for,
    check_groups,
    group_norms,
    library,
    line_look,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_paths"]


def plot_paths(
    strengths: ArrayLike,
    coefs: ArrayLike,
    groups: FeatureGroups | None = None,
    *,
    tag: int | None = 0,
    chosen: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    max_labels: int = 16,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw coefficients against the strength of the penalty.

    With groups, a line for each group is the norm of its coefficients; without, a line for each column is its
    coefficient. The strength is on a logarithmic axis.

    Parameters
    ----------
    strengths : array-like of shape (k,) or (k, c)
        Strengths of the penalty, the same for all tags or one column per tag.
    coefs : array-like of shape (k, d) or (k, d, c)
        The solution for each strength, of one tag or of c tags.
    groups : FeatureGroups, optional
        The groups of the d columns.
    tag : int or None, default=0
        The tag to draw; of no meaning for coefficients of one tag. None takes all tags together: norms over the whole
        rows of a group, or over the row of each column, as SFSS penalises them.
    chosen : float or array-like of shape (c,), optional
        The strength that was chosen, of which that of the tag is drawn as a vertical line.
    truth : array-like of shape (d,) or (d, c), optional
        True coefficients, drawn as dotted horizontal lines: their norms with groups.
    max_labels : int, default=16
        Lines with a colour and a place in the legend, those that reach the largest values; others are thin and grey.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tagloom import FeatureGroups
    >>> coefs = [[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]]
    >>> ax = plot_paths([1.0, 0.1], coefs, FeatureGroups(["colour", "edge"], [2, 1]))
    >>> ax.lines[0].get_ydata().tolist()
    [5.0, 0.0]
    """
    coefficients = as_numbers(coefs, "coefs", (2, 3))
    _check_tag(tag, coefficients)
    x = _strengths_of(strengths, coefficients, tag)
    order = np.argsort(x, kind="stable")
    values = _reduced(coefficients[order], groups, tag)
    true_values = None if truth is None else _truth_of(truth, coefficients, groups, tag)
    if max_labels < 1:
        raise InvalidInputError(f"max_labels must be at least 1, got {max_labels}")
    names = [f"column {index}" for index in range(values.shape[1])] if groups is None else list(groups.names)
    peaks = np.abs(values).max(axis=0)
    labeled = np.sort(np.argsort(-peaks, kind="stable")[:max_labels])

    ax = axes_for(ax, (6.4, 4.0))
    handles = _draw_lines(ax, x[order], values, true_values, labeled)
    entries = [names[index] for index in labeled]
    if true_values is not None:
        handles.append(library("matplotlib.lines").Line2D([], [], color="black", linestyle=":"))
        entries.append("true value")
    if chosen is not None:
        strength = _chosen_of(chosen, tag)
        handles.append(ax.axvline(strength, color="black", linewidth=0.8))
        entries.append(f"chosen: {strength:.3g}")
    _set_log_axis(ax, x)
    ax.set_xlabel("strength of the penalty")
    whose = "column" if groups is None else "group"
    ax.set_ylabel("coefficient" if groups is None and tag is not None else f"norm of the {whose}'s coefficients")
    add_legend(ax, handles, entries)
    told = "; ".join(f"{names[index]} up to {peaks[index]:.3g}" for index in labeled)
    ax.set_label(f"Coefficients for strengths from {x.max():.3g} down to {x.min():.3g}: {told}.")
    return ax


def _draw_lines(
    ax: "Axes", x: Floats, values: Floats, true_values: Floats | None, labeled: NDArray[np.intp]
) -> list[Any]:
    """Draw a line for each column of ``values``, and its true value; return the lines that get a label."""
    place = {int(index): position for position, index in enumerate(labeled)}
    handles = []
    for index, column in enumerate(values.T):
        look = line_look(place[index]) if index in place else {"color": GREY, "linewidth": 0.6, "zorder": 1}
        (line,) = ax.plot(x, column, **look)
        if index in place:
            handles.append(line)
        if true_values is not None:
            ax.axhline(true_values[index], color=line.get_color(), linestyle=":", linewidth=1.2)
    return handles


def _set_log_axis(ax: "Axes", x: Floats) -> None:
    """Put ticks that do not touch: powers of ten are too few for less than two decades, and what is between crowds."""
    ax.set_xscale("log")
    if x.max() < 100 * x.min():
        ticks = np.geomspace(x.min(), x.max(), 4)
        ax.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
        ax.set_xticks([], minor=True)


def _check_tag(tag: int | None, coefs: Floats) -> None:
    n_tags = coefs.shape[2] if coefs.ndim == 3 else None
    if tag is not None and n_tags is not None and not 0 <= tag < n_tags:
        raise InvalidInputError(f"tag must be a column from 0 to {n_tags - 1} of coefs, or None for all, got {tag}")


def _strengths_of(strengths: ArrayLike, coefs: Floats, tag: int | None) -> Floats:
    """Return the strengths of the tag, one for each solution."""
    x = as_numbers(strengths, "strengths", (1, 2))
    if x.ndim == 2:
        if tag is None or coefs.ndim != 3 or x.shape[1] != coefs.shape[2]:
            raise InvalidInputError(
                f"strengths of shape {x.shape} need coefs of shape (k, d, {x.shape[1]}) and a tag, got shape "
                f"{coefs.shape} and tag={tag}"
            )
        x = x[:, tag]
    if x.size != coefs.shape[0]:
        raise InvalidInputError(f"expected one strength for each of the {coefs.shape[0]} solutions, got {x.size}")
    if x.min() <= 0 or x.min() == x.max():
        raise InvalidInputError(
            f"strengths must be positive (the axis is logarithmic) and not all the same, got {x.min():g} to {x.max():g}"
        )
    return x


def _reduced(coefs: Floats, groups: FeatureGroups | None, tag: int | None) -> Floats:
    """Return what is drawn, a column for each line: coefficients or norms."""
    if coefs.ndim == 3:
        coefs = np.sqrt(np.square(coefs).sum(axis=2)) if tag is None else coefs[:, :, tag]
    if groups is None:
        return coefs
    if check_groups(groups).n_columns != coefs.shape[1]:
        raise InvalidInputError(f"groups must have the {coefs.shape[1]} columns of coefs, got {groups.n_columns}")
    return group_norms(coefs, groups, axis=1)


def _truth_of(truth: ArrayLike, coefs: Floats, groups: FeatureGroups | None, tag: int | None) -> Floats:
    given = as_numbers(truth, "truth", (1, 2))
    shapes = [coefs.shape[1:]]
    if tag is not None and coefs.ndim == 3:
        shapes.append(coefs.shape[1:2])
    if given.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in shapes)
        raise InvalidInputError(f"truth must be coefficients of shape {wanted}, got shape {given.shape}")
    return _reduced(given[np.newaxis], groups, tag)[0]


def _chosen_of(chosen: ArrayLike, tag: int | None) -> float:
    given = as_numbers(chosen, "chosen", (0, 1))
    if given.ndim == 1 and (tag is None or tag >= given.size):
        raise InvalidInputError(f"chosen has {given.size} strengths, one for each tag; pass that of tag {tag} alone")
    strength = float(given[tag] if given.ndim == 1 else given)
    if strength <= 0:
        raise InvalidInputError(f"chosen must be positive (the axis is logarithmic), got {strength:g}")
    return strength
