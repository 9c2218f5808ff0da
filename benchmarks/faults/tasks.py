"""What each verb is given to do: for kills, traces and full disks alike."""

import os
import random
import shutil
from pathlib import Path
from typing import Any

from benchmarks.faults.scene import add_photos
from tagloom.project.project import Project

VERBS = ("scan", "label", "train", "write", "undo", "import", "tags", "backup", "embed", "unembed")
TITLES = {
    "write": "write",
    "undo": "undo of write",
    "tags": "tags rename, merge",
    "embed": "write --embed",
    "unembed": "undo of write --embed",
}
# What an undo does to files depends on what was written: sidecars, or photos.
CALLS = {"unembed": "undo"}
NEED_EXIFTOOL = ("embed", "unembed")
N_EMBEDDED = 2


def available() -> tuple[str, ...]:
    """Return the verbs that can be tried here: keywords go into photos only with exiftool."""
    has_exiftool = shutil.which("exiftool") is not None
    return tuple(verb for verb in VERBS if has_exiftool or verb not in NEED_EXIFTOOL)


def prepare(verb: str, folder: Path, rng: random.Random, *, n_new: int = 3) -> dict[str, Any]:
    """Give a verb something to do in a project at rest, and return what to ask for.

    Parameters
    ----------
    verb : str
        One of `VERBS`.
    folder : Path
        The photos.
    rng : random.Random
        Decides everything.
    n_new : int, default=3
        New photos, for the verbs that read them.
    """
    mark = f"{rng.getrandbits(48):012x}"
    if verb in ("scan", "train"):
        add_photos(folder, n_new, rng)
    if verb == "scan":
        _move_one(folder, mark, rng)
    with Project.open(folder) as project:
        if verb == "train" and n_new:
            project.scan()
        if verb in ("write", "undo", "embed", "unembed"):
            chosen = _to_embed(project, folder, rng) if "embed" in verb else _some(project, rng, 6)
            words = [f"{verb}-{mark}", "Places", mark]
            project.label(chosen, base=folder, add=[words[0], "|".join(words[1:])])
        if verb == "undo":
            return {"batch": project.write().batch}
        if verb == "embed":
            return {"photos": chosen, "words": words}
        if verb == "unembed":
            return {
                "batch": project.write(photos=chosen, base=folder, embed=True).batch,
                "photos": chosen,
                "words": words,
            }
        if verb == "import":
            return _labels_file(project, folder, mark, rng)
        if verb == "tags":
            return _tags(project, mark, rng)
    return {"target": str(folder / f"backup-{mark}.sqlite")} if verb == "backup" else {}


def _move_one(folder: Path, mark: str, rng: random.Random) -> None:
    photos = sorted(folder.glob("*.jpg"))
    alone = [path for path in photos if not path.with_name(f"{path.name}.xmp").exists()]
    moved = rng.choice(alone or photos)
    moved.rename(moved.with_name(f"moved-{mark}.jpg"))


def _some(project: Project, rng: random.Random, n: int) -> list[int]:
    ids = project.store.photos.table(state="present").ids.tolist()
    return rng.sample(ids, min(n, len(ids)))


def _to_embed(project: Project, folder: Path, rng: random.Random) -> list[str]:
    """Return names of some photos that are where they were when they were read, the largest one among them."""
    table = project.store.photos.table(state="present")
    names = [os.fsdecode(path) for path, verdict in zip(table.paths, table.verdicts, strict=True) if verdict == "ok"]
    there = [name for name in names if (folder / name).is_file()]
    there.sort(key=lambda name: (folder / name).stat().st_size)
    return sorted([there[-1], *rng.sample(there[:-1], N_EMBEDDED - 1)])


def _labels_file(project: Project, folder: Path, mark: str, rng: random.Random) -> dict[str, Any]:
    """Write a labels file of pairs of which nothing is said yet: two new tags, each on some photos."""
    table = project.store.photos.table(_some(project, rng, 8))
    pairs = [
        (number, os.fsdecode(path), f"import-{mark}-{place % 2}")
        for place, (number, path) in enumerate(zip(table.ids.tolist(), table.paths, strict=True))
    ]
    source = folder / f"labels-{mark}.csv"
    source.write_text("file,tags\n" + "".join(f"{name},{tag}\n" for _, name, tag in pairs), encoding="utf-8")
    return {"source": str(source), "pairs": [(number, tag) for number, _, tag in pairs]}


def _tags(project: Project, mark: str, rng: random.Random) -> dict[str, Any]:
    """Make two tags on different photos: the first is to get another name, and then to become the second."""
    old, new, into = (f"{name}-{mark}" for name in ("old", "new", "into"))
    photos = _some(project, rng, 6)
    project.label(photos[:3], add=old)
    project.label(photos[3:], add=into)
    return {"old": old, "new": new, "into": into, "photos": photos[:3]}
