"""Features of a project: extracting those of its photos into its store, and loading them as one matrix."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.catalog.places import online_root, project_root
from tagloom.catalog.results import Result
from tagloom.core import NO_PROGRESS, FeatureGroups, FileStamp, PhotoRecord, Progress, is_video, scratch
from tagloom.exceptions import PhotosError, StoreError, WriteError
from tagloom.features import (
    DeepDescriptor,
    Descriptor,
    EncoderSettings,
    ExtractionEngine,
    OnnxEncoder,
    get_descriptor,
    resolve_descriptors,
)
from tagloom.features.engine import frame_hash
from tagloom.features.network import TextTower
from tagloom.features.registry import DEFAULT_DESCRIPTORS
from tagloom.features.words.learned import is_learned, learned_descriptor
from tagloom.images import find_photos, split_clips
from tagloom.settings import Settings
from tagloom.store import FolderCache, ProjectStore

__all__ = [
    "ExtractSummary",
    "FeatureRows",
    "extract",
    "list_photos",
    "load_frames",
    "load_rows",
    "make_folder",
    "open_engine",
]


# What every job on a folder of photos begins with: listing the files, and an engine that computes their features.

THUMBNAIL_SIZE = 192
THUMBNAIL_CHUNK = 500  # photos that are looked up at a time
MEBI = 1 << 20
COPIED_ROWS = 8192


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Return an output folder, made if needed.

    Raises
    ------
    WriteError
        If it cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            error.errno or 0, f"cannot make the output folder ({error.strerror}); choose another", str(folder)
        ) from error
    return folder


def list_photos(root: Path) -> tuple[list[bytes], list[PhotoRecord]]:
    """Return the photo files below a folder, and what could not even be listed.

    Raises
    ------
    PhotosError
        If it is no folder, or there is no photo in it.
    """
    if not root.is_dir():
        raise PhotosError(f"expected a folder of photos, but {str(root)!r} is not a folder; check the path")
    found = find_photos(root)
    if not found.photos:
        raise PhotosError(f"No photos (jpg, png, webp, tiff …) in {str(root)!r} or below; check the path")
    _, videos = split_clips(found.root, found.clips_of_photos, found.photos)
    return sorted([*found.photos, *videos]), found.problems


def check_descriptors(settings: Settings) -> None:
    """Raise an error if the settings name a descriptor, group or encoder that is not there; no photo is read.

    Parameters
    ----------
    settings : Settings
        What is to be computed.
    """
    wanted = [item for item in _wanted(settings) if not (isinstance(item, str) and is_learned(item))]
    if wanted:
        resolve_descriptors(wanted, parameters_of(settings))


def wants_group(settings: Settings, group: str) -> bool:
    """Tell whether the settings name a feature group, by itself or by its descriptor; no photo is read.

    Parameters
    ----------
    settings : Settings
        What is to be computed.
    group : str
        The group; none that has a vocabulary.
    """
    wanted = [item for item in _wanted(settings) if not (isinstance(item, str) and is_learned(item))]
    return bool(wanted) and group in resolve_descriptors(wanted, parameters_of(settings))[1]


def parameters_of(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the parameters of descriptors that settings change.

    Parameters
    ----------
    settings : Settings
        ``network`` names the bundled network.
    """
    return {} if settings.network == "small" else {"deep": {"network": settings.network}}


def understands_text(settings: Settings) -> bool:
    """Tell whether the settings name an encoder that has a text tower; no photo is read.

    Parameters
    ----------
    settings : Settings
        What is to be computed.
    """
    return settings.encoder is not None and EncoderSettings.from_toml(settings.encoder).text is not None


