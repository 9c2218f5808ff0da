"""Segmentation: a picture cut into a handful of connected regions of similar colour and texture."""

import functools
import heapq
import math
from collections.abc import Iterable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tagloom.core import Floats, Ints, Singles
from tagloom.exceptions import InvalidInputError
from tagloom.features.classic.color import srgb_to_lab

__all__ = ["REGION_COLUMNS", "region_features", "segment"]


# Regions: shape, place, colour and texture of each part of a segmented picture.

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
        *_region_texture(channels[0], labels.astype(np.intp).ravel(), order),
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


def _region_texture(lightness: NDArray[np.float32], flat: NDArray[np.intp], order: _Order) -> list[Floats]:
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


_SIDE = 96  # longer side of the picture that is segmented
_CELL = 8  # side of the squares that superpixels start from, smaller where the picture is
_N_CELLS = _SIDE // _CELL
_N_ITERATIONS = 3
_COMPACTNESS = 10.0  # LAB units that a superpixel trades for one side of a cell
_SMOOTHING = 1.0  # standard deviation of the Gaussian, pixels of the picture that is segmented
_TEXTURE_WINDOW = np.ones((5, 5), dtype=np.uint8)
# Lightness varies within an object by light and shade, hue less so; gradients are small numbers next to colours.
_CHANNEL_WEIGHTS = np.array([0.7, 1.3, 1.3, 4.0])
_SIZE_POWER = 0.7


