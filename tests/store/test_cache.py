import os
import subprocess
import sys
import textwrap

import apsw
import numpy as np
import pytest

from tagloom.core.files import TEMPORARY_MARK
from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.exceptions import DamagedStoreError, InvalidInputError, NewerFormatError, StoreBusyError, WriteError
from tagloom.features.engine import MemoryCache
from tagloom.store import FolderCache, database

KEY = "color-v1-0123456789ab"


def _hashes(n, start=0):
    return [f"{number:064x}" for number in range(start, start + n)]


def _rows(n, d=3, seed=0):
    return np.random.default_rng(seed).random((n, d), dtype=np.float32)


def _record(path, content_hash="", verdict=Verdict.OK, size=10):
    return PhotoRecord(path, verdict, "" if verdict is Verdict.OK else "why", content_hash, FileStamp(size, 5, 7), 4, 3)


@pytest.fixture(params=["folder", "memory"])
def cache(request, tmp_path):
    if request.param == "memory":
        yield MemoryCache()
        return
    with FolderCache(tmp_path / ".tagloom", tmp_path) as opened:
        yield opened


def test_rows_come_back_in_the_asked_order(cache):
    hashes, rows = _hashes(1200), _rows(1200)
    for start in range(0, 1200, 250):
        cache.put(KEY, hashes[start : start + 250], rows[start : start + 250])
    order = np.random.default_rng(1).permutation(1200)
    np.testing.assert_array_equal(cache.get(KEY, [hashes[i] for i in order]), rows[order])
    np.testing.assert_array_equal(cache.has(KEY, [hashes[3], *_hashes(1, 5000)]), [True, False])
    assert not cache.has("other-v1-00", hashes[:1]).any()


def test_records_and_contents(cache):
    hashes = _hashes(2)
    records = [_record(b"a/\xff.jpg", hashes[0]), _record(b"b\n.jpg", "", Verdict.DAMAGED, size=0)]
    cache.record(records)
    assert cache.known([b"a/\xff.jpg", b"b\n.jpg", b"c"]) == {item.path: item for item in records}
    assert cache.known_contents(hashes) == {hashes[0]: records[0]}
    assert cache.known_sizes([10, 11]) == {10}
    moved = _record(b"a/\xff.jpg", hashes[1])
    cache.record([moved])
    assert cache.known([b"a/\xff.jpg"])[b"a/\xff.jpg"] == moved


def test_thumbnails(cache):
    cache.put_thumbnails([(_hashes(1)[0], b"webp")])
    assert cache.thumbnails(_hashes(2)) == {_hashes(1)[0]: b"webp"}


def test_what_was_begun_and_not_ended_is_suspect(tmp_path):
    with FolderCache(tmp_path / "t", tmp_path) as cache:
        cache.begin([b"a", b"b", b"c"])
        cache.record([_record(b"a", _hashes(1)[0])])
        cache.release([b"c"])
    with FolderCache(tmp_path / "t", tmp_path) as cache:
        assert cache.suspects() == {b"b": 1}
        cache.begin([b"b"])
        assert cache.suspects() == {b"b": 2}
    with FolderCache(tmp_path / "t", tmp_path / "elsewhere") as cache:
        assert cache.suspects() == {}
        assert cache.known([b"a"]) == {}


def test_durable_settings(tmp_path):
    with FolderCache(tmp_path / "t") as cache:
        for connection in (cache._main, cache._thumbnails._connection):
            assert connection.pragma("synchronous") == 2
            assert connection.pragma("journal_mode") == "wal"


def test_an_old_library_gets_a_rollback_journal(tmp_path, monkeypatch):
    monkeypatch.setattr(database.apsw, "sqlite_lib_version", lambda: "3.40.1")
    with FolderCache(tmp_path / "t") as cache:
        assert cache._main.pragma("journal_mode") == "delete"
        assert cache._main.pragma("synchronous") == 3  # EXTRA: FULL, and the folder synced after each commit
        cache.record([_record(b"a", _hashes(1)[0])])
    with FolderCache(tmp_path / "t") as cache:
        assert cache.known([b"a"])


def test_one_writer_at_a_time(tmp_path):
    with FolderCache(tmp_path / "t"), pytest.raises(StoreBusyError, match="another tagloom"):
        FolderCache(tmp_path / "t")
    FolderCache(tmp_path / "t").close()


def test_a_newer_format_is_refused(tmp_path):
    FolderCache(tmp_path / "t").close()
    connection = apsw.Connection(str(tmp_path / "t" / "tagloom.sqlite"))
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(NewerFormatError, match=r"format 99.*newer tagloom"):
        FolderCache(tmp_path / "t")


def test_foreign_and_damaged_databases_are_refused(tmp_path):
    for content in (b"not a database, but long enough to be read as one" * 50, None):
        folder = tmp_path / str(content is None)
        folder.mkdir()
        if content is None:
            foreign = apsw.Connection(str(folder / "tagloom.sqlite"))
            foreign.execute("CREATE TABLE mine(x)")
            foreign.close()
        else:
            (folder / "tagloom.sqlite").write_bytes(content)
        with pytest.raises(DamagedStoreError):
            FolderCache(folder)


