"""How photos look: the deep features of a project in few columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tagloom.catalog.photo_index import PhotoIndex
from tagloom.core import Singles
from tagloom.features import get_descriptor
from tagloom.store import FolderCache, ProjectStore

__all__ = ["deep_vectors", "descriptor_key", "seen_classes_of", "stored_rows"]

N_COLUMNS = 96
"""Of 1,280 columns; 100,000 photos then take 38 MB and a comparison with all of them a few milliseconds."""
N_SAMPLE = 4_096
CHUNK = 4_096
#: Probability of a class below which it is not kept: some dozens of a photo's thousand are above.
LEAST_KEPT = 1e-3


def descriptor_key(store: ProjectStore, name: str) -> str:
    """Return the key of a descriptor's rows: that of the active model, else the default one."""
    model = store.models.active()
    keys = model.features.get("keys", {}) if model is not None else {}
    return str(keys.get(name) or get_descriptor(name).key)


def stored_rows(cache: FolderCache, key: str, hashes: Sequence[str]) -> Singles | None:
    """Return rows of a descriptor if all photos have them."""
    if not hashes or not cache.has(key, hashes).all():
        return None
    return cache.get(key, hashes)


def seen_classes_of(cache: FolderCache, photos: PhotoIndex, store: ProjectStore) -> Any:
    """Return the probabilities of the bundled network's classes as CSR, empty rows where there are none, or None."""
    outputs, key = dict(get_descriptor("deep").outputs), descriptor_key(store, "deep")
    ready = np.flatnonzero(cache.has(key, photos.hashes)) if photos.hashes else np.empty(0, dtype=np.int64)
    if not len(ready):
        return None
    parts, n_deep = [], outputs["deep"]
    for start in range(0, len(ready), CHUNK):
        part = ready[start : start + CHUNK]
        rows = cache.get(key, [photos.hashes[row] for row in part])[:, n_deep:]
        parts.append(sparse.csr_array(np.where(rows >= LEAST_KEPT, rows, np.float32(0.0))))
    found = sparse.csr_array(sparse.vstack(parts, format="csr"))
    counts = np.zeros(len(photos) + 1, dtype=np.int64)
    counts[ready + 1] = np.diff(found.indptr)
    return sparse.csr_array((found.data, found.indices, np.cumsum(counts)), shape=(len(photos), found.shape[1]))


def deep_vectors(cache: FolderCache, photos: PhotoIndex, store: ProjectStore) -> Singles | None:
    """Return unit rows whose inner products are about the cosines of the deep features; zeros where there are none."""
    key, n_deep = descriptor_key(store, "deep"), dict(get_descriptor("deep").outputs)["deep"]
    ready = np.flatnonzero(cache.has(key, photos.hashes)) if photos.hashes else np.empty(0, dtype=np.int64)
    if not len(ready):
        return None
    sample = ready[np.linspace(0, len(ready) - 1, min(N_SAMPLE, len(ready))).astype(np.int64)]
    rows = cache.get(key, [photos.hashes[row] for row in sample])[:, :n_deep].astype(np.float64)
    # Not centred: what is kept are inner products, and with them the cosines that the defaults were measured on.
    axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :N_COLUMNS].astype(np.float32)
    vectors = np.zeros((len(photos), axes.shape[1]), dtype=np.float32)
    for start in range(0, len(ready), CHUNK):
        part = ready[start : start + CHUNK]
        vectors[part] = cache.get(key, [photos.hashes[row] for row in part])[:, :n_deep] @ axes
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=vectors, where=norms > 0)
