import random

import numpy as np
import pytest

from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.store.project import ProjectStore


def _ids(store):
    table = store.photos.table()
    return {
        path: int(number)
        for path, number, state in zip(table.paths, table.ids, table.states, strict=True)
        if state == "present"
    }


def _kinds(changes):
    return {
        name: getattr(changes, name).tolist()
        for name in ("new", "changed", "moved", "missing", "back")
        if len(getattr(changes, name))
    }


@pytest.fixture
def empty(tmp_path):
    (tmp_path / "photos").mkdir()
    with ProjectStore(tmp_path / "photos" / ".tagloom", tmp_path / "photos") as opened:
        yield opened


def test_a_life(empty, scan):
    files = {b"a/1.jpg": 1, b"a/2.jpg": 2, b"\xff\n-.jpg": 3}
    assert _kinds(scan(empty, files, now=10.0)) == {"new": [1, 2, 3]}
    assert _ids(empty) == {b"a/1.jpg": 1, b"a/2.jpg": 2, b"\xff\n-.jpg": 3}
    same = scan(empty, files, now=11.0)
    assert (_kinds(same), same.n_same, same.n_unread) == ({}, 3, 0)
    assert _kinds(scan(empty, {b"b/1.jpg": 1, b"a/2.jpg": 22}, now=12.0)) == {
        "moved": [1],
        "changed": [2],
        "missing": [3],
    }
    table = empty.photos.table()
    assert table.states == ["present", "present", "missing"]
    assert table.first_seen.tolist() == [10, 10, 10]
    assert table.last_seen.tolist() == [12, 12, 11]
    assert table.sizes.tolist() == [[40, 30]] * 3
    assert _kinds(scan(empty, {**files, b"b/1.jpg": 1}, now=13.0)) == {"new": [4], "changed": [2], "back": [3]}
    assert [group.tolist() for group in empty.photos.duplicates()] == [[1, 4]]
    assert empty.photos.find([b"a/1.jpg", b"\xff\n-.jpg", b"no"]) == {b"a/1.jpg": 4, b"\xff\n-.jpg": 3}
    assert len(empty.photos.table([2, 3])) == 2
    assert len(empty.photos.table(state="missing")) == 0


def test_a_ring_of_renames_keeps_every_photo(empty, scan):
    scan(empty, {b"1": 1, b"2": 2, b"3": 3})
    changes = scan(empty, {b"1": 3, b"2": 1, b"3": 2})
    assert _kinds(changes) == {"moved": [1, 2, 3]}
    assert _ids(empty) == {b"2": 1, b"3": 2, b"1": 3}


def test_a_name_taken_by_a_new_photo(empty, scan):
    scan(empty, {b"DSC1": 1, b"DSC2": 2})
    assert _kinds(scan(empty, {b"2020/DSC1": 1, b"DSC1": 7})) == {"new": [3], "moved": [1], "missing": [2]}
    assert _kinds(scan(empty, {b"2020/DSC1": 1, b"DSC2": 9, b"DSC1": 7})) == {"new": [4]}
    assert _kinds(scan(empty, {b"2020/DSC1": 1, b"DSC2": 9, b"DSC1": 7, b"DSC3": 2})) == {"moved": [2]}


def test_of_several_copies_the_namesake_is_the_same(empty, scan):
    scan(empty, {b"a/x": 1, b"a/y": 1, b"a/z": 1})
    assert _kinds(scan(empty, {b"b/x": 1, b"b/y": 1, b"b/a": 1})) == {"moved": [1, 2, 3]}
    assert _ids(empty) == {b"b/x": 1, b"b/y": 2, b"b/a": 3}


@pytest.mark.parametrize("seed", range(4))
def test_any_renaming_leaves_labels_with_their_content(empty, scan, seed):
    rng = random.Random(seed)
    contents = list(range(1, 30))
    names = [f"{n}".encode() for n in range(60)]
    files = dict(zip(rng.sample(names, 29), contents, strict=True))
    scan(empty, files)
    content_of = {number: files[path] for path, number in _ids(empty).items()}
    for _ in range(4):
        files = dict(zip(rng.sample(names, 29), contents, strict=True))
        gone = {path: content for path, content in files.items() if rng.random() < 0.8}
        scan(empty, gone)
        assert {number: gone[path] for path, number in _ids(empty).items()}.items() <= content_of.items()
    scan(empty, files)
    assert {number: files[path] for path, number in _ids(empty).items()} == content_of


