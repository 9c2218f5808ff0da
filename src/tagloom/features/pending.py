"""Rows and records on their way from the descriptors to the cache."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tagloom.core.photos import FeatureCache, PhotoRecord
from tagloom.features.compute import RowComputer
from tagloom.features.descriptor import Descriptor
from tagloom.images import DecodedPhoto

__all__ = ["PendingRows"]

FLUSH_ROWS = 256
FLUSH_SECONDS = 5.0


class PendingRows:
    """Rows and records that are computed and not yet stored.

    Parameters
    ----------
    cache : FeatureCache
        Where they go.
    descriptors : sequence of Descriptor
        What is computed.
    computer : RowComputer
        What computes it.
    """

    def __init__(self, cache: FeatureCache, descriptors: Sequence[Descriptor], computer: RowComputer) -> None:
        self.cache = cache
        self.descriptors = descriptors
        self.computer = computer
        self._clear()

    def _clear(self) -> None:
        self.rows: dict[str, dict[str, NDArray[np.float32]]] = {one.key: {} for one in self.descriptors}
        self.records: list[PhotoRecord] = []
        self.thumbnails: dict[str, bytes] = {}
        self.since = time.monotonic()

    def add(self, photos: Sequence[DecodedPhoto]) -> None:
        """Compute what is missing for these photos."""
        readable = {photo.record.content_hash: photo for photo in photos if photo.record.ok}
        for descriptor in self.descriptors:
            rows = self.rows[descriptor.key]
            hashes = [name for name in readable if name not in rows]
            hashes = [name for name, has in zip(hashes, self.cache.has(descriptor.key, hashes), strict=True) if not has]
            if hashes:
                values = self.computer.compute(descriptor, [readable[name] for name in hashes])
                rows.update(zip(hashes, values, strict=True))
        self.thumbnails.update((name, photo.thumbnail) for name, photo in readable.items() if photo.thumbnail)
        self.records += [photo.record for photo in photos]

    def flush_if_due(self) -> None:
        """Store when there is enough, or when the last time is a while ago."""
        if len(self.records) >= FLUSH_ROWS or time.monotonic() - self.since >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Store rows, then thumbnails, then the records that promise them."""
        for key, rows in self.rows.items():
            if rows:
                self.cache.put(key, list(rows), np.stack(list(rows.values())))
        if self.thumbnails:
            self.cache.put_thumbnails(self.thumbnails.items())
        if self.records:
            self.cache.record(self.records)
        self._clear()
