"""Probabilities beside what came true."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import GREY, PALETTE, as_numbers, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_reliability"]


def plot_reliability(
    predicted: ArrayLike, observed: ArrayLike, counts: ArrayLike, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw observed shares against predicted probabilities.

    Parameters
    ----------
    predicted, observed, counts : array-like of shape (b,)
        Mean probability, share and number of entries of each bin, as `tagloom.metrics.ReliabilityCurve` has them.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
        Bars are one standard error of a share to either side, were the probability true; on the grey line probabilities
        mean what they say.

    Examples
    --------
    >>> ax = plot_reliability([0.25, 0.75], [0.2, 0.8], [50, 50])
    >>> ax.lines[1].get_ydata().tolist()
    [0.2, 0.8]
    """
    x, y = as_numbers(predicted, "predicted", (1,)), as_numbers(observed, "observed", (1,))
    n = as_numbers(counts, "counts", (1,))
    if not x.size == y.size == n.size:
        raise InvalidInputError(f"expected bins of one length, got {x.size}, {y.size} and {n.size}")
    if min(x.min(), y.min()) < 0 or max(x.max(), y.max()) > 1 or n.min() < 1:
        raise InvalidInputError("probabilities and shares must lie within 0 and 1, and counts must be at least 1")
    ax = axes_for(ax, (4.8, 4.4))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    ax.errorbar(x, y, yerr=np.sqrt(x * (1 - x) / n), color=PALETTE[0], marker="o", capsize=3)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="probability given", ylabel="share that has the tag")
    error = float(np.average(np.abs(x - y), weights=n))
    ax.set_label(f"Share that has the tag against probability, {x.size} bins: {error:.3f} apart on average.")
    return ax
