"""Backups of decisions: made by themselves, rotated, and put back in place of a damaged database."""

import os
import time

import numpy as np
import pytest

from tagloom.core.files import TEMPORARY_MARK
from tagloom.exceptions import DamagedStoreError, InvalidInputError, StoreBusyError, StoreError
from tagloom.store import backups
from tagloom.store.backups import find_backups, restore
from tagloom.store.cache import FolderCache
from tagloom.store.project import ProjectStore
from tagloom.store.writes import Intent

KEY = "color-v1-00"
HASHES = [f"{number:064x}" for number in range(1, 4)]
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def full(store):
    """Return a store with decisions, a write, features and a model."""
    store.decisions.decide([1, 2, 3], 1, 1)
    batch = store.writes.begin("write")
    store.writes.done(store.writes.intend(batch, [Intent(b"/x.xmp", b"before", "00" * 32, 1)]))
    with store.cache() as cache:
        cache.put(KEY, HASHES, ROWS)
    store.models.save({"w": np.ones(2)}, {}, features={}, labels_digest="", settings={})
    return store


def _pairs(store):
    return store.database.read("SELECT photo, tag, state, origin FROM standing ORDER BY 1, 2")


def test_a_backup_holds_what_was_decided_and_nothing_that_can_be_computed(full):
    name = full.back_up(5)
    (found,) = find_backups(full.folder)
    assert (found.name, found.batch) == (name, 2)
    assert abs(found.at - time.time()) < 100
    path = full.folder / "backups" / name
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == [name]
    with ProjectStore(full.folder) as store:
        assert store.check() == []
        n_pages = store.database.value("PRAGMA page_count")
    assert path.stat().st_size <= n_pages * 4096


@pytest.mark.parametrize("damage", ["empty", "text", "gone", "cut"])
def test_a_damaged_database_is_called_so_and_restored(full, damage):
    before = _pairs(full)
    full.back_up(5)
    full.close()
    path = full.folder / "tagloom.sqlite"
    n_files = sum(len(files) for _, _, files in os.walk(full.folder / "features"))
    if damage == "gone":
        path.unlink()
    else:
        data = {"empty": b"", "text": b"what is this" * 999, "cut": path.read_bytes()[:5000]}[damage]
        path.write_bytes(data)
    for open_it in (lambda: ProjectStore(full.folder), lambda: FolderCache(full.folder, full.folder.parent)):
        with pytest.raises(DamagedStoreError, match=r"damaged.*tagloom restore"), open_it() as opened:
            opened.roots.refresh() if isinstance(opened, ProjectStore) else opened.known([b"x"])
    assert sum(len(files) for _, _, files in os.walk(full.folder / "features")) == n_files
    done = restore(full.folder)
    assert (done.n_decisions, done.n_features) == (3, 1)
    if damage != "gone":
        assert (full.folder / done.aside).read_bytes() == data
    with ProjectStore(full.folder) as store:
        assert _pairs(store) == before
        assert store.writes.before(1) == b"before"
        assert store.models.active() is None
        with store.cache() as cache:
            np.testing.assert_array_equal(cache.get(KEY, HASHES), ROWS)
        assert [item for item in store.check(checksums=True) if item.kind != "orphan"] == []


def test_what_the_old_journal_holds_does_not_come_into_the_restored_database(full):
    full.back_up(5)
    full.decisions.decide([4, 5], 2, 1)
    wal = (full.folder / "tagloom.sqlite-wal").read_bytes()
    full.close()
    (full.folder / "tagloom.sqlite-wal").write_bytes(wal)
    done = restore(full.folder)
    assert (full.folder / f"{done.aside}-wal").read_bytes() == wal
    with ProjectStore(full.folder) as store:
        assert len(_pairs(store)) == 3
        assert [item.kind for item in store.check()] == ["orphan"]  # the model


def test_backups_are_made_when_due_and_rotated(full, monkeypatch):
    now = [time.time()]
    gmtime = time.gmtime
    monkeypatch.setattr(backups.time, "gmtime", lambda: gmtime(now[0]))
    monkeypatch.setattr(backups.time, "time", lambda: now[0])
    assert full.is_backup_due()
    full.back_up(3)
    assert not full.is_backup_due()
    full.decisions.decide(4, 1, 1)
    assert not full.is_backup_due()
    now[0] += 90_000
    assert full.is_backup_due()
    full.back_up(3)
    monkeypatch.setattr(backups, "EVERY_DECISIONS", 4)
    full.decisions.decide([5, 6, 7], 1, 1)
    assert not full.is_backup_due()
    full.decisions.decide(8, 1, 1)
    assert full.is_backup_due()
    for number in range(5):
        now[0] += 90_000
        full.decisions.decide(9 + number % 2, 1, number % 2)
        full.back_up(3)
    (full.folder / "backups" / "mine.sqlite").write_bytes(b"the user's own")
    found = find_backups(full.folder)
    assert [item.batch for item in found] == [10, 9, 8]
    assert full.back_up(3) is None  # nothing new


