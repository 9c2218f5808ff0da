"""A truly full disk: a small tmpfs with all but so many bytes taken, at many levels, for each verb.

The program itself is run, as a person would. It must say what is wrong in clear lines and end with an exit code other
than 0, or do its job; nothing that was there may be lost; with space again, the store opens, is sound, and the same
command works.
"""

import contextlib
import os
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from benchmarks.faults.scene import copy_scene, make_scene, use_settings
from benchmarks.faults.server import Outcome, Server
from benchmarks.faults.tasks import available, prepare
from benchmarks.faults.verify import Knowledge, verify
from tagloom.project.project import Project

MEBI = 1 << 20
SIZE = 32 * MEBI
PAGE = 4096
N_LEVELS = 20
MAX_PROBLEMS = 40
# Done, these are refused the second time, and rightly so.
NOT_TWICE = ("undo", "unembed", "tags")
_RANDOM = re.compile(r"[0-9a-f]{12,}|(?<=-)[0-9a-f]{12}|\d+-\d+")
COMMANDS = {
    "scan": ("scan", "--quiet"),
    "label": ("label", "--add", "new", "--add", "Places|New", "{photo}"),
    "train": ("train", "--quiet"),
    "write": ("write", "--quiet"),
    "undo": ("undo", "{batch}", "--quiet"),
    "import": ("import", "{source}", "--absent-means", "unknown", "--quiet"),
    "tags": ("tags", "merge", "{old}", "{into}", "--quiet"),
    "backup": ("backup", "{target}", "--quiet"),
    "embed": ("write", "--embed", "--quiet", "{photos[0]}", "{photos[1]}"),
    "unembed": ("undo", "{batch}", "--quiet"),
}


