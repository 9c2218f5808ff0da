"""The verb behind ``tagloom scan``: which photos are there, which are new, changed, moved or gone.

The files are listed and looked at (size, time, inode), which reads none of them. Only those that are new or look
changed are read: hashed, and decoded if their content is new. So a scan of an unchanged tree costs a look per file.
"""

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.catalog import Result, is_trusted, own_root
from tagloom.core import NO_PROGRESS, PhotoRecord, Progress, Verdict, is_raw, is_video
from tagloom.images import find_photos, reads_videos, split_clips
from tagloom.settings import Settings
from tagloom.store import ProjectStore, Stamp

if TYPE_CHECKING:
    from tagloom.catalog import ExtractSummary
    from tagloom.features import ExtractionCounts
    from tagloom.store import Changes

__all__ = ["ScanResult", "decode_limits", "scan", "scan_and_extract"]

N_EXAMPLES = 10
MEBI = 1 << 20
PART_DETAILS = {
    Verdict.RAW_OF_PHOTO: "the RAW file of a photo: the JPEG or HEIC of the same name beside it is read in its place",
    Verdict.CLIP_OF_PHOTO: "the video of a Live Photo: the JPEG or HEIC of the same name beside it is the photo",
}
_UNSEARCHED = frozenset({Verdict.NO_PERMISSION, Verdict.UNREADABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult(Result):
    """What a scan found.

    Parameters
    ----------
    root : bytes
        The folder of photos.
    offline : bool
        Whether it could not be reached; nothing is called missing then.
    n_listed : int
        Files that are there, parts of photos included.
    n_same, n_read : int
        Photos as they were; files that had to be read.
    new, changed, moved, missing, back : tuple of int
        Ids of photos seen for the first time, with other content, at another place, no longer there, there again. The
        RAW file of a photo and the video of a Live Photo are parts of it.
    took_over : tuple of int
        Ids of photos that took over the tags of a copy that is gone, or of the other file of a RAW+JPEG pair or a Live
        Photo.
    batch : int or None
        What `tagloom undo` takes back of that.
    examples : dict of str to tuple of bytes
        The first names of each of these.
    absent : tuple of bytes
        Names of all photos that are not there, those included that were not there before.
    unreadable : dict of str to int
        Files that are no photo that can be read, by verdict.
    problems : tuple of (bytes, str, str)
        Name, verdict and detail of folders that were not searched, and of all these files.
    n_duplicates : int
        Photos that are copies of another one.
    n_raw_of_photos, n_raw_photos : int
        RAW files with a JPEG or HEIC beside them, which is the photo; and RAW files that are photos themselves.
    n_videos : int
        Videos that are items of their own.
    n_clips_of_photos, n_clips_in_photos : int
        Videos that are part of a photo: of Live Photos, files beside the photo; of Motion Photos, inside its file.
    raw_gone : tuple of bytes
        Names of RAW files and videos of photos that are no longer there.
    skipped : dict of str to dict of str to int
        How many other files there are, by what they are ("videos", "JXL", "other files") and by extension.
    sidecars_left : tuple of bytes
        Paths of sidecars that tagloom wrote and that stayed where photos were before they moved; the next write takes
        them along.
    seconds : float
        Wall time.
    """

    root: bytes
    offline: bool
    n_listed: int = 0
    n_same: int = 0
    n_read: int = 0
    new: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    moved: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    back: tuple[int, ...] = ()
    took_over: tuple[int, ...] = ()
    batch: int | None = None
    absent: tuple[bytes, ...] = ()
    examples: dict[str, tuple[bytes, ...]]
    unreadable: dict[str, int]
    problems: tuple[tuple[bytes, str, str], ...] = ()
    n_duplicates: int = 0
    n_raw_of_photos: int = 0
    n_raw_photos: int = 0
    n_videos: int = 0
    n_clips_of_photos: int = 0
    n_clips_in_photos: int = 0
    raw_gone: tuple[bytes, ...] = ()
    skipped: dict[str, dict[str, int]] = field(default_factory=dict)
    sidecars_left: tuple[bytes, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Listing:
    """Files that are there: names and stamps, folders not searched, which are parts of photos, other files."""

    names: list[bytes]
    stamps: list[Stamp | None]
    problems: list[PhotoRecord]
    parts: dict[bytes, Verdict]
    skipped: dict[str, dict[str, int]]

    def n_parts(self, verdict: Verdict) -> int:
        """Return how many parts of photos of one kind there are."""
        return sum(each is verdict for each in self.parts.values())


def scan(
    store: ProjectStore, settings: Settings, *, retry: bool = False, progress: Progress = NO_PROGRESS
) -> ScanResult:
    """Bring a project up to date with its folder of photos.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken.
    settings : Settings
        Limits of decoding.
    retry : bool, default=False
        Try files again that crashed or hung the decoder.
    progress : Progress, optional
        Told how far the work is. An interruption keeps what was read.
    """
    return _scan(store, settings, retry, progress)[0]


def scan_and_extract(
    store: ProjectStore, settings: Settings, *, retry: bool = False, progress: Progress = NO_PROGRESS
) -> "ExtractSummary":
    """Bring a project up to date with its folder, and compute all features that are missing.

    New photos are read once for both. Parameters are those of `scan`.
    """
    from tagloom.catalog import extract

    result, counts = _scan(store, settings, retry, progress, with_features=True)
    found = extract(store, settings, retry=retry, progress=progress)
    return replace(
        found,
        n_hashed=found.n_hashed + counts.n_hashed,
        n_decoded=found.n_decoded + counts.n_decoded,
        n_failed=found.n_failed + counts.n_failed,
        seconds=found.seconds + result.seconds,
    )


def _scan(
    store: ProjectStore, settings: Settings, retry: bool, progress: Progress, *, with_features: bool = False
) -> "tuple[ScanResult, ExtractionCounts]":
    from tagloom.features import ExtractionCounts

    begin = time.perf_counter()
    root = own_root(store)
    counts = ExtractionCounts()
    with store.lock():
        if not store.roots.refresh().get(root.id, False):
            return _offline(root.path, begin), counts
        progress.start("looking at files", None)
        listing = _list(store, root.path, stay_below=not is_trusted(store))
        todo = _to_read(store, listing, retry)
        progress.finish()
        if todo:
            counts = _read(store, root.path, todo, listing, settings, retry, progress, with_features)
        if not store.roots.refresh().get(root.id, False):  # unplugged meanwhile
            return _offline(root.path, begin), counts
        hidden = [*_hidden(store, listing.problems), *_unread_videos(store, root.path)]
        changes = store.photos.reconcile([*listing.names, *hidden])
        _set_times(store)
    result = ScanResult(
        root=root.path,
        offline=False,
        n_listed=len(listing.names),
        n_read=len(todo),
        batch=changes.batch,
        absent=tuple(store.photos.missing()),
        n_raw_photos=sum(is_raw(name) and name not in listing.parts for name in listing.names),
        n_videos=sum(is_video(name) and name not in listing.parts for name in listing.names),
        n_clips_of_photos=listing.n_parts(Verdict.CLIP_OF_PHOTO),
        n_clips_in_photos=store.photos.n_with_clip_inside(),
        skipped=listing.skipped,
        sidecars_left=_sidecars_left(store, root.path, changes.moved.tolist()),
        **_found(store, changes, listing),
        **_problems(store, listing.problems),
        seconds=time.perf_counter() - begin,
    )
    return result, counts


def decode_limits(settings: Settings) -> dict[str, Any]:
    """Return the limits of decoding as `tagloom.images.DecodePool` takes them."""
    return {
        "n_workers": settings.n_workers,
        "deadline": settings.deadline_seconds,
        "memory_limit": settings.memory_limit_mb * MEBI,
        "max_pixels": int(settings.max_megapixels * 1_000_000),
    }


def _offline(root: bytes, begin: float) -> ScanResult:
    return ScanResult(root=root, offline=True, examples={}, unreadable={}, seconds=time.perf_counter() - begin)


def _list(store: ProjectStore, root: bytes, *, stay_below: bool) -> _Listing:
    found = find_photos(root, stay_below=stay_below)
    prefix = os.path.join(root, b"")
    names: list[bytes] = []
    stamps: list[Stamp | None] = []
    for name in [*found.photos, *found.raw_of_photos, *found.clips_of_photos]:
        try:
            status = os.stat(prefix + name)
        except (OSError, ValueError):
            if not os.path.lexists(prefix + name):  # gone since it was listed
                continue
            stamps.append(None)
        else:
            stamps.append((status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns))
        names.append(name)
    parts = dict.fromkeys(found.raw_of_photos, Verdict.RAW_OF_PHOTO)
    if found.clips_of_photos:
        # A video is opened to see how long it is; one that is known as part of a photo and unchanged stays that.
        changed = {names[position] for position in store.photos.changed_files(names, stamps)}
        known = _known_parts(store) - changed
        new = [name for name in found.clips_of_photos if name not in known]
        clips = {*known.intersection(found.clips_of_photos), *split_clips(root, new, found.photos)[0]}
        parts |= {name: Verdict.CLIP_OF_PHOTO for name in found.clips_of_photos if name in clips}
    return _Listing(names, stamps, found.problems, parts, found.skipped)


def _known_parts(store: ProjectStore) -> set[bytes]:
    return {path for path, is_present in store.photos.parts().values() if is_present}


def _to_read(store: ProjectStore, listing: _Listing, retry: bool) -> list[bytes]:
    """Return the names of files that are new or look changed, and of those whose verdict may have passed."""
    names = listing.names
    todo = {names[position] for position in store.photos.changed_files(names, listing.stamps)}
    unreadable = store.photos.unreadable()
    if unreadable:
        from tagloom.features.engine import FAILED_BY_FORCE, RETRIED

        again = RETRIED | (FAILED_BY_FORCE if retry else frozenset())
        there = set(names)
        todo.update(path for path, verdict in unreadable if verdict in again and path in there)
    # A photo came or went beside a RAW file or a video: that is read again, since it is something else now.
    parts = _known_parts(store)
    todo.update(name for name in names if (name in parts) != (name in listing.parts))
    return sorted(todo)


def _read(
    store: ProjectStore,
    root: bytes,
    todo: Sequence[bytes],
    listing: _Listing,
    settings: Settings,
    retry: bool,
    progress: Progress,
    with_features: bool,
) -> "ExtractionCounts":
    """Read files into the cache: record, thumbnail, capture time, and features if they are wanted now."""
    from tagloom.catalog import THUMBNAIL_SIZE, open_engine
    from tagloom.features import ExtractionEngine
    from tagloom.features.classic.exif import CaptureTime

    parts = [name for name in todo if name in listing.parts]
    with store.cache() as cache:
        if with_features:
            names = [name for name in listing.names if name not in listing.parts]
            engine, _ = open_engine(
                cache, Path(os.fsdecode(root)), names, settings, retry=retry, extra=[CaptureTime()], progress=progress
            )
        else:
            engine = ExtractionEngine(
                [CaptureTime()],
                cache,
                root=root,
                n_threads=settings.n_threads,
                thumbnail_size=THUMBNAIL_SIZE,
                batch_size=settings.batch_size,
                retry=retry,
                progress=progress,
                engine=settings.engine,
                shared_storage=settings.shared_storage or "",
                **decode_limits(settings),
            )
        with engine:
            engine.read([name for name in todo if name not in listing.parts])
        if parts:
            cache.record(_hash_parts(root, {name: listing.parts[name] for name in parts}, settings, progress))
    return engine.counts


def _hash_parts(
    root: bytes, parts: dict[bytes, Verdict], settings: Settings, progress: Progress
) -> Iterable[PhotoRecord]:
    from tagloom.images import DecodePool

    progress.start("hashing parts of photos", len(parts))
    with DecodePool(**decode_limits(settings)) as pool:
        paths = (os.path.join(root, name) for name in parts)
        for (name, verdict), record in zip(parts.items(), pool.fingerprint(paths), strict=True):
            progress.advance()
            mine = replace(record, path=name)
            yield replace(mine, verdict=verdict, detail=PART_DETAILS[verdict]) if record.ok else mine
    progress.finish()


def _sidecars_left(store: ProjectStore, root: bytes, moved: Sequence[int]) -> tuple[bytes, ...]:
    if not moved:
        return ()
    from tagloom.project.moved_sidecars import find_left_sidecars

    return tuple(each.file for each in find_left_sidecars(store, root, moved))


def _hidden(store: ProjectStore, problems: Iterable[PhotoRecord]) -> list[bytes]:
    """Return known photos below folders that could not be searched: nobody knows that they are gone."""
    folders = tuple(
        b"" if record.path == b"." else os.path.join(record.path, b"")
        for record in problems
        if record.verdict in _UNSEARCHED
    )
    return [path for path in store.photos.paths() if path.startswith(folders)] if folders else []


def _unread_videos(store: ProjectStore, root: bytes) -> list[bytes]:
    """Return known videos that are there and cannot be read any more: what they need was uninstalled."""
    if reads_videos():
        return []
    return [path for path in store.photos.paths() if is_video(path) and os.path.isfile(os.path.join(root, path))]


def _set_times(store: ProjectStore) -> None:
    """Store when photos were taken, of those of which that is not known yet."""
    undated = store.photos.undated()
    if not len(undated):
        return
    from tagloom.features.classic.exif import CaptureTime, seconds_of

    table = store.photos.table(undated)
    key = CaptureTime().key
    with store.cache() as cache:
        has = cache.has(key, table.hashes)
        rows = cache.get(key, [item for item, there in zip(table.hashes, has, strict=True) if there])
    seconds = np.full(len(table), np.nan)
    if has.any():
        seconds[has] = seconds_of(rows)
    # A file that is no photo has no time; a photo without a row has one that was not looked for.
    settled = has | np.array([verdict != "ok" for verdict in table.verdicts], dtype=bool)
    store.photos.set_taken(table.ids[settled], seconds[settled])


def _found(store: ProjectStore, changes: "Changes", listing: _Listing) -> dict[str, Any]:
    """Return ids, names and counts of photos; their parts are not counted as photos."""
    parts = store.photos.parts()
    kinds = {name: getattr(changes, name).tolist() for name in ("new", "changed", "moved", "missing", "back")}
    there = {number for number, (_, is_present) in parts.items() if is_present}
    n_same_parts = len(there.difference(*kinds.values()))
    gone = (parts[number][0] for number in kinds["missing"] if number in parts)
    kinds = {name: [number for number in ids if number not in parts] for name, ids in kinds.items()}
    kinds["took_over"] = [number for number in changes.took_over if number not in parts]
    copies = ([number for number in group.tolist() if number not in parts] for group in store.photos.duplicates())
    return {name: tuple(ids) for name, ids in kinds.items()} | {
        "examples": _examples(store, kinds),
        "n_same": changes.n_same - n_same_parts,
        "n_duplicates": sum(max(len(group) - 1, 0) for group in copies),
        "n_raw_of_photos": listing.n_parts(Verdict.RAW_OF_PHOTO),
        "raw_gone": tuple(gone),
    }


def _examples(store: ProjectStore, kinds: dict[str, list[int]]) -> dict[str, tuple[bytes, ...]]:
    shown = {name: ids[:N_EXAMPLES] for name, ids in kinds.items() if ids}
    table = store.photos.table(sorted({number for ids in shown.values() for number in ids}))
    names = dict(zip(table.ids.tolist(), table.paths, strict=True))
    return {name: tuple(names[number] for number in ids) for name, ids in shown.items()}


def _problems(store: ProjectStore, folders: Iterable[PhotoRecord]) -> dict[str, Any]:
    files = store.photos.problems()
    unsearched = ((record.path, str(record.verdict), record.detail) for record in folders)
    return {
        "unreadable": dict(Counter(verdict for _, verdict, _ in files)),
        "problems": (*unsearched, *files),
    }
