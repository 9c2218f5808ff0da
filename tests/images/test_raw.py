import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image, ImageOps

from tagloom.features import read_exif
from tagloom.images import DecodePool, Rendition
from tagloom.images.raw import SMALLEST_PREVIEW, decode_raw, read_raw
from tagloom.images.verdicts import Refused
from tests.images.raw_files import cr2, cr3, dng, iiq, mrw, nef, orf, raf, rw2

FIT = Rendition("fit", "fit", 400)
SIZE = (400, 300)


@pytest.fixture(scope="module")
def preview():
    coarse = np.random.default_rng(3).integers(0, 256, size=(4, 6, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(coarse).resize(SIZE, Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def pixels(decoded):
    width, height, data = decoded.pictures[0]
    return np.frombuffer(data, dtype=np.uint8).reshape(height, width, 3)


def upright(preview, orientation):
    with Image.open(io.BytesIO(preview)) as image:
        image.load()
        image.getexif()[0x0112] = orientation
        return np.asarray(ImageOps.exif_transpose(image))


def refused(data, settings):
    with pytest.raises(Refused) as caught:
        decode_raw(data, settings)
    assert caught.value.detail.isprintable()
    return caught.value


MAKERS = {
    "nef": nef,
    "arw": lambda preview, **more: nef(preview, header=b"II*\0", **more),
    "cr2": cr2,
    "dng": dng,
    "rw2": rw2,
    "orf": orf,
    "cr3": cr3,
    "mrw": mrw,
    "iiq": iiq,
}


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
@pytest.mark.parametrize("kind", MAKERS)
def test_the_preview_is_the_photo_upright(kind, orientation, preview, make_settings):
    decoded = decode_raw(MAKERS[kind](preview, orientation=orientation), make_settings(FIT))
    expected = upright(preview, orientation)
    assert np.array_equal(pixels(decoded), expected)
    assert (decoded.height, decoded.width) == expected.shape[:2]
    facts = read_exif(decoded.exif)
    assert facts.taken is not None
    assert (facts.taken.isoformat(), bool(facts.model)) == ("2021-07-04T12:34:56", True)
    assert len(decoded.exif) < 1000  # no maker's notes


def test_a_fuji_file_has_its_facts_in_the_preview(preview, make_settings):
    exif = Image.Exif()
    exif[0x0112], exif[0x0110] = 6, "X-T4"
    with Image.open(io.BytesIO(preview)) as image:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", exif=exif, quality="keep")
    decoded = decode_raw(raf(buffer.getvalue()), make_settings(FIT))
    assert np.array_equal(pixels(decoded), upright(buffer.getvalue(), 6))
    assert read_exif(decoded.exif).model == "X-T4"


def test_the_largest_preview_is_taken(preview, make_settings, encoded, scene):
    large = encoded(scene(800, 600), quality=90)
    decoded = decode_raw(cr3(preview, large), make_settings(FIT))
    assert (decoded.width, decoded.height) == (800, 600)


def test_a_damaged_preview_gives_way_to_the_next(preview, make_settings, encoded, scene):
    large = encoded(scene(800, 600), quality=90)
    decoded = decode_raw(cr3(preview, large[:700].ljust(len(large), b"\0")), make_settings(FIT))
    assert (decoded.width, decoded.height) == SIZE


def test_sensor_data_that_look_like_jpeg_are_no_preview(preview):
    found = read_raw(cr2(preview), smallest=SMALLEST_PREVIEW)
    assert [(item.width, item.height) for item in found.previews] == [SIZE]


def test_without_a_preview_that_will_do_rawpy_is_named(make_settings, encoded, scene, monkeypatch):
    monkeypatch.setitem(sys.modules, "rawpy", None)
    for data in (dng(), dng(encoded(scene(160, 120))), orf(b"no picture")):
        answer = refused(data, make_settings(FIT))
        assert (answer.verdict, "tagloom[raw]" in answer.detail) == ("unreadable", True)


@pytest.mark.usefixtures("rawpy")
def test_with_rawpy_the_sensor_is_developed(make_settings):
    for orientation, size in ((1, (64, 48)), (6, (48, 64))):
        decoded = decode_raw(dng(orientation=orientation), make_settings(FIT))
        assert (decoded.width, decoded.height) == size
        assert decoded.pictures[0][:2] == size
        assert read_exif(decoded.exif).make == "Maker"


@pytest.mark.medium
@pytest.mark.usefixtures("rawpy")
def test_a_worker_develops_large_files_within_its_memory(tmp_path, peak_of):
    (tmp_path / "photo.DNG").write_bytes(dng(width=6000, height=4000, orientation=6))
    with DecodePool([FIT], n_workers=1) as pool:
        (photo,) = pool.decode([bytes(tmp_path / "photo.DNG")])
        peaks = [peak_of(worker.pid) for worker in pool._living]
    assert (photo.record.verdict, photo.record.detail) == ("ok", "")
    assert (photo.record.width, photo.record.height) == (4000, 6000)
    assert all(peak is None or peak < 1 << 30 for peak in peaks)


@pytest.mark.usefixtures("rawpy")
def test_rawpy_is_refused_what_needs_too_much_memory(make_settings):
    answer = refused(dng(width=640, height=480), make_settings(FIT, max_pixels=100_000))
    assert (answer.verdict, "max_pixels" in answer.detail) == ("too_large", True)


def test_previews_are_held_to_the_same_limits(preview, make_settings):
    answer = refused(nef(preview), make_settings(FIT, max_pixels=10_000))
    assert (answer.verdict, "120,000 pixels" in answer.detail) == ("too_large", True)


def test_other_files_under_the_name_of_a_raw_file(make_settings, encoded, scene, preview):
    settings = make_settings(FIT)
    for kind in ("JPEG", "PNG", "TIFF"):
        assert decode_raw(encoded(scene(), kind), settings).width == 96
    assert refused(b"no photo at all", settings).verdict == "not_an_image"
    # A file that nothing is known of, with a picture in it.
    assert decode_raw(b"unknown!" * 10 + preview, settings).width == SIZE[0]


@pytest.mark.parametrize(
    "data", [b"", b"I", b"II*\0", b"II*\0\xff\xff\xff\xff", b"FUJIFILMCCD-RAW ", b"\0\0\0\x18ftypcrx "]
)
def test_stumps(data, make_settings):
    assert refused(data, make_settings(FIT)).verdict in ("not_an_image", "damaged", "unreadable")


def test_directories_in_a_ring_end(preview):
    data = bytearray(nef(preview))
    first = int.from_bytes(data[4:8], "big")
    n_entries = int.from_bytes(data[first : first + 2], "big")
    data[first + 2 + 12 * n_entries : first + 6 + 12 * n_entries] = data[4:8]
    assert read_raw(bytes(data), smallest=SMALLEST_PREVIEW).previews


def test_a_file_of_nothing_but_headers_ends(make_settings):
    assert refused(b"\xff\xd8\xff" * 1_000_000, make_settings(FIT)).verdict in ("damaged", "not_an_image")
    boxes = b"\0\0\0\x08free" * 500_000
    assert refused(b"\0\0\0\x10ftypcrx \0\0\0\0" + boxes, make_settings(FIT)).verdict in ("unreadable", "damaged")


@pytest.mark.medium
@pytest.mark.parametrize("kind", [*MAKERS, "raf"])
def test_mutations_get_one_verdict_each(kind, preview, make_settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "rawpy", None)
    settings = make_settings(Rendition("fit", "fit", 32))
    whole = (MAKERS | {"raf": raf})[kind](preview)
    heads = [0, 8, len(whole) - 400]  # where directories and boxes are
    generator = np.random.default_rng(len(kind))
    verdicts = set()
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(generator.integers(1, 8)):
            place = int(generator.choice(heads)) + int(generator.integers(0, 300))
            data[place % len(data)] = generator.choice([0, 1, 0x7F, 0xFF, int(generator.integers(256))])
        if generator.random() < 0.2:
            del data[int(generator.integers(len(data))) :]
        try:
            decoded = decode_raw(bytes(data), settings)
            verdicts.add("ok")
            assert decoded.width > 0
        except Refused as answer:
            verdicts.add(str(answer.verdict))
    assert verdicts <= {"ok", "damaged", "not_an_image", "unreadable", "too_large"}
    assert "ok" in verdicts


@pytest.mark.medium
def test_odd_files_under_the_names_of_raw_files(shared_data, tmp_path):
    files = sorted(path for path in (shared_data / "malformed_images").rglob("*") if path.is_file())
    chosen = np.random.default_rng(11).choice(len(files), size=120, replace=False)
    paths = []
    for number, index in enumerate(chosen):
        paths.append(tmp_path / f"{number}.{('nef', 'cr3', 'raf', 'dng')[number % 4]}")
        paths[-1].write_bytes(files[index].read_bytes())
    with DecodePool([FIT], n_workers=2, deadline=20, memory_limit=1 << 30) as pool:
        photos = list(pool.decode([bytes(path) for path in paths]))
    assert all(photo.record.ok or photo.record.detail for photo in photos)
    assert not {photo.record.verdict for photo in photos} & {"timeout", "crashed"}


@pytest.mark.medium
def test_exiftool_finds_the_same_preview(exiftool, preview, tmp_path):
    for kind, tag in (
        ("nef", "-JpgFromRaw"),
        ("cr2", "-PreviewImage"),
        ("rw2", "-JpgFromRaw"),
        ("raf", "-PreviewImage"),
    ):
        data = (MAKERS | {"raf": raf})[kind](preview)
        file = tmp_path / f"photo.{kind}"
        file.write_bytes(data)
        told = subprocess.run([exiftool, "-b", tag, file], capture_output=True, check=True).stdout
        found = read_raw(data, smallest=SMALLEST_PREVIEW).previews[0]
        assert told == data[found.start : found.stop] == preview, kind


def test_a_worker_reads_raw_files_by_their_name(preview, tmp_path):
    (tmp_path / "photo.NEF").write_bytes(nef(preview, orientation=6))
    with DecodePool([FIT], n_workers=1) as pool:
        (photo,) = pool.decode([bytes(tmp_path / "photo.NEF")])
    assert (photo.record.verdict, photo.record.width, photo.record.height) == ("ok", 300, 400)
