"""Which feature groups tell which tag, as a heat map."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

from tagloom.core import FeatureGroups, Floats
from tagloom.exceptions import InvalidInputError
from tagloom.plotting._canvas import as_numbers, axes_for, check_groups, group_norms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_tag_groups"]


def plot_tag_groups(
    coef_or_norms: Any,
    groups: FeatureGroups,
    tags: Iterable[str],
    *,
    ax: "Axes | None" = None,
    order: bool = True,
    max_tags: int = 60,
) -> "Axes":
    """Draw which feature groups each tag uses, as a heat map.

    A cell is the group's share of the sum of the tag's group norms: the darker, the more. A group that the tag does not
    use at all has an empty cell, which a small share has not.

    Parameters
    ----------
    coef_or_norms : fitted model or array-like
        A model with ``coef_`` (d, c), such a matrix, or norms (or any weights of at least 0, ``selected_groups_`` for
        one) of shape (c, groups). Where every group is a column and there are as many tags, it is read as ``coef_``.
    groups : FeatureGroups
        The groups of the d columns.
    tags : iterable of str
        Names of the c tags: a list, or a `tagloom.TagVocabulary`.
    ax : Axes, optional
        Where to draw. Default: a new figure.
    order : bool, default=True
        Put tags with similar shares next to each other (average linkage); False keeps them as given.
    max_tags : int, default=60
        Draw so many tags, those with the largest sums of norms; the axis says of how many.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tagloom import FeatureGroups
    >>> groups = FeatureGroups(["colour", "edge"], [2, 1])
    >>> ax = plot_tag_groups([[3.0, 0.0], [4.0, 0.0], [5.0, 1.0]], groups, ["sunset", "tower"], order=False)
    >>> ax.images[0].get_array().tolist()
    [[0.5, 0.5], [None, 1.0]]
    """
    groups, names = check_groups(groups), list(tags)
    norms = _norms_of(coef_or_norms, groups, len(names))
    if max_tags < 1:
        raise InvalidInputError(f"max_tags must be at least 1, got {max_tags}")
    totals = norms.sum(axis=1)
    shown = np.sort(np.argsort(-totals, kind="stable")[:max_tags])
    shares = norms[shown] / np.where(totals[shown] > 0, totals[shown], 1.0)[:, np.newaxis]
    if order:
        leaves = _similar_together(shares)
        shown, shares = shown[leaves], shares[leaves]

    ax = axes_for(ax, (3.2 + 0.4 * len(groups), 1.8 + 0.2 * len(shown)))
    top = float(shares.max()) or 1.0
    image = ax.imshow(
        np.ma.masked_equal(shares, 0.0), cmap="cividis_r", vmin=0.0, vmax=top, aspect="auto", interpolation="nearest"
    )
    _draw_cells(ax, *shares.shape)
    ax.set_xticks(range(len(groups)), groups.names, rotation=90, parse_math=False)
    ax.set_yticks(range(len(shown)), [names[row] for row in shown], fontsize="small", parse_math=False)
    ax.set_xlabel("feature group")
    some = f"{len(shown)} of {len(names)} tags, those with the largest norms"
    ax.set_ylabel("tag" if len(shown) == len(names) else some)
    ax.figure.colorbar(image, ax=ax, label="share of the tag's group norms (empty: not used)")
    ax.set_label(_told([names[row] for row in shown], shares, groups))
    return ax


def _norms_of(given: Any, groups: FeatureGroups, n_tags: int) -> Floats:
    """Return the norm of each group (columns) for each tag (rows)."""
    values = as_numbers(getattr(given, "coef_", given), "coef_or_norms", (2,))
    if values.shape == (groups.n_columns, n_tags):
        return group_norms(values, groups).T
    if values.shape != (n_tags, len(groups)):
        raise InvalidInputError(
            f"expected coefficients of shape ({groups.n_columns}, {n_tags}), columns by tags, or norms of shape "
            f"({n_tags}, {len(groups)}), tags by groups, got shape {values.shape}"
        )
    if values.min() < 0:
        raise InvalidInputError(f"norms must not be negative, got {values.min():g}")
    return values


def _similar_together(shares: Floats) -> NDArray[np.intp]:
    """Return an order of the rows in which similar ones are neighbours."""
    if len(shares) < 3:
        return np.arange(len(shares))
    # Distances, not rows: a square matrix of rows may be taken for one of distances.
    tree = hierarchy.linkage(pdist(shares), method="average", optimal_ordering=True)
    return np.asarray(hierarchy.leaves_list(tree), dtype=np.intp)


def _draw_cells(ax: "Axes", n_rows: int, n_columns: int) -> None:
    """Draw the borders of all cells, so that empty ones are seen to be there."""
    ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
    ax.grid(False)
    ax.grid(True, which="minor", color="#CCCCCC", linewidth=0.5)
    ax.tick_params(which="minor", length=0)


def _told(names: list[str], shares: Floats, groups: FeatureGroups) -> str:
    best = [
        f"{name} {groups.names[row.argmax()]} {row.max():.0%}" if row.any() else f"{name} none"
        for name, row in zip(names, shares, strict=True)
    ]
    return f"The group with the largest share of each tag: {'; '.join(best)}."
