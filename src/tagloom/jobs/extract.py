"""Features of a folder of photos, as files: the verb behind ``tagloom extract``."""

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.logs import configure_logging
from tagloom.catalog.output_guard import refuse_foreign_target
from tagloom.catalog.places import check_output_folder
from tagloom.catalog.reading import check_descriptors, list_photos, make_folder, open_engine
from tagloom.core.files import atomic_write, sweep_temporary_files
from tagloom.core.groups import FeatureGroups
from tagloom.core.photos import PhotoRecord
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.features import ExtractionCounts, ExtractionEngine
from tagloom.features.scaling import default_map
from tagloom.jobs.feature_table import (
    ARRAY_FILE,
    GROUPS_FILE,
    PHOTOS_FILE,
    PhotoTable,
    is_made_here,
    write_features,
)
from tagloom.settings import Settings
from tagloom.store import FolderCache

__all__ = ["ExtractResult", "extract_folder"]

logger = logging.getLogger(__name__)

BLOCK_ROWS = 4096
HASH_BYTES = 32
N_EXAMPLES = 20


@dataclass(slots=True)
class ExtractResult:
    """What `extract_folder` did.

    Attributes
    ----------
    groups : FeatureGroups
        The columns written.
    n_rows : int
        Readable photos.
    verdicts : dict
        How many files could not be read, by verdict.
    examples : list of PhotoRecord
        The first few of them.
    counts : ExtractionCounts
        How many files were known, hashed, decoded.
    seconds : float
        Wall time.
    files : dict
        Paths of what was written: ``features``, ``photos``, ``groups``.
    """

    groups: FeatureGroups
    n_rows: int
    verdicts: Mapping[str, int]
    examples: list[PhotoRecord]
    counts: ExtractionCounts
    seconds: float
    files: dict[str, Path] = field(default_factory=dict)


def extract_folder(
    photos: str | os.PathLike[str],
    out: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    retry: bool = False,
    progress: Progress = NO_PROGRESS,
) -> ExtractResult:
    """Compute the features of a folder of photos and write them as one array.

    Photos are only read. Every few seconds the rows computed so far are kept in ``out/.tagloom``: a second run, or one
    after an interruption, reads only what is new. Memory does not grow with the number of photos (but for their names).

    Parameters
    ----------
    photos : path
        Folder of photos, subfolders included.
    out : path
        Folder for ``features.npy``, ``photos.csv``, ``groups.json`` and the cache; made if needed. Files of these names
        that an extraction did not write are not replaced.
    settings : Settings, optional
        ``descriptors`` names what is computed; default: the defaults.
    retry : bool, default=False
        Try files again that crashed or hung the decoder in an earlier run.
    progress : Progress, optional
        Told how far the work is.

    Raises
    ------
    InvalidInputError
        If a file is in the way; nothing is read then.
    StoreError
        If ``out`` holds the project of other photos; nothing is read then.
    """
    settings = settings if settings is not None else Settings()
    begin = time.perf_counter()
    check_output_folder(out, photos)
    for name in (ARRAY_FILE, PHOTOS_FILE, GROUPS_FILE):
        refuse_foreign_target(Path(out, name), is_made_here, remedy="move it away, or name another folder with --out")
    check_descriptors(settings)
    root = Path(photos)
    names, problems = list_photos(root)
    out = make_folder(out)  # nothing is left behind where there are no photos
    configure_logging(out / ".tagloom" / "logs", settings.log_level)
    with FolderCache(out / ".tagloom", root) as cache:
        sweep_temporary_files(out, older_than=0)  # the lock is ours: nobody else writes here
        engine, wanted = open_engine(cache, root, names, settings, retry=retry, progress=progress)
        with engine:
            summary = _write(engine, wanted, names, problems, out, progress)
    result = ExtractResult(**summary, counts=engine.counts, seconds=time.perf_counter() - begin)
    result.files = {"features": out / ARRAY_FILE, "photos": out / PHOTOS_FILE, "groups": out / GROUPS_FILE}
    logger.info("extracted %d columns of %d photos", result.groups.n_columns, result.n_rows)
    return result


def _write(
    engine: ExtractionEngine,
    wanted: list[str],
    names: list[bytes],
    problems: list[PhotoRecord],
    out: Path,
    progress: Progress,
) -> dict[str, Any]:
    hashes = bytearray()
    failed: Counter[str] = Counter()
    examples: list[PhotoRecord] = []
    with atomic_write(out / PHOTOS_FILE) as handle:
        table = PhotoTable(handle)
        for record in _all_records(engine, names, problems):
            table.add(record)
            if record.ok:
                hashes += bytes.fromhex(record.content_hash)
                continue
            failed[str(record.verdict)] += 1
            if len(examples) < N_EXAMPLES:
                examples.append(record)
    groups, columns = engine.groups.select(wanted)
    blocks = _blocks(engine, hashes, columns, progress)
    write_features(out, blocks, (table.n_rows, groups.n_columns), _describe(engine, groups), table.digest)
    return {"groups": groups, "n_rows": table.n_rows, "verdicts": dict(failed), "examples": examples}


def _all_records(engine: ExtractionEngine, names: list[bytes], problems: list[PhotoRecord]) -> Iterator[PhotoRecord]:
    yield from engine.read_each(names)
    yield from problems


def _blocks(
    engine: ExtractionEngine, hashes: bytearray, columns: NDArray[np.intp], progress: Progress
) -> Iterator[NDArray[np.float32]]:
    n_rows = len(hashes) // HASH_BYTES
    progress.start("writing features", n_rows)
    try:
        for start in range(0, n_rows, BLOCK_ROWS):
            block = hashes[start * HASH_BYTES : (start + BLOCK_ROWS) * HASH_BYTES]
            texts = [block[place : place + HASH_BYTES].hex() for place in range(0, len(block), HASH_BYTES)]
            yield engine.rows(texts)[:, columns]
            progress.advance(len(texts))
    finally:
        progress.finish()


def _describe(engine: ExtractionEngine, groups: FeatureGroups) -> list[dict[str, Any]]:
    owners = {name: descriptor for descriptor in engine.descriptors for name in descriptor.outputs}
    described = []
    for name, size in zip(groups.names, groups.sizes, strict=True):
        owner = owners[name]
        described.append(
            {
                "name": name,
                "start": groups[name].start,
                "size": size,
                "descriptor": owner.name,
                "key": owner.key,
                "parameters": dict(owner.parameters),
                "scaling": default_map(name),
            }
        )
    return described
