import apsw
import numpy as np
import pytest

from tagloom.core.files import TEMPORARY_MARK
from tagloom.exceptions import StoreBusyError
from tagloom.store.lock import FolderLock
from tagloom.store.project import ProjectStore

KEY = "deep-v1-00"


def _features(store, start=0, n=3):
    with store.lock(), store.cache() as cache:
        hashes = [f"{number:064x}" for number in range(start, start + n)]
        cache.put(KEY, hashes, np.ones((n, 2), dtype=np.float32))
    return hashes


def _kinds(findings):
    return sorted(finding.kind for finding in findings)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM standing WHERE photo = 1",
        "UPDATE standing SET state = 1 - state WHERE photo = 2",
        "UPDATE standing SET origin = 2 WHERE photo = 2",
        "INSERT INTO standing VALUES (11, 4, 1, 0, 1)",
    ],
)
def test_standing_states_are_made_again_from_the_log(store, damage):
    store.decisions.decide([1, 2, 3], [1, 2, 3], [1, 0, 1])
    store.decisions.decide([1, 2], [1, 2], [0, 1])
    store.decisions.undo()
    assert store.check() == []
    good = store.decisions.labels_digest()
    store.database.connection.execute(damage)
    assert _kinds(store.check()) == ["states"]
    assert _kinds(store.repair()) == ["states"]
    assert store.check() == []
    assert store.decisions.labels_digest() == good


def test_a_log_that_was_tampered_with_is_reported(store):
    store.decisions.decide([1, 2], 1, 1)
    store.decisions.decide([1, 2], 1, 0)
    connection = store.database.connection
    connection.execute("DROP TRIGGER decisions_last")
    connection.execute("DELETE FROM decisions WHERE id = 3")
    findings = store.check()
    assert {"log", "schema"} <= set(_kinds(findings))
    assert not next(finding for finding in findings if finding.kind == "log").repairable


def test_references_to_nothing_are_reported(store):
    store.decisions.decide(1, 1, 1)
    connection = store.database.connection
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.execute("DELETE FROM photos WHERE id = 1")
    assert "reference" in _kinds(store.check())


@pytest.mark.parametrize(
    ("damage", "start", "seen_without_checksums"),
    [("flip", 0, True), ("flip", 200, False), ("cut", 200, True), ("delete", 200, True)],
    ids=["flipped in use", "flipped of no photo", "cut", "deleted"],
)
def test_damaged_shards(store, damage, start, seen_without_checksums):
    first = _features(store, start)
    second = _features(store, 100)
    assert store.check(checksums=True) == []
    ((file,),) = store.database.read("SELECT file FROM shards WHERE id = 1")
    path = store.folder / "features" / KEY / file
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    if damage == "delete":
        path.unlink()
    else:
        path.write_bytes(data if damage == "flip" else data[:-1])
    assert _kinds(store.check()) == (["shard"] if seen_without_checksums else [])
    assert _kinds(store.check(checksums=True)) == ["shard"]
    assert "shard" in _kinds(store.repair())
    assert store.check(checksums=True) == []
    with store.lock(), store.cache() as cache:
        assert not cache.has(KEY, first).any()
        assert cache.has(KEY, second).all()


def test_leftovers_are_found_and_removed_but_never_of_a_process_at_work(store):
    _features(store)
    left = [
        store.folder / "features" / KEY / f"{'a' * 32}.safetensors",
        store.folder / f"README.txt{TEMPORARY_MARK}1-2",
        store.folder / "suggestions" / f"{'b' * 32}.safetensors",
        store.folder / "written" / ("c" * 64),
    ]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    scratch = store.folder / "written" / "scratch-0a_b"
    scratch.mkdir()
    (scratch / "copy.jpg").write_bytes(b"x")
    (store.folder / "mine.txt").write_bytes(b"not tagloom's")
    with FolderLock(store.folder):
        assert store.check() == []
        with pytest.raises(StoreBusyError):
            store.repair()
    assert _kinds(store.check()) == ["orphan", "orphan", "orphan", "temporary", "temporary"]
    assert len(store.repair()) == 5
    assert not any(path.exists() for path in [*left, scratch])
    assert (store.folder / "mine.txt").exists()
    assert store.check(checksums=True) == []


def test_damaged_models_and_suggestions_are_forgotten(store):
    store.models.save({"x": np.ones(3)}, {}, features=[], labels_digest="", settings={})
    store.suggestions.save([1], [1], np.ones((1, 1)))
    for folder in ("models", "suggestions"):
        (path,) = (store.folder / folder).iterdir()
        path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    assert _kinds(store.check()) == ["model", "suggestions"]
    assert _kinds(store.check(checksums=True)) == ["model", "suggestions"]
    assert _kinds(store.repair()) == ["model", "orphan", "orphan", "suggestions"]
    assert store.check(checksums=True) == []
    assert store.models.active() is None
    assert store.suggestions.load() is None


def test_a_damaged_database_is_reported(tmp_path):
    with ProjectStore(tmp_path / "t", tmp_path) as store:
        store.tags.add([f"tag {number}" for number in range(2000)])
    path = tmp_path / "t" / "tagloom.sqlite"
    connection = apsw.Connection(str(path))
    ((page,),) = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_tags_1'"
    ).fetchall()
    size = connection.pragma("page_size")
    connection.close()
    data = bytearray(path.read_bytes())
    data[(page - 1) * size : page * size] = b"\x07" * size
    path.write_bytes(data)
    with ProjectStore(tmp_path / "t") as store:
        findings = store.check()
        assert _kinds(findings)[0] == "database"
        assert not findings[0].repairable
