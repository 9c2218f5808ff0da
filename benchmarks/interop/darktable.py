"""darktable, driven by its own Lua interface; each time with a new library, so that it knows what files say alone."""

import contextlib
import re
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.interop.cases import Keywords, normal
from benchmarks.interop.desktop import missing, screen, started

DEADLINE = 60.0
TRIES = 3  # it now and then stops while it starts
_OWN = "darktable"  # tags of its own, such as darktable|format|jpg
_SCRIPT = """
local dt = require "darktable"
local add, remove = {}, {}
%s
local function hex(text) return (text:gsub(".", function(c) return string.format("%%02x", c:byte()) end)) end
dt.database.import(%s)
for i = 1, 300 do if #dt.database >= %d then break end dt.control.sleep(100) end
dt.control.sleep(1500)
local out = io.open(%s, "w")
for _, image in ipairs(dt.database) do
  for _, name in ipairs(remove[image.filename] or {}) do
    for _, tag in ipairs(dt.tags.get_tags(image)) do
      if tag.name == name then dt.tags.detach(tag, image) end
    end
  end
  for _, name in ipairs(add[image.filename] or {}) do dt.tags.attach(dt.tags.create(name), image) end
  out:write(hex(image.filename))
  for _, tag in ipairs(dt.tags.get_tags(image)) do out:write(" ", hex(tag.name)) end
  out:write("\\n")
end
dt.control.sleep(1500)
out:write("done\\n")
out:close()
"""


class Darktable:
    """darktable on photos and the sidecars beside them."""

    name = "darktable"

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch

    def why_not(self) -> str:
        """Return why it cannot be used; empty if it can."""
        return missing("darktable", "Xvfb", "dbus-daemon")

    def version(self) -> str:
        """Return its version."""
        done = subprocess.run(["darktable-cli", "--version"], capture_output=True, text=True, check=False)
        found = re.search(r"darktable-cli ([0-9.]+)", done.stdout)
        return found[1] if found else ""

    def read(self, folder: Path, names: Iterable[str]) -> Keywords:
        """Return the tags that darktable gives to photos when it imports them."""
        return self._run(folder, list(names), {}, {})

    def change(self, folder: Path, names: Iterable[str], add: Keywords, remove: Keywords) -> None:
        """Import photos, attach and detach tags; darktable writes its sidecars by itself."""
        self._run(folder, list(names), add, remove)

    def _run(self, folder: Path, names: list[str], add: Keywords, remove: Keywords) -> Keywords:
        for _ in range(TRIES - 1):
            with contextlib.suppress(TimeoutError):
                return self._try(folder, names, add, remove)
        return self._try(folder, names, add, remove)

    def _try(self, folder: Path, names: list[str], add: Keywords, remove: Keywords) -> Keywords:
        home = self._scratch / f"darktable-{len(list(self._scratch.glob('darktable-*')))}"
        home.mkdir()
        tables = "".join(
            f"{which}[{lua_text(name)}] = {{{', '.join(lua_text('|'.join(each)) for each in sorted(several))}}}\n"
            for which, given in (("add", add), ("remove", remove))
            for name, several in given.items()
        )
        text = _SCRIPT % (tables, lua_text(str(folder)), len(names), lua_text(str(home / "out.txt")))
        found: Keywords = {}
        for line in run_lua(home, text):
            name, *tags = (bytes.fromhex(word).decode() for word in line.split())
            found[name] = {normal(tag.split("|")) for tag in tags if tag.split("|")[0] != _OWN}
        return found


def run_lua(home: Path, text: str, deadline: float = DEADLINE) -> list[str]:
    """Run a script in darktable with a new library; return the lines before ``done`` that it leaves in ``out.txt``."""
    config, out, script = home / "config", home / "out.txt", home / "script.lua"
    config.mkdir(parents=True)
    script.write_text(text, encoding="utf-8")
    command = ["darktable", "--library", str(home / "library.db"), "--configdir", str(config)]
    command += ["--cachedir", str(home / "cache"), "--disable-opencl", "--conf", "write_sidecar_files=after edit"]
    command += ["--luacmd", f"dofile({lua_text(str(script))})"]
    with screen() as display, started(command, home, display, home / "log.txt"):
        end = time.monotonic() + deadline
        while not (out.is_file() and out.read_text().endswith("done\n")):
            if time.monotonic() > end:
                raise TimeoutError(f"darktable did not answer within {deadline:g} s")
            time.sleep(0.2)
    return out.read_text().splitlines()[:-1]


def lua_text(text: str) -> str:
    """Return a Lua string literal."""
    return '"' + "".join(f"\\{byte:03d}" for byte in text.encode()) + '"'
