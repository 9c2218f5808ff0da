import io
import os
import random
import struct
import subprocess
import zlib

import pytest
from PIL import Image, PngImagePlugin, TiffImagePlugin

from tagloom.core.keywords import Keyword
from tagloom.exceptions import MetadataError
from tagloom.metadata import embedded
from tagloom.metadata.embedded import EmbeddedBlocks, find_blocks, read_blocks
from tagloom.metadata.iptc import read_iptc
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.metadata.xmp_read import read_xmp

PACKET = plan_sidecar(None, add=[Keyword(("Animals", "Cat"))]).after
IPTC = b"\x1c\x02\x19\x00\x03cat\x1c\x02\x19\x00\x03dog"


def encoded(kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), "teal").save(buffer, kind, **options)
    return buffer.getvalue()


def segment(marker: int, data: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def photoshop(*resources: tuple[int, bytes, bytes]) -> bytes:
    block = b""
    for number, name, data in resources:
        named = bytes([len(name)]) + name
        block += b"8BIM" + struct.pack(">H", number) + named + b"\0" * (len(named) % 2)
        block += struct.pack(">I", len(data)) + data + b"\0" * (len(data) % 2)
    return block


def jpeg(*segments: bytes) -> bytes:
    plain = encoded("JPEG")
    return plain[:2] + b"".join(segments) + plain[2:]


def found(data: bytes) -> EmbeddedBlocks:
    return find_blocks(io.BytesIO(data))


def test_what_pillow_writes_is_found():
    for kind in ("JPEG", "WEBP", "PNG", "TIFF"):
        options = {"xmp": PACKET}
        if kind == "PNG":
            info = PngImagePlugin.PngInfo()
            info.add_itxt("Comment", "x")
            info.add_itxt("XML:com.adobe.xmp", PACKET.decode())
            options = {"pnginfo": info}
        if kind == "TIFF":
            tags = TiffImagePlugin.ImageFileDirectory_v2()
            tags[700] = PACKET
            tags.tagtype[33723] = 7
            tags[33723] = IPTC
            options = {"tiffinfo": tags}
        blocks = found(encoded(kind, **options))
        assert blocks.xmp == PACKET, kind
        assert blocks.iptc == (IPTC if kind == "TIFF" else b"")
        assert found(encoded(kind)) == EmbeddedBlocks()


def test_compressed_png_text():
    data = encoded("PNG")
    body = b"XML:com.adobe.xmp\0\1\0en\0\0" + zlib.compress(PACKET)
    chunk = struct.pack(">I", len(body)) + b"iTXt" + body + struct.pack(">I", zlib.crc32(b"iTXt" + body))
    assert found(data[:-12] + chunk + data[-12:]).xmp == PACKET


def test_a_compressed_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(embedded, "LARGEST_XMP", 10_000)
    body = b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(bytes(1_000_000))
    chunk = struct.pack(">I", len(body)) + b"iTXt" + body + bytes(4)
    assert found(encoded("PNG")[:33] + chunk + encoded("PNG")[33:]) == EmbeddedBlocks()


def test_jpeg_segments():
    resources = photoshop((0x03ED, b"", b"12345"), (0x0404, b"odd", IPTC), (0x0425, b"", bytes(16)))
    xmp = segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + PACKET)
    blocks = found(jpeg(segment(0xE1, b"Exif\0\0II*\0"), b"\xff", segment(0xED, b"Photoshop 3.0\0" + resources), xmp))
    assert blocks == EmbeddedBlocks(xmp=PACKET, iptc=IPTC)


def test_a_block_over_two_segments():
    resources = photoshop((0x03ED, b"", bytes(40)), (0x0404, b"", IPTC))
    parts = [segment(0xED, b"Photoshop 3.0\0" + part) for part in (resources[:60], resources[60:])]
    assert found(jpeg(*parts)).iptc == IPTC


def test_extended_xmp():
    name = b"0123456789ABCDEF0123456789ABCDEF"
    head = b"http://ns.adobe.com/xmp/extension/\0" + name + struct.pack(">I", len(PACKET))
    main = segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + b"<x HasExtendedXMP='" + name + b"'/>")
    parts = [
        segment(0xE1, head + struct.pack(">I", start) + PACKET[start : start + 500])
        for start in range(0, len(PACKET), 500)
    ]
    assert found(jpeg(main, *parts[::-1])).extended_xmp == PACKET
    assert found(jpeg(main, *parts[1:])).extended_xmp == b""
    assert found(jpeg(main, *parts[:-1])).extended_xmp == b""
    assert found(jpeg(*parts)).extended_xmp == b""
    assert found(jpeg(main, segment(0xE1, head[:-2]))).extended_xmp == b""


@pytest.mark.parametrize("order", ["<", ">"])
def test_iptc_as_numbers_in_tiff(order):
    padded = IPTC + bytes(-len(IPTC) % 4)
    numbers = struct.unpack(f">{len(padded) // 4}I", padded)
    for data in (padded, struct.pack(f"{order}{len(numbers)}I", *numbers)):
        head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
        entry = struct.pack(order + "HHII", 33723, 4, len(numbers), 30)
        tiff = head + struct.pack(order + "H", 1) + entry + bytes(8) + data
        assert [each.text for each in read_iptc(found(tiff).iptc)] == ["cat", "dog"]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_damaged_files_never_crash(kind):
    generator = random.Random(1)
    whole = encoded(kind)
    if kind == "JPEG":
        resources = photoshop((0x0404, b"", IPTC))
        xmp = segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + PACKET)
        whole = jpeg(segment(0xED, b"Photoshop 3.0\0" + resources), xmp)
    elif kind != "PNG":
        whole = encoded(kind, xmp=PACKET) if kind == "WEBP" else whole
    for _ in range(400):
        data = bytearray(whole[: generator.randint(4, len(whole))])
        for _ in range(4):
            data[generator.randrange(4, len(data)) if len(data) > 4 else 0] = generator.randrange(256)
        found(bytes(data))


def test_files_that_are_none(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    for name in ("pipe.jpg", "missing.jpg", "."):
        with pytest.raises(MetadataError):
            read_blocks(os.fsencode(tmp_path / name))
    (tmp_path / "a.gif").write_bytes(b"GIF89a")
    assert read_blocks(os.fsencode(tmp_path / "a.gif")) == EmbeddedBlocks()


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["jpg", "png", "tif", "webp"])
def test_what_exiftool_embeds_is_found(exiftool, tmp_path, kind):
    photo = tmp_path / f"photo.{kind}"
    photo.write_bytes(encoded({"jpg": "JPEG", "tif": "TIFF"}.get(kind, kind.upper())))
    arguments = ["-XMP-dc:Subject=Größe", "-XMP-dc:Subject=a, b", "-XMP-lr:HierarchicalSubject=A|B"]
    if kind in ("jpg", "tif"):
        arguments += ["-IPTC:Keywords=Straße", "-IPTC:CodedCharacterSet=UTF8"]
    subprocess.run([exiftool, "-q", *arguments, photo], check=True, timeout=60)
    blocks = read_blocks(os.fsencode(photo))
    assert [each.text for each in read_xmp(blocks.xmp)] == ["A|B", "Größe", "a, b"]
    assert [each.text for each in read_iptc(blocks.iptc)] == (["Straße"] if kind in ("jpg", "tif") else [])
