"""Features of a folder of photos as files that any program reads: one array, its columns' names, its rows' names.

::

    features.npy   float32, one row per readable photo, one column per feature; can be memory-mapped
    photos.csv     every file: row (empty where there is none), file, verdict, detail, width, height, content_hash
    groups.json    feature groups with their columns, descriptor, key, parameters and scaling for learning
"""

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tagloom._version import __version__
from tagloom.core.files import atomic_write, write_text
from tagloom.core.groups import FeatureGroups
from tagloom.core.photos import PhotoRecord
from tagloom.exceptions import InvalidInputError
from tagloom.metadata import name_from_text, name_to_text

__all__ = [
    "ARRAY_FILE",
    "GROUPS_FILE",
    "PHOTOS_FILE",
    "FeatureTable",
    "PhotoTable",
    "is_made_here",
    "load_features",
    "write_features",
]

ARRAY_FILE, PHOTOS_FILE, GROUPS_FILE = "features.npy", "photos.csv", "groups.json"
FORMAT = 1
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


class PhotoTable:
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
    groups = FeatureGroups(list(names), list(sizes))
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
