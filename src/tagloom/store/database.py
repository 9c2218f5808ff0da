"""Opening tagloom's SQLite files: safe settings, numbered migrations, clear errors.

The SQLite that comes with Python may carry the WAL-reset bug (before 3.51.3), so the one bundled in ``apsw`` is used;
an older library than that falls back to a rollback journal.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from tagloom.exceptions import DamagedStoreError, NewerFormatError, StoreBusyError, StoreError, WriteError

__all__ = ["connect", "transaction", "translate_errors"]

FIRST_SAFE_WAL = (3, 51, 3)


def connect(path: Path, migrations: Sequence[str], application_id: int) -> apsw.Connection:
    """Open or make a database and bring it to the newest format.

    Parameters
    ----------
    path : Path
        The file.
    migrations : sequence of str
        SQL scripts; a database of format k has had the first k applied.
    application_id : int
        Marks the file as ours.

    Raises
    ------
    NewerFormatError
        If the file has a format this version does not know.
    DamagedStoreError
        If the file is not one of ours.
    """
    with translate_errors(path):
        connection = apsw.Connection(str(path))
        try:
            _configure(connection)
            _migrate(connection, path, migrations, application_id)
        except BaseException:
            connection.close()
            raise
    return connection


def _configure(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(15_000)
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    journal = "wal" if version >= FIRST_SAFE_WAL else "delete"
    connection.execute(f"PRAGMA journal_mode={journal}")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _migrate(connection: apsw.Connection, path: Path, migrations: Sequence[str], application_id: int) -> None:
    found_id = connection.pragma("application_id")
    version = connection.pragma("user_version")
    is_empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0] == 0
    if found_id != application_id and not is_empty:
        raise DamagedStoreError(
            f"{path.name} is not a tagloom file (application id {found_id}); move it away, or choose another folder"
        )
    if version > len(migrations):
        raise NewerFormatError(
            f"{path.name} has format {version}, and this tagloom reads up to {len(migrations)}; "
            f"install a newer tagloom, or choose another output folder"
        )
    if version == len(migrations):
        return
    with transaction(connection):
        version = connection.pragma("user_version")  # another process may have migrated in between
        for number in range(version, len(migrations)):
            connection.execute(migrations[number])
        connection.pragma("application_id", application_id)
        connection.pragma("user_version", len(migrations))


@contextlib.contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run the body in one transaction that takes the write lock at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextlib.contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into tagloom's, with what to do."""
    try:
        yield
    except apsw.FullError as error:
        raise WriteError(
            28,
            f"the disk is full while writing {path.name}; nothing stored so far is lost. Free some space, run again",
        ) from error
    except apsw.BusyError as error:
        raise StoreBusyError(
            f"{path.name} has been in use by another process for 15 s; wait for it to end, then run again"
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise DamagedStoreError(
            f"{path.name} is damaged ({error}); move the folder {path.parent.name} away and run again"
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.IOError) as error:
        raise StoreError(f"cannot use {path.name} ({error}); check permissions and free space of its folder") from error
