"""Backups of what a person decided: made by themselves, a few kept, and put back in place of a damaged database.

A backup is a database of the same format that holds decisions, tags, photos and the journal of writes, and neither
features nor models: small, and made in a moment. What it does not hold can be computed again; feature files that are
still there are entered again when a backup is put back (`restore`).
"""

import contextlib
import hashlib
import logging
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from tagloom.core import TEMPORARY_MARK, system
from tagloom.exceptions import DamagedStoreError, InvalidInputError, StoreError, TagloomError
from tagloom.store.database import connect, copy_database, fetch, make_private, transaction, translate_errors
from tagloom.store.folder import ProjectFolder, is_array_name, is_bare
from tagloom.store.layout import BACKUPS, DATABASE, FEATURES
from tagloom.store.lock import FolderLock
from tagloom.store.schema import PROJECT_FORMAT
from tagloom.store.session import Database

__all__ = ["Backup", "Restored", "back_up", "find_backups", "is_due", "restore"]

logger = logging.getLogger(__name__)

EVERY_SECONDS = 86_400
EVERY_DECISIONS, EVERY_SHARE = 10, 0.01
N_LATEST = 2
LARGEST_CONTENTS = 64 << 20  # bytes of files before they were written; beyond it they stay in the project alone
JOURNALS = ("-wal", "-shm", "-journal")
_PREFIX = "decisions-"
_KEPT = (
    "roots",
    "photos",
    "tags",
    "aliases",
    "implications",
    "batches",
    "tag_changes",
    "decisions",
    "standing",
    "imports",
    "runs",
    "written",
    "settings",
)


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup in a project's folder: name, when it was made (seconds since 1970), and the last action in it."""

    name: str
    at: float
    batch: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back.

    Parameters
    ----------
    backup : str
        Its name.
    n_decisions : int
        Decisions in the project now.
    n_features : int
        Files of features that were found in the folder and are known again.
    aside : str
        Where the database that was there is now, in the project's folder; empty if there was none.
    """

    backup: str
    n_decisions: int
    n_features: int
    aside: str


def find_backups(folder: Path) -> list[Backup]:
    """Return the backups that a project has made by itself, newest first."""
    found = []
    for name in ProjectFolder(folder).files(BACKUPS):
        stamp, _, number = name.removeprefix(_PREFIX).removesuffix(".sqlite").rpartition("-")
        if name.startswith(_PREFIX) and name.endswith(".sqlite") and number.isdecimal() and len(number) < 18:
            with contextlib.suppress(ValueError):
                found.append(Backup(name, _moment(stamp), int(number)))
    return sorted(found, key=lambda item: (item.at, item.batch), reverse=True)


def _moment(stamp: str) -> float:
    """Return seconds since 1970 of a time like 20261118-093000; without ``strptime``, which takes long to import."""
    if len(stamp) != 15 or stamp[8] != "-":
        raise ValueError(stamp)
    year, *rest = (int(stamp[begin:end]) for begin, end in ((0, 4), (4, 6), (6, 8), (9, 11), (11, 13), (13, 15)))
    month, day, hour, minute, second = rest
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()


def back_up(database: Database, n_kept: int) -> str | None:
    """Make a backup if there is anything new to keep, and drop all but the latest few.

    Parameters
    ----------
    database : Database
        The project's database.
    n_kept : int
        How many are kept. The one with the most actions stays in any case.

    Returns
    -------
    str or None
        Its name, None if nothing was done since the last one.
    """
    last = database.value("SELECT max(id) FROM batches")
    if last is None or any(item.batch == last for item in find_backups(database.folder)[:1]):
        return None
    name = f"{_PREFIX}{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{last:06d}.sqlite"
    files = database.files
    files.make(BACKUPS)
    with _making(database.folder / BACKUPS / name) as temporary:
        _copy_decisions(database.path, temporary)
    known = find_backups(database.folder)
    for item in set(known).difference(_kept(known, n_kept)):
        files.remove(BACKUPS, item.name)
    return name


def _kept(known: list[Backup], n_kept: int) -> set[Backup]:
    """Return the backups to keep: the two latest, the last of each day before, then others; and the fullest."""
    latest = known[:N_LATEST]
    last_of_days = {item.at // EVERY_SECONDS: item for item in reversed(known)}
    earlier = [last_of_days[day] for day in sorted(last_of_days, reverse=True)]
    wanted = dict.fromkeys([*latest, *earlier, *known])
    return {*list(wanted)[:n_kept], max(known, key=lambda item: item.batch)}


def is_due(database: Database) -> bool:
    """Tell whether it is time for a backup: after a day, or after 10 decisions and 1 % of them, if any."""
    last = database.value("SELECT max(id) FROM batches")
    known = find_backups(database.folder)
    if last is None or not known or known[0].batch == last:
        return last is not None and not known
    latest = known[0]
    n = database.value("SELECT ifnull(sum(n), 0) FROM batches WHERE id > ?", (latest.batch,))
    total = database.value("SELECT ifnull(max(id), 0) FROM decisions")
    return bool(
        n >= max(EVERY_DECISIONS, EVERY_SHARE * total)
        or last < latest.batch
        or abs(time.time() - latest.at) >= EVERY_SECONDS
    )


@contextlib.contextmanager
def _making(target: Path) -> Iterator[Path]:
    """Yield where to make a database that appears under its name only when it is complete and on stable storage."""
    temporary = target.with_name(f"{target.name}{TEMPORARY_MARK}{os.getpid()}-{time.monotonic_ns()}")
    make_private(temporary)
    try:
        yield temporary
        with open(temporary, "rb+") as handle:
            system.sync_file(handle.fileno())
        os.replace(temporary, target)
        system.sync_folder(target.parent)
    finally:
        for end in ("", *JOURNALS):
            with contextlib.suppress(OSError):
                os.unlink(f"{temporary}{end}")


def _copy_decisions(source: Path, target: Path) -> None:
    """Copy what was decided to a new database, as it was at one moment."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    with translate_errors(source):
        connection = apsw.Connection(str(target), flags=flags)
        try:
            connection.pragma("journal_mode", "memory")
            connection.pragma("synchronous", "off")  # synchronised when it is whole
            connection.execute(PROJECT_FORMAT.script)
            connection.pragma("application_id", PROJECT_FORMAT.application_id)
            connection.pragma("user_version", PROJECT_FORMAT.number)
            connection.set_busy_timeout(5000)
            connection.execute("ATTACH ? AS project", (f"{source.absolute().as_uri()}?mode=ro",))
            with transaction(connection):
                for table in _KEPT:
                    connection.execute(f"INSERT INTO main.{table} SELECT * FROM project.{table}")  # noqa: S608
                connection.execute(
                    "INSERT INTO main.contents SELECT digest, iif("
                    "(SELECT total(length(data)) FROM project.contents) <= ?, data, NULL) FROM project.contents",
                    (LARGEST_CONTENTS,),
                )
                counted = "SELECT (SELECT ifnull(sum(n), 0) FROM main.batches), (SELECT count(*) FROM main.decisions)"
                ((n_batches, n_decisions),) = fetch(connection, counted)
            if n_batches != n_decisions:
                raise DamagedStoreError(f"{source.name} lacks decisions; look at it with: tagloom check")
        finally:
            connection.close()


