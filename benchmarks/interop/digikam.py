"""digiKam: it scans a collection by itself, and writes sidecars when its menu is asked to, over D-Bus.

No interface of digiKam assigns tags without a person at the screen. So its tags are set in its database while it is
closed; reading and writing files is digiKam's own work.
"""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.interop.cases import Keywords, Path_, normal
from benchmarks.interop.desktop import missing, screen, started

DEADLINE = 90.0
TRIES = 3  # it now and then stops while it is asked to write
STILL = 4.0  # seconds without a change of its database after which a scan is taken to be done
_INTERNAL = ("_Digikam_Internal_Tags_", "People")
_CONFIG = """[General Settings]
Version=7.9.0
[Album Settings]
Scan At Start=true
[Database Settings]
Database Type=QSQLITE
Database Name={0}/db
Database Name Thumbnails={0}/db
Database Name Face={0}/db
Database Name Similarity={0}/db
Internal Database Server=false
[Metadata Settings]
Use XMP Sidecar For Reading=true
Use Compatible File Name=false
Metadata Writing Mode=1
Rescan File If Modified=true
Save Tags=true
Use Lazy Synchronization=false
"""
_CANCEL, _COLLECTION = ("879", "530"), ("87", "120")  # where a question at the start and the first album are


class Digikam:
    """digiKam on photos and the sidecars beside them."""

    name = "digikam"

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch

    def why_not(self) -> str:
        """Return why it cannot be used; empty if it can."""
        return missing("digikam", "Xvfb", "dbus-daemon", "gdbus", "xdotool")

    def version(self) -> str:
        """Return its version."""
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
        done = subprocess.run(["digikam", "--version"], env=environment, capture_output=True, text=True, check=False)
        return done.stdout.split()[-1] if done.stdout.split() else ""

    def read(self, folder: Path, names: Iterable[str]) -> Keywords:
        """Return the tags that digiKam gives to photos when it scans them."""
        home = self._scanned(folder, list(names))
        return _tags(home / "db" / "digikam4.db", names)

    def change(self, folder: Path, names: Iterable[str], add: Keywords, remove: Keywords) -> None:
        """Let digiKam scan photos, change their tags, and let it write all its sidecars."""
        names = list(names)
        home = self._scanned(folder, names)
        database = home / "db" / "digikam4.db"
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            for name, several in add.items():
                # In a fixed order: it decides whether digiKam holds a root tag beside a level of its name.
                for keyword in sorted(several, key=lambda path: (len(path), path)):
                    connection.execute(
                        "INSERT OR IGNORE INTO ImageTags(imageid, tagid) VALUES (?, ?)",
                        (_image(connection, name), _tag(connection, keyword)),
                    )
            for name, several in remove.items():
                for keyword in several:
                    connection.execute(
                        "DELETE FROM ImageTags WHERE imageid = ? AND tagid = ?",
                        (_image(connection, name), _tag(connection, keyword)),
                    )
        for _ in range(TRIES - 1):
            with contextlib.suppress(RuntimeError, subprocess.CalledProcessError):
                return self._write_all(folder, home)
        return self._write_all(folder, home)

    def _write_all(self, folder: Path, home: Path) -> None:
        before = _looks(folder)
        with screen() as display, started(_command(home), home, display, home / "log.txt") as (environment, process):
            bus = ["gdbus", "call", "--session", "--dest", f"org.kde.digikam-{process}"]
            bus += ["--object-path", "/digikam/Digikam", "--method", "org.kde.KMainWindow.activateAction"]
            _wait(lambda: _is_answering(bus, environment), "digiKam did not open its window")
            end = time.monotonic() + DEADLINE
            while _looks(folder) == before:  # the question comes when it comes
                if time.monotonic() > end:
                    raise RuntimeError("digiKam wrote no sidecar")
                for x, y in (_CANCEL, _COLLECTION):
                    subprocess.run(["xdotool", "mousemove", x, y, "click", "1"], env=environment, check=True)
                    time.sleep(1.5)
                subprocess.run([*bus, "album_write_metadata"], env=environment, check=True, stdout=subprocess.DEVNULL)
                time.sleep(3)
            _until_still(lambda: _looks(folder))
            time.sleep(1)

    def _scanned(self, folder: Path, names: list[str]) -> Path:
        """Return a new home in whose database digiKam has all these photos."""
        home = self._scratch / f"digikam-{len(list(self._scratch.glob('digikam-*')))}"
        (home / ".config").mkdir(parents=True)
        (home / ".config" / "digikamrc").write_text(_CONFIG.format(home), encoding="utf-8")
        shutil.copytree(self._empty_database(), home / "db")
        database = home / "db" / "digikam4.db"
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(
                "INSERT INTO AlbumRoots(label, status, type, identifier, specificPath) VALUES ('photos', 0, 3, ?, '/')",
                (f"networkshareid:?mountpath={folder}",),
            )
        with screen() as display, started(_command(home), home, display, home / "log.txt"):
            _wait(lambda: _count(database, "Images") >= len(names), "digiKam did not find the photos")
            _until_still(lambda: [_count(database, table) for table in ("Images", "ImageTags", "Tags")])
        return home

    def _empty_database(self) -> Path:
        """Return a folder with the database that digiKam makes when it starts for the first time."""
        home = self._scratch / "digikam-template"
        if not home.is_dir():
            (home / ".config").mkdir(parents=True)
            (home / "db").mkdir()
            (home / ".config" / "digikamrc").write_text(_CONFIG.format(home), encoding="utf-8")
            with screen() as display, started(_command(home), home, display, home / "log.txt"):
                _wait(lambda: _count(home / "db" / "digikam4.db", "Settings") >= 1, "digiKam made no database")
                time.sleep(3)
        return home / "db"


