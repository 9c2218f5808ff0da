import dataclasses
import json

import pytest

from tagloom.exceptions import InvalidInputError
from tagloom.images import Rendition
from tagloom.images.renditions import WORKING_SIDE


def test_it_is_hashable_and_goes_through_json():
    rendition = Rendition("a", "fit", 256, "lanczos")
    again = Rendition(**json.loads(json.dumps(dataclasses.asdict(rendition))))
    assert again == rendition
    assert len({again, rendition}) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"kind": "round"},
        {"size": 0},
        {"size": WORKING_SIDE + 1},
        {"size": 2.0},
        {"size": True},
        {"filter": "x"},
    ],
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidInputError):
        Rendition(**{"name": "a", "kind": "fit", "size": 10, **wrong})


@pytest.mark.parametrize(
    ("size", "expected"),
    [((400, 200), (100, 50)), ((200, 400), (50, 100)), ((80, 20), (80, 20)), ((10_000, 3), (100, 1))],
)
def test_fit_keeps_proportions_and_never_enlarges(size, expected):
    assert Rendition("a", "fit", 100).target(*size) == expected


def test_square_is_square_whatever_the_photo():
    assert Rendition("a", "square", 100).target(3, 10_000) == (100, 100)
