import errno
import io
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagloom.core.keywords import Keyword
from tagloom.exceptions import MetadataError, WriteError
from tagloom.metadata import embedding
from tagloom.metadata.embedded import find_blocks, read_blocks
from tagloom.metadata.embedding import KeywordEmbedder
from tagloom.metadata.file_changes import FileChanges
from tagloom.metadata.iptc import read_iptc
from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.metadata.sidecars import KeywordChange
from tagloom.metadata.xmp_read import Stated, read_xmp

SIDECARS = Path(__file__).parent / "sidecars"
SEA, CAT = Keyword.flat("sea"), Keyword(("Animals", "Cat"))
ODD = (
    Keyword(("Orte", "Köln", "Straße, alt")),
    Keyword.flat("a|b"),
    Keyword.flat("c/d"),
    Keyword.flat("\"quoted\" & <tagged> 'x'"),
    Keyword.flat("-charset"),
    Keyword.flat("# 日本"),
    Keyword.flat("x" * 1000),
)
OURS = re.compile(rb"\s*<(dc:subject|lr:hierarchicalSubject|digiKam:TagsList)\b.*?</\1>", re.DOTALL)


def encoded(kind: str, **options) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, size=(24, 32, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def jpeg_with_iptc(*values: bytes, xmp: bytes | None = None) -> bytes:
    iptc = b"".join(b"\x1c\x02\x19" + struct.pack(">H", len(value)) + value for value in values)
    iptc += b"\x1c\x02\x05\x00\x05title"
    block = b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0" + struct.pack(">I", len(iptc)) + iptc + b"\0" * (len(iptc) % 2)
    plain = encoded("JPEG", **({"xmp": xmp} if xmp else {}))
    return plain[:2] + b"\xff\xed" + struct.pack(">H", len(block) + 2) + block + plain[2:]


@pytest.fixture
def changes(tmp_path):
    """Return file changes with a journal of their own."""
    return FileChanges(tmp_path / "journal")


@pytest.fixture
def fake(tmp_path):
    """Return a function that makes a program in place of exiftool, which runs some Python in the scratch folder."""

    def make(body: str) -> str:
        program = tmp_path / "fake-exiftool"
        program.write_text(f"#!{sys.executable}\nimport sys\nsaid = sys.stdin.read()\n{body}\n")
        program.chmod(0o755)
        return str(program)

    return make


def embed_one(changes, photo, exiftool, **asked):
    embedder = KeywordEmbedder(changes, exiftool=exiftool)
    (outcome,) = embedder.write([KeywordChange(os.fsencode(photo), **asked)])
    return outcome


def test_without_exiftool_there_is_a_clear_error(changes, monkeypatch):
    monkeypatch.setattr(embedding.shutil, "which", lambda name: None)
    with pytest.raises(MetadataError, match=r"needs exiftool.*install it.*or write to sidecars"):
        KeywordEmbedder(changes)


OTHER_PIXELS = """
from PIL import Image
Image.new("RGB", (32, 24), "red").save("copy.jpg", xmp=open("packet.xmp", "rb").read())
"""


@pytest.mark.medium
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("sys.exit('Error: no such luck')", "no such luck"),
        (OTHER_PIXELS, "same pixels"),
        ("", "keywords asked for"),
        ("open('copy.jpg', 'wb').write(b'')", "cannot be decoded"),
        ("open('copy.jpg', 'r+b').truncate(400)", "cannot be decoded"),
    ],
)
def test_a_bad_copy_never_replaces_the_photo(changes, fake, tmp_path, body, problem):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(encoded("JPEG", xmp=(SIDECARS / "exiftool.xmp").read_bytes()))
    before = photo.read_bytes()
    outcome = embed_one(changes, photo, fake(body), add=(CAT,))
    assert outcome.status == "failed"
    assert problem in outcome.problem
    assert photo.read_bytes() == before
    assert changes.entries() == []
    assert os.listdir(changes.journal.folder) == []


def test_a_full_disk_ends_it_with_a_clear_line(changes, tmp_path, monkeypatch):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(encoded("JPEG"))
    before = photo.read_bytes()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(embedding.shutil, "disk_usage", lambda _: usage._replace(free=len(before)))
    with pytest.raises(WriteError, match=r"No space left on device.*left as it was\. Free some space") as caught:
        embed_one(changes, photo, "never-run", add=(CAT,))
    assert caught.value.errno == errno.ENOSPC
    assert photo.read_bytes() == before
    assert os.listdir(changes.journal.folder) == []


