"""Projects whose photos are empty files with made-up features: nothing is decoded."""

import os
from dataclasses import dataclass

import numpy as np
import pytest

from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.features import get_descriptor
from tagloom.project.project import Project

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1, "n_neighbors": 5}


@dataclass
class MadeUp:
    """A project, its photos, its tags, and which photos truly have which tags."""

    project: Project
    ids: np.ndarray
    tags: np.ndarray
    truth: np.ndarray

    def say(self, rows, columns=None, truth=None):
        """Decide some photos by the truth, on all tags or on some."""
        columns = np.arange(len(self.tags)) if columns is None else np.asarray(columns)
        rows, truth = np.asarray(rows), self.truth if truth is None else truth
        pairs = np.repeat(self.ids[rows], len(columns)), np.tile(self.tags[columns], len(rows))
        return self.project.store.decisions.decide(*pairs, truth[np.ix_(rows, columns)].ravel())

    def add_photos(self, features):
        """Add photos with these features, and return their ids."""
        store, root = self.project.store, self.project.root
        first = len(store.photos.table().ids)
        records = []
        for number in range(first, first + len(features)):
            path = root / f"{number:05d}.jpg"
            path.touch()
            found = path.stat()
            stamp = FileStamp.of(found)
            name = os.fsencode(path.name)
            records.append(PhotoRecord(name, Verdict.OK, "", f"{number + 1:064x}", stamp, 64, 48))
        with store.lock(), store.cache() as cache:
            cache.record(records)
            cache.put(get_descriptor("color").key, [item.content_hash for item in records], features)
        return np.asarray(
            store.photos.reconcile(sorted(os.fsencode(item) for item in os.listdir(root) if "." in item[1:])).new
        )


def made_up_features(n, n_tags, random_state):
    """Return features of shape (n, columns of the descriptor color) and tags that follow from them."""
    generator = np.random.default_rng(random_state)
    size = sum(get_descriptor("color").outputs.values())
    hidden = generator.normal(size=(n, 6))
    # Not negative, as histograms are, and still rising with what is hidden.
    features = np.logaddexp(0.0, hidden @ generator.normal(size=(6, size)) + generator.normal(size=(n, size)))
    scores = hidden @ generator.normal(size=(6, n_tags)) + 0.5 * generator.normal(size=(n, n_tags))
    return features.astype(np.float32), (scores > np.quantile(scores, 0.75, axis=0)).astype(np.int8)


@pytest.fixture
def made_up(tmp_path):
    """Return a function that makes a project of n photos and some tags."""
    opened = []

    def make(n=120, n_tags=4, *, random_state=0, project=None, **flags):
        root = tmp_path / f"photos{len(opened)}"
        root.mkdir()
        features, truth = made_up_features(n, n_tags, random_state)
        made = Project.init(root, project=project, flags={**LIGHT, **flags})
        opened.append(made)
        tags = np.asarray(made.store.tags.add([f"tag {number}" for number in range(n_tags)]))
        found = MadeUp(made, np.empty(0), tags, truth)
        found.ids = found.add_photos(features)
        return found

    yield make
    for project in opened:
        project.close()
