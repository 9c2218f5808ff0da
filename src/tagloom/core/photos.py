"""What is known of a photo file before and after it was read, and where features are kept.

Both are plain data and protocols: `tagloom.images` makes the records, `tagloom.features` uses a cache,
`tagloom.store` implements one; none of them needs the others.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tagloom.core.verdicts import Verdict

__all__ = ["FeatureCache", "FileStamp", "PhotoRecord", "Verdict"]


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size, times and number of a file, enough to see that it did not change.

    A program may put back the time of the last modification, but not that of the last change, ``ctime_ns``.
    """

    size: int
    mtime_ns: int
    inode: int = 0
    ctime_ns: int = 0

    @classmethod
    def of(cls, status: os.stat_result) -> "FileStamp":
        """Return the stamp of a file from what ``os.stat`` says."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class PhotoRecord:
    """One photo file and the verdict on it.

    Parameters
    ----------
    path : bytes
        The file's name as the system has it (names need not be UTF-8).
    verdict : Verdict
        The outcome.
    detail : str
        One sentence for a person; empty for `Verdict.OK`.
    content_hash : str
        Hexadecimal BLAKE2b-256 of the file's bytes; empty where the file could not be read.
    stamp : FileStamp or None
        Size and times when it was read.
    width, height : int
        Pixels after orientation; 0 where not decoded.
    """

    path: bytes
    verdict: Verdict
    detail: str = ""
    content_hash: str = ""
    stamp: FileStamp | None = None
    width: int = 0
    height: int = 0

    @property
    def ok(self) -> bool:
        """Whether the photo was decoded."""
        return self.verdict is Verdict.OK


class FeatureCache(Protocol):
    """Where records, feature rows and thumbnails are kept between runs.

    Feature rows are found by content hash × key; a key names extractor, version and parameters, so that a changed
    parameter recomputes its own group only. Every method leaves the cache consistent if the process dies in it.
    """

    def known(self, paths: Sequence[bytes]) -> dict[bytes, PhotoRecord]:
        """Return the stored records of these paths, where there are any."""

    def known_contents(self, hashes: Sequence[str]) -> dict[str, PhotoRecord]:
        """Return for each content hash a stored record of a file with that content, where there is any."""

    def known_sizes(self, sizes: Sequence[int]) -> set[int]:
        """Return which of these file sizes occur among the stored records."""

    def suspects(self) -> dict[bytes, int]:
        """Return paths whose reading began but never ended, with how often."""

    def begin(self, paths: Sequence[bytes]) -> None:
        """Note that reading these paths begins (before they are opened)."""

    def release(self, paths: Sequence[bytes]) -> None:
        """Forget that reading these paths began: it was cut off in good order, by no fault of theirs."""

    def record(self, records: Iterable[PhotoRecord]) -> None:
        """Store records and forget that their reading had begun."""

    def has(self, key: str, hashes: Sequence[str]) -> NDArray[np.bool_]:
        """Tell for each content hash whether a feature row is stored under this key."""

    def put(self, key: str, hashes: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Store feature rows durably."""

    def get(self, key: str, hashes: Sequence[str], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return feature rows in the order of the hashes, in an array that is given or a new one."""

    def put_thumbnails(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store encoded thumbnails by content hash."""

    def thumbnails(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the stored thumbnails of these hashes."""
