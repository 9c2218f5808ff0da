import numpy as np
import pytest
from PIL import Image

from tagloom.exceptions import InvalidInputError
from tagloom.images import DecodePool, Rendition, photo_from_pixels

RENDITIONS = (Rendition("a", "fit", 256), Rendition("b", "square", 224), Rendition("c", "shorter", 224))


@pytest.mark.parametrize("shape", [(1, 1), (30, 500), (1600, 1500)])
def test_a_frame_gives_the_pixels_of_a_lossless_file(shape, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    path = tmp_path / "frame.png"
    Image.fromarray(pixels).save(path, compress_level=0)
    with DecodePool(RENDITIONS, n_workers=1) as pool:
        (decoded,) = pool.decode([str(path).encode()])
    photo = photo_from_pixels(pixels, RENDITIONS, path=b"frame")
    assert (photo.record.width, photo.record.height, photo.record.path) == (shape[1], shape[0], b"frame")
    assert set(photo.pixels) == {"a", "b", "c"}
    for name, expected in decoded.pixels.items():
        np.testing.assert_array_equal(photo.pixels[name], expected)


@pytest.mark.parametrize("pixels", [np.zeros((2, 2)), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), dtype=np.uint8)])
def test_other_arrays_are_refused(pixels):
    with pytest.raises(InvalidInputError, match="8-bit RGB"):
        photo_from_pixels(pixels, RENDITIONS)
