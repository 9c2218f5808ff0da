"""5,000 new photos with keywords: the first scan, and the import of the keywords, beside another version of tagloom.

``--before SRC`` names the ``src`` folder of that version; the two take turns. Every import begins with the project as
the scan left it. A first scan takes long and is run once for each version.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.speed.harness import Local, case, compare, out_parser, record
from benchmarks.speed.project import ENVIRONMENT, program

TITLE = "New photos with keywords"
SIZES = {"full": (5000, 5), "quick": (10, 1)}
FIRST_SCAN, IMPORT, BEFORE = "tagloom init; tagloom scan", "tagloom import --from-photos", ", before"
STORE = ".tagloom"
XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>{}</rdf:Bag>'
    "</dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
)


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


def new_photos_case(
    roots: Mapping[str, Path], n: int, repeats: int, threads: int, before: Path | None
) -> dict[str, Any]:
    """Time the first scan and imports; ``roots`` has a folder of photos for each version, by what to call it."""
    scans, imports = [], []
    for name, root in roots.items():
        scan, take = commands(root, before if name else None)
        scans.append(Local(f"{FIRST_SCAN}{name}", scan, role="ours", runs=1))
        imports.append(Local(f"{IMPORT}{name}", take, role="ours", prepare=lambda root=root: as_scanned(root)))
    entries = compare(scans, threads=threads) + compare(imports, repeats=repeats, threads=threads)
    ratios = (
        {
            f"{what}: {words} over that before": now[clock] / then[clock]
            for what, (now, then) in zip((FIRST_SCAN, IMPORT), (entries[:2], entries[2:]), strict=True)
            for clock, words in (("cpu", "CPU time"), ("wall", "wall time"))
        }
        if BEFORE in roots
        else {}
    )
    return case(f"{n} new photos with keywords", {"n": n}, entries, photos=n, ratios=ratios)


def commands(root: Path, source: Path | None) -> tuple[Callable[[], str], Callable[[], str]]:
    """Return the first scan and the import as the code in a folder does them; None: as this one does."""
    environment = ENVIRONMENT | ({} if source is None else {"PYTHONPATH": str(source.resolve())})

    def first_scan() -> str:
        made = program(root, lambda: ["init", "."], environment)()
        return made + program(root, lambda: ["scan", "-q"], environment)()

    return first_scan, program(root, lambda: ["import", "--from-photos"], environment)


def as_scanned(root: Path) -> None:
    """Bring a project back to how the scan left it."""
    store, kept = root / STORE, root.with_name(f"{root.name}{STORE}")
    if kept.exists():
        shutil.rmtree(store)
        shutil.copytree(kept, store)
    else:
        shutil.copytree(store, kept)


def main(argv: list[str] | None = None) -> None:
    parser: argparse.ArgumentParser = out_parser("new_photos")
    parser.add_argument("--before", type=Path, help="the src folder of a version to compare with")
    arguments = parser.parse_args(argv)
    n, repeats = SIZES["quick" if arguments.quick else "full"]
    with tempfile.TemporaryDirectory() as folder:
        roots = {name: Path(folder) / f"new{len(name)}" for name in ("", *([BEFORE] if arguments.before else []))}
        for new in roots.values():
            new.mkdir()
            make_photos(new, n)
        found = [new_photos_case(roots, n, repeats, arguments.threads, arguments.before)]
    record("new_photos", TITLE, found, arguments.out, threads=arguments.threads, packages=["apsw", "typer"])


if __name__ == "__main__":
    main()
