import io
import os

import pytest
from PIL import Image

from tagloom.core.keywords import Keyword
from tagloom.metadata.photo_keywords import find_sidecar, find_sidecars, new_sidecar, read_photo_keywords
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.metadata.write_journal import fingerprint

CAT, SEA = Keyword(("Animals", "Cat")), Keyword.flat("sea")


@pytest.fixture
def photo(tmp_path):
    """Return the path of a JPEG with an embedded keyword and no sidecar."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "JPEG", xmp=packet(["Cat", "sea"], []))
    path = tmp_path / "photo.jpg"
    path.write_bytes(buffer.getvalue())
    return os.fsencode(path)


def put(path: bytes, data: bytes) -> None:
    with open(path, "wb") as handle:
        handle.write(data)


def test_order_of_sidecars(photo):
    assert find_sidecar(photo) is None
    assert new_sidecar(photo) == photo + b".xmp"
    stem = photo.removesuffix(b".jpg")
    # From the last choice to the first.
    for name in (stem + b".XMP", stem + b".xmp", photo + b".XMP", photo + b".xmp"):
        put(name, b"x")
        assert find_sidecar(photo) == name


def test_a_name_without_extension(tmp_path):
    path = os.fsencode(tmp_path / "photo")
    put(path + b".xmp", b"x")
    assert find_sidecar(path) == path + b".xmp"


def test_union_of_places(photo):
    sidecar = plan_sidecar(None, add=[CAT]).after
    put(photo + b".xmp", sidecar)
    found = read_photo_keywords(photo)
    assert found.keywords == (CAT, SEA)
    assert found.places == {"sidecar": (CAT,), "xmp": (Keyword.flat("Cat"), SEA)}
    assert found.sidecar == photo + b".xmp"
    assert found.fingerprint == fingerprint(sidecar)
    assert found.problems == ()
    assert read_photo_keywords(photo, embedded=False).keywords == (CAT,)
    assert read_photo_keywords(photo, sidecars=False).keywords == (Keyword.flat("Cat"), SEA)


def test_both_sidecars_are_read(photo):
    put(photo + b".xmp", plan_sidecar(None, add=[CAT]).after)
    stem = photo.removesuffix(b".jpg") + b".xmp"
    put(stem, plan_sidecar(None, add=[Keyword.flat("boat")]).after)
    found = read_photo_keywords(photo, embedded=False)
    assert found.keywords == (CAT, Keyword.flat("boat"))
    assert [each.file for each in found.files] == [photo + b".xmp", stem]
    assert find_sidecars(photo, "photo.xmp") == [stem, photo + b".xmp"]
    assert new_sidecar(photo, "photo.xmp") == stem


def test_a_file_that_did_not_change_has_no_say(photo):
    """A program that wrote a sidecar, having read the photo, took out there what the photo itself still has."""
    put(photo + b".xmp", plan_sidecar(None, add=[CAT, SEA]).after)
    records = {each.file: each.reading.record for each in read_photo_keywords(photo).files}
    put(photo + b".xmp", plan_sidecar(None, add=[CAT, Keyword.flat("new")]).after)
    found = read_photo_keywords(photo, known=lambda file, _: records[file])
    assert found.keywords == (CAT, Keyword.flat("new"))
    assert (found.added, found.removed) == ({Keyword.flat("new")}, {SEA})
    assert read_photo_keywords(photo).keywords == (CAT, Keyword.flat("new"), SEA)


def exif(text: str) -> bytes:
    data = Image.Exif()
    data[0x9C9E] = text.encode("utf-16-le") + b"\0\0"
    return data.tobytes()


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif"])
def test_keywords_of_windows(tmp_path, suffix):
    path = tmp_path / f"photo.{suffix}"
    Image.new("RGB", (8, 8)).save(path, exif=exif("Größe;sea; sea ;"))
    found = read_photo_keywords(os.fsencode(path))
    assert found.places == {"exif": (Keyword.flat("Größe"), SEA)}
    assert read_photo_keywords(os.fsencode(path)).keywords == (Keyword.flat("Größe"), SEA)


@pytest.mark.parametrize("end", range(0, 60, 3))
def test_keywords_of_windows_in_a_damaged_block(tmp_path, end):
    path = tmp_path / "photo.jpg"
    Image.new("RGB", (8, 8)).save(path, exif=exif("a;b")[:end])
    read_photo_keywords(os.fsencode(path))


def packet(flat: list[str], hierarchical: list[str]) -> bytes:
    def bag(tag, items):
        inner = "".join(f"<rdf:li>{item}</rdf:li>" for item in items)
        return f"<{tag}><rdf:Bag>{inner}</rdf:Bag></{tag}>"

    return (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:lr="http://ns.adobe.com/lightroom/1.0/"><rdf:Description rdf:about="">'
        f"{bag('dc:subject', flat)}{bag('lr:hierarchicalSubject', hierarchical)}</rdf:Description></rdf:RDF>"
    ).encode()


def test_what_darktable_writes_for_itself_is_no_keyword(photo):
    flat = ["darktable|format|nef", "darktable", "format", "nef", "changed", "boat", "darktable|style|warm"]
    put(photo + b".xmp", packet(flat, ["darktable|format|nef", "darktable|changed", "Animals|Cat"]))
    found = read_photo_keywords(photo)
    assert found.keywords == (CAT, Keyword.flat("boat"), SEA)
    assert found.places["sidecar"] == (CAT, Keyword.flat("boat"))
    marks = ["tagloom|suggested|boat", "tagloom|rejected|Animals|Cat"]
    put(photo + b".xmp", packet(["tagloom", "suggested", "rejected", "boat", "Cat", "tagloom|suggested|sea"], marks))
    assert read_photo_keywords(photo, embedded=False).keywords == ()
    put(photo + b".xmp", packet(["darktable"], ["Programs|darktable|5"]))  # a person's own words
    assert read_photo_keywords(photo, embedded=False).keywords == (Keyword(("Programs", "darktable", "5")),)
    put(photo + b".xmp", packet(["darktable"], []))
    assert read_photo_keywords(photo, embedded=False).keywords == (Keyword.flat("darktable"),)


@pytest.mark.parametrize("sign", ["|", "/"])
def test_a_flat_keyword_with_the_text_of_a_hierarchical_one_is_that_one(photo, sign):
    put(photo + b".xmp", packet([f"Animals{sign}Cat", f"Animals{sign}Dog"], ["Animals|Cat"]))
    found = read_photo_keywords(photo, embedded=False)
    assert found.keywords == (CAT, Keyword.flat(f"Animals{sign}Dog"))


def test_problems_are_lines_and_the_rest_is_read(photo):
    put(photo + b".xmp", b"<broken")
    found = read_photo_keywords(photo)
    assert found.keywords == (Keyword.flat("Cat"), SEA)
    (problem,) = found.problems
    assert "photo.jpg" in problem
    assert "well-formed" in problem
    assert found.fingerprint == fingerprint(b"<broken")


def test_odd_sidecars(photo, tmp_path):
    os.mkfifo(photo + b".xmp")
    assert "named pipe" in read_photo_keywords(photo).problems[0]
    os.unlink(photo + b".xmp")
    os.symlink("nowhere", photo + b".xmp")
    assert "points to nothing" in read_photo_keywords(photo).problems[0]
    os.unlink(photo + b".xmp")
    put(photo + b".xmp", b"")
    assert read_photo_keywords(photo).problems == ()
    missing = read_photo_keywords(os.fsencode(tmp_path / "missing.jpg"))
    assert missing.keywords == ()
    assert "No such file" in missing.problems[0]


def test_names_that_are_not_text(tmp_path):
    path = os.fsencode(tmp_path) + b"/-caf\xe9\n.jpg"
    put(path + b".xmp", plan_sidecar(None, add=[CAT]).after)
    assert read_photo_keywords(path, embedded=False).keywords == (CAT,)