def open_engine(
    cache: FolderCache,
    root: Path,
    names: Sequence[bytes],
    settings: Settings,
    *,
    retry: bool = False,
    learn: bool = True,
    has_videos: bool | None = None,
    extra: Sequence[Descriptor] = (),
    progress: Progress = NO_PROGRESS,
) -> tuple[ExtractionEngine, list[str]]:
    """Return an engine for the descriptors that the settings name, and the feature groups asked for.

    A descriptor with a vocabulary takes it from the cache folder, or learns it from a sample of these photos and
    keeps it there. Thumbnails are made along with the features unless the cache has those of all photos.

    Parameters
    ----------
    cache : FolderCache
        Where features are kept.
    root : Path
        The folder of photos.
    names : sequence of bytes
        The photos, relative to it.
    settings : Settings
        What to compute, and with how many resources.
    retry : bool, default=False
        Try files again that were given up.
    learn : bool, default=True
        Whether to learn a vocabulary that is not there; False opens no photo, and raises PhotosError.
    has_videos : bool, optional
        Whether the default features are to have those of sound; default: if there is a video among these files.
    extra : sequence of Descriptor
        What to compute besides; no groups of it are among those asked for.
    progress : Progress, optional
        Told how far the work is.
    """
    limits: dict[str, Any] = {
        "n_workers": settings.n_workers,
        "deadline": settings.deadline_seconds,
        "memory_limit": settings.memory_limit_mb * MEBI,
        "max_pixels": int(settings.max_megapixels * 1_000_000),
    }
    cache.files.refuse_others("vocabularies")
    with_sound = any(map(is_video, names)) if has_videos is None else has_videos
    wanted = [
        learned_descriptor(
            item,
            cache.folder / "vocabularies",
            names,
            root=root,
            n_words=settings.vocabulary_words,
            n_photos=settings.vocabulary_photos,
            learn=learn,
            progress=progress,
            **limits,
        )
        if isinstance(item, str) and is_learned(item)
        else item
        for item in _wanted(settings, with_sound=with_sound)
    ]
    descriptors, groups = resolve_descriptors(wanted, parameters_of(settings))
    for one in descriptors:
        if isinstance(one, DeepDescriptor):
            one.device = settings.device
    engine = ExtractionEngine(
        [*descriptors, *extra],
        cache,
        root=root,
        n_threads=settings.n_threads,
        thumbnail_size=THUMBNAIL_SIZE if learn and _lack_thumbnails(cache, root, names) else None,
        batch_size=settings.batch_size,
        retry=retry,
        progress=progress,
        engine=settings.engine,
        shared_storage=settings.shared_storage or "",
        **limits,
    )
    return engine, groups


def _lack_thumbnails(cache: FolderCache, root: Path, names: Sequence[bytes]) -> bool:
    """Tell whether any of these photos is not as the cache knows it, or has no thumbnail there."""
    folder = os.fsencode(root)
    for start in range(0, len(names), THUMBNAIL_CHUNK):
        part = names[start : start + THUMBNAIL_CHUNK]
        known = cache.known(part)
        if any(name not in known or not _is_as_known(os.path.join(folder, name), known[name]) for name in part):
            return True
        hashes = {record.content_hash for record in known.values()}
        if cache.lack_thumbnails(sorted(hashes)):
            return True
    return False


def _is_as_known(path: bytes, record: PhotoRecord) -> bool:
    """Tell whether a photo could be read, and its file has the size and times it had then."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return record.ok and record.stamp == FileStamp.of(status)


def _wanted(settings: Settings, *, with_sound: bool = False) -> list[str | Descriptor]:
    """Return what to compute; a network of the user's own takes the place of the bundled one."""
    wanted: list[str | Descriptor] = []
    parameters = parameters_of(settings)
    for item in settings.descriptors:
        # The default set is one of descriptors, with all their groups; other names mean groups first.
        if item == "default":
            names = (*DEFAULT_DESCRIPTORS, *(("audio",) if with_sound else ()))
            wanted += [get_descriptor(name, **parameters.get(name, {})) for name in names]
        else:
            wanted.append(item)
    if settings.encoder is None:
        return wanted
    encoder: Any = OnnxEncoder.from_toml(settings.encoder, n_threads=settings.n_threads, device=settings.device)
    bundled = ("deep", "semantic")
    return [encoder, *(item for item in wanted if (item if isinstance(item, str) else item.name) not in bundled)]


