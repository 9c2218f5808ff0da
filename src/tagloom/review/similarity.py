"""How photos look, for "similar to this one", clusters and stacks: the deep features, in few columns."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from tagloom.catalog import CHUNK, PhotoIndex, deep_vectors, descriptor_key, seen_classes_of, stored_rows
from tagloom.core import Ids, Singles
from tagloom.features.network import word_log_odds, word_weights
from tagloom.features.relations import bursts, clusters, near_duplicates
from tagloom.review.ranking import LookAlikes
from tagloom.store import ProjectStore

__all__ = ["load_looks"]

BURST_SECONDS = 2.0


def load_looks(store: ProjectStore, photos: PhotoIndex) -> LookAlikes:
    """Work out similarity, clusters and stacks from stored features; what is missing stays unknown.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken for the reading.
    photos : PhotoIndex
        The photos.

    Raises
    ------
    StoreBusyError
        If another process is at work in the project.
    """
    with store.cache() as cache:
        vectors = deep_vectors(cache, photos, store)
        prints = stored_rows(cache, descriptor_key(store, "phash"), photos.hashes)
        classes = seen_classes_of(cache, photos, store)
    stacks = _stacks(photos, vectors, prints)
    if vectors is None:
        return LookAlikes(stacks=stacks)
    rows = vectors

    def cosines(row: int) -> Singles:
        found: Singles = rows @ rows[row]
        found[row] = np.inf  # the photo itself comes first, before its copies
        return found

    def seen(word: str) -> Singles:
        likely = np.zeros(len(photos), dtype=np.float32)
        if classes is not None and word_weights([word]).known[0]:
            for start in range(0, len(photos), CHUNK):
                block = slice(start, start + CHUNK)
                likely[block] = expit(word_log_odds(classes[block].toarray(), [word])[:, 0])
        return likely

    return LookAlikes(cosines, clusters(vectors), stacks, seen)


def _stacks(photos: PhotoIndex, vectors: Singles | None, prints: NDArray[np.float32] | None) -> Ids:
    """Return the stack of each photo, -1 for none: copies, near-duplicates, and bursts that look alike."""
    if not len(photos):
        return np.empty(0, dtype=np.int64)
    groups = [_copies(photos.hashes)]
    if prints is not None:
        groups.append(near_duplicates(prints, vectors).labels)
    if vectors is not None:
        groups.append(bursts(photos.taken, max_gap_seconds=BURST_SECONDS, embeddings=vectors))
    return _joined(groups)


def _copies(hashes: Sequence[str]) -> Ids:
    _, labels, counts = np.unique(np.asarray(hashes), return_inverse=True, return_counts=True)
    return np.where(counts[labels] > 1, labels, -1).astype(np.int64)


def _joined(groupings: Sequence[Ids]) -> Ids:
    """Return groups of photos that any of the groupings puts together, over several steps, too."""
    n = len(groupings[0])
    first, second = [], []
    for labels in groupings:
        members = np.flatnonzero(labels >= 0)
        members = members[np.argsort(labels[members], kind="stable")]
        same = labels[members][1:] == labels[members][:-1]
        first.append(members[:-1][same])
        second.append(members[1:][same])
    rows, columns = np.concatenate(first), np.concatenate(second)
    links = sparse.coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n, n))
    _, joined = connected_components(links, directed=False)
    counts = np.bincount(joined, minlength=1)
    return np.where(counts[joined] > 1, joined, -1).astype(np.int64)
