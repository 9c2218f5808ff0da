import errno
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagloom.core.keywords import Keyword
from tagloom.exceptions import MetadataError, WriteError
from tagloom.metadata import embedding, kept_process
from tagloom.metadata.embedded import find_blocks, read_blocks
from tagloom.metadata.embedding import KeywordEmbedder
from tagloom.metadata.file_changes import FileChanges
from tagloom.metadata.iptc import read_iptc
from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.metadata.sidecars import FileMemory, KeywordChange
from tagloom.metadata.xmp_read import FieldRecord, Stated, read_xmp

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
OURS = re.compile(
    rb"\s*<(dc:subject|lr:hierarchicalSubject|digiKam:TagsList|MicrosoftPhoto:\w+|mediapro:\w+)\b.*?</\1>"
    rb'|acdsee:categories="[^"]*"',
    re.DOTALL,
)


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


FAKE_LOOP = """
import os, sys, time
said = []
for line in iter(sys.stdin.readline, ""):
    said.append(line.rstrip("\\n"))
    if said[-1] != "-execute":
        continue
    BODY
    print("{ready}", flush=True)
    said = []
"""


@pytest.fixture
def fake(tmp_path):
    """Return a function that makes a program in place of exiftool, which runs some Python for each photo."""

    def make(body: str) -> str:
        program = tmp_path / "fake-exiftool"
        loop = FAKE_LOOP.replace("BODY", textwrap.indent(body, "    ").strip() or "pass")
        program.write_text(f"#!{sys.executable}\n{loop}")
        program.chmod(0o755)
        return str(program)

    return make


def embed_one(changes, photo, exiftool, iptc=False, **asked):
    with KeywordEmbedder(changes, exiftool=exiftool, iptc=iptc) as embedder:
        (outcome,) = embedder.write([KeywordChange(os.fsencode(photo), **asked)])
    return outcome


def test_without_exiftool_there_is_a_clear_error(changes, monkeypatch):
    monkeypatch.setattr(embedding.shutil, "which", lambda name: None)
    with pytest.raises(MetadataError, match=r"needs exiftool.*install it.*or write to sidecars"):
        KeywordEmbedder(changes)


WITH_PACKET = """
packet = b"http://ns.adobe.com/xap/1.0/" + bytes(1) + open("packet.xmp", "rb").read()
photo = open("original.jpg", "rb").read()
with open("copy.jpg", "wb") as handle:
    handle.write(photo[:2] + bytes([255, 225]) + (len(packet) + 2).to_bytes(2, "big") + packet + photo[2:])
"""
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


def test_a_missing_program_and_files_that_cannot_be_read(changes, tmp_path):
    photo = tmp_path / "a.jpg"
    photo.write_bytes(encoded("JPEG"))
    assert "did not run" in embed_one(changes, photo, str(tmp_path / "nothing"), add=(CAT,)).problem
    (tmp_path / "b.jpg").write_bytes(b"")
    asked = [KeywordChange(os.fsencode(tmp_path / name), add=(CAT,)) for name in ("b.jpg", "missing.jpg")]
    with KeywordEmbedder(changes, exiftool="exiftool") as embedder:
        outcomes = list(embedder.write(asked))
    assert {outcome.status for outcome in outcomes} == {"failed"}
    assert all(outcome.problem and outcome.plan is None for outcome in outcomes)
    assert sorted(os.listdir(tmp_path)) == ["a.jpg", "b.jpg", "journal"]


def test_formats_that_are_not_written_get_sidecars(changes, tmp_path):
    photos = {
        "a.avif": b"\0\0\0\x20ftypavif" + b"\0" * 30,
        "a.heic": b"\0\0\0\x20ftypheic" + b"\0" * 30,
        "a.gif": encoded("GIF"),
        "a.dng": encoded("TIFF"),
        "c.jpg": encoded("JPEG", xmp=b"<x HasExtendedXMP='0'/>"),
    }
    for name, data in photos.items():
        (tmp_path / name).write_bytes(data)
    asked = [KeywordChange(os.fsencode(tmp_path / name), add=(CAT,)) for name in photos]
    with KeywordEmbedder(changes, exiftool="never-run") as embedder:
        planned = [embedder.plan(change) for change in asked]
        outcomes = list(embedder.write(asked))
    assert [outcome.status for outcome in planned] == ["planned"] * len(photos)
    assert [outcome.status for outcome in outcomes] == ["written"] * len(photos)
    for outcome, (name, data) in zip(outcomes, photos.items(), strict=True):
        assert outcome.file == os.fsencode(tmp_path / f"{name}.xmp")
        assert read_xmp((tmp_path / f"{name}.xmp").read_bytes()) == (CAT,)
        assert (tmp_path / name).read_bytes() == data
        changes.undo(outcome.entry)
        assert not (tmp_path / f"{name}.xmp").exists()


