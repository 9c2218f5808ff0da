import os
import subprocess
import sys
import textwrap

import apsw
import numpy as np
import pytest

from tagloom.exceptions import StoreBusyError, StoreError, WriteError
from tagloom.store import FolderCache
from tagloom.store.project import ProjectStore


def _child(script, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


def test_no_project(tmp_path):
    with pytest.raises(StoreError, match="tagloom init"):
        ProjectStore(tmp_path / "t", make=False)
    assert not (tmp_path / "t").exists()
    ProjectStore(tmp_path / "t").close()
    ProjectStore(tmp_path / "t", make=False).close()


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_every_connection_is_durable(store, journal):
    with store.lock(), store.cache() as cache:
        for connection in (store.database.connection, cache._main, cache._thumbnails._connection):
            assert connection.pragma("journal_mode") == journal
            assert connection.pragma("synchronous") == {"wal": 2, "delete": 3}[journal]


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_decisions_while_a_long_job_holds_the_lock(store):
    with FolderCache(store.folder, store.folder.parent) as cache:
        with pytest.raises(StoreBusyError), store.lock():
            pass
        store.decisions.decide(1, 1, 1)
        cache.begin([b"x"])
        store.decisions.decide(2, 1, 1)
    with store.lock(), store.lock():
        with pytest.raises(StoreBusyError, match="another tagloom"):
            FolderCache(store.folder)
        store.decisions.undo()
    with store.lock():
        pass
    FolderCache(store.folder).close()
    assert store.decisions.count() == 3


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
def test_backup_while_in_use(store, tmp_path):
    store.decisions.decide([1, 2], 1, 1)
    with ProjectStore(store.folder) as other:
        store.backup(tmp_path / "copy.sqlite")
        other.decisions.decide(3, 1, 1)
    (tmp_path / "again").mkdir()
    (tmp_path / "copy.sqlite").rename(tmp_path / "again" / "tagloom.sqlite")
    with ProjectStore(tmp_path / "again") as copy:
        assert copy.decisions.current().photo_ids.tolist() == [1, 2]
        assert copy.check() == []
        for place in (tmp_path / "again" / "tagloom.sqlite", tmp_path / "no" / "where"):
            with pytest.raises(WriteError):
                copy.backup(place)
    assert store.decisions.count() == 3


WRITER = """
    import sys
    from tagloom.store.project import ProjectStore
    folder, worker, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with ProjectStore(folder) as store:
        (tag,) = store.tags.add([f"worker {worker}"])
        for number in range(n):
            store.decisions.decide(1 + number % 12, tag, number // 12 % 2, who=str(worker))
            if number % 40 == 17:
                store.decisions.current()
"""


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
@pytest.mark.medium
def test_processes_lose_nothing_and_never_see_a_locked_database(store):
    n_workers, n = 6, 120
    workers = [_child(WRITER, store.folder, number, n, stderr=subprocess.PIPE) for number in range(n_workers)]
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert (worker.returncode, errors) == (0, "")
    assert store.decisions.count() == n_workers * n
    history = store.decisions.history(10_000)
    assert {who: sum(batch.who == who for batch in history) for who in "012345"} == dict.fromkeys("012345", n)
    assert store.check() == []


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
@pytest.mark.medium
def test_processes_may_make_the_project_together(tmp_path, journal):
    script = """
        import sys
        from tagloom.store.project import ProjectStore
        with ProjectStore(sys.argv[1]) as store:
            print(store.tags.add(["one", sys.argv[2]])[0])
    """
    workers = [_child(script, tmp_path / "t", number) for number in range(5)]
    assert {worker.communicate(timeout=60)[0] for worker in workers} == {"1\n"}
    with ProjectStore(tmp_path / "t") as store:
        assert len(store.tags.all()) == 6
        assert store.check() == []


@pytest.mark.parametrize("journal", ["wal", "delete"], indirect=True)
@pytest.mark.medium
def test_kills_at_random_moments_lose_no_acknowledged_decision(store):
    script = """
        import sys
        import numpy as np
        from tagloom.store.project import ProjectStore
        start = int(sys.argv[2])
        with ProjectStore(sys.argv[1]) as store:
            (tag,) = store.tags.add(["killed"])
            print("open", flush=True)
            for number in range(start, start + 100_000):
                if number % 7 == 3:
                    batch = store.decisions.undo().id
                elif number % 7 == 5:
                    store.suggestions.save([1], [tag], np.full((1, 1), float(number)), n_kept=3)
                    batch = 0
                else:
                    batch = store.decisions.decide(np.arange(1, 13), tag, number % 2, label=str(number))
                print(number, batch, flush=True)
    """
    rng = np.random.default_rng(0)
    acknowledged = []
    for _ in range(15):
        process = _child(script, store.folder, len(acknowledged))
        assert process.stdout.readline() == "open\n"
        lines = [process.stdout.readline() for _ in range(rng.integers(1, 20))]
        process.kill()
        lines += process.stdout.read().splitlines(keepends=True)
        process.wait()
        process.stdout.close()
        acknowledged += [line.split() for line in lines if line.endswith("\n")]
        with ProjectStore(store.folder) as opened:
            batches = {batch.id: batch for batch in opened.decisions.history(100_000)}
            for number, batch in acknowledged:
                if int(number) % 7 == 3:
                    assert any(item.kind == "undo" and item.refers == int(batch) for item in batches.values())
                elif int(number) % 7 != 5:
                    assert batches[int(batch)].n == 12
            assert not [finding for finding in opened.check(checksums=True) if not finding.repairable]
            opened.repair()
            assert opened.check(checksums=True) == []
    assert len(acknowledged) > 50


@pytest.mark.medium
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX file-size limits")
@pytest.mark.parametrize("room", [0, 5_000, 20_000, 80_000])
def test_a_full_disk_gives_a_clear_error_and_a_store_that_reopens(store, room):
    script = """
        import os, resource, signal, sys
        import numpy as np
        from tagloom.exceptions import WriteError
        from tagloom.store.project import ProjectStore
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with ProjectStore(sys.argv[1]) as store:
            store.decisions.decide(1, 1, 1)
            sizes = [item.stat().st_size for item in os.scandir(sys.argv[1]) if "sqlite" in item.name]
            limit = max(sizes) + int(sys.argv[2])
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            n = 0
            try:
                for number in range(100_000):
                    store.decisions.decide(np.arange(1, 13), 2, number % 2)
                    n += 1
            except WriteError as error:
                print(n, error)
    """
    process = _child(script, store.folder, room)
    output, _ = process.communicate(timeout=120)
    n, text = output.split(" ", 1)
    assert "nothing stored so far is lost" in text
    with ProjectStore(store.folder) as opened:
        assert opened.decisions.count() == 1 + 12 * int(n)
        opened.decisions.decide(5, 1, 1)
        assert opened.check() == []


def test_a_full_disk_while_making_a_backup(store, tmp_path, monkeypatch):
    class Full(apsw.Connection):
        def backup(self, *arguments):
            raise apsw.FullError("full")

    monkeypatch.setattr("tagloom.store.database.apsw.Connection", Full)
    with pytest.raises(WriteError, match="disk is full"):
        store.backup(tmp_path / "copy.sqlite")
    assert not [path for path in tmp_path.iterdir() if "copy" in path.name]


def test_a_full_disk_inside_a_part_of_a_transaction_is_named(store):
    """SQLite rolls the whole transaction back by itself then: there is no part left to undo."""
    connection = store.database.connection
    connection.pragma("max_page_count", connection.pragma("page_count"))
    with pytest.raises(WriteError, match="disk is full"), store.transaction():
        store.settings.set("filler", "x" * 1_000_000)
    connection.pragma("max_page_count", 1 << 20)
    with store.transaction():
        store.settings.set("filler", "y")
    assert store.settings.get("filler") == "y"
