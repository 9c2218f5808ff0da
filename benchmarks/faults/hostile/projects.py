"""Project folders as a stranger could have made them. Each case spoils a copy of a good project."""

import contextlib
import hashlib
import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np
from safetensors.numpy import load, save

from tagloom.metadata.file_changes import REMOVED
from tagloom.metadata.write_journal import fingerprint

STORE = ".tagloom"
DATABASE = "tagloom.sqlite"
N_FLIPPED = 24
LARGE = 20_000_000
TRUNCATED = "truncated"
WAYS_OUT, ARRAYS, UNTOUCHED = "ways out", "arrays", "untouched"
WHOLE = (TRUNCATED, WAYS_OUT, ARRAYS, UNTOUCHED)  # families of which every case is tried


@dataclass(frozen=True, slots=True)
class Case:
    """A way to spoil something: family and name for the report, and a function of the folder and the victim's home.

    ``is_untouched`` says that it is a project in which nothing is labelled, with suggestions by the names of tags.
    """

    family: str
    name: str
    spoil: Callable[[Path, Path], None]
    is_untouched: bool = False


def cases(template: Path) -> list[Case]:
    """Return all cases for a good project; names of its files and tables are read from it."""
    return [
        *_links(template),
        *_stored_names(),
        *_stored_paths(),
        *_schemas(template),
        *_triggers(),
        *_large_values(),
        *_versions(),
        *_truncated(template),
        *_flipped(template),
        *_settings(),
        *_kinds_of_files(template),
        *_odd_kinds(template),
        *_ways_out(),
        *_arrays(),
        *_untouched(),
    ]


def _entries(template: Path) -> list[str]:
    """Return what lies in the project folder, relative to it: folders, and two files of each."""
    store = template / STORE
    found = []
    for folder, folders, files in os.walk(store):
        folders.sort()
        inside = os.path.relpath(folder, store)
        found += [os.path.normpath(os.path.join(inside, name)) for name in (*folders, *sorted(files)[:6])]
    return sorted(set(found))


def _replace(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)


def _links(template: Path) -> Iterator[Case]:
    extra = [f"{DATABASE}-wal", f"{DATABASE}-journal", "thumbnails.sqlite-wal", "tagloom.toml", ".gitignore", "backups"]
    for entry in dict.fromkeys([*_entries(template), *extra]):

        def to_victim(folder: Path, home: Path, entry: str = entry) -> None:
            path = folder / STORE / entry
            target = home / ("folder" if path.is_dir() or entry == "backups" else ".profile")
            _replace(path)
            path.symlink_to(target)

        def to_nothing(folder: Path, home: Path, entry: str = entry) -> None:
            path = folder / STORE / entry
            _replace(path)
            path.symlink_to(home / "made-by-tagloom")

        def hard(folder: Path, home: Path, entry: str = entry) -> None:
            path = folder / STORE / entry
            if path.is_dir():
                return
            _replace(path)
            os.link(home / ".profile", path)

        yield Case("links", f"{entry} leads to a file or folder of the victim", to_victim)
        yield Case("links", f"{entry} leads to a name that does not exist", to_nothing)
        if not (template / STORE / entry).is_dir() and entry != "backups":
            yield Case("links", f"{entry} is a hard link to a file of the victim", hard)

    def whole(folder: Path, home: Path) -> None:
        shutil.copytree(folder / STORE, home / "folder" / "store")
        _replace(folder / STORE)
        (folder / STORE).symlink_to(home / "folder" / "store")

    yield Case("links", "the project folder itself is a link", whole)


def _sql(*statements: str, values: tuple[object, ...] = ()) -> Callable[[Path, Path], None]:
    def spoil(folder: Path, home: Path) -> None:
        connection = apsw.Connection(str(folder / STORE / DATABASE))
        connection.execute("PRAGMA foreign_keys = OFF")
        for statement in statements:
            bound = [str(value).replace("HOME", str(home)) if isinstance(value, str) else value for value in values]
            connection.execute(statement, bound if "?" in statement else None)
        connection.close()

    return spoil


