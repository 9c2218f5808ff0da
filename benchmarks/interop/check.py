"""The checks: keywords from tagloom to each program, from each program to tagloom, and there and back with edits."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.interop.cases import CASES, TRIPS, Keywords, Path_, make_photos, normal
from benchmarks.interop.darktable import Darktable
from benchmarks.interop.digikam import Digikam
from benchmarks.interop.tools import Exiftool, Exiv2, levels_of, packet_keywords

CHILD = Path(__file__).with_name("tagloom_child.py")
NAMES = [case.name for case in CASES]
TRIP_NAMES = [trip.name for trip in TRIPS]
IPTC_LIMIT = 64  # bytes
_EMBEDDED = (".jpg", ".png", ".tif", ".webp")


class Check:
    """Runs the checks with the tagloom of one checkout.

    Parameters
    ----------
    checkout : Path
        The folder with its ``src``.
    scratch : Path
        An empty folder.
    """

    def __init__(self, checkout: Path, scratch: Path) -> None:
        self._source = checkout / "src"
        self._scratch = scratch
        self._n = 0
        self._own: dict[
            str, Keywords
        ] = {}  # what a program was given, and what it and tagloom can read of its own files
        self.programs = (Exiftool(), Exiv2(), Darktable(scratch), Digikam(scratch))

    def run(self, wanted: Iterable[str] = ()) -> dict[str, Any]:
        """Return for each program its version, or why it was not there, and what came of each check."""
        found = {}
        for program in self.programs:
            if wanted and program.name not in wanted:
                continue
            reason = program.why_not()
            if reason:
                found[program.name] = {"skipped": reason}
                continue
            checks: dict[str, Any] = {}
            self._own = {}
            for title, check in self._checks(program).items():
                try:
                    checks[title] = check()
                except (RuntimeError, subprocess.SubprocessError, OSError) as error:
                    checks[title] = {"not driven": " ".join(str(error).split())[:400]}
                print(f"{program.name}, {title}: {json.dumps(checks[title], ensure_ascii=False)[:300]}", flush=True)
            found[program.name] = {"version": program.version(), "checks": checks}
        return found

    def _checks(self, program: Any) -> dict[str, Callable[[], dict[str, Any]]]:
        if isinstance(program, Exiftool):
            return {
                "tagloom's sidecars": lambda: self._to_program(program.read),
                "tagloom's keywords inside photos": lambda: self._inside(program),
                "tagloom's IPTC keywords": lambda: self._iptc(program),
                "its sidecars, read by tagloom": lambda: self._to_tagloom(program.write),
            }
        if isinstance(program, Exiv2):
            names = [name for name in NAMES if Path(name).suffix in program.formats]
            return {
                "tagloom's sidecars": lambda: self._to_program(program.read),
                "tagloom's keywords inside photos": lambda: self._inside(program),
                "its keywords inside photos, read by tagloom": lambda: self._to_tagloom(program.write, names),
            }

        def write(folder: Path, keywords: Keywords) -> None:
            program.change(folder, NAMES, keywords, {})

        return {
            "its own sidecars": lambda: self._to_itself(program),
            "tagloom's sidecars": lambda: self._to_program(program.read),
            "its sidecars, read by tagloom": lambda: self._to_tagloom(write),
            "there and back": lambda: self._round_trip(program),
        }

    def _folder(self, names: Iterable[str]) -> Path:
        self._n += 1
        folder = self._scratch / f"photos-{self._n}" / "photos"
        make_photos(folder, names)
        return folder

    def _tagloom(self, folder: Path, *steps: tuple[str, Any]) -> Keywords:
        done = subprocess.run(
            [sys.executable, str(CHILD), str(folder)],
            input=json.dumps(steps),
            env=os.environ | {"PYTHONPATH": str(self._source), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"tagloom failed: {done.stderr.strip()[-400:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        return {name: {normal(each) for each in several} for name, several in found.items()}

    def _written(self, **options: Any) -> Path:
        folder = self._folder(NAMES)
        labels = {case.name: (case.keywords, ()) for case in CASES}
        self._tagloom(folder, ("scan", None), ("label", labels), ("write", options))
        return folder

    def _to_itself(self, program: Darktable | Digikam) -> dict[str, Any]:
        """Let a program write sidecars and read them into a new library: what is lost there its format cannot hold."""
        given: Keywords = {case.name: {*case.keywords} for case in CASES} | {trip.name: trip.all for trip in TRIPS}
        folder = self._folder(given)
        program.change(folder, given, given, {})
        found = program.read(folder, given)
        score = self._scored(given, found)
        texts = {name: (folder / f"{name}.xmp").read_text(encoding="utf-8") for name in given}
        # A program may write more than it reads; tagloom is to read all of it.
        files = {name: found[name] | (packet_keywords(text) & given[name]) for name, text in texts.items()}
        self._own = {"given": given, "program": found, "tagloom": files}
        return score

    def _to_program(self, read: Callable[[Path, list[str]], Keywords]) -> dict[str, Any]:
        return self._compared(read(self._written(), NAMES))

    def _inside(self, program: Exiftool | Exiv2) -> dict[str, Any]:
        names = [name for name in NAMES if Path(name).suffix in _EMBEDDED]
        found = program.read(self._written(embed=True), names, embedded=True)
        return self._compared(found, names)

    def _iptc(self, program: Exiftool) -> dict[str, Any]:
        names = [name for name in NAMES if Path(name).suffix in (".jpg", ".tif")]
        found = program.iptc(self._written(embed=True, iptc=True), names)
        wanted = {case.name: {(level,) for level in levels_of(case.keywords)} for case in CASES if case.name in names}
        short = {
            name: {each for each in several if len(each[0].encode()) <= IPTC_LIMIT} for name, several in wanted.items()
        }
        score = self._scored(short, {name: {normal([each]) for each in several} for name, several in found.items()})
        long = [[name, list(each)] for name in wanted for each in sorted(wanted[name] - short[name])]
        return score | {"cannot hold": long}

    def _to_tagloom(self, write: Callable[[Path, Keywords], None], names: list[str] | None = None) -> dict[str, Any]:
        names = NAMES if names is None else names
        folder = self._folder(NAMES)
        write(folder, {case.name: {*case.keywords} for case in CASES if case.name in names})
        return self._compared(self._tagloom(folder, ("scan", None), ("import", None)), names, reader="tagloom")

    def _round_trip(self, program: Darktable | Digikam) -> dict[str, Any]:
        folder = self._folder(TRIP_NAMES)
        program.change(folder, TRIP_NAMES, {trip.name: {*trip.first} for trip in TRIPS}, {})
        renames = [("rename", trip.renamed) for trip in TRIPS if trip.renamed]
        labels = {trip.name: (trip.added, trip.removed) for trip in TRIPS if trip.added or trip.removed}
        self._tagloom(folder, ("scan", None), ("import", None), ("label", labels), *renames, ("write", {}))
        middle = program.read(folder, TRIP_NAMES)
        program.change(
            folder,
            TRIP_NAMES,
            {trip.name: {*trip.later_added} for trip in TRIPS if trip.later_added},
            {trip.name: {*trip.later_removed} for trip in TRIPS if trip.later_removed},
        )
        labels = {trip.name: (trip.again, ()) for trip in TRIPS if trip.again}
        known = self._tagloom(folder, ("import", None), ("label", labels), ("write", {}))
        return {
            "after tagloom's edits": self._scored({trip.name: trip.middle for trip in TRIPS}, middle),
            "tagloom, after its edits": self._scored({trip.name: trip.end for trip in TRIPS}, known, reader="tagloom"),
            "at the end": self._scored({trip.name: trip.end for trip in TRIPS}, program.read(folder, TRIP_NAMES)),
        }

    def _compared(
        self, found: Keywords, names: Iterable[str] | None = None, *, reader: str = "program"
    ) -> dict[str, Any]:
        wanted = {case.name: {*case.keywords} for case in CASES if names is None or case.name in names}
        return self._scored(wanted, found, reader=reader)

    def _scored(self, wanted: Keywords, found: Keywords, *, reader: str = "program") -> dict[str, Any]:
        """Return how many of the keywords that a program reads of its own files arrived, and what was lost or added."""
        n_wanted, n_read = 0, 0
        lost, added, impossible = [], [], []
        for name, several in sorted(wanted.items()):
            there = {normal(each) for each in found.get(name, set())}
            own_given = {normal(each) for each in self._own.get("given", {}).get(name, several)}
            own_read = self._own.get(reader, {}).get(name, own_given)
            for keyword in sorted(map(normal, several)):
                if keyword in own_given - own_read:
                    impossible.append([name, list(keyword)])
                    continue
                n_wanted += 1
                if keyword in there:
                    n_read += 1
                else:
                    lost.append([name, list(keyword)])
            # What a program makes of a keyword that it cannot hold is no addition of tagloom's.
            extra = there - {normal(each) for each in several} - (own_read - own_given)
            added += [[name, list(keyword)] for keyword in sorted(extra)]
        return {"wanted": n_wanted, "read": n_read, "lost": lost, "added": added, "cannot hold": impossible}


def run(checkout: Path, wanted: Iterable[str] = ()) -> dict[str, Any]:
    """Run all checks with a checkout's tagloom."""
    with tempfile.TemporaryDirectory(prefix="interop-") as scratch:
        return Check(checkout, Path(scratch)).run(wanted)


def show(keyword: Path_ | list[str]) -> str:
    """Return a keyword for a table."""
    text = "›".join(keyword)
    return text if len(text) <= 30 else f"{text[:24]}… ({len(text)})"
