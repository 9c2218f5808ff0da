"""A project of 200,000 photos: what `status`, a scan without changes and `label` cost; and 5,000 that are new.

The 200,000 photos are empty files whose records are made up, so that nothing is decoded. Every command is a process of
its own, as a person starts it; ``--version`` is the bare start that the others are compared with. The 5,000 photos have
keywords; all are scanned and their keywords imported. ``--before SRC`` does the same with another version of tagloom,
whose ``src`` folder it names, in turns.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.errors import BenchmarkError
from benchmarks.speed.harness import Local, case, compare, out_parser, record, wall_ratio
from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.project.project import Project

TITLE = "A project of many photos"
SIZES = {"full": (200_000, 500, 100), "quick": (200, 20, 5)}
REPEATS = {"full": 5, "quick": 1}
COMMAND = [sys.executable, "-c", "from tagloom.cli import main; main()"]
#: pip compiles what it installs: a program that is compiled anew at every start is not what a person starts.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
START, STATUS, SCAN, LABEL = "tagloom --version", "tagloom status", "tagloom scan", "tagloom label"
NEW, ROUNDS = {"full": 5000, "quick": 10}, {"full": 3, "quick": 1}
FIRST_SCAN, IMPORT, BEFORE = "tagloom init; tagloom scan", "tagloom import --from-photos", ", before"
XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>{}</rdf:Bag>'
    "</dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
)


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


def make_photos(root: Path, n: int) -> None:
    """Make photos with two keywords each; every second one has them in a sidecar."""
    generator = np.random.default_rng(0)
    for number in range(n):
        pixels = generator.integers(0, 256, size=(24, 32, 3), dtype=np.uint8)
        items = "".join(f"<rdf:li>tag {tag}</rdf:li>" for tag in (number % 7, 7 + number % 11))
        xmp, photo = XMP.format(items).encode(), root / f"IMG_{number:06d}.jpg"
        if number % 2:
            photo.with_name(f"{photo.name}.xmp").write_bytes(xmp)
        Image.fromarray(pixels).resize((640, 480)).save(photo, xmp=b"" if number % 2 else xmp)


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


def new_photos_case(
    roots: Mapping[str, Path], n: int, repeats: int, threads: int, before: Path | None
) -> dict[str, Any]:
    """Time the first scan and import of photos; ``roots`` has a folder of them for each version, by what to call it."""
    versions = {name: program_of(root, before if name else None) for name, root in roots.items()}
    contenders = [
        Local(f"{what}{name}", versions[name][what], role="ours") for what in (FIRST_SCAN, IMPORT) for name in versions
    ]
    entries = compare(contenders, repeats=repeats, threads=threads)
    ratios = {
        f"{what}: time over that before": wall_ratio(entries, what, f"{what}{BEFORE}")
        for what in (FIRST_SCAN, IMPORT)
        if BEFORE in versions
    }
    return case(f"{n} new photos with keywords", {"n": n}, entries, photos=n, ratios=ratios)


def program_of(root: Path, source: Path | None) -> dict[str, Callable[[], str]]:
    """Return the commands on new photos as the code in a folder does them; None: as this one does."""
    environment = ENVIRONMENT | ({} if source is None else {"PYTHONPATH": str(source.resolve())})

    def first_scan() -> str:
        shutil.rmtree(root / ".tagloom", ignore_errors=True)
        made = program(root, lambda: ["init", "."], environment)()
        return made + program(root, lambda: ["scan", "-q"], environment)()

    return {FIRST_SCAN: first_scan, IMPORT: program(root, lambda: ["import", "--from-photos"], environment)}


def main(argv: list[str] | None = None) -> None:
    parser = out_parser("project")
    parser.add_argument("--before", type=Path, help="the src folder of a version to compare with")
    arguments = parser.parse_args(argv)
    size = "quick" if arguments.quick else "full"
    n, per_folder, n_tags = SIZES[size]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "photos"
        root.mkdir()
        make_project(root, n, per_folder, n_tags)
        found = [project_case(root, n, REPEATS[size], arguments.threads)]
        shutil.rmtree(root)
        roots = {name: Path(folder) / f"new{len(name)}" for name in ("", *([BEFORE] if arguments.before else []))}
        for new in roots.values():
            new.mkdir()
            make_photos(new, NEW[size])
        found.append(new_photos_case(roots, NEW[size], ROUNDS[size], arguments.threads, arguments.before))
    record("project", TITLE, found, arguments.out, threads=arguments.threads, packages=["apsw", "typer"])


if __name__ == "__main__":
    main()
