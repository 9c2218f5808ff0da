"""A database made by a stranger: what is not as tagloom makes it is refused in one line, before anything of it runs."""

import apsw
import numpy as np
import pytest

from tagloom.exceptions import DamagedStoreError, StoreError
from tagloom.store.project import ProjectStore

pytestmark = pytest.mark.medium

SWALLOW = "CREATE TRIGGER swallow AFTER INSERT ON decisions BEGIN DELETE FROM standing; END"
SCRIPTS = {
    "a trigger": SWALLOW,
    "a trigger that replaces ours": f"DROP TRIGGER decisions_stay; {SWALLOW.replace('swallow', 'decisions_stay')}",
    "no trigger": "DROP TRIGGER decisions_last",
    "no table": "DROP TABLE standing",
    "a view": "DROP TABLE standing; CREATE VIEW standing AS SELECT 1 AS photo, 1 AS tag, 1 AS state, 1 AS origin",
    "another table": "CREATE TABLE extra(x)",
    "another column": "ALTER TABLE tags ADD COLUMN extra TEXT",
    "an index with a function": "CREATE INDEX extra ON tags(upper(text))",
    "no format": "PRAGMA user_version = 0",
    "a negative format": "PRAGMA user_version = -5",
}


def _change(store, script):
    path = store.folder / "tagloom.sqlite"
    store.close()
    connection = apsw.Connection(str(path))
    connection.execute(script)
    connection.close()
    return path


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_another_schema_is_refused_in_one_line(store, script):
    path = _change(store, script)
    before = path.read_bytes()
    with pytest.raises(DamagedStoreError, match=r"damaged \(.*tagloom restore") as refused:
        ProjectStore(store.folder)
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == before


def test_what_analyze_leaves_is_no_harm(store):
    _change(store, "ANALYZE")
    ProjectStore(store.folder).close()


def test_nothing_of_the_schema_is_trusted(store):
    connection = store.database.connection
    assert connection.pragma("trusted_schema") == 0
    assert connection.pragma("cell_size_check") == 1
    assert connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1
    assert connection.limit(apsw.SQLITE_LIMIT_LENGTH) <= 64 << 20


def test_a_trigger_that_comes_while_the_project_is_open_is_seen_by_check(store):
    other = apsw.Connection(str(store.folder / "tagloom.sqlite"))
    other.execute(SWALLOW)
    other.close()
    (found,) = [item for item in store.check() if item.kind == "schema"]
    assert "'swallow'" in found.detail


def test_a_value_of_100_mb_is_an_error_of_one_line(store):
    _change(store, "UPDATE tags SET text = replace(hex(zeroblob(50000000)), '0', 'x') WHERE id = 1")
    with ProjectStore(store.folder) as opened, pytest.raises(StoreError) as refused:
        opened.tags.all()
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("value", ["{", "[" * 100_000, "nul"])
def test_settings_that_are_no_json_are_an_error_of_one_line(store, value):
    store.database.connection.execute("INSERT INTO settings VALUES ('threshold', ?)", (value,))
    for ask in (lambda: store.settings.get("threshold"), store.settings.all):
        with pytest.raises(DamagedStoreError, match="'threshold'"):
            ask()


def test_a_setting_of_another_type_is_an_error_of_one_line(store):
    store.settings.set("learnt", [[1, 2, 3]])
    assert store.settings.get("learnt") == [[1, 2, 3]]
    with pytest.raises(DamagedStoreError, match="expected dict, got list"):
        store.settings.get("learnt", {})


def test_a_root_that_is_no_number_is_an_error_of_one_line(store):
    store.database.connection.execute("INSERT OR REPLACE INTO settings VALUES ('own_root', 'x')")
    store.close()
    with pytest.raises(DamagedStoreError, match="own_root"):
        ProjectStore(store.folder)


@pytest.mark.parametrize("text", ["{", "[]", "null", "3"])
def test_runs_and_models_that_are_no_mappings_are_an_error_of_one_line(store, text):
    run = store.runs.start("train", {})
    store.models.save({}, {}, features={}, labels_digest="", settings={}, run=run)
    store.database.connection.execute("UPDATE runs SET settings = ?1; UPDATE models SET settings = ?1", (text, text))
    for ask in (store.runs.all, store.models.all):
        with pytest.raises(DamagedStoreError, match="in the database"):
            ask()


def test_a_damaged_database_is_neither_repaired_nor_swept(store):
    """What it does not say may only be unreadable: every file would pass for an orphan."""
    store.models.save({}, {}, features={}, labels_digest="", settings={})
    store.decisions.decide(list(range(1, 13)), 1, 1)
    path = store.folder / "tagloom.sqlite"
    store.close()
    connection = apsw.Connection(str(path))
    ((page,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_models_1'")
    size = connection.pragma("page_size")
    connection.close()
    data = bytearray(path.read_bytes())
    data[(page - 1) * size + 8 : page * size] = bytes(size - 8)
    path.write_bytes(data)
    before = sorted(item for item in store.folder.rglob("*.safetensors"))
    with ProjectStore(store.folder) as opened, pytest.raises(DamagedStoreError, match="tagloom restore"):
        opened.repair()
    assert sorted(item for item in store.folder.rglob("*.safetensors")) == before


def test_text_that_is_not_utf8_is_an_error_of_one_line(store):
    store.database.connection.execute("UPDATE tags SET text = CAST(x'ff80' AS TEXT) WHERE id = 1")
    with pytest.raises(DamagedStoreError, match="damaged"):
        store.tags.all()


@pytest.mark.parametrize(
    "sql",
    ["UPDATE shards SET set_id = 2", "UPDATE files SET verdict = 'x'", "UPDATE feature_rows SET position = 99"],
)
def test_registers_that_do_not_fit_are_errors_of_one_line(store, sql):
    hashes = [f"{number:064x}" for number in range(1, 4)]
    with store.cache() as cache:
        for key in ("one", "two"):
            cache.put(key, hashes, np.zeros((3, 2), np.float32))
        store.database.connection.execute(sql)
        ask = (lambda: cache.known([b"01.jpg"])) if "files" in sql else (lambda: cache.get("one", hashes))
        with pytest.raises(DamagedStoreError):
            ask()


@pytest.mark.parametrize("n_bytes", [2**62, 2**63 - 1, -1])
def test_a_size_that_no_file_has_takes_no_memory(store, n_bytes):
    store.models.save({"w": np.ones(2)}, {}, features={}, labels_digest="", settings={})
    with store.database.write() as connection:
        connection.execute("UPDATE models SET n_bytes = ?", (n_bytes,))
    with pytest.raises(DamagedStoreError, match="content that was written"):
        store.models.load()


def test_a_verdict_without_end_is_cut(store):
    store.database.connection.execute("UPDATE photos SET verdict = ?", ("x" * 1_000_000,))
    assert {len(each) for each in store.photos.table().verdicts} == {64}
    assert {len(verdict) for _, verdict in store.photos.unreadable()} == {64}
    assert {len(verdict) for _, verdict, _ in store.photos.problems()} == {64}