def why_not() -> str:
    """Return why no small disk can be mounted here; empty if one can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "mounting a tmpfs is not permitted here: it needs root"
    with tempfile.TemporaryDirectory() as scratch:
        try:
            with _small_disk(Path(scratch)):
                return ""
        except (OSError, subprocess.CalledProcessError):
            return "mounting a tmpfs is not permitted here"


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[Path]:
    """Mount a small tmpfs, and unmount it whatever happens."""
    mount = place / "disk"
    mount.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={SIZE},mode=700"]
    subprocess.run(["mount", *options, "tmpfs", str(mount)], check=True, capture_output=True)
    try:
        yield mount
    finally:
        subprocess.run(["umount", "--lazy", str(mount)], check=True, capture_output=True)


@contextlib.contextmanager
def _filled(mount: Path, free: int) -> Iterator[None]:
    """Take all space but so much, in one call, and give it back."""
    ballast = mount / "ballast"
    taken = _free(mount) - free
    descriptor = os.open(ballast, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        if taken > 0:
            os.posix_fallocate(descriptor, 0, taken)
        yield
    finally:
        os.close(descriptor)
        ballast.unlink()


def _free(mount: Path) -> int:
    figures = os.statvfs(mount)
    return figures.f_bavail * figures.f_frsize


class _Case:
    """One verb on a small disk."""

    def __init__(self, verb: str, mount: Path, place: Path, server: Server) -> None:
        self._verb, self._mount, self._place, self._server = verb, mount, place, server
        self.folder = mount / "photos"
        self._kept = place / f"prepared-{verb}"
        self._options: dict[str, Any] = {}
        self._before: Knowledge | None = None
        self.lines: Counter[str] = Counter()

    def prepare(self, scene: Path) -> int:
        """Make a scene in which the verb has something to do; return space with which it works."""
        copy_scene(scene, self.folder)
        self._before = Knowledge.of(self.folder)
        self._options = prepare(self._verb, self.folder, random.Random(self._verb), n_new=8)
        self._options["photo"] = min(path.name for path in self.folder.glob("*.jpg"))
        shutil.copytree(self.folder, self._kept)
        return self._need()

    def _need(self) -> int:
        """Return space with which the verb works, at most twice as much as it needs."""
        free = PAGE
        while free <= SIZE // 4:
            self._renew()
            with _filled(self._mount, free):
                code, errors = self._command()
            if code == 0:
                return free
            free *= 2
        raise RuntimeError(f"{self._verb} fails with {free} bytes: {errors}")

    def at(self, free: int) -> tuple[int, list[str]]:
        """Run the verb with so much space; return the exit code and what is wrong."""
        self._renew()
        known = Knowledge.of(self.folder)
        known.expect(self._verb, self._options, self._before)
        with _filled(self._mount, free):
            code, errors = self._command()
            problems = _check_lines(code, errors)
        self.lines.update(_plain(line, self._mount) for line in errors if code and line.startswith("tagloom: "))
        self._hear(known, code)
        problems += verify(known)
        again, errors = self._command()
        if again and not (code == 0 and self._verb in NOT_TWICE):
            problems.append(f"run again with space, it ends with {again}: {errors}")
        self._hear(known, again)
        return code, [*problems, *(f"after that: {text}" for text in verify(known))]

    def _renew(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder)

    def _hear(self, known: Knowledge, code: int) -> None:
        """Say what may be so after an exit code."""
        if self._verb == "train":
            known.models |= {-1}
        elif self._verb == "label":
            with Project.open(self.folder) as project:
                (photo,) = project.store.photos.find([self._options["photo"].encode()]).values()
            for tag in ("new", "Places|New"):
                known.states[int(photo), tag] = {1} if code == 0 else {-1}
        else:
            known.hear(self._verb, Outcome(code=code, finished=code == 0))

    def _command(self) -> tuple[int, list[str]]:
        arguments = [part.format(**self._options) for part in COMMANDS[self._verb]]
        output, errors = self._place / "output.txt", self._place / "errors.txt"
        outcome = self._server.ask(folder=self.folder, arguments=arguments, stdout=output, stderr=errors)
        return outcome.code, errors.read_text(encoding="utf-8", errors="replace").splitlines()


def _plain(line: str, mount: Path) -> str:
    """Return a line without what is another one each time."""
    return _RANDOM.sub("…", line.replace(str(mount), ""))


def _check_lines(code: int, errors: list[str]) -> list[str]:
    if code == 0:
        return [f"exit code 0, and yet: {line}" for line in errors]
    problems = [] if code == 1 else [f"exit code {code}"]
    if not errors:
        problems.append("it failed without a word")
    if any(line.startswith("Traceback") for line in errors):
        return [*problems, f"a traceback that ends in: {errors[-1]}"]
    if len(errors) > 1:
        problems.append(f"{len(errors)} lines where one says it: {errors[1]}")
    return problems + [f"no clear line: {line}" for line in errors if not line.startswith("tagloom: ")]


def run(n: int = N_LEVELS, verbs: Collection[str] | None = None) -> dict[str, Any]:
    """Try every verb, or some, at so many fill levels, and return what was found."""
    reason = why_not()
    if reason:
        return {"skipped": reason}
    use_settings("wal")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        scene = make_scene(place / "scene")
        with Server(place / "server.txt") as server, _small_disk(place) as mount:
            cases = {verb: _levels(_Case(verb, mount, place, server), scene, n) for verb in verbs or available()}
    problems = [f"{verb}: {text}" for verb, case in cases.items() for text in case.pop("problems")]
    return {"n": n, "cases": cases, "problems": problems[:MAX_PROBLEMS]}


def _levels(case: _Case, scene: Path, n: int) -> dict[str, Any]:
    enough = case.prepare(scene)
    levels = sorted({round(enough * number / (n - 1) / PAGE) * PAGE for number in range(n)})
    # A verb that needs fewer pages than levels is tried at every page there is, and beyond.
    levels += [levels[-1] + PAGE * number for number in range(1, n + 1 - len(levels))]
    failed: list[int] = []
    worked: list[int] = []
    problems: list[str] = []
    for free in levels:
        code, found = case.at(free)
        (failed if code else worked).append(free)
        problems += [f"with {free} bytes free: {text}" for text in found]
    if not failed:
        problems.append("it never failed: the disk was not full enough to show anything")
    shutil.rmtree(case.folder)
    return {
        "bytes_enough": enough,
        "n_levels": len(levels),
        "n_failed": len(failed),
        "n_worked": len(worked),
        "most_free_when_failed": max(failed, default=None),
        "lines": dict(case.lines.most_common(3)),
        "problems": problems,
    }
