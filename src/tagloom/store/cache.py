"""The folder ``.tagloom``: records, features and thumbnails of photos, found again by content.

::

    .tagloom/
      README.txt           what this folder is
      lock                 held by the process that does a long job
      tagloom.sqlite       records of photos, register of shards, decisions … (format number in user_version)
      thumbnails.sqlite    WebP thumbnails by content hash
      features/KEY/*.safetensors
      logs/tagloom.log

`tagloom.store.ProjectStore` keeps what a person decided in the same database.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagloom.core import FileStamp, PhotoRecord, Verdict
from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.database import connect, transaction, translate_errors
from tagloom.store.folder import ProjectFolder, is_array_name, is_bare
from tagloom.store.layout import FEATURES, make_project_folder, refuse_emptied
from tagloom.store.lock import FolderLock
from tagloom.store.roots import note_apart, resolve_root
from tagloom.store.schema import KNOWS_NOTHING, PROJECT_FORMAT
from tagloom.store.shards import ShardInfo, read_shard, write_shard
from tagloom.store.thumbnails import Thumbnails

__all__ = ["FolderCache"]

logger = logging.getLogger(__name__)

CHUNK = 500
#: Photos whose rows are looked up one by one; for more, those of all photos are read.
MOST_LOOKED_UP = 10_000
#: Of a number that holds a shard and a position in it.
POSITION_BITS = 32
_INSTEAD = "choose another output folder"


class FolderCache:
    """A `tagloom.core.photos.FeatureCache` in a folder, for the photos below one root.

    Parameters
    ----------
    folder : path
        The ``.tagloom`` folder; made if it does not exist.
    root : path
        The folder that photo paths are relative to.
    lock : FolderLock, optional
        The lock of this folder, where the caller holds it already.
    read_only : bool, default=False
        Whether the folder cannot be written: then no lock is taken, and nothing can be stored.

    Raises
    ------
    StoreBusyError
        If another process is writing here.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        root: str | os.PathLike[str] = "",
        *,
        lock: FolderLock | None = None,
        read_only: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self.files = ProjectFolder(self.folder)
        self._place = root
        self._path = self.folder / "tagloom.sqlite"
        self._lock: FolderLock | None = None
        if read_only:
            self.files.check()
        else:
            self.files.check()
            refuse_emptied(self.files)
            make_project_folder(self.folder)
            self._lock = (lock or FolderLock(self.folder, instead=_INSTEAD)).__enter__()
        try:
            self._main = connect(self._path, PROJECT_FORMAT)
            self._thumbnails = Thumbnails(self.folder)
            note_apart(self._main)
            with translate_errors(self._path), transaction(self._main):
                self._root = resolve_root(self._main, self.folder, os.fsencode(os.path.abspath(root)) if root else b"")
            if not read_only:
                self._sweep()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def again(self) -> "FolderCache":
        """Open the same cache once more, under the lock that this one holds."""
        return FolderCache(self.folder, self._place, lock=self._lock)

    def close(self) -> None:
        """Close the databases and give the lock back."""
        for name in ("_main", "_thumbnails"):
            connection = getattr(self, name, None)
            if connection is not None:
                connection.close()
        if self._lock is not None:
            self._lock.__exit__(None, None, None)
            self._lock = None

    # records ---------------------------------------------------------------------------------------------------

    def known(self, paths: Sequence[bytes]) -> dict[bytes, PhotoRecord]:
        """Return the stored records of these paths, where there are any."""
        found = {}
        for chunk in _chunks(paths):
            marks = ",".join("?" * len(chunk))
            sql = f"{_SELECT_FILE} WHERE root = ? AND path IN ({marks})"
            for row in self._execute(sql, (self._root, *chunk)):
                found[row[0]] = _record(row)
        return found

    def known_contents(self, hashes: Sequence[str]) -> dict[str, PhotoRecord]:
        """Return for each content hash a stored record of a file with that content, where there is any."""
        found = {}
        for chunk in _chunks(hashes):
            marks = ",".join("?" * len(chunk))
            sql = f"{_SELECT_FILE} WHERE content_hash IN ({marks})"
            for row in self._execute(sql, tuple(bytes.fromhex(item) for item in chunk)):
                record = _record(row)
                found[record.content_hash] = record
        return found

    def known_sizes(self, sizes: Sequence[int]) -> set[int]:
        """Return which of these file sizes occur among the stored records."""
        found: set[int] = set()
        for chunk in _chunks(sizes):
            marks = ",".join("?" * len(chunk))
            rows = self._execute(f"SELECT DISTINCT size FROM files WHERE size IN ({marks})", chunk)  # noqa: S608
            found.update(size for (size,) in rows)
        return found

    def suspects(self) -> dict[bytes, int]:
        """Return paths whose reading began but never ended, with how often."""
        return dict(self._execute("SELECT path, n FROM attempts WHERE root = ?", (self._root,)))

    def begin(self, paths: Sequence[bytes]) -> None:
        """Note that reading these paths begins (before they are opened)."""
        sql = "INSERT INTO attempts(root, path, n) VALUES (?, ?, 1) ON CONFLICT(root, path) DO UPDATE SET n = n + 1"
        with translate_errors(self._path), transaction(self._main):
            self._main.executemany(sql, [(self._root, path) for path in paths])

    def release(self, paths: Sequence[bytes]) -> None:
        """Forget that reading these paths began: it was cut off in good order, by no fault of theirs."""
        with translate_errors(self._path), transaction(self._main):
            self._main.executemany(_DELETE_ATTEMPT, [(self._root, path) for path in paths])

    def record(self, records: Iterable[PhotoRecord]) -> None:
        """Store records and forget that their reading had begun."""
        records = list(records)
        with translate_errors(self._path), transaction(self._main):
            self._main.executemany(_INSERT_FILE, [self._photo_row(record) for record in records])
            self._main.executemany(_DELETE_ATTEMPT, [(self._root, item.path) for item in records])

    # features --------------------------------------------------------------------------------------------------

    def has(self, key: str, hashes: Sequence[str]) -> NDArray[np.bool_]:
        """Tell for each content hash whether a feature row is stored under this key."""
        where = self._locate(key, hashes)
        return np.fromiter((bytes.fromhex(name) in where for name in hashes), dtype=bool, count=len(hashes))

    def put(self, key: str, hashes: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Store feature rows durably: the shard first, its registration afterwards."""
        if not len(hashes):
            return
        _check_key(key)
        info = write_shard(self.files, key, hashes, rows)
        with translate_errors(self._path), transaction(self._main):
            self._main.execute(
                "INSERT OR IGNORE INTO feature_sets(key, n_columns) VALUES (?, ?)", (key, info.n_columns)
            )
            ((set_id, n_columns),) = self._main.execute(
                "SELECT id, n_columns FROM feature_sets WHERE key = ?", (key,)
            ).fetchall()
            if n_columns != info.n_columns:
                raise InvalidInputError(f"{key} has rows of {n_columns} columns, got {info.n_columns}")
            self._main.execute(
                "INSERT INTO shards(set_id, file, n_rows, n_columns, n_bytes, checksum) VALUES (?, ?, ?, ?, ?, ?)",
                (set_id, info.file, info.n_rows, info.n_columns, info.n_bytes, info.checksum),
            )
            shard = self._main.last_insert_rowid()
            self._main.executemany(
                "INSERT OR REPLACE INTO feature_rows(set_id, content_hash, shard, position) VALUES (?, ?, ?, ?)",
                [(set_id, bytes.fromhex(name), shard, position) for position, name in enumerate(hashes)],
            )

    def get(self, key: str, hashes: Sequence[str], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return feature rows in the order of the hashes.

        Parameters
        ----------
        key : str
            What they are stored under.
        hashes : sequence of str
            Content hashes.
        out : ndarray of float32, shape (n, d), optional
            Where to put them. Default: a new array.

        Raises
        ------
        DamagedStoreError
            If a shard is not what was written. It is set aside, so that the next run reads its photos again.
        """
        where = self._locate(key, hashes)
        at = np.fromiter((where.get(bytes.fromhex(name), -1) for name in hashes), dtype=np.int64, count=len(hashes))
        del where
        if (at < 0).any():
            raise InvalidInputError(f"{(at < 0).sum()} of {len(at)} photos have no features {key!r} in this cache")
        shards, positions = at >> POSITION_BITS, at & ((1 << POSITION_BITS) - 1)
        infos = self._shard_infos(key)
        n_columns = next(iter(infos.values())).n_columns if infos else 0
        found = np.empty((len(hashes), n_columns), dtype=np.float32) if out is None else out
        order = np.argsort(shards, kind="stable")
        starts = np.flatnonzero(np.diff(shards[order], prepend=-1))
        for mine in np.split(order, starts[1:]) if len(order) else ():
            shard = int(shards[mine[0]])
            if shard not in infos:
                self._forget_shard(shard)
                raise DamagedStoreError(f"rows of {key} are in a shard of others. They were set aside: run again")
            found[mine] = self._read(key, shard, infos[shard], positions[mine])
        return found

    def _read(self, key: str, shard: int, info: ShardInfo, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        try:
            return read_shard(self.files, key, info)[positions]
        except (DamagedStoreError, IndexError) as error:
            logger.error("%s", error)
            self._forget_shard(shard)
            raise DamagedStoreError(
                f"{error}. It was set aside; run the same command again to read its {info.n_rows} photos"
            ) from error

    def _forget_shard(self, shard: int) -> None:
        with translate_errors(self._path), transaction(self._main):
            self._main.execute("DELETE FROM feature_rows WHERE shard = ?", (shard,))
            self._main.execute("DELETE FROM shards WHERE id = ?", (shard,))

    def _shard_infos(self, key: str) -> dict[int, ShardInfo]:
        sql = (
            "SELECT s.id, s.file, s.n_rows, s.n_columns, s.n_bytes, s.checksum FROM shards s "
            "JOIN feature_sets f ON f.id = s.set_id WHERE f.key = ?"
        )
        return {row[0]: ShardInfo(*row[1:]) for row in self._execute(sql, (key,))}

    def _locate(self, key: str, hashes: Sequence[str]) -> dict[bytes, int]:
        """Return by content hash the shard, times 2³², plus the position in it, where there is a row."""
        ids = self._execute("SELECT id FROM feature_sets WHERE key = ?", (key,))
        if not ids:
            return {}
        sql = f"SELECT content_hash, (shard << {POSITION_BITS}) | position FROM feature_rows WHERE set_id = ?"  # noqa: S608
        if len(hashes) > MOST_LOOKED_UP:
            return dict(self._execute(sql, (ids[0][0],)))
        found: dict[bytes, int] = {}
        for chunk in _chunks(hashes):
            some = f"{sql} AND content_hash IN ({','.join('?' * len(chunk))})"
            found.update(self._execute(some, (ids[0][0], *(bytes.fromhex(item) for item in chunk))))
        return found

    # thumbnails ------------------------------------------------------------------------------------------------

    def put_thumbnails(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Store encoded thumbnails by content hash."""
        self._thumbnails.put(dict(items))

    def thumbnails(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the stored thumbnails of these hashes."""
        return self._thumbnails.get(list(hashes))

    def lack_thumbnails(self, hashes: Sequence[str]) -> bool:
        """Tell whether any of these hashes has no stored thumbnail; none is read for it."""
        wanted = list(dict.fromkeys(hashes))
        return self._thumbnails.count(wanted) < len(wanted)

    # the folder itself -----------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Forget shards whose file is gone or cut short, and remove files that were never registered."""
        registered = {
            (key, file): (shard, n_bytes)
            for shard, key, file, n_bytes in self._execute(
                "SELECT s.id, f.key, s.file, s.n_bytes FROM shards s JOIN feature_sets f ON f.id = s.set_id"
            )
        }
        on_disk = set()
        ((is_blank,),) = self._execute(KNOWS_NOTHING)
        self.files.sweep()
        for key in self.files.folders(FEATURES):
            self.files.sweep(FEATURES, key)
            for file in filter(is_array_name, self.files.files(FEATURES, key)):
                shard, n_bytes = registered.get((key, file), (None, -1))
                if shard is not None:
                    if self.files.size(FEATURES, key, file) == n_bytes:
                        on_disk.add((key, file))
                elif not is_blank:
                    self.files.remove(FEATURES, key, file)
        for name, (shard, _) in registered.items():
            if name not in on_disk:
                logger.warning("feature shard %s is missing or cut short: its photos will be read again", name[1])
                self._forget_shard(shard)

    def _execute(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with translate_errors(self._path):
            return self._main.execute(sql, values).fetchall()

    def _photo_row(self, record: PhotoRecord) -> tuple[Any, ...]:
        stamp = record.stamp or FileStamp(-1, -1)
        return (
            self._root,
            record.path,
            bytes.fromhex(record.content_hash),
            str(record.verdict),
            record.detail,
            stamp.size,
            stamp.mtime_ns,
            stamp.inode,
            stamp.ctime_ns,
            record.width,
            record.height,
        )


_SELECT_FILE = "SELECT path, content_hash, verdict, detail, size, mtime_ns, inode, ctime_ns, width, height FROM files"
_DELETE_ATTEMPT = "DELETE FROM attempts WHERE root = ? AND path = ?"
_INSERT_FILE = (
    "INSERT OR REPLACE INTO files(root, path, content_hash, verdict, detail, size, mtime_ns, inode, ctime_ns, width, "
    "height) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _record(row: tuple[Any, ...]) -> PhotoRecord:
    path, content_hash, verdict, detail, size, mtime_ns, inode, ctime_ns, width, height = row
    stamp = FileStamp(size, mtime_ns, inode, ctime_ns) if size >= 0 else None
    try:
        return PhotoRecord(path, Verdict(verdict), detail, content_hash.hex(), stamp, width, height)
    except ValueError as error:
        raise DamagedStoreError(
            f"the database holds {str(verdict)[:40]!r} of a photo; put back a backup with: tagloom restore"
        ) from error


def _check_key(key: str) -> None:
    if not is_bare(key):
        raise InvalidInputError(f"a feature key must be letters, digits, '-', '_' and '.', got {key!r}")


def _chunks(items: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(items), CHUNK):
        yield tuple(items[start : start + CHUNK])
