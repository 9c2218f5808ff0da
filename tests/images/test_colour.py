import numpy as np
import pytest
from PIL import Image

from tagloom.images import colour
from tagloom.images.colour import reduction, shrink_to_rgb
from tagloom.images.renditions import WORKING_SIDE
from tagloom.images.verdicts import Refused


def rgb(image):
    return np.asarray(shrink_to_rgb(image))


def uniform(pixels):
    """Return the one colour of an image."""
    colours = np.unique(pixels.reshape(-1, 3), axis=0)
    assert len(colours) == 1
    return tuple(int(value) for value in colours[0])


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        ("1", 1, (255, 255, 255)),
        ("L", 100, (100, 100, 100)),
        ("LA", (100, 255), (100, 100, 100)),
        ("LA", (100, 0), (255, 255, 255)),
        ("LA", (0, 51), (204, 204, 204)),
        ("RGB", (1, 2, 3), (1, 2, 3)),
        ("RGBA", (255, 0, 0, 0), (255, 255, 255)),
        ("RGBA", (255, 0, 0, 51), (255, 204, 204)),
        ("CMYK", (0, 255, 255, 0), (255, 0, 0)),
        ("CMYK", (0, 0, 0, 255), (0, 0, 0)),
        ("HSV", (0, 0, 200), (200, 200, 200)),
        ("I;16", 65535, (255, 255, 255)),
        ("I;16", 25700, (100, 100, 100)),
        ("I;16B", 25700, (100, 100, 100)),
        ("I", 25700, (100, 100, 100)),
        ("F", 0.5, (128, 128, 128)),
    ],
)
def test_every_mode_becomes_rgb_on_white(mode, value, expected):
    if mode == "I;16B":
        image = Image.frombytes("I;16B", (8, 8), int(value).to_bytes(2, "big") * 64)
    else:
        image = Image.new(mode, (8, 8), value)
    assert uniform(rgb(image)) == expected


def test_lab_is_converted():
    image = Image.frombytes("LAB", (4, 4), bytes([255, 0, 0]) * 16)
    assert min(uniform(rgb(image))) > 250


@pytest.mark.parametrize("transparency", [0, bytes([0, 255, 128])])
def test_palettes_with_transparency(transparency):
    image = Image.new("P", (3, 1))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    image.putdata([0, 1, 2])
    image.info["transparency"] = transparency
    left, middle, right = rgb(image)[0].tolist()
    assert left == [255, 255, 255]
    assert middle == [0, 255, 0]
    assert right == ([0, 0, 255] if transparency == 0 else [127, 127, 255])


def test_a_transparent_colour_becomes_white():
    image = Image.new("RGB", (2, 1), (9, 9, 9))
    image.putpixel((1, 0), (1, 2, 3))
    image.info["transparency"] = (1, 2, 3)
    assert rgb(image)[0].tolist() == [[9, 9, 9], [255, 255, 255]]


def test_values_without_a_fixed_white_are_stretched():
    wide = Image.fromarray(np.array([[-1000.0, 0.0, 1000.0]], dtype=np.float32))
    assert rgb(wide)[0, :, 0].tolist() == [0, 128, 255]
    wide = Image.fromarray(np.array([[0, 1 << 20]], dtype=np.int32))
    assert rgb(wide)[0, :, 0].tolist() == [0, 255]
    constant = Image.fromarray(np.full((2, 2), 1e6, dtype=np.float32))
    assert uniform(rgb(constant)) == (0, 0, 0)


def test_values_that_are_not_numbers_are_refused():
    with pytest.raises(Refused, match="not numbers"):
        shrink_to_rgb(Image.fromarray(np.full((2, 2), np.nan, dtype=np.float32)))


def test_reduction_keeps_the_shorter_side_at_least_the_working_side():
    for shorter in range(1, 8 * WORKING_SIDE, 7):
        factor = reduction(shorter, 10 * shorter)
        assert factor == reduction(10 * shorter, shorter)
        assert factor == 1 or shorter // factor >= WORKING_SIDE
        assert shorter // (2 * factor) < WORKING_SIDE


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "I;16"])
def test_strips_equal_the_mean_of_blocks(mode, monkeypatch):
    monkeypatch.setattr(colour, "STRIP_PIXELS", 20_000)
    width, height = 323, 259  # neither is a multiple of the factor
    values = np.random.default_rng(0).integers(0, 256, size=(height, width, 4), dtype=np.uint8)
    image = Image.fromarray(values).convert("L" if mode == "I;16" else mode)
    if mode == "I;16":
        image = Image.fromarray(np.asarray(image).astype(np.uint16) * 257)
    factor = reduction(width, height, 64)
    assert factor == 4
    if mode == "RGBA":
        plain = np.asarray(Image.alpha_composite(Image.new("RGBA", image.size, "white"), image))[..., :3]
    elif mode == "I;16":
        plain = np.repeat(np.asarray(image)[..., None] // 257, 3, axis=2)
    else:
        plain = np.asarray(image.convert("RGB"))
    # blocks at the right and lower edge are the mean of what there is
    sums = np.add.reduceat(np.add.reduceat(plain.astype(float), range(0, height, 4), 0), range(0, width, 4), 1)
    ones = np.ones((height, width))
    counts = np.add.reduceat(np.add.reduceat(ones, range(0, height, 4), 0), range(0, width, 4), 1)
    assert np.abs(np.asarray(shrink_to_rgb(image, 64)) - sums / counts[..., None]).max() <= 0.51
