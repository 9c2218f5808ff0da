"""Keywords of many photos come as those of one do, and a photo that is an attack has a line."""

import shutil
import zlib
from pathlib import Path

import pytest

from tagloom.core.keywords import Keyword
from tagloom.metadata import photos_keywords, xmp_tree
from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.metadata.photos_keywords import read_photos_keywords
from tagloom.metadata.sidecar_plan import plan_sidecar

SIDECARS = Path(__file__).parent / "sidecars"


def png(packet: bytes) -> bytes:
    """Return a PNG of nothing but XMP in a compressed text."""
    chunk = b"iTXtXML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(packet, 9)
    end = b"\0\0\0\0IEND" + zlib.crc32(b"IEND").to_bytes(4, "big")
    data = (len(chunk) - 4).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + data + end


@pytest.fixture
def photos(tmp_path):
    made = []
    for number, sidecar in enumerate(sorted(SIDECARS.glob("*.xmp"))):
        photo = tmp_path / f"{number}.png"
        photo.write_bytes(png(plan_sidecar(None, add=[Keyword.flat(f"tag {number}")]).after or b""))
        shutil.copy(sidecar, tmp_path / f"{number}.png.xmp")
        made.append(bytes(photo))
    return made


@pytest.mark.parametrize("embedded", [True, False])
def test_the_same_is_found_as_in_one(photos, embedded):
    expected = [read_photo_keywords(photo, embedded=embedded) for photo in photos]
    assert list(read_photos_keywords(photos, embedded=embedded)) == expected
    assert any(found.keywords for found in expected)


def test_what_each_file_says_can_be_had_alone(photos):
    for alone, whole in zip(read_photos_keywords(photos, files_only=True), read_photos_keywords(photos), strict=True):
        assert alone.files == whole.files
        assert (alone.sidecar, alone.fingerprint, alone.problems) == (whole.sidecar, whole.fingerprint, whole.problems)
        assert not alone.keywords


def test_a_small_photo_that_would_take_gigabytes_is_one_line(photos, tmp_path):
    names = "".join(f"<n:a{number}/>" for number in range(40_000))
    bomb = tmp_path / "bomb.png"
    packet = plan_sidecar(None, add=[Keyword.flat("cat")]).after or b""
    packet = packet.replace(
        b"</rdf:Description>", f'<b xmlns:n="{"x" * 500_000}">{names}</b></rdf:Description>'.encode()
    )
    bomb.write_bytes(png(packet))
    assert len(packet) < xmp_tree.LARGEST_XMP
    found = list(read_photos_keywords([photos[0], bytes(bomb), photos[1]]))
    (problem,) = found[1].problems
    assert "bomb.png" in problem
    assert "attack" in problem
    assert found[0].keywords
    assert found[2].keywords


def test_a_photo_on_which_the_reader_dies_is_one_line(photos, tmp_path, monkeypatch):
    (tmp_path / "dying_reader.py").write_text(
        "import os\n"
        "from tagloom.metadata.photo_keywords import read_each as plain\n"
        "def read_each(photos, sidecars, embedded):\n"
        "    for photo in photos:\n"
        "        if photo.endswith(b'1.png'):\n"
        "            os._exit(9)\n"
        "        yield from plain([photo], sidecars, embedded)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(photos_keywords.read_each, "__module__", "dying_reader")
    found = list(read_photos_keywords(photos))
    (problem,) = found[1].problems
    assert problem == "'1.png': its keywords could not be read: the reader died (exit status 9)"
    assert found[1].sidecar == photos[1] + b".xmp"
    assert [each.keywords for each in found[2:]] == [read_photo_keywords(photo).keywords for photo in photos[2:]]
