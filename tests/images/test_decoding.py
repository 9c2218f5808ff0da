import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from tagloom.exceptions import InvalidInputError
from tagloom.features import read_exif
from tagloom.images import Rendition
from tagloom.images.decoding import decode_bytes
from tagloom.images.renditions import WORKING_SIDE
from tagloom.images.verdicts import Refused

FIT = Rendition("fit", "fit", 96)


def pixels(decoded, index=0):
    width, height, data = decoded.pictures[index]
    return np.frombuffer(data, dtype=np.uint8).reshape(height, width, 3)


def refused(data, settings):
    with pytest.raises(Refused) as caught:
        decode_bytes(data, settings)
    assert caught.value.detail.isprintable()
    return caught.value


def png_header(width, height):
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    header = struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    body = b"IDAT" + zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + header + struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(kind, orientation, make_settings, encoded, scene):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(scene(), kind, exif=exif, **({} if kind == "TIFF" else {"quality": 95}))
    with Image.open(io.BytesIO(data)) as image:
        upright = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    decoded = decode_bytes(data, make_settings(FIT))
    assert np.array_equal(pixels(decoded), upright)
    assert (decoded.height, decoded.width) == upright.shape[:2]
    assert (decoded.width > decoded.height) == (orientation < 5)


@pytest.mark.parametrize("size", [(96, 64), (64, 96), (97, 61), (1, 50), (50, 1), (1, 1)])
def test_renditions_against_plain_resizing(size, make_settings, encoded, scene):
    image = scene(*size)
    settings = make_settings(
        Rendition("square", "square", 24), Rendition("fit", "fit", 40, "lanczos"), Rendition("up", "square", 200)
    )
    decoded = decode_bytes(encoded(image, "PNG"), settings)
    assert [picture[:2] for picture in decoded.pictures] == [(24, 24), settings.renditions[1].target(*size), (200, 200)]
    # below three times the size nothing is averaged in blocks first
    fit = image.resize(settings.renditions[1].target(*size), Image.Resampling.LANCZOS)
    assert np.array_equal(pixels(decoded, 1), np.asarray(fit))
    left, top = ((side - min(size)) / 2 for side in size)
    if left == int(left) and top == int(top):
        # crop first, then resize: equal but for what the filter sees beyond the edges of the crop
        cropped = image.crop((int(left), int(top), int(left) + min(size), int(top) + min(size)))
        expected = np.asarray(cropped.resize((24, 24), Image.Resampling.BICUBIC)).astype(int)
        assert np.abs(pixels(decoded) - expected)[2:-2, 2:-2].max(initial=0) <= 1


@pytest.mark.parametrize("size", [(96, 64), (64, 96), (97, 61), (96, 48), (48, 96), (50, 50), (1, 1), (1, 2)])
def test_the_shorter_side_of_a_whole_photo(size, make_settings, encoded, scene):
    image, rendition = scene(*size), Rendition("whole", "shorter", 64)
    decoded = decode_bytes(encoded(image, "PNG"), make_settings(rendition))
    assert decoded.pictures[0][:2] == rendition.target(*size)
    assert min(decoded.pictures[0][:2]) == 64
    expected = image.resize(rendition.target(*size), Image.Resampling.BICUBIC)
    assert np.array_equal(pixels(decoded), np.asarray(expected))


@pytest.mark.parametrize(("size", "box"), [((300, 60), (90, 0, 210, 60)), ((60, 140), (0, 10, 60, 130))])
def test_of_a_panorama_the_centre(size, box, make_settings, encoded, scene):
    image = scene(*size)
    decoded = decode_bytes(encoded(image, "PNG"), make_settings(Rendition("whole", "shorter", 32)))
    width, height = (64, 32) if size[0] > size[1] else (32, 64)
    assert decoded.pictures[0][:2] == (width, height)
    # crop first, then resize: equal but for what the filter sees beyond the edges of the crop
    expected = np.asarray(image.crop(box).resize((width, height), Image.Resampling.BICUBIC)).astype(int)
    assert np.abs(pixels(decoded) - expected)[2:-2, 2:-2].max() <= 1


@pytest.mark.parametrize("size", [(1, 50), (50, 1), (3, 7)])
def test_slivers_become_one_to_two(size, make_settings, encoded, scene):
    decoded = decode_bytes(encoded(scene(*size), "PNG"), make_settings(Rendition("whole", "shorter", 64)))
    assert sorted(decoded.pictures[0][:2]) == [64, 128]


def test_a_rendition_does_not_depend_on_the_others(make_settings, encoded, scene):
    data = encoded(scene(3000, 2000), quality=90)
    others = Rendition("a", "square", WORKING_SIDE), Rendition("b", "fit", 8)
    for rendition in (FIT, Rendition("whole", "shorter", 64)):
        alone = decode_bytes(data, make_settings(rendition))
        together = decode_bytes(data, make_settings(others[0], rendition, others[1], thumbnail_size=700))
        assert np.array_equal(pixels(alone), pixels(together, 1))
        assert (alone.width, alone.height) == (3000, 2000)