HOSTILE_NAMES = (
    "HOME/.profile",
    "HOME/folder/victim.safetensors",
    "../../../home/.profile",
    "../features",
    "",
    ".",
    "..",
    "a/b.safetensors",
    "x" * 5000,
    "new\nline.safetensors",
    "-rf",
    "tagloom.sqlite",
    "../tagloom.sqlite",
    "nul\0byte.safetensors",
    "00000000000000000000000000000000.exe",
)


def _stored_names() -> Iterator[Case]:
    for table in ("models", "suggestions", "shards"):
        for number, name in enumerate(HOSTILE_NAMES):
            statement = f"UPDATE {table} SET file = ? WHERE id = (SELECT max(id) FROM {table})"
            yield Case("stored file names", f"{table}.file, name {number}", _sql(statement, values=(name,)))
    for name in ("HOME/.profile", "../../../home/.profile", "x" * 64):
        statement = "UPDATE contents SET digest = ? WHERE digest = (SELECT min(digest) FROM contents)"
        yield Case("stored file names", f"contents.digest {name[:20]}", _sql(statement, values=(name,)))


def _stored_paths() -> Iterator[Case]:
    hostile = (
        "HOME/.profile",
        "HOME/.profile.xmp",
        "../../home/.profile",
        "../home/folder/new.xmp",
        "",
        ".",
        "a\0b",
        ".tagloom/tagloom.sqlite",
        "link-to-home/.profile",
    )
    for table, key in (("photos", "id"), ("files", "path"), ("attempts", "path"), ("written", "id")):
        for number, name in enumerate(hostile):

            def spoil(folder: Path, home: Path, table: str = table, key: str = key, name: str = name) -> None:
                if name.startswith("link-to-home"):
                    (folder / "link-to-home").symlink_to(home)
                text = name.replace("HOME", str(home)).encode()
                connection = apsw.Connection(str(folder / STORE / DATABASE))
                connection.execute("PRAGMA foreign_keys = OFF")
                connection.execute(
                    f"UPDATE OR IGNORE {table} SET path = ? WHERE {key} = (SELECT max({key}) FROM {table})",
                    (text,),
                )
                if table == "written":
                    # As an undo would need it: the file is as tagloom says that it left it, and was something else.
                    data, path = b"owned", os.path.join(folder, os.fsdecode(text).replace("\0", ""))
                    after = fingerprint(Path(path).read_bytes()) if os.path.isfile(path) else REMOVED
                    digest = fingerprint(data)
                    connection.execute("INSERT OR IGNORE INTO contents(digest, data) VALUES (?, ?)", (digest, data))
                    connection.execute(
                        "UPDATE written SET state = 'done', before = ?, after = ? WHERE path = ?", (digest, after, text)
                    )
                connection.close()

            yield Case("stored paths", f"{table}.path, path {number}", spoil)

    def roots(path: str) -> Callable[[Path, Path], None]:
        def spoil(folder: Path, home: Path) -> None:
            connection = apsw.Connection(str(folder / STORE / DATABASE))
            connection.execute("UPDATE roots SET path = ?, beside = NULL", (path.replace("HOME", str(home)).encode(),))
            connection.close()

        return spoil

    for path in ("HOME", "HOME/folder", "/", "", "relative", "HOME/.profile"):
        yield Case("stored paths", f"roots.path {path}", roots(path))
    for beside in (b"..", b"../..", b"../../home", b"/"):
        yield Case(
            "stored paths", f"roots.beside {beside.decode()}", _sql("UPDATE roots SET beside = ?", values=(beside,))
        )