@pytest.mark.medium
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("if os.path.exists('first'): time.sleep(100)", "took more than 0.5 s"),
        ("if os.path.exists('first'): os.kill(os.getpid(), 9)", "did not run to its end"),
        ("if os.path.exists('first'): print('x' * (1 << 21))", "did not run to its end"),
    ],
    ids=["hangs", "crashes", "prints without end"],
)
def test_a_program_that_hangs_or_crashes_is_started_again(changes, fake, tmp_path, monkeypatch, body, problem):
    rewrite, n_runs = KeywordEmbedder._run, []

    def run(self, arguments, folder):
        n_runs.append(1)
        if len(n_runs) == 1:
            (folder / "first").touch()
        monkeypatch.setattr(embedding, "DEADLINE", 0.5 if len(n_runs) == 1 and "sleep" in body else 60.0)
        rewrite(self, arguments, folder)

    monkeypatch.setattr(KeywordEmbedder, "_run", run)
    photos = [tmp_path / "a.jpg", tmp_path / "b.jpg"]
    for photo in photos:
        photo.write_bytes(encoded("JPEG"))
    program = fake(body + WITH_PACKET)
    with KeywordEmbedder(changes, exiftool=program) as embedder:
        asked = [KeywordChange(os.fsencode(photo), add=(CAT,)) for photo in photos]
        first, second = embedder.write(asked)
    assert (first.status, second.status) == ("failed", "written"), (first.problem, second.problem)
    assert problem in first.problem
    assert "left as it was" in first.problem
    assert photos[0].read_bytes() == encoded("JPEG")
    assert os.listdir(changes.journal.folder) == [f"{second.entry.id}.done"]


