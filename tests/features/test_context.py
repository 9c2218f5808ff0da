"""Context columns against the definitions, column by column, and as neighbours in a made-up diary."""

import hashlib
import math
from datetime import datetime, timedelta

import numpy as np
import pytest
from PIL import Image

from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.features import Descriptor, MemoryCache, extract
from tagloom.features.classic.context import CONTEXT_COLUMNS, ContextDescriptor, context_row
from tagloom.features.classic.exif import PhotoFacts, read_exif
from tagloom.images import DecodedPhoto


def named(facts):
    return dict(zip(CONTEXT_COLUMNS, context_row(facts), strict=True))


def angle(values, name):
    """Return the share of a turn that a cosine and sine pair stands for."""
    assert math.hypot(values[f"{name}_cos"], values[f"{name}_sin"]) == pytest.approx(1)
    return math.atan2(values[f"{name}_sin"], values[f"{name}_cos"]) / (2 * math.pi) % 1


def test_nothing_known_is_zero():
    assert len(CONTEXT_COLUMNS) == len(set(CONTEXT_COLUMNS)) == 55
    np.testing.assert_array_equal(context_row(PhotoFacts()), np.zeros(55))


def test_time_columns():
    taken = datetime(2020, 2, 29, 19, 30)  # a Saturday in a leap year
    values = named(PhotoFacts(taken=taken))
    assert values["has_time"] == 1
    assert angle(values, "time_of_day") == pytest.approx(0.8125)
    assert angle(values, "day_of_week") == pytest.approx(5.8125 / 7)
    assert angle(values, "day_of_year") == pytest.approx(59.8125 / 366)
    days = (taken - datetime(1970, 1, 1)) / timedelta(days=1)
    for number in range(12):
        period = 0.25 * (7300 / 0.25) ** (number / 11)
        assert angle(values, f"time_{number}") == pytest.approx(days / period % 1, abs=1e-8)
    others = [name for name in CONTEXT_COLUMNS if not name.startswith(("has_time", "time", "day"))]
    assert not any(values[name] for name in others)


@pytest.mark.parametrize("name", ["time_of_day", "day_of_week", "day_of_year"])
def test_the_calendar_goes_round(name):
    # 2024-01-01 is a Monday: midnight, week and year begin together.
    before, after = (named(PhotoFacts(taken=datetime(2024, 1, 1) + timedelta(seconds=step))) for step in (-1, 1))
    assert angle(before, name) > 0.9999
    assert angle(after, name) < 0.0001


def test_place_columns():
    values = named(PhotoFacts(latitude=30.0, longitude=-90.0, altitude=-100.0))
    assert values["has_place"] == 1
    expected = (0.0, -math.sqrt(3) / 2, 0.5)
    for axis, coordinate in zip("xyz", expected, strict=True):
        assert values[axis] == pytest.approx(coordinate, abs=1e-12)
        assert angle(values, f"near_{axis}") == pytest.approx(coordinate * 637.1 % 1, abs=1e-9)
    assert values["altitude"] == pytest.approx(-math.log(2))
    assert not any(values[name] for name in CONTEXT_COLUMNS if name.startswith(("has_time", "time", "day", "camera")))


def test_camera_columns():
    facts = PhotoFacts(make="Canon", model="EOS", focal_length_35mm=70.0, exposure_time=1 / 32, f_number=4.0, iso=200.0)
    values = named(facts)
    assert (values["has_exposure"], values["has_focal_length"]) == (1, 1)
    assert values["exposure"] == pytest.approx((4 + 5 - 1 - 10) / 5)
    assert values["focal_length"] == pytest.approx(1)
    number = int(hashlib.blake2b(b"canon eos", digest_size=8).hexdigest(), 16) % 8
    assert [values[f"camera_{column}"] for column in range(8)] == [column == number for column in range(8)]
    assert values == named(PhotoFacts(**{**_given(facts), "make": "CANON"}))
    assert [named(PhotoFacts(flash=flash))["flash"] for flash in (True, False, None)] == [1, -1, 0]


def _given(facts):
    return {name: getattr(facts, name) for name in facts.__slots__}


def test_cameras_spread_over_the_columns():
    columns = [context_row(PhotoFacts(model=f"Camera {number}"))[-8:] for number in range(200)]
    assert (np.sum(columns, axis=0) > 8).all()


