"""Photos read by the workers of an engine: the same rows, records and thumbnails, whatever happens to the workers."""

import importlib
import os
from functools import partial

import numpy as np
import pytest
from PIL import Image

from tagloom.core.photos import Verdict
from tagloom.datasets import write_clips
from tagloom.engines import LocalEngine, start_engine
from tagloom.exceptions import EngineError
from tagloom.features import ExtractionEngine, MemoryCache, get_descriptor
from tagloom.features.chunks import ChunkStorage, PhotoChunk, ReadingPlan
from tagloom.features.engine import read_chunk
from tagloom.store import FolderCache
from tests.features.killers import Killing

pytestmark = pytest.mark.medium

N_PHOTOS = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    photos = tmp_path_factory.mktemp("photos")
    generator = np.random.default_rng(0)
    for number in range(N_PHOTOS):
        pixels = generator.integers(1, 256, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(photos / f"{number:02d}.png")
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not a photo")
    (photos / "twin.png").write_bytes((photos / "07.png").read_bytes())
    return photos


@pytest.fixture(scope="module", params=["processes", "dask"])
def engine(request):
    if request.param == "dask":
        request.getfixturevalue("distributed")
    with start_engine(request.param, n_workers=2) as started:
        yield started


def read(folder, engine, descriptors=None, cache=None, **options):
    """Return records, rows and thumbnails of all photos of a folder."""
    cache = MemoryCache() if cache is None else cache
    descriptors = descriptors or [get_descriptor("color"), get_descriptor("edges")]
    names = sorted(os.fsencode(name) for name in os.listdir(folder))
    with ExtractionEngine(
        descriptors, cache, root=folder, engine=engine, n_workers=1, thumbnail_size=48, **options
    ) as reader:
        records = reader.read(names)
        rows, _ = reader.features(records)
        return records, rows, cache.thumbnails([one.content_hash for one in records if one.ok]), reader.counts


def is_same(one, other):
    np.testing.assert_array_equal(one[1], other[1])
    return one[0] == other[0] and one[2] == other[2]


def test_the_same_wherever_photos_are_read(folder, engine, tmp_path):
    here = read(folder, "local")
    assert len(here[1]) == N_PHOTOS + 1
    with FolderCache(tmp_path / "t", folder) as cache:
        assert is_same(read(folder, engine, cache=cache), here)
        again = read(folder, engine, cache=cache)
    assert is_same(again, here)
    assert again[3].n_decoded == 0


def test_a_killed_worker_changes_nothing(folder, engine, tmp_path):
    once = tmp_path / "once"
    once.touch()
    found = read(folder, engine, [Killing(str(once))])
    assert not once.exists()
    assert is_same(found, read(folder, "local", [Killing()]))


def test_a_photo_that_kills_workers_is_found_among_others(folder, tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(18):
        os.link(folder / f"{number:02d}.png", photos / f"{number:02d}.png")
    expected = read(photos, "local", [Killing()])
    Image.fromarray(np.zeros((20, 30, 3), dtype=np.uint8)).save(photos / "killer.png")
    with start_engine("processes", n_workers=1) as engine:
        records, rows, thumbnails, counts = read(photos, engine, [Killing()])
    assert [(one.path, one.verdict) for one in records if not one.ok] == [(b"killer.png", Verdict.CRASHED)]
    assert "--retry" in records[-1].detail
    np.testing.assert_array_equal(rows, expected[1])
    assert thumbnails == expected[2]
    assert (counts.n_decoded, counts.n_failed) == (18, 1)


@pytest.mark.parametrize("address", ["{}", "memory://tagloom-chunks"])
def test_chunks_in_shared_storage_are_taken_in_once(distributed, folder, tmp_path, address):
    fsspec = importlib.import_module("fsspec")  # comes with distributed
    address = address.format(tmp_path / "shared")
    found = read(folder, LocalEngine(), shared_storage=address)
    assert is_same(found, read(folder, "local"))
    color = get_descriptor("color")
    options = {"thumbnail_size": 48, "batch_size": 32}
    plan = ReadingPlan(
        descriptors=(color,), keys=(color.key,), root=os.fsencode(folder), options=options, storage=address
    )
    storage = ChunkStorage(plan)
    # The worker was done, and then the coordinator was gone. One chunk was cut short.
    names = sorted(os.fsencode(name) for name in os.listdir(folder))
    chunks = [names[:10], names[10:20], [b"00.png", b"01.png"]]
    left = list(map(partial(read_chunk, plan), chunks))
    assert left == list(map(partial(read_chunk, plan), chunks))
    assert sorted(left) == storage.names()
    data = storage.read(left[1]).to_bytes()
    with fsspec.open(f"{address}/{plan.name}/{left[1]}", "wb") as handle:
        handle.write(data[: len(data) // 2])
    found = read(folder, LocalEngine(), [color], shared_storage=address)
    assert is_same(found, read(folder, "local", [color]))
    assert storage.names() == []


def test_other_versions_and_packages_are_refused(folder):
    color = get_descriptor("color")
    plan = partial(ReadingPlan, descriptors=(color,), root=os.fsencode(folder), options={})
    with pytest.raises(EngineError, match=r"has tagloom .*, expected 0\.0"):
        read_chunk(plan(keys=(color.key,), version="0.0"), [b"00.png"])
    with pytest.raises(EngineError, match="would compute"):
        read_chunk(plan(keys=("color-v0-0",)), [b"00.png"])
    chunk = PhotoChunk([])
    assert PhotoChunk.from_bytes(chunk.to_bytes()).records == []
    with pytest.raises(ValueError, match="not what was written"):
        PhotoChunk.from_bytes(chunk.to_bytes()[:-1])


def test_key_frames_of_videos_come_along(av, tmp_path):
    write_clips(tmp_path / "clips", 1, random_state=0)
    folder = next((tmp_path / "clips").rglob("*.mp4")).parent
    caches = MemoryCache(), MemoryCache()
    here = read(folder, "local", cache=caches[0])
    assert is_same(read(folder, LocalEngine(), cache=caches[1]), here)
    assert caches[0].all_thumbnails() == caches[1].all_thumbnails()
    mine, theirs = (one.all_rows() for one in caches)
    assert mine.keys() == theirs.keys()
    for key, (hashes, rows) in mine.items():
        assert theirs[key][0] == hashes
        np.testing.assert_array_equal(theirs[key][1], rows)
    chunk = PhotoChunk(here[0], mine, caches[0].all_thumbnails())
    again = PhotoChunk.from_bytes(chunk.to_bytes())
    assert (again.records, again.thumbnails) == (chunk.records, chunk.thumbnails)
    assert again.rows.keys() == chunk.rows.keys()
