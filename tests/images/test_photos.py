import copy
import dataclasses

import numpy as np
import pytest

from tagloom.core.photos import FileStamp, Verdict
from tagloom.images import Rendition
from tagloom.images.photos import photo_from_reply
from tagloom.images.settings import DEFAULT_MAX_PIXELS, DEFAULT_MEMORY_LIMIT, DecodeSettings
from tagloom.images.wire import ProtocolError

SETTINGS = DecodeSettings((Rendition("a", "fit", 4),), 8, 30.0, DEFAULT_MEMORY_LIMIT, DEFAULT_MAX_PIXELS)
HEADER = {
    "verdict": "ok",
    "hash": "ab",
    "stamp": [1, 2, 3],
    "width": 40,
    "height": 20,
    "pictures": [[4, 2]],
    "thumbnail": 3,
    "exif": 2,
}
BODY = bytearray(range(24)) + b"webII"


def test_a_good_reply():
    photo = photo_from_reply(b"a.jpg", HEADER, bytearray(BODY), SETTINGS)
    assert photo.record.stamp == FileStamp(1, 2, 3)
    assert (photo.record.width, photo.record.height, photo.record.ok) == (40, 20, True)
    assert np.array_equal(photo.pixels["a"], np.arange(24).reshape(2, 4, 3))
    assert photo.pixels["a"].flags.writeable
    assert (photo.thumbnail, photo.exif) == (b"web", b"II")


def test_a_refusal():
    photo = photo_from_reply(b"a.jpg", {"verdict": "damaged", "detail": "x\ny"}, bytearray(), SETTINGS)
    assert (photo.record.verdict, photo.record.detail, photo.pixels) == (Verdict.DAMAGED, "x y", {})


@pytest.mark.parametrize(
    "lie",
    [
        {"verdict": "splendid"},
        {"pictures": []},
        {"pictures": [[5, 2]]},
        {"pictures": [[4, -2]]},
        {"pictures": [[4]]},
        {"pictures": 3},
        {"thumbnail": 4},
        {"thumbnail": -1},
        {"exif": 10**9},
        {"stamp": [1]},
        {"width": None},
    ],
)
def test_contradictions_are_not_believed(lie):
    with pytest.raises(ProtocolError):
        photo_from_reply(b"a.jpg", {**copy.deepcopy(HEADER), **lie}, bytearray(BODY), SETTINGS)


@pytest.mark.parametrize("size", [(64, 32), (32, 64), (32, 32), (1, 1)])
def test_the_longer_side_of_a_whole_photo_may_be_twice_as_long(size):
    settings = dataclasses.replace(SETTINGS, renditions=(Rendition("a", "shorter", 32),))
    body = bytearray(3 * size[0] * size[1]) + b"webII"
    photo = photo_from_reply(b"a.jpg", {**HEADER, "pictures": [size]}, body, settings)
    assert photo.pixels["a"].shape == (size[1], size[0], 3)


@pytest.mark.parametrize("size", [(65, 32), (32, 65), (33, 33), (64, 33), (0, 32), (-64, -32)])
def test_a_whole_photo_has_bounds_too(size):
    settings = dataclasses.replace(SETTINGS, renditions=(Rendition("a", "shorter", 32),))
    body = bytearray(3 * size[0] * size[1]) + b"webII"
    with pytest.raises(ProtocolError):
        photo_from_reply(b"a.jpg", {**HEADER, "pictures": [size]}, body, settings)


def test_a_missing_verdict_is_not_believed():
    with pytest.raises(ProtocolError):
        photo_from_reply(b"a.jpg", {}, bytearray(), SETTINGS)