def test_similarity_falls_with_the_time_between_photos():
    start = datetime(2019, 7, 21, 9, 0)
    absolute = [name.startswith("time_") and "day" not in name for name in CONTEXT_COLUMNS]
    gaps = [timedelta(), timedelta(hours=1), timedelta(days=1), timedelta(days=30), timedelta(days=200)]
    rows = np.array([context_row(PhotoFacts(taken=start + gap)) for gap in gaps])[:, absolute]
    assert rows.shape[1] == 24
    similarity = rows @ rows[0]
    np.testing.assert_allclose(similarity[:2], [12, 11.4], atol=0.05)
    assert (np.diff(similarity) < -0.5).all()
    later = np.array([context_row(PhotoFacts(taken=start + timedelta(days=60 + 3.7 * step))) for step in range(1500)])[
        :, absolute
    ]
    assert (later @ rows[0]).max() < similarity[1] - 2


def test_neighbours_share_the_event():
    generator = np.random.default_rng(0)
    facts, events = [], []
    for event in range(150):
        start = datetime(2010, 1, 1) + timedelta(days=float(generator.uniform(0, 3650)))
        place = generator.normal([48.1, 11.5], [0.1, 0.1]) if event % 3 else generator.uniform([-50, -180], [60, 180])
        for minute in generator.uniform(0, 180, 12):
            latitude, longitude = place + generator.normal(0, 0.003, 2)
            facts.append(
                PhotoFacts(
                    taken=start + timedelta(minutes=float(minute)), latitude=float(latitude), longitude=float(longitude)
                )
            )
            events.append(event)
    X, events = np.array([context_row(each) for each in facts]), np.array(events)
    without = np.array([not name.startswith(("time_", "near_")) or "day" in name for name in CONTEXT_COLUMNS])
    assert _purity(X, events) > 0.97
    assert _purity(X[:, without], events) < _purity(X, events) - 0.03


def _purity(X, events):
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 1e-9, X.std(axis=0), 1)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    similarity = X @ X.T
    np.fill_diagonal(similarity, -2)
    nearest = np.argsort(-similarity, axis=1)[:, :10]
    return (events[nearest] == events[:, None]).mean()


def test_extraction_needs_no_pixels(tmp_path):
    exif = Image.Exif()
    exif[0x010F] = "Canon"
    exif[0x0132] = "2019:07:21 18:05:09"
    Image.new("RGB", (40, 30)).save(tmp_path / "a.jpg", exif=exif)
    Image.new("RGB", (30, 40), "white").save(tmp_path / "b.png")
    (tmp_path / "c.jpg").write_bytes(b"\xff\xd8\xff nothing")
    descriptor = ContextDescriptor()
    assert isinstance(descriptor, Descriptor)
    X, groups, records = extract(["a.jpg", "b.png", "c.jpg"], [descriptor], MemoryCache(), root=tmp_path, n_workers=1)
    assert [record.ok for record in records] == [True, True, False]
    assert list(groups) == ["context"]
    assert X.dtype == np.float32
    expected = context_row(PhotoFacts(taken=datetime(2019, 7, 21, 18, 5, 9), make="Canon"))
    np.testing.assert_allclose(X, [expected, np.zeros(55)], atol=1e-6)


def test_any_block_gives_finite_rows():
    generator = np.random.default_rng(1)
    exif = Image.Exif()
    exif[0x0132] = "2019:07:21 18:05:09"
    exif.get_ifd(0x8825).update({1: "N", 2: (1.0, 2.0, 3.0), 3: "E", 4: (1.0, 2.0, 3.0), 6: 100.0})
    good = np.frombuffer(exif.tobytes()[6:], dtype=np.uint8)
    assert read_exif(good.tobytes()).latitude is not None
    blocks = [b"", b"II*\0", good.tobytes()]
    for _ in range(100):
        block = good.copy()
        block[generator.integers(0, block.size, 4)] = generator.integers(0, 256, 4)
        blocks.append(block.tobytes())
    photos = [DecodedPhoto(PhotoRecord(b"a.jpg", Verdict.OK), exif=block) for block in blocks]
    rows = ContextDescriptor().compute(photos)
    assert rows.shape == (103, 55)
    assert np.isfinite(rows).all()
    assert ContextDescriptor().compute([]).shape == (0, 55)
