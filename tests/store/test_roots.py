import os
import shutil

import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.store import FolderCache
from tagloom.store.project import ProjectStore


def _fill(root, contents):
    root.mkdir()
    for name, content in contents.items():
        (root / os.fsdecode(name)).write_bytes(b"x" * (content + 1))


FILES = {b"1.jpg": 1, b"2.jpg": 2, b"\xff.jpg": 3}


def test_a_root_around_the_project_moves_with_it(tmp_path, scan):
    _fill(tmp_path / "old", FILES)
    with ProjectStore(tmp_path / "old" / ".tagloom", tmp_path / "old") as store:
        scan(store, FILES)
    (tmp_path / "old").rename(tmp_path / "new")
    with ProjectStore(tmp_path / "new" / ".tagloom") as store:
        assert [root.path for root in store.roots.all()] == [os.fsencode(tmp_path / "new")]
        assert store.root_id == 1
        assert store.roots.refresh() == {1: True}
        assert len(store.photos.find(list(FILES))) == 3
    shutil.move(tmp_path / "new", tmp_path / "third")
    with FolderCache(tmp_path / "third" / ".tagloom", tmp_path / "third") as cache:
        assert len(cache.known(list(FILES))) == 3


def test_a_root_elsewhere_is_known_by_its_files(tmp_path, scan):
    _fill(tmp_path / "old", FILES)
    with ProjectStore(tmp_path / "project", tmp_path / "old") as store:
        scan(store, FILES)
        _fill(tmp_path / "other", {b"1.jpg": 77})
        assert store.roots.resolve(tmp_path / "other") == 2  # the old one is there still
    (tmp_path / "old").rename(tmp_path / "new")
    with ProjectStore(tmp_path / "project", tmp_path / "new") as store:
        assert store.root_id == 1
        assert len(store.photos.find(list(FILES))) == 3
    shutil.rmtree(tmp_path / "new")
    _fill(tmp_path / "unlike", {b"1.jpg": 55})
    with ProjectStore(tmp_path / "project", tmp_path / "unlike") as store:
        assert store.root_id == 3


def test_a_project_knows_its_own_root_among_others(tmp_path, scan):
    for name in ("first", "second", "third"):
        _fill(tmp_path / name, FILES)
    with ProjectStore(tmp_path / "project", tmp_path / "first") as store:
        assert not store.roots.is_claimed()
        scan(store, FILES)
        assert store.roots.is_claimed()  # what was seen in it tells
    for name in ("second", "third"):
        with FolderCache(tmp_path / "project", tmp_path / name):
            pass
    with ProjectStore(tmp_path / "project") as store:
        assert store.root_id == 1
        store.roots.claim(2)
    with ProjectStore(tmp_path / "project") as store:
        assert store.root_id == 2


def test_a_place_for_features_alone_is_no_project(tmp_path):
    for name in ("first", "second"):
        _fill(tmp_path / name, FILES)
        with FolderCache(tmp_path / "cache", tmp_path / name):
            pass
    with ProjectStore(tmp_path / "cache") as store:
        assert not store.roots.is_claimed()
        store.roots.claim(2)
        assert store.roots.is_claimed()
    with FolderCache(tmp_path / "nothing"):
        pass
    with ProjectStore(tmp_path / "nothing") as store:
        assert store.root_id is None


def test_offline_and_back(tmp_path, scan):
    disk = tmp_path / "disk"
    _fill(disk, FILES)
    with ProjectStore(tmp_path / "project", disk) as store:
        scan(store, FILES)
        assert store.roots.refresh() == {1: True}
        disk.rename(tmp_path / "away")
        assert store.roots.refresh() == {1: False}
        assert set(store.photos.table().states) == {"offline"}
        disk.mkdir()  # an empty place where a disk was mounted
        assert store.roots.refresh() == {1: False}
        disk.rmdir()
        (tmp_path / "away").rename(disk)
        assert store.roots.refresh() == {1: True}
        assert set(store.photos.table().states) == {"present"}


def test_a_folder_that_was_emptied_is_there(tmp_path, scan):
    _fill(tmp_path / "disk", FILES)
    with ProjectStore(tmp_path / "project", tmp_path / "disk") as store:
        scan(store, FILES)
        for path in (tmp_path / "disk").iterdir():
            path.unlink()
        assert store.roots.refresh() == {1: True}
        assert len(store.photos.reconcile([]).missing) == 3


def test_moving_by_hand(tmp_path, scan):
    _fill(tmp_path / "old", FILES)
    _fill(tmp_path / "taken", {})
    with ProjectStore(tmp_path / "project", tmp_path / "old") as store:
        scan(store, FILES)
        store.roots.resolve(tmp_path / "taken")
        with pytest.raises(InvalidInputError, match="another root"):
            store.roots.move(1, tmp_path / "taken")
        store.roots.move(1, tmp_path / "unplugged")
        assert [root.online for root in store.roots.all()] == [False, True]
        store.roots.move(1, tmp_path / "old")
        assert [root.online for root in store.roots.all()] == [True, True]


def test_a_root_whose_name_is_not_unicode(tmp_path, scan):
    root = os.fsencode(tmp_path) + b"/\xfe"
    os.mkdir(root)
    with ProjectStore(tmp_path / "project", root) as store:
        scan(store, FILES)
        assert store.roots.all()[0].path == root
        assert len(store.photos.find(list(FILES))) == 3