@pytest.mark.medium
def test_exiftool_ends_with_tagloom(exiftool, tmp_path):
    (tmp_path / "a.jpg").write_bytes(encoded("JPEG"))
    code = f"""
        import os, signal
        from tagloom.core.keywords import Keyword
        from tagloom.metadata.embedding import KeywordEmbedder
        from tagloom.metadata.file_changes import FileChanges
        from tagloom.metadata.sidecars import KeywordChange

        embedder = KeywordEmbedder(FileChanges({str(tmp_path / "journal")!r}), exiftool={exiftool!r})
        list(embedder.write([KeywordChange({os.fsencode(tmp_path / "a.jpg")!r}, add=(Keyword.flat("sea"),))]))
        print(embedder._exiftool._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, check=False)
    group = int(done.stdout)
    for _ in range(1000):  # ten seconds at most
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("exiftool outlived tagloom")


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG"])
def test_iptc_where_it_is_asked_for(exiftool, changes, tmp_path, kind):
    photo = tmp_path / f"a.{kind.lower()}"
    photo.write_bytes(encoded(kind))
    long = Keyword.flat("ß" * 33)
    outcome = embed_one(changes, photo, exiftool, add=(CAT, long))
    assert (outcome.status, read_blocks(os.fsencode(photo)).iptc) == ("written", b"")
    without = photo.read_bytes()
    outcome = embed_one(changes, photo, exiftool, iptc=True, add=(CAT, long))
    if kind == "PNG":  # other programs do not look for IPTC there
        assert outcome.status == "unchanged"
        return
    assert outcome.status == "written"
    assert read_iptc(read_blocks(os.fsencode(photo)).iptc) == (Keyword.flat("Animals"), Keyword.flat("Cat"))
    assert any("64 bytes" in note for note in outcome.plan.notes)
    assert embed_one(changes, photo, exiftool, iptc=True, add=(CAT, long)).status == "unchanged"
    changes.undo(outcome.entry)
    assert photo.read_bytes() == without


@pytest.mark.medium
def test_one_program_writes_many_photos(exiftool, changes, tmp_path, monkeypatch):
    blocks = [jpeg_with_iptc(b"caf\xe9"), jpeg_with_iptc("日本".encode()), encoded("PNG"), jpeg_with_iptc(b"lake")]
    kinds = [".jpg", ".jpg", ".png", ".jpg"]
    photos = [tmp_path / f"{number}{kind}" for number, kind in enumerate(kinds)]
    for photo, data in zip(photos, blocks, strict=True):
        photo.write_bytes(data)
    starts, start = [], kept_process.KeptProcess._start
    monkeypatch.setattr(kept_process.KeptProcess, "_start", lambda *given: (starts.append(1), start(*given))[1])
    with KeywordEmbedder(changes, exiftool=exiftool) as embedder:
        asked = [KeywordChange(os.fsencode(photo), add=(*ODD, CAT)) for photo in photos]
        outcomes = list(embedder.write(asked))
    assert [outcome.status for outcome in outcomes] == ["written"] * 4
    assert len(starts) == 2  # exiftool, and what decodes pictures
    for photo, old in zip(photos, ["café", "日本", None, "lake"], strict=True):
        wanted = {*ODD, CAT, *([Keyword.flat(old)] if old else [])}
        assert set(read_xmp(read_blocks(os.fsencode(photo)).xmp)) == wanted
    for outcome, data in zip(outcomes, blocks, strict=True):
        changes.undo(outcome.entry)
        with open(outcome.photo, "rb") as handle:
            assert handle.read() == data


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
        "  dc:subject: + Animals  + Cat  + lake",
        "  lr:hierarchicalSubject: + Animals|Cat  + lake",
        "  digiKam:TagsList: + Animals/Cat  + lake",
        "  iptc:Keywords: + Animals  + Cat  - old",
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
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_what_windows_reads_is_kept_in_step_where_it_is(exiftool, changes, tmp_path, kind):
    photo = tmp_path / f"a.{kind.lower()}"
    photo.write_bytes(encoded(kind))
    made = ["-EXIF:XPKeywords=sea;lake;Animals", "-XMP-dc:Subject=sea"]
    subprocess.run([exiftool, "-q", "-overwrite_original", *made, photo], check=True)
    before = photo.read_bytes()
    kyoto = Keyword.flat("京都")
    outcome = embed_one(changes, photo, exiftool, add=(CAT, kyoto), remove=(SEA,))
    assert outcome.problem == ""
    assert read_blocks(os.fsencode(photo)).xp_keywords == ("lake", "Animals", "Cat", kyoto.name)
    (changed,) = (each for each in outcome.plan.fields if each.label == "exif:XPKeywords")
    assert (changed.added, changed.removed) == (("Cat", kyoto.name), ("sea",))
    record = FieldRecord.from_dict(json.loads(outcome.entry.note))
    assert sorted(record.items["exif:XPKeywords"]) == sorted(["lake", "Animals", "Cat", kyoto.name])
    # No field is written in part: it goes where it cannot hold a keyword, and with the last keyword.
    for name in ("a;b", "\N{GRINNING FACE}"):
        odd = embed_one(changes, photo, exiftool, add=(Keyword.flat(name),))
        assert (odd.status, read_blocks(os.fsencode(photo)).xp_keywords) == ("written", ())
        assert any("XPKeywords" in note and name in note for note in odd.plan.notes)
        changes.undo(odd.entry)
    gone = embed_one(changes, photo, exiftool, remove=(CAT, kyoto, Keyword.flat("lake"), Keyword.flat("Animals")))
    assert set(gone.plan.removed) == {CAT, kyoto, Keyword.flat("lake"), Keyword.flat("Animals")}
    assert read_photo_keywords(os.fsencode(photo)).keywords == ()
    changes.undo(gone.entry)
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
        changes,
        photo,
        exiftool,
        add=(Keyword.flat("ocean"),),
        memory={written.entry.after: FileMemory(written.plan.own)},
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
    memory = {written.entry.after: FileMemory(written.plan.own)}
    subprocess.run([exiftool, "-q", "-overwrite_original", "-XMP:Rating=3", photo], check=True)
    assert embed_one(changes, photo, exiftool, memory=memory).status == "unchanged"


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