def _tables(template: Path) -> list[str]:
    connection = apsw.Connection(str(template / STORE / DATABASE))
    rows = list(connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"))
    connection.close()
    return [str(name) for (name,) in rows if not str(name).startswith("sqlite_")]


def _schemas(template: Path) -> Iterator[Case]:
    for table in _tables(template):
        yield Case("schemas", f"no table {table}", _sql(f"DROP TABLE {table}"))
        view = f"CREATE VIEW {table} AS SELECT * FROM old_{table}"
        renamed = _sql("PRAGMA legacy_alter_table = ON", f"ALTER TABLE {table} RENAME TO old_{table}", view)
        yield Case("schemas", f"{table} is a view", renamed)
    endless = (
        "CREATE VIEW {0} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS {1} FROM n"
    )
    for table, column in (("settings", "key, i AS value"), ("tags", "id, i AS text, i AS created, NULL AS merged")):
        yield Case("schemas", f"{table} is an endless view", _sql(f"DROP TABLE {table}", endless.format(table, column)))
    yield Case("schemas", "a column is missing", _sql("ALTER TABLE models DROP COLUMN settings"))
    yield Case("schemas", "a column more", _sql("ALTER TABLE tags ADD COLUMN payload TEXT DEFAULT 'x'"))
    generated = "ALTER TABLE tags ADD COLUMN boom TEXT GENERATED ALWAYS AS (zeroblob(1000000000)) VIRTUAL"
    yield Case("schemas", "a generated column that is huge", _sql(generated))


def _triggers() -> Iterator[Case]:
    for table, event, action in (
        ("decisions", "AFTER INSERT", "DELETE FROM standing"),
        ("decisions", "BEFORE INSERT", "SELECT RAISE(IGNORE)"),
        ("decisions", "AFTER INSERT", "UPDATE standing SET state = 1 - state"),
        ("batches", "BEFORE INSERT", "SELECT RAISE(IGNORE)"),
        ("standing", "BEFORE INSERT", "SELECT RAISE(IGNORE)"),
        ("standing", "AFTER DELETE", "INSERT INTO standing VALUES (1, 1, 1, 0, NULL)"),
        ("tags", "AFTER INSERT", "UPDATE tags SET text = text || 'x'"),
        ("photos", "AFTER UPDATE", "DELETE FROM decisions"),
        ("settings", "AFTER INSERT", "DELETE FROM tags"),
        ("written", "BEFORE INSERT", "SELECT RAISE(IGNORE)"),
        ("models", "AFTER INSERT", "UPDATE models SET file = '../../../home/.profile'"),
        ("runs", "AFTER INSERT", "SELECT zeroblob(900000000)"),
    ):
        made = f"CREATE TRIGGER harm {event} ON {table} BEGIN {action}; END"
        # The stored schema is edited, as a stranger would where a statement is not allowed.
        yield Case("triggers", f"{event} on {table}: {action[:40]}", _sql(made))
    for name in ("decisions_stay", "decisions_last", "batches_stay", "batches_last"):
        yield Case("triggers", f"without {name}", _sql(f"DROP TRIGGER {name}"))


def _large_values() -> Iterator[Case]:
    large = "x" * LARGE
    for name, statement in (
        ("a tag", "UPDATE tags SET text = ? WHERE id = 1"),
        ("an alias", "INSERT INTO aliases VALUES (?, 1)"),
        ("a setting", "INSERT OR REPLACE INTO settings VALUES ('raw_alone', ?)"),
        ("the settings of a model", "UPDATE models SET settings = ?"),
        ("the features of a model", "UPDATE models SET features = ?"),
        ("the settings of a run", "UPDATE runs SET settings = ?"),
        ("the result of a run", "UPDATE runs SET result = ?"),
        ("the note of a written file", "UPDATE written SET note = ?"),
        ("a verdict", "UPDATE photos SET verdict = ?"),
        ("the key of a feature set", "UPDATE feature_sets SET key = ? WHERE id = 1"),
    ):
        yield Case("large and odd values", f"{name} of {LARGE // 1_000_000} MB", _sql(statement, values=(large,)))
    deep = "[" * 100_000 + "]" * 100_000
    for name, text in (("not JSON", "{"), ("deep JSON", deep), ("a huge number", "1" + "0" * 5000), ("NaN", "NaN")):
        for statement in (
            "UPDATE settings SET value = ?",
            "UPDATE models SET settings = ?",
            "UPDATE models SET features = ?",
            "UPDATE runs SET result = ?",
        ):
            yield Case("large and odd values", f"{name}: {statement[7:30]}", _sql(statement, values=(text,)))
    for statement in (
        "UPDATE shards SET n_rows = 1000000000000",
        "UPDATE shards SET n_columns = -1",
        "UPDATE feature_rows SET position = 1000000000",
        "UPDATE feature_rows SET position = -5",
        "UPDATE feature_sets SET n_columns = 2000000000",
        "UPDATE photos SET width = 2000000000, height = 2000000000",
        "UPDATE photos SET id = 9223372036854775807 WHERE id = (SELECT max(id) FROM photos)",
        "UPDATE models SET n_bytes = -1",
        "UPDATE suggestions SET n_photos = 1000000000000",
        "UPDATE batches SET n = 1000000000000",
        "UPDATE tags SET merged = id",
        "UPDATE tags SET merged = -1",
        "UPDATE models SET n_bytes = 4611686018427387904",
        "UPDATE tags SET merged = CASE id WHEN 1 THEN 2 WHEN 2 THEN 1 END",
        "INSERT INTO implications VALUES (1, 2), (2, 1)",
        "UPDATE tags SET text = char(27) || ']0;owned' || char(7) WHERE id = 1",
        "UPDATE tags SET text = 'a' || char(10) || 'b' WHERE id = 2",
    ):
        drop = ("DROP TRIGGER batches_stay",) if "batches" in statement else ()
        yield Case("large and odd values", statement[:60], _sql(*drop, statement))

    def thumbnails(folder: Path, home: Path) -> None:  # noqa: ARG001
        connection = apsw.Connection(str(folder / STORE / "thumbnails.sqlite"))
        connection.execute("UPDATE thumbnails SET image = zeroblob(60000000)")
        connection.close()

    yield Case("large and odd values", "thumbnails of 60 MB", thumbnails)
    flood = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
        "INSERT INTO tags(text, created) SELECT 'tag ' || i, 0 FROM n"
    )
    yield Case("large and odd values", "200,000 tags", _sql(flood))


