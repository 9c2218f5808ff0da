"""Which video was taken with which photo: beside it, or inside its file."""

import os

import numpy as np
import pytest

from tagloom.core import MOTION_PHOTO, Verdict
from tagloom.images import DecodePool, clip_seconds, inner_clip, is_clip_of, read_inner_clip, split_clips
from tests.made_live_photos import OTHER_PAIR, PAIR, box, movie, still


def pair_of(folder, clip, photo=None):
    (folder / "a.mov").write_bytes(clip)
    (folder / "a.jpg").write_bytes(still() if photo is None else photo)
    return os.fsencode(folder / "a.mov"), os.fsencode(folder / "a.jpg")


@pytest.mark.parametrize("options", [{}, {"version": 1}, {"moov_first": True}])
def test_a_video_of_some_seconds_belongs_to_the_photo(tmp_path, options):
    files = pair_of(tmp_path, movie(2.9, **options))
    assert clip_seconds(files[0]) == pytest.approx(2.9)
    assert is_clip_of(*files)


@pytest.mark.parametrize(
    "clip",
    [movie(5.5), movie(0), b"", b"x" * 100, movie()[:60], movie()[:-90], box(b"ftyp") * 100, b"RIFF....AVI LIST"],
    ids=["long", "of no length", "empty", "noise", "cut short", "half a header", "without end", "AVI"],
)
def test_other_videos_are_items_of_their_own(tmp_path, clip):
    assert not is_clip_of(*pair_of(tmp_path, clip))


def test_the_name_of_the_pair_decides(tmp_path):
    assert is_clip_of(*pair_of(tmp_path, movie(9.0, pair=PAIR), still(pair=PAIR)))
    assert not is_clip_of(*pair_of(tmp_path, movie(3.0, pair=PAIR), still(pair=OTHER_PAIR)))
    # A photo that was edited, or exported by a program, has lost its note: then the length decides.
    assert is_clip_of(*pair_of(tmp_path, movie(3.0, pair=PAIR), still()))
    assert not is_clip_of(*pair_of(tmp_path, movie(9.0, pair=PAIR), still()))


def test_what_is_no_file_is_not_opened(tmp_path):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.mov")
        assert not is_clip_of(os.fsencode(tmp_path / "pipe.mov"), b"")
    assert not is_clip_of(os.fsencode(tmp_path), b"")
    assert not is_clip_of(os.fsencode(tmp_path / "gone.mov"), b"")


def test_videos_are_sorted_by_their_photos(tmp_path):
    for name, data in {"a.jpg": still(), "a.mov": movie(), "b.heic": still(), "b.mp4": movie(60.0)}.items():
        (tmp_path / name).write_bytes(data)
    found = split_clips(os.fsencode(tmp_path), [b"a.mov", b"b.mp4"], [b"a.jpg", b"b.heic"])
    assert found == ([b"a.mov"], [b"b.mp4"])


@pytest.mark.parametrize("tail", [b"", b"\0\0\x30\x0aMotionPhoto_DataSEFH" + bytes(24) + b"SEFT"])
@pytest.mark.parametrize("between", [b"", bytes(300), b"ftyp" + bytes(12)])
def test_the_video_inside_a_photo_is_found(between, tail):
    photo, clip = still(), movie(1.5)
    found = inner_clip(photo + between + clip + tail)
    assert (found.first, found.size) == (len(photo) + len(between), len(clip))
    assert found.seconds == pytest.approx(1.5)


def test_photos_without_a_video_inside(tmp_path):
    photo = still()
    for data in (photo, photo + b"ftyp", photo + box(b"ftyp") + box(b"mdat"), b"", movie(), photo + b"...ftyp" * 9_000):
        assert inner_clip(data) is None
    assert read_inner_clip(os.fsencode(tmp_path)) is None
    assert read_inner_clip(os.fsencode(tmp_path / "gone.jpg")) is None


def test_damaged_files_give_an_answer():
    random = np.random.default_rng(0)
    whole = still() + movie()
    for _ in range(200):
        data = bytearray(whole)
        for place in random.integers(0, len(data), size=20):
            data[place] = random.integers(256)
        found = inner_clip(bytes(data))
        assert found is None or 0 < found.first < found.first + found.size <= len(data)


def test_reading_a_photo_tells_of_the_video_inside(tmp_path):
    (tmp_path / "motion.jpg").write_bytes(still() + movie(1.5))
    (tmp_path / "plain.jpg").write_bytes(still())
    paths = [os.fsencode(tmp_path / name) for name in ("motion.jpg", "plain.jpg")]
    with DecodePool(n_workers=1) as pool:
        motion, plain = (photo.record for photo in pool.decode(paths))
    assert (motion.verdict, plain.verdict, plain.detail) == (Verdict.OK, Verdict.OK, "")
    assert motion.detail == f"{MOTION_PHOTO}: 1.5 s of video are inside the file"
