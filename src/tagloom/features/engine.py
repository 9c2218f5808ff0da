"""From paths to one feature matrix: what is known is not read again, what is read is kept at once.

The plan for a list of files: a file whose size and times are those of its stored record is not opened. One whose size
occurs among the stored records is hashed first, so that a moved, copied or touched photo keeps its features. Only what
is left is decoded, in processes of their own, while this process computes the descriptors. Rows and verdicts are stored
every few seconds; a run that is cut off goes on from there.

Where the work is given to other processes or machines (`tagloom.engines`), they take what is left in chunks of photos,
and this process stores what they send.
"""

import functools
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.core import (
    NO_PROGRESS,
    PARTS,
    FeatureCache,
    FeatureGroups,
    FileStamp,
    PhotoRecord,
    Progress,
    Verdict,
    limit_libraries,
    scratch,
    system,
)
from tagloom.engines import BlockFailure, Engine, start_engine
from tagloom.exceptions import InvalidInputError
from tagloom.features.chunks import ChunkStorage, PhotoChunk, ReadingPlan
from tagloom.features.clips import CLIP_KEY, ClipFacts
from tagloom.features.descriptor import Descriptor
from tagloom.features.registry import resolve_descriptors
from tagloom.images import DecodedPhoto, DecodePool

__all__ = [
    "Extraction",
    "ExtractionCounts",
    "ExtractionEngine",
    "MemoryCache",
    "RowComputer",
    "extract",
    "frame_hash",
    "read_chunk",
]


# Computing descriptors on several threads: rows never depend on how many.


