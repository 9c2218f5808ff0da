"""A project of 200,000 photos: what `status`, a scan without changes and `label` cost.

The photos are empty files whose records are made up, so that nothing is decoded. Every command is a process of its
own, as a person starts it; ``--version`` is the bare start that the others are compared with.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.errors import BenchmarkError
from benchmarks.speed.harness import Local, case, compare, out_parser, record
from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.project.project import Project

TITLE = "A project of many photos"
SIZES = {"full": (200_000, 500, 100), "quick": (200, 20, 5)}
REPEATS = {"full": 5, "quick": 1}
COMMAND = [sys.executable, "-c", "from tagloom.cli import main; main()"]
#: pip compiles what it installs: a program that is compiled anew at every start is not what a person starts.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
START, STATUS, SCAN, LABEL = "tagloom --version", "tagloom status", "tagloom scan", "tagloom label"


def make_files(root: Path, n: int, per_folder: int) -> list[PhotoRecord]:
    """Make empty files in folders, and return records as if they had been read, each with a content of its own."""
    records = []
    for number in range(n):
        name = f"{number // per_folder:04d}/IMG_{number:06d}.jpg"
        path = root / name
        if number % per_folder == 0:
            path.parent.mkdir()
        path.touch()
        found = path.stat()
        stamp = FileStamp.of(found)
        records.append(PhotoRecord(os.fsencode(name), Verdict.OK, "", f"{number + 1:064x}", stamp, 4000, 3000))
    return records


def make_project(root: Path, n: int, per_folder: int, n_tags: int) -> None:
    """Make a project whose photos are all known, with two decisions each."""
    records = make_files(root, n, per_folder)
    generator = np.random.default_rng(0)
    with Project.init(root) as project:
        store = project.store
        with store.lock(), store.cache() as cache:
            cache.record(records)
        ids = store.photos.reconcile([item.path for item in records]).new
        store.photos.set_taken(ids, np.full(n, 1.7e9))
        tags = store.tags.add([f"tag {number}" for number in range(n_tags)])
        said = generator.choice(tags, size=2 * n), generator.integers(0, 2, size=2 * n)
        store.decisions.decide(np.repeat(ids, 2), *said)


def program(
    root: Path, arguments: Callable[[], list[str]], environment: Mapping[str, str] = ENVIRONMENT
) -> Callable[[], str]:
    """Return a function that runs the program in the folder of photos, and returns what it printed."""

    def run() -> str:
        done = subprocess.run([*COMMAND, *arguments()], cwd=root, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise BenchmarkError(f"tagloom {' '.join(arguments())} failed: {done.stderr.strip()}")
        return done.stdout

    return run


def project_case(root: Path, n: int, repeats: int, threads: int) -> dict[str, Any]:
    """Time the commands in a folder that `make_project` filled."""
    fresh = (f"new {number}" for number in count())
    commands: dict[str, Callable[[], list[str]]] = {
        START: lambda: ["--version"],
        STATUS: lambda: ["status", "-q"],
        LABEL: lambda: ["label", "0000/IMG_000001.jpg", "--add", next(fresh), "-q"],
        SCAN: lambda: ["scan", "-q"],
    }
    contenders = [Local(name, program(root, arguments), role="ours") for name, arguments in commands.items()]
    entries = compare(contenders, repeats=repeats, threads=threads)
    bare = entries[0]
    for entry in entries[1:]:
        over = {f"{clock} ms over the bare start": 1000 * (entry[clock] - bare[clock]) for clock in ("cpu", "wall")}
        entry["accuracy"] = over | ({"files/s": n / entry["wall"]} if entry["name"] == SCAN else {})
    return case(f"{n} photos, nothing changed", {"n": n}, entries)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("project").parse_args(argv)
    size = "quick" if arguments.quick else "full"
    n, per_folder, n_tags = SIZES[size]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_project(root, n, per_folder, n_tags)
        found = [project_case(root, n, REPEATS[size], arguments.threads)]
    record("project", TITLE, found, arguments.out, threads=arguments.threads, packages=["apsw", "typer"])


if __name__ == "__main__":
    main()
