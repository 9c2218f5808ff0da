"""A figure of each tag with its interval, the best on top."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import PALETTE, as_numbers, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_tag_figures"]

_ROW_INCHES, _MARGIN_INCHES = 0.22, 1.2


def plot_tag_figures(
    tags: Sequence[str],
    figures: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    most: int = 40,
    x_name: str = "average precision",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw one figure of each tag as a point with its interval.

    Parameters
    ----------
    tags : sequence of str
        Names.
    figures, low, high : array-like of shape (c,)
        The figure of each tag and the ends of its interval; tags with NaN are left out.
    most : int, default=40
        Tags that are drawn: as many of the best as of the worst where there are more.
    x_name : str, default="average precision"
        What to write at the axis.
    ax : Axes, optional
        Where to draw. Default: a new figure that is as high as the tags need.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_tag_figures(["sea", "sky"], [0.5, 0.75], [0.25, 0.5], [0.75, 1.0])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sky', 'sea']
    """
    values = as_numbers(figures, "figures", (1,), gaps=True)
    ends = [as_numbers(end, name, (1,), gaps=True) for end, name in ((low, "low"), (high, "high"))]
    if not len(tags) == values.size == ends[0].size == ends[1].size:
        raise InvalidInputError(f"expected one figure, low and high for each of {len(tags)} tags")
    if most < 2:
        raise InvalidInputError(f"most must be at least 2, got {most}")
    known = np.flatnonzero(~np.isnan(values))
    if not known.size:
        raise InvalidInputError("no tag has a figure: there is nothing to draw")
    order = known[np.argsort(-values[known], kind="stable")]
    shown = order if len(order) <= most else np.concatenate([order[: most - most // 2], order[-(most // 2) :]])
    ax = axes_for(ax, (6.0, _MARGIN_INCHES + _ROW_INCHES * len(shown)))
    rows = np.arange(len(shown))
    ax.hlines(rows, ends[0][shown], ends[1][shown], color=PALETTE[0], alpha=0.5)
    ax.plot(values[shown], rows, color=PALETTE[0], marker="o", linestyle="none")
    ax.set_yticks(rows, [tags[tag] for tag in shown], parse_math=False)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel(x_name)
    best, worst = order[0], order[-1]
    ax.set_label(
        f"{x_name} of {len(shown)} of {len(tags)} tags: best {tags[best]} {values[best]:.3f}, worst {tags[worst]} "
        f"{values[worst]:.3f}."
    )
    return ax
