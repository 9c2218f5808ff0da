"""Keywords of videos in real programs: ``python -m benchmarks.interop.videos``.

tagloom tags made-up videos in five containers and writes sidecars. digiKam, which is told to read sidecars, scans the
folder; exiftool and exiv2 read the sidecars; darktable is asked, too, and imports no videos.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.interop.cases import Keywords, Path_, make_photos, normal
from benchmarks.interop.darktable import Darktable
from benchmarks.interop.digikam import Digikam
from benchmarks.interop.serving import record
from benchmarks.interop.tools import Exiftool, Exiv2
from tagloom.core import Keyword
from tagloom.datasets.clips import make_clips

KEYWORDS: dict[str, tuple[Path_, ...]] = {
    "plain.mp4": (("dog",), ("two words",)),
    "with  spaces (1).mov": (("Places", "Italy", "Rome"),),
    "Straße 日本.mkv": (("Köln",), ("日本", "京都")),
    "old.avi": (("Animals", "Bat"), ("Sport", "Bat")),
    "page.webm": (("R&D",), ('"quoted"',)),
}
CODECS = {".avi": ("mpeg4", "mp3"), ".webm": ("libvpx", "libopus")}
PHOTO = "photo.jpg"


def run(folder: Path) -> dict[str, Any]:
    """Return which keywords each program reads of videos."""
    from tagloom import Project

    make_photos(folder, [PHOTO])
    clips = make_clips(len(KEYWORDS), size=(160, 96), seconds=2, random_state=0)
    for index, name in enumerate(KEYWORDS):
        picture, sound = CODECS.get(Path(name).suffix, ("libx264", "aac"))
        clips.write(index, folder / name, picture_codec=picture, sound_codec=sound, sound_rate=48_000)
    with Project.init(folder, flags={"descriptors": "color", "n_workers": 1}) as project:
        n_videos = project.scan().n_videos
        for name, several in KEYWORDS.items():
            project.label(folder / name, add=[Keyword(path).text for path in several])
        project.label(folder / PHOTO, add=["dog"])
        project.write()
    wanted = {name: {normal(path) for path in several} for name, several in KEYWORDS.items()}
    found: dict[str, Any] = {"videos": n_videos, "wanted": sum(map(len, wanted.values()))}
    found["programs"] = {}
    for program in (Digikam(folder.parent), Darktable(folder.parent), Exiftool(), Exiv2()):
        reason = program.why_not()
        if reason:
            found["programs"][program.name] = {"skipped": reason}
            continue
        names = [*KEYWORDS, PHOTO]
        try:
            told = program.read(folder, names)
        except (RuntimeError, TimeoutError, subprocess.SubprocessError, OSError) as error:
            found["programs"][program.name] = {"not driven": " ".join(str(error).split())[:400]}
            continue
        found["programs"][program.name] = {"version": program.version(), **scored(wanted, told)}
    return found


def scored(wanted: Keywords, found: Keywords) -> dict[str, Any]:
    """Return how many videos there are, how many of their keywords, which were lost, and which were added."""
    pairs = {(name, path) for name, several in wanted.items() for path in several}
    there = {(name, normal(path)) for name, several in found.items() for path in several if name != PHOTO}
    read = len(pairs & there)
    lost, added = ([[name, list(path)] for name, path in sorted(each)] for each in (pairs - there, there - pairs))
    imported = sum(name in found for name in wanted)
    photo = sorted(map(list, found.get(PHOTO, set())))
    return {"imported": imported, "read": read, "lost": lost, "added": added, "keywords of the photo": photo}


def main(argv: list[str] | None = None) -> int:
    """Run the check and record it."""
    parser = argparse.ArgumentParser(prog="benchmarks.interop.videos", description=__doc__)
    parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="interop-videos-") as scratch, contextlib.chdir(scratch):
        found = run(Path(scratch) / "photos")
    programs = found.pop("programs")
    told = {name: one["version"] for name, one in programs.items() if "version" in one}
    parts = [
        f"{name} {one['read'] if one['imported'] else 'imports no videos'}"
        for name, one in programs.items()
        if "read" in one
    ]
    record(
        "videos",
        "sidecars of videos",
        "tagloom write",
        told,
        f"the real programs, {found['videos']} made-up videos (mp4, mov, mkv, avi, webm)",
        f"of {found['wanted']} keywords each reads: {', '.join(parts)}",
        **found,
        details=programs,
    )
    return 0 if programs.get("digikam", {}).get("read") == found["wanted"] else 1


if __name__ == "__main__":
    sys.exit(main())
