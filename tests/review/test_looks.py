import shutil

import numpy as np
import pytest

from tagloom.catalog.photo_index import load_photos
from tagloom.datasets import write_scenes
from tagloom.features.registry import get_descriptor
from tagloom.project.project import Project
from tagloom.review.similarity import _joined, load_looks


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "photos"
    write_scenes(folder, 20, size=(48, 32), labeled=0.5, random_state=1)
    shutil.copy(folder / "scene_00003.jpg", folder / "copy.jpg")
    with Project.init(folder, flags={"descriptors": "color", "n_workers": 1, "n_threads": 1}) as project:
        project.scan()
        yield project


def stacked(photos, stacks):
    groups = {}
    for name, stack in zip(photos.names, stacks.tolist(), strict=True):
        if stack >= 0:
            groups.setdefault(stack, set()).add(name)
    return sorted(groups.values(), key=min)


def test_without_features_copies_are_stacked(project):
    photos = load_photos(project.store)
    looks = load_looks(project.store, photos)
    assert looks.cosines is None
    assert looks.clusters is None
    assert stacked(photos, looks.stacks) == [{"copy.jpg", "scene_00003.jpg"}]


def test_deep_features_give_neighbours_clusters_and_bursts(project):
    rng = np.random.default_rng(0)
    photos = load_photos(project.store)
    hashes = sorted(set(photos.hashes))
    rows = rng.normal(size=(len(hashes), 2280)).astype(np.float32)
    near = {photos.hashes[photos.names.index(name)] for name in ("scene_00005.jpg", "scene_00006.jpg")}
    first, second = (hashes.index(item) for item in near)
    rows[second] = rows[first] + 0.01
    with project.store.cache() as cache:
        cache.put(get_descriptor("deep").key, hashes, rows)
    times = np.arange(len(photos)) * 1000.0
    times[photos.names.index("scene_00006.jpg")] = times[photos.names.index("scene_00005.jpg")] + 1
    project.store.photos.set_taken(photos.ids, times)
    photos = load_photos(project.store)
    looks = load_looks(project.store, photos)
    of = {name: rows[hashes.index(digest), :1280] for name, digest in zip(photos.names, photos.hashes, strict=True)}
    X = np.stack([of[name] for name in photos.names])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    # Fewer photos than columns kept: nothing is lost, and the cosines are the true ones.
    found = looks.cosines(4)
    others = np.arange(len(photos)) != 4
    np.testing.assert_allclose(found[others], (unit @ unit[4])[others], atol=1e-4)
    assert found[4] == np.inf
    assert len(looks.clusters) == len(photos)
    assert stacked(photos, looks.stacks) == [{"copy.jpg", "scene_00003.jpg"}, {"scene_00005.jpg", "scene_00006.jpg"}]


def test_groupings_are_joined_over_several_steps():
    first, second = np.array([0, 0, -1, 1, 1, -1]), np.array([-1, 5, 5, -1, -1, -1])
    assert _joined([first, second]).tolist()[:3] == [_joined([first, second])[0]] * 3
    joined = _joined([first, second])
    assert joined[3] == joined[4] != joined[0]
    assert joined[5] == -1
