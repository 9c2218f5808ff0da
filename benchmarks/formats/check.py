"""``python -m benchmarks.formats.check [NAME …]``: write a small set in every format and let other programs read it.

``--make`` first makes ``.venv-bench-formats-NAME`` from ``NAME.txt`` here, with plain venv and pip; each of these
programs needs an environment of its own, since what they ask for conflicts. Prints a JSON object: for each environment
and reader either that it gave back exactly the keywords that were written, or what it said instead. A reader that is
not installed is not named.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from PIL import Image

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords
from tagloom.metadata.formats import ExportOptions, available_exporters, export_keywords
from tagloom.metadata.names import name_to_text

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGETS = {
    "csv": "keywords.csv",
    "tsv": "keywords.tsv",
    "jsonl": "keywords.jsonl",
    "parquet": "keywords.parquet",
    "huggingface": "photos/metadata.jsonl",
    "coco": "coco/annotations/labels_all.json",
    "cvat": "cvat/annotations.xml",
    "label-studio": "tasks.json",
    "fiftyone": "fiftyone",
    "webdataset": "keywords.tar",
}


def example_photos() -> list[PhotoKeywords]:
    """Return photos whose names and keywords are those that break naive writers."""
    tricky = ['say "hi"', "a,b", "a;b", "=1+1", "<&>", "日本 ☀", "x" * 1000, "a|b", "back\\slash", "3", "[y]", "!no"]
    heron = Keyword(("Animals", "Birds", "Heron"))
    photos = [
        PhotoKeywords(
            f"set/photo {number}.jpg".encode(), 32, 24, (Keyword.flat(name), heron), ((Keyword.flat("sky"), 0.75),)
        )
        for number, name in enumerate(tricky)
    ]
    return [
        *photos,
        PhotoKeywords(b"a.jpg", 32, 24, (Keyword.flat("sea"),), ()),
        PhotoKeywords(b"a.png", 32, 24, (), ((Keyword.flat("sea"), 0.5),), (Keyword.flat("sky"),)),
        PhotoKeywords("café/é 100%.jpg".encode(), 32, 24, (Keyword.flat("sea"),), (), (heron,)),
        PhotoKeywords(b"unlabelled.jpg", 32, 24, (), ()),
    ]


def without_twins(photos: list[PhotoKeywords]) -> list[PhotoKeywords]:
    """Leave out photos whose name differs from an earlier one in the extension alone: Datumaro takes them for one."""
    stems: dict[str, PhotoKeywords] = {}
    for photo in photos:
        stems.setdefault(os.path.splitext(name_to_text(photo.photo))[0], photo)
    return list(stems.values())


def write_exports(folder: Path, photos: list[PhotoKeywords]) -> None:
    """Write photos, all exports, and ``expected.json`` with what has to come back."""
    for photo in photos:
        path = folder / "photos" / os.fsdecode(photo.photo)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (photo.width, photo.height), (90, 120, 150)).save(path)
    options = ExportOptions(photo_root=str(folder / "photos"), model_version="check-1")
    for name in available_exporters():
        if name == "parquet":
            continue  # written by the environment that has pyarrow
        target = folder / TARGETS[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        export_keywords(photos, target, format=name, options=options)
    for name in ("coco", "cvat"):
        shutil.copytree(folder / "photos", folder / name / "images")  # Datumaro wants to see the photos
    expected = {
        name_to_text(photo.photo): sorted(
            k.text for k in (*photo.accepted, *(keyword for keyword, _ in photo.suggested))
        )
        for photo in photos
    }
    (folder / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


def environment(name: str) -> Path:
    return ROOT / f".venv-bench-formats-{name}"


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make(name: str) -> str:
    """Make one environment; return what pip said if it failed."""
    folder = environment(name)
    if (folder / "made").is_file():
        return ""
    venv.create(folder, clear=True, with_pip=True)
    command = [str(python_of(folder)), "-m", "pip", "install", "--quiet", "-r", str(HERE / f"{name}.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip()[-500:]
    (folder / "made").touch()
    return ""


def check(name: str, folder: Path) -> dict[str, object]:
    """Let every reader of one environment read the exports."""
    python = python_of(environment(name))
    if not python.is_file():
        return {"skipped": f"no environment; run with --make {name}"}
    command = [str(python), str(HERE / "readers.py"), str(folder), str(ROOT)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    except subprocess.TimeoutExpired:
        return {"failed": "no answer within ten minutes"}
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failed": done.stderr.strip()[-500:]}


def main(argv: list[str] | None = None) -> int:
    names = sorted(path.stem for path in HERE.glob("*.txt"))
    parser = argparse.ArgumentParser(description="Let other programs read what tagloom exports.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(names)}")
    parser.add_argument("--make", action="store_true", help="make the environments first")
    arguments = parser.parse_args(argv)
    chosen = arguments.names or names
    if unknown := sorted(set(chosen) - set(names)):
        parser.error(f"no environment {unknown}; there are {names}")
    answers: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        write_exports(Path(scratch), example_photos())
        write_exports(Path(scratch) / "no-twins", without_twins(example_photos()))
        for name in chosen:
            failure = make(name) if arguments.make else ""
            answers[name] = {"skipped": failure} if failure else check(name, Path(scratch))
    print(json.dumps(answers, indent=2, ensure_ascii=False))
    wrong = [a for answer in answers.values() for a in answer.values() if isinstance(a, dict) and not a.get("same")]
    return 1 if wrong or any("failed" in answer for answer in answers.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