def _put_odd_kind(folder: Path, table: str, column: str, value: object) -> None:
    """Put a value into a column that does not take it: the schema is relaxed for it and then as it was."""
    path = str(folder / STORE / DATABASE)
    good: dict[str, str] = {}
    for step in ("relax", "put", "restore"):
        connection = apsw.Connection(path)
        if step == "put":
            connection.execute("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
        else:
            rows = list(connection.execute("SELECT name, sql FROM sqlite_schema WHERE tbl_name = ?", (table,)))
            good = good or {str(name): str(sql) for name, sql in rows if sql}
            connection.execute("PRAGMA writable_schema = ON")
            for name, sql in good.items():
                relaxed = re.sub(r"--[^\n]*|(?<!IS )NOT NULL| STRICT,?", "", sql).replace(
                    "BEFORE UPDATE", "BEFORE DELETE"
                )
                text = sql if step == "restore" else relaxed
                connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (text, name))
            ((number,),) = connection.execute("PRAGMA schema_version")
            connection.execute(f"PRAGMA schema_version = {int(number) + 1}")  # type: ignore[call-overload]
        connection.close()


def _odd_kinds(template: Path) -> Iterator[Case]:
    connection = apsw.Connection(str(template / STORE / DATABASE))
    columns = [
        (table, str(row[1])) for table in _tables(template) for row in connection.execute(f"PRAGMA table_info({table})")
    ]
    connection.close()
    values = (None, "text\x1b]0;owned\x07", b"\xff\xfe", 2**62, -1, 1e308)
    for number, (table, column) in enumerate(columns):
        value = values[number % len(values)]

        def spoil(folder: Path, home: Path, table: str = table, column: str = column, value: object = value) -> None:  # noqa: ARG001
            with contextlib.suppress(apsw.ConstraintError, apsw.MismatchError):  # a key takes no such value either way
                _put_odd_kind(folder, table, column, value)

        yield Case("values of other kinds", f"{table}.{column} is {value!r}", spoil)


def _versions() -> Iterator[Case]:
    for version in (0, 1, 2, 999_999, -1, 2**31 - 1):
        yield Case("versions", f"user_version {version}", _sql(f"PRAGMA user_version = {version}"))
    for application in (0, 1, -1):
        yield Case("versions", f"application_id {application}", _sql(f"PRAGMA application_id = {application}"))


