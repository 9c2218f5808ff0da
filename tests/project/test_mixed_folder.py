"""A folder of 300 photos and 60 videos of thirteen formats, odd ones among both: one verdict each."""

import io
import os
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from tagloom import Project
from tests.made_clips import FORMATS, write_format
from tests.made_live_photos import movie, still

N_PHOTOS, N_CLIPS = 300, 60
KINDS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF")


def photos(folder):
    """Write photos in six formats, a Live Photo and a Motion Photo among them; return the verdict that each gets."""
    random = np.random.default_rng(0)
    wanted = {}
    for index in range(N_PHOTOS):
        kind = KINDS[index % len(KINDS)]
        file = io.BytesIO()
        Image.fromarray(random.integers(0, 256, (30, 40, 3), dtype=np.uint8)).save(file, kind)
        data, verdict = file.getvalue(), "ok"
        if index % 60 == 7:
            data, verdict = data[: len(data) // 2], "damaged"
        elif index % 60 == 8:
            data, verdict = b"", "empty"
        elif index % 60 == 9:
            data, verdict = b"no photo at all", "not_an_image"
        name = f"photo {index:03d}.{kind.lower()}"
        (folder / name).write_bytes(data)
        wanted[name] = verdict
    (folder / "photo 000.jpeg").write_bytes(still() + movie(1.5))
    (folder / "photo 006.mov").write_bytes(movie(2.5))
    return wanted | {"photo 006.mov": "clip_of_photo"}


def videos(folder):
    """Write videos; return the verdict that each gets."""
    names = sorted(FORMATS)
    made = {name: write_format(folder, name) for name in names}
    wanted = dict.fromkeys(names, "ok")
    odd = {
        "empty.mp4": (b"", "empty"),
        "text.mov": (b"no video at all", "not_an_image"),
        "list.mkv": (b"#EXTM3U\n#EXTINF:10,\nh264.mp4\n", "not_an_image"),
        "header.webm": (made["vp8.webm"].read_bytes()[:200], "damaged"),
        "half.mp4": (made["h264.mp4"].read_bytes()[:2_000], "damaged"),
    }
    for name, (data, verdict) in odd.items():
        (folder / name).write_bytes(data)
        wanted[name] = verdict
    for index in range(N_CLIPS - 1 - len(wanted)):  # the one of the Live Photo is a video, too
        name = names[index % len(names)]
        copy = f"{index:02d} {name}"
        # Bytes after the end make it another content.
        (folder / copy).write_bytes(made[name].read_bytes() + bytes([0, 0, 0, 9]) + b"free" + bytes([index + 1]))
        wanted[copy] = "ok"
    return wanted


@pytest.mark.slow
def test_one_verdict_each(av, tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    wanted = photos(folder) | videos(folder)
    assert len(wanted) == N_PHOTOS + N_CLIPS
    assert len({name.rpartition(".")[2] for name in FORMATS}) >= 8
    with Project.init(folder, flags={"n_workers": 2, "deadline_seconds": 60.0}) as project:
        result = project.scan()
        table = project.store.photos.table()
        found = dict(zip(map(os.fsdecode, table.paths), table.verdicts, strict=True))
        assert {
            name: (found.get(name), verdict) for name, verdict in wanted.items() if found.get(name) != verdict
        } == {}
        assert found.keys() == wanted.keys()
        assert result.unreadable == {
            k: n for k, n in Counter(wanted.values()).items() if k not in ("ok", "clip_of_photo")
        }
        assert (result.n_clips_of_photos, result.n_clips_in_photos, result.n_videos) == (1, 1, N_CLIPS - 1)
        assert project.scan().n_read == 0