# The verb behind ``tagloom extract`` in a project, and the feature rows that training takes from the cache.


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractSummary(Result):
    """What an extraction did.

    Parameters
    ----------
    n_photos : int
        Readable photos of the project.
    n_ready : int
        Photos that have all features now.
    n_unchanged, n_hashed, n_decoded, n_failed : int
        Files that were known, hashed, decoded to a photo, and could not be read.
    groups : dict of str to int
        Feature groups and their columns.
    seconds : float
        Wall time.
    n_scored : int
        Photos that the active model gave its first numbers to; see `tagloom.learning.score.score_new`.
    """

    n_photos: int
    n_ready: int
    n_unchanged: int
    n_hashed: int
    n_decoded: int
    n_failed: int
    groups: dict[str, int]
    seconds: float
    n_scored: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Features of photos.

    Parameters
    ----------
    ids : ndarray of int64
        The photos of the rows.
    X : ndarray of float32, shape (n, d)
        The features; many are a memory map. They may be `LaterFeatures`.
    groups : FeatureGroups
        Their column ranges.
    keys : dict of str to str
        For each descriptor the key that its rows are cached under.
    n_without : int
        Readable photos that have no features.
    texts : dict of str to TextTower
        For a feature group the text tower that goes with it.
    """

    ids: NDArray[np.int64]
    X: NDArray[np.float32]
    groups: FeatureGroups
    keys: dict[str, str]
    n_without: int
    texts: Mapping[str, TextTower] = field(default_factory=dict)


class LaterFeatures:
    """Features that are read from the store once somebody looks at them.

    Parameters
    ----------
    read : callable
        Reads them.
    shape : tuple of int
        Photos, columns.
    """

    dtype, ndim = np.dtype(np.float32), 2

    def __init__(self, read: Callable[[], NDArray[np.float32]], shape: tuple[int, int]) -> None:
        self._read, self.shape, self.size = read, shape, shape[0] * shape[1]

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        """The features."""
        return self._read()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.rows, dtype=dtype) if copy else np.asarray(self.rows, dtype=dtype)


def extract(
    store: ProjectStore, settings: Settings, *, retry: bool = False, progress: Progress = NO_PROGRESS
) -> ExtractSummary:
    """Compute the features of all readable photos that have none yet.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken.
    settings : Settings
        ``descriptors`` names what is computed.
    retry : bool, default=False
        Try files again that crashed or hung the decoder.
    progress : Progress, optional
        Told about every photo. An interruption keeps what was computed.
    """
    begin = time.perf_counter()
    with store.lock():
        root = online_root(store)
        names = store.photos.readable(offline=False)[1]
        with store.cache() as cache:
            engine, wanted = open_engine(
                cache,
                _path(root.path),
                names,
                settings,
                retry=retry,
                has_videos=store.photos.has_videos(),
                progress=progress,
            )
            with engine:
                _say_what_changed(store, engine, progress)
                n_ready = sum(record.ok for record in engine.read_each(names))
    sizes = dict(zip(engine.groups.names, engine.groups.sizes, strict=True))
    counts = engine.counts
    return ExtractSummary(
        n_photos=len(names),
        n_ready=n_ready,
        n_unchanged=counts.n_unchanged,
        n_hashed=counts.n_hashed,
        n_decoded=counts.n_decoded,
        n_failed=counts.n_failed,
        groups={name: sizes[name] for name in wanted},
        seconds=time.perf_counter() - begin,
    )


def load_rows(
    store: ProjectStore,
    cache: FolderCache,
    settings: Settings,
    *,
    photo_ids: ArrayLike | None = None,
    compute: bool = True,
    later: bool = False,
    progress: Progress = NO_PROGRESS,
) -> FeatureRows:
    """Return the features of all readable photos; those that are missing are computed if the folder is there.

    Parameters
    ----------
    store : ProjectStore
        The project.
    cache : FolderCache
        Its cache.
    settings : Settings
        ``descriptors`` names the features.
    photo_ids : array-like of int, optional
        Only these photos.
    compute : bool, default=True
        Whether to compute what is missing; False takes what there is, and opens no photo.
    later : bool, default=False
        Whether features are read only once they are looked at, which takes the project's lock.
    progress : Progress, optional
        Told about every photo that has to be read.

    Raises
    ------
    PhotosError
        If no photo has features.
    """
    root = project_root(store)
    ids, names, hashes = store.photos.readable(photo_ids)
    engine, wanted = open_engine(
        cache,
        _path(root.path),
        names,
        settings,
        learn=compute,
        has_videos=store.photos.has_videos(),
        progress=progress,
    )
    with engine:
        ready = _ready(engine, cache, hashes)
        if compute and not ready.all() and store.roots.refresh().get(root.id, False):
            _say_what_changed(store, engine, progress)
            engine.read([name for name, has in zip(names, ready, strict=True) if not has])
            ready = _ready(engine, cache, hashes)
        if not ready.any():
            raise PhotosError(
                f"none of {len(ids)} readable photos has features yet; "
                + (
                    "put photos into the folder, then: tagloom scan"
                    if compute
                    else "compute them with: tagloom extract"
                )
            )
        texts = _texts(engine)
        groups, columns = engine.groups.select(wanted) if list(engine.groups) != wanted else (engine.groups, None)
        X: Any = None
        if not later:
            X = _columns_of(engine.rows([item for item, has in zip(hashes, ready, strict=True) if has]), columns)
    keys, ids, n_without = {one.name: one.key for one in engine.descriptors}, ids[ready], int((~ready).sum())
    if later:

        def read() -> NDArray[np.float32]:
            with store.lock(), store.cache() as own:
                found = load_rows(store, own, settings, photo_ids=ids, compute=False)
            if not np.array_equal(found.ids, ids):
                raise StoreError("photos have changed meanwhile; run the command again")
            return found.X

        X = LaterFeatures(read, (len(ids), groups.n_columns))
    return FeatureRows(ids, X, groups, keys, n_without, texts)


def _columns_of(X: NDArray[np.float32], columns: NDArray[np.intp] | None) -> NDArray[np.float32]:
    if columns is None:
        return X
    found = scratch((len(X), len(columns)), X.dtype)
    for start in range(0, len(X), COPIED_ROWS):
        found[start : start + COPIED_ROWS] = X[start : start + COPIED_ROWS, columns]
    return found


def load_frames(
    store: ProjectStore, cache: FolderCache, settings: Settings, content_hash: str, n_frames: int
) -> FeatureRows:
    """Return the features of the key frames of a video, with -1, -2 … for ids; nothing is computed.

    Parameters
    ----------
    store : ProjectStore
        The project.
    cache : FolderCache
        Its cache.
    settings : Settings
        ``descriptors`` names the features.
    content_hash : str
        Of the video.
    n_frames : int
        How many key frames it has.

    Raises
    ------
    PhotosError
        If they have no features.
    """
    hashes = [frame_hash(content_hash, frame) for frame in range(n_frames)]
    root = project_root(store)
    engine, wanted = open_engine(
        cache, _path(root.path), [], settings, learn=False, has_videos=store.photos.has_videos()
    )
    with engine:
        if not _ready(engine, cache, hashes).all():
            raise PhotosError("the key frames of this video have no features yet; compute them with: tagloom extract")
        X, groups = engine.rows(hashes), engine.groups
    if list(groups) != wanted:
        groups, columns = groups.select(wanted)
        X = X[:, columns]
    keys = {one.name: one.key for one in engine.descriptors}
    return FeatureRows(-1 - np.arange(n_frames), X, groups, keys, 0, _texts(engine))


def _texts(engine: ExtractionEngine) -> dict[str, TextTower]:
    """Return the text towers of encoders that have one."""
    return {one.name: one.text for one in engine.descriptors if isinstance(one, OnnxEncoder) and one.text is not None}


def _say_what_changed(store: ProjectStore, engine: ExtractionEngine, progress: Progress) -> None:
    """Say which descriptors have other settings than in the last training, as all photos are read for them."""
    active = store.models.active()
    before = {} if active is None else active.features.get("keys", {})
    changed = [one.name for one in engine.descriptors if before.get(one.name, one.key) != one.key]
    if changed:
        progress.start(f"the settings of {', '.join(changed)} changed since training: reading all photos again")


def _ready(engine: ExtractionEngine, cache: FolderCache, hashes: Sequence[str]) -> NDArray[np.bool_]:
    ready = np.ones(len(hashes), dtype=bool)
    for descriptor in engine.descriptors:
        ready &= cache.has(descriptor.key, hashes)
    return ready


def _path(root: bytes) -> Path:
    return Path(os.fsdecode(root))
