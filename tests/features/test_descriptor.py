import hashlib
import json
import re

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.features import Descriptor, PixelDescriptor
from tagloom.images import Rendition


class Brightness(PixelDescriptor):
    """The smallest descriptor there can be."""

    name = "brightness"
    version = 3

    def __init__(self, *, power=1.0, size=64):
        self.power, self.size = power, size

    @property
    def outputs(self):
        return {"brightness": 1}

    @property
    def renditions(self):
        return (Rendition("small", "fit", self.size),)

    @property
    def parameters(self):
        return {"power": self.power}

    def describe(self, pixels):
        return np.array([(pixels / 255.0).mean() ** self.power])


def test_a_small_class_is_a_descriptor(make_photo):
    descriptor = Brightness(power=2.0)
    assert isinstance(descriptor, Descriptor)
    photos = [make_photo(small=np.full((2, 3, 3), level, dtype=np.uint8)) for level in (0, 51, 255)]
    rows = descriptor.compute(photos)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0], [0.04], [1]], atol=1e-6)
    assert repr(descriptor) == "Brightness(power=2.0)"


def test_the_key_changes_with_everything_the_rows_depend_on():
    keys = {Brightness().key, Brightness(power=2.0).key, Brightness(size=32).key}
    assert len(keys) == 3
    newer = Brightness()
    newer.version = 4
    assert newer.key not in keys
    assert all(re.fullmatch(r"brightness-v[34]-[0-9a-f]{12}", key) for key in keys | {newer.key})


def test_the_key_is_the_same_in_every_run():
    text = json.dumps([{"power": 1.0}, [["small", "fit", 64, "bicubic", 1.5]]], separators=(",", ":"))
    assert Brightness().key == f"brightness-v3-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 4), np.uint8), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), np.uint8)],
)
def test_pixels_are_checked(make_photo, pixels):
    with pytest.raises(InvalidInputError, match="8-bit RGB"):
        Brightness().compute([make_photo(small=pixels)])


def test_something_else_is_no_descriptor():
    assert not isinstance(object(), Descriptor)
