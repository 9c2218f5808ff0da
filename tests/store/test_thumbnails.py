import os

import apsw
import pytest

from tagloom.store.cache import FolderCache
from tagloom.store.thumbnails import Thumbnails

NAMES = [f"{number:064x}" for number in range(1200)]


def _spoil(path, how):
    if how == "text":
        path.write_bytes(b"not a database at all" * 1000)
    elif how == "middle":
        data = bytearray(path.read_bytes())
        data[8192:-4096] = os.urandom(len(data) - 12288)
        path.write_bytes(data)
    elif how == "cut":
        os.truncate(path, path.stat().st_size // 2 + 7)
    else:
        connection = apsw.Connection(str(path))
        connection.execute("DROP TABLE thumbnails; CREATE VIEW thumbnails AS SELECT 1 AS content_hash, 2 AS image")
        connection.close()


@pytest.mark.parametrize("how", ["text", "middle", "cut", "view"])
def test_a_damaged_cache_is_made_again(tmp_path, caplog, how):
    with FolderCache(tmp_path / "t") as cache:
        cache.put_thumbnails((name, b"x" * 200) for name in NAMES)
        assert not cache.lack_thumbnails([*NAMES, NAMES[0]])
    _spoil(tmp_path / "t" / "thumbnails.sqlite", how)
    with FolderCache(tmp_path / "t") as cache:
        assert cache.lack_thumbnails(NAMES)
        cache.put_thumbnails([(NAMES[3], b"new")])
        assert cache.thumbnails(NAMES) == {NAMES[3]: b"new"}
    assert "thumbnails.sqlite was damaged" in caplog.text
    with FolderCache(tmp_path / "t") as cache:
        assert cache.thumbnails(NAMES) == {NAMES[3]: b"new"}


def test_a_thumbnail_that_is_none_for_its_size_is_made_again(tmp_path):
    with FolderCache(tmp_path / "t") as cache:
        cache.put_thumbnails([(NAMES[0], b"x" * (60 << 20)), (NAMES[1], b"small")])
        assert cache.thumbnails(NAMES[:2]) == {NAMES[1]: b"small"}
        assert cache.lack_thumbnails(NAMES[:2])
        cache.put_thumbnails([(NAMES[0], b"new")])
        assert not cache.lack_thumbnails(NAMES[:2])


def test_where_nothing_can_be_written_a_damaged_cache_is_empty(tmp_path, monkeypatch):
    (tmp_path / "thumbnails.sqlite").write_bytes(b"no database" * 500)
    monkeypatch.setattr("tagloom.store.thumbnails.is_writable", lambda _: False)
    monkeypatch.setattr("tagloom.store.database.is_writable", lambda _: False)
    found = Thumbnails(tmp_path)
    assert found.get(NAMES[:3]) == {}
    found.close()
    assert (tmp_path / "thumbnails.sqlite").read_bytes().startswith(b"no database")