def test_the_fullest_backup_outlives_those_of_a_project_that_lost_decisions(full):
    full.back_up(1)
    for batch in (0, 1):
        (full.folder / "backups" / f"decisions-2999010{batch + 1}-000000-00000{batch}.sqlite").write_bytes(b"")
    assert full.is_backup_due()
    full.back_up(1)
    assert 2 in [item.batch for item in find_backups(full.folder)]


def test_the_latest_two_and_the_last_of_earlier_days_are_kept():
    hours = (100, 99, 98, 97, 75, 74, 51, 50, 27, 3)
    known = [backups.Backup(str(hour), hour * 3600.0, hour) for hour in hours]
    assert sorted((int(item.name) for item in backups._kept(known, 5)), reverse=True) == [100, 99, 75, 51, 27]
    assert sorted((int(item.name) for item in backups._kept(known[:4], 3)), reverse=True) == [100, 99, 98]
    assert {item.name for item in backups._kept(known, 1)} == {"100"}


def test_a_database_that_lacks_decisions_makes_no_backup(full):
    connection = full.database.connection
    connection.execute("DROP TRIGGER decisions_last")
    connection.execute("DELETE FROM decisions WHERE id = 2")
    with pytest.raises(DamagedStoreError, match="lacks decisions"):
        full.back_up(5)
    assert os.listdir(full.folder / "backups") == []


def test_a_file_made_by_backup_can_be_restored(full, tmp_path):
    full.backup(tmp_path / "mine.sqlite")
    full.decisions.decide([4, 5], 2, 1)
    full.close()
    done = restore(full.folder, tmp_path / "mine.sqlite")
    assert (done.n_decisions, done.n_features) == (3, 0)  # what it knows of features stays
    with ProjectStore(full.folder) as store:
        assert store.models.active() is not None
        assert store.check(checksums=True) == []


@pytest.mark.parametrize("content", [b"", b"no database" * 1000, None])
def test_a_backup_that_is_none_changes_nothing(full, tmp_path, content):
    full.close()
    before = {path: path.read_bytes() for path in full.folder.rglob("*") if path.is_file()}
    if content is None:
        with pytest.raises(InvalidInputError, match="no backup is called"):
            restore(full.folder, tmp_path / "missing")
        with pytest.raises(StoreError, match="there is no backup"):
            restore(full.folder)
    else:
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(StoreError):
            restore(full.folder, tmp_path / "bad")
    assert {path: path.read_bytes() for path in full.folder.rglob("*") if path.is_file()} == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("is_link", [False, True])
def test_what_lies_beside_a_backup_is_not_waited_for_or_followed(full, tmp_path, end, is_link):
    path = full.folder / "backups" / full.back_up(5)
    before = _pairs(full)
    full.close()
    beside = path.with_name(f"{path.name}{end}")
    beside.symlink_to(tmp_path / "elsewhere") if is_link else os.mkfifo(beside)
    with pytest.raises(StoreError, match="beside the backup"):
        restore(full.folder)
    beside.unlink()
    restore(full.folder)
    with ProjectStore(full.folder) as store:
        assert _pairs(store) == before


def test_restore_waits_for_no_one_at_work(full):
    full.back_up(5)
    with full.lock(), pytest.raises(StoreBusyError):
        restore(full.folder)


def test_a_note_that_another_process_writes_meanwhile_is_no_damage(tmp_path):
    (tmp_path / "tagloom.sqlite").touch()
    (tmp_path / f"README.txt{TEMPORARY_MARK}12-34").write_bytes(b"half")
    ProjectStore(tmp_path).close()
    (tmp_path / "tagloom.sqlite").write_bytes(b"")
    (tmp_path / "features" / "color-v1-00").mkdir()
    with pytest.raises(DamagedStoreError, match="is empty"):
        ProjectStore(tmp_path)


def test_an_empty_database_of_a_project_that_is_being_made_is_no_damage(tmp_path):
    folder = tmp_path / ".tagloom"
    ProjectStore(folder, tmp_path).close()
    (folder / "tagloom.sqlite").write_bytes(b"")
    (folder / "logs").mkdir()
    ProjectStore(folder, tmp_path).close()
