"""What was run and imported, and the settings of the project."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.session import Database

if TYPE_CHECKING:
    from tagloom.core import AbsentMeans

__all__ = ["Import", "Run", "Runs", "StoredSettings", "from_json", "to_json"]


@dataclass(frozen=True, slots=True)
class Run:
    """A long job: kind, settings, times in seconds since 1970, and the result (None while it runs, or if it died)."""

    id: int
    kind: str
    settings: dict[str, Any]
    started: float
    ended: float | None
    result: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Import:
    """A source of labels that was read: its name, what absence meant, its checksum, when, and the batch it made."""

    id: int
    batch: int | None
    source: str
    absent_means: "AbsentMeans"
    digest: str
    at: float


class Runs:
    """The runs and imports of a project.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(self, kind: str, settings: Mapping[str, Any]) -> int:
        """Note that a job begins, and return its id."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO runs(kind, settings, started) VALUES (?, ?, ?)", (kind, to_json(settings), time.time())
            )
            return connection.last_insert_rowid()

    def end(self, run: int, result: Mapping[str, Any]) -> None:
        """Note that a job has ended, and what came out."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE runs SET ended = ?, result = ? WHERE id = ?", (time.time(), to_json(result), run)
            )
            if connection.changes() != 1:
                raise InvalidInputError(f"no run has the id {run}")

    def all(self, kind: str | None = None, *, limit: int = 50) -> list[Run]:
        """Return the latest runs, newest first."""
        rows = self._database.read(
            "SELECT id, kind, settings, started, ended, result FROM runs WHERE ?1 IS NULL OR kind = ?1 "
            "ORDER BY id DESC LIMIT ?2",
            (kind, limit),
        )
        return [
            Run(
                number,
                name,
                from_json(settings, "a run", dict),
                started,
                ended,
                None if result is None else from_json(result, "a run", dict),
            )
            for number, name, settings, started, ended, result in rows
        ]

    def results(self, kind: str, *, limit: int = 50) -> list[dict[str, Any]]:
        """Return what came out of the latest runs of a kind that ended, newest first."""
        rows = self._database.read(
            "SELECT result FROM runs WHERE kind = ? AND result IS NOT NULL ORDER BY id DESC LIMIT ?", (kind, limit)
        )
        return [from_json(result, "a run", dict) for (result,) in rows]

    def record_import(
        self,
        source: str | bytes | os.PathLike[str],
        absent_means: "AbsentMeans",
        digest: str,
        *,
        batch: int | None = None,
    ) -> int:
        """Note that a source was imported, and what absence meant in it; return the id of the import."""
        from tagloom.core import check_absent_means

        row = (batch, os.fsencode(source), check_absent_means(absent_means), digest, time.time())
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO imports(batch, source, absent_means, digest, at) VALUES (?, ?, ?, ?, ?)", row
            )
            return connection.last_insert_rowid()

    def imports(self) -> list[Import]:
        """Return all imports, oldest first."""
        rows = self._database.read("SELECT id, batch, source, absent_means, digest, at FROM imports ORDER BY id")
        return [
            Import(number, batch, os.fsdecode(source), absent_means, digest, at)
            for number, batch, source, absent_means, digest, at in rows
        ]


class StoredSettings:
    """Settings of a project that differ from the defaults: names and JSON values.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, Any]:
        """Return all settings."""
        return {
            key: from_json(value, f"the setting {key[:40]!r}")
            for key, value in self._database.read("SELECT key, value FROM settings")
        }

    def get(self, key: str, default: Any = None) -> Any:
        """Return one setting; it must be of the default's type, where there is one."""
        value = self._database.value("SELECT value FROM settings WHERE key = ?", (key,))
        kind = object if default is None else type(default)
        return default if value is None else from_json(value, f"the setting {key!r}", kind)

    def set(self, key: str, value: Any) -> None:
        """Store one setting; None removes it."""
        with self._database.write() as connection:
            if value is None:
                connection.execute("DELETE FROM settings WHERE key = ?", (key,))
            else:
                connection.execute("INSERT OR REPLACE INTO settings(key, value) VALUES (?, ?)", (key, to_json(value)))


def from_json(text: str, what: str, kind: type = object) -> Any:
    """Return what was stored as JSON.

    Raises
    ------
    DamagedStoreError
        If it is none, or something of another kind.
    """
    try:
        found = json.loads(text)
        if not isinstance(found, kind):
            raise TypeError(f"expected {kind.__name__}, got {type(found).__name__}")
        return found
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedStoreError(
            f"{what} in the database is not as tagloom writes it ({error}); put back a backup with: tagloom restore"
        ) from error


def to_json(value: Any) -> str:
    """Return JSON that any reader takes (no NaN), or say what cannot be stored."""
    try:
        return json.dumps(value, allow_nan=False, sort_keys=True)  # ASCII: names that are not Unicode come back whole
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"expected text, finite numbers, lists and mappings of them, got {error}") from error
