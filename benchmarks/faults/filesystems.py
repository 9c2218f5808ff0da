"""Disks unlike the usual ones: one that knows no upper and lower case, and one that refuses locks, as networks do.

The program itself is run from `init` to `undo`. Each command works, or says in one line why not. What it
acknowledged is there at the end, and photos are untouched.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.faults.scene import SETTINGS, add_photos, hash_originals

SIZE = 64 << 20
N_PHOTOS = 8
DEADLINE = 120.0
# Locks of both kinds fail, everything else of these calls goes through.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
int flock(int fd, int operation) { errno = ENOLCK; return -1; }
static int pass(const char *name, int fd, int command, void *value) {
  switch (command) {
    case F_SETLK: case F_SETLKW: case F_GETLK:
    case F_OFD_SETLK: case F_OFD_SETLKW: case F_OFD_GETLK: errno = ENOLCK; return -1;
  }
  int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
  return next(fd, command, value);
}
int fcntl(int fd, int command, ...) {
  va_list list; va_start(list, command); void *value = va_arg(list, void *); va_end(list);
  return pass("fcntl", fd, command, value);
}
int fcntl64(int fd, int command, ...) {
  va_list list; va_start(list, command); void *value = va_arg(list, void *); va_end(list);
  return pass("fcntl64", fd, command, value);
}
"""


def run() -> dict[str, Any]:
    """Try both kinds of disk, and return what was found."""
    cases = {
        "no upper and lower case (exFAT)": _without_case(),
        "no locks": _without_locks(),
    }
    problems = [f"{name}: {text}" for name, case in cases.items() for text in case.pop("problems", [])]
    return {"cases": cases, "problems": problems}


def _without_case() -> dict[str, Any]:
    if os.geteuid() != 0 or not all(map(shutil.which, ("mkfs.exfat", "mount.exfat-fuse", "losetup"))):
        return {"skipped": "needs root, exfatprogs and exfat-fuse"}
    with tempfile.TemporaryDirectory() as scratch:
        try:
            with _exfat(Path(scratch)) as folder:
                return _story(folder, {}, upper=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return {"skipped": f"exFAT cannot be mounted here: {error}"}


@contextlib.contextmanager
def _exfat(scratch: Path) -> Iterator[Path]:
    image, folder = scratch / "image", scratch / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(SIZE)
    _quiet("mkfs.exfat", str(image))
    device = _quiet("losetup", "-f", "--show", str(image)).strip()
    try:
        _quiet("mount.exfat-fuse", device, str(folder))
        try:
            yield folder
        finally:
            _quiet("umount", str(folder))
    finally:
        _quiet("losetup", "-d", device)


def _quiet(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=DEADLINE).stdout


def _without_locks() -> dict[str, Any]:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return {"skipped": "needs Linux and a C compiler"}
    with tempfile.TemporaryDirectory() as scratch:
        source, library = Path(scratch, "locks.c"), Path(scratch, "locks.so")
        source.write_text(SHIM)
        _quiet(compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl")
        folder = Path(scratch, "disk")
        folder.mkdir()
        return _story(folder, {"LD_PRELOAD": str(library)}, upper=False)


def _story(disk: Path, environment: dict[str, str], *, upper: bool) -> dict[str, Any]:
    """Play a project from beginning to end on a disk."""
    import random

    folder = disk / "photos"
    folder.mkdir()
    names = [path.name for path in add_photos(folder, N_PHOTOS, random.Random(0))]
    before = hash_originals(folder)
    problems: list[str] = []
    codes: dict[str, int] = {}

    def tagloom(verb: str, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tagloom", verb, *arguments],
            cwd=folder,
            env=os.environ | SETTINGS | environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        codes[verb] = max(codes.get(verb, 0), done.returncode)
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            problems.append(f"{verb} ended with {done.returncode}: {done.stderr[-300:]!r}")
        elif done.returncode == 1 and done.stderr.count("tagloom: ") != 1:
            problems.append(f"{verb} failed without one line of error: {done.stderr[-300:]!r}")
        return done.stdout

    tagloom("init", ".")
    if codes["init"] == 0:
        tagloom("scan", "-q")
        for name in names:
            tagloom("label", name.upper() if upper and name == names[0] else name, "--add", "sea")
        tagloom("train", "-q")
        tagloom("write", "-q")
        n_written = len(list(folder.glob("*.xmp")))
        if codes["write"] == 0 and n_written != N_PHOTOS:
            problems.append(f"{n_written} of {N_PHOTOS} sidecars were written")
        tagloom("undo")
        if codes["undo"] == 0 and list(folder.glob("*.xmp")):
            problems.append("sidecars are left after undo")
        tagloom("check")
        tags = json.loads(tagloom("tags", "--json") or '{"tags": []}')["tags"]
        n_yes = sum(tag["n_yes"] for tag in tags)
        if codes["label"] == 0 and n_yes != N_PHOTOS:
            problems.append(f"{n_yes} of {N_PHOTOS} acknowledged labels are there")
    if hash_originals(folder) != before:
        problems.append("photos were changed")
    return {"codes": codes, "problems": problems}