def segment(
    pixels: NDArray[np.uint8], *, n_regions: int = 8, min_share: float = 0.01, tolerance: float = 4.0
) -> NDArray[np.int32]:
    """Cut a picture into at most ``n_regions`` connected regions.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    n_regions : int, default=8
        The most regions there may be.
    min_share : float, default=0.01
        Least share of the picture that a region may have; smaller ones join a neighbour.
    tolerance : float, default=4
        Neighbours whose mean colour and texture differ by less than this (about LAB units) are one region, even if
        there are fewer than ``n_regions`` then. A constant picture is one region.

    Returns
    -------
    int32 array of shape (height, width)
        The region of each pixel. Regions are 4-connected and numbered from 0 by decreasing area, equal ones in the
        order of their first pixels.

    Notes
    -----
    The picture is reduced to about 96 pixels (never enlarged) and smoothed. Superpixels come from three rounds of
    k-means in LAB and position, each pixel choosing among the 3 × 3 cells of 8 × 8 pixels (fewer if the longer side
    is below 96) around it [1]_; what is not connected is cut apart, and pieces below a quarter of a cell join the
    neighbour that is most alike. Superpixels with a common border are then merged pair by pair, always the pair with
    the least

    ``(a b / (a + b)) ** 0.7 * d ** 2``,

    where a and b are the areas, and d is the distance of the means of 0.7 L, 1.3 a, 1.3 b and four times the
    smoothed length of the gradient of L, without single edges (opening by 5 × 5). With 1 for 0.7 this is Ward's
    criterion [2]_, the increase of the within-region sum of squares; the lower power splits large even backgrounds
    less. The literature on region words uses normalised cuts [3]_. With the same superpixels and as many regions, on
    masks drawn by people, they put fewer pixels into a region of their class and gave about equal or larger overlaps
    of regions: a trade, not a loss on both counts.

    References
    ----------
    .. [1] R. Achanta et al., "SLIC superpixels compared to state-of-the-art superpixel methods", IEEE TPAMI 34 (2012).
    .. [2] J. H. Ward, "Hierarchical grouping to optimize an objective function", JASA 58 (1963).
    .. [3] J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE TPAMI 22 (2000).
    """
    if n_regions < 1 or not 0 <= min_share <= 1 or not tolerance >= 0:
        raise InvalidInputError(
            f"expected n_regions of at least 1, min_share from 0 to 1 and tolerance of at least 0, "
            f"got {n_regions!r}, {min_share!r} and {tolerance!r}"
        )
    shape = pixels.shape[:2]
    cells, cell_shape = _cell_grid(shape)
    small_shape = (cells[0] * cell_shape[0], cells[1] * cell_shape[1])
    reduced = cv2.resize(pixels, small_shape[::-1], interpolation=cv2.INTER_AREA)
    lab = srgb_to_lab(reduced)
    smooth = cv2.GaussianBlur(lab, (0, 0), _SMOOTHING)
    superpixels = _connected(_superpixels(smooth, cells, cell_shape))
    channels = np.concatenate([lab, _texture(lab[..., 0])[..., None]], axis=2).reshape(-1, 4) * _CHANNEL_WEIGHTS
    graph = _RegionGraph(superpixels, channels)
    graph.absorb_fragments(cell_shape[0] * cell_shape[1] // 4)
    graph.merge(n_regions, min_size=min_share * superpixels.size, tolerance=tolerance)
    return _enlarge_by_area(graph.labels(), shape)


def _cell_grid(shape: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return numbers of cells and pixels per cell, down and across, of a picture that is never enlarged."""
    scale = min(1.0, _SIDE / max(shape))
    side = min(_CELL, max(1, max(shape) // _N_CELLS))
    cell = (min(side, shape[0]), min(side, shape[1]))
    counts = [max(1, min(round(size * scale / step), size // step)) for size, step in zip(shape, cell, strict=True)]
    return (counts[0], counts[1]), cell


def _texture(lightness: Singles) -> Singles:
    """Return how long gradients are where there are many of them."""
    gx, gy = (cv2.Sobel(lightness, cv2.CV_32F, *order, scale=1 / 8) for order in ((1, 0), (0, 1)))
    # not cv2.magnitude, whose last digit depends on where in memory the result lies
    lengths = cv2.GaussianBlur(np.sqrt(gx * gx + gy * gy), (0, 0), _SMOOTHING)
    # Opening takes away ridges narrower than the window: a single edge between two even areas is no texture.
    texture: Singles = cv2.morphologyEx(lengths, cv2.MORPH_OPEN, _TEXTURE_WINDOW)
    return texture


@functools.lru_cache(maxsize=32)
def _positions(cells: tuple[int, int], cell_shape: tuple[int, int]) -> Singles:
    """Return rows and columns of the pixels in cell order, in units of `_COMPACTNESS` per cell."""
    height, width = cells[0] * cell_shape[0], cells[1] * cell_shape[1]
    places = np.indices((height, width), dtype=np.float32) * (_COMPACTNESS / max(cell_shape))
    ordered = np.stack([_to_cells(axis, cells, cell_shape) for axis in places])
    ordered.setflags(write=False)
    return ordered


def _to_cells(channel: Singles, cells: tuple[int, int], cell_shape: tuple[int, int]) -> Singles:
    """Reorder (height, width) to (place in the cell, cell), so that all cells are computed in one long row."""
    blocks = channel.reshape(cells[0], cell_shape[0], cells[1], cell_shape[1])
    return blocks.transpose(1, 3, 0, 2).reshape(cell_shape[0] * cell_shape[1], cells[0] * cells[1])


def _superpixels(lab: Singles, cells: tuple[int, int], cell_shape: tuple[int, int]) -> Ints:
    """Return the superpixel of each pixel by k-means among the 3 × 3 cells around each pixel's own."""
    n_cells = cells[0] * cells[1]
    colors = [_to_cells(channel, cells, cell_shape) for channel in cv2.split(lab)]
    points = np.concatenate([colors, _positions(cells, cell_shape)])
    numbers = np.pad(np.arange(n_cells).reshape(cells), 1)
    shifts = [(slice(i, i + cells[0]), slice(j, j + cells[1])) for i in range(3) for j in range(3)]
    choices = np.stack([numbers[shift].ravel() for shift in shifts])
    labels = np.tile(np.arange(n_cells), points.shape[1])
    centers = np.empty((len(points), n_cells))
    # Cells outside of the picture are infinitely far from everything.
    padded = np.full((len(points), cells[0] + 2, cells[1] + 2), np.inf, dtype=np.float32)
    for _ in range(_N_ITERATIONS):
        counts = np.bincount(labels, minlength=n_cells)
        sums = np.stack([np.bincount(labels, weights=channel.ravel(), minlength=n_cells) for channel in points])
        np.divide(sums, counts, out=centers, where=counts > 0)
        padded[:, 1:-1, 1:-1] = centers.reshape(len(points), *cells)
        candidates = (padded[:, rows, columns].reshape(len(points), 1, n_cells) for rows, columns in shifts)
        labels = np.take_along_axis(choices, _nearest(points, candidates), axis=0).ravel()
    ordered = labels.reshape(*cell_shape, *cells).transpose(2, 0, 3, 1)
    return ordered.reshape(cells[0] * cell_shape[0], cells[1] * cell_shape[1])


def _nearest(points: Singles, candidates: Iterable[Singles]) -> Ints:
    """Return which of at most 16 candidates is nearest to each point, the first of equally near ones."""
    best = np.full(points.shape[1:], np.iinfo(np.int32).max, dtype=np.int32)
    for index, candidate in enumerate(candidates):
        difference = points - candidate
        difference *= difference
        # Floats that are not negative have the order of their bits. With the candidate's number in the last four, the
        # least is found without a second array of numbers; `argmin` over a short first axis is ten times slower.
        bits = difference.sum(axis=0).view(np.int32)
        bits &= ~15
        bits |= index
        np.minimum(best, bits, out=best)
    return (best & 15).astype(np.int64)


def _connected(labels: Ints) -> Ints:
    """Return the 4-connected pieces of equal label."""
    height, width = labels.shape
    # A picture of twice the size has room for the links between pixels: one where both ends have the same label.
    links = np.zeros((2 * height - 1, 2 * width - 1), dtype=np.uint8)
    links[::2, ::2] = 1
    links[::2, 1::2] = labels[:, 1:] == labels[:, :-1]
    links[1::2, ::2] = labels[1:] == labels[:-1]
    pieces = cv2.connectedComponents(links, connectivity=4)[1]
    return pieces[::2, ::2].astype(np.int64) - 1


def _enlarge_by_area(labels: Ints, shape: tuple[int, int]) -> NDArray[np.int32]:
    """Repeat pixels up to a shape and number the regions from 0 by decreasing area, then by first pixel."""
    _, first, dense = np.unique(labels, return_index=True, return_inverse=True)
    rows, columns = (np.arange(size) * small // size for size, small in zip(shape, labels.shape, strict=True))
    repeats = np.outer(np.bincount(rows), np.bincount(columns))
    areas = np.bincount(dense.ravel(), weights=repeats.ravel())
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.lexsort((first, -areas))] = np.arange(len(first), dtype=np.int32)
    return rank[dense.reshape(labels.shape)][rows][:, columns]


class _RegionGraph:
    """Regions with areas and mean channels, and the pairs of regions that have a common border."""

    def __init__(self, labels: Ints, channels: NDArray[np.float64]) -> None:
        self._pixels = labels
        self._node = np.arange(labels.max() + 1)  # the region that each of the first regions has become part of
        self._sizes = np.bincount(labels.ravel()).astype(np.float64)
        sums = [np.bincount(labels.ravel(), weights=channel) for channel in channels.T]
        self._means = np.stack(sums, axis=1) / self._sizes[:, None]
        self._pairs = self._distinct(
            np.concatenate([labels[:, 1:].ravel(), labels[1:].ravel()]),
            np.concatenate([labels[:, :-1].ravel(), labels[:-1].ravel()]),
        )

    def labels(self) -> Ints:
        """Return the region of each pixel."""
        return self._node[self._pixels]

    def absorb_fragments(self, min_size: int) -> None:
        """Join every region below ``min_size`` with the neighbour most like it, until there is none."""
        while len(self._pairs[0]):
            small = self._sizes < min_size
            if not small.any():
                return
            ends = np.concatenate(self._pairs), np.concatenate(self._pairs[::-1])
            costs = ((self._means[ends[0]] - self._means[ends[1]]) ** 2).sum(axis=1)
            order = np.lexsort((ends[1], costs, ends[0]))
            regions, first = np.unique(ends[0][order], return_index=True)
            chosen = ends[1][order][first]
            joining = small[regions]
            self._join(regions[joining], chosen[joining])

    def merge(self, n_regions: int, *, min_size: float, tolerance: float) -> None:
        """Merge the cheapest pair of neighbours until no more than ``n_regions`` are left, none small, none alike."""
        tree = _MergeTree(self._sizes, self._means, self._pairs)
        while tree.n_regions > n_regions and tree.merge_cheapest():
            pass
        while tree.merge_cheapest(min_size=min_size, tolerance=tolerance):
            pass
        self._node = tree.roots()[self._node]

    def _join(self, left: Ints, right: Ints) -> None:
        n = len(self._sizes)
        links = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(n, n))
        _, group = connected_components(links, directed=False)
        sizes: NDArray[np.float64] = np.bincount(group, weights=self._sizes).astype(np.float64)
        sums = [np.bincount(group, weights=self._sizes * channel) for channel in self._means.T]
        self._means = np.stack(sums, axis=1) / sizes[:, None]
        self._sizes = sizes
        self._node = group[self._node]
        self._pairs = self._distinct(group[self._pairs[0]], group[self._pairs[1]])

    def _distinct(self, left: Ints, right: Ints) -> tuple[Ints, Ints]:
        n = len(self._sizes)
        apart = left != right
        low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
        codes = np.unique(low * n + high)
        return codes // n, codes % n


class _MergeTree:
    """Merging of neighbours one pair at a time; every merger is a new region, numbered after all before it."""

    def __init__(self, sizes: NDArray[np.float64], means: NDArray[np.float64], pairs: tuple[Ints, Ints]) -> None:
        # Some thousand costs of single pairs: plain numbers take a fraction of the time of arrays of that length.
        self.n_regions = len(sizes)
        self._sizes: list[float] = sizes.tolist()
        self._means: list[list[float]] = means.tolist()
        self._parents = list(range(len(sizes)))
        self._neighbors: list[set[int]] = [set() for _ in sizes]
        self._queue: list[tuple[float, int, int]] = []
        for a, b in zip(pairs[0].tolist(), pairs[1].tolist(), strict=True):
            self._neighbors[a].add(b)
            self._neighbors[b].add(a)
            self._queue.append((self._cost(a, b), a, b))
        heapq.heapify(self._queue)

    def merge_cheapest(self, *, min_size: float | None = None, tolerance: float = 0.0) -> bool:
        """Merge one pair and tell whether there was one.

        With ``min_size`` only pairs count of which one region is smaller than that, or that are within ``tolerance``.
        """
        parents, queue = self._parents, self._queue
        if min_size is None:
            while queue:
                _, a, b = heapq.heappop(queue)
                if parents[a] == a and parents[b] == b:
                    self._merge(a, b)
                    return True
            return False
        live = [(cost, a, b) for cost, a, b in queue if parents[a] == a and parents[b] == b]
        due = [
            (cost, a, b)
            for cost, a, b in live
            if min(self._sizes[a], self._sizes[b]) < min_size or self._squared_distance(a, b) <= tolerance**2
        ]
        if due:
            self._merge(*min(due)[1:])
        return bool(due)

    def roots(self) -> Ints:
        """Return the region that each of the first regions is part of now."""
        roots = np.array(self._parents)
        while not np.array_equal(roots, roots[roots]):
            roots = roots[roots]
        return roots

    def _squared_distance(self, a: int, b: int) -> float:
        return math.dist(self._means[a], self._means[b]) ** 2

    def _cost(self, a: int, b: int) -> float:
        size_a, size_b = self._sizes[a], self._sizes[b]
        weight: float = (size_a * size_b / (size_a + size_b)) ** _SIZE_POWER
        return weight * self._squared_distance(a, b)

    def _merge(self, a: int, b: int) -> None:
        new = len(self._sizes)
        size_a, size_b = self._sizes[a], self._sizes[b]
        size = size_a + size_b
        self._sizes.append(size)
        self._means.append(
            [(size_a * x + size_b * y) / size for x, y in zip(self._means[a], self._means[b], strict=True)]
        )
        self._parents[a] = self._parents[b] = new
        self._parents.append(new)
        around = (self._neighbors[a] | self._neighbors[b]) - {a, b}
        self._neighbors.append(around)
        for other in around:
            self._neighbors[other] -= {a, b}
            self._neighbors[other].add(new)
            heapq.heappush(self._queue, (self._cost(other, new), other, new))
        self.n_regions -= 1
