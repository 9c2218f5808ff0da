import dataclasses
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        {"kind": "shorter", "size": 100},
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


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((300, 200), (320, 224)),  # 336 lies between 320 and 352
        ((20, 30), (224, 320)),
        ((4032, 3024), (288, 224)),
        ((3024, 4032), (224, 288)),
        ((1920, 1080), (384, 224)),
        ((7, 7), (224, 224)),
        ((1000, 999), (224, 224)),
        ((400, 200), (448, 224)),
        ((401, 200), (448, 224)),
        ((3, 10_000), (224, 448)),
    ],
)
def test_shorter_keeps_proportions_in_steps_up_to_one_to_two(size, expected):
    assert Rendition("a", "shorter", 224).target(*size) == expected


@given(st.integers(1, 22), st.integers(1, 50_000), st.integers(1, 50_000))
def test_shorter_takes_the_nearest_step(steps, width, height):
    size = 32 * steps
    target = Rendition("a", "shorter", size).target(width, height)
    assert min(target) == size
    exact = Fraction(min(max(width, height), 2 * min(width, height)), min(width, height)) * size
    assert max(target) == min(range(size, 2 * size + 1, 32), key=lambda side: (abs(side - exact), side))


@pytest.mark.parametrize(("kind", "expected"), [("square", (64, 64)), ("fit", (64, 64)), ("shorter", (128, 64))])
@given(width=st.integers(1, 10**6), height=st.integers(1, 10**6))
def test_no_photo_exceeds_the_bounds(kind, expected, width, height):
    rendition = Rendition("a", kind, 64)
    assert rendition.bounds == expected
    target = rendition.target(width, height)
    assert 1 <= min(target) <= expected[1]
    assert max(target) <= expected[0]
    assert (target[0] - target[1]) * (width - height) >= 0
