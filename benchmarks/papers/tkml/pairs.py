"""Kernels of all pairs of photos: computed once, kept beside the features, found again by the features."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.datasets import CACHE
from benchmarks.errors import BenchmarkError
from tagloom.core.files import atomic_write
from tagloom.graph import NeighborGraph
from tagloom.kernels import intersection_kernel

Floats = NDArray[np.float64]
#: What is kept of every descriptor: inner products, χ² distances, intersections.
KINDS = ("linear", "chi2", "intersection")
KERNELS = ("linear", "rbf", "intersection", "chi2")
#: Rows of the χ² distances that are computed at a time, and columns that are summed in single precision.
_ROWS, _COLUMNS = 256, 512

_known: dict[str, "Pairs"] = {}


@dataclass(frozen=True)
class Pairs:
    """What is known of all pairs of photos, for each descriptor.

    Parameters
    ----------
    folder : Path
        Holds ``KIND-DESCRIPTOR.npy``, float32 of shape (n, n).
    descriptors : tuple of str
        Their names.
    neighborhood : (str, int)
        Similarity and number of neighbours of the dataset's graph.
    """

    folder: Path
    descriptors: tuple[str, ...]
    neighborhood: tuple[str, int]

    def kernel(self, name: str, *, width: float = 1.0, descriptor: str | None = None) -> Floats:
        """Return a kernel with a diagonal of 1 in the mean.

        Parameters
        ----------
        name : {"linear", "rbf", "intersection", "chi2"}
            Which.
        width : float
            γ of "rbf" and "chi2" in units of one over the mean (squared) distance of two photos.
        descriptor : str, optional
            Default: all of them side by side, whose sums are those of the descriptors.
        """
        if name not in KERNELS:
            raise BenchmarkError(f"kernel must be one of {KERNELS}, got {name!r}")
        values = self._sum("linear" if name == "rbf" else name, descriptor)
        if name in ("linear", "intersection"):
            return values / np.diag(values).mean()
        distances = squared_distances(values) if name == "rbf" else values
        mean = distances.sum() / (len(distances) * (len(distances) - 1))
        return np.asarray(np.exp(distances * (-width / mean)))

    def graph(self, similarity: str, n_neighbors: int) -> NeighborGraph:
        """Link every photo to its nearest ones, in both directions.

        Parameters
        ----------
        similarity : {"intersection", "euclidean"}
            Weights: the intersection; or the heat kernel of the distance, as wide as the median distance of a
            neighbour.
        n_neighbors : int
            k.
        """
        if similarity == "intersection":
            return similarity_graph(self.kernel("intersection"), n_neighbors)
        if similarity != "euclidean":
            raise BenchmarkError(f"similarity must be 'intersection' or 'euclidean', got {similarity!r}")
        squares = squared_distances(self._sum("linear", None))
        rest = squares.copy()
        np.fill_diagonal(rest, np.inf)
        nearest = np.partition(rest, n_neighbors - 1, axis=1)[:, :n_neighbors]
        return similarity_graph(np.exp(squares / (-2.0 * np.median(nearest))), n_neighbors)

    def _sum(self, kind: str, descriptor: str | None) -> Floats:
        names = self.descriptors if descriptor is None else (descriptor,)
        total = np.zeros(1)
        for name in names:
            total = total + np.load(self.folder / f"{kind}-{name}.npy", mmap_mode="r")
        return np.asarray(total, dtype=np.float64)


def squared_distances(products: Floats) -> Floats:
    """Return the squared distances that belong to inner products."""
    sizes = np.diag(products)
    found: Floats = np.maximum(sizes[:, None] + sizes - 2.0 * products, 0.0)
    np.fill_diagonal(found, 0.0)
    return found


def similarity_graph(similarity: Floats, n_neighbors: int) -> NeighborGraph:
    """Link every row to those of the largest similarity, equal ones by index; an edge counts in both directions."""
    n = len(similarity)
    ranked = similarity.copy()
    np.fill_diagonal(ranked, -np.inf)
    nearest = np.argsort(-ranked, axis=1, kind="stable")[:, :n_neighbors]
    values = np.take_along_axis(similarity, nearest, axis=1)
    one_way = sparse.csr_array((values.ravel(), nearest.ravel(), np.arange(n + 1) * n_neighbors), shape=(n, n))
    return NeighborGraph.from_weights(one_way.maximum(one_way.T).tocsr())


def keep_pairs(
    X: NDArray[Any],
    key: str,
    histograms: Callable[[], Mapping[str, NDArray[np.float32]]],
    neighborhood: tuple[str, int],
) -> None:
    """Make the pairs of photos with these features known; compute what is not in the cache.

    Parameters
    ----------
    X : array of shape (n, d)
        Features by which they are found again.
    key : str
        Name of the folder in ``benchmarks/.cache``.
    histograms : function
        Returns the histograms (n, d) of each descriptor; called where something is missing.
    neighborhood : (str, int)
        Similarity and number of neighbours of the graph.
    """
    folder = CACHE / key
    listing = folder / "descriptors.txt"
    if not listing.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        found = histograms()
        for name, values in found.items():
            for kind in KINDS:
                path = folder / f"{kind}-{name}.npy"
                if not path.is_file():
                    with atomic_write(path) as handle:
                        np.save(handle, _compute(kind, values).astype(np.float32))
        with atomic_write(listing) as handle:
            handle.write("\n".join(found).encode())
    _known[_mark(X)] = Pairs(folder, tuple(listing.read_text(encoding="utf-8").split()), neighborhood)


def pairs_of(X: NDArray[Any]) -> Pairs:
    """Return the pairs of the photos with these features."""
    mark = _mark(X)
    if mark not in _known:
        raise BenchmarkError("no kernels are kept for these rows; load the dataset first and leave its rows in order")
    return _known[mark]


def _mark(X: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(X).data).hexdigest()


def _compute(kind: str, histograms: NDArray[np.float32]) -> NDArray[Any]:
    if kind == "linear":
        return histograms @ histograms.T
    return intersection_kernel(histograms) if kind == "intersection" else chi2_of_histograms(histograms)


def chi2_of_histograms(histograms: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return ``Σ (a - b)² / (a + b)`` of all pairs, from the columns where both are positive.

    ``(a - b)² / (a + b) = a + b - 4 ab / (a + b)``, and the last part is zero unless both are positive: a third of the
    time of `tagloom.kernels.chi2_distances` for words of a pyramid. Sums over 512 columns in single precision.
    """
    n = len(histograms)
    common = np.zeros((n, n))
    for start in range(0, histograms.shape[1], _COLUMNS):
        values = histograms[:, start : start + _COLUMNS]
        by_column = np.ascontiguousarray(values.T)
        for first in range(0, n, _ROWS):
            others = np.ascontiguousarray(by_column[:, first : first + _ROWS])
            _add_harmonic(values[first:], others, common[first:, first : first + _ROWS])
    lower = np.tril(common)
    sums = histograms.sum(axis=1, dtype=np.float64)
    distances = sums[:, None] + sums - 4.0 * (lower + np.tril(lower, -1).T)
    np.fill_diagonal(distances, 0.0)
    return np.maximum(distances, 0.0)


def _add_harmonic(rows: NDArray[np.float32], others: NDArray[np.float32], out: Floats) -> None:
    """Add ``Σ ab / (a + b)`` of rows (r, k) with others (k, m), columns as rows, to out (r, m)."""
    for row, sums in zip(rows, out, strict=True):
        positive = np.flatnonzero(row)
        b = others[positive]
        a = row[positive, None]
        # a > 0: nothing is divided by zero.
        sums += a.T[0] @ (b / (b + a))
