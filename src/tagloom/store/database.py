"""Opening tagloom's SQLite files: safe settings, known formats, clear errors.

The SQLite that comes with Python may carry the WAL-reset bug (before 3.51.3), so the one bundled in ``apsw`` is used;
an older library than that falls back to a rollback journal. ``TAGLOOM_JOURNAL=wal`` or ``=delete`` chooses for tests.

A database on a read-only disk, or in another person's folder, is opened to be read: nothing is changed there.
"""

import contextlib
import errno
import functools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from tagloom.core import TEMPORARY_MARK, system
from tagloom.exceptions import (
    DamagedStoreError,
    NewerFormatError,
    StoreBusyError,
    StoreError,
    TagloomError,
    WriteError,
)
from tagloom.store.schema import DatabaseFormat

__all__ = [
    "PATIENCE",
    "as_stored",
    "connect",
    "copy_database",
    "fetch",
    "is_writable",
    "make_private",
    "savepoint",
    "schema_problem",
    "transaction",
    "translate_errors",
]

FIRST_SAFE_WAL = (3, 51, 3)
JOURNAL_VARIABLE = "TAGLOOM_JOURNAL"
# A commit in the rollback journal ends with the removal of a file. FULL does not sync the folder after that: a power
# cut could bring the file back, which undoes an acknowledged commit. EXTRA is FULL with that sync.
SYNCHRONOUS = {"wal": ("FULL", 2), "delete": ("EXTRA", 3)}
PATIENCE = 60.0
LONGEST_VALUE = 64 << 20
_SCHEMA = (
    "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema "
    "WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4') LIMIT 1000"
)
_REMEDY = "put a backup in its place with: tagloom restore"
CACHE_KIB = 131_072  # used only as far as needed; a million decisions at once are five times slower with the default
_WRITE_FAILURES = frozenset(
    {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_DELETE,
        apsw.SQLITE_IOERR_CLOSE,
    }
)


def connect(
    path: Path, format: DatabaseFormat, *, journal: str | None = None, patience: float = PATIENCE
) -> apsw.Connection:
    """Open or make a database; one that cannot be written is opened to be read.

    Parameters
    ----------
    path : Path
        The file.
    format : DatabaseFormat
        What it holds.
    journal : {"wal", "delete"}, optional
        Default: ``$TAGLOOM_JOURNAL``, else what is safe with the SQLite there is.
    patience : float, default=60
        Seconds to wait for other processes that write.

    Raises
    ------
    NewerFormatError
        If a newer tagloom made the file.
    DamagedStoreError
        If the file is not one of ours.
    StoreError
        If the file has an older format, or cannot be written and has changes that are not in the file itself yet.
    """
    if path.is_file() and not is_writable(path):
        with translate_errors(path):
            return _connect_to_read(path, format, patience)
    make_private(path)
    with translate_errors(path):
        connection = apsw.Connection(str(path))
        try:
            connection.set_busy_handler(_Patience(patience))
            _harden(connection)
            _check_ours(connection, path, format)
            _configure(connection, path, journal, patience)
            connection.set_busy_handler(_Patience(patience))
            _make(connection, format)
        except BaseException:
            connection.close()
            raise
    return connection


def make_private(path: Path) -> None:
    """Make the file, if there is none, so that only its owner may read it; the journal takes after it."""
    with contextlib.suppress(OSError):  # what cannot be made SQLite says
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def is_writable(path: Path) -> bool:
    """Tell whether a database can be written, and files beside it made, as its journal needs."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _connect_to_read(path: Path, format: DatabaseFormat, patience: float) -> apsw.Connection:
    connection = _open_to_read(path)
    try:
        connection.set_busy_handler(_Patience(patience))
        _harden(connection)
        _check_ours(connection, path, format)
        if not connection.pragma("user_version"):
            raise StoreError(f"{path.name} is empty and cannot be written here; choose another folder")
        connection.execute("PRAGMA temp_store=MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def _open_to_read(path: Path) -> apsw.Connection:
    """Return a connection that changes nothing; the journal is looked at where that can be."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    place = path.absolute().as_uri()
    connection = apsw.Connection(f"{place}?mode=ro", flags=flags)
    try:
        fetch(connection, "SELECT count(*) FROM sqlite_schema")
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        # There is no journal, and none can be made; or there is one that only a process that writes could read.
        connection.close()
        journal = Path(f"{path}-wal")
        if journal.is_file() and journal.stat().st_size:
            raise StoreError(
                f"the latest changes of {path.name} are in {journal.name}, which cannot be read without writing here; "
                f"copy the folder {path.parent.name} to a place that can be written, and name that with --project"
            ) from error
        return apsw.Connection(f"{place}?immutable=1", flags=flags)
    return connection


