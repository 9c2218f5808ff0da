"""Which feature groups the selected features come from."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import FeatureGroups, Floats
from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import PALETTE, add_legend, as_numbers, axes_for, check_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_selected_groups"]

#: Room for the texts beside bars of 100 %.
_RIGHT_END = 1.3


def plot_selected_groups(
    selected: Any, groups: FeatureGroups, *, scores: ArrayLike | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw which share of each feature group is selected.

    A bar for each group is the share of its columns that are selected, with their number beside it ("37 of 144"). With
    scores, a second bar is the group's share of the sum of the scores of all selected features, with the group's own
    sum beside it: many weak features and a few strong ones are told apart.

    Parameters
    ----------
    selected : fitted selector or bool array of shape (d,)
        A model with ``get_support()`` (`tagloom.SFSS`, `tagloom.FisherScore`, any scikit-learn selector) or with
        ``selected_features_``, or the mask of the selected columns itself.
    groups : FeatureGroups
        The groups of the d columns.
    scores : array-like of shape (d,), optional
        Scores of at least 0, of which those of selected features count. Default: ``feature_scores_`` of the selector;
        none for a mask.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tagloom import FeatureGroups
    >>> ax = plot_selected_groups([True, False, True], FeatureGroups(["colour", "edge"], [2, 1]))
    >>> [float(bar.get_width()) for bar in ax.patches]
    [0.5, 1.0]
    """
    groups = check_groups(groups)
    mask = _mask_of(selected, groups.n_columns)
    counts = np.bincount(groups.labels[mask], minlength=len(groups))
    if scores is None:
        scores = getattr(selected, "feature_scores_", None)
    sums = None if scores is None else _sums_of(scores, mask, groups)

    ax = axes_for(ax, (6.4, 1.4 + (0.3 if sums is None else 0.5) * len(groups)))
    places, height = np.arange(len(groups)), 0.7 if sums is None else 0.4
    lift = 0.0 if sums is None else height / 2
    texts = [f"{count} of {size}" for count, size in zip(counts, groups.sizes, strict=True)]
    bars = ax.barh(places - lift, counts / groups.sizes, height, color=PALETTE[0])
    ax.bar_label(bars, texts, padding=3)
    if sums is None:
        ax.set_xlabel("share of the group's columns that are selected")
    else:
        more = ax.barh(
            places + lift, sums / (sums.sum() or 1.0), height, color="white", edgecolor=PALETTE[1], hatch="//"
        )
        ax.bar_label(more, [f"{value:.3g}" for value in sums], padding=3)
        names = ("selected columns, of the group", "scores, of all groups")
        add_legend(ax, [bars, more], names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        ax.set_xlabel("share")
    ax.set_xlim(0.0, _RIGHT_END)
    ax.set_xticks(np.linspace(0, 1, 5), [f"{percent} %" for percent in range(0, 101, 25)])
    ax.set_ylim(len(groups) - 0.5, -0.5)
    ax.set_yticks(places, groups.names, parse_math=False)
    told = "; ".join(f"{name} {text}" for name, text in zip(groups.names, texts, strict=True))
    ax.set_label(f"Selected features by group: {told}.")
    return ax


def _mask_of(selected: Any, n_columns: int) -> NDArray[np.bool_]:
    """Return which columns are selected."""
    if callable(getattr(selected, "get_support", None)):
        mask = np.asarray(selected.get_support())
    elif hasattr(selected, "selected_features_"):
        mask = np.zeros(n_columns, dtype=bool)
        columns = np.asarray(selected.selected_features_)
        if columns.size and not 0 <= columns.min() <= columns.max() < n_columns:
            raise InvalidInputError(
                f"groups must have the columns that were selected from: there are {n_columns}, and column "
                f"{columns.max()} is selected"
            )
        mask[columns] = True
    else:
        mask = np.asarray(selected)
    if mask.dtype != np.bool_:
        raise InvalidInputError(
            f"selected must be a fitted selector or a mask of booleans, got {type(selected).__name__} of dtype "
            f"{mask.dtype}; for column numbers make a mask first"
        )
    if mask.shape != (n_columns,):
        raise InvalidInputError(
            f"selected must have one entry for each of the {n_columns} columns of groups, got shape {mask.shape}"
        )
    return mask


def _sums_of(scores: ArrayLike, mask: NDArray[np.bool_], groups: FeatureGroups) -> Floats:
    """Return the sum of the scores of the selected features of each group."""
    given = np.asarray(scores)
    if given.shape != mask.shape:
        raise InvalidInputError(f"scores must have one entry for each of {mask.size} columns, got shape {given.shape}")
    if not mask.any():
        return np.zeros(len(groups))
    chosen = as_numbers(given[mask], "scores of selected features", (1,))
    if chosen.min() < 0:
        raise InvalidInputError(f"scores must not be negative, got {chosen.min():g}; pass norms or absolute values")
    sums = np.zeros(len(groups))
    np.add.at(sums, groups.labels[mask], chosen)
    return sums
