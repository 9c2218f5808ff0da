"""The job on real photos, and on files that are no photos."""

import csv
import os
import shutil

import numpy as np
import pytest

from tagloom.catalog.logs import stop_logging
from tagloom.core.photos import Verdict
from tagloom.datasets import load_coco_free, load_corel5k, write_scenes
from tagloom.jobs.annotate import annotate
from tagloom.settings import Settings


@pytest.fixture(autouse=True)
def _quiet_logs():
    yield
    stop_logging()


def _write_labels(path, names, tags, Y, rows):
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["file", "tags"])
        for row in rows:
            writer.writerow([names[row], ";".join(np.asarray(tags)[Y[row] == 1])])
    return path


@pytest.mark.medium
def test_real_photos_with_the_bundled_network(shared_data, tmp_path):
    data = load_coco_free(shared_data / "coco_free")
    root = shared_data / "coco_free" / "images"
    names = [os.path.relpath(path, root) for path in data.paths]
    rows = np.random.default_rng(0).permutation(len(names))
    labels = _write_labels(tmp_path / "labels.csv", names, data.tags.names, data.Y, rows[:50])
    truth = _write_labels(tmp_path / "truth.csv", names, data.tags.names, data.Y, rows)
    result = annotate(root, labels, tmp_path / "out", Settings(n_workers=2), truth=truth)
    assert list(result.groups) == ["deep", "semantic", "color", "moments", "edges"]
    assert result.failed == []
    prior, _, ours = (value for _, value in result.comparison.rows)
    assert ours > 3 * prior


@pytest.mark.slow
def test_corel5k_from_450_labels(shared_data, tmp_path):
    data = load_corel5k(shared_data / "corel5k", vocabulary=260)
    root = shared_data / "corel5k" / "images"
    names = [os.path.relpath(path, root) for path in data.paths]
    rows = np.random.default_rng(0).choice(len(names), 450, replace=False)
    labels = _write_labels(tmp_path / "labels.csv", names, data.tags.names, data.Y, rows)
    truth = _write_labels(tmp_path / "truth.csv", names, data.tags.names, data.Y, range(len(names)))
    result = annotate(root, labels, tmp_path / "out", truth=truth)
    assert (len(result.photos), result.n_labeled, result.failed) == (4999, 450, [])
    assert (result.comparison.n_photos, result.comparison.n_tags) == (4549, 260)
    prior, supervised, ours = (value for _, value in result.comparison.rows)
    assert prior < supervised < ours
    assert ours >= 0.265
    again = annotate(root, labels, tmp_path / "out", truth=truth)
    assert again.counts.n_decoded == 0
    np.testing.assert_allclose(again.scores, result.scores, atol=1e-6)


@pytest.mark.slow
def test_fifteen_hundred_odd_files_among_photos(shared_data, tmp_path):
    photos = tmp_path / "photos"
    write_scenes(photos, 30, size=(96, 64), labeled=15)
    n_odd = 0
    for path in sorted((shared_data / "malformed_images").rglob("*")):
        if path.is_file():
            n_odd += 1
            shutil.copy(path, photos / f"odd_{n_odd:04d}{path.suffix.lower() or '.jpg'}")
    for path in photos.glob("odd_*"):  # names that are looked at, whatever is inside
        if path.suffix not in (".jpg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".jpeg", ".heic"):
            path.rename(path.with_suffix(path.suffix + ".jpg"))
    settings = Settings(descriptors=("color",), memory_limit_mb=1024)
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", settings)
    assert len(result.photos) + len(result.failed) == n_odd + 30
    verdicts = {record.verdict for record in result.failed}
    assert verdicts.isdisjoint({Verdict.OK, Verdict.CRASHED, Verdict.TIMEOUT, Verdict.QUARANTINED})
    assert {name for name in result.photos if name.startswith(b"scene_")} == {
        f"scene_{number:05d}.jpg".encode() for number in range(30)
    }
    assert np.isfinite(result.scores).all()
