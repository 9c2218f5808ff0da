"""The demo with videos: a mixed folder is annotated end to end."""

import csv

import pytest

from tagloom.jobs.demo import demo
from tagloom.settings import Settings


@pytest.mark.medium
def test_videos_are_annotated_beside_photos(av, tmp_path):
    settings = Settings(descriptors=("color", "audio"), method="ridge", n_workers=1, n_threads=1)
    result = demo(tmp_path, settings, n_photos=20, labeled=0.5, n_videos=12)
    assert (len(result.photos), result.n_labeled) == (32, 16)
    assert result.comparison is not None
    assert "audio:mfcc" in result.groups
    assert result.failed == []
    with open(tmp_path / "photos" / "labels.csv", encoding="utf-8", newline="") as file:
        assert any(row["file"].endswith(".mp4") for row in csv.DictReader(file))
    assert (tmp_path / "photos" / "clip_00011.mp4").exists()
