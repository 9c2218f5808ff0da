import numpy as np
import pytest
from PIL import Image

from tagloom.exceptions import MetadataError
from tagloom.metadata.pixel_hash import PixelHasher


@pytest.fixture
def hasher():
    found = PixelHasher()
    yield found
    found.close()


def test_pixels_count_and_metadata_does_not(hasher, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, size=(20, 30, 3), dtype=np.uint8)
    changed = pixels.copy()
    changed[7, 9, 1] ^= 1
    image = Image.fromarray(pixels)
    turned = Image.Exif()
    turned[0x0112] = 6
    named = Image.Exif()
    named[0x0110] = "a camera"
    pages = {"save_all": True, "append_images": [Image.fromarray(changed)]}
    files = [
        (image, "plain.png", {}),
        (image, "named.png", {"exif": named, "compress_level": 1}),
        (Image.fromarray(changed), "changed.png", {}),
        (image, "turned.png", {"exif": turned}),
        (image.convert("L"), "grey.png", {}),
        (image, "one.tif", {}),
        (image, "two.tif", pages),
    ]
    for picture, name, options in files:
        picture.save(tmp_path / name, **options)
    plain, same, *others = hasher.hashes([tmp_path / name for _, name, _ in files])
    assert plain == same
    *others, one_page, two_pages = others
    assert len({plain, *others}) == 4
    assert one_page != two_pages


def test_what_cannot_be_decoded(hasher, tmp_path):
    Image.new("RGB", (3, 4)).save(tmp_path / "good.png")
    before = hasher.hashes([tmp_path / "good.png"])
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0 nothing")
    with pytest.raises(MetadataError, match="cannot be decoded"):
        hasher.hashes([tmp_path / "a.jpg"])
    assert hasher.hashes([tmp_path / "good.png"]) == before