def restore(folder: Path, backup: str | os.PathLike[str] = "latest") -> Restored:
    """Put a backup in place of a project's database; the one that is there is kept aside, in ``backups``.

    Features whose files are there are known again. Models are trained again. No other tagloom may run.

    Parameters
    ----------
    folder : Path
        The project's folder; its database may be damaged, empty or missing.
    backup : str or path, default="latest"
        The name of one in the folder, "latest", or any file that ``tagloom backup`` made.

    Raises
    ------
    StoreError
        If there is no such backup, or it is damaged: then nothing is changed.
    StoreBusyError
        If another tagloom is at work there.
    """
    files = ProjectFolder(folder)
    source, name = _choose(folder, backup)
    with FolderLock(folder):
        temporary = folder / f"{DATABASE}{TEMPORARY_MARK}{os.getpid()}-{time.monotonic_ns()}"
        try:
            _copy_file(source, temporary)
            connection = connect(temporary, PROJECT_FORMAT, journal="delete")
            try:
                n_decisions = _check(connection, source)
                n_features = _enter_features(connection, files)
            finally:
                connection.close()
            aside = _set_aside(files)
            for end in JOURNALS:
                files.remove(f"{DATABASE}{end}")
            with open(temporary, "rb+") as handle:
                system.sync_file(handle.fileno())
            os.replace(temporary, folder / DATABASE)
            system.sync_folder(folder)
        finally:
            for end in ("", *JOURNALS):
                with contextlib.suppress(OSError):
                    os.unlink(f"{temporary}{end}")
    return Restored(name, n_decisions, n_features, aside)


