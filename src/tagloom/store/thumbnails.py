"""The database of thumbnails: a cache, and so one that is damaged is made again."""

import contextlib
import logging
from pathlib import Path
from typing import Any

import apsw

from tagloom.exceptions import DamagedStoreError
from tagloom.store.database import connect, fetch, is_writable, transaction, translate_errors
from tagloom.store.folder import ProjectFolder
from tagloom.store.schema import THUMBNAIL_FORMAT

__all__ = ["Thumbnails"]

logger = logging.getLogger(__name__)

FILE = "thumbnails.sqlite"
CHUNK = 500
LARGEST = 1 << 17  # bytes; no picture of 192 × 192 pixels takes more


class Thumbnails:
    """Encoded thumbnails of a project by content hash (hexadecimal); what is damaged is lost, and nothing else.

    Parameters
    ----------
    folder : Path
        The project's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        try:
            self._connection = connect(self._path, THUMBNAIL_FORMAT)
        except DamagedStoreError as error:
            self._connection = self._made_again(error)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def put(self, items: dict[str, bytes]) -> None:
        """Store thumbnails."""
        rows = [(bytes.fromhex(name), image) for name, image in items.items()]
        sql = "INSERT OR REPLACE INTO thumbnails(content_hash, image) VALUES (?, ?)"

        def write() -> None:
            with translate_errors(self._path), transaction(self._connection):
                self._connection.executemany(sql, rows)

        try:
            write()
        except DamagedStoreError as error:
            self._start_again(error)
            write()

    def get(self, hashes: list[str]) -> dict[str, bytes]:
        """Return those of these thumbnails that are stored."""
        return {name.hex(): image for name, image in self._select("content_hash, image", hashes)}

    def count(self, hashes: list[str]) -> int:
        """Return how many of these thumbnails are stored; none is read for it."""
        return sum(n for (n,) in self._select("count(*)", hashes))

    def _select(self, columns: str, hashes: list[str]) -> list[tuple[Any, ...]]:
        try:
            return self._rows(columns, hashes)
        except DamagedStoreError as error:
            self._start_again(error)
            return self._rows(columns, hashes)

    def _rows(self, columns: str, hashes: list[str]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(hashes), CHUNK):
            chunk = [bytes.fromhex(item) for item in hashes[start : start + CHUNK]]
            marks = ",".join("?" * len(chunk))
            usable = "typeof(image) = 'blob' AND length(image) <= ?"  # others a stranger put there
            sql = f"SELECT {columns} FROM thumbnails WHERE content_hash IN ({marks}) AND {usable}"  # noqa: S608
            with translate_errors(self._path):
                found += fetch(self._connection, sql, [*chunk, LARGEST])
        return found

    def _start_again(self, error: DamagedStoreError) -> None:
        self._connection.close()
        self._connection = self._made_again(error)

    def _made_again(self, error: DamagedStoreError) -> apsw.Connection:
        """Return an empty database in place of a damaged one; in memory where nothing can be written."""
        if not is_writable(self._path):
            logger.warning("%s; no thumbnails are used", error)
            connection = apsw.Connection(":memory:")
            connection.execute(THUMBNAIL_FORMAT.script)
            return connection
        logger.warning("%s was damaged and is made again: the next scan fills it", FILE)
        folder = ProjectFolder(self._path.parent)
        for end in ("-wal", "-shm", "-journal", ""):
            with contextlib.suppress(OSError):
                folder.remove(f"{FILE}{end}")
        return connect(self._path, THUMBNAIL_FORMAT)
