"""Photos whose bytes tagloom changed and whose picture it did not: what is known of the old ones is known of the new.

Keywords that are written into a photo change its content hash, under which records, features and thumbnails are found.
Here records and features go along to the new hash; those of the old one stay, for copies of the photo and for an undo.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tagloom.store.photos import Stamp
from tagloom.store.session import Database

__all__ = ["ContentChange", "Contents", "KnownFile"]


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that was read: its root, its path below that, and how it looked then (size, mtime_ns, inode, ctime_ns)."""

    root: int
    path: bytes
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class ContentChange:
    """A file that has other bytes now: how it looks, and the hashes (hexadecimal) of its content before and after."""

    file: KnownFile
    before: str
    after: str


class Contents:
    """What the files of a project hold, by hash.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def files(self, content_hash: str) -> list[KnownFile]:
        """Return the files that had this content when they were last read.

        Parameters
        ----------
        content_hash : str
            Hexadecimal.
        """
        sql = "SELECT root, path, size, mtime_ns, inode, ctime_ns FROM files WHERE content_hash = ? ORDER BY root, path"
        rows = self._database.read(sql, (bytes.fromhex(content_hash),))
        return [KnownFile(root, path, (size, *times)) for root, path, size, *times in rows]

    def carry_over(self, changes: Iterable[ContentChange]) -> None:
        """Let files be known by their new content, in one transaction or as a part of one.

        A file whose record has another content than the one before is left alone: it was read again since.

        Parameters
        ----------
        changes : iterable of ContentChange
            Files as they are now.
        """
        with self._database.write() as connection:
            for change in changes:
                file, before, after = change.file, bytes.fromhex(change.before), bytes.fromhex(change.after)
                connection.execute(
                    "UPDATE files SET content_hash = ?, size = ?, mtime_ns = ?, inode = ?, ctime_ns = ? "
                    "WHERE root = ? AND path = ? AND content_hash = ?",
                    (after, *file.stamp, file.root, file.path, before),
                )
                if connection.changes():
                    connection.execute(
                        "UPDATE photos SET content_hash = ? "
                        "WHERE root = ? AND path = ? AND content_hash = ? AND present = 1",
                        (after, file.root, file.path, before),
                    )
                    # The list of sets lets SQLite go by the primary key, which begins with the set.
                    connection.execute(
                        "INSERT OR IGNORE INTO feature_rows(set_id, content_hash, shard, position) "
                        "SELECT set_id, ?, shard, position FROM feature_rows "
                        "WHERE set_id IN (SELECT id FROM feature_sets) AND content_hash = ?",
                        (after, before),
                    )
