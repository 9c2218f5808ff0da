"""Videos in many formats, whole and damaged: key frames, sound, and one verdict each."""

import io
import os
import struct
import sys

import numpy as np
import pytest

from tagloom.core.verdicts import Verdict
from tagloom.images import DecodePool, Rendition, find_photos
from tagloom.images.clip_decoding import decode_clip
from tagloom.images.settings import DecodeSettings
from tagloom.images.verdicts import Refused
from tests.made_clips import FORMATS, SIZE, frames, mutated, tone, write_format

SETTINGS = DecodeSettings((Rendition("fit-64", "fit", 64),), 96, 30.0, 2 << 30, 100_000_000)


@pytest.fixture(scope="module")
def clips(av, tmp_path_factory):
    """Return a folder with a clip of each format."""
    folder = tmp_path_factory.mktemp("clips")
    for name in FORMATS:
        write_format(folder, name)
    return folder


@pytest.fixture(scope="module")
def pool(av):
    with DecodePool([Rendition("fit-64", "fit", 64)], n_workers=1, thumbnail_size=96) as pool:
        yield pool


def decoded(pool, path):
    (photo,) = pool.decode([os.fsencode(path)])
    return photo


def record_of(pool, folder, name, data):
    (folder / name).write_bytes(data)
    return decoded(pool, folder / name).record


@pytest.mark.parametrize("name", FORMATS)
def test_formats(clips, pool, name):
    _, sound, _, rate, _ = FORMATS[name]
    photo = decoded(pool, clips / name)
    assert photo.record.ok, photo.record.detail
    # H.263 has pixels of 12:11, which count.
    assert (photo.record.width, photo.record.height) == ((192, 144) if name == "h263.3gp" else SIZE)
    assert 2 <= len(photo.clip.frames) <= 6
    assert photo.clip.times == tuple(sorted(photo.clip.times))
    assert bool(photo.clip.sound_codec) == bool(sound)
    heard = sum(len(piece) for _, piece in photo.clip.sound) / 16_000
    assert heard == pytest.approx(36 / rate if sound else 0.0, abs=0.35)
    assert photo.thumbnail.startswith(b"RIFF")
    assert all(frame.thumbnail.startswith(b"RIFF") for frame in photo.clip.frames)


def test_key_frames_show_the_frames_of_their_times(clips, pool):
    photo = decoded(pool, clips / "h264.mp4")
    for time, frame in zip(photo.clip.times, photo.clip.frames, strict=True):
        from PIL import Image

        expected = np.asarray(Image.fromarray(frames()[round(time * 12)]).resize((64, 52), Image.Resampling.BICUBIC))
        assert np.abs(frame.pixels["fit-64"].astype(float) - expected).mean() < 8


def test_a_cut_is_a_key_frame(clips, pool):
    shown = np.array([frame.mean() for frame in frames()])
    cut = int(np.abs(np.diff(shown)).argmax()) + 1
    times = np.array(decoded(pool, clips / "h264.mp4").clip.times)
    assert np.abs(times - cut / 12).min() <= 0.26


def test_sound_is_as_it_was(clips, pool):
    ((begin, sound),) = decoded(pool, clips / "mjpeg.avi").clip.sound
    assert begin == 0.0
    # FFmpeg resamples by a filter even from 16,000 to 16,000 samples a second: nothing to it.
    np.testing.assert_allclose(sound[: 3 * 16_000] / 32_767, tone(), atol=1e-4)


def test_the_file_is_the_same_for_any_number_of_workers(clips, pool):
    with DecodePool([Rendition("fit-64", "fit", 64)], n_workers=2, thumbnail_size=96) as other:
        one, two = decoded(pool, clips / "vp8.webm"), decoded(other, clips / "vp8.webm")
    assert one.record == two.record
    assert one.clip.times == two.clip.times
    for a, b in zip(one.clip.frames, two.clip.frames, strict=True):
        np.testing.assert_array_equal(a.pixels["fit-64"], b.pixels["fit-64"])


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="no such call here")
def test_writing_a_clip_leaves_this_process_as_it_was(av, tmp_path):
    before = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    write_format(tmp_path, "av1.mp4")
    assert (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority) == before


def test_the_time_a_clip_was_taken(av, tmp_path, pool):
    from tagloom.features import read_exif

    path = write_format(tmp_path, "h264.mp4", metadata={"creation_time": "2021-03-04T05:06:07Z"})
    facts = read_exif(decoded(pool, path).exif)
    assert str(facts.taken) == "2021-03-04 05:06:07"


def test_a_turned_clip_is_upright(clips, tmp_path, pool):
    data = bytearray((clips / "h264.mp4").read_bytes())
    at = data.rindex(b"tkhd") + 4 + 40  # of the picture; the matrix comes after 40 bytes
    one = 1 << 16
    data[at : at + 36] = struct.pack(">9i", 0, one, 0, -one, 0, 0, 0, 0, 1 << 30)
    (tmp_path / "turned.mp4").write_bytes(data)
    turned, plain = decoded(pool, tmp_path / "turned.mp4"), decoded(pool, clips / "h264.mp4")
    assert (turned.record.width, turned.record.height) == SIZE[::-1]
    expected = np.rot90(plain.clip.frames[0].pixels["fit-64"], -1)  # such a matrix asks for a turn clockwise
    assert np.abs(turned.clip.frames[0].pixels["fit-64"].astype(float) - expected).mean() < 8


