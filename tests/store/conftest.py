"""Stores with photos in them, for both journals."""

import shutil

import pytest

from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.store.project import ProjectStore


@pytest.fixture
def journal(request, monkeypatch):
    """Return the journal that every connection of the test uses ("wal" if not parametrized)."""
    name = getattr(request, "param", "wal")
    monkeypatch.setenv("TAGLOOM_JOURNAL", name)
    return name


def _scan(store, files, **options):
    records = [
        PhotoRecord(path, Verdict.OK, "", f"{content:064x}", FileStamp(content + 1, 5, 7), 40, 30)
        for path, content in files.items()
    ]
    with store.lock(), store.cache() as cache:
        cache.record(records)
    return store.photos.reconcile(files, **options)


@pytest.fixture
def scan():
    """Return a function that reads files ``{path: content}`` into a store and reconciles its photos with them."""
    return _scan


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """Return a folder with a project that is copied for each test, which is faster than making it durably each time."""
    root = tmp_path_factory.mktemp("template") / "photos"
    root.mkdir()
    with ProjectStore(root / ".tagloom", root) as store:
        _scan(store, {f"{number:02d}.jpg".encode(): number for number in range(1, 13)})
        store.tags.add(["a", "b", "c", "d"])
    return root


@pytest.fixture
def store(tmp_path, journal, template):
    """Return a store with twelve photos (ids 1 … 12) and tags a … d (ids 1 … 4)."""
    root = tmp_path / "photos"
    shutil.copytree(template, root)
    with ProjectStore(root / ".tagloom", root) as opened:
        yield opened
