"""Segmentation: a picture cut into a handful of connected regions of similar colour and texture."""

import functools
import heapq
import math
from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tagloom.core.typing import Ints, Singles
from tagloom.exceptions import InvalidInputError
from tagloom.features.classic.color import srgb_to_lab

__all__ = ["segment"]


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
