"""Whether a project is what it should be, and putting right what can be put right safely."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import apsw

from tagloom.exceptions import DamagedStoreError
from tagloom.store.array_files import ArrayFile
from tagloom.store.arrays import read_arrays
from tagloom.store.database import fetch, schema_problem
from tagloom.store.folder import check_array_name, is_array_name, is_digest, temporary_of
from tagloom.store.layout import BACKUPS, FEATURES, KEPT, MODELS, SCRATCH, SUGGESTIONS, WRITTEN
from tagloom.store.log import UNDONE
from tagloom.store.schema import KNOWS_NOTHING, PROJECT_FORMAT
from tagloom.store.session import Database
from tagloom.store.shards import ShardInfo, read_shard

__all__ = ["Finding", "check_project", "refuse_odd_values", "repair_project"]

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
_USED_SHARDS = (
    "SELECT DISTINCT shard FROM feature_rows WHERE content_hash IN (SELECT content_hash FROM photos WHERE present = 1)"
)
_USED_ARRAYS = {
    "model": "SELECT id FROM models WHERE active = 1",
    "suggestions": "SELECT max(id) FROM suggestions",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Parameters
    ----------
    kind : str
        "database", "schema", "reference", "log", "states", "merged", "shard", "model", "suggestions", "kept",
        "write", "orphan" or "temporary".
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
        Read every array file in full. Otherwise only those in use: features of photos that are present, and the
        active model with its suggestions.
    alone : bool, default=True
        Whether no other process does a long job; if one does, files it is just writing are not called orphans.
    """
    found = list(_check_database(database))
    if any(finding.kind == "database" for finding in found):
        return found
    with database.reading() as connection:
        found += _check_log(connection)
    found += [finding for _, finding in _bad_shards(database, every=checksums)]
    found += [finding for _, _, finding in _bad_arrays(database, every=checksums)]
    found += _check_writes(database)
    if alone:
        found += [finding for _, finding in _leftovers(database)]
    return found


def refuse_odd_values(database: Database) -> None:
    """Refuse a database with values of another kind than their columns, or references to nothing.

    SQLite stores none. Who edits the file, or its schema and then puts that back, can: this is for what comes from
    a stranger, and costs a look at every row.

    Raises
    ------
    DamagedStoreError
        If there is one.
    """
    problems = [text for (text,) in database.read("PRAGMA quick_check(1)") if text != "ok"]
    problems += [
        f"a row of {table} refers to nothing in {parent}"
        for table, parent in database.read('SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1')
    ]
    if problems:
        line = " ".join(problems[0].split())[:200]
        raise DamagedStoreError(
            f"{database.path.name} is damaged ({line}), and nothing was changed; put a backup in its place with: "
            f"tagloom restore"
        )


def repair_project(database: Database) -> list[Finding]:
    """Put right what can be; the caller holds the project's lock. Returns what was put right.

    The standing states are made again from the log; features whose file is damaged are forgotten, so that their photos
    are read again; models and suggestions whose file is damaged are forgotten; files that nothing refers to are
    removed.

    Raises
    ------
    DamagedStoreError
        If the database itself is damaged. Nothing is touched then: what it does not say may only be unreadable.
    """
    for finding in _check_database(database):
        if finding.kind in ("database", "schema"):
            raise DamagedStoreError(f"{finding.detail}. Nothing was changed")
    repaired: list[Finding] = []
    with database.write() as connection:
        wrong_states = [finding for finding in _check_log(connection) if finding.repairable]
        if wrong_states:
            connection.execute("DELETE FROM standing")
            connection.execute(f"INSERT INTO standing(photo, tag, state, origin, decision) {_LAST_RECORDS}")
            repaired += wrong_states
        for shard, finding in _bad_shards(database, every=True):
            connection.execute("DELETE FROM feature_rows WHERE shard = ?", (shard,))
            connection.execute("DELETE FROM shards WHERE id = ?", (shard,))
            repaired.append(finding)
        for table, number, finding in _bad_arrays(database, every=True):
            connection.execute(f"DELETE FROM {table} WHERE id = ?", (number,))  # noqa: S608
            repaired.append(finding)
    for parts, finding in list(_leftovers(database)):
        if parts[-1].startswith(SCRATCH):
            database.files.remove_scratch(*parts)
        else:
            database.files.remove(*parts)
        repaired.append(finding)
    for finding in repaired:
        logger.warning("repaired: %s", finding.detail)
    return repaired


