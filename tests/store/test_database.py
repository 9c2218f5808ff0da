import contextlib

import apsw
import pytest

from tagloom.exceptions import DamagedStoreError, NewerFormatError, StoreBusyError, StoreError, WriteError
from tagloom.store import FolderCache, database
from tagloom.store.database import connect, copy_database, transaction, translate_errors
from tagloom.store.lock import FolderLock
from tagloom.store.project import ProjectStore
from tagloom.store.schema import APPLICATION_ID, MAIN_MIGRATIONS

SCRIPTS = ("CREATE TABLE t(x INTEGER NOT NULL CHECK (x < 10))", "ALTER TABLE t ADD COLUMN y INTEGER DEFAULT 5")


def _dump(path):
    connection = apsw.Connection(str(path))
    try:
        return connection.execute("SELECT * FROM t ORDER BY x").fetchall(), connection.pragma("user_version")
    finally:
        connection.close()


def _present_format(folder):
    """Make a database as the present `annotate` leaves it: the first migration only, with some rows."""
    folder.mkdir(parents=True)
    connection = connect(folder / "tagloom.sqlite", MAIN_MIGRATIONS[:1], APPLICATION_ID)
    connection.execute("INSERT INTO roots(path) VALUES (x'2fff')")
    connection.execute("INSERT INTO photos VALUES (1, x'61ff', x'00', 'ok', '', 3, 4, 5, 6, 7)")
    connection.execute("INSERT INTO attempts VALUES (1, x'62', 2)")
    connection.close()


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_settings_are_read_back(tmp_path, journal):
    connection = connect(tmp_path / "a.sqlite", SCRIPTS, 7)
    assert connection.pragma("journal_mode") == journal
    assert connection.pragma("synchronous") == {"wal": 2, "delete": 3}[journal]
    assert connection.pragma("foreign_keys") == 1
    connection.close()


def test_a_refused_sync_setting_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setitem(database.SYNCHRONOUS, "wal", ("NORMAL", 2))
    with pytest.raises(StoreError, match="did not accept"):
        connect(tmp_path / "a.sqlite", SCRIPTS, 7)


def test_an_unknown_journal(tmp_path):
    with pytest.raises(StoreError, match="'wal' or 'delete'"):
        connect(tmp_path / "a.sqlite", SCRIPTS, 7, journal="memory")


def test_a_rollback_journal_in_use_is_left_as_it_is(tmp_path):
    first = connect(tmp_path / "a.sqlite", SCRIPTS, 7, journal="delete")
    first.execute("BEGIN; SELECT * FROM t")
    second = connect(tmp_path / "a.sqlite", SCRIPTS, 7)
    assert second.pragma("journal_mode") == "delete"
    assert second.pragma("synchronous") == 3
    with pytest.raises(StoreBusyError, match="needs the journal 'wal'"):
        connect(tmp_path / "a.sqlite", SCRIPTS, 7, journal="wal", patience=0.05)
    first.close()
    second.close()
    third = connect(tmp_path / "a.sqlite", SCRIPTS, 7)
    assert third.pragma("journal_mode") == "wal"
    third.close()


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_migration_of_something_makes_a_backup_of_exactly_that(tmp_path, journal):
    path = tmp_path / "a.sqlite"
    connection = connect(path, SCRIPTS[:1], 7)
    assert not (tmp_path / "backups").exists()
    connection.execute("INSERT INTO t VALUES (1), (2)")
    connection.close()
    held = []

    @contextlib.contextmanager
    def guard():
        held.append(True)
        yield

    connect(path, SCRIPTS, 7, guard=guard).close()
    assert held == [True]
    assert _dump(path) == ([(1, 5), (2, 5)], 2)
    (backup,) = (tmp_path / "backups").iterdir()
    assert backup.name.startswith("a-format1-")
    assert _dump(backup) == ([(1,), (2,)], 1)
    connect(path, SCRIPTS, 7, guard=guard).close()
    assert held == [True]
    assert len(list((tmp_path / "backups").iterdir())) == 1


