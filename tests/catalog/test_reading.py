"""Thumbnails are made once, whichever verb reads a photo first."""

import numpy as np
import pytest
from PIL import Image

from tagloom.catalog.extraction import open_engine
from tagloom.project.project import Project
from tagloom.settings import load_settings
from tagloom.store import FolderCache

pytestmark = pytest.mark.medium

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1, "method": "ridge"}


def _photo(path, seed):
    pixels = np.random.default_rng(seed).integers(0, 255, size=(32, 48, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(6):
        _photo(folder / f"{number}.jpg", number)
    return folder


@pytest.fixture
def stored(monkeypatch):
    """Return how many thumbnails are stored, call by call."""
    calls = []
    put = FolderCache.put_thumbnails

    def watched(self, items):
        items = list(items)
        calls.append(len(items))
        put(self, items)

    monkeypatch.setattr(FolderCache, "put_thumbnails", watched)
    return calls


def _pictures(project):
    table = project.store.photos.table()
    with project.store.cache() as cache:
        return cache.thumbnails(table.hashes)


def test_extract_and_train_keep_the_thumbnails_of_the_scan(photos, stored):
    with Project.init(photos, flags=LIGHT) as project:
        project.scan()
        before = _pictures(project)
        assert (len(before), stored) == (6, [6])
        assert project.extract().n_decoded == 6
        project.label("0.jpg", add="x")
        project.label("1.jpg", remove="x")
    with Project.open(photos, flags=LIGHT | {"descriptors": "color,gist"}) as project:
        project.train()
        assert (_pictures(project), stored) == (before, [6])


def test_a_thumbnail_that_is_missing_is_made(photos, stored):
    with Project.init(photos, flags=LIGHT) as project:
        project.scan()
        before = _pictures(project)
        with project.store.cache() as cache:
            cache._thumbnails._connection.execute(
                "DELETE FROM thumbnails WHERE content_hash = ?", (bytes.fromhex(min(before)),)
            )
        assert len(_pictures(project)) == 5
        project.extract()
        assert _pictures(project) == before


def test_photos_that_are_new_or_changed_get_theirs(photos, tmp_path, stored):
    settings = load_settings(LIGHT, {})
    names = [f"{number}.jpg".encode() for number in range(6)]

    def read():
        with FolderCache(tmp_path / "cache", root=photos) as cache:
            engine, _ = open_engine(cache, photos, names, settings)
            with engine:
                hashes = [record.content_hash for record in engine.read(names)]
            return len(cache.thumbnails(hashes))

    assert read() == 6
    assert read() == 6
    _photo(photos / "3.jpg", 100)
    assert read() == 6
    _photo(photos / "new.jpg", 200)
    names.append(b"new.jpg")
    assert read() == 7
    assert stored == [6, 1, 1]
