"""What every job on a folder of photos begins with: listing the files, and an engine that computes their features."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagloom.core.photos import FileStamp, PhotoRecord
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.exceptions import PhotosError, WriteError
from tagloom.features import Descriptor, ExtractionEngine, OnnxEncoder, get_descriptor, resolve_descriptors
from tagloom.features.registry import DEFAULT_DESCRIPTORS
from tagloom.features.words.learned import is_learned, learned_descriptor
from tagloom.images import find_photos
from tagloom.settings import Settings
from tagloom.store import FolderCache

__all__ = ["list_photos", "make_folder", "open_engine"]

THUMBNAIL_SIZE = 192
THUMBNAIL_CHUNK = 500  # photos that are looked up at a time
MEBI = 1 << 20


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
        raise PhotosError(f"no photo files (jpg, png, webp, tiff …) in {str(root)!r} or below; check the path")
    return found.photos, found.problems


def check_descriptors(settings: Settings) -> None:
    """Raise an error if the settings name a descriptor, group or encoder that is not there; no photo is read.

    Parameters
    ----------
    settings : Settings
        What is to be computed.
    """
    wanted = [item for item in _wanted(settings) if not (isinstance(item, str) and is_learned(item))]
    if wanted:
        resolve_descriptors(wanted)


def open_engine(
    cache: FolderCache,
    root: Path,
    names: Sequence[bytes],
    settings: Settings,
    *,
    retry: bool = False,
    learn: bool = True,
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
        for item in _wanted(settings)
    ]
    descriptors, groups = resolve_descriptors(wanted)
    engine = ExtractionEngine(
        descriptors,
        cache,
        root=root,
        n_threads=settings.n_threads,
        thumbnail_size=THUMBNAIL_SIZE if learn and _lack_thumbnails(cache, root, names) else None,
        batch_size=settings.batch_size,
        retry=retry,
        progress=progress,
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


def _wanted(settings: Settings) -> list[str | Descriptor]:
    """Return what to compute; a network of the user's own takes the place of the bundled one."""
    wanted: list[str | Descriptor] = []
    for item in settings.descriptors:
        # The default set is one of descriptors, with all their groups; other names mean groups first.
        wanted += [get_descriptor(name) for name in DEFAULT_DESCRIPTORS] if item == "default" else [item]
    if settings.encoder is None:
        return wanted
    encoder: Any = OnnxEncoder.from_toml(settings.encoder, n_threads=settings.n_threads)
    bundled = ("deep", "semantic")
    return [encoder, *(item for item in wanted if (item if isinstance(item, str) else item.name) not in bundled)]
