"""Results on disk: one small file per finished cell while a run is under way, one committed JSON at the end."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from tagloom.core.files import write_text
from tagloom.core.system import cpu_count

FORMAT = 1
PACKAGES = ("numpy", "scipy", "scikit-learn", "tagloom")


@dataclass
class CellResult:
    """What one cell gave: scores on each part, the score inside the labelled part, and CPU seconds."""

    key: str
    data: str
    condition: str
    draw: int
    method: str
    point: dict[str, Any]
    test: dict[str, float] = field(default_factory=dict)
    inside: float | None = None
    cpu_fit: float = 0.0
    cpu_inside: float = 0.0
    error: str = ""
    environment: dict[str, Any] = field(default_factory=dict)


def canonical(value: Any) -> str:
    """Return JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """Return 16 hexadecimal digits that identify a JSON value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def seed_of(*parts: Any) -> int:
    """Return a seed that depends on what a cell is, never on when it is run."""
    return int(digest(list(parts))[:8], 16)


# What the benchmarks write themselves is no change of the code that ran.
WRITTEN = ("*/results*", "*/studies.json", "docs")


def environment(threads: int | None = None) -> dict[str, Any]:
    """Return commit, dirty flag, versions and core count; no host names and no paths."""
    commit = _git("rev-parse", "--verify", "HEAD")
    found: dict[str, Any] = {
        "commit": commit,
        "dirty": commit is None or bool(_git("status", "--porcelain", "--", *(f":!{name}" for name in WRITTEN))),
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": cpu_count(),
        **{name: _version(name) for name in PACKAGES},
    }
    return found if threads is None else found | {"threads": threads}


def environment_lines(cells: Sequence[CellResult]) -> list[str]:
    """Return the last section of a page: the environments that its cells were run in."""
    found = {digest(cell.environment): cell.environment for cell in cells}
    lines = ["## Where it was run", ""]
    for where in sorted(found.values(), key=lambda item: sorted((key, str(value)) for key, value in item.items())):
        lines.append("- " + ", ".join(f"{key} {value}" for key, value in sorted(where.items())))
    return lines


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


class CellStore:
    """Finished cells of one reproduction: the committed file, and the cache of a run under way.

    Parameters
    ----------
    folder : Path
        The reproduction's folder; holds ``results.json`` and ``.cache``.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.json"
        self.cache = folder / ".cache"

    def load(self) -> dict[str, CellResult]:
        """Return the cells by key; a cached one wins over a committed one."""
        cells = {cell.key: cell for cell in read_cells(self.path)}
        for path in sorted(self.cache.glob("*.json")):
            cell = CellResult(**json.loads(path.read_text(encoding="utf-8")))
            cells[cell.key] = cell
        return cells

    def put(self, cell: CellResult) -> None:
        """Keep a finished cell; a kill right after this loses nothing."""
        self.cache.mkdir(parents=True, exist_ok=True)
        write_text(self.cache / f"{cell.key}.json", canonical(asdict(cell)))

    def commit(self, cells: Iterable[CellResult], statuses: list[dict[str, Any]]) -> None:
        """Write ``results.json`` and empty the cache of what is now in it."""
        write_json(self.path, pack(list(cells), statuses))
        for path in self.cache.glob("*.json"):
            path.unlink()


def pack(cells: list[CellResult], statuses: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what results.json holds: environments once, cells that point to theirs, computed statuses."""
    environments: dict[str, dict[str, Any]] = {}
    rows = []
    for cell in cells:
        row = asdict(cell)
        row["environment"] = digest(cell.environment)
        environments[row["environment"]] = cell.environment
        rows.append({key: value for key, value in row.items() if value not in ("", None)})
    return {"format": FORMAT, "environments": environments, "cells": rows, "statuses": statuses}


def read_cells(path: Path) -> list[CellResult]:
    """Return the cells of a results.json, none if there is no such file."""
    if not path.is_file():
        return []
    stored = json.loads(path.read_text(encoding="utf-8"))
    return [
        CellResult(**(row | {"environment": stored["environments"][row["environment"]]})) for row in stored["cells"]
    ]


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people and diffs: sorted keys, one line per leaf, final newline."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