class _Patience:
    """A busy handler that waits a random while, so that many writers all get their turn."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since = 0.0

    def __call__(self, n_tried: int) -> bool:
        now = time.monotonic()
        if n_tried == 0:
            self._since = now
        if now - self._since > self._seconds:
            return False
        _sleep(0.0005, 0.008)
        return True


def _sleep(least: float, most: float) -> None:
    import random  # needed only where another process is in the way

    time.sleep(random.uniform(least, most))


def _configure(connection: apsw.Connection, path: Path, journal: str | None, patience: float) -> None:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    is_safe = version >= FIRST_SAFE_WAL
    asked = journal or os.environ.get(JOURNAL_VARIABLE) or None
    wanted = asked or ("wal" if is_safe else "delete")
    if wanted not in SYNCHRONOUS:
        raise StoreError(f"the journal must be 'wal' or 'delete', got {wanted!r} (parameter or ${JOURNAL_VARIABLE})")
    is_empty = fetch(connection, "SELECT count(*) FROM sqlite_schema")[0][0] == 0
    must = bool(asked) or not is_safe or is_empty  # a rollback journal that is there already is safe, too
    found = _switch_journal(connection, wanted, patience if must else 0.0)
    if found != wanted and (asked or not is_safe):
        raise StoreBusyError(
            f"{path.name} needs the journal {wanted!r} and has {found!r}, which cannot change while another process "
            f"has it open; wait for that to end, then run again"
        )
    name, number = SYNCHRONOUS.get(found, ("EXTRA", 3))
    connection.execute(f"PRAGMA synchronous={name}")
    if connection.pragma("synchronous") != number:
        raise StoreError(f"SQLite did not accept synchronous={name} for {path.name}: nothing would be safe in it")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA temp_store=MEMORY")
    connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")


def _switch_journal(connection: apsw.Connection, wanted: str, patience: float) -> str:
    """Ask for a journal and return the one there is: SQLite changes it only while nobody else has the file open."""
    deadline = time.monotonic() + patience
    while True:
        found = str(connection.pragma("journal_mode"))
        if found == wanted:
            return found
        connection.set_busy_handler(None)
        try:
            return str(connection.pragma("journal_mode", wanted))
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > deadline:
                return found
        _sleep(0.001, 0.01)


def _harden(connection: apsw.Connection) -> None:
    """Let nothing that a stranger may have put into a database run, and no value of it fill the memory."""
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.execute("PRAGMA cell_size_check=ON")


@functools.cache
def _schema_of(format: DatabaseFormat) -> frozenset[tuple[str, ...]]:
    """Return the schema of a format: kind, name, table and text of everything in it."""
    connection = apsw.Connection(":memory:")
    try:
        connection.execute(format.script)
        return frozenset(fetch(connection, _SCHEMA))
    finally:
        connection.close()


def schema_problem(connection: apsw.Connection, format: DatabaseFormat) -> str | None:
    """Return how a database differs from its format, as by a trigger that swallows decisions; None: it does not."""
    found, wanted = frozenset(fetch(connection, _SCHEMA)), _schema_of(format)
    if found == wanted:
        return None
    kind, name, *_ = min(found - wanted, default=min(wanted - found, default=("", "")))
    return f"its {kind} {str(name)[:60]!r} is not as tagloom makes it"


def _check_ours(connection: apsw.Connection, path: Path, format: DatabaseFormat) -> None:
    problem = None
    connection.execute("BEGIN")  # one view of all three, while another process may be making the database
    try:
        found_id = connection.pragma("application_id")
        version = connection.pragma("user_version")
        is_empty = fetch(connection, "SELECT count(*) FROM sqlite_schema")[0][0] == 0
        if found_id == format.application_id and version == format.number:
            problem = schema_problem(connection, format)
    finally:
        if connection.in_transaction:  # without space for its shared memory SQLite has rolled back by itself
            connection.execute("ROLLBACK")
    if found_id != format.application_id and not is_empty:
        raise DamagedStoreError(
            f"{path.name} is not a tagloom file (application id {found_id}); move it away, or choose another folder"
        )
    if version > format.number:
        raise NewerFormatError(
            f"{path.name} has format {version}, and this tagloom reads format {format.number}; "
            f"install a newer tagloom, or choose another output folder"
        )
    if 0 < version < format.number:
        raise StoreError(
            f"{path.name} has format {version}, and this tagloom reads format {format.number}; export its keywords "
            f"with the tagloom that made it, then import them into a new project"
        )
    if version < 0 or (version == 0 and not is_empty):
        problem = "it has no valid format"
    if problem is not None:
        raise DamagedStoreError(f"{path.name} is damaged ({problem}), and nothing was changed; {_REMEDY}")


def _make(connection: apsw.Connection, format: DatabaseFormat) -> None:
    if connection.pragma("user_version") == format.number:
        return
    with transaction(connection):
        if not connection.pragma("user_version"):  # another process may have made it in between
            connection.execute(format.script)
            connection.pragma("application_id", format.application_id)
            connection.pragma("user_version", format.number)


def copy_database(source: apsw.Connection, target: Path) -> None:
    """Write a consistent copy of a database that may be in use; it appears under its name only when complete."""
    temporary = target.with_name(f"{target.name}{TEMPORARY_MARK}{os.getpid()}-{time.monotonic_ns()}")
    make_private(temporary)
    try:
        with translate_errors(target):
            destination = apsw.Connection(str(temporary))
            try:
                with destination.backup("main", source, "main") as backup:
                    backup.step(-1)
                destination.pragma("journal_mode", "delete")
            finally:
                destination.close()
        with open(temporary, "rb+") as handle:
            system.sync_file(handle.fileno())
        os.replace(temporary, target)
        system.sync_folder(target.parent)
    except BaseException:
        for end in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{temporary}{end}")
        raise


def fetch(connection: apsw.Connection, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
    """Return all rows of a query, so that no statement stays open and keeps others waiting."""
    return connection.execute(sql, values).fetchall()


@contextlib.contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run the body in one transaction that takes the write lock at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # after a full disk SQLite has rolled back by itself
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def savepoint(connection: apsw.Connection) -> Iterator[None]:
    """Run the body as a part of a transaction that is undone alone if it raises."""
    connection.execute("SAVEPOINT part")
    try:
        yield
        connection.execute("RELEASE part")
    except BaseException:
        if connection.in_transaction:  # after a full disk SQLite has rolled back by itself
            connection.execute("ROLLBACK TO part")
            connection.execute("RELEASE part")
        raise


@contextlib.contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into tagloom's, with what to do."""
    try:
        yield
    except apsw.FullError as error:
        raise WriteError(
            errno.ENOSPC,
            f"the disk is full while writing {path.name}; nothing stored so far is lost. Free some space, run again",
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusyError(
            f"{path.name} has been in use by another process for too long; wait for it to end, then run again"
        ) from error
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
        raise DamagedStoreError(f"{path.name} is damaged ({error}), and nothing was changed; {_REMEDY}") from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) in _WRITE_FAILURES:
            raise WriteError(
                errno.EIO,
                f"could not write {path.name} ({error}); nothing stored so far is lost. Free some space, run again",
            ) from error
        raise StoreError(f"cannot use {path.name} ({error}); check permissions and free space of its folder") from error
    except apsw.ReadOnlyError as error:
        raise StoreError(
            f"{path.name} cannot be written here, so nothing was changed. Commands that only read still work; for "
            f"the others make its folder {path.parent.name!r} writable"
        ) from error
    except (apsw.SQLError, apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError) as error:
        raise DamagedStoreError(
            f"{path.name} holds something that tagloom does not put there ({error}); look at it with: tagloom check"
        ) from error
    except (apsw.CantOpenError, apsw.PermissionsError) as error:
        raise StoreError(f"cannot use {path.name} ({error}); check permissions and free space of its folder") from error


@contextlib.contextmanager
def as_stored(what: str) -> Iterator[None]:
    """Call a project damaged if values of it are not what tagloom stores there; also a decorator.

    Parameters
    ----------
    what : str
        What they are about.
    """
    try:
        yield
    except TagloomError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DamagedStoreError(
            f"what the project holds about {what} is damaged ({' '.join(str(error).split())[:200]}); {_REMEDY}"
        ) from error
