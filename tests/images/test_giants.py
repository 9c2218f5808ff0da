"""Genuine giants decode within the memory limit; bombs do not."""

import os
import struct
import zlib

import pytest
from PIL import Image

from tagloom.images import DecodePool, Rendition

pytestmark = pytest.mark.medium

COLOUR = (200, 100, 50)


@pytest.fixture(scope="module")
def giants_pool():
    with DecodePool([Rendition("a", "square", 64)], n_workers=1, thumbnail_size=320) as pool:
        yield pool


@pytest.mark.parametrize(
    ("size", "mode", "kind", "options"),
    [
        ((16_320, 12_240), "RGB", "JPEG", {}),
        ((21_694, 10_847), "L", "JPEG", {}),
        pytest.param((21_694, 10_847), "RGB", "JPEG", {"progressive": True}, marks=pytest.mark.slow),
        pytest.param((16_320, 12_240), "RGB", "PNG", {"compress_level": 1}, marks=pytest.mark.slow),
        pytest.param((16_320, 12_240), "RGB", "TIFF", {"compression": "tiff_lzw"}, marks=pytest.mark.slow),
    ],
)
def test_giants_decode_within_the_memory_limit(giants_pool, tmp_path, size, mode, kind, options):
    path = tmp_path / "giant"
    colour = COLOUR if mode == "RGB" else COLOUR[:1] * 3
    Image.new(mode, size, colour if mode == "RGB" else colour[0]).save(path, kind, **options)
    (photo,) = giants_pool.decode([os.fsencode(path)])
    assert photo.record.ok, photo.record.detail
    assert (photo.record.width, photo.record.height) == size
    assert abs(photo.pixels["a"].astype(int) - colour).max() <= 3
    assert photo.thumbnail


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_a_bomb_is_refused_and_costs_no_memory(tmp_path, peak_of):
    side = 40_000
    rows = zlib.compressobj(1)
    row = bytes(1 + side // 8)
    body = b"".join([*(rows.compress(row) for _ in range(side)), rows.flush()])
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    path = tmp_path / "bomb.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b""))
    assert path.stat().st_size < 2 << 20
    with DecodePool([Rendition("a", "square", 64)], n_workers=1) as pool:
        (photo,) = pool.decode([os.fsencode(path)])
        (worker,) = pool._living
        peak = peak_of(worker.pid)
    assert photo.record.verdict == "too_large"
    assert "1,600,000,000 pixels" in photo.record.detail
    assert peak is None or peak < 100 << 20
