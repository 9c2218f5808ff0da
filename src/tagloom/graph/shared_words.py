"""Photos linked by the words they share: visual words, and tags."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import UNKNOWN, Floats, LabelMatrix, check_labels
from tagloom.exceptions import InvalidInputError
from tagloom.graph.runtime import row_blocks
from tagloom.graph.structure import NeighborGraph

__all__ = ["SharedWordsGraph", "shared_words_graph"]

Weighting = Literal["binary", "heat", "dot"]

#: Entries of a block of shared counts, were it full.
_BLOCK_ENTRIES = 1 << 23
#: Share of stored entries from which products of full matrices are faster.
_DENSE = 0.1


@dataclass(frozen=True, eq=False)
class SharedWordsGraph:
    """A graph of shared visual words, with a report of what it skipped.

    Attributes
    ----------
    graph : NeighborGraph
        The graph over the photos it was made from.
    common_words : ndarray of int
        Visual words that are too common to count.
    n_capped : int
        Photos that share enough words with more than ``max_neighbors`` others.
    n_dropped : int
        Links that were left out for that reason.
    """

    graph: NeighborGraph
    common_words: NDArray[np.intp]
    n_capped: int
    n_dropped: int
    _rule: "_Rule"
    _words: Any

    def links(self, words: Any) -> Any:
        """Return the weights of the links from new photos to the photos of the graph.

        Parameters
        ----------
        words : array or CSR of shape (m, d)
            Visual words of the new photos. Nothing is known of their tags.

        Returns
        -------
        sparse array of shape (m, n)
            CSR, float64; at most ``max_neighbors`` links for each new photo.
        """
        new = _as_counts(words)
        if new.shape[1] != self._words.shape[1]:
            raise InvalidInputError(f"expected {self._words.shape[1]} visual words (columns), got {new.shape[1]}")
        finder = _Finder(self._words, None, self._rule, self.common_words)
        counts = finder.links(new, None, itself=False)[0]
        rows = np.repeat(np.arange(new.shape[0]), np.diff(counts.indptr))
        values = self._rule.weigh(_Pairs(new, self._words, rows, counts.indices))
        return sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)


def shared_words_graph(
    words: Any,
    *,
    threshold: int = 3,
    tags: Any = None,
    tag_threshold: int | None = None,
    weights: Weighting = "binary",
    max_neighbors: int = 200,
    common_share: float = 0.5,
    visual_bandwidth: float | None = None,
    tag_bandwidth: float | None = None,
    visual_weight: float = 1.0,
    tag_weight: float = 1.0,
) -> SharedWordsGraph:
    """Link photos that share at least so many distinct visual words, or so many tags.

    Parameters
    ----------
    words : array or CSR of shape (n, d)
        Counts of visual words, none negative. A word is in a photo where its count is above 0.
    threshold : int, default=3
        Visual words that linked photos share (T_f in Eq. 3 of paper 001).
    tags : label matrix of shape (n, c), optional
        Only known tags count as shared.
    tag_threshold : int, optional
        Tags that linked photos share (T_w in Eq. 3). None: tags make no links.
    weights : {"binary", "heat", "dot"}, default="binary"
        Eq. (4), (5), (6): 1; ``exp(-‖F_i - F_j‖²/σ_f - ‖W_i - W_j‖²/σ_w)``; ``μ_f F_i·F_j + μ_w W_i·W_j``. Distances of
        tags are over the entries known on both photos.
    max_neighbors : int, default=200
        A photo with more links keeps those with most shared words, then to photos with the fewest words; a link stays
        if either of its photos keeps it.
    common_share : float, default=0.5
        Visual words in more than this share of the photos are not counted: they link everything to everything.
    visual_bandwidth, tag_bandwidth : float, optional
        σ_f and σ_w. Default: the median squared distance of linked photos, where it is above 0, else 1.
    visual_weight, tag_weight : float, default=1.0
        μ_f and μ_w.

    Returns
    -------
    SharedWordsGraph
        The graph, what was left out, and ``links`` for new photos.

    Examples
    --------
    >>> found = shared_words_graph([[1, 1, 0], [2, 1, 0], [0, 0, 1]], threshold=2, common_share=1.0)
    >>> found.graph.weights.toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    _check_positive("threshold", threshold)
    _check_positive("max_neighbors", max_neighbors)
    if tag_threshold is not None:
        _check_positive("tag_threshold", tag_threshold)
    _check(weights, common_share)
    counts = _as_counts(words)
    n = counts.shape[0]
    Y = None if tags is None else check_labels(tags, n_rows=n)
    n_photos = np.bincount(counts.indices, minlength=counts.shape[1])
    common = np.flatnonzero(n_photos > common_share * n)
    rule = _Rule(threshold, tag_threshold, weights, max_neighbors, float(visual_weight), float(tag_weight))
    finder = _Finder(counts, Y if tag_threshold is not None else None, rule, common)
    directed, n_capped, n_candidates = finder.links(counts, finder.tags, itself=True)
    linked = sparse.triu(directed.maximum(directed.T), format="coo")
    pairs = _Pairs(counts, counts, linked.row, linked.col, Y)
    rule.set_bandwidths(pairs, visual_bandwidth, tag_bandwidth)
    upper = sparse.coo_array((rule.weigh(pairs), (linked.row, linked.col)), shape=(n, n))
    W = sparse.csr_array(upper + upper.T)
    W.eliminate_zeros()
    W.sort_indices()
    dropped = n_candidates // 2 - linked.nnz
    return SharedWordsGraph(NeighborGraph(W), common, n_capped, int(dropped), rule, counts)


