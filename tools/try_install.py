"""Try an installed tagloom as a new user would: doctor, README's commands, the tutorial, the examples of the docs.

Usage: ``ENVIRONMENT/bin/python tools/try_install.py [--pages]``, with the Python of an environment that holds the wheel
and what it depends on: no pytest, no extra. ``--pages`` adds the examples of all docs pages that need no extra.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.pages import PAGES, console_lines, draws, inline_commands, python_blocks  # noqa: E402

TAGLOOM = str(Path(sysconfig.get_path("scripts")) / "tagloom")
NOT_OURS = ("make", "pip")
LONGEST = 300
SERVES = ("review", "--review")
ONE_PAGE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from tests.pages import run_examples; run_examples(sys.argv[2])"
)


class FailedError(Exception):
    """A command ended otherwise than the docs say."""


def commands(lines: list[str], stands_for: dict[str, str]) -> Iterator[list[str]]:
    """Yield the words of each command: comments left out, ``&&`` taken apart, names of the docs replaced by ours."""
    for line in lines:
        for part in line.split("&&"):
            words = [stands_for.get(word, word) for word in shlex.split(part, comments=True)]
            if words and words[0] not in NOT_OURS:
                yield words


def run(words: list[str], folder: Path) -> None:
    """Run one command of the docs in a folder; one that serves a page is ended once it serves."""
    if words[0] != "tagloom":
        raise FailedError(f"a command of the docs that is not known here: {shlex.join(words)}")
    served = any(word in SERVES for word in words)
    command = [TAGLOOM, *words[1:], *(["--no-browser"] if served else [])]
    begin = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        said = ""
        if served:
            said = child.stdout.readline() if child.stdout else ""
            child.terminate()
        try:
            out, errors = child.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            child.kill()
            raise FailedError(f"{shlex.join(words)} has not ended after {LONGEST} s") from None
    said += out
    if child.returncode != 0 or not said.strip() or (served and "http" not in said):
        raise FailedError(f"{shlex.join(words)}: exit code {child.returncode}\n{said[-1000:]}{errors[-3000:]}")
    print(f"  {time.perf_counter() - begin:5.1f} s  {shlex.join(words)}", flush=True)


def follow(lines: list[str], folder: Path, stands_for: dict[str, str]) -> Path:
    """Run commands one after the other, ``cd`` included, and return the folder they end in."""
    for words in commands(lines, stands_for):
        if words[0] == "cd":
            folder = folder / words[1]
        else:
            run(words, folder)
            if words[1:] == ["write"] and not list(folder.glob("*.xmp")):
                raise FailedError("tagloom write wrote no sidecar")
    return folder


def readme(place: Path) -> None:
    """Run all commands of README, in its order: blocks first, then those in running text."""
    run(["tagloom", "demo", "--photos", "60", "--labeled", "0.5", "--out", "made", "--quiet"], place)
    photos = place / "PHOTOS"
    shutil.copytree(place / "made" / "photos", photos)
    photo, tag = (photos / "labels.csv").read_text(encoding="utf-8").splitlines()[1].split(",")
    shutil.copy(photos / photo, photos / "IMG_0107.jpg")
    shutil.copy(photos / "labels.csv", place / "labels.csv")
    names = {"PHOTO": photo, "TAG": tag.split(";")[0]}
    inside = follow(console_lines("README.md"), place, names)
    if inside != photos:
        raise FailedError(f"README's commands end in {inside}")
    follow(inline_commands("README.md"), inside, names | {"PHOTOS": str(photos)})


def tutorial(place: Path) -> None:
    """Run a project from its beginning to keywords in sidecars and back, as the tutorial does, on fewer photos."""
    lines = [
        line.replace("--photos 1000", "--photos 60 --labeled 0.5")
        for line in console_lines("docs/tutorials/first-project.md")
    ]
    used = {words[1] for words in commands(lines, {}) if words[0] == "tagloom"}
    if not used >= {"init", "scan", "train", "write"}:
        raise FailedError(f"the tutorial has no longer all that a project needs: {sorted(used)}")
    follow(lines, place, {})


def examples(page: str, place: Path) -> None:
    """Run the Python examples of one page, in a process of its own."""
    begin = time.perf_counter()
    folder = place / page.replace("/", "-")
    folder.mkdir()
    command = [sys.executable, "-c", ONE_PAGE, str(ROOT), page]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FailedError(f"the examples of {page}:\n{done.stderr[-3000:]}")
    print(f"  {time.perf_counter() - begin:5.1f} s  {page}", flush=True)


def main() -> None:
    """Run everything; failures are told at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", action="store_true", help="also the examples of all docs pages")
    arguments = parser.parse_args()
    import tagloom

    home = Path(tagloom.__file__).resolve()
    if not home.is_relative_to(Path(sys.prefix).resolve()):
        sys.exit(f"{home} is not installed in {sys.prefix}: name the Python of an environment with the wheel")
    version = ".".join(map(str, sys.version_info[:3]))
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as threads:
        os.environ["TAGLOOM_CACHE"] = os.path.join(scratch, "cache")
        place = Path(scratch)
        (place / "readme").mkdir()
        (place / "tutorial").mkdir()
        jobs = [threads.submit(run, ["tagloom", "doctor"], place)]
        jobs += [threads.submit(readme, place / "readme"), threads.submit(tutorial, place / "tutorial")]
        if arguments.pages:
            pages = [page for page in PAGES if python_blocks(page) and not draws(page)]
            jobs += [threads.submit(examples, page, place) for page in pages]
        problems = [str(job.exception()) for job in jobs if job.exception() is not None]
    if problems:
        sys.exit("\n\n".join([f"Python {version}: {len(problems)} failed", *problems]))
    print(f"Python {version}: all of it works")


if __name__ == "__main__":
    main()