def test_unread_files_are_neither_new_nor_missing(empty, scan):
    scan(empty, {b"1": 1})
    changes = empty.photos.reconcile([b"1", b"2"])
    assert (_kinds(changes), changes.n_same, changes.n_unread) == ({}, 1, 1)


def test_files_to_read(empty, scan):
    scan(empty, {b"1": 1, b"2": 2})
    stamps = [(2, 5, 7, 0), (3, 6, 7, 0), (1, 1, 1, 0), None, (2, 5, 7, 9)]
    assert empty.photos.changed_files([b"1", b"2", b"3", b"1", b"1"], stamps) == [1, 2, 3, 4]


def test_files_without_content_go_by_their_path(empty):
    bad = [PhotoRecord(name, Verdict.DAMAGED, "why", "", FileStamp(0, 1)) for name in (b"x", b"y")]
    with empty.cache() as cache:
        cache.record(bad)
    assert _kinds(empty.photos.reconcile([b"x", b"y"])) == {"new": [1, 2]}
    assert _kinds(empty.photos.reconcile([b"y"])) == {"missing": [1]}
    assert empty.photos.table().verdicts[0] == str(Verdict.DAMAGED)
    assert empty.photos.duplicates() == []


def test_times(store, scan):
    assert store.photos.undated().tolist() == list(range(1, 13))
    store.photos.set_taken([1, 2], [1.5, float("nan")])
    assert store.photos.undated().tolist() == list(range(3, 13))
    np.testing.assert_array_equal(store.photos.table([1, 2, 3]).taken, [1.5, np.nan, np.nan])
    files = {f"{number:02d}.jpg".encode(): number for number in range(1, 13)}
    scan(store, {**files, b"01.jpg": 99})
    assert 1 in store.photos.undated()
    assert np.isnan(store.photos.table([1]).taken[0])
    with pytest.raises(InvalidInputError, match="a time for each of 2"):
        store.photos.set_taken([1, 2], [1.0])


def test_raw_and_jpeg(empty, scan):
    scan(empty, {b"a/1.CR2": 1, b"a/1.jpg": 2, b"b/1.JPG": 3, b"a/2.nef": 4, b"a/1.png": 5})
    ids = _ids(empty)
    assert empty.photos.raw_pairs().tolist() == [[ids[b"a/1.CR2"], ids[b"a/1.jpg"]]]


def test_counts(store, scan):
    store.decisions.decide([1, 1, 2], [1, 2, 1], 1)
    counts = store.photos.counts()
    assert (counts.present, counts.missing, counts.offline, counts.labeled) == (12, 0, 0, 2)
    scan(store, {b"01.jpg": 1})
    counts = store.photos.counts()
    assert (counts.present, counts.missing, counts.labeled) == (1, 11, 1)


def test_decisions_survive_a_missing_photo(store, scan):
    store.decisions.decide(5, 1, 1)
    scan(store, {b"01.jpg": 1})
    store.decisions.decide(5, 2, 1)
    scan(store, {b"elsewhere/05.jpg": 5})
    assert store.photos.find([b"elsewhere/05.jpg"]) == {b"elsewhere/05.jpg": 5}
    assert store.decisions.current(photo_ids=[5]).tag_ids.tolist() == [1, 2]


def test_an_offline_root_has_no_missing_photos(store):
    store.database.connection.execute("UPDATE roots SET online = 0")
    with pytest.raises(StoreError, match="offline"):
        store.photos.reconcile([])
    assert set(store.photos.table().states) == {"offline"}
    assert store.photos.counts().offline == 12


def test_a_store_without_a_root(tmp_path):
    with ProjectStore(tmp_path / "t") as store, pytest.raises(InvalidInputError, match="without a root"):
        store.photos.reconcile([])


def test_short_questions_are_answered_as_by_the_table(empty, scan):
    scan(empty, {b"1": 1, b"2": 2, b"3": 3})
    with empty.lock(), empty.cache() as cache:
        cache.record([PhotoRecord(b"2", Verdict.DAMAGED, "why", "", FileStamp(0, 1))])
    empty.photos.reconcile([b"1", b"2"])
    table = empty.photos.table(state="present")
    assert empty.photos.paths() == table.paths == [b"1", b"2"]
    assert empty.photos.unreadable() == [(b"2", "damaged")]
    assert [verdict for verdict in table.verdicts if verdict != "ok"] == ["damaged"]
    assert empty.photos.existing([3, 1, 9]) == {1, 3}
