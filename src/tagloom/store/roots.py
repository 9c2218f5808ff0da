"""The folders that photos lie in. One that moved is found again; one that is unplugged is offline, never gone."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import apsw

from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.database import fetch
from tagloom.store.session import Database

__all__ = ["Root", "Roots", "note_apart", "resolve_root"]

N_SAMPLES = 32
OWN_ROOT = "own_root"  # the setting that names it
SHARE_FOUND = 0.8


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of photos: absolute path as bytes, whether it can be reached, when it was last scanned (0: never)."""

    id: int
    path: bytes
    online: bool
    scanned: float


class Roots:
    """The roots of a project.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Root]:
        """Return all roots as last known (see `refresh`)."""
        sql = "SELECT id, path, online, scanned FROM roots WHERE path <> x'' ORDER BY id"
        return [Root(number, path, bool(online), at) for number, path, online, at in self._database.read(sql)]

    def resolve(self, root: str | bytes | os.PathLike[str]) -> int:
        """Return the id of a root: a known one, a known one that has moved here, or a new one."""
        place = os.path.abspath(os.fsencode(root))
        found = self._database.value("SELECT id FROM roots WHERE path = ?", (place,))
        if found is not None and not self._strayed():
            return int(found)  # the usual case needs no write
        with self._database.write() as connection:
            return resolve_root(connection, self._database.folder, place)

    def own(self) -> int | None:
        """Return the id of the root that the project is about, having followed it if it moved with the project.

        It is the one that `claim` has named, else the first: a folder whose features are kept here, too, came later.
        """
        if self._strayed():
            with self._database.write() as connection:
                _follow(connection, self._database.folder)
        ids = [root.id for root in self.all()]
        named = self._named()
        return named if named in ids else ids[0] if ids else None

    def _named(self) -> int:
        value = self._database.value("SELECT value FROM settings WHERE key = ?", (OWN_ROOT,)) or "0"
        if not value.isdecimal() or len(value) > 18:
            raise DamagedStoreError(
                f"the setting {OWN_ROOT!r} in the database is no number; put back a backup with: tagloom restore"
            )
        return int(value)

    def claim(self, root: int) -> None:
        """Say which root the project is about."""
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO settings(key, value) VALUES (?, ?)", (OWN_ROOT, str(root)))

    def is_claimed(self) -> bool:
        """Tell whether this is a project, and not only a place where features are kept.

        Projects of versions that did not claim their root are known by what was seen and decided in them.
        """
        sql = (
            "SELECT EXISTS (SELECT 1 FROM settings WHERE key = ?) OR EXISTS (SELECT 1 FROM photos) "
            "OR EXISTS (SELECT 1 FROM batches)"
        )
        return bool(self._database.value(sql, (OWN_ROOT,)))

    def move(self, root: int, path: str | bytes | os.PathLike[str]) -> None:
        """Say that a root lies elsewhere now."""
        place = os.path.abspath(os.fsencode(path))
        with self._database.write() as connection:
            if fetch(connection, "SELECT 1 FROM roots WHERE path = ? AND id <> ?", (place, root)):
                raise InvalidInputError(f"{os.fsdecode(place)!r} is another root of this project already")
            _put(connection, self._database.folder, root, place)
        self.refresh()

    def refresh(self) -> dict[int, bool]:
        """Look which roots can be reached, remember it, and return ``{root id: online}``.

        A root is offline if its folder is not there, or is another folder than before (the empty place where a disk
        was mounted) with none of the photos known to be in it.
        """
        found = {}
        for number, path, inode in self._database.read("SELECT id, path, inode FROM roots WHERE path <> x''"):
            now = _inode(path)
            online = now is not None
            if online and now != inode:
                with self._database.reading() as connection:
                    known = _samples(connection, number)
                online = not known or any(os.path.lexists(os.path.join(path, name)) for name, _ in known)
            found[number] = online
            with self._database.write() as connection:
                connection.execute(
                    "UPDATE roots SET online = ?1, inode = iif(?1, ?2, inode) "
                    "WHERE id = ?3 AND (online <> ?1 OR (?1 AND inode <> ?2))",
                    (int(online), now or 0, number),
                )
        return found

    def _strayed(self) -> bool:
        """Tell whether the project folder was moved together with a root around it."""
        rows = self._database.read("SELECT path, beside FROM roots WHERE beside IS NOT NULL")
        return any(_beside(self._database.folder, beside) != path for path, beside in rows)


def note_apart(connection: apsw.Connection) -> None:
    """Let a connection that only reads keep in memory where roots are now, and whether they can be reached.

    A table of this name that is temporary goes before that of the database.
    """
    if connection.readonly("main"):
        connection.execute(
            "CREATE TEMP TABLE roots(id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, beside BLOB, inode INTEGER NOT "
            "NULL DEFAULT 0, online INTEGER NOT NULL DEFAULT 1, scanned REAL NOT NULL DEFAULT 0);"
            "INSERT INTO temp.roots SELECT id, path, beside, inode, online, scanned FROM main.roots"
        )


def resolve_root(connection: apsw.Connection, folder: Path, root: bytes) -> int:
    """Return the id of a root inside a transaction, following roots that have moved.

    Parameters
    ----------
    connection : apsw.Connection
        With a write transaction.
    folder : Path
        The project folder. A root around it moves with it.
    root : bytes
        Absolute path; empty for none.
    """
    _follow(connection, folder)
    found = fetch(connection, "SELECT id FROM roots WHERE path = ?", (root,))
    if found:
        return int(found[0][0])
    if root:
        for number, old in fetch(connection, "SELECT id, path FROM roots WHERE path <> x''"):
            if _inode(old) is None and _is_same(_samples(connection, number), root):
                _put(connection, folder, number, root)
                return int(number)
    connection.execute("INSERT INTO roots(path) VALUES (?)", (root,))
    number = connection.last_insert_rowid()
    if root:
        _put(connection, folder, number, root)
    return number


def _follow(connection: apsw.Connection, folder: Path) -> None:
    """Give roots around the project folder the path that they have now."""
    for number, old, beside in fetch(connection, "SELECT id, path, beside FROM roots WHERE beside IS NOT NULL"):
        now = _beside(folder, beside)
        is_taken = fetch(connection, "SELECT 1 FROM roots WHERE path = ?", (now,))
        if now != old and not is_taken and os.path.isdir(now):
            _put(connection, folder, number, now)


def _beside(folder: Path, beside: bytes) -> bytes:
    return os.path.normpath(os.path.join(os.path.abspath(os.fsencode(folder)), beside))


def _put(connection: apsw.Connection, folder: Path, number: int, root: bytes) -> None:
    here = os.path.abspath(os.fsencode(folder))
    is_around = here.startswith(os.path.join(root, b""))
    beside = os.path.relpath(root, here) if is_around else None
    inode = _inode(root)
    connection.execute(
        "UPDATE roots SET path = ?, beside = ?, inode = ?, online = ? WHERE id = ?",
        (root, beside, inode or 0, int(inode is not None), number),
    )


def _samples(connection: apsw.Connection, root: int) -> list[tuple[bytes, int]]:
    """Return names and sizes of some photos that were present, spread over the root."""
    return fetch(
        connection,
        "SELECT p.path, f.size FROM photos p JOIN files f ON f.root = p.root AND f.path = p.path "
        "WHERE p.root = ?1 AND p.present = 1 AND p.id % "
        "(SELECT max(1, count(*) / ?2) FROM photos WHERE root = ?1 AND present = 1) = 0 LIMIT ?2",
        (root, N_SAMPLES),
    ) or fetch(
        connection,
        "SELECT p.path, f.size FROM photos p JOIN files f ON f.root = p.root AND f.path = p.path "
        "WHERE p.root = ? AND p.present = 1 LIMIT ?",
        (root, N_SAMPLES),
    )


def _is_same(known: Iterable[tuple[bytes, int]], root: bytes) -> bool:
    found: list[bool] = []
    for name, size in known:
        try:
            found.append(os.stat(os.path.join(root, name)).st_size == size)
        except OSError:
            found.append(False)
    return bool(found) and sum(found) >= SHARE_FOUND * len(found)


def _inode(path: bytes) -> int | None:
    """Return the number of a folder in its file system, or None if there is no such folder."""
    try:
        return int(os.stat(path).st_ino) if os.path.isdir(path) else None
    except (OSError, ValueError):
        return None