class RowComputer:
    """Runs descriptors over photos.

    A descriptor that says ``thread_safe = True`` gets its photos in as many equal parts as there are threads, side by
    side, with the numerical libraries held to one thread each (so that sums are made in one order whatever the number
    of threads). Any other descriptor is called once, in the calling thread, and may use threads of its own.

    Parameters
    ----------
    n_threads : int, optional
        Threads; default: the number of cores this process may use.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = system.cpu_count() if n_threads is None else n_threads
        if self.n_threads < 1:
            raise InvalidInputError(f"n_threads must be at least 1, got {n_threads!r}")
        self._executor: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """End the threads."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def compute(self, descriptor: Descriptor, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one checked row per photo.

        Raises
        ------
        InvalidInputError
            If the descriptor gives something else than finite float32 rows of its size.
        """
        if getattr(descriptor, "thread_safe", False):
            with self._one_thread_each():
                rows = self._side_by_side(descriptor, photos)
        else:
            rows = descriptor.compute(photos)
        _check_rows(descriptor, rows, len(photos))
        return rows

    def _side_by_side(self, descriptor: Descriptor, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        n_parts = min(self.n_threads, len(photos))
        if n_parts <= 1:
            return descriptor.compute(photos)
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.n_threads, thread_name_prefix="tagloom-features")
        cuts = np.linspace(0, len(photos), n_parts + 1).astype(int)
        parts = [photos[start:stop] for start, stop in pairwise(cuts)]
        return np.concatenate(list(self._executor.map(descriptor.compute, parts)))

    @contextmanager
    def _one_thread_each(self) -> Iterator[None]:
        """Hold BLAS and OpenCV to one thread: what runs here is small, and there are as many of it as threads."""
        with ExitStack() as stack:
            stack.enter_context(limit_libraries(1))
            cv2 = sys.modules.get("cv2")
            if cv2 is not None:
                stack.callback(cv2.setNumThreads, cv2.getNumThreads())
                cv2.setNumThreads(1)
            yield


def _check_rows(descriptor: Descriptor, values: NDArray[np.float32], n_rows: int) -> None:
    expected = (n_rows, sum(descriptor.outputs.values()))
    if values.shape != expected or values.dtype != np.float32 or not np.isfinite(values).all():
        raise InvalidInputError(
            f"descriptor {descriptor.name!r} must give finite float32 values of shape {expected}, "
            f"got {values.dtype} of shape {values.shape}"
        )


# Rows and records on their way from the descriptors to the cache.

FLUSH_ROWS = 256


def frame_hash(content_hash: str, frame: int) -> str:
    """Return what stands for the content of a video's key frame, so that its row and thumbnail are found again.

    Parameters
    ----------
    content_hash : str
        Of the video.
    frame : int
        Which one, from 0.
    """
    return hashlib.blake2b(f"{content_hash} frame {frame}".encode(), digest_size=32).hexdigest()


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
        self.clips: dict[str, NDArray[np.float32]] = {}
        self.since = time.monotonic()

    def add(self, photos: Sequence[DecodedPhoto]) -> None:
        """Compute what is missing for these photos."""
        readable = {photo.record.content_hash: photo for photo in photos if photo.record.ok}
        for descriptor in self.descriptors:
            rows = self.rows[descriptor.key]
            hashes = [name for name in readable if name not in rows]
            hashes = [name for name, has in zip(hashes, self.cache.has(descriptor.key, hashes), strict=True) if not has]
            if hashes:
                rows.update(self._rows_of(descriptor, {name: readable[name] for name in hashes}))
        self.thumbnails.update((name, photo.thumbnail) for name, photo in readable.items() if photo.thumbnail)
        for name, photo in readable.items():
            if photo.clip is not None:
                self.clips[name] = ClipFacts.of(photo.clip).as_row()
                frames = enumerate(photo.clip.frames)
                self.thumbnails |= {frame_hash(name, k): each.thumbnail for k, each in frames if each.thumbnail}
        self.records += [photo.record for photo in photos]

    def _rows_of(self, descriptor: Descriptor, photos: dict[str, DecodedPhoto]) -> dict[str, NDArray[np.float32]]:
        """Return the rows of photos and videos, and of the key frames of the videos."""
        pooling = getattr(descriptor, "of_clips", "mean")
        parts: dict[str, DecodedPhoto] = {}
        whole: list[str] = []
        for name, photo in photos.items():
            frames = photo.clip.frames if photo.clip is not None else ()
            parts |= {frame_hash(name, k): frame for k, frame in enumerate(frames)}
            if pooling == "whole" or not frames:
                whole.append(name)
        parts |= {name: photos[name] for name in whole}
        found = dict(zip(parts, self.computer.compute(descriptor, list(parts.values())), strict=True))
        for name, photo in photos.items():
            if name not in found and photo.clip is not None:
                rows = np.stack([found[frame_hash(name, k)] for k in range(len(photo.clip.frames))])
                found[name] = rows.max(axis=0) if pooling == "max" else rows.mean(axis=0, dtype=np.float32)
        return found

    def flush_if_due(self) -> None:
        """Store when there is enough, or when the last time is a while ago."""
        if len(self.records) >= FLUSH_ROWS or time.monotonic() - self.since >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Store rows, then thumbnails, then the records that promise them."""
        for key, rows in self.rows.items():
            if rows:
                self.cache.put(key, list(rows), np.stack(list(rows.values())))
        if self.clips:
            self.cache.put(CLIP_KEY, list(self.clips), np.stack(list(self.clips.values())))
        if self.thumbnails:
            self.cache.put_thumbnails(self.thumbnails.items())
        if self.records:
            self.cache.record(self.records)
        self._clear()


