"""What must be so of photos that keywords are written into, looked at without tagloom's own readers."""

import hashlib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from PIL import Image


@dataclass(frozen=True)
class PhotoFacts:
    """A photo before keywords go into it, or out of it.

    Parameters
    ----------
    digest : str
        SHA-256 of the file.
    pixels : str
        SHA-256 of the decoded picture.
    n_features : int
        Features that the store has of it.
    has_thumbnail : bool
        Whether the store has a small picture of it.
    """

    digest: str
    pixels: str
    n_features: int
    has_thumbnail: bool

    @classmethod
    def of(cls, path: Path) -> "PhotoFacts":
        """Look at a photo in a folder with a project."""
        data = path.read_bytes()
        return cls(hashlib.sha256(data).hexdigest(), pixels_of(path), *_stored(path.parent, data))


def pixels_of(path: Path) -> str:
    """Return a hash of the decoded picture; of what cannot be decoded, a word."""
    try:
        with Image.open(path) as image:
            return hashlib.sha256(np.asarray(image).tobytes()).hexdigest()
    except (OSError, SyntaxError, ValueError):
        return "cannot be decoded"


def subjects_of(path: Path) -> set[str]:
    """Return the flat keywords in a photo, as exiftool reads them."""
    done = subprocess.run(["exiftool", "-j", "-XMP-dc:Subject", str(path)], capture_output=True, check=False)
    try:
        found = json.loads(done.stdout)[0].get("Subject", [])
    except (ValueError, IndexError):
        return set()
    return {str(word) for word in (found if isinstance(found, list) else [found])}


def wrong_records(folder: Path) -> list[str]:
    """Return photos that the store takes for unchanged and whose content is another one."""
    wrong = []
    sql = "SELECT path, content_hash, size, mtime_ns, inode, ctime_ns FROM files"
    for name, known, *stamp in _rows(folder, "tagloom", sql):
        path = folder / os.fsdecode(name)
        if path.is_file() and _stamp(path) == stamp and _content(path.read_bytes()) != known:
            wrong.append(f"the store has another content of {path.name} than it has, and takes it for unchanged")
    return wrong


def lagging(folder: Path, name: str, before: PhotoFacts) -> list[str]:
    """Return what the store lost of a photo that went to another content."""
    data = (folder / name).read_bytes()
    sql = "SELECT content_hash, size, mtime_ns, inode, ctime_ns FROM files WHERE path = ?"
    rows = _rows(folder, "tagloom", sql, os.fsencode(name))
    is_touched = hashlib.sha256(data).hexdigest() != before.digest
    is_stamped = bool(rows) and list(rows[0][1:]) == _stamp(folder / name)
    if not rows or rows[0][0] != _content(data) or (is_touched and not is_stamped):
        return [f"the store does not follow {name}: a scan would read it again"]
    sql = "SELECT content_hash FROM photos WHERE path = ? AND present = 1"
    if _rows(folder, "tagloom", sql, os.fsencode(name)) != [(_content(data),)]:
        return [f"the photo {name} is known by another content than its file"]
    n_features, has_thumbnail = _stored(folder, data)
    if n_features < before.n_features or has_thumbnail < before.has_thumbnail:
        return [f"features or thumbnail of {name} did not go along"]
    return []


def _stored(folder: Path, data: bytes) -> tuple[int, bool]:
    content = _content(data)
    ((n_features,),) = _rows(folder, "tagloom", "SELECT count(*) FROM feature_rows WHERE content_hash = ?", content)
    ((n,),) = _rows(folder, "thumbnails", "SELECT count(*) FROM thumbnails WHERE content_hash = ?", content)
    return n_features, bool(n)


def _content(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=32).digest()


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]


def _rows(folder: Path, database: str, sql: str, *values: bytes) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(folder / ".tagloom" / f"{database}.sqlite"))
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()
