"""Dense SIFT: histograms of gradient directions of square patches on a grid."""

import functools
from collections.abc import Callable
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.images import Rendition

__all__ = [
    "SIFT_FORMS",
    "DenseSift",
    "dense_sift",
    "sift_gradients",
]


_Scalar = TypeVar("_Scalar", bound=np.generic)

N_DIRECTIONS = 8
_CELLS = 4
N_NUMBERS = _CELLS * _CELLS * N_DIRECTIONS
MIN_CONTRAST = 1.0
_CLIP = 0.2


def dense_sift(
    planes: NDArray[np.generic], *, step: int = 8, patch: int = 16, min_contrast: float = MIN_CONTRAST
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Describe the patches of a picture by their gradient directions.

    Parameters
    ----------
    planes : array of shape (height, width) or (height, width, channels)
        Numbers on the scale of bytes, 0 to 255. A side shorter than the patch is made as long by repeating the border
        on both ends, so that there is at least one patch.
    step : int, default=8
        Pixels from one patch to the next. The grid is centred: what is left over is left at both ends.
    patch : int, default=16
        Side of a patch, a multiple of four pixels: 4 × 4 cells.
    min_contrast : float, default=1
        Patches of less contrast in a channel get zeros for it. The contrast of an even slope of one level per pixel is
        one.

    Returns
    -------
    positions : ndarray of float32, shape (m, 2)
        Row and column of the centres in pixels, the picture's upper left corner being (0, 0); row by row.
    descriptors : ndarray of float32, shape (m, 128 * channels)
        For each channel cell row, cell column, direction. Direction k is the gradient angle 45° k with rows pointing
        down: 0 is brighter to the right, 2 brighter below.

    Notes
    -----
    The gradient is half the difference of both neighbours (border repeated; no smoothing before). Its length goes to
    the two nearest of eight directions, weighted linearly, and to the cells by bilinear weights: a pixel gives a cell
    ``max(0, 1 - |dx| / c) * max(0, 1 - |dy| / c)`` with c the side of a cell and (dx, dy) from pixel centre to cell
    centre. These triangles reach half a cell beyond the patch; outside the picture there is no gradient. The Gaussian
    window of σ = half a patch is taken at the cell centres (one factor per cell, the "flat window" of fast versions)
    instead of at every pixel. The 128 numbers are scaled to length one, cut at 0.2 and scaled again [1]_.

    References
    ----------
    .. [1] D. G. Lowe, "Distinctive image features from scale-invariant keypoints", IJCV 60 (2004).
    .. [2] S. Lazebnik, C. Schmid, J. Ponce, "Beyond bags of features: spatial pyramid matching for recognizing natural
       scene categories", CVPR 2006 (16 × 16 pixel patches on a grid with a spacing of 8 pixels).

    Examples
    --------
    >>> positions, descriptors = dense_sift(np.tile(np.arange(0.0, 128.0, 4.0), (24, 1)))
    >>> positions.tolist()
    [[8.0, 8.0], [8.0, 16.0], [8.0, 24.0], [16.0, 8.0], [16.0, 16.0], [16.0, 24.0]]
    >>> np.flatnonzero(descriptors[0][:16]).tolist()
    [0, 8]
    """
    values = np.asarray(planes)
    if values.ndim not in (2, 3) or values.size == 0:
        raise InvalidInputError(
            f"planes must have shape (height, width) or (height, width, channels), got {values.shape}"
        )
    padded = repeat_border(values, patch)
    by_channel = np.moveaxis(padded, 2, 0) if padded.ndim == 3 else padded[None]
    gradients = [plane_gradients(np.ascontiguousarray(plane, dtype=np.float32)) for plane in by_channel]
    positions, descriptors = sift_of_gradients(gradients, step=step, patch=patch, min_contrast=min_contrast)
    positions -= border_margins(values.shape, patch)
    return positions, descriptors


def plane_gradients(plane: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return half the difference of the right and left, and of the lower and upper neighbours; border repeated."""
    across = cv2.Sobel(plane, cv2.CV_32F, 1, 0, ksize=1, scale=0.5, borderType=cv2.BORDER_REPLICATE)
    down = cv2.Sobel(plane, cv2.CV_32F, 0, 1, ksize=1, scale=0.5, borderType=cv2.BORDER_REPLICATE)
    return across, down


def sift_of_gradients(
    gradients: list[tuple[NDArray[np.float32], NDArray[np.float32]]],
    *,
    step: int = 8,
    patch: int = 16,
    min_contrast: float = MIN_CONTRAST,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Describe the patches of a picture whose gradients are known; see `dense_sift`.

    Parameters
    ----------
    gradients : list of pairs of float32 arrays of shape (height, width)
        Across and down, one pair per channel; both sides at least ``patch`` pixels long.
    step, patch, min_contrast
        As in `dense_sift`.
    """
    check_grid(step, patch)
    grid = _grid(*gradients[0][0].shape, step, patch)
    least = min_contrast * _slope_length(patch)
    found = np.empty((len(grid.positions), len(gradients), N_NUMBERS), dtype=np.float32)
    for channel, (across, down) in enumerate(gradients):
        by_row = np.matmul(grid.row_weights, _direction_planes(across, down))
        cells = np.matmul(by_row, grid.column_weights.T)
        by_cell = cells.reshape(N_DIRECTIONS, -1).T.copy()
        raw = by_cell.take(grid.cells, axis=0).reshape(-1, N_NUMBERS)
        raw *= _window()
        found[:, channel] = _normalized(raw, least)
    return grid.positions.copy(), found.reshape(len(found), -1)


def repeat_border(pixels: NDArray[_Scalar], patch: int) -> NDArray[_Scalar]:
    """Make sides that are shorter than ``patch`` that long by repeating the border on both ends."""
    short = [max(0, patch - size) for size in pixels.shape[:2]]
    if not any(short):
        return pixels
    ends = [(n // 2, n - n // 2) for n in short] + [(0, 0)] * (pixels.ndim - 2)
    return np.pad(pixels, ends, mode="edge")


def border_margins(shape: tuple[int, ...], patch: int) -> NDArray[np.float32]:
    """Return the rows and columns that `repeat_border` puts before the picture."""
    return np.array([max(0, patch - size) // 2 for size in shape[:2]], dtype=np.float32)


def _direction_planes(across: NDArray[np.float32], down: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return 8 planes (8, height, width): each gradient's length, shared by the two directions beside its angle."""
    lengths, turns = cv2.cartToPolar(across, down)
    turns *= np.float32(N_DIRECTIONS / (2 * np.pi))
    # passed[k] = length · clip(turns - k, 0, 1), the share that has gone beyond direction k; neighbours differ by what
    # a direction keeps. Whole planes at a time are far faster than one scattered write per pixel.
    planes = np.empty((N_DIRECTIONS, *across.shape), dtype=np.float32)
    rest = np.multiply(turns, lengths, out=turns)
    before = lengths
    for direction in range(N_DIRECTIONS):
        passed = np.minimum(np.maximum(rest, 0), lengths)
        np.subtract(before, passed, out=planes[direction])
        rest -= lengths
        before = passed
    planes[0] += before
    return planes


def _normalized(raw: NDArray[np.float32], least: float) -> NDArray[np.float32]:
    lengths = np.sqrt(np.einsum("md,md->m", raw, raw))
    raw *= np.divide(1, lengths, out=np.zeros_like(lengths), where=(lengths >= least) & (lengths > 0))[:, None]
    np.minimum(raw, np.float32(_CLIP), out=raw)
    lengths = np.sqrt(np.einsum("md,md->m", raw, raw))
    raw *= np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)[:, None]
    return raw


class _Grid:
    """The patches of all pictures of one size: their centres, their cells, and what pixels give to the cells.

    Pictures have few sizes, so that grids are kept; nothing of them is ever written to again.
    """

    def __init__(self, height: int, width: int, step: int, patch: int) -> None:
        rows, row_cells, self.row_weights = _axis(height, step, patch)
        columns, column_cells, self.column_weights = _axis(width, step, patch)
        centres = np.meshgrid(rows + patch / 2, columns + patch / 2, indexing="ij")
        self.positions = np.stack([centre.ravel() for centre in centres], axis=1).astype(np.float32)
        # axes: patch row, patch column, cell row, cell column
        self.cells = (row_cells[:, None, :, None] * len(self.column_weights) + column_cells[:, None, :]).ravel()


def _axis(length: int, step: int, patch: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return where patches begin along a side, the four cells of each, and the weight of each pixel in each cell."""
    cell = patch // _CELLS
    corners = np.arange((length - patch) % step // 2, length - patch + 1, step)
    # Neighbouring patches share cells where the step is a multiple of a cell; each cell is summed once.
    starts, cells = np.unique(corners[:, None] + cell * np.arange(_CELLS), return_inverse=True)
    distances = np.abs(np.arange(length) + 0.5 - (starts[:, None] + cell / 2))
    weights = np.maximum(0, 1 - distances / cell).astype(np.float32)
    return corners, cells.reshape(-1, _CELLS), weights


_grid = functools.lru_cache(maxsize=64)(_Grid)


@functools.cache
def _window() -> NDArray[np.float32]:
    """Return the Gaussian factor of each of the 128 numbers; σ is two cells, half a patch."""
    offsets = np.arange(_CELLS) - (_CELLS - 1) / 2
    factors = np.exp(-0.5 * (offsets / (_CELLS / 2)) ** 2)
    window = np.repeat(np.outer(factors, factors).ravel(), N_DIRECTIONS).astype(np.float32)
    window.setflags(write=False)
    return window


def _slope_length(patch: int) -> float:
    """Return the length of the 128 numbers, before scaling, of a patch inside an even slope of one level per pixel."""
    return float(np.linalg.norm(_window()[::N_DIRECTIONS]) * (patch // _CELLS) ** 2)


def check_grid(step: int, patch: int) -> None:
    """Refuse a grid that cannot be laid."""
    if step < 1 or patch < _CELLS or patch % _CELLS:
        raise InvalidInputError(
            f"a grid needs a step of at least 1 and a patch that is a multiple of {_CELLS} pixels, "
            f"got step={step!r}, patch={patch!r}"
        )


# SIFT in colour: the same patches described in several channels, and the grid of them as a local descriptor.

Gradients = tuple[NDArray[np.float32], NDArray[np.float32]]

# Near black, bytes say little about colour; this many levels more in each channel lets such pixels tend to grey.
_DARK = 5.0
_LEVELS = 255.0


def sift_gradients(pixels: NDArray[np.uint8], form: str = "sift") -> list[Gradients]:
    """Return the gradients of each channel of a form of SIFT, on the scale of bytes.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    form : {"sift", "rgbsift", "rgsift", "hsvsift", "csift", "opponentsift"}, default="sift"
        The channels, see Notes.

    Returns
    -------
    list of pairs of float32 arrays of shape (height, width)
        Half the difference of the right and left, and of the lower and upper neighbours.

    Notes
    -----
    The channels of [1]_, computed from the bytes as they are (gamma-encoded):

    ============== ======== ===============================================================================
    form           channels in this order
    ============== ======== ===============================================================================
    sift           1        luma 0.299 R + 0.587 G + 0.114 B
    rgbsift        3        R, G, B
    rgsift         2        255 r, 255 g with r = R' / (R' + G' + B'), g = G' / (R' + G' + B')
    hsvsift        3        hue, 255 S, V with V = max(R, G, B), S = (max - min) / max(R', G', B')
    csift          3        255 O1 / O3', 255 O2 / O3', O3
    opponentsift   3        O1 = (R - G) / √2, O2 = (R + G - 2 B) / √6, O3 = (R + G + B) / √3
    ============== ======== ===============================================================================

    A prime means five levels more in each of R, G and B: black divides nothing by zero, and the colour of nearly black
    pixels, which is rounding, counts for little. Hue is an angle: its gradient is that along the circle, times the
    saturation, so that it neither jumps at red nor depends on the arbitrary hue of greys. With n the unit vector along
    (2 R - G - B, √3 (G - B)) and u = 255 / 2 · S n, it is the part of the gradient of u that is orthogonal to n.

    References
    ----------
    .. [1] K. E. A. van de Sande, T. Gevers, C. G. M. Snoek, "Evaluating color descriptors for object and scene
       recognition", IEEE TPAMI 32 (2010).
    """
    check_form(form)
    return _CHANNELS[form](pixels)


def _luma(pixels: NDArray[np.uint8]) -> list[Gradients]:
    weights = np.array([[0.299, 0.587, 0.114]], dtype=np.float32)
    return [plane_gradients(cv2.transform(pixels.astype(np.float32), weights))]


def _rgb(pixels: NDArray[np.uint8]) -> list[Gradients]:
    return [plane_gradients(plane) for plane in cv2.split(pixels.astype(np.float32))]


def _chromaticities(pixels: NDArray[np.uint8]) -> list[Gradients]:
    red, green, blue = cv2.split(pixels.astype(np.float32) + np.float32(_DARK))
    scale = _LEVELS / (red + green + blue)
    return [plane_gradients(red * scale), plane_gradients(green * scale)]


def _hue_saturation_value(pixels: NDArray[np.uint8]) -> list[Gradients]:
    red, green, blue = cv2.split(pixels.astype(np.float32))
    value = np.maximum(np.maximum(red, green), blue)
    saturation = (value - np.minimum(np.minimum(red, green), blue)) / (value + np.float32(_DARK))
    along, beside = 2 * red - green - blue, np.float32(np.sqrt(3)) * (green - blue)
    # not cv2.magnitude, whose last digit depends on where in memory the result lies
    length = np.sqrt(along * along + beside * beside)
    length[length == 0] = 1  # greys: both parts are 0, and stay so
    along /= length
    beside /= length
    half = saturation * np.float32(_LEVELS / 2)
    first, second = plane_gradients(half * along), plane_gradients(half * beside)
    hue = (along * second[0] - beside * first[0], along * second[1] - beside * first[1])
    return [hue, plane_gradients(saturation * np.float32(_LEVELS)), plane_gradients(value)]


def _opponents(pixels: NDArray[np.uint8]) -> list[Gradients]:
    return [plane_gradients(plane) for plane in _opponent_planes(pixels)]


def _invariants(pixels: NDArray[np.uint8]) -> list[Gradients]:
    first, second, third = _opponent_planes(pixels)
    scale = _LEVELS / (third + np.float32(_DARK * np.sqrt(3)))
    return [plane_gradients(first * scale), plane_gradients(second * scale), plane_gradients(third)]


def _opponent_planes(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], ...]:
    directions = np.array([[1, -1, 0], [1, 1, -2], [1, 1, 1]]) / np.sqrt([[2], [6], [3]])
    return tuple(cv2.split(cv2.transform(pixels.astype(np.float32), directions.astype(np.float32))))


_CHANNELS: dict[str, Callable[[NDArray[np.uint8]], list[Gradients]]] = {
    "sift": _luma,
    "rgbsift": _rgb,
    "rgsift": _chromaticities,
    "hsvsift": _hue_saturation_value,
    "csift": _invariants,
    "opponentsift": _opponents,
}

SIFT_FORMS = {"sift": 1, "rgbsift": 3, "rgsift": 2, "hsvsift": 3, "csift": 3, "opponentsift": 3}
"""The forms of SIFT and their number of channels."""


class DenseSift:
    """SIFT descriptors on a regular grid, in grey or colour.

    Parameters
    ----------
    form : {"sift", "rgbsift", "rgsift", "hsvsift", "csift", "opponentsift"}, default="sift"
        The channels (see `sift_gradients`); each gives 128 numbers, scaled on their own (see
        `tagloom.features.words.sift.dense_sift`).
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    step : int, default=8
        Pixels from one patch to the next.
    patch : int, default=16
        Side of a patch, a multiple of four pixels.
    min_contrast : float, default=1
        Patches of less contrast in a channel get zeros for it.
    """

    version = 1

    def __init__(
        self,
        form: str = "sift",
        *,
        size: int = 256,
        step: int = 8,
        patch: int = 16,
        min_contrast: float = MIN_CONTRAST,
    ) -> None:
        check_form(form)
        check_grid(step, patch)
        self.form = form
        self.size = size
        self.step = step
        self.patch = patch
        self.min_contrast = min_contrast

    @property
    def key(self) -> str:
        """Form, version and parameters in one text."""
        grid = f"size={self.size},step={self.step},patch={self.patch},min_contrast={float(self.min_contrast):g}"
        return f"{self.form}-v{self.version}({grid})"

    @property
    def rendition(self) -> Rendition:
        """The whole photo, longer side at most ``size``."""
        return Rendition(f"fit-{self.size}", "fit", self.size)

    @property
    def n_columns(self) -> int:
        """Length of a descriptor."""
        return N_NUMBERS * SIFT_FORMS[self.form]

    def local_features(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the centres (m, 2) of the patches, row and column, and their descriptors (m, 128 × channels).

        Parameters
        ----------
        pixels : uint8 array of shape (height, width, 3)
            RGB; a side shorter than a patch is made as long by repeating the border.
        """
        gradients = sift_gradients(repeat_border(pixels, self.patch), self.form)
        positions, descriptors = sift_of_gradients(
            gradients, step=self.step, patch=self.patch, min_contrast=self.min_contrast
        )
        positions -= border_margins(pixels.shape, self.patch)
        return positions, descriptors

    def __repr__(self) -> str:
        return f"DenseSift({self.key})"


def check_form(form: str) -> None:
    """Refuse a form of SIFT that is not known."""
    if form not in SIFT_FORMS:
        raise InvalidInputError(f"the form of SIFT must be one of {', '.join(SIFT_FORMS)}, got {form!r}")