# A feature cache that lives as long as the process, for calls without a folder.


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

    def get(self, key: str, hashes: Sequence[str], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return feature rows in the order of the hashes, in an array that is given or a new one."""
        return np.stack([self._rows[key, name] for name in hashes], out=out)

    def put_thumbnails(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store encoded thumbnails by content hash."""
        self._thumbnails.update(items)

    def thumbnails(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the stored thumbnails of these hashes."""
        return {name: self._thumbnails[name] for name in hashes if name in self._thumbnails}

    def all_rows(self) -> dict[str, tuple[list[str], NDArray[np.float32]]]:
        """Return all hashes and feature rows by key."""
        hashes: dict[str, list[str]] = {}
        for key, name in self._rows:
            hashes.setdefault(key, []).append(name)
        return {key: (names, self.get(key, names)) for key, names in hashes.items()}

    def all_thumbnails(self) -> dict[str, bytes]:
        """Return all thumbnails by content hash."""
        return dict(self._thumbnails)


PathLike = str | bytes | os.PathLike[Any]

# Verdicts that say something of the moment rather than of the file's bytes: such files are tried in every run.
RETRIED = frozenset(
    {
        *PARTS,
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
CHUNK_PHOTOS = 256  # given to a worker at a time: a call costs as much as some ten photos
SHARE = 16  # into so many parts a chunk is cut that workers died of


class Extraction(NamedTuple):
    """Result of `extract`: features, groups and one record for each path.

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
    """How many files an extraction knew, hashed, decoded and skipped."""

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
    """Extractor that keeps a feature cache up to date with files.

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
    engine : str or Engine, default="local"
        Where photos are read: "local" decodes in processes and computes in this one; for others see
        `tagloom.engines.start_engine`. Rows do not depend on it.
    shared_storage : str, default=""
        Folder or address (any that fsspec knows) where the workers of another engine leave what they made; empty: they
        send it.
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
        engine: str | Engine = "local",
        shared_storage: str = "",
        **pool_options: Any,
    ) -> None:
        if batch_size < 1:
            raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
        self.descriptors = list(descriptors)
        self.cache = cache
        self.root = os.fsencode(root) if root is not None else b""
        self.batch_size = batch_size
        self.chunk_size = CHUNK if engine == "local" else SHARE * CHUNK
        self.retry = retry
        self.progress = progress
        self.counts = ExtractionCounts()
        self._computer = RowComputer(n_threads)
        renditions = tuple(dict.fromkeys(item for one in self.descriptors for item in one.renditions))
        self._new_pool: Callable[[], DecodePool] = lambda: DecodePool(
            renditions, n_workers=n_workers, thumbnail_size=thumbnail_size, **pool_options
        )
        self._pool: DecodePool | None = None
        self._engine = engine
        self._started: Engine | None = None
        self._start_engine: Callable[[str], Engine] = lambda name: start_engine(name, n_workers=n_workers)
        self._plan = functools.partial(
            ReadingPlan,
            root=os.path.abspath(self.root or b"."),
            options={"thumbnail_size": thumbnail_size, "batch_size": batch_size, **pool_options},
            storage=shared_storage,
        )
        self._given: dict[bytes, bytes] = {}  # full path → path as the caller gave it

    def __enter__(self) -> "ExtractionEngine":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """End the decoding processes and the threads, and the engine that was started here."""
        self._computer.close()
        if self._started is not None:
            self._started.close()
            self._started = None
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    @property
    def groups(self) -> FeatureGroups:
        """The feature groups of all descriptors, side by side."""
        sizes = {name: size for one in self.descriptors for name, size in one.outputs.items()}
        embeddings = [name for one in self.descriptors if getattr(one, "is_embedding", False) for name in one.outputs]
        return FeatureGroups(list(sizes), list(sizes.values()), embeddings)

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
        """Return the joined feature rows of photos by their content hashes; many are a memory map."""
        X = scratch((len(hashes), self.groups.n_columns), np.float32)
        start = 0
        for descriptor in self.descriptors:
            stop = start + sum(descriptor.outputs.values())
            if hashes:
                self.cache.get(descriptor.key, hashes, out=X[:, start:stop])
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
        if self._engine == "local":
            yield from self._decode_together(together)
        elif together:
            yield from self._read_elsewhere(together)

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
        n_frames = 0  # pictures in memory: a video has several
        begun: set[bytes] = set()
        try:
            for photo in self._open_pool().decode(self._feed(paths, begun)):
                photos.append(replace(photo, record=self._own(photo.record)))
                self.counts.n_decoded += photo.record.ok
                n_frames += len(photo.clip.frames) if photo.clip is not None else 1
                if n_frames >= self.batch_size:
                    n_frames = 0
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

    # reading elsewhere -----------------------------------------------------------------------------------------

    def _read_elsewhere(self, paths: Sequence[bytes]) -> Iterator[PhotoRecord]:
        """Give photos to the engine's workers, and store what they make of them."""
        engine = self._open_engine()
        plan = self._plan(descriptors=tuple(self.descriptors), keys=tuple(one.key for one in self.descriptors))
        storage = ChunkStorage(plan) if plan.storage else None
        left = dict.fromkeys(paths)
        if storage is not None:
            for name, chunk in storage.leftovers():
                records = [one for one in map(self._restamped, chunk.records) if one.path in left]
                records = [one for one in records if one.stamp and one.stamp == self._stamp(one.path)]
                yield from self._take_in(chunk, records)
                for record in records:
                    del left[record.path]
                storage.remove(name)
        size = min(CHUNK_PHOTOS, max(SHARE, -(-len(left) // (2 * engine.n_workers))))
        yield from self._read_chunks(functools.partial(read_chunk, plan), storage, _cut(list(left), size))

    def _read_chunks(
        self, read: Callable[[Sequence[bytes]], Any], storage: ChunkStorage | None, chunks: Sequence[Sequence[bytes]]
    ) -> Iterator[PhotoRecord]:
        """Read chunks; one that workers died of is cut up, until the photo that is to blame is alone."""
        failed = []
        for paths, found in zip(chunks, self._open_engine().map_blocks(read, chunks), strict=True):
            chunk = storage.read(found) if storage is not None and isinstance(found, str) else found
            if not isinstance(chunk, PhotoChunk):
                failed.append((paths, chunk))
                continue
            yield from self._take_in(chunk, map(self._restamped, chunk.records))
            if storage is not None:
                storage.remove(found)
        for paths, failure in failed:
            if len(paths) > 1:
                yield from self._read_chunks(read, storage, _cut(paths, -(-len(paths) // SHARE)))
            elif len(chunks) > 1:
                yield from self._read_chunks(read, storage, [paths])  # with nobody beside it to be to blame
            else:
                reason = failure.reason if isinstance(failure, BlockFailure) else "what it made was lost"
                detail = f"the workers that read it died ({reason}); use --retry to try again"
                record = PhotoRecord(paths[0], Verdict.CRASHED, detail, stamp=self._stamp(paths[0]))
                yield from self._take_in(PhotoChunk([record]), [record])

    def _take_in(self, chunk: PhotoChunk, records: Iterable[PhotoRecord]) -> Iterator[PhotoRecord]:
        """Store rows, then thumbnails, then the records that promise them."""
        for key, (hashes, rows) in chunk.rows.items():
            new = ~self.cache.has(key, hashes)
            if new.any():
                self.cache.put(key, [name for name, is_new in zip(hashes, new, strict=True) if is_new], rows[new])
        if chunk.thumbnails:
            self.cache.put_thumbnails(chunk.thumbnails.items())
        records = list(records)
        self.cache.record(records)
        self.counts.n_decoded += sum(record.ok for record in records)
        self.progress.advance(len(records))
        yield from records

    def _restamped(self, record: PhotoRecord) -> PhotoRecord:
        """Give a record the stamp that the file has here: machines number the files of a shared disk differently."""
        here = self._stamp(record.path)
        is_same = here and record.stamp and (here.size, here.mtime_ns) == (record.stamp.size, record.stamp.mtime_ns)
        return replace(record, stamp=here) if is_same or record.stamp is None else record

    def _open_engine(self) -> Engine:
        if isinstance(self._engine, Engine):
            return self._engine
        if self._started is None:
            self._started = self._start_engine(self._engine)
        return self._started

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


# What a worker of another engine runs.

_local = threading.local()  # a worker may have several threads; each reads with an engine of its own


def read_chunk(plan: ReadingPlan, paths: Sequence[bytes]) -> PhotoChunk | str:
    """Read photos as a plan says.

    Parameters
    ----------
    plan : ReadingPlan
        What to compute, and where to leave it.
    paths : sequence of bytes
        The photos, relative to the plan's folder.

    Returns
    -------
    PhotoChunk or str
        What came of it, or its name in shared storage.
    """
    plan.check()
    storage = ChunkStorage(plan) if plan.storage else None
    name = storage.name_of(paths) if storage is not None else ""
    if storage is not None and storage.read(name) is not None:
        return name  # a worker was here before, and was lost
    reader = _reader(plan)
    reader.cache = cache = MemoryCache()
    records = reader.read(paths)
    chunk = PhotoChunk(records, cache.all_rows(), cache.all_thumbnails())
    if storage is None:
        return chunk
    storage.write(name, chunk)
    return name


def _reader(plan: ReadingPlan) -> ExtractionEngine:
    """Return this thread's engine for a plan; what it opened stays open for the next chunk."""
    if getattr(_local, "plan", "") != plan.name:
        if hasattr(_local, "reader"):
            _local.reader.close()
        _local.reader = ExtractionEngine(
            plan.descriptors, MemoryCache(), root=plan.root, n_workers=1, n_threads=1, **plan.options
        )
        _local.plan = plan.name
    reader: ExtractionEngine = _local.reader
    return reader


def _cut(paths: Sequence[bytes], size: int) -> list[Sequence[bytes]]:
    return [paths[start : start + size] for start in range(0, len(paths), size)]