def test_a_migration_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "a.sqlite"
    connect(path, SCRIPTS[:1], 7).close()
    with pytest.raises(DamagedStoreError):
        connect(path, (SCRIPTS[0], "CREATE TABLE u(x); SELECT nonsense"), 7)
    connection = connect(path, SCRIPTS[:1], 7)
    assert connection.pragma("user_version") == 1
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("t",)]
    connection.close()


def test_without_room_for_the_backup_nothing_is_migrated(tmp_path, monkeypatch):
    _present_format(tmp_path / "t")
    (tmp_path / "t" / "backups").write_bytes(b"in the way")
    with pytest.raises(WriteError, match="nothing was changed"):
        ProjectStore(tmp_path / "t")
    connection = apsw.Connection(str(tmp_path / "t" / "tagloom.sqlite"))
    assert connection.pragma("user_version") == 1
    connection.close()


@pytest.mark.parametrize(
    ("opener", "journal"), [(ProjectStore, "wal"), (ProjectStore, "delete"), (FolderCache, "wal")], indirect=["journal"]
)
def test_the_present_format_is_extended(tmp_path, journal, opener):
    _present_format(tmp_path / "t")
    with opener(tmp_path / "t"):
        pass
    connection = apsw.Connection(str(tmp_path / "t" / "tagloom.sqlite"))
    assert connection.pragma("user_version") == len(MAIN_MIGRATIONS)
    row = (1, b"a\xff", b"\x00", "ok", "", 3, 4, 5, 6, 7, 0)
    assert connection.execute("SELECT * FROM files").fetchall() == [row]
    assert connection.execute("SELECT * FROM attempts").fetchall() == [(1, b"b", 2)]
    assert connection.execute("SELECT id, path FROM roots WHERE path <> x''").fetchall() == [(1, b"/\xff")]
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    (backup,) = (tmp_path / "t" / "backups").iterdir()
    connection = apsw.Connection(str(backup))
    assert connection.execute("SELECT * FROM photos").fetchall() == [row[:-1]]
    connection.close()


def test_a_project_at_work_is_not_migrated_by_another_process(tmp_path):
    _present_format(tmp_path / "t")
    with FolderLock(tmp_path / "t"), pytest.raises(StoreBusyError):
        ProjectStore(tmp_path / "t", patience=0.1)
    ProjectStore(tmp_path / "t").close()


def test_a_newer_format_is_refused(tmp_path):
    ProjectStore(tmp_path / "t").close()
    connection = apsw.Connection(str(tmp_path / "t" / "tagloom.sqlite"))
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(NewerFormatError, match=r"format 99.*newer tagloom"):
        ProjectStore(tmp_path / "t")


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_a_full_database_gives_a_clear_error_and_takes_small_things_after(tmp_path, journal):
    connection = connect(tmp_path / "a.sqlite", ("CREATE TABLE t(x)",), 7)
    n_pages = connection.pragma("page_count")
    connection.pragma("max_page_count", n_pages + 1)
    full = pytest.raises(WriteError, match="disk is full")
    with full, translate_errors(tmp_path / "a.sqlite"), transaction(connection):
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    assert not connection.in_transaction
    with transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
    assert connection.execute("SELECT x FROM t").fetchall() == [(1,)]
    connection.close()


def test_a_body_that_raises_leaves_no_trace(tmp_path):
    connection = connect(tmp_path / "a.sqlite", SCRIPTS, 7)
    with pytest.raises(apsw.ConstraintError), transaction(connection):
        connection.execute("INSERT INTO t(x) VALUES (1); INSERT INTO t(x) VALUES (11)")
    assert connection.execute("SELECT * FROM t").fetchall() == []
    connection.close()


def test_a_copy_that_fails_leaves_no_file(tmp_path):
    connection = connect(tmp_path / "a.sqlite", SCRIPTS, 7)
    target = tmp_path / "copy"
    target.mkdir()
    with pytest.raises(OSError, match="copy"):
        copy_database(connection, target)
    connection.close()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.sqlite", "copy"]
