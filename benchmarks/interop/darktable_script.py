"""The script of ``connectors/darktable`` in the real darktable: ``python -m benchmarks.interop.darktable_script``.

Under Xvfb darktable imports made-up photos, attaches tagloom's suggestions, accepts those of one half of the photos,
rejects those of the other half, and tells tagloom. Then tagloom is asked what it knows, and reads the sidecars that
darktable wrote.
"""

import argparse
import contextlib
import csv
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.interop.darktable import TRIES, Darktable, lua_text, run_lua
from benchmarks.interop.serving import PATIENCE, record
from tagloom.core import Keyword

N_PHOTOS, N_FEW = 48, 12
HARD = 'Places|it\'s "{}" & more'
THRESHOLD = 0.45  # low, for many suggestions
SCRIPT = ROOT / "connectors" / "darktable" / "tagloom.lua"
_LUA = """
local dt = require "darktable"
local out = io.open(%(out)s, "w")
local function hex(text) return (text:gsub(".", function(c) return string.format("%%02x", c:byte()) end)) end
local ok, why = pcall(function()
  local M = dofile(%(script)s)
  dt.preferences.write("tagloom", "project", "directory", %(project)s)
  dt.preferences.write("tagloom", "command", "string", %(command)s)
  dt.database.import(%(project)s)
  for i = 1, 300 do if #dt.database >= %(n)d then break end dt.control.sleep(100) end
  dt.control.sleep(1500)
  local all, first, second = {}, {}, {}
  for _, image in ipairs(dt.database) do all[#all + 1] = image end
  table.sort(all, function(a, b) return a.filename < b.filename end)
  for i, image in ipairs(all) do table.insert(i %% 2 == 1 and first or second, image) end
  local function tell(title)
    for _, image in ipairs(all) do
      for _, tag in ipairs(dt.tags.get_tags(image)) do
        out:write(title, " ", hex(image.filename), " ", hex(tag.name), "\\n")
      end
    end
  end
  out:write("n attached ", M.attach(all), "\\n")
  tell("attached")
  out:write("n attached-again ", M.attach(all), "\\n")
  out:write("n one ", M.accept({ table.unpack(all, #all - %(few)d + 1) }, %(one)s), "\\n")
  out:write("n accepted ", M.accept(first), "\\n")
  out:write("n rejected ", M.reject(second), "\\n")
  tell("decided")
  out:write("n told ", M.sync(all), "\\n")
  out:write("n told-again ", M.sync(all), "\\n")
  out:write("n attached-last ", M.attach(all), "\\n")
  tell("end")
  dt.control.sleep(1500)
end)
if not ok then out:write("error ", hex(tostring(why)), "\\n") end
out:write("done\\n")
out:close()
"""
Pairs = set[tuple[str, str]]