def test_reduced_decoding_stays_close_to_full_decoding(make_settings, encoded, scene):
    data = encoded(scene(4032, 3024, seed=3), quality=92)
    with Image.open(io.BytesIO(data)) as image:
        full = np.asarray(image.convert("RGB").resize((96, 72), Image.Resampling.BICUBIC)).astype(int)
    assert np.abs(pixels(decode_bytes(data, make_settings(FIT))) - full).max() <= 3


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}])
@pytest.mark.parametrize("size", [(96, 64), (2900, 2900)])
def test_a_truncated_jpeg_is_damaged_never_grey(options, size, make_settings, encoded, scene):
    data = encoded(scene(*size), quality=90, **options)
    settings = make_settings(FIT)
    decode_bytes(data, settings)
    for part in (0.2, 0.5, 0.8, 0.95):
        assert refused(data[: int(len(data) * part)], settings).verdict == "damaged"


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM"])
def test_other_truncated_formats(kind, make_settings, encoded, scene):
    data = encoded(scene(), kind)
    assert refused(data[: len(data) // 2], make_settings(FIT)).verdict == "damaged"


@pytest.mark.parametrize(
    "data", [b"just some text", b"<svg xmlns='x'/>", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", b"\0" * 64]
)
def test_what_is_no_photo(data, make_settings):
    assert refused(data, make_settings(FIT)).verdict == "not_an_image"


def test_formats_outside_the_allow_list_are_not_tried(make_settings, encoded, scene):
    for kind in ("TGA", "PCX", "ICO", "SGI"):
        assert refused(encoded(scene(), kind), make_settings(FIT)).verdict == "not_an_image"


def heic(name):
    return (Path(__file__).parent / "heic" / f"{name}.heic").read_bytes()


def test_heic_opens_out_of_the_box(make_settings, scene):
    decoded = decode_bytes(heic("plain"), make_settings(FIT))
    assert (decoded.width, decoded.height) == (96, 64)
    assert np.abs(pixels(decoded).astype(int) - np.asarray(scene(), dtype=int)).mean() < 4
    container = heic("plain").replace(b"ftypheix", b"ftypmif1", 1)  # a brand that AVIF has, too
    assert decode_bytes(container, make_settings(FIT)) == decoded


def test_the_turn_of_a_heic_is_applied_once(make_settings):
    # Stored as 96 × 64, red on the left; it is turned by a box of its own, and EXIF says so too.
    decoded = decode_bytes(heic("turned"), make_settings(FIT))
    shown = pixels(decoded).astype(int)
    assert (decoded.width, decoded.height) == (64, 96)
    assert np.abs(shown[:40] - [254, 0, 0]).max() <= 6
    assert np.abs(shown[-40:] - [0, 0, 254]).max() <= 6
    assert read_exif(decoded.exif).taken is not None


def test_a_heic_of_ten_bits_becomes_eight(make_settings):
    shown = pixels(decode_bytes(heic("ten_bit"), make_settings(FIT))).astype(int)
    ramp = np.linspace(0, 255, 96)
    assert np.abs(shown[:, :, 0] - ramp).max() <= 8
    assert np.abs(shown[:, :, 1] - 128).max() <= 8


def test_of_several_pictures_in_a_heic_the_primary_one(make_settings):
    middle = pixels(decode_bytes(heic("several"), make_settings(FIT)))[24, 32].astype(int)
    assert np.abs(middle - [0, 255, 0]).max() <= 6


def test_limits_hold_for_heic(make_settings):
    answer = refused(heic("plain"), make_settings(FIT, max_pixels=1000))
    assert (answer.verdict, "6,144 pixels" in answer.detail) == ("too_large", True)
    assert refused(heic("plain")[:900], make_settings(FIT)).verdict == "damaged"
    assert refused(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100), make_settings(FIT)).verdict == "damaged"


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF", "AVIF"])
def test_of_an_animation_the_first_frame(kind, make_settings, encoded):
    frames = [Image.new("RGB", (32, 32), name) for name in ("red", "lime", "blue")]
    data = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
    middle = pixels(decode_bytes(data, make_settings(FIT)))[16, 16]
    assert np.abs(middle.astype(int) - [255, 0, 0]).max() <= 4


def test_mpo_and_cmyk_and_16_bit_files(make_settings, encoded, scene):
    settings = make_settings(FIT)
    stereo = encoded(scene(2000, 1500), "MPO", save_all=True, append_images=[scene(2000, 1500, seed=1)])
    assert decode_bytes(stereo, settings).width == 2000
    cmyk = Image.new("CMYK", (2000, 1600), (0, 255, 255, 0))
    assert np.abs(pixels(decode_bytes(encoded(cmyk), settings))[9, 9].astype(int) - [255, 0, 0]).max() <= 4
    deep = Image.fromarray(np.full((8, 8), 25700, dtype=np.uint16))
    for kind in ("PNG", "TIFF", "PPM"):
        assert pixels(decode_bytes(encoded(deep, kind), settings))[4, 4].tolist() == [100, 100, 100]


def test_bombs_are_refused_by_their_header(make_settings):
    answer = refused(png_header(100_000, 100_000), make_settings(FIT))
    assert answer.verdict == "too_large"
    assert "10,000,000,000 pixels" in answer.detail
    # just above the limit, where Pillow by itself would only warn
    assert refused(png_header(30_000, 20_000), make_settings(FIT)).verdict == "too_large"


def test_what_needs_more_memory_than_allowed_is_refused_by_its_header(make_settings, encoded, scene):
    settings = make_settings(FIT, memory_limit=512 << 20)
    answer = refused(png_header(10_000, 10_000), settings)
    assert (answer.verdict, answer.out_of_memory) == ("too_large", False)
    assert "memory_limit" in answer.detail
    small = encoded(Image.new("L", (8, 8)), progressive=True)
    position = small.index(b"\xff\xc2") + 5
    giant = small[:position] + struct.pack(">HH", 20_000, 20_000) + small[position + 4 :]
    assert "as JPEG need about" in refused(giant, settings).detail


def test_running_out_of_memory_is_told(make_settings, encoded, scene, monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("tagloom.images.decoding.shrink_to_rgb", fail)
    answer = refused(encoded(scene()), make_settings(FIT))
    assert (answer.verdict, answer.out_of_memory) == ("too_large", True)


@pytest.mark.parametrize(
    "error", [SyntaxError, RuntimeError, EOFError, struct.error, ValueError, KeyError, RecursionError]
)
def test_whatever_a_decoder_raises_is_this_files_verdict(error, make_settings, encoded, scene, monkeypatch):
    def fail(*_):
        raise error("odd\nthings")

    monkeypatch.setattr("tagloom.images.decoding.shrink_to_rgb", fail)
    assert refused(encoded(scene()), make_settings(FIT)).verdict == "damaged"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_exif_comes_from_its_tiff_header_on(kind, make_settings, encoded, scene):
    exif = Image.Exif()
    exif[0x010F] = "Maker"
    decoded = decode_bytes(encoded(scene(), kind, exif=exif), make_settings(FIT))
    assert decoded.exif[:2] in (b"II", b"MM")
    again = Image.Exif()
    again.load(decoded.exif)
    assert again[0x010F] == "Maker"


def test_malformed_exif_does_not_matter(make_settings, encoded, scene):
    for junk in (b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0junk", b"Exif\0\0"):
        decoded = decode_bytes(encoded(scene(), exif=junk), make_settings(FIT))
        assert (decoded.width, decoded.height) == (96, 64)


def test_thumbnails_are_small_webp_without_metadata(make_settings, encoded, scene):
    exif = Image.Exif()
    exif[0x010F] = "Maker"
    decoded = decode_bytes(encoded(scene(300, 200), exif=exif), make_settings(thumbnail_size=100))
    assert decoded.pictures == []
    with Image.open(io.BytesIO(decoded.thumbnail)) as thumbnail:
        assert (thumbnail.format, thumbnail.size) == ("WEBP", (100, 67))
        assert not thumbnail.getexif()
    assert decode_bytes(encoded(scene()), make_settings(FIT)).thumbnail == b""


def test_a_larger_working_side_keeps_more_pixels(make_settings, encoded):
    stripes = np.zeros((2000, 3000, 3), dtype=np.uint8)
    stripes[:, ::8] = stripes[:, 1::8] = stripes[:, 2::8] = stripes[:, 3::8] = 255
    data = encoded(Image.fromarray(stripes))
    reference = np.asarray(Image.fromarray(stripes).resize((1600, 1067), Image.Resampling.BICUBIC), dtype=float)
    errors = []
    for settings in (make_settings(thumbnail_size=720), make_settings(thumbnail_size=1600, working_side=1600)):
        with Image.open(io.BytesIO(decode_bytes(data, settings).thumbnail)) as picture:
            assert max(picture.size) == settings.thumbnail_size
            errors.append(
                np.abs(np.asarray(picture.convert("RGB").resize((1600, 1067)), dtype=float) - reference).mean()
            )
    assert errors[1] < 0.5 * errors[0]
    with pytest.raises(InvalidInputError, match="thumbnail_size"):
        make_settings(thumbnail_size=721)
    with pytest.raises(InvalidInputError, match="working_side"):
        make_settings(working_side=100)