def test_a_clip_without_pictures(av, tmp_path, pool):
    from tagloom.datasets._clip_file import write_clip

    write_clip(tmp_path / "song.mp4", [], sound=tone())
    assert decoded(pool, tmp_path / "song.mp4").record.verdict is Verdict.NOT_AN_IMAGE


def test_files_that_are_no_clips(av, tmp_path, pool):
    secret = tmp_path / "secret.txt"
    secret.write_text("not to be read")
    assert record_of(pool, tmp_path, "empty.mp4", b"").verdict is Verdict.EMPTY
    assert record_of(pool, tmp_path, "text.mov", b"hello " * 100).verdict is Verdict.NOT_AN_IMAGE
    playlist = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{secret}\n".encode()
    assert record_of(pool, tmp_path, "playlist.mp4", playlist).verdict is Verdict.NOT_AN_IMAGE
    concat = f"ffconcat version 1.0\nfile '{secret}'\n".encode()
    assert record_of(pool, tmp_path, "list.mkv", concat).verdict is Verdict.NOT_AN_IMAGE
    assert record_of(pool, tmp_path, "noise.mkv", b"\x1a\x45\xdf\xa3" + bytes(range(256))).verdict is Verdict.DAMAGED
    assert decoded(pool, tmp_path / "nothing.mp4").record.verdict is Verdict.MISSING


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are not permitted here")
def test_a_pipe_is_not_opened(av, tmp_path, pool):
    os.mkfifo(tmp_path / "pipe.mp4")
    assert decoded(pool, tmp_path / "pipe.mp4").record.verdict is Verdict.NOT_REGULAR


def test_headers_that_claim_too_much(clips):
    settings = DecodeSettings((), 96, 30.0, 2 << 30, 1_000)
    with open(clips / "h264.mp4", "rb") as stream, pytest.raises(Refused, match="claims 25,344 pixels") as caught:
        decode_clip(stream, settings)
    assert caught.value.verdict is Verdict.TOO_LARGE


def test_without_the_extra_a_clip_says_how_to_read_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(Refused, match=r"pip install 'tagloom\[video\]'"):
        decode_clip(io.BytesIO(b"\0\0\0\x18ftypisom"), SETTINGS)


def test_without_the_extra_clips_are_counted(tmp_path):
    for name in ("a.mp4", "b.MOV", "c.jpg", "d.wmv"):
        (tmp_path / name).write_bytes(b"x")
    assert find_photos(tmp_path, videos=False).photos == [b"c.jpg"]
    assert find_photos(tmp_path, videos=False).skipped == {"videos": {"mov": 1, "mp4": 1, "wmv": 1}}
    assert find_photos(tmp_path, videos=True).photos == [b"a.mp4", b"b.MOV", b"c.jpg"]
    assert find_photos(tmp_path, videos=True).skipped == {"videos": {"wmv": 1}}


def test_the_clip_of_a_live_photo_is_a_part_of_it(tmp_path):
    for name in ("IMG_1.HEIC", "IMG_1.MOV", "IMG_2.MOV", "x.png", "x.mp4"):
        (tmp_path / name).write_bytes(b"x")
    found = find_photos(tmp_path, videos=True)
    assert found.photos == [b"IMG_1.HEIC", b"IMG_2.MOV", b"x.mp4", b"x.png"]
    assert found.clips_of_photos == [b"IMG_1.MOV"]


def damaged(clips, folder, n, seed):
    random = np.random.default_rng(seed)
    names = sorted(FORMATS)
    for index in range(n):
        name = names[index % len(names)]
        (folder / f"{index:03d}_{name}").write_bytes(mutated((clips / name).read_bytes(), random))
    return sorted(folder.iterdir())


def check_damaged(paths):
    with DecodePool([Rendition("fit-64", "fit", 64)], n_workers=2, thumbnail_size=96, deadline=10.0) as pool:
        photos = list(pool.decode([os.fsencode(path) for path in paths]))
    assert len(photos) == len(paths)
    verdicts = {photo.record.verdict for photo in photos}
    assert verdicts <= {Verdict.OK, Verdict.DAMAGED, Verdict.NOT_AN_IMAGE, Verdict.TOO_LARGE}, verdicts
    assert Verdict.OK in verdicts
    assert all(photo.clip is not None and photo.clip.frames for photo in photos if photo.record.ok)
    return photos


@pytest.mark.medium
def test_damaged_clips_get_one_verdict_each(clips, tmp_path):
    check_damaged(damaged(clips, tmp_path, 26, 0))


@pytest.mark.slow
def test_five_hundred_damaged_clips_get_one_verdict_each(clips, tmp_path):
    check_damaged(damaged(clips, tmp_path, 500, 1))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reading a worker's peak is not permitted here")
def test_memory_of_a_worker_that_reads_4k(av, tmp_path):
    from tagloom.datasets._clip_file import write_clip

    random = np.random.default_rng(0)
    noise = random.integers(0, 256, (270, 480, 3), dtype=np.uint8).repeat(8, axis=0).repeat(8, axis=1)
    write_clip(tmp_path / "large.mp4", (np.roll(noise, 40 * k, axis=1) for k in range(24)), rate=12)
    with DecodePool([Rendition("fit-64", "fit", 64)], n_workers=1, thumbnail_size=96, deadline=120.0) as pool:
        photo = decoded(pool, tmp_path / "large.mp4")
        (worker,) = pool._living
        with open(f"/proc/{worker.pid}/status", encoding="ascii") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert photo.record.ok, photo.record.detail
    assert (photo.record.width, photo.record.height) == (3840, 2160)
    assert peak < 600 * 1024