class _Rule:
    """Which photos are linked, and with what weight."""

    def __init__(
        self,
        threshold: int,
        tag_threshold: int | None,
        weights: str,
        max_neighbors: int,
        visual_weight: float,
        tag_weight: float,
    ) -> None:
        self.threshold = threshold
        self.tag_threshold = tag_threshold
        self.weights = weights
        self.max_neighbors = max_neighbors
        self.visual_weight = visual_weight
        self.tag_weight = tag_weight
        self.visual_bandwidth = self.tag_bandwidth = 1.0

    def set_bandwidths(self, pairs: "_Pairs", visual: float | None, tag: float | None) -> None:
        """Take the given bandwidths, or the medians over these pairs."""
        if self.weights != "heat":
            return
        distances = pairs.visual_distances()
        self.visual_bandwidth = _typical(distances) if visual is None else float(visual)
        distances = pairs.tag_distances()
        self.tag_bandwidth = _typical(distances[distances > 0]) if tag is None else float(tag)

    def weigh(self, pairs: "_Pairs") -> Floats:
        """Return the weight of each pair: Eq. (4), (5) or (6)."""
        if self.weights == "binary":
            return np.ones(len(pairs))
        if self.weights == "heat":
            return np.exp(
                -pairs.visual_distances() / self.visual_bandwidth - pairs.tag_distances() / self.tag_bandwidth
            )
        return self.visual_weight * pairs.visual_products() + self.tag_weight * pairs.tag_products()