@pytest.mark.parametrize("damage", ["flip", "cut", "delete"])
def test_a_damaged_shard_is_set_aside_and_never_used(tmp_path, damage):
    with FolderCache(tmp_path / "t") as cache:
        cache.put(KEY, _hashes(4), _rows(4))
        cache.put(KEY, _hashes(4, 4), _rows(4))
    shard = sorted((tmp_path / "t" / "features" / KEY).iterdir())[0]
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    if damage == "delete":
        shard.unlink()
    else:
        shard.write_bytes(bytes(data if damage == "flip" else data[:-3]))
    with FolderCache(tmp_path / "t") as cache:
        if damage == "flip":
            with pytest.raises(DamagedStoreError, match="run the same command again"):
                cache.get(KEY, _hashes(8))
        assert cache.has(KEY, _hashes(8)).sum() == 4
        with pytest.raises(InvalidInputError, match="4 of 8 photos have no features"):
            cache.get(KEY, _hashes(8))


def test_leftovers_of_a_kill_are_swept(tmp_path):
    with FolderCache(tmp_path / "t") as cache:
        cache.put(KEY, _hashes(2), _rows(2))
    folder = tmp_path / "t" / "features" / KEY
    (folder / f"x.safetensors{TEMPORARY_MARK}1-2").write_bytes(b"half")
    (folder / f"{'a' * 32}.safetensors").write_bytes(b"written, never registered")
    with FolderCache(tmp_path / "t") as cache:
        assert len(list(folder.iterdir())) == 1
        assert cache.has(KEY, _hashes(2)).all()


def test_bad_rows_and_keys(tmp_path):
    with FolderCache(tmp_path / "t") as cache:
        cache.put(KEY, [], np.empty((0, 3), dtype=np.float32))
        with pytest.raises(InvalidInputError, match="2 float32 rows"):
            cache.put(KEY, _hashes(2), _rows(3))
        with pytest.raises(InvalidInputError, match="feature key"):
            cache.put("../up", _hashes(2), _rows(2))
        cache.put(KEY, _hashes(2), _rows(2))
        with pytest.raises(InvalidInputError, match="3 columns"):
            cache.put(KEY, _hashes(2), _rows(2, d=4))


def test_an_unwritable_place_gives_a_clear_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteError, match="choose another output folder"):
        FolderCache(tmp_path / "file" / ".tagloom")


@pytest.mark.medium
def test_kills_at_random_moments_lose_no_acknowledged_row(tmp_path):
    script = """
        import sys, numpy as np
        from tagloom.store import FolderCache
        from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
        start = int(sys.argv[2])
        with FolderCache(sys.argv[1]) as cache:
            print("open", flush=True)
            for batch in range(start, start + 1000):
                hashes = [f"{batch * 4 + i:064x}" for i in range(4)]
                cache.begin([name.encode() for name in hashes])
                cache.put("k-v1-00", hashes, np.full((4, 2), batch, dtype=np.float32))
                cache.record([PhotoRecord(n.encode(), Verdict.OK, "", n, FileStamp(1, 1)) for n in hashes])
                print(batch, flush=True)
    """
    rng = np.random.default_rng(0)
    acknowledged = -1
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "t"), str(acknowledged + 1)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "open\n"
        for _ in range(rng.integers(1, 15)):
            acknowledged = int(process.stdout.readline())
        process.kill()
        rest = process.stdout.read().split("\n")
        process.wait()
        process.stdout.close()
        acknowledged = max([acknowledged, *(int(line) for line in rest[:-1])])
        with FolderCache(tmp_path / "t") as cache:
            hashes = [f"{number:064x}" for number in range((acknowledged + 1) * 4)]
            assert len(cache.known([name.encode() for name in hashes])) == len(hashes)
            expected = np.repeat(np.arange(acknowledged + 1), 4)
            np.testing.assert_array_equal(cache.get("k-v1-00", hashes)[:, 0], expected)
            assert cache._execute("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.medium
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX file-size limits")
def test_a_full_disk_gives_a_clear_error_and_a_store_that_reopens(tmp_path):
    script = """
        import resource, signal, sys, numpy as np
        from tagloom.exceptions import TagloomError
        from tagloom.store import FolderCache
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with FolderCache(sys.argv[1]) as cache:
            cache.put("k-v1-00", ["00" * 32], np.zeros((1, 4), dtype=np.float32))
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
            try:
                cache.put("k-v1-01", [f"{i:064x}" for i in range(100)], np.zeros((100, 1000), dtype=np.float32))
            except TagloomError as error:
                print("clear:", error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "t")], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("clear:")
    assert "unchanged" in done.stdout
    with FolderCache(tmp_path / "t") as cache:
        assert cache.has("k-v1-00", ["00" * 32]).all()
        assert not cache.has("k-v1-01", ["00" * 32]).any()
