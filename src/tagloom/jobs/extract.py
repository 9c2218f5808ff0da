"""Features of a folder of photos, as files: the verb behind ``tagloom extract``."""

import csv
import hashlib
import io
import json
import logging
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tagloom._version import __version__
from tagloom.catalog import (
    check_descriptors,
    check_output_folder,
    configure_logging,
    list_photos,
    make_folder,
    open_engine,
    refuse_foreign_target,
)
from tagloom.core import (
    NO_PROGRESS,
    FeatureGroups,
    PhotoRecord,
    Progress,
    atomic_write,
    sweep_temporary_files,
    write_text,
)
from tagloom.exceptions import InvalidInputError
from tagloom.features import ExtractionCounts, ExtractionEngine
from tagloom.features.scaling import default_map
from tagloom.metadata import name_from_text, name_to_text
from tagloom.settings import Settings
from tagloom.store import FolderCache

__all__ = ["ExtractResult", "extract_folder", "load_features"]


logger = logging.getLogger(__name__)

ARRAY_FILE, PHOTOS_FILE, GROUPS_FILE = "features.npy", "photos.csv", "groups.json"
FORMAT = 1
BLOCK_ROWS = 4096
HASH_BYTES = 32
N_EXAMPLES = 20
HEADER = ("row", "file", "verdict", "detail", "width", "height", "content_hash")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """What `load_features` returns.

    Attributes
    ----------
    X : float32 array of shape (n, d)
        Memory-mapped, read-only.
    groups : FeatureGroups
        Names of the column ranges.
    photos : list of bytes
        The photo of each row, relative to the folder the features were extracted from.
    content_hashes : list of str
        Of each row's photo.
    descriptions : dict
        Per group: descriptor, key, parameters and scaling; see ``groups.json``.
    """

    X: NDArray[np.float32]
    groups: FeatureGroups
    photos: list[bytes]
    content_hashes: list[str]
    descriptions: dict[str, dict[str, Any]]


class PhotoTableWriter:
    """Writes ``photos.csv`` record by record, and counts its rows.

    Parameters
    ----------
    handle : binary file
        Where to write.
    """

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self._digest = hashlib.blake2b(digest_size=16)
        self.n_rows = 0
        self._write(HEADER)

    @property
    def digest(self) -> str:
        """Digest of what was written so far."""
        return self._digest.hexdigest()

    def add(self, record: PhotoRecord) -> None:
        """Write one file's line."""
        row = str(self.n_rows) if record.ok else ""
        self.n_rows += record.ok
        name = name_to_text(record.path)
        self._write((row, name, str(record.verdict), record.detail, record.width, record.height, record.content_hash))

    def _write(self, cells: Iterable[Any]) -> None:
        data = _csv_line(cells)
        self._digest.update(data)
        self._handle.write(data)


def write_features(
    folder: Path,
    blocks: Iterator[NDArray[np.float32]],
    shape: tuple[int, int],
    descriptions: list[dict[str, Any]],
    photos_digest: str,
) -> None:
    """Write ``features.npy`` block by block, then ``groups.json``, which vouches for the other two files.

    Parameters
    ----------
    folder : Path
        Existing folder that holds ``photos.csv``.
    blocks : iterator of arrays
        Rows in the order of ``photos.csv``.
    shape : (int, int)
        Of the whole array.
    descriptions : list of dict
        One per group, in the order of the columns, with ``name`` and ``size``.
    photos_digest : str
        Of ``photos.csv``.
    """
    with atomic_write(folder / ARRAY_FILE) as handle:
        header = {"descr": npy.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(handle, header)
        for block in blocks:
            handle.write(np.ascontiguousarray(block, dtype=np.float32).data)
    content = {
        "format": FORMAT,
        "tagloom": __version__,
        "n_rows": shape[0],
        "n_columns": shape[1],
        "photos_digest": photos_digest,
        "groups": descriptions,
    }
    write_text(folder / GROUPS_FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def is_made_here(path: Path) -> bool:
    """Tell whether one of the three files is of an extraction, also of one that was cut off between them.

    ``photos.csv`` comes first and is known by its header. It vouches for an array beside it, which has no mark.

    Parameters
    ----------
    path : Path
        The file.
    """
    if path.name == GROUPS_FILE:
        return b'"photos_digest"' in path.read_bytes()
    header = _csv_line(HEADER)
    with open(path.with_name(PHOTOS_FILE), "rb") as handle:
        return handle.read(len(header)) == header


def load_features(folder: str | os.PathLike[str]) -> FeatureTable:
    """Read what ``tagloom extract`` wrote.

    Parameters
    ----------
    folder : path
        The output folder.

    Raises
    ------
    InvalidInputError
        If files are missing or do not belong together.
    """
    folder = Path(folder)
    try:
        content = json.loads((folder / GROUPS_FILE).read_text(encoding="utf-8"))
        if content.get("format") != FORMAT:
            raise InvalidInputError(
                f"{GROUPS_FILE} has format {content.get('format')!r}, this tagloom reads {FORMAT}; extract again"
            )
        photos, hashes = _read_photos(folder / PHOTOS_FILE, content["photos_digest"])
        X = np.load(folder / ARRAY_FILE, mmap_mode="r", allow_pickle=False)
        names, sizes = zip(*((one["name"], one["size"]) for one in content["groups"]), strict=True)
    except InvalidInputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"expected the output of `tagloom extract` in {str(folder)!r}, got {type(error).__name__}: {error}"
        ) from error
    groups = FeatureGroups(
        list(names), list(sizes), [one["name"] for one in content["groups"] if one.get("embedding", False)]
    )
    if X.shape != (content["n_rows"], content["n_columns"]) or len(photos) != len(X) or X.dtype != np.float32:
        raise _torn(ARRAY_FILE)
    groups.check(X)
    return FeatureTable(X, groups, photos, hashes, {one["name"]: one for one in content["groups"]})


def _csv_line(cells: Iterable[Any]) -> bytes:
    text = io.StringIO()
    # Quoted throughout: a carriage return in a name would otherwise end the line.
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(cells)
    return text.getvalue().encode("utf-8")


def _read_photos(path: Path, digest: str) -> tuple[list[bytes], list[str]]:
    data = path.read_bytes()
    if hashlib.blake2b(data, digest_size=16).hexdigest() != digest:
        raise _torn(PHOTOS_FILE)
    rows = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""))
    readable = [row for row in rows if row["row"]]
    return [name_from_text(row["file"]) for row in readable], [row["content_hash"] for row in readable]


def _torn(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"{name} does not belong to {GROUPS_FILE}: an extraction was cut off or a file was changed; "
        f"run `tagloom extract` again"
    )


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
        table = PhotoTableWriter(handle)
        for record in chain(engine.read_each(names), problems):
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
                "embedding": name in groups.embeddings,
            }
        )
    return described
