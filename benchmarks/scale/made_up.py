"""Made-up photos: embeddings from a mixture whose parts share tags, and colours that say a little of the same."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.features.descriptor import BaseDescriptor
from tagloom.project.project import Project

N_TAGS, SEED = 100, 0
LATENT, PARTS, BLOCK = 24, 1000, 20_000
GROUPS = {"deep": 512, "color": 64}
#: Photos whose tags decide where a tag begins: the rest has it as often.
N_REFERENCE = 10_000
#: Of every project.
FLAGS = {"descriptors": "deep,color", "n_threads": 1}


class MadeUp(BaseDescriptor):
    """Columns of a known size under the name of a group; computed by nobody."""

    name, version, renditions = "made-up", 1, ()
    parameters: ClassVar[dict[str, Any]] = {}
    outputs: ClassVar[dict[str, int]] = {}

    def compute(self, photos: Sequence[Any]) -> NDArray[np.float32]:
        """Refuse: all photos have their columns."""
        raise NotImplementedError(f"{len(photos)} photos have no made-up features")


class Deep(MadeUp):
    """In the place of the network's."""

    name, outputs = "deep", {"deep": GROUPS["deep"]}


class Color(MadeUp):
    """In the place of the colours."""

    name, outputs = "color", {"color": GROUPS["color"]}


#: For `tagloom.features.registry`, while the benchmark runs.
DESCRIPTORS = {"deep": f"{__name__}:Deep", "color": f"{__name__}:Color"}


def blocks(n: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int8]]]:
    """Yield embeddings, colours and tags of n photos, some at a time; the same first ones for any n."""
    generator = np.random.default_rng(SEED)

    def normal(*shape: int) -> NDArray[np.float32]:
        return generator.normal(size=shape).astype(np.float32)

    centres = normal(PARTS, LATENT)
    share = np.arange(1, PARTS + 1) ** -0.7
    mixing = {name: normal(LATENT, size) / np.float32(LATENT**0.5) for name, size in GROUPS.items()}
    bias, weights = np.float32(0.3) * normal(GROUPS["deep"]), normal(LATENT, N_TAGS) / np.float32(LATENT**0.5)
    has = (generator.random((PARTS, N_TAGS)) < 0.04).astype(np.float32)
    frequency, limits = np.geomspace(0.2, 0.003, N_TAGS), np.empty(0)
    for start in range(0, n, BLOCK):
        part = generator.choice(PARTS, size=BLOCK, p=share / share.sum())
        hidden = centres[part] + np.float32(0.55) * normal(BLOCK, LATENT)
        noise = np.float32(0.25) * generator.random((BLOCK, GROUPS["deep"]), dtype=np.float32)
        deep = np.maximum(hidden @ mixing["deep"] + bias, 0.0) + noise
        color = np.maximum(np.float32(0.5) * hidden @ mixing["color"] + normal(BLOCK, GROUPS["color"]), 0.0)
        scores = 1.2 * hidden @ weights + 2.2 * has[part] + 0.5 * normal(BLOCK, N_TAGS)
        if not len(limits):
            limits = np.array([np.quantile(scores[:N_REFERENCE, tag], 1 - q) for tag, q in enumerate(frequency)])
        rest = slice(0, min(BLOCK, n - start))
        yield deep[rest], color[rest], (scores[rest] > limits).astype(np.int8)


def labelled(n: int) -> int:
    """Return how many of n photos have labels before anything is learnt."""
    return min(1000, n // 4)


def make_project(folder: Path, n: int) -> None:
    """Make a project of n photos with features in its cache, some of them labelled, and save what is true."""
    folder.mkdir(parents=True)
    project = Project.init(folder, flags=FLAGS)
    store, stamp, truth = project.store, FileStamp(0, 0, 0), []
    names = [b"%08d.jpg" % number for number in range(n)]
    hashes = [f"{number + 1:064x}" for number in range(n)]
    with store.lock(), store.cache() as cache:
        for number, (deep, color, Y) in enumerate(blocks(n)):
            part = slice(number * BLOCK, number * BLOCK + len(Y))
            pairs = zip(names[part], hashes[part], strict=True)
            cache.record([PhotoRecord(name, Verdict.OK, "", content, stamp, 4000, 3000) for name, content in pairs])
            cache.put(Deep().key, hashes[part], deep)
            cache.put(Color().key, hashes[part], color)
            truth.append(Y)
    ids = np.asarray(store.photos.reconcile(names).new)
    tags = np.asarray(store.tags.add([f"tag {number}" for number in range(N_TAGS)]))
    np.savez(folder.with_suffix(".npz"), ids=ids, tags=tags, truth=np.concatenate(truth))
    project.close()
    say(folder, slice(0, labelled(n)))


def say(folder: Path, rows: slice) -> None:
    """Decide all tags of some photos."""
    known = np.load(folder.with_suffix(".npz"))
    ids, tags, truth = known["ids"][rows], known["tags"], known["truth"][rows]
    with Project.open(folder, flags=FLAGS) as project:
        pairs = np.repeat(ids, len(tags)), np.tile(tags, len(ids))
        project.store.decisions.decide(*pairs, truth.ravel())
