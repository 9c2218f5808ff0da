"""What all figures share: a place to draw, looks that everybody can tell apart, legends; arrays and groups, checked."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagloom.core import FeatureGroups, Floats
from tagloom.exceptions import InvalidInputError, TagloomError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "DASHES",
    "GREY",
    "MARKERS",
    "PALETTE",
    "Floats",
    "add_legend",
    "as_numbers",
    "axes_for",
    "check_groups",
    "group_norms",
    "ink_on",
    "library",
    "line_look",
]

#: Colours of Okabe and Ito that have a contrast of 3 : 1 with white; told apart with each common colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
#: No dots: these are for true values. Four against five colours: the first twenty lines differ.
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (6, 2, 1, 2)), (0, (9, 2, 3, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Of what is not singled out.
GREY = "#8A8A8A"

#: Relative luminance at which black and white ink have the same contrast.
_MIDDLE_LUMINANCE = np.sqrt(1.05 * 0.05) - 0.05


def library(name: str = "matplotlib") -> Any:
    """Import matplotlib, or one of its modules; say what to install where that fails."""
    try:
        return import_module(name)
    except ImportError as error:
        raise TagloomError(
            f"figures need matplotlib 3.9 or later, which cannot be imported ({error}); run "
            f"'pip install \"tagloom[plot]\"'"
        ) from error


def axes_for(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """Return ``ax``, or the axes of a new figure of this size in inches, which pyplot knows nothing of."""
    if ax is None:
        return library("matplotlib.figure").Figure(figsize=size, layout="constrained").subplots()
    if not isinstance(ax, library("matplotlib.axes").Axes):
        raise InvalidInputError(f"ax must be a matplotlib Axes or None, got {type(ax).__name__}")
    return ax


def line_look(index: int) -> dict[str, Any]:
    """Return colour and dashes of a line; two of the first twenty differ in one of them at least."""
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": DASHES[index % len(DASHES)]}


def ink_on(color: ArrayLike) -> str:
    """Return "black" or "white", whichever reads better on a colour given as red, green, blue in 0 … 1."""
    rgb = np.asarray(color, dtype=np.float64)[:3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > _MIDDLE_LUMINANCE else "white"


def add_legend(ax: "Axes", handles: Sequence[Any], names: Sequence[str], **place: Any) -> None:
    """Add a legend, to the right of the axes unless ``place`` says where, so that it hides nothing.

    Names are shown as they are: matplotlib would leave out those with a leading underscore and read dollars as
    formulas.
    """
    where = place or {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    legend = ax.legend(handles, [f"{index}" for index in range(len(handles))], frameon=False, **where)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)


def as_numbers(values: ArrayLike, name: str, ndim: tuple[int, ...], *, gaps: bool = False) -> Floats:
    """Return an array that is not empty, has one of these numbers of dimensions and finite entries.

    Parameters
    ----------
    values : array-like
        What was given.
    name : str
        What to call it in an error.
    ndim : tuple of int
        Numbers of dimensions that are accepted.
    gaps : bool, default=False
        Accept NaN.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be an array of numbers: {error}") from None
    if array.ndim not in ndim:
        wanted = " or ".join(str(number) for number in ndim)
        raise InvalidInputError(f"{name} must have {wanted} dimensions, got shape {array.shape}")
    if array.size == 0:
        raise InvalidInputError(f"{name} is empty: there is nothing to draw (shape {array.shape})")
    if not (np.isfinite(array) | (gaps & np.isnan(array))).all():
        raise InvalidInputError(f"{name} must be finite{' or NaN' if gaps else ''}; leave out what is not")
    return array


def check_groups(groups: Any) -> FeatureGroups:
    """Return the groups, or raise if they are none or of another kind."""
    if not isinstance(groups, FeatureGroups):
        raise InvalidInputError(f"groups must be a FeatureGroups(names, sizes), got {type(groups).__name__}")
    if not len(groups):
        raise InvalidInputError("groups has no group: there is nothing to draw")
    return groups


def group_norms(coef: Floats, groups: FeatureGroups, *, axis: int = 0) -> Floats:
    """Return the Euclidean norm of each group of entries along ``axis``."""
    starts = np.cumsum((0, *groups.sizes[:-1]))
    return np.sqrt(np.add.reduceat(np.square(coef), starts, axis=axis))
