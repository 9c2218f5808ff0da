"""Hide programs: a PATH on which all is found but for them.

``python tests/hiding.py FOLDER [TOOL …]`` fills a folder with links and prints such a PATH, without the tools named or
without all of `TOOLS`.
"""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

#: Tools that a machine may lack, by the name of their fixture, and the programs that each is started by.
TOOLS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "darktable": ("darktable", "darktable-cli"),
    "digikam": ("digikam", "showfoto"),
    "exiftool": ("exiftool",),
    "exiv2": ("exiv2",),
    "ffmpeg": ("ffmpeg", "ffprobe"),
    "node": ("node", "nodejs"),
    "strace": ("strace",),
}


def find_tool(name: str) -> str | None:
    """Return the path of a tool's program on PATH, or None."""
    return next(filter(None, map(shutil.which, TOOLS[name])), None)


def path_without(tools: Iterable[str], folder: Path, path: str) -> str:
    """Return a PATH without some tools.

    A folder that holds one of their programs is replaced by one of links to all else in it.

    Parameters
    ----------
    tools : iterable of str
        Names in `TOOLS`.
    folder : Path
        Where folders of links are made.
    path : str
        The PATH to begin with.
    """
    hidden = {program for tool in tools for program in TOOLS[tool]}
    places = []
    for place in path.split(os.pathsep):
        if not any(os.path.lexists(os.path.join(place, program)) for program in hidden):
            places.append(place)
            continue
        links = folder / os.path.realpath(place).strip(os.sep).replace(os.sep, "-")
        if not links.exists():
            links.mkdir(parents=True)
            for entry in os.scandir(place):
                if entry.name not in hidden:
                    (links / entry.name).symlink_to(os.path.abspath(entry.path))
        places.append(str(links))
    return os.pathsep.join(dict.fromkeys(places))


if __name__ == "__main__":
    sys.stdout.write(path_without(sys.argv[2:] or TOOLS, Path(sys.argv[1]), os.environ["PATH"]) + "\n")
