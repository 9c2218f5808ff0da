"""Whether a project is what it should be, and putting right what can be put right safely."""

import logging
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from tagloom.core.files import TEMPORARY_MARK
from tagloom.exceptions import DamagedStoreError
from tagloom.store.array_files import ArrayFile
from tagloom.store.arrays import load_arrays
from tagloom.store.database import fetch
from tagloom.store.layout import MODELS, SCRATCH, SUGGESTIONS, WRITTEN
from tagloom.store.log import UNDONE
from tagloom.store.session import Database
from tagloom.store.shards import SUFFIX, ShardInfo, read_shard

__all__ = ["Finding", "check_project", "repair_project"]

logger = logging.getLogger(__name__)

_LAST_RECORDS = (
    "SELECT photo, tag, state, origin, stands FROM decisions WHERE id IN "
    "(SELECT max(id) FROM decisions GROUP BY photo, tag) AND state <> -1"
)
_IN_FORCE = (
    "SELECT photo, tag, state, origin, id FROM decisions WHERE id IN (SELECT max(id) FROM decisions WHERE stands = id "  # noqa: S608
    f"AND batch NOT IN ({UNDONE}) GROUP BY photo, tag) AND state <> -1"
)
_STANDING = "SELECT photo, tag, state, origin, decision FROM standing"
_REGISTERED = {
    "model": (MODELS, "SELECT id, file, n_bytes, checksum FROM models"),
    "suggestions": (SUGGESTIONS, "SELECT id, file, n_bytes, checksum FROM suggestions"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Parameters
    ----------
    kind : str
        "database", "reference", "log", "standing", "merged", "shard", "model", "suggestions", "kept", "write",
        "orphan" or "temporary".
    detail : str
        One sentence.
    repairable : bool
        Whether `repair_project` puts it right without losing anything that cannot be made again.
    """

    kind: str
    detail: str
    repairable: bool


def check_project(database: Database, *, checksums: bool = False, alone: bool = True) -> list[Finding]:
    """Look for damage.

    Parameters
    ----------
    database : Database
        The project's database.
    checksums : bool, default=False
        Read every array file in full, not only its size.
    alone : bool, default=True
        Whether no other process does a long job; if one does, files it is just writing are not called orphans.
    """
    found = list(_check_database(database))
    if any(finding.kind == "database" for finding in found):
        return found
    with database.reading() as connection:
        found += _check_log(connection)
    found += [finding for _, finding in _bad_shards(database, checksums)]
    found += [finding for _, _, finding in _bad_arrays(database, checksums)]
    found += _check_writes(database)
    if alone:
        found += [finding for _, finding in _leftovers(database)]
    return found


def repair_project(database: Database) -> list[Finding]:
    """Put right what can be; the caller holds the project's lock. Returns what was put right.

    The standing states are made again from the log; features whose file is damaged are forgotten, so that their photos
    are read again; models and suggestions whose file is damaged are forgotten; files that nothing refers to are
    removed.
    """
    repaired: list[Finding] = []
    with database.write() as connection:
        standing = [finding for finding in _check_log(connection) if finding.repairable]
        if standing:
            connection.execute("DELETE FROM standing")
            connection.execute(f"INSERT INTO standing(photo, tag, state, origin, decision) {_LAST_RECORDS}")
            repaired += standing
        for shard, finding in _bad_shards(database, checksums=True):
            connection.execute("DELETE FROM feature_rows WHERE shard = ?", (shard,))
            connection.execute("DELETE FROM shards WHERE id = ?", (shard,))
            repaired.append(finding)
        for table, number, finding in _bad_arrays(database, checksums=True):
            connection.execute(f"DELETE FROM {table} WHERE id = ?", (number,))  # noqa: S608
            repaired.append(finding)
    for path, finding in _leftovers(database):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        repaired.append(finding)
    for finding in repaired:
        logger.warning("repaired: %s", finding.detail)
    return repaired


def _check_database(database: Database) -> Iterator[Finding]:
    try:
        problems = [text for (text,) in database.read("PRAGMA integrity_check(20)") if text != "ok"]
        broken = [] if problems else database.read("PRAGMA foreign_key_check")
    except DamagedStoreError as error:
        problems, broken = [str(error)], []
    for problem in problems:
        yield Finding("database", f"{database.path.name}: {problem}; put back a backup", False)
    if broken:
        table, row, parent, _ = broken[0]
        detail = f"{len(broken)} rows refer to nothing, the first is row {row} of {table} (to {parent})"
        yield Finding("reference", detail, False)


def _check_log(connection: apsw.Connection) -> list[Finding]:
    found = []
    ((n_batch, n_log),) = fetch(
        connection, "SELECT (SELECT ifnull(sum(n), 0) FROM batches), (SELECT count(*) FROM decisions)"
    )
    ((n_outside,),) = fetch(
        connection,
        "SELECT count(*) FROM decisions d LEFT JOIN batches b ON b.id = d.batch "
        "WHERE b.id IS NULL OR d.id NOT BETWEEN b.first AND b.first + b.n - 1",
    )
    if n_batch != n_log or n_outside:
        found.append(
            Finding("log", f"batches count {n_batch} decisions, the log has {n_log}; put back a backup", False)
        )
    n_other = _n_different(connection, _STANDING, _LAST_RECORDS)
    if n_other:
        found.append(Finding("standing", f"{n_other} states are not those of the last decision about them", True))
    n_other = _n_different(connection, _LAST_RECORDS, _IN_FORCE)
    if n_other:
        found.append(
            Finding("log", f"{n_other} records of undo or redo bring back another decision than the last", False)
        )
    ((n_merged,),) = fetch(
        connection, "SELECT count(*) FROM standing WHERE tag IN (SELECT id FROM tags WHERE merged IS NOT NULL)"
    )
    if n_merged:
        found.append(Finding("merged", f"{n_merged} states belong to tags that were merged into others", False))
    return found


def _n_different(connection: apsw.Connection, one: str, other: str) -> int:
    total = 0
    for first, second in ((one, other), (other, one)):
        ((n,),) = fetch(connection, f"SELECT count(*) FROM ({first} EXCEPT {second})")  # noqa: S608
        total += n
    return total


def _bad_shards(database: Database, checksums: bool) -> Iterator[tuple[int, Finding]]:
    rows = database.read(
        "SELECT s.id, f.key, s.file, s.n_rows, s.n_columns, s.n_bytes, s.checksum FROM shards s "
        "JOIN feature_sets f ON f.id = s.set_id"
    )
    for shard, key, *rest in rows:
        info = ShardInfo(*rest)
        path = database.folder / "features" / key / info.file
        problem = _size_problem(path, info.n_bytes)
        if problem is None and checksums:
            try:
                read_shard(path, info)
            except DamagedStoreError as error:
                problem = str(error)
        if problem is not None:
            yield shard, Finding("shard", f"{key}: {problem}; its {info.n_rows} photos are read again", True)


def _bad_arrays(database: Database, checksums: bool) -> Iterator[tuple[str, int, Finding]]:
    for kind, (folder, sql) in _REGISTERED.items():
        for number, *rest in database.read(sql):
            file = ArrayFile(*rest)
            path = database.folder / folder / file.file
            problem = _size_problem(path, file.n_bytes)
            if problem is None and checksums:
                try:
                    load_arrays(path, file)
                except DamagedStoreError as error:
                    problem = str(error)
            if problem is not None:
                yield folder, number, Finding(kind, f"{kind} {number}: {problem}", True)


def _check_writes(database: Database) -> Iterator[Finding]:
    for (digest,) in database.read("SELECT digest FROM contents WHERE data IS NULL"):
        if not (database.folder / WRITTEN / digest).is_file():
            yield Finding("kept", f"the kept content {digest} is gone: one write cannot be undone", False)
    n = database.value("SELECT count(*) FROM written WHERE state = 'intended'")
    if n:
        yield Finding("write", f"{n} files were being written when a process ended; run the command again", False)


def _size_problem(path: Path, n_bytes: int) -> str | None:
    try:
        size = path.stat().st_size
    except OSError as error:
        return f"{path.name} cannot be read ({error.strerror})"
    return None if size == n_bytes else f"{path.name} has {size} bytes, expected {n_bytes}"


def _leftovers(database: Database) -> Iterator[tuple[Path, Finding]]:
    """Find files that a killed process left: half written, or written and never registered."""
    registered = {file for (file,) in database.read("SELECT file FROM shards")}
    registered.update(file for (file,) in database.read("SELECT file FROM models UNION SELECT file FROM suggestions"))
    kept = {digest for (digest,) in database.read("SELECT digest FROM contents WHERE data IS NULL")}
    for path in sorted((database.folder / WRITTEN).glob(f"{SCRATCH}*/")):
        if not path.is_symlink():
            yield path, Finding("temporary", f"{path.relative_to(database.folder)} was never finished", True)
    for path in _own_files(database.folder):
        where = path.relative_to(database.folder)
        if TEMPORARY_MARK in path.name:
            yield path, Finding("temporary", f"{where} was never finished", True)
        elif path.suffix == SUFFIX and path.name not in registered:
            yield path, Finding("orphan", f"{where} is not registered", True)
        elif path.parent.name == WRITTEN and path.name not in kept:
            yield path, Finding("orphan", f"{where} is kept for no write", True)


def _own_files(folder: Path) -> Iterable[Path]:
    places = [folder, folder / "backups", folder / MODELS, folder / SUGGESTIONS, folder / WRITTEN]
    places += [item for item in (folder / "features").glob("*") if item.is_dir() and not item.is_symlink()]
    for place in places:
        if place.is_dir():
            yield from (path for path in sorted(place.iterdir()) if path.is_file() and not path.is_symlink())