def test_a_missing_program_and_formats_that_are_not_written(changes, tmp_path):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(encoded("JPEG"))
    assert "did not run" in embed_one(changes, photo, str(tmp_path / "nothing"), add=(CAT,)).problem
    others = {
        "a.gif": encoded("GIF"),
        "a.dng": encoded("TIFF"),
        "a.txt": b"text",
        "b.jpg": b"",
        "c.jpg": encoded("JPEG", xmp=b"<x HasExtendedXMP='0'/>"),
    }
    for name, data in others.items():
        (tmp_path / name).write_bytes(data)
    asked = [KeywordChange(os.fsencode(tmp_path / name), add=(CAT,)) for name in [*others, "missing.jpg"]]
    outcomes = list(KeywordEmbedder(changes, exiftool="exiftool").write(asked))
    assert {outcome.status for outcome in outcomes} == {"failed"}
    assert all(outcome.problem and outcome.plan is None for outcome in outcomes)
    for name, data in others.items():
        assert (tmp_path / name).read_bytes() == data


def test_a_plan_runs_nothing(changes, tmp_path):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(jpeg_with_iptc(b"lake", b"old"))
    embedder = KeywordEmbedder(changes, exiftool="never-run")
    outcome = embedder.plan(KeywordChange(os.fsencode(photo), add=(CAT,), remove=(Keyword.flat("old"),)))
    assert outcome.status == "planned"
    assert outcome.describe().splitlines() == [
        "a.jpg: new, 2 added, 1 removed",
        "  + Animals|Cat",
        "  + lake",
        "  - old",
    ]
    assert embedder.plan(KeywordChange(os.fsencode(photo))).status == "unchanged"
    assert embedder.plan(KeywordChange(os.fsencode(photo), remove=(SEA,))).status == "unchanged"


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_every_format(exiftool, changes, tmp_path, kind):
    photo = tmp_path / f"photo.{kind.lower()}"
    before = encoded(kind)
    photo.write_bytes(before)
    photo.chmod(0o640)
    outcome = embed_one(changes, photo, exiftool, add=ODD)
    assert outcome.problem == ""
    assert outcome.status == "written"
    assert read_photo_keywords(os.fsencode(photo)).keywords == tuple(sorted(ODD))
    with Image.open(io.BytesIO(before)) as old, Image.open(photo) as new:
        assert old.tobytes() == new.tobytes()
    assert photo.stat().st_mode & 0o777 == 0o640
    assert embed_one(changes, photo, exiftool, add=ODD).status == "unchanged"
    second = embed_one(changes, photo, exiftool, add=(SEA,), remove=ODD)
    assert read_photo_keywords(os.fsencode(photo)).keywords == (SEA,)
    changes.undo(second.entry)
    changes.undo(outcome.entry)
    assert photo.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == sorted(["journal", photo.name])


@pytest.mark.medium
@pytest.mark.parametrize("program", ["lightroom", "digikam", "exiftool"])
def test_foreign_metadata_stays_byte_for_byte(exiftool, changes, tmp_path, program):
    packet = (SIDECARS / f"{program}.xmp").read_bytes()
    photo = tmp_path / "a.jpg"
    exif = Image.Exif()
    exif[0x0110] = "a camera"
    photo.write_bytes(encoded("JPEG", xmp=packet, exif=exif))
    assert embed_one(changes, photo, exiftool, add=(CAT,)).status == "written"
    # exiftool puts the usual wrapper around a packet that has none.
    assert OURS.sub(b"", packet).strip() in OURS.sub(b"", read_blocks(os.fsencode(photo)).xmp)
    with Image.open(photo) as image:
        assert image.getexif()[0x0110] == "a camera"


@pytest.mark.medium
@pytest.mark.parametrize("name", [b"-delete_original.jpg", b"a\nb.jpg", b"caf\xe9.jpg", b"%d$(x) ';.jpg", b"@.jpg"])
def test_odd_names(exiftool, changes, tmp_path, name):
    photo = os.path.join(os.fsencode(tmp_path), name)
    with open(photo, "wb") as handle:
        handle.write(encoded("JPEG"))
    assert embed_one(changes, photo, exiftool, add=(CAT,)).status == "written"
    assert read_photo_keywords(photo).keywords == (CAT,)
    assert sorted(os.listdir(os.fsencode(tmp_path))) == sorted([b"journal", name])


@pytest.mark.medium
@pytest.mark.parametrize("value", ["Größe".encode(), "Größe".encode("latin-1")])
def test_iptc_is_kept_in_step(exiftool, changes, tmp_path, value):
    photo = tmp_path / "a.jpg"
    before = jpeg_with_iptc(value, b"old")
    photo.write_bytes(before)
    add = tuple(Keyword.flat(name) for name in ("日本", "<x", "$y", "=", "#z", "a;b", "x" * 1000))
    outcome = embed_one(changes, photo, exiftool, add=(CAT, *add), remove=(Keyword.flat("old"),))
    assert outcome.problem == ""
    blocks = read_blocks(os.fsencode(photo))
    expected = sorted(["Animals", "Cat", "Größe", "日本", "<x", "$y", "=", "#z", "a;b"])
    assert [each.text for each in read_iptc(blocks.iptc)] == expected
    assert {each.text for each in read_xmp(blocks.xmp)} == {*expected, "Animals|Cat", "x" * 1000} - {"Animals", "Cat"}
    assert b"\x1c\x02\x05\x00\x05title" in blocks.iptc
    told = subprocess.run([exiftool, "-s3", "-sep", "@@", "-IPTC:Keywords", photo], check=True, capture_output=True)
    assert sorted(told.stdout.decode().strip().split("@@")) == expected
    changes.undo(outcome.entry)
    assert photo.read_bytes() == before


