"""Features of videos: rows of key frames pooled into the columns that photos have."""

import numpy as np
import pytest

from tagloom.features import ExtractionEngine, MemoryCache, get_descriptor
from tagloom.features.clips import CLIP_KEY, ClipFacts
from tagloom.features.engine import frame_hash
from tagloom.images import Clip, DecodePool
from tests.made_clips import write_format


@pytest.fixture(scope="module")
def folder(av, tmp_path_factory):
    from PIL import Image

    folder = tmp_path_factory.mktemp("clips")
    write_format(folder, "h264.mp4")
    write_format(folder, "ffv1.mkv")
    Image.new("RGB", (64, 48), (200, 30, 40)).save(folder / "photo.png")
    return folder


@pytest.fixture(scope="module")
def extracted(folder):
    descriptors = [get_descriptor(name) for name in ("color", "phash", "audio")]
    cache = MemoryCache()
    with ExtractionEngine(descriptors, cache, root=folder, n_workers=1, n_threads=1, thumbnail_size=96) as engine:
        records = engine.read([b"h264.mp4", b"ffv1.mkv", b"photo.png"])
        return descriptors, cache, records, engine.features(records)


def test_clips_and_photos_share_columns(extracted):
    _, _, records, (X, groups) = extracted
    assert [record.verdict.value for record in records] == ["ok"] * 3
    assert X.shape == (3, groups.n_columns)
    assert X[:, groups["audio:mfcc"]].any(axis=1).tolist() == [True, False, False]


def test_a_clip_is_the_mean_of_its_key_frames(extracted):
    (color, *_), cache, (clip, *_), (X, groups) = extracted
    facts = ClipFacts.from_row(cache.get(CLIP_KEY, [clip.content_hash])[0])
    frames = [frame_hash(clip.content_hash, k) for k in range(len(facts.times))]
    rows = cache.get(color.key, frames)
    np.testing.assert_allclose(np.hstack([X[0, groups[name]] for name in color.outputs]), rows.mean(axis=0), atol=1e-6)
    assert np.ptp(rows, axis=0).max() > 0.01
    assert set(cache.thumbnails(frames)) == set(frames)


def test_a_fingerprint_is_of_the_poster_and_sound_of_the_whole(extracted, folder):
    (_, phash, audio), _, _, (X, groups) = extracted
    with DecodePool(phash.renditions, n_workers=1) as pool:
        (photo,) = pool.decode([bytes(folder / "h264.mp4")])
    np.testing.assert_array_equal(X[0, groups["phash"]], phash.compute([photo])[0])
    np.testing.assert_array_equal(X[0, groups["audio:mfcc"]], audio.compute([photo])[0])


def test_key_frames_have_the_sound_around_them(extracted):
    (*_, audio), cache, (clip, *_), _ = extracted
    rows = cache.get(audio.key, [frame_hash(clip.content_hash, 0), frame_hash(clip.content_hash, 1)])
    assert rows.any(axis=1).all()
    assert not np.array_equal(rows[0], rows[1])


def test_facts():
    clip = Clip(times=(0.0, 1.5), duration=3.25, container="mov,mp4", picture_codec="h264", sound_codec="aac")
    facts = ClipFacts.of(clip)
    assert facts == ClipFacts(3.25, (0.0, 1.5), True, "video/mp4")
    assert ClipFacts.from_row(facts.as_row()) == facts
    webm = Clip(container="matroska,webm", picture_codec="vp9", sound_codec="opus")
    assert ClipFacts.of(webm).media_type == "video/webm"
    assert ClipFacts.of(Clip(container="avi", picture_codec="mpeg4", sound_codec="mp3")).media_type == ""
    nothing = ClipFacts(0.0, (), False, "")
    for strange in (np.full(44, np.nan), np.full(44, 9e9), np.full(44, -1.0), np.zeros(3)):
        assert ClipFacts.from_row(strange.astype(np.float32)) == nothing
