"""Regions: shape, place, colour and texture of each part of a segmented picture."""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.features.classic.color import srgb_to_lab

__all__ = ["REGION_COLUMNS", "region_features"]


_CHANNELS = ("L", "a", "b")
_DIRECTIONS = (0, 30, 60, 90, 120, 150)
_GRADIENT_SCALES = (1, 2)
_BANDS = (1, 2, 4)
_FALLING = np.uint8(4)
_STEPS_TO_DIRECTION = np.array([0, 1, 2, 3, 0, 5, 4, 3])

REGION_COLUMNS: tuple[str, ...] = (
    *("area", "x", "y", "compactness", "frame", "roundness", "eccentricity", "level", "slope"),
    *(f"{channel} {moment}" for moment in ("mean", "deviation", "skewness") for channel in _CHANNELS),
    *(f"gradient {direction}° at {scale}" for scale in _GRADIENT_SCALES for direction in _DIRECTIONS),
    *(f"band {scale}" for scale in _BANDS),
)
"""Names of the 33 columns of `region_features`."""


def region_features(pixels: NDArray[np.uint8], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Describe each region of a picture by 33 numbers.

    ============  ==================================================================================================
    columns       meaning
    ============  ==================================================================================================
    0             area: share of the picture's pixels
    1, 2          x, y: mean column and row of the pixels' centres, as shares of width and height
    3             compactness: 16 area / boundary², 1 for a square; the boundary is the number of pixel sides towards
                  another region or the outside of the picture
    4             frame: share of the boundary that lies on the picture's border
    5             roundness: area / (2 π (variance of x + variance of y)), 1 for a disc, less for anything else
    6             eccentricity of the ellipse with the same second moments, 0 for a disc, 1 for a line
    7, 8          level: (variance of x - variance of y) / sum of both; slope: 2 covariance / the same sum
    9-11          mean of L, a and b
    12-14         standard deviation of L, a and b
    15-17         skewness of L, a and b: signed cube root of the third central moment
    18-23, 24-29  mean length of the gradient of L by direction (0°, 30° … 150°; pixels of other directions count as
                  zero), L being smoothed by a Gaussian with standard deviation 1, then 2
    30-32         root mean square of L - L₁, L₁ - L₂ and L₂ - L₄, Lₛ being L smoothed with standard deviation s
    ============  ==================================================================================================

    Variances of positions are in pixels and include 1/12 for the extent of a pixel, so that one pixel is a square.
    Gradients are Sobel's, divided by eight (levels of L per pixel); 0° is a change from left to right or from right to
    left, 90° one along a column, with rows pointing down; a pixel belongs to the nearest direction. All filters repeat
    the border of the picture and see beyond the border of the region.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    labels : integer array of shape (height, width)
        The region of each pixel, 0 … r - 1, none of them empty (see `tagloom.features.words.regions.segment`).

    Returns
    -------
    float32 array of shape (r, 33)
        One row per region, columns as in `REGION_COLUMNS`.

    Notes
    -----
    The choice follows the region words of Duygulu et al. [1]_ (size, position, colour, oriented energy, differences of
    Gaussians, shape). Deviations: boundary²/area and moment of inertia/area are turned over, which keeps them between
    0 and 1 for ragged regions; colours are in LAB alone and have a skewness; convexity is left out; the share of the
    boundary at the picture's border and the direction of the long axis are added.

    References
    ----------
    .. [1] P. Duygulu, K. Barnard, N. de Freitas and D. Forsyth, "Object recognition as machine translation: learning a
       lexicon for a fixed image vocabulary", ECCV 2002.
    """
    _check_labels(pixels, labels)
    channels = cv2.split(srgb_to_lab(pixels))
    order = _Order(labels)
    columns = [
        order.areas / labels.size,
        *_shape(labels.astype(np.intp), order.areas),
        *_color(channels, order),
        *_texture(channels[0], labels.astype(np.intp).ravel(), order),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def _check_labels(pixels: NDArray[np.uint8], labels: NDArray[np.integer]) -> None:
    if labels.shape != pixels.shape[:2] or labels.dtype.kind not in "iu" or labels.size == 0 or labels.min() < 0:
        raise InvalidInputError(
            f"expected the region of each of {pixels.shape[0]} × {pixels.shape[1]} pixels, counted from 0, got "
            f"{labels.dtype} of shape {labels.shape}"
        )


class _Order:
    """The pixels sorted by region: sums over runs take a tenth of the time of sums by label."""

    def __init__(self, labels: NDArray[np.integer]) -> None:
        counts = np.bincount(labels.ravel())
        if not counts.all():
            raise InvalidInputError(f"region {int(counts.argmin())} has no pixel; number the regions without gaps")
        # Sorting is linear for integers of at most two bytes.
        self._order = labels.astype(np.min_scalar_type(len(counts))).argsort(axis=None, kind="stable")
        self._starts = np.cumsum(counts) - counts
        self._counts = counts
        self.areas = counts.astype(np.float64)

    def sort(self, values: NDArray[np.float32]) -> Floats:
        """Return the values of a picture's pixels, region after region."""
        return values.ravel().take(self._order).astype(np.float64)

    def mean(self, ordered: Floats) -> Floats:
        """Return the mean of each region, of what `sort` returned."""
        means: Floats = np.add.reduceat(ordered, self._starts) / self.areas
        return means

    def spread(self, means: Floats) -> Floats:
        """Return the region's number for each of its pixels, in the order of `sort`."""
        return means.repeat(self._counts)


def _shape(labels: NDArray[np.intp], areas: Floats) -> list[Floats]:
    """Return columns 1 to 8."""
    height, width = labels.shape
    n = len(areas)
    down, across = np.arange(height, dtype=np.float64), np.arange(width, dtype=np.float64)
    in_row = labels * height + np.arange(height)[:, None]
    per_row = np.bincount(in_row.ravel(), minlength=n * height).reshape(n, height)
    column_sums = np.bincount(in_row.ravel(), np.tile(across, height), minlength=n * height).reshape(n, height)
    per_column = np.bincount((labels * width + np.arange(width)).ravel(), minlength=n * width).reshape(n, width)
    x, y = per_column @ across / areas, per_row @ down / areas
    x_variance = _weighted_squares(per_column, across, x) / areas + 1 / 12
    y_variance = _weighted_squares(per_row, down, y) / areas + 1 / 12
    covariance = ((column_sums - per_row * x[:, None]) * (down - y[:, None])).sum(axis=1) / areas
    total = x_variance + y_variance
    level, slope = (x_variance - y_variance) / total, 2 * covariance / total
    elongation = np.hypot(level, slope)  # the share by which the eigenvalues of the moments differ from their mean
    boundary, on_frame = _boundaries(labels, n)
    return [
        (x + 0.5) / width,
        (y + 0.5) / height,
        16 * areas / boundary**2,
        on_frame / boundary,
        areas / (2 * np.pi * total),
        np.sqrt(2 * elongation / (1 + elongation)),
        level,
        slope,
    ]


def _weighted_squares(counts: NDArray[np.int64], places: Floats, means: Floats) -> Floats:
    squares: Floats = (counts * (places - means[:, None]) ** 2).sum(axis=1)
    return squares


def _boundaries(labels: NDArray[np.intp], n: int) -> tuple[Floats, Floats]:
    """Return the number of pixel sides at the border of each region, and of those at the picture's border."""
    frame = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    sides = [frame]
    for first, second in ((labels[:, 1:], labels[:, :-1]), (labels[1:], labels[:-1])):
        apart = first != second
        sides += [first[apart], second[apart]]
    boundary, on_frame = (np.bincount(part, minlength=n) for part in (np.concatenate(sides), frame))
    return boundary.astype(np.float64), on_frame.astype(np.float64)


def _color(channels: Sequence[NDArray[np.float32]], order: _Order) -> list[Floats]:
    """Return columns 9 to 17."""
    means, deviations, skewnesses = [], [], []
    for channel in channels:
        ordered = order.sort(channel)
        means.append(order.mean(ordered))
        ordered -= order.spread(means[-1])
        squares = ordered * ordered
        deviations.append(np.sqrt(order.mean(squares)))
        squares *= ordered
        skewnesses.append(np.cbrt(order.mean(squares)))
    return [*means, *deviations, *skewnesses]


def _texture(lightness: NDArray[np.float32], flat: NDArray[np.intp], order: _Order) -> list[Floats]:
    """Return columns 18 to 32."""
    n = len(order.areas)
    smooth = {scale: _smoothed(lightness, scale) for scale in _BANDS}
    columns: list[Floats] = []
    for scale in _GRADIENT_SCALES:
        directions, lengths = _gradients(smooth[scale])
        bins = flat * len(_DIRECTIONS) + directions.ravel()
        sums = np.bincount(bins, lengths.ravel(), minlength=n * len(_DIRECTIONS))
        columns += list(sums.reshape(n, -1).T / order.areas)
    for finer, coarser in zip((lightness, smooth[1], smooth[2]), smooth.values(), strict=True):
        band = cv2.subtract(finer, coarser)
        columns.append(np.sqrt(order.mean(order.sort(band * band))))
    return columns


def _smoothed(values: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
    smooth: NDArray[np.float32] = cv2.GaussianBlur(values, (0, 0), scale, borderType=cv2.BORDER_REPLICATE)
    return smooth


def _gradients(values: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Return the nearest of the directions of each pixel's gradient, and its length."""
    gx, gy = (
        cv2.Sobel(values, cv2.CV_32F, *order, scale=1 / 8, borderType=cv2.BORDER_REPLICATE)
        for order in ((1, 0), (0, 1))
    )
    steep, flat = np.abs(gy), np.abs(gx)
    # How many of the borders at 15°, 45° and 75° the gradient is beyond; falling ones count back from 180°.
    steps = np.zeros(values.shape, dtype=np.uint8)
    for border in (15, 45, 75):
        steps += steep >= np.float32(np.tan(np.radians(border))) * flat
    steps += _FALLING * ((gx < 0) != (gy < 0))
    # not cv2.magnitude, whose last digit depends on where in memory the result lies
    return _STEPS_TO_DIRECTION[steps], np.sqrt(gx * gx + gy * gy)