def _cut(share: float) -> Callable[[Path, Path], None]:
    def spoil(folder: Path, home: Path) -> None:  # noqa: ARG001
        path = folder / STORE / DATABASE
        size = path.stat().st_size
        os.truncate(path, int(size * share) // 4096 * 4096)

    return spoil


def _truncated(template: Path) -> Iterator[Case]:
    n_pages = (template / STORE / DATABASE).stat().st_size // 4096
    for page in range(n_pages):
        yield Case(TRUNCATED, f"cut after page {page} of {n_pages}", _cut(page / n_pages + 1e-9))


def _flipped(template: Path) -> Iterator[Case]:
    size = (template / STORE / DATABASE).stat().st_size
    for seed in range(N_FLIPPED):

        def spoil(folder: Path, home: Path, seed: int = seed) -> None:  # noqa: ARG001
            rng = random.Random(seed)
            with (folder / STORE / DATABASE).open("r+b") as file:
                for _ in range(1 + seed):
                    file.seek(rng.randrange(size))
                    file.write(bytes([rng.randrange(256)]))

        yield Case("flipped bytes", f"{1 + seed} bytes flipped", spoil)


def _settings() -> Iterator[Case]:
    for name, text in (
        ("not TOML", "= ["),
        ("huge resize", "resize = 1000000"),
        ("many workers", "n_workers = 100000"),
        ("no deadline", "deadline = 1e308"),
        ("an encoder outside", 'encoder = "HOME/.profile"'),
        ("an encoder that is a FIFO", 'encoder = "pipe.toml"'),
        ("unknown key", "no_such_setting = 1"),
        ("a wrong type", 'n_neighbors = "many"'),
        ("20 MB", "# " + "x" * LARGE),
        ("not UTF-8", "\udcff"),
        ("deep", "a = " + "[" * 20_000),
    ):

        def spoil(folder: Path, home: Path, text: str = text) -> None:
            os.mkfifo(folder / "pipe.toml")
            content = text.replace("HOME", str(home)).encode(errors="surrogateescape")
            for place in (folder, folder / STORE):
                (place / "tagloom.toml").write_bytes(content)

        yield Case("settings", name, spoil)


def _kinds_of_files(template: Path) -> Iterator[Case]:
    for entry in _entries(template):

        def pipe(folder: Path, home: Path, entry: str = entry) -> None:  # noqa: ARG001
            _replace(folder / STORE / entry)
            os.mkfifo(folder / STORE / entry)

        def other(folder: Path, home: Path, entry: str = entry) -> None:  # noqa: ARG001
            path = folder / STORE / entry
            was_folder = path.is_dir()
            _replace(path)
            if was_folder:
                path.write_bytes(b"not a folder")
            else:
                path.mkdir()

        def empty(folder: Path, home: Path, entry: str = entry) -> None:  # noqa: ARG001
            path = folder / STORE / entry
            is_folder = path.is_dir()
            _replace(path)
            if is_folder:
                path.mkdir()
            else:
                path.touch()

        yield Case("kinds of files", f"{entry} is a FIFO", pipe)
        yield Case("kinds of files", f"{entry}: a folder for a file, or a file for a folder", other)
        yield Case("kinds of files", f"{entry} is empty", empty)
    for end in ("-journal", "-wal", "-shm"):

        def beside(folder: Path, home: Path, end: str = end) -> None:  # noqa: ARG001
            for path in list((folder / STORE / "backups").glob("*.sqlite")):
                os.mkfifo(f"{path}{end}")

        yield Case("kinds of files", f"a FIFO beside backups, {end}", beside)


def _ways_out() -> Iterator[Case]:
    """Yield links among the photos, named as people name results; the victim's file is entered as tagloom's own."""
    for name, target in (
        ("keywords.csv", ".profile"),
        ("report.html", ".profile"),
        ("out", "."),
        ("keywords.csv", "empty"),
        ("keywords.csv", "new"),
    ):

        def spoil(folder: Path, home: Path, name: str = name, target: str = target) -> None:
            place = home / target if target == ".profile" else home / "folder" / "store" / target
            if target == "empty":
                place.parent.mkdir()
                place.touch()
            (folder / name).symlink_to(place if target != "." else home)
            digest = hashlib.blake2b(place.read_bytes() if place.is_file() else b"", digest_size=16).hexdigest()
            made = json.dumps([[os.path.realpath(place), [digest]]])
            _sql("INSERT OR REPLACE INTO settings VALUES ('made_files', ?)", values=(made,))(folder, home)

        yield Case(WAYS_OUT, f"{name} leads to {target}", spoil)


Arrays = dict[str, np.ndarray]


def _change_arrays(table: str, change: Callable[[Arrays], object]) -> Callable[[Path, Path], None]:
    """Return what changes registered files of arrays, and enters their new sizes and checksums."""

    def spoil(folder: Path, home: Path) -> None:  # noqa: ARG001
        connection = apsw.Connection(str(folder / STORE / DATABASE))
        for number, file in list(connection.execute(f"SELECT id, file FROM {table}")):
            (path,) = (folder / STORE).rglob(str(file))
            data = path.read_bytes()
            header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
            arrays = {name: np.array(values) for name, values in load(data).items()}
            change(arrays)
            data = save(arrays, metadata=header["__metadata__"])
            path.write_bytes(data)
            digest = hashlib.blake2b(data, digest_size=16).hexdigest()
            sql = f"UPDATE {table} SET n_bytes = ?, checksum = ? WHERE id = ?"
            connection.execute(sql, (len(data), digest, number))
        connection.close()

    return spoil


def _fill(value: float, *names: str) -> Callable[[Arrays], object]:
    """Return what puts a value everywhere in the arrays of some names, or in those of floats where none is named."""

    def change(arrays: Arrays) -> None:
        for name, values in arrays.items():
            if name in names or (not names and values.dtype.kind == "f"):
                values[...] = value

    return change


def _arrays() -> Iterator[Case]:
    for value in (float("nan"), 3e38):
        yield Case(ARRAYS, f"features are {value}", _change_arrays("shards", _fill(value)))
        yield Case(ARRAYS, f"scores are {value}", _change_arrays("suggestions", _fill(value, "scores")))
        yield Case(ARRAYS, f"coefficients are {value}", _change_arrays("models", _fill(value)))
    for name, number in (("photo_ids", -1), ("tag_ids", 2**62), ("tag_ids", 1)):
        yield Case(ARRAYS, f"{name} are {number}", _change_arrays("suggestions", _fill(number, name)))


def _untouched() -> Iterator[Case]:
    def one(name: str, spoil: Callable[[Path, Path], None]) -> Case:
        return Case(UNTOUCHED, name, spoil, is_untouched=True)

    yield one("classes are NaN", _change_arrays("shards", _fill(float("nan"))))
    yield one("classes are 3e38", _change_arrays("shards", _fill(3e38)))
    yield one("classes are below 0", _change_arrays("shards", _fill(-1.0)))
    yield one("the model of names is NaN", _change_arrays("models", _fill(float("nan"))))
    flood = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) ",
        "INSERT INTO tags(text, created) SELECT 'dog ' || i, 0 FROM n",
        "INSERT INTO aliases SELECT 'cat ' || id, id FROM tags WHERE text LIKE 'dog %'",
    )
    yield one("20,000 tags with other names", _sql(flood[0] + flood[1], flood[2]))
    long = "UPDATE tags SET text = substr(replace(hex(zeroblob(5000)), '00', 'dog cat '), 1, 9000) || id"
    yield one("tags of 9,000 characters", _sql(long))
    offered = "INSERT OR REPLACE INTO settings VALUES ('offered_tags', ?)"
    for value in ({"tags": [2**70, -1, "x", 1, 1], "to_train": "yes"}, [[1]], {"tags": list(range(100_000))}):
        text = json.dumps(value)
        yield one(f"offered tags are {text[:40]}", _sql(offered, values=(text,)))
