"""A small project to disturb, and what is known about it from outside."""

import hashlib
import os
import random
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

from tagloom.core.keywords import Keyword
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.project.project import Project

TAGS = ("sea", "sand", "snow", "dog", "cat", "Places|Coast", 'Ünïcode, "quoted"', "night")
# Cheap settings: what is looked at is what is on the disk when, not how good the model is.
SETTINGS = {
    "TAGLOOM_DESCRIPTORS": "color",
    "TAGLOOM_METHOD": "ridge",
    "TAGLOOM_N_WORKERS": "1",
    "TAGLOOM_N_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
LARGE_SIDE = 520  # a photo too large for the journal's table of contents
JOURNALS = ("wal", "delete")
FOREIGN = b"""<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4"/></rdf:RDF></x:xmpmeta>
<?xpacket end='w'?>"""


def use_settings(journal: str) -> None:
    """Put the cheap settings and a journal into this process's environment, for all projects that it opens."""
    os.environ.update(SETTINGS)
    os.environ["TAGLOOM_JOURNAL"] = journal


def add_photos(folder: Path, n: int, rng: random.Random, *, side: int = 16) -> list[Path]:
    """Save new photos, each of other content, and return their paths."""
    made = []
    for _ in range(n):
        pixels = np.random.default_rng(rng.getrandbits(63)).integers(0, 256, size=(side, side, 3), dtype=np.uint8)
        path = folder / f"photo-{rng.getrandbits(48):012x}.jpg"
        Image.fromarray(pixels).save(path, quality=95)
        made.append(path)
    return made


def make_scene(folder: Path, *, n_photos: int = 16, seed: int = 0) -> Path:
    """Make a folder of photos with a project: scanned, labelled, trained, some keywords written.

    Parameters
    ----------
    folder : Path
        The folder of photos to make.
    n_photos : int, default=16
        How many.
    seed : int, default=0
        Decides pixels, names and labels.
    """
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    photos = [*add_photos(folder, n_photos - 1, rng), *add_photos(folder, 1, rng, side=LARGE_SIDE)]
    for path in photos[::3]:
        path.with_name(f"{path.name}.xmp").write_bytes(FOREIGN)
    for path in photos[1::3]:
        own = plan_sidecar(None, add=[Keyword.flat("mine")]).after
        path.with_name(f"{path.name}.xmp").write_bytes(own or b"")
    use_settings("wal")
    with Project.init(folder) as project:
        project.scan()
        for number, path in enumerate(photos):
            project.label(path.name, add=TAGS[number % len(TAGS)], base=folder)
        project.label(photos[-1].name, add=TAGS, base=folder)
        project.label(photos[0].name, remove=TAGS[1], base=folder)
        project.train()
        project.write(photos=[path.name for path in photos[: n_photos // 2]], base=folder)
    return folder


def copy_scene(scene: Path, target: Path) -> Path:
    """Copy a scene, and say in the copy where its photos are now."""
    shutil.copytree(scene, target)
    with Project.open(target) as project:
        project.trust()  # as the user who copied it would
        project.move_root(target)
        project.scan()
    return target


def hash_originals(folder: Path) -> dict[str, str]:
    """Return the digest of every photo, by name."""
    found = sorted(folder.glob("*.jpg"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def read_sidecars(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every sidecar, by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.xmp"))}
