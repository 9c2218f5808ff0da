"""Which photos are the same picture: saved again, resized, brightened a little."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core.typing import Reals
from tagloom.exceptions import InvalidInputError
from tagloom.features.relations._links import LinkForest, check_embeddings, linked_in_tile
from tagloom.graph.runtime import row_blocks

__all__ = ["NearDuplicates", "near_duplicate_pairs", "near_duplicates"]

N_BITS = 64
_TILE = 512  # three arrays of this size squared stay in the processor's cache


class NearDuplicates(NamedTuple):
    """What `near_duplicates` returns.

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
