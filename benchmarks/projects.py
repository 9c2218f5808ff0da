"""Projects of photos whose features are known already: made in a moment, without a file of a photo."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.sets import find_set
from tagloom.core.groups import FeatureGroups
from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.features import get_descriptor
from tagloom.project.project import Project

#: The default descriptors, and some that make few columns.
DESCRIPTORS, QUICK_DESCRIPTORS = ("deep", "color", "edges"), ("color", "edges")

Flags = NDArray[np.bool_]
Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Collection:
    """Photos with all their tags; of tags without names, such have numbers that say nothing."""

    X: NDArray[np.float32]
    groups: FeatureGroups
    truth: Flags
    descriptors: tuple[str, ...]
    tags: tuple[str, ...] = ()

    def rows(self, chosen: NDArray[np.intp]) -> "Collection":
        """Return some of the photos."""
        return Collection(self.X[chosen], self.groups, self.truth[chosen], self.descriptors, self.tags)


def public_set(name: str) -> Collection:
    """Return the photos of a public set with the default groups; of one with a test part the other photos."""
    data = find_set(name).load(0)
    assert data.groups is not None
    names = tuple(group for one in DESCRIPTORS for group in get_descriptor(one).outputs)
    groups, columns = data.groups.select(names)
    rows = np.ones(len(data.X), dtype=bool) if data.test_rows is None else ~data.test_rows
    return Collection(data.X[np.ix_(rows, columns)], groups, data.Y[rows] == 1, DESCRIPTORS)


def made_up(n: int, n_tags: int = 6) -> Collection:
    """Make photos whose features tell of the same hidden numbers as their tags."""
    generator = np.random.default_rng(0)
    hidden = generator.normal(size=(n, n_tags))
    outputs = {group: size for name in QUICK_DESCRIPTORS for group, size in get_descriptor(name).outputs.items()}
    groups = FeatureGroups(list(outputs), list(outputs.values()))
    X = np.logaddexp(0.0, hidden @ generator.normal(size=(n_tags, groups.n_columns)))
    return Collection(X.astype(np.float32), groups, hidden > 0.8, QUICK_DESCRIPTORS)


def photo_name(row: int) -> str:
    """Return the name of a photo's file."""
    return f"{row:06d}.jpg"


def bare_project(root: Path, photos: Collection, threads: int) -> tuple[Project, Ids]:
    """Return a project of the photos, of which nothing is said yet, and their ids."""
    # Names in the setting mean groups first: the default ones have more groups than those of their names.
    wanted = "default" if photos.descriptors == DESCRIPTORS else ",".join(photos.descriptors)
    project = Project.init(root, flags={"descriptors": wanted, "n_threads": threads})
    store, n = project.store, len(photos.X)
    names, hashes = [photo_name(row).encode() for row in range(n)], [f"{row + 1:064x}" for row in range(n)]
    stamp = FileStamp(0, 0, 0)
    records = [
        PhotoRecord(name, Verdict.OK, "", content, stamp, 4000, 3000)
        for name, content in zip(names, hashes, strict=True)
    ]
    with store.lock(), store.cache() as cache:
        cache.record(records)
        for name in photos.descriptors:
            descriptor = get_descriptor(name)
            _, columns = photos.groups.select(tuple(descriptor.outputs))
            cache.put(descriptor.key, hashes, photos.X[:, columns])
    return project, np.asarray(store.photos.reconcile(names).new)
