"""Which photos are the same picture: saved again, resized, brightened a little."""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError
from tagloom.graph.rows import check_features
from tagloom.graph.runtime import row_blocks

__all__ = [
    "LinkForest",
    "NearDuplicates",
    "check_embeddings",
    "linked_in_tile",
    "near_duplicate_pairs",
    "near_duplicates",
]


# Parts shared by near-duplicates and bursts: links that hold groups together, and cosines of a few rows.

_PENDING = 1_000_000
_ROUNDING = 1e-9


class LinkForest:
    """The shortest links that hold the same photos together as all links do; at most one per photo.

    Links are ordered by length, then first photo, then second. Taken in that order, a link is kept where its photos
    are not held together by those kept before (Kruskal's rule), so the result does not depend on the order in which
    links are added.

    Parameters
    ----------
    n : int
        Number of photos.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._keys: list[NDArray[np.int64]] = []
        self._n_pending = 0

    def add(self, first: NDArray[Any], second: NDArray[Any], lengths: NDArray[Any] | int = 0) -> None:
        """Add links of small whole-number lengths between photos ``first < second``; no pair may come twice."""
        # One number per link, in their order: it sorts many times faster than three.
        self._keys.append((np.asarray(lengths, dtype=np.int64) * self.n + first) * self.n + second)
        self._n_pending += len(first)
        if self._n_pending > _PENDING:
            self._reduce()

    def links(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the links kept, of shape (m, 2), and their lengths, in the order above."""
        self._reduce()
        keys = self._keys[0] if self._keys else np.empty(0, dtype=np.int64)
        return self._pairs(keys), keys // max(self.n, 1) ** 2

    def labels(self) -> NDArray[np.int64]:
        """Return group numbers in the order of each group's first photo; -1 for photos without a link."""
        pairs, _ = self.links()
        if not len(pairs):
            return np.full(self.n, -1, dtype=np.int64)
        _, component = connected_components(self._matrix(pairs, np.ones(len(pairs))), directed=False)
        linked = np.zeros(self.n, dtype=bool)
        linked[pairs] = True
        return numbered_by_first(np.where(linked, component, -1))

    def _reduce(self) -> None:
        if not self._n_pending:
            return
        keys = np.sort(np.concatenate(self._keys))
        # Ranks for lengths: all different, so that there is one spanning forest only; never 0, which means no link.
        kept = minimum_spanning_tree(self._matrix(self._pairs(keys), np.arange(1.0, len(keys) + 1)))
        self._keys = [keys[np.sort(kept.data).astype(np.int64) - 1]]
        self._n_pending = 0

    def _pairs(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        n = max(self.n, 1)
        return np.stack([keys // n % n, keys % n], axis=1)

    def _matrix(self, pairs: NDArray[np.int64], values: NDArray[np.float64]) -> sparse.csr_array:
        return sparse.csr_array((values, (pairs[:, 0], pairs[:, 1])), shape=(self.n, self.n))


def numbered_by_first(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return groups numbered in the order of their first photos; negative labels are no group and become -1."""
    result = np.full(len(labels), -1, dtype=np.int64)
    inside = labels >= 0
    _, first, inverse = np.unique(labels[inside], return_index=True, return_inverse=True)
    result[inside] = np.argsort(np.argsort(first))[inverse]
    return result


def cosines(left: Reals, right: Reals) -> NDArray[np.float64]:
    """Return the cosines of all rows of one matrix with all rows of another.

    Two rows of zeros have cosine 1, a row of zeros and another 0.
    """
    return _unit_rows(left) @ _unit_rows(right).T


def _unit_rows(rows: Reals) -> NDArray[np.float64]:
    """Return rows of length one in float64, with a last column that is 1 in rows of zeros."""
    wide = np.zeros((rows.shape[0], rows.shape[1] + 1))
    # Bringing the largest entry to one first keeps the squares from under- or overflowing.
    largest = np.abs(rows).max(axis=1, keepdims=True).astype(np.float64)
    wide[:, :-1] = rows / np.where(largest > 0, largest, 1.0)
    wide[largest[:, 0] == 0, -1] = 1.0
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    return wide


def linked_in_tile(
    near: NDArray[np.bool_], embeddings: Reals | None, down: slice, across: slice, min_cosine: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of a tile that are near and point in one direction, as places in the tile.

    Parameters
    ----------
    near : bool array
        Which photos of ``down`` are near which of ``across`` by another measure.
    embeddings : array of shape (n, d) or None
        Rows to compare; None compares nothing.
    down, across : slice
        The photos of the tile.
    min_cosine : float
        The least cosine of a link.
    """
    if embeddings is not None:
        some_down, some_across = near.any(axis=1), near.any(axis=0)
        close = cosines(embeddings[down][some_down], embeddings[across][some_across]) >= min_cosine - _ROUNDING
        near = near.copy()
        near[np.ix_(some_down, some_across)] &= close
    first, second = np.nonzero(near)
    return first, second


def check_embeddings(embeddings: ArrayLike | None, n: int, min_cosine: float) -> Reals | None:
    """Return embeddings as a matrix of n rows, or None where none are given or there is nothing to compare."""
    if not -1 <= min_cosine <= 1:
        raise InvalidInputError(f"min_cosine must be from -1 to 1, got {min_cosine!r}")
    if embeddings is None or (n == 0 and np.shape(embeddings)[:1] == (0,)):
        return None
    rows = check_features(embeddings, "embeddings")
    if len(rows) != n:
        raise InvalidInputError(f"embeddings must have one row per photo, got {len(rows)} rows for {n} photos")
    return rows


N_BITS = 64
_TILE = 512  # three arrays of this size squared stay in the processor's cache


class NearDuplicates(NamedTuple):
    """Result of `near_duplicates`: groups, pairs and distances.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        Number of each photo's group, -1 for photos that have no near-duplicate. Groups are numbered in the order of
        their first photo.
    pairs : ndarray of int, shape (m, 2)
        The closest pairs that hold the groups together: a group of k photos has k - 1. First photo before second,
        ordered by distance, then by first and second photo.
    distances : ndarray of int, shape (m,)
        Bits in which the two hashes of a pair differ.
    """

    labels: NDArray[np.int64]
    pairs: NDArray[np.int64]
    distances: NDArray[np.int64]


def near_duplicates(
    hashes: ArrayLike,
    embeddings: ArrayLike | None = None,
    *,
    max_bits: int = 6,
    min_cosine: float = 0.75,
) -> NearDuplicates:
    """Group photos whose perceptual hashes differ in a few bits at most.

    Two photos are near-duplicates if their hashes differ in at most ``max_bits`` bits and, where embeddings are given,
    the cosine of their rows is at least ``min_cosine``. A group is a connected component of that relation: its first
    and last photo may differ by more.

    Parameters
    ----------
    hashes : array-like of shape (n, 64)
        0 and 1, of any type: the group ``phash``.
    embeddings : array-like of shape (n, d), optional
        Feature rows that must agree too, such as the group ``deep``. They tell apart what the hash takes for the same:
        night skies, fog, blank pages.
    max_bits : int, default=6
        From 0 to 64. Photos of different things differ in 32 ± 4 bits, a photo saved at quality 30 in 4 at most (99 %).
    min_cosine : float, default=0.75
        From -1 to 1. For the group ``deep`` 60 photos and their copies at quality 30 or half size had cosines from 0.82
        on, different photos 0.62 at most.

    Returns
    -------
    NearDuplicates
        ``labels, pairs, distances``. Among pairs of equal distance those of the earlier photos are returned.

    Notes
    -----
    Every pair of different hashes is compared, in tiles: the result is exact, time is quadratic, and memory is that
    of the inputs, one tile and n links, however many photos are alike. Photos with the same hash and the same
    embedding are compared with the others once. To see all pairs, use `near_duplicate_pairs`.

    Examples
    --------
    >>> import numpy as np
    >>> hashes = np.zeros((3, 64))
    >>> hashes[1, :40] = 1
    >>> hashes[2, :42] = 1
    >>> near_duplicates(hashes).labels
    array([-1,  0,  0])
    """
    codes = _pack(hashes)
    rows = check_embeddings(embeddings, len(codes), min_cosine)
    _check_max_bits(max_bits)
    first_copies, copy_of = _first_copies(codes, rows)
    forest = LinkForest(len(codes))
    copies = np.flatnonzero(first_copies[copy_of] != np.arange(len(codes)))
    forest.add(first_copies[copy_of[copies]], copies)
    kept_rows = None if rows is None else rows[first_copies]
    for pairs, distances in _tiles(codes[first_copies], kept_rows, max_bits, min_cosine):
        forest.add(first_copies[pairs[:, 0]], first_copies[pairs[:, 1]], distances)
    pairs, distances = forest.links()
    return NearDuplicates(forest.labels(), pairs, distances)


def near_duplicate_pairs(
    hashes: ArrayLike,
    embeddings: ArrayLike | None = None,
    *,
    max_bits: int = 6,
    min_cosine: float = 0.75,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield all pairs of near-duplicates, some at a time, because there may be as many as n² / 2.

    Parameters
    ----------
    hashes, embeddings, max_bits, min_cosine
        As of `near_duplicates`.

    Yields
    ------
    pairs : ndarray of int, shape (m, 2)
        First photo before second; each pair comes once.
    distances : ndarray of int, shape (m,)
        Bits in which their hashes differ.
    """
    codes = _pack(hashes)
    rows = check_embeddings(embeddings, len(codes), min_cosine)
    _check_max_bits(max_bits)
    return _tiles(codes, rows, max_bits, min_cosine)


def _tiles(
    codes: NDArray[np.uint64], rows: Reals | None, max_bits: int, min_cosine: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    different = np.empty((_TILE, _TILE), dtype=np.uint64)
    counts = np.empty((_TILE, _TILE), dtype=np.uint8)
    blocks = list(row_blocks(len(codes), _TILE))
    for number, down in enumerate(blocks):
        for across in blocks[number:]:
            shape = np.s_[: down.stop - down.start, : across.stop - across.start]
            np.bitwise_xor(codes[down, None], codes[across], out=different[shape])
            bits = np.bitwise_count(different[shape], out=counts[shape])
            if down is not across and bits.min() > max_bits:
                continue
            near = np.triu(bits <= max_bits, 1) if down is across else bits <= max_bits
            first, second = linked_in_tile(near, rows, down, across, min_cosine)
            if len(first):
                distances = bits[first, second].astype(np.int64)
                yield np.stack([first + down.start, second + across.start], axis=1), distances


def _first_copies(codes: NDArray[np.uint64], rows: Reals | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first photo of each hash (and embedding), ascending, and which of them each photo is a copy of."""
    keys = np.zeros((len(codes), 3), dtype=np.uint64)
    keys[:, 0] = codes
    if rows is not None:
        _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
        for photo in np.flatnonzero(counts[inverse] > 1):
            digest = hashlib.blake2b(rows[photo].tobytes(), digest_size=16).digest()
            keys[photo, 1:] = np.frombuffer(digest, dtype=np.uint64)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[inverse.ravel()]


def _pack(hashes: ArrayLike) -> NDArray[np.uint64]:
    bits = np.asarray(hashes)
    if bits.ndim != 2 or bits.shape[1] != N_BITS:
        raise InvalidInputError(f"hashes must have shape (photos, {N_BITS}), got shape {bits.shape}")
    if not ((bits == 0) | (bits == 1)).all():
        raise InvalidInputError("hashes must hold 0 and 1 only; give the columns of group 'phash' as they are")
    return np.ascontiguousarray(np.packbits(bits == 1, axis=1)).view(np.uint64).ravel()


def _check_max_bits(max_bits: int) -> None:
    if int(max_bits) != max_bits or not 0 <= max_bits <= N_BITS:
        raise InvalidInputError(f"max_bits must be a whole number from 0 to {N_BITS}, got {max_bits!r}")
