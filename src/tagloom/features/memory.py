"""A feature cache that lives as long as the process, for calls without a folder."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tagloom.core.photos import PhotoRecord

__all__ = ["MemoryCache"]


class MemoryCache:
    """A `tagloom.core.photos.FeatureCache` in memory."""

    def __init__(self) -> None:
        self._records: dict[bytes, PhotoRecord] = {}
        self._rows: dict[tuple[str, str], NDArray[np.float32]] = {}
        self._thumbnails: dict[str, bytes] = {}

    def known(self, paths: Sequence[bytes]) -> dict[bytes, PhotoRecord]:
        """Return the stored records of these paths, where there are any."""
        return {path: self._records[path] for path in paths if path in self._records}

    def known_contents(self, hashes: Sequence[str]) -> dict[str, PhotoRecord]:
        """Return for each content hash a stored record of a file with that content, where there is any."""
        wanted = set(hashes)
        return {item.content_hash: item for item in self._records.values() if item.content_hash in wanted}

    def known_sizes(self, sizes: Sequence[int]) -> set[int]:
        """Return which of these file sizes occur among the stored records."""
        return {item.stamp.size for item in self._records.values() if item.stamp} & set(sizes)

    def suspects(self) -> dict[bytes, int]:
        """Return nothing: what is begun and not ended dies with the process."""
        return {}

    def begin(self, paths: Sequence[bytes]) -> None:
        """Do nothing."""

    def release(self, paths: Sequence[bytes]) -> None:
        """Do nothing."""

    def record(self, records: Iterable[PhotoRecord]) -> None:
        """Store records."""
        self._records.update((item.path, item) for item in records)

    def has(self, key: str, hashes: Sequence[str]) -> NDArray[np.bool_]:
        """Tell for each content hash whether a feature row is stored under this key."""
        return np.fromiter(((key, name) in self._rows for name in hashes), dtype=bool, count=len(hashes))

    def put(self, key: str, hashes: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Store feature rows."""
        self._rows.update(((key, name), row) for name, row in zip(hashes, rows, strict=True))

    def get(self, key: str, hashes: Sequence[str]) -> NDArray[np.float32]:
        """Return feature rows in the order of the hashes."""
        return np.stack([self._rows[key, name] for name in hashes])

    def put_thumbnails(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store encoded thumbnails by content hash."""
        self._thumbnails.update(items)

    def thumbnails(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the stored thumbnails of these hashes."""
        return {name: self._thumbnails[name] for name in hashes if name in self._thumbnails}
