"""A project of photos with features of the bundled network, whose classes show what most of the tags name."""

import numpy as np

from tagloom.catalog.extraction import load_rows
from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.features import get_descriptor
from tagloom.features.network.words import class_names
from tagloom.metrics import average_precision
from tagloom.project.project import Project

TAGS = ("Zebra", "Animals|Pizza", "Anna", "volcanoes")
CLASSES = ("zebra", "pizza", None, "volcano")
N, N_NEW = 150, 20


def made_features(n, random_state=0):
    """Return features of the bundled network, embedding and classes, and tags; the classes show most of the tags."""
    generator = np.random.default_rng(random_state)
    truth = (generator.random((n, len(TAGS))) < 0.2).astype(np.int8)
    deep = generator.gamma(1.0, size=(n, 1280)) + truth @ generator.gamma(1.0, size=(len(TAGS), 1280))
    semantic = generator.dirichlet(np.full(1000, 0.02), n)
    for tag, name in enumerate(CLASSES):
        if name is not None:
            seen = truth[:, tag] * (generator.random(n) < 0.8)
            semantic[:, class_names().index(name)] += 6.0 * seen
    semantic /= semantic.sum(axis=1, keepdims=True)
    return np.hstack([deep, semantic]).astype(np.float32), truth


class Made:
    """A project of photos whose files are empty, with features of the bundled network."""

    def __init__(self, root, tags=TAGS):
        self.root = root
        self.X, self.truth = made_features(N + N_NEW)
        self.project = Project.init(root, flags={"descriptors": "deep,semantic", "n_threads": 1, "n_workers": 1})
        self.ids = self.add(0, N)
        self.tags = np.asarray(self.project.store.tags.add(list(tags)))

    def add(self, first, last):
        store, records = self.project.store, []
        for number in range(first, last):
            path = self.root / f"{number:05d}.jpg"
            path.touch()
            stamp = FileStamp.of(path.stat())
            records.append(PhotoRecord(path.name.encode(), Verdict.OK, "", f"{number + 1:064x}", stamp, 64, 48))
        with store.lock(), store.cache() as cache:
            cache.record(records)
            hashes = [item.content_hash for item in records]
            cache.put(get_descriptor("deep").key, hashes, self.X[first:last])
        names = [f"{number:05d}.jpg".encode() for number in range(last)]
        return np.asarray(store.photos.reconcile(names).new)

    def say(self, rows, columns=(0, 1, 2, 3)):
        columns = np.asarray(columns)
        pairs = np.repeat(self.ids[rows], len(columns)), np.tile(self.tags[columns], len(rows))
        self.project.store.decisions.decide(*pairs, self.truth[np.ix_(rows, columns)].ravel())

    def rows(self):
        with self.project.store.lock(), self.project.store.cache() as cache:
            return load_rows(self.project.store, cache, self.project.settings, compute=False)

    def quality(self, tag, photos=slice(40, N)):
        stored = self.project.store.suggestions.load()
        column = int(np.flatnonzero(stored.tag_ids == self.tags[tag])[0])
        return average_precision(self.truth[photos, tag][:, None], stored.scores[photos, column][:, None])[0]
