"""The verb behind ``tagloom extract`` in a project, and the feature rows that training takes from the cache."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.catalog.places import online_root, project_root
from tagloom.catalog.reading import open_engine
from tagloom.catalog.results import Result
from tagloom.core.groups import FeatureGroups
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.exceptions import PhotosError
from tagloom.features.engine import ExtractionEngine
from tagloom.settings import Settings
from tagloom.store.cache import FolderCache
from tagloom.store.project import ProjectStore

__all__ = ["ExtractSummary", "FeatureRows", "extract", "load_rows"]


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
        The features.
    groups : FeatureGroups
        Their column ranges.
    keys : dict of str to str
        For each descriptor the key that its rows are cached under.
    n_without : int
        Readable photos that have no features.
    """

    ids: NDArray[np.int64]
    X: NDArray[np.float32]
    groups: FeatureGroups
    keys: dict[str, str]
    n_without: int


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
        names = _readable(store, ("present",))[1]
        with store.cache() as cache:
            engine, wanted = open_engine(cache, _path(root.path), names, settings, retry=retry, progress=progress)
            with engine:
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
    progress : Progress, optional
        Told about every photo that has to be read.

    Raises
    ------
    PhotosError
        If no photo has features.
    """
    root = project_root(store)
    ids, names, hashes = _readable(store, ("present", "offline"), photo_ids)
    engine, wanted = open_engine(cache, _path(root.path), names, settings, learn=compute, progress=progress)
    with engine:
        ready = _ready(engine, cache, hashes)
        if compute and not ready.all() and store.roots.refresh().get(root.id, False):
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
        X, groups = engine.rows([item for item, has in zip(hashes, ready, strict=True) if has]), engine.groups
    if list(groups) != wanted:
        groups, columns = groups.select(wanted)
        X = X[:, columns]
    keys = {one.name: one.key for one in engine.descriptors}
    return FeatureRows(ids[ready], X, groups, keys, int((~ready).sum()))


def _readable(
    store: ProjectStore, states: Sequence[str], photo_ids: ArrayLike | None = None
) -> tuple[NDArray[np.int64], list[bytes], list[str]]:
    """Return ids, names and content hashes of readable photos in these states."""
    table = store.photos.table(photo_ids)
    good = [
        row
        for row, (verdict, state) in enumerate(zip(table.verdicts, table.states, strict=True))
        if verdict == "ok" and state in states
    ]
    return table.ids[good], [table.paths[row] for row in good], [table.hashes[row] for row in good]


def _ready(engine: ExtractionEngine, cache: FolderCache, hashes: Sequence[str]) -> NDArray[np.bool_]:
    ready = np.ones(len(hashes), dtype=bool)
    for descriptor in engine.descriptors:
        ready &= cache.has(descriptor.key, hashes)
    return ready


def _path(root: bytes) -> Path:
    return Path(os.fsdecode(root))
