import json

import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.images import Rendition
from tagloom.images.settings import DEFAULT_MAX_PIXELS, DEFAULT_MEMORY_LIMIT, DecodeSettings

GOOD = {
    "renditions": (Rendition("a", "square", 8), Rendition("b", "fit", 9)),
    "thumbnail_size": 100,
    "deadline": 3.0,
    "memory_limit": DEFAULT_MEMORY_LIMIT,
    "max_pixels": DEFAULT_MAX_PIXELS,
}


def test_settings_survive_json():
    settings = DecodeSettings(**GOOD)
    assert DecodeSettings.from_json(json.loads(json.dumps(settings.as_json()))) == settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"renditions": (Rendition("a", "square", 8), Rendition("a", "fit", 9))},
        {"thumbnail_size": 0},
        {"deadline": 0.0},
        {"deadline": float("nan")},
        {"memory_limit": 1000},
        {"max_pixels": 0},
    ],
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidInputError):
        DecodeSettings(**{**GOOD, **wrong})


def test_a_full_reply_fits_the_largest_allowed():
    settings = DecodeSettings(**GOOD)
    assert settings.longest_reply >= 8 * 8 * 3 + 9 * 9 * 3
