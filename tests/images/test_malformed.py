"""1,500 odd files of decoders' own test suites and fuzzers: one verdict each, and nothing else happens."""

import os

import numpy as np
import pytest

from tagloom.images import DecodePool, Rendition


def check(files, peak_of, n_workers=2):
    """Decode files; return the verdicts after checking what must hold for every one."""
    renditions = [Rendition("square", "square", 64), Rendition("fit", "fit", 128)]
    paths = [os.fsencode(file) for file in files]
    memory_limit = 1 << 30
    with DecodePool(renditions, n_workers=n_workers, thumbnail_size=96, deadline=20, memory_limit=memory_limit) as pool:
        photos = list(pool.decode(paths))
        peaks = [peak_of(worker.pid) for worker in pool._living]
    assert [photo.record.path for photo in photos] == paths
    for photo in photos:
        assert bool(photo.pixels) == photo.record.ok == (photo.record.width > 0)
        assert photo.record.ok or photo.record.detail
    assert all(peak is None or peak < memory_limit // 2 for peak in peaks)
    return [photo.record for photo in photos]


def odd_files(shared_data):
    return sorted(path for path in (shared_data / "malformed_images").rglob("*") if path.is_file())


@pytest.mark.medium
def test_a_sample(shared_data, peak_of):
    files = odd_files(shared_data)
    chosen = np.random.default_rng(7).choice(len(files), size=150, replace=False)
    records = check([files[index] for index in chosen], peak_of)
    assert len({record.verdict for record in records}) >= 3


@pytest.mark.slow
def test_all_and_again_with_one_worker(shared_data, peak_of):
    files = odd_files(shared_data)
    assert check(files, peak_of) == check(files, peak_of, n_workers=1)
