"""From paths to one feature matrix: what is known is not read again, what is read is kept at once.

The plan for a list of files: a file whose size and times are those of its stored record is not opened. One whose size
occurs among the stored records is hashed first, so that a moved, copied or touched photo keeps its features. Only what
is left is decoded, in processes of their own, while this process computes the descriptors. Rows and verdicts are stored
every few seconds; a run that is cut off goes on from there.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.core.groups import FeatureGroups
from tagloom.core.photos import FeatureCache, FileStamp, PhotoRecord, Verdict
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.exceptions import InvalidInputError
from tagloom.features.compute import RowComputer
from tagloom.features.descriptor import Descriptor
from tagloom.features.memory import MemoryCache
from tagloom.features.pending import PendingRows
from tagloom.features.registry import resolve_descriptors
from tagloom.images import DecodedPhoto, DecodePool

__all__ = ["Extraction", "ExtractionCounts", "ExtractionEngine", "extract"]

PathLike = str | bytes | os.PathLike[Any]

# Verdicts that say something of the moment rather than of the file's bytes: such files are tried in every run.
RETRIED = frozenset(
    {
        Verdict.RAW_OF_PHOTO,
        Verdict.MISSING,
        Verdict.NO_PERMISSION,
        Verdict.UNREADABLE,
        Verdict.NOT_REGULAR,
        Verdict.CHANGED,
        Verdict.TOO_LARGE,
    }
)
FAILED_BY_FORCE = frozenset({Verdict.TIMEOUT, Verdict.CRASHED, Verdict.QUARANTINED})
CHUNK = 4096  # paths whose records are in memory at a time
FEED = 64  # paths noted as begun at a time
MAX_ATTEMPTS = 3  # one in a batch, two alone


class Extraction(NamedTuple):
    """What `extract` returns.

    Attributes
    ----------
    X : ndarray of float32, shape (n_readable, d)
        One row per readable photo, in the order of the paths.
    groups : FeatureGroups
        The names of X's column ranges.
    records : list of PhotoRecord
        One verdict per path; rows of X belong to those that are ``ok``.
    """

    X: NDArray[np.float32]
    groups: FeatureGroups
    records: list[PhotoRecord]


@dataclass(slots=True)
class ExtractionCounts:
    """What a run did: files known unchanged, files hashed, photos decoded, files without a row."""

    n_unchanged: int = 0
    n_hashed: int = 0
    n_decoded: int = 0
    n_failed: int = 0


def extract(
    paths: Iterable[PathLike],
    groups: Sequence[str | Descriptor] | None = None,
    cache: FeatureCache | None = None,
    *,
    root: PathLike | None = None,
    progress: Progress = NO_PROGRESS,
    **options: Any,
) -> Extraction:
    """Compute features of photos.

    Parameters
    ----------
    paths : iterable of path
        The photo files.
    groups : sequence of str or Descriptor, optional
        Names of feature groups or descriptors, or descriptors themselves; default: the default set (``deep`` in it).
    cache : FeatureCache, optional
        Where records and rows are kept; default: only in memory.
    root : path, optional
        The folder that relative paths are relative to; default: the current one.
    progress : Progress, optional
        Told how many photos are done.
    **options
        Passed to `ExtractionEngine`.

    Returns
    -------
    Extraction
        ``X, groups, records``; photos that cannot be read have a verdict and no row.

    Examples
    --------
    >>> from tagloom.features import extract
    >>> X, groups, records = extract([], groups=["color"])
    >>> X.shape[0], list(groups)
    (0, ['color'])
    """
    descriptors, wanted = resolve_descriptors(groups)
    with ExtractionEngine(
        descriptors, cache if cache is not None else MemoryCache(), root=root, progress=progress, **options
    ) as engine:
        records = engine.read([os.fsencode(path) for path in paths])
        X, all_groups = engine.features(records)
    if list(all_groups) != list(wanted):
        all_groups, columns = all_groups.select(wanted)
        X = X[:, columns]
    return Extraction(X, all_groups, records)


class ExtractionEngine:
    """Brings a cache up to date with files, and returns their features.

    Parameters
    ----------
    descriptors : sequence of Descriptor
        What to compute.
    cache : FeatureCache
        Where records and rows are kept.
    root : path, optional
        The folder that relative paths are relative to.
    n_workers : int, optional
        Decoding processes; default: the number of cores.
    n_threads : int, optional
        Threads that compute descriptors; default: the number of cores. Rows do not depend on it.
    thumbnail_size : int, optional
        Longer side of the thumbnails to keep; default: none are kept.
    batch_size : int, default=32
        Photos given to the descriptors at a time.
    retry : bool, default=False
        Try files again that were given up because they crashed or hung the decoder.
    progress : Progress, optional
        Told how many photos are done.
    **pool_options
        Passed to `tagloom.images.DecodePool` (``deadline``, ``memory_limit``, ``max_pixels`` …).
    """

    def __init__(
        self,
        descriptors: Sequence[Descriptor],
        cache: FeatureCache,
        *,
        root: PathLike | None = None,
        n_workers: int | None = None,
        n_threads: int | None = None,
        thumbnail_size: int | None = None,
        batch_size: int = 32,
        retry: bool = False,
        progress: Progress = NO_PROGRESS,
        **pool_options: Any,
    ) -> None:
        if batch_size < 1:
            raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
        self.descriptors = list(descriptors)
        self.cache = cache
        self.root = os.fsencode(root) if root is not None else b""
        self.batch_size = batch_size
        self.chunk_size = CHUNK
        self.retry = retry
        self.progress = progress
        self.counts = ExtractionCounts()
        self._computer = RowComputer(n_threads)
        renditions = tuple(dict.fromkeys(item for one in self.descriptors for item in one.renditions))
        self._new_pool: Callable[[], DecodePool] = lambda: DecodePool(
            renditions, n_workers=n_workers, thumbnail_size=thumbnail_size, **pool_options
        )
        self._pool: DecodePool | None = None
        self._given: dict[bytes, bytes] = {}  # full path → path as the caller gave it

    def __enter__(self) -> "ExtractionEngine":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """End the decoding processes and the threads."""
        self._computer.close()
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    @property
    def groups(self) -> FeatureGroups:
        """The feature groups of all descriptors, side by side."""
        return FeatureGroups.from_mapping(
            {name: size for one in self.descriptors for name, size in one.outputs.items()}
        )

    def read(self, paths: Sequence[bytes]) -> list[PhotoRecord]:
        """Bring the cache up to date with these files and return one record per path."""
        return list(self.read_each(paths))

    def read_each(self, paths: Sequence[bytes]) -> Iterator[PhotoRecord]:
        """Bring the cache up to date with these files and yield one record per path, in order.

        Files are taken a few thousand at a time, so that the memory needed does not grow with their number.
        """
        self.progress.start("reading photos", len(paths))
        try:
            for start in range(0, len(paths), self.chunk_size):
                yield from self._read_chunk(paths[start : start + self.chunk_size])
        finally:
            self.progress.finish()

    def _read_chunk(self, paths: Sequence[bytes]) -> list[PhotoRecord]:
        self._given.clear()
        unique = list(dict.fromkeys(paths))
        done = self._unchanged(unique)
        self.counts.n_unchanged += len(done)
        done |= self._same_content([path for path in unique if path not in done])
        todo = self._missing(unique, done)
        self.progress.advance(len(paths) - len(todo))
        for record in self._decode(todo):
            done[record.path] = record
        self.counts.n_failed += sum(not record.ok for record in done.values())
        return [done[path] for path in paths]

    def features(self, records: Sequence[PhotoRecord]) -> tuple[NDArray[np.float32], FeatureGroups]:
        """Return the joined feature rows of the readable photos among these records."""
        return self.rows([record.content_hash for record in records if record.ok]), self.groups

    def rows(self, hashes: Sequence[str]) -> NDArray[np.float32]:
        """Return the joined feature rows of photos by their content hashes."""
        X = np.empty((len(hashes), self.groups.n_columns), dtype=np.float32)
        start = 0
        for descriptor in self.descriptors:
            stop = start + sum(descriptor.outputs.values())
            if hashes:
                X[:, start:stop] = self.cache.get(descriptor.key, hashes)
            start = stop
        return X

    # what need not be read -------------------------------------------------------------------------------------

    def _unchanged(self, paths: Sequence[bytes]) -> dict[bytes, PhotoRecord]:
        """Return stored records of files that have the size and times they had."""
        skipped = RETRIED | (FAILED_BY_FORCE if self.retry else frozenset())
        return {
            path: record
            for path, record in self.cache.known(paths).items()
            if record.verdict not in skipped and record.stamp is not None and record.stamp == self._stamp(path)
        }

    def _same_content(self, paths: Sequence[bytes]) -> dict[bytes, PhotoRecord]:
        """Return new records of files whose content is known under another name or time."""
        stamps = {path: self._stamp(path) for path in paths}
        sizes = {stamp.size for stamp in stamps.values() if stamp is not None}
        likely = self.cache.known_sizes(sorted(sizes)) - {0}
        candidates = [path for path, stamp in stamps.items() if stamp is not None and stamp.size in likely]
        if not candidates:
            return {}
        prints = [self._own(item) for item in self._open_pool().fingerprint(self._full(path) for path in candidates)]
        self.counts.n_hashed += len(prints)
        twins = self.cache.known_contents([item.content_hash for item in prints if item.content_hash])
        skipped = RETRIED | FAILED_BY_FORCE
        found = {}
        for item in prints:
            twin = twins.get(item.content_hash) if item.content_hash else None
            if twin is not None and twin.verdict not in skipped:
                found[item.path] = replace(twin, path=item.path, stamp=item.stamp)
        self.cache.record(found.values())
        return found

    def _missing(self, paths: Sequence[bytes], done: dict[bytes, PhotoRecord]) -> list[bytes]:
        """Return the paths without a record or without a row of some descriptor."""
        readable = [path for path in paths if path in done and done[path].ok]
        hashes = [done[path].content_hash for path in readable]
        complete = np.ones(len(hashes), dtype=bool)
        for descriptor in self.descriptors:
            complete &= self.cache.has(descriptor.key, hashes)
        incomplete = {path for path, whole in zip(readable, complete, strict=True) if not whole}
        return [path for path in paths if path not in done or path in incomplete]

    # reading ---------------------------------------------------------------------------------------------------

    def _decode(self, paths: Sequence[bytes]) -> Iterator[PhotoRecord]:
        suspects = {} if self.retry else self.cache.suspects()
        given_up = [path for path in paths if suspects.get(path, 0) >= MAX_ATTEMPTS]
        alone = [path for path in paths if 1 <= suspects.get(path, 0) < MAX_ATTEMPTS]
        together = [path for path in paths if path not in suspects]
        yield from self._quarantine(given_up)
        if alone:
            self._open_pool().start()
        for path in alone:
            yield from self._decode_together([path])
        yield from self._decode_together(together)

    def _quarantine(self, paths: Sequence[bytes]) -> Iterator[PhotoRecord]:
        detail = f"tagloom ended unexpectedly {MAX_ATTEMPTS} times while reading this file; use --retry to try again"
        records = [PhotoRecord(path, Verdict.QUARANTINED, detail, stamp=self._stamp(path)) for path in paths]
        self.cache.record(records)
        self.progress.advance(len(records))
        yield from records

    def _decode_together(self, paths: Sequence[bytes]) -> Iterator[PhotoRecord]:
        if not paths:
            return
        pending = PendingRows(self.cache, self.descriptors, self._computer)
        photos: list[DecodedPhoto] = []
        begun: set[bytes] = set()
        try:
            for photo in self._open_pool().decode(self._feed(paths, begun)):
                photos.append(replace(photo, record=self._own(photo.record)))
                self.counts.n_decoded += photo.record.ok
                if len(photos) >= self.batch_size:
                    yield from self._settle(pending, photos)
                    photos = []
            yield from self._settle(pending, photos)
            pending.flush()
        except (Exception, KeyboardInterrupt, GeneratorExit):
            # Cut off in good order: keep what is computed, and hold nothing against the files in flight.
            pending.flush()
            self.cache.release(sorted(begun))
            raise

    def _settle(self, pending: PendingRows, photos: list[DecodedPhoto]) -> Iterator[PhotoRecord]:
        # Decoded, they are harmless: if the program is killed from now on, they are not to blame.
        self.cache.release([photo.record.path for photo in photos])
        pending.add(photos)
        pending.flush_if_due()
        self.progress.advance(len(photos))
        for photo in photos:
            yield photo.record

    def _feed(self, paths: Sequence[bytes], begun: set[bytes]) -> Iterator[bytes]:
        """Yield full paths, each noted as begun before the decoder gets it."""
        for start in range(0, len(paths), FEED):
            chunk = paths[start : start + FEED]
            self.cache.begin(chunk)
            begun.update(chunk)
            for path in chunk:
                yield self._full(path)

    def _open_pool(self) -> DecodePool:
        if self._pool is None:
            self._pool = self._new_pool()
        return self._pool

    def _full(self, path: bytes) -> bytes:
        full = os.path.join(self.root, path) if self.root else path
        self._given[full] = path
        return full

    def _own(self, record: PhotoRecord) -> PhotoRecord:
        """Name a record by the path the caller gave, and stamp files that were not even read."""
        path = self._given[record.path]
        return replace(record, path=path, stamp=record.stamp or self._stamp(path))

    def _stamp(self, path: bytes) -> FileStamp | None:
        try:
            status = os.stat(self._full(path))
        except (OSError, ValueError):
            return None
        return FileStamp.of(status)