def _choose(folder: Path, backup: str | os.PathLike[str]) -> tuple[Path, str]:
    name = os.fspath(backup)
    if name == "latest":
        known = find_backups(folder)
        if not known:
            raise StoreError(f"there is no backup in {str(folder / BACKUPS)!r}; name a file: tagloom restore FILE")
        name = known[0].name
    if is_bare(name) and ProjectFolder(folder).has(BACKUPS, name):
        return folder / BACKUPS / name, name
    if not Path(name).is_file():
        raise InvalidInputError(f"no backup is called {name!r}; tagloom restore --list shows them")
    return Path(name), name


def _copy_file(source: Path, target: Path) -> None:
    """Copy a database whatever its journal; the source is only read."""
    for end in JOURNALS:  # SQLite opens them by their names, and would wait for a pipe
        beside = Path(f"{source}{end}")
        if os.path.lexists(beside) and not stat.S_ISREG(os.lstat(beside).st_mode):
            raise StoreError(f"{beside.name!r} beside the backup is a link or no file; remove it, then run again")
    with translate_errors(source):
        uri = f"{source.absolute().as_uri()}?mode=ro"
        reader = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            if reader.pragma("application_id") != PROJECT_FORMAT.application_id:
                raise DamagedStoreError(f"{source.name} is no backup that tagloom made; name another")
            copy_database(reader, target)
        finally:
            reader.close()


def _check(connection: apsw.Connection, source: Path) -> int:
    with translate_errors(source):
        problems = [text for (text,) in fetch(connection, "PRAGMA integrity_check(1)") if text != "ok"]
        if problems:
            raise DamagedStoreError(f"{source.name} is damaged ({problems[0]}), and nothing was changed; name another")
        ((n,),) = fetch(connection, "SELECT count(*) FROM decisions")
        return int(n)


def _enter_features(connection: apsw.Connection, files: ProjectFolder) -> int:
    """Register feature files that the database does not know, from what is written in them; return how many."""
    from tagloom.store.shards import read_unregistered

    n_found = 0
    with translate_errors(Path(DATABASE)), transaction(connection):
        known = {name for (name,) in fetch(connection, "SELECT file FROM shards")}
        for key in files.folders(FEATURES):
            for file in files.files(FEATURES, key):
                if file in known or not is_array_name(file):
                    continue
                try:
                    info, hashes = read_unregistered(files, key, file)
                except (TagloomError, OSError) as error:
                    logger.warning("a file of features is not used: %s", error)
                    continue
                sql = "INSERT OR IGNORE INTO feature_sets(key, n_columns) VALUES (?, ?)"
                connection.execute(sql, (key, info.n_columns))
                sql = "SELECT id, n_columns FROM feature_sets WHERE key = ?"
                ((set_id, n_columns),) = fetch(connection, sql, (key,))
                if n_columns != info.n_columns:
                    continue
                connection.execute(
                    "INSERT INTO shards(set_id, file, n_rows, n_columns, n_bytes, checksum) VALUES (?, ?, ?, ?, ?, ?)",
                    (set_id, info.file, info.n_rows, info.n_columns, info.n_bytes, info.checksum),
                )
                shard = connection.last_insert_rowid()
                connection.executemany(
                    "INSERT OR IGNORE INTO feature_rows(set_id, content_hash, shard, position) VALUES (?, ?, ?, ?)",
                    [(set_id, content_hash, shard, position) for position, content_hash in enumerate(hashes)],
                )
                n_found += 1
    return n_found


def _set_aside(files: ProjectFolder) -> str:
    """Copy the database that is there, and its journal, to ``backups``."""
    if not files.has(DATABASE):
        return ""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    tail = hashlib.blake2b(str(time.monotonic_ns()).encode(), digest_size=3).hexdigest()
    name = f"damaged-{stamp}-{tail}.sqlite"
    files.make(BACKUPS)
    for end in ("-wal", ""):
        if files.has(f"{DATABASE}{end}"):
            files.write(files.read(f"{DATABASE}{end}"), BACKUPS, f"{name}{end}")
    return f"{BACKUPS}/{name}"