def _check_database(database: Database) -> Iterator[Finding]:
    try:
        with database.reading() as connection:
            schema = schema_problem(connection, PROJECT_FORMAT)
        problems = [text for (text,) in database.read("PRAGMA integrity_check(20)") if text != "ok"]
        broken = [] if problems else database.read("PRAGMA foreign_key_check")
    except DamagedStoreError as error:
        problems, broken, schema = [str(error)], [], None
    for problem in problems:
        yield Finding("database", f"{database.path.name}: {problem}; put back a backup with: tagloom restore", False)
    if schema is not None:
        yield Finding("schema", f"{database.path.name}: {schema}; put back a backup with: tagloom restore", False)
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
            Finding(
                "log",
                f"batches count {n_batch} decisions, the log has {n_log}; put back a backup with: tagloom restore",
                False,
            )
        )
    n_other = _n_different(connection, _STANDING, _LAST_RECORDS)
    if n_other:
        found.append(Finding("states", f"{n_other} states are not those of the last decision about them", True))
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


def _bad_shards(database: Database, *, every: bool) -> Iterator[tuple[int, Finding]]:
    """Find shards that are not what was written; those that are not in use are read in full if every one is."""
    used = set() if every else {shard for (shard,) in database.read(_USED_SHARDS)}
    rows = database.read(
        "SELECT s.id, f.key, s.file, s.n_rows, s.n_columns, s.n_bytes, s.checksum FROM shards s "
        "JOIN feature_sets f ON f.id = s.set_id"
    )
    for shard, key, *rest in rows:
        info = ShardInfo(*rest)
        problem = _size_problem(database, info.n_bytes, FEATURES, key, info.file)
        if problem is None and (every or shard in used):
            try:
                read_shard(database.files, key, info)
            except DamagedStoreError as error:
                problem = str(error)
        if problem is not None:
            yield shard, Finding("shard", f"{key}: {problem}; its {info.n_rows} photos are read again", True)


def _bad_arrays(database: Database, *, every: bool) -> Iterator[tuple[str, int, Finding]]:
    """Find models and suggestions that are not what was written; see `_bad_shards`."""
    for kind, (folder, sql) in _REGISTERED.items():
        used = set() if every else {each for (each,) in database.read(_USED_ARRAYS[kind])}
        for number, *rest in database.read(sql):
            file = ArrayFile(*rest)
            problem = _size_problem(database, file.n_bytes, folder, file.file)
            if problem is None and (every or number in used):
                try:
                    read_arrays(database.files, folder, file)
                except DamagedStoreError as error:
                    problem = str(error)
            if problem is not None:
                yield folder, number, Finding(kind, f"{kind} {number}: {problem}", True)


def _check_writes(database: Database) -> Iterator[Finding]:
    for (digest,) in database.read("SELECT digest FROM contents WHERE data IS NULL"):
        if not database.files.has(WRITTEN, digest):
            yield Finding("kept", f"the kept content {digest} is gone: one write cannot be undone", False)
    n = database.value("SELECT count(*) FROM written WHERE state = 'intended'")
    if n:
        yield Finding("write", f"{n} files were being written when a process ended; run the command again", False)


def _size_problem(database: Database, n_bytes: int, *parts: str) -> str | None:
    try:
        name = check_array_name(parts[-1])
        size = database.files.size(*parts)
    except DamagedStoreError as error:
        return str(error)
    except OSError as error:
        return f"{name} cannot be read ({error.strerror or error})"
    return None if size == n_bytes else f"{name} has {size} bytes, expected {n_bytes}"


def _leftovers(database: Database) -> Iterator[tuple[tuple[str, ...], Finding]]:
    """Find files that a killed process left: half written, or written and never registered.

    Only names that tagloom gives are looked at. To a database that knows nothing at all nothing is an orphan: then the
    register is lost, and not the files.
    """
    files = database.files
    is_blank = database.value(KNOWS_NOTHING)
    registered = {file for (file,) in database.read("SELECT file FROM shards")}
    registered.update(file for (file,) in database.read("SELECT file FROM models UNION SELECT file FROM suggestions"))
    kept = {digest for (digest,) in database.read("SELECT digest FROM contents WHERE data IS NULL")}
    places: list[tuple[str, ...]] = [(), (BACKUPS,), (MODELS,), (SUGGESTIONS,), (KEPT,), (WRITTEN,)]
    for name in files.folders(WRITTEN):
        if name.startswith(SCRATCH):
            yield (WRITTEN, name), Finding("temporary", f"{WRITTEN}/{name} was never finished", True)
    for place in [*places, *((FEATURES, key) for key in files.folders(FEATURES))]:
        for name in files.files(*place):
            parts = (*place, name)
            where = "/".join(parts)
            if temporary_of(name) is not None:
                yield parts, Finding("temporary", f"{where} was never finished", True)
            elif place == (WRITTEN,):
                if not is_blank and is_digest(name) and name not in kept:
                    yield parts, Finding("orphan", f"{where} is kept for no write", True)
            elif not is_blank and place != (KEPT,) and is_array_name(name) and name not in registered:
                yield parts, Finding("orphan", f"{where} is not registered", True)