@pytest.mark.medium
def test_what_darktable_wrote_for_itself_stays_where_it_is(exiftool, changes, tmp_path):
    photo = tmp_path / "photo.jpg"
    own = Keyword(("darktable", "format", "nef"))
    xmp = (SIDECARS / "lightroom.xmp").read_bytes().replace(b"Places|Europe|France|Paris", b"darktable|format|nef")
    photo.write_bytes(jpeg_with_iptc(b"darktable|changed", b"nef", b"lake", xmp=xmp))
    assert own in read_xmp(read_blocks(os.fsencode(photo)).xmp)
    outcome = embed_one(changes, photo, exiftool, add=(SEA,))
    assert outcome.status == "written", outcome.problem
    blocks = read_blocks(os.fsencode(photo))
    assert own in read_xmp(blocks.xmp)
    assert b"darktable/format/nef" not in blocks.xmp
    assert b"darktable|changed" not in blocks.xmp
    assert {each.name for each in read_iptc(blocks.iptc)} >= {"darktable|changed", "nef", "lake", "sea"}
    assert not {"format", "changed"} & {each.name for each in read_iptc(blocks.iptc)}


@pytest.mark.medium
def test_what_was_brought_goes_out_of_both_blocks_and_what_others_wrote_stays(exiftool, changes, tmp_path):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(jpeg_with_iptc(b"Cat", b"lake"))
    written = embed_one(changes, photo, exiftool, add=(CAT, SEA, Keyword.flat("lake")))
    assert (sorted(written.plan.own.flat), written.plan.own.paths) == (["Animals", "sea"], {CAT, SEA})
    assert Stated.from_text(written.entry.note) == written.plan.own
    later = embed_one(
        changes, photo, exiftool, add=(Keyword.flat("ocean"),), own={written.entry.after: written.plan.own}
    )
    assert later.problem == ""
    blocks = read_blocks(os.fsencode(photo))
    assert [each.text for each in read_iptc(blocks.iptc)] == ["Cat", "lake", "ocean"]
    assert [each.text for each in read_xmp(blocks.xmp)] == ["Cat", "lake", "ocean"]
    assert later.plan.own == Stated(frozenset({"ocean"}), frozenset({Keyword.flat("ocean")}))
    changes.undo(later.entry)
    changes.undo(written.entry)
    assert photo.read_bytes() == jpeg_with_iptc(b"Cat", b"lake")


@pytest.mark.medium
@pytest.mark.parametrize("keywords", [(b"Cat",), (b"Animals", b"Dog"), (b"Animals", b"Cat")])
def test_a_no_to_a_keyword_that_is_not_there_takes_nothing_out_of_iptc(exiftool, changes, tmp_path, keywords):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(jpeg_with_iptc(*keywords))
    assert embed_one(changes, photo, exiftool, remove=(CAT,)).status == "unchanged"
    assert photo.read_bytes() == jpeg_with_iptc(*keywords)


@pytest.mark.medium
def test_nothing_is_known_of_a_photo_that_another_program_has_changed(exiftool, changes, tmp_path):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(jpeg_with_iptc(b"lake"))
    written = embed_one(changes, photo, exiftool, add=(SEA,))
    own = {written.entry.after: written.plan.own}
    subprocess.run([exiftool, "-q", "-overwrite_original", "-XMP:Rating=3", photo], check=True)
    assert embed_one(changes, photo, exiftool, own=own).status == "unchanged"


@pytest.mark.medium
def test_removing_what_only_iptc_has(exiftool, changes, tmp_path):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(jpeg_with_iptc(b"old"))
    outcome = embed_one(changes, photo, exiftool, remove=(Keyword.flat("old"),))
    assert outcome.problem == ""
    assert outcome.status == "written"
    assert outcome.plan.removed == (Keyword.flat("old"),)
    assert read_photo_keywords(os.fsencode(photo)).keywords == ()
    assert find_blocks(io.BytesIO(photo.read_bytes())).xmp == b""


@pytest.mark.medium
def test_links_are_written_through(exiftool, changes, tmp_path):
    photo, link = tmp_path / "a.jpg", tmp_path / "link.jpg"
    photo.write_bytes(encoded("JPEG"))
    link.symlink_to(photo)
    assert embed_one(changes, link, exiftool, add=(CAT,)).status == "written"
    assert link.is_symlink()
    assert read_photo_keywords(os.fsencode(photo)).keywords == (CAT,)


def test_the_program_is_found(exiftool, changes):
    assert embedding.find_exiftool() == shutil.which("exiftool")
    KeywordEmbedder(changes)
