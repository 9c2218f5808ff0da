"""``python -m benchmarks.interop [--label NAME] [--checkout DIR] [--program NAME] [--install] [--report]``."""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.datasets import ROOT
from benchmarks.interop.check import run
from benchmarks.interop.report import RESULTS, TITLES, interop_page
from benchmarks.report import DOCS
from benchmarks.results import environment, write_json
from tagloom.core.files import write_text

PAGE = DOCS / "benchmarks" / "interop.md"
PACKAGES = ("darktable", "digikam", "libimage-exiftool-perl", "exiv2", "xvfb", "xdotool", "dbus", "libglib2.0-bin")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.interop", description="Play keywords through photo programs.")
    parser.add_argument("--label", default="after", help="the name of the results; default: after")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose tagloom to run; default: this one")
    parser.add_argument("--program", action="append", choices=[*TITLES], help="only this one; nothing is recorded")
    parser.add_argument("--install", action="store_true", help="as root: install the programs from Debian's packages")
    parser.add_argument("--report", action="store_true", help="write the page from the results that are there")
    arguments = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the programs that were started end with this one
    if arguments.install:
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            parser.error("--install needs root")
        subprocess.run(["apt-get", "install", "-y", "-qq", *PACKAGES], check=True)
    if not arguments.report:
        found = run(arguments.checkout.resolve(), arguments.program or ())
        if arguments.program:
            return 0
        known = environment() | {"commit": _commit(arguments.checkout), "dirty": _is_dirty(arguments.checkout)}
        write_json(RESULTS / f"{arguments.label}.json", {"programs": found, "environment": known})
    write_text(PAGE, interop_page(RESULTS))
    print("written: docs/benchmarks/interop.md")
    return 0


def _commit(checkout: Path) -> str:
    return _git(checkout, "rev-parse", "--verify", "HEAD")


def _is_dirty(checkout: Path) -> bool:
    return bool(_git(checkout, "status", "--porcelain", "--", "src"))


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
