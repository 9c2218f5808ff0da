import hashlib

import apsw
import pytest

from tagloom.exceptions import DamagedStoreError, NewerFormatError, StoreBusyError, StoreError, WriteError
from tagloom.store import FolderCache, database
from tagloom.store.database import connect, copy_database, transaction, translate_errors
from tagloom.store.project import ProjectStore
from tagloom.store.schema import PROJECT_FORMAT, THUMBNAIL_FORMAT, DatabaseFormat

FORMAT = DatabaseFormat(2, "CREATE TABLE t(x INTEGER NOT NULL CHECK (x < 10), y INTEGER DEFAULT 5)", 7)


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_settings_are_read_back(tmp_path, journal):
    connection = connect(tmp_path / "a.sqlite", FORMAT)
    assert connection.pragma("journal_mode") == journal
    assert connection.pragma("synchronous") == {"wal": 2, "delete": 3}[journal]
    assert connection.pragma("foreign_keys") == 1
    connection.close()


def test_a_refused_sync_setting_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setitem(database.SYNCHRONOUS, "wal", ("NORMAL", 2))
    with pytest.raises(StoreError, match="did not accept"):
        connect(tmp_path / "a.sqlite", FORMAT)


def test_an_unknown_journal(tmp_path):
    with pytest.raises(StoreError, match="'wal' or 'delete'"):
        connect(tmp_path / "a.sqlite", FORMAT, journal="memory")


def test_a_rollback_journal_in_use_is_left_as_it_is(tmp_path):
    first = connect(tmp_path / "a.sqlite", FORMAT, journal="delete")
    first.execute("BEGIN; SELECT * FROM t")
    second = connect(tmp_path / "a.sqlite", FORMAT)
    assert second.pragma("journal_mode") == "delete"
    assert second.pragma("synchronous") == 3
    with pytest.raises(StoreBusyError, match="needs the journal 'wal'"):
        connect(tmp_path / "a.sqlite", FORMAT, journal="wal", patience=0.05)
    first.close()
    second.close()
    third = connect(tmp_path / "a.sqlite", FORMAT)
    assert third.pragma("journal_mode") == "wal"
    third.close()


def test_a_script_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "a.sqlite"
    with pytest.raises(DamagedStoreError):
        connect(path, DatabaseFormat(2, "CREATE TABLE u(x); SELECT nonsense", 7))
    connection = connect(path, FORMAT)
    assert connection.pragma("user_version") == 2
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("t",)]
    connection.close()


@pytest.mark.parametrize("opener", [ProjectStore, FolderCache])
def test_an_older_format_is_refused_and_left_as_it_is(tmp_path, opener):
    ProjectStore(tmp_path / "t").close()
    path = tmp_path / "t" / "tagloom.sqlite"
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 2)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"format 2, and this tagloom reads format 4; export its keywords"):
        opener(tmp_path / "t")
    assert path.read_bytes() == before


def test_a_format_with_another_text_has_another_number():
    """Each database keeps the text of its statements: one that differs passes for damaged."""
    digests = {
        (format.number, hashlib.blake2b(repr(_schema(format)).encode(), digest_size=8).hexdigest())
        for format in (PROJECT_FORMAT, THUMBNAIL_FORMAT)
    }
    assert digests == {(4, "cc67fd181b0f29bc"), (1, "f5832509cf9b7c16")}


def _schema(format):
    connection = apsw.Connection(":memory:")
    connection.execute(format.script)
    return sorted(connection.execute("SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema").fetchall())


def test_a_newer_format_is_refused(tmp_path):
    ProjectStore(tmp_path / "t").close()
    connection = apsw.Connection(str(tmp_path / "t" / "tagloom.sqlite"))
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(NewerFormatError, match=r"format 99.*newer tagloom"):
        ProjectStore(tmp_path / "t")


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_a_full_database_gives_a_clear_error_and_takes_small_things_after(tmp_path, journal):
    connection = connect(tmp_path / "a.sqlite", DatabaseFormat(1, "CREATE TABLE t(x)", 7))
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
    connection = connect(tmp_path / "a.sqlite", FORMAT)
    with pytest.raises(apsw.ConstraintError), transaction(connection):
        connection.execute("INSERT INTO t(x) VALUES (1); INSERT INTO t(x) VALUES (11)")
    assert connection.execute("SELECT * FROM t").fetchall() == []
    connection.close()


def test_a_copy_that_fails_leaves_no_file(tmp_path):
    connection = connect(tmp_path / "a.sqlite", FORMAT)
    target = tmp_path / "copy"
    target.mkdir()
    with pytest.raises(OSError, match="copy"):
        copy_database(connection, target)
    connection.close()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.sqlite", "copy"]
