import pytest

from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.writes import MAX_INLINE, Intent, content_digest

BIG = b"\xff\x00" * MAX_INLINE


def _write(store, files):
    """Write ``{path: new bytes}`` as a caller does, and return batch and entries."""
    batch = store.writes.begin("keywords")
    befores = {path: path.read_bytes() if path.exists() else None for path in files}
    intents = [Intent(bytes(path), befores[path], content_digest(data)) for path, data in files.items()]
    ids = store.writes.intend(batch, intents)
    for path, data in files.items():
        path.write_bytes(data)
    store.writes.done(ids)
    return batch, ids


def test_everything_can_be_put_back(store, tmp_path):
    small, big, new = tmp_path / "small.xmp", tmp_path / "big.jpg", tmp_path / "new.xmp"
    small.write_bytes(b"old")
    big.write_bytes(BIG)
    batch, ids = _write(store, {small: b"1", big: b"2", new: b"3"})
    assert [store.writes.before(number) for number in ids] == [b"old", BIG, None]
    assert [entry.state for entry in store.writes.entries(batch=batch)] == ["done"] * 3
    assert [path.name for path in (store.folder / "written").iterdir()] == [content_digest(BIG)]
    assert store.decisions.undoable().kind == "write"
    with pytest.raises(InvalidInputError, match="3 files of action 1 are not put back"):
        store.decisions.undo()
    store.writes.undone(ids)
    assert store.decisions.undo().id == batch
    with pytest.raises(InvalidInputError, match="not written again"):
        store.decisions.redo()
    store.writes.done(ids)
    assert store.decisions.redo().id == batch
    assert store.check(checksums=True) == []


def test_what_a_kill_leaves_is_listed(store):
    batch = store.writes.begin()
    (number,) = store.writes.intend(
        batch, [Intent(b"/a/\xff.xmp", b"old", content_digest(b"new"), photo=3, note="ours")]
    )
    (entry,) = store.writes.pending()
    assert (entry.id, entry.path, entry.photo, entry.note) == (number, b"/a/\xff.xmp", 3, "ours")
    assert (entry.before, entry.after) == (content_digest(b"old"), content_digest(b"new"))
    assert [finding.kind for finding in store.check()] == ["write"]
    store.writes.done([number])
    assert store.writes.pending() == []
    assert [item.id for item in store.writes.entries(path=b"/a/\xff.xmp", state="done")] == [number]


def test_kept_content_is_stored_once_and_checked(store, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(BIG)
    _, (first,) = _write(store, {path: b"1"})
    path.write_bytes(BIG)
    _, (second,) = _write(store, {path: b"1"})
    kept = store.folder / "written" / content_digest(BIG)
    assert store.writes.before(first) == store.writes.before(second) == BIG
    kept.write_bytes(BIG[:-1])
    with pytest.raises(DamagedStoreError, match="not put back"):
        store.writes.before(first)
    path.write_bytes(BIG)
    _write(store, {path: b"1"})
    assert store.writes.before(first) == BIG
    kept.unlink()
    with pytest.raises(DamagedStoreError, match="cannot be read"):
        store.writes.before(first)
    assert [finding.kind for finding in store.check()] == ["kept"]
    with pytest.raises(InvalidInputError, match="no write"):
        store.writes.before(99)