def _command(home: Path) -> list[str]:
    return ["digikam", "--database-directory", str(home / "db")]


def _is_answering(bus: list[str], environment: dict[str, str]) -> bool:
    done = subprocess.run([*bus, "selectNone"], env=environment, capture_output=True, check=False)
    return done.returncode == 0


def _wait(condition: Callable[[], bool], problem: str) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(problem)
        time.sleep(0.3)


def _until_still(look: Callable[[], object]) -> None:
    seen, since = look(), time.monotonic()
    end = since + DEADLINE
    while time.monotonic() - since < STILL and time.monotonic() < end:
        time.sleep(0.3)
        now = look()
        if now != seen:
            seen, since = now, time.monotonic()


def _looks(folder: Path) -> dict[str, tuple[int, int, int]]:
    statuses = {path.name: path.stat() for path in folder.glob("*.xmp")}
    return {name: (found.st_mtime_ns, found.st_size, found.st_ino) for name, found in statuses.items()}


def _count(database: Path, table: str) -> int:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            ((n,),) = connection.execute(f"SELECT count(*) FROM {table}")
        return int(n)
    except sqlite3.Error:
        return 0


def _image(connection: sqlite3.Connection, name: str) -> int:
    ((number,),) = connection.execute("SELECT id FROM Images WHERE name = ?", (name,)).fetchall()
    return int(number)


def _tag(connection: sqlite3.Connection, keyword: Path_) -> int:
    """Return the id of a tag, which is made if it is missing."""
    parent = 0
    for level in keyword:
        connection.execute("INSERT OR IGNORE INTO Tags(pid, name) VALUES (?, ?)", (parent, level))
        ((parent,),) = connection.execute("SELECT id FROM Tags WHERE pid = ? AND name = ?", (parent, level)).fetchall()
    return parent


def _tags(database: Path, names: Iterable[str]) -> Keywords:
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        tags = {number: (parent, name) for number, parent, name in connection.execute("SELECT id, pid, name FROM Tags")}
        rows = connection.execute(
            "SELECT i.name, t.tagid FROM Images i JOIN ImageTags t ON t.imageid = i.id"
        ).fetchall()
    found: Keywords = {name: set() for name in names}
    for name, number in rows:
        path: list[str] = []
        while number:
            number, level = tags[number]
            path.insert(0, level)
        if path[0] not in _INTERNAL and name in found:
            found[name].add(normal(path))
    return found