def run(folder: Path) -> dict[str, Any]:
    """Return how many pairs of photo and tag are where they should be."""
    from tagloom import Project
    from tagloom.datasets import write_scenes

    os.environ |= {"TAGLOOM_CONFIG": str(folder / "config"), "OMP_NUM_THREADS": "1"}
    photos = folder / "it's photos"
    write_scenes(photos, N_PHOTOS, size=(96, 64), labeled=0.5, random_state=0)
    with Project.init(photos, flags={"descriptors": "color,edges", "method": "ridge", "n_workers": 1}) as project:
        project.scan()
        project.import_keywords(photos / "labels.csv")
        for tag in project.tags():
            project.rename_tag(tag.text, HARD.format(tag.text))
        project.train()
    tagloom = [sys.executable, "-P", "-m", "tagloom"]
    command = [*tagloom, "suggest", "--threshold", str(THRESHOLD), "--remember", "-q", "--project", str(photos)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    before = known(folder, photos)
    program = folder / "the tagloom"  # a name with a space, as it may have
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m tagloom "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    one = sorted(tag for _, tag in before["suggested"])[0]
    lines = driven(folder, photos, program, one)
    counts = {words[1]: int(words[2]) for words in lines if words[0] == "n"}
    seen: dict[str, Pairs] = {}
    for title, *hexes in lines:
        if title in ("attached", "decided", "end"):
            photo, tag = (bytes.fromhex(word).decode() for word in hexes)
            seen.setdefault(title, set()).add((photo, tag))
    after = known(folder, photos)
    names = sorted(path.name for path in photos.glob("*.jpg"))
    wanted = {
        pair for pair in before["suggested"] if pair[0] in names[::2] or (pair[0] in names[-N_FEW:] and pair[1] == one)
    }
    unwanted = before["suggested"] - wanted
    with Project.open(photos) as project:
        project.scan()
        project.import_from_photos()
        tags = {tag.text for tag in project.tags()}
    return {
        "counts": counts,
        "suggested": len(before["suggested"]),
        "attached as suggested": {(a, b) for a, b in seen["attached"] if b.startswith("tagloom|")}
        == {(a, f"tagloom|suggested|{b}") for a, b in before["suggested"]},
        "accepted": len(wanted),
        "rejected": len(unwanted),
        "tagloom knows what was accepted": wanted <= after["accepted"],
        "tagloom knows what was rejected": unwanted <= after["rejected"] and not unwanted & after["accepted"],
        "earlier labels stay": before["accepted"] <= after["accepted"] and before["rejected"] <= after["rejected"],
        "no mark is left in darktable": not {pair for pair in seen["end"] if pair[1].startswith("tagloom|")},
        "no mark became a keyword": not {tag for tag in tags if tag.startswith("tagloom")},
    }


def driven(folder: Path, photos: Path, program: Path, one: str) -> list[list[str]]:
    """Run darktable; it now and then stops while it starts."""
    for number in range(TRIES):
        home = folder / f"darktable-{number}"
        home.mkdir()
        values = {"out": home / "out.txt", "script": SCRIPT, "project": photos, "command": program, "one": one}
        text = _LUA % ({name: lua_text(str(value)) for name, value in values.items()} | {"n": N_PHOTOS, "few": N_FEW})
        with contextlib.suppress(TimeoutError):
            lines = [line.split() for line in run_lua(home, text, PATIENCE)]
            for title, *words in lines:
                if title == "error":
                    raise RuntimeError(bytes.fromhex(words[0]).decode(errors="replace"))
            return lines
    raise RuntimeError("darktable did not answer")


def known(folder: Path, photos: Path) -> dict[str, Pairs]:
    """Return pairs of photo and tag by what tagloom says of them."""
    target = folder / "known.tsv"
    target.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-P",
        "-m",
        "tagloom",
        "export",
        str(target),
        "--uncalibrated",
        "-q",
        "--project",
        str(photos),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found: dict[str, Pairs] = {"accepted": set(), "rejected": set(), "suggested": set()}
    with open(target, encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            tag = row["tag"].removeprefix("!") if row["source"] == "rejected" else row["tag"]
            found[row["source"]].add((row["file"], Keyword.parse(tag).text))
    return found


def main(argv: list[str] | None = None) -> int:
    """Run the check and record it."""
    parser = argparse.ArgumentParser(prog="benchmarks.interop.darktable_script", description=__doc__)
    parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="darktable-script-") as scratch:
        program = Darktable(Path(scratch))
        reason = program.why_not()
        if reason:
            parser.error(reason)
        found = run(Path(scratch))
        told = program.version()
    is_right = all(value for value in found.values() if isinstance(value, bool))
    record(
        "darktable_script",
        "darktable script",
        'require "tagloom"',
        {"darktable": told},
        f"the real program under Xvfb, {N_PHOTOS} made-up photos",
        f"{found['suggested']} suggestions attached, {found['accepted']} accepted, {found['rejected']} rejected; "
        + ("tagloom knows all of them" if is_right else "NOT all arrived"),
        **found,
    )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