class _Finder:
    """Counts shared words of photos with those of the graph, a block of rows at a time."""

    def __init__(self, words: Any, Y: LabelMatrix | None, rule: _Rule, common: NDArray[np.intp]) -> None:
        self.rule = rule
        self.counted = np.ones(words.shape[1], dtype=bool)
        self.counted[common] = False
        self.present = self.presence(words)
        self.tags: Any = None if Y is None else sparse.csr_array((Y == 1).astype(np.float32))
        self.sizes = np.diff(self.present.indptr)
        n, d = self.present.shape
        self.is_dense = self.present.nnz > _DENSE * n * max(d, 1)

    def presence(self, words: Any) -> Any:
        """Return which counted words are in which photo."""
        present = sparse.csr_array(words[:, self.counted], dtype=np.float32)
        present.data[:] = 1.0
        return present

    def links(self, words: Any, tags: Any, *, itself: bool) -> tuple[Any, int, int]:
        """Return the counts of the links that are kept, how many rows were capped, and how many links were found."""
        here = self.presence(words)
        others = self.present.toarray().T if self.is_dense else sparse.csr_array(self.present.T)
        parts, n_capped, n_found = [], 0, 0
        for rows in row_blocks(here.shape[0], max(1, _BLOCK_ENTRIES // max(self.present.shape[0], 1))):
            block = here[rows].toarray() if self.is_dense else here[rows]
            shared = self._at_least(block @ others, self.rule.threshold)
            if tags is not None:
                shared = shared + self._at_least(tags[rows] @ self.tags.T, self.rule.tag_threshold)
            shared = _without_self(sparse.coo_array(shared), rows.start) if itself else sparse.csr_array(shared)
            kept, capped = self._best(shared)
            parts.append(kept)
            n_capped += capped
            n_found += shared.nnz
        found = sparse.csr_array(sparse.vstack(parts, format="csr"))
        found.sort_indices()
        return found, n_capped, n_found

    @staticmethod
    def _at_least(counts: Any, threshold: int | None) -> Any:
        if not sparse.issparse(counts):
            return sparse.csr_array(np.where(counts >= threshold, counts, 0.0))
        counts = sparse.csr_array(counts)
        counts.data[counts.data < threshold] = 0.0
        counts.eliminate_zeros()
        return counts

    def _best(self, shared: Any) -> tuple[Any, int]:
        """Keep the best links of each row."""
        lengths = np.diff(shared.indptr)
        n_capped = int((lengths > self.rule.max_neighbors).sum())
        if n_capped == 0:
            return shared, 0
        rows = np.repeat(np.arange(len(lengths)), lengths)
        # Sorting all of them would take most of the time: first those go that share too few words to be among the best.
        able = np.flatnonzero(shared.data >= self._least_counts(shared, rows)[rows])
        rows, columns, counts = rows[able], shared.indices[able], shared.data[able]
        order = np.lexsort((columns, self.sizes[columns], -counts, rows))
        first = np.searchsorted(rows, np.arange(len(lengths)))
        rank = np.arange(len(rows)) - first[rows]
        chosen = order[rank < self.rule.max_neighbors]
        kept = (counts[chosen], (rows[chosen], columns[chosen]))
        return sparse.csr_array(sparse.coo_array(kept, shape=shared.shape)), n_capped

    def _least_counts(self, shared: Any, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return for each row the largest count that at least ``max_neighbors`` of its links reach, else 0."""
        levels = shared.data.astype(np.intp)
        width = int(levels.max()) + 1
        how_many = np.bincount(rows * width + levels, minlength=shared.shape[0] * width).reshape(-1, width)
        reaching = how_many[:, ::-1].cumsum(axis=1)[:, ::-1]
        return np.maximum((reaching >= self.rule.max_neighbors).sum(axis=1) - 1, 0)


class _Pairs:
    """Products and distances of pairs of photos, each side a row of its own matrix."""

    def __init__(
        self,
        left: Any,
        right: Any,
        rows: NDArray[Any],
        columns: NDArray[Any],
        Y: LabelMatrix | None = None,
    ) -> None:
        self.left, self.right, self.rows, self.columns, self.Y = left, right, rows, columns, Y

    def __len__(self) -> int:
        return len(self.rows)

    def visual_products(self) -> Floats:
        """Return F_i·F_j."""
        products = np.empty(len(self))
        for part in self._parts(self.left.shape[1]):
            both = self.left[self.rows[part]].multiply(self.right[self.columns[part]])
            products[part] = np.asarray(both.sum(axis=1)).ravel()
        return products

    def visual_distances(self) -> Floats:
        """Return ‖F_i - F_j‖²."""
        left, right = (np.asarray((side * side).sum(axis=1)).ravel() for side in (self.left, self.right))
        return np.maximum(left[self.rows] + right[self.columns] - 2.0 * self.visual_products(), 0.0)

    def tag_products(self) -> Floats:
        """Return W_i·W_j over known tags; 0 where nothing is known of tags."""
        return self._compare(lambda left, right: (left == 1) & (right == 1))

    def tag_distances(self) -> Floats:
        """Return ‖W_i - W_j‖² over the entries known on both photos; 0 where nothing is known of tags."""
        return self._compare(lambda left, right: (left != right) & (left != UNKNOWN) & (right != UNKNOWN))

    def _compare(self, count: Any) -> Floats:
        found = np.zeros(len(self))
        if self.Y is None:
            return found
        for part in self._parts(self.Y.shape[1]):
            found[part] = count(self.Y[self.rows[part]], self.Y[self.columns[part]]).sum(axis=1)
        return found

    def _parts(self, width: int) -> Iterator[slice]:
        return row_blocks(len(self), max(1, _BLOCK_ENTRIES // max(width, 1)))


def _as_counts(words: Any) -> Any:
    """Return counts as CSR of float64 without stored zeros."""
    counts = sparse.csr_array(words, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    if counts.nnz and not (np.isfinite(counts.data).all() and counts.data.min() > 0):
        raise InvalidInputError("counts of visual words must be finite and not negative")
    return counts


def _without_self(shared: Any, first_row: int) -> Any:
    keep = shared.row + first_row != shared.col
    return sparse.csr_array(
        sparse.coo_array((shared.data[keep], (shared.row[keep], shared.col[keep])), shape=shared.shape)
    )


def _typical(distances: Floats) -> float:
    median = float(np.median(distances)) if distances.size else 0.0
    return median if median > 0 else 1.0


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"{name} must be a positive integer, got {value!r}")


def _check(weights: str, common_share: Any) -> None:
    if weights not in ("binary", "heat", "dot"):
        raise InvalidInputError(f"weights must be 'binary', 'heat' or 'dot', got {weights!r}")
    if not 0.0 < common_share <= 1.0:
        raise InvalidInputError(f"common_share must be above 0 and at most 1, got {common_share!r}")
